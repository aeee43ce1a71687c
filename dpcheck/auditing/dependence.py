"""Are runs independent, as every test assumes? Signs of cached or reused noise, named."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_FEW = 64
_CLEAR = 6.0  # standard errors
_REPEATED = 0.02


def signs_of_dependence(rows: Array) -> list[str]:
    """What speaks against independent runs on one dataset, in the order they were made."""
    if len(rows) < _FEW:
        return []
    found = []
    for column in rows.T:
        values, counts = np.unique(column, return_counts=True)
        if len(values) < len(column) // 8:  # discrete: repeats mean nothing
            continue
        repeated = float((counts[counts > 1]).sum()) / len(column)
        if repeated > _REPEATED and counts.max() < 0.5 * len(column):
            found.append(
                f"{repeated:.0%} of the outputs are exact repeats of others although they look "
                "continuous: reused noise makes runs depend on each other, and then no verdict "
                "of this audit is reliable"
            )
        ranks = np.argsort(np.argsort(column)).astype(float)
        linked = float(np.corrcoef(ranks[:-1], ranks[1:])[0, 1]) * math.sqrt(len(ranks) - 1)
        if abs(linked) > _CLEAR:
            found.append(
                "each output predicts the next one on the same dataset better than chance: runs "
                "depend on each other (a clock, a counter, reused noise), and then no verdict of "
                "this audit is reliable"
            )
        if found:
            break
    return found
