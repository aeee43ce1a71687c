"""`dpcheck.clip_norm`: rows scaled to a norm, a function that proofs and audits know."""

from __future__ import annotations

import numpy as np

from dpcheck.core.data import Data
from dpcheck.core.validate import positive
from dpcheck.tracing.rules import linear
from dpcheck.tracing.values import Traced


def clip_norm(rows: Data, bound: float, order: float = 2.0) -> Data:
    """Each row scaled down to norm at most `bound`; entries that are NaN or infinite count as 0.

    Guarantee: no row of the result has a norm of that order above `bound`, up to rounding.

    >>> clip_norm([[3.0, 4.0], [0.3, 0.4]], 1.0).tolist()
    [[0.6000000000000001, 0.8], [0.3, 0.4]]
    """
    limit = positive("bound", bound)
    if isinstance(rows, Traced):
        return linear.clip_rows(rows.tracer, rows, limit, float(order))
    table = np.nan_to_num(np.asarray(rows, dtype=float), nan=0.0, posinf=0.0, neginf=0.0)
    flat = table.reshape(len(table), -1)
    largest = np.abs(flat).max(axis=1, keepdims=True, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    norms = np.linalg.norm(flat / scale, ord=order, axis=1, keepdims=True) * scale
    with np.errstate(over="ignore"):
        factors = np.minimum(1.0, limit / np.maximum(norms, limit))
    return np.asarray((flat * factors).reshape(table.shape))
