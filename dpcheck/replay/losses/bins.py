"""Two laws on the line cut into bins: a garbling, so every loss between the bins is a proved one."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.accounting.losses import FiniteLoss
from dpcheck.numerics.rounding import Array
from dpcheck.replay.draws import Family
from dpcheck.replay.losses.families import between, quantile

BINS = 120
_SMALLEST = 1e-9  # of a bin's mass on either side; smaller ones join their neighbour


def edges_for(
    family: Family,
    center: float,
    scale: float,
    other: Family,
    other_center: float,
    other_scale: float,
) -> Array:
    """Cuts at quantiles of both laws."""
    body = np.linspace(0.5 / BINS, 1 - 0.5 / BINS, BINS // 2)
    tail = np.geomspace(1e-7, 0.5 / BINS, 12, endpoint=False)
    chances = np.concatenate([tail, body, 1 - tail[::-1]])
    cuts = np.concatenate(
        [
            center + scale * quantile(family, chances),
            other_center + other_scale * quantile(other, chances),
        ]
    )
    return np.unique(cuts[np.isfinite(cuts)])


def masses(family: Family, center: float, scale: float, cuts: Array) -> Array:
    """The mass of center + scale z between -inf, the cuts, and inf."""
    ends = np.concatenate(([-np.inf], (cuts - center) / scale, [np.inf]))
    if scale < 0:
        ends = ends * 1.0
        ends[0], ends[-1] = np.inf, -np.inf
        return np.asarray(between(family, ends[1:], ends[:-1]))
    return np.asarray(between(family, ends[:-1], ends[1:]))


def table(p: Array, q: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Bins joined until each has some mass on both sides, or none at all on one."""
    kept: list[tuple[float, float]] = []
    a = b = 0.0
    for x, y in zip(p, q, strict=True):
        a, b = a + float(x), b + float(y)
        if min(a, b) >= _SMALLEST or (max(a, b) >= 1e-6 and min(a, b) == 0.0):
            kept.append((a, b))
            a = b = 0.0
    if kept:
        kept[-1] = (kept[-1][0] + a, kept[-1][1] + b)
    else:
        kept = [(a, b)]
    return tuple(x for x, _ in kept), tuple(y for _, y in kept)


def binned(
    family: Family,
    center: float,
    scale: float,
    other: Family,
    other_center: float,
    other_scale: float,
) -> FiniteLoss | None:
    """The two laws seen through bins; None where they cannot be told apart."""
    cuts = edges_for(family, center, scale, other, other_center, other_scale)
    p, q = table(
        masses(family, center, scale, cuts), masses(other, other_center, other_scale, cuts)
    )
    return from_masses(p, q)


def from_masses(p: tuple[float, ...], q: tuple[float, ...]) -> FiniteLoss | None:
    """A FiniteLoss with masses that add to 1."""
    total_p, total_q = math.fsum(p), math.fsum(q)
    p, q = tuple(x / total_p for x in p), tuple(x / total_q for x in q)
    return None if p == q else FiniteLoss(p, q)


def largest(pair: FiniteLoss) -> tuple[float, float]:
    """(largest log P/Q, largest log Q/P) over the bins."""
    forward = backward = 0.0
    for a, b in zip(pair.p, pair.q, strict=True):
        if a > 0:
            forward = max(forward, math.inf if b == 0 else math.log(a / b))
        if b > 0:
            backward = max(backward, math.inf if a == 0 else math.log(b / a))
    return forward, backward
