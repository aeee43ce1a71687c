"""Rows scaled to a norm, as `dpcheck.clip_norm` does."""

from __future__ import annotations

import numpy as np

from dpcheck.program.facts.boxes import Box
from dpcheck.program.facts.kinds import Rows
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Graph, Made, Node, primitive
from dpcheck.program.rules.common import rowwise
from dpcheck.program.rules.shapes import kept


def _clip(value: object, bound: float, order: float) -> object:
    from dpcheck.program.lowering.clipping import clip_norm

    return clip_norm(value, bound, order)


@primitive(
    "clip_norm", "each row is scaled to norm at most C; NaN and infinite entries count as 0", _clip
)
def clip_norm(graph: Graph, a: Node, bound: float, order: float) -> Made:
    """Towards 0, by one factor a row."""
    fact = a.fact
    assert isinstance(fact, Rows)
    if order not in (1.0, 2.0, np.inf) or not bound > 0:
        graph.refuse("unknown-operation", f"a norm of order {order}", "use order 1, 2 or infinity")
    most = min(bound, fact.row.linf)
    box = Box(
        np.maximum(np.minimum(fact.box.lo, 0.0), -most),
        np.minimum(np.maximum(fact.box.hi, 0.0), most),
    )
    clean = not fact.box.nan and bool(np.isfinite(fact.box.magnitude).all())
    old = fact.row if clean else Size(np.asarray(np.inf))
    l1, l2, linf = (
        min(bound, before) if order == at else before
        for before, at in ((old.l1, 1.0), (old.l2, 2.0), (old.linf, np.inf))
    )
    size = Size(np.asarray(np.inf), l1, l2, linf, old.changed)
    return rowwise(graph, a.shape, np.dtype(float), box, fact.rows, fact.axis, size, **kept(fact))
