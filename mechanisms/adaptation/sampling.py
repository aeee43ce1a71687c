"""Poisson-sampled batches, drawn outside jax so that no batch is ever cut to a size."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]


def poisson_batches(
    rows: int, rate: float, steps: int, rng: np.random.Generator, *, multiple: int = 8
) -> Rows:
    """(steps, size) row numbers: every row joins every batch with probability `rate`, on its own.

    `size` holds any batch but the most unlikely, and then grows to the largest: compiled shapes
    repeat. Shorter batches are padded with `rows`, which is no row.
    """
    sizes = rng.binomial(rows, rate, steps)
    usual = rows * rate + 5 * math.sqrt(rows * rate)
    width = math.ceil(max(usual, int(sizes.max(initial=0))) / multiple) * multiple
    table = np.full((steps, width), rows, dtype=np.int32)
    for index, size in enumerate(sizes):
        table[index, :size] = rng.choice(rows, size, replace=False)
    return table


def joined(*tables: Rows, rows: tuple[int, ...]) -> Rows:
    """Tables of several datasets side by side, (steps, tables, width), padded alike."""
    width = max(table.shape[1] for table in tables)
    padded = [
        np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=own)
        for table, own in zip(tables, rows, strict=True)
    ]
    return np.stack(padded, axis=1)
