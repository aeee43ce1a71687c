"""Columns that differ in their last record, and descriptions for them."""

from __future__ import annotations

import numpy as np

import dpcheck

from ..base import ROWS  # noqa: TID252 - shared by all groups

ANY_NUMBER = dpcheck.records(x=dpcheck.number(0, 1))


def column(last=0.0, others=0.0, n=ROWS, dtype=float):
    """All alike but the last."""
    x = np.full(n, others, dtype=dtype)
    x[-1] = last
    return x


NOUGHT_OR_ONE = (column(0.0), column(1.0))
ONES_OR_NOUGHT = (column(1.0, 1.0), column(0.0, 1.0))
LEFT_OUT = (column(1.0)[:-1], column(1.0))
