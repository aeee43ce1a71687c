"""`dpcheck.clip_norm`: rows scaled to a norm, a function that proofs and audits know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.validate import positive
from dpcheck.program.facts.kinds import Rows
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.public import public_call

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def clip_norm(rows: object, bound: float, order: float = 2.0) -> np.ndarray:
    """Each row scaled down to norm at most `bound`; entries that are NaN or infinite count as 0.

    Guarantee: no row of the result has a norm of that order above `bound`, up to rounding.

    >>> clip_norm([[3.0, 4.0], [0.3, 0.4]], 1.0).tolist()
    [[0.6000000000000001, 0.8], [0.3, 0.4]]
    """
    limit = positive("bound", bound)
    table = np.nan_to_num(np.asarray(rows, dtype=float), nan=0.0, posinf=0.0, neginf=0.0)
    flat = table.reshape(len(table), -1)
    largest = np.abs(flat).max(axis=1, keepdims=True, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    norms = np.linalg.norm(flat / scale, ord=order, axis=1, keepdims=True) * scale
    with np.errstate(over="ignore"):
        factors = np.minimum(1.0, limit / np.maximum(norms, limit))
    return np.asarray((flat * factors).reshape(table.shape))


@lower(clip_norm)
def lowered_clip(reader: Reader, rows: object, bound: object, order: object = 2.0) -> object:
    """dpcheck.clip_norm on private rows."""
    if reader.is_public([rows, bound, order]):
        return public_call(reader, clip_norm, (rows, bound, order), {})
    node = reader.node(rows)
    if not isinstance(node.fact, Rows) or node.ndim < 2 or node.fact.axis != 0:
        reader.unknown("dpcheck.clip_norm of anything but a table of rows")
    limit, norm = (float(reader.plain(each)) for each in (bound, order))  # type: ignore[arg-type]
    return reader.array(reader.graph.add("clip_norm", node, bound=limit, order=norm))
