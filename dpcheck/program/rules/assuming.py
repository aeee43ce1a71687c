"""What is known of a value on one side of a comparison with a public number.

Whoever uses `assume` selects by the same comparison afterwards: what is computed from it counts only
where the comparison had that answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpcheck.program.facts.boxes import Box
from dpcheck.program.facts.kinds import Aggregate, Rows
from dpcheck.program.graph import Graph, Made, Node, primitive

_OPPOSITE = {
    "less": "greater_equal",
    "greater": "less_equal",
    "less_equal": "greater",
    "greater_equal": "less",
}


def _same(value: object, comparison: str, limit: float, answer: bool) -> object:
    del comparison, limit, answer
    return value


@primitive(
    "assume", "the value itself, within the side of the comparison that is being read", _same
)
def assume(graph: Graph, a: Node, comparison: str, limit: float, answer: bool) -> Made:
    """A comparison that is false says nothing where the value may be NaN."""
    del graph
    box = a.fact.box
    if not isinstance(a.fact, Rows | Aggregate) or np.isnan(limit) or (not answer and box.nan):
        return Made(a.shape, a.dtype, a.fact)
    side = comparison if answer else _OPPOSITE[comparison]
    if side in ("less", "less_equal"):
        ends = (np.minimum(box.lo, limit), np.minimum(box.hi, limit))
    else:
        ends = (np.maximum(box.lo, limit), np.maximum(box.hi, limit))
    within = Box(ends[0], ends[1], False, box.plain_zero)
    return Made(a.shape, a.dtype, replace(a.fact, box=within))
