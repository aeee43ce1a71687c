"""Floats that are no real numbers: half precision, squares too small to be there, zeros with a sign."""

from __future__ import annotations

import numpy as np

from ..base import INF, ROWS, Group, unit  # noqa: TID252 - shared by all groups

HALVES = (unit(0.0, 0.5), unit(1.0, 0.5))
MINUS_ZERO = (unit(0.5, 0.5), unit(-0.0, 0.5))
TWO = np.zeros((ROWS, 2))
SINGLE = TWO.astype(np.float32)

HALF = np.sqrt(0.5)

GROUP = Group("floats")


def row(first, second):
    """Rows of (1, 0) but the last."""
    x = np.tile([1.0, 0.0], (ROWS, 1))
    x[-1] = (first, second)
    return x


def lost(tiny):
    """A last row of length 1, and one whose square is no float."""
    return {"data": TWO, "pair": (row(1.0, 0.0), row(tiny, 0.0))}


def infinite(output):
    return bool(np.isinf(output).any())


def nothing(output):
    return round(float(np.max(np.abs(output))), -60)


@GROUP.wrong(1.0, pair=(unit(0.99, 0.5), unit(1.0, 0.5)), scale=2.0)
def mean_in_half_precision(x, rng):
    """2048.5098 and 2048.51 are 2048 and 2048; 2049 is the next but one."""
    return (x.mean() + 2048.4902).astype(np.float16).astype(float) + rng.laplace(scale=2.0)


@GROUP.wrong(100.0, pair=(unit(0.0, 0.5), unit(1.0, 0.5)), scale=0.02)
def written_in_half_precision(x, rng):
    t = np.zeros(1, dtype=np.float16)
    t[0] = x.mean() + 2048.5
    return t.astype(float) + rng.laplace(scale=0.02, size=1)


@GROUP.wrong(2.0, pair=(unit(0.0, 41.0 / 49), unit(1.0, 41.0 / 49)), scale=0.02)
def summed_in_half_precision(x, rng):
    """41 and 42: what is between 32 and 64 is rounded to 1/32."""
    return x.sum(dtype=np.float16).astype(float) * 0.04 + rng.laplace(scale=0.02)


@GROUP.wrong(12.0, pair=(unit(0.0, 0.5), unit(0.02, 0.5)))
def rows_in_half_precision(x, rng):
    """0.02 is 0 beside 2048; so is 0.99, but not 1.01."""
    halves = (x * 600).astype(np.float16)
    return halves.astype(float).sum() + rng.laplace()


@GROUP.wrong(INF, leak=infinite, **lost(1e-200))
def rows_of_length_one(x, rng):
    g = np.clip(np.nan_to_num(x), -1, 1)
    u = g * (1 / np.sqrt((g**2).sum(axis=1, keepdims=True)))
    return np.nan_to_num(u, nan=0.0, posinf=np.inf).sum(axis=0) + rng.laplace(size=2)


@GROUP.wrong(INF, leak=nothing, **lost(1e-200))
def rows_of_length_one_large(x, rng):
    g = np.clip(np.nan_to_num(x), -1, 1)
    u = g * (1 / np.sqrt((g**2).sum(axis=1, keepdims=True)))
    return np.nan_to_num(u).sum(axis=0) + rng.laplace(size=2)


@GROUP.wrong(INF, leak=nothing, **lost(1e-200))
def lengths_from_below(x, rng):
    g = np.clip(np.nan_to_num(x), -1, 1)
    n = np.linalg.norm(g, axis=1, keepdims=True)
    return (g / np.maximum(n, 1e-300)).sum(axis=0) + rng.laplace(size=2)


@GROUP.wrong(INF, leak=nothing, **lost(1e-200))
def lengths_and_a_bit(x, rng):
    g = np.clip(np.nan_to_num(x), -1, 1)
    n = np.linalg.norm(g, axis=1)[:, None]
    return (g / (n + 1e-300)).sum(axis=0) + rng.laplace(size=2)


@GROUP.wrong(INF, leak=nothing, **lost(1e-200))
def factors_of_lengths(x, rng):
    g = np.clip(np.nan_to_num(x), -1, 1)
    n = np.sqrt(np.sum(g * g, axis=1))
    factor = np.minimum(1 / np.maximum(n, 1e-300), 1e299)
    return (g * factor[:, None]).sum(axis=0) + rng.laplace(size=2)


@GROUP.wrong(INF, leak=infinite, pair=MINUS_ZERO)
def power_of_minus_zero(x, rng):
    return np.exp(-np.power(x, -1.0)).sum() + rng.laplace()


@GROUP.wrong(INF, leak=infinite, pair=MINUS_ZERO)
def odd_power_of_minus_zero(x, rng):
    return np.exp(-(x**-3)).sum() + rng.laplace()


@GROUP.wrong(INF, leak=infinite, pair=MINUS_ZERO)
def one_over_minus_zero(x, rng):
    return np.exp(-1 / x).sum() + rng.laplace()


@GROUP.right(1.0)
def half_precision_without_rounding(x, rng):
    return np.clip(x, 0, 1).astype(float).sum() + rng.laplace()


@GROUP.right(2.0 * np.sqrt(2.0), data=TWO, pair=(row(HALF, HALF), row(-HALF, -HALF)))
def rows_clipped(x, rng):
    g = np.nan_to_num(x)
    n = np.linalg.norm(g, axis=1)
    factor = np.minimum(1, 1 / np.maximum(n, 1e-12))
    return (g * factor[:, None]).sum(axis=0) + rng.laplace(size=2)
