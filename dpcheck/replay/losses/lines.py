"""One output against one output when only the two laws on the line are known.

Serves noise whose scale or family differs between D and D', and outputs that are a non-decreasing
function (rounded, clipped) of a noisy value: half-lines of the output are half-lines of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.numerics.rounding import Array
from dpcheck.replay.draws import Atom, Family
from dpcheck.replay.following.values import Affine, Monotone
from dpcheck.replay.losses import bins
from dpcheck.replay.losses.affine import slack_of
from dpcheck.replay.losses.parts import Part

_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class Law:
    """center + scale * a standard number of `family`, scale > 0."""

    family: Family
    center: float
    scale: float


def law_of(value: Affine, atoms: list[Atom]) -> Law | None:
    """The law of one affine output; None where it is no single family."""
    families = {atoms[a].family for a in value.coefficients}
    if families == {Family.NORMAL}:
        spread = math.sqrt(math.fsum(c * c for c in value.coefficients.values()))
        return Law(Family.NORMAL, value.base, spread)
    if len(value.coefficients) != 1:
        return None
    ((atom, coefficient),) = value.coefficients.items()
    family = atoms[atom].family
    symmetric = family in (Family.LAPLACE, Family.LOGISTIC, Family.CAUCHY)
    if not family.continuous or not (coefficient > 0 or symmetric or family is Family.UNIFORM):
        return None
    if family is Family.UNIFORM and coefficient < 0:
        return Law(family, value.base + coefficient, -coefficient)
    return Law(family, value.base, abs(coefficient))


def same_scale(first: Law, second: Law) -> bool:
    """Whether only the centers differ."""
    return first.family is second.family and (
        abs(first.scale - second.scale) <= _EQUAL * max(first.scale, second.scale)
    )


_TAILS = {
    Family.UNIFORM: 0,
    Family.NORMAL: 1,
    Family.LAPLACE: 2,
    Family.LOGISTIC: 2,
    Family.CAUCHY: 3,
}


def different_parts(way: str, first: Law, second: Law, atoms: frozenset[int]) -> list[Part]:
    """Noise whose scale or family differs: bins for a delta, the tails for the pure loss."""
    pair = bins.binned(
        first.family, first.center, first.scale, second.family, second.center, second.scale
    )
    if pair is None:
        return []
    forward, backward = bins.largest(pair)
    if first.family in _TAILS and second.family in _TAILS:
        heavy = _heavier(first, second)
        forward = math.inf if heavy > 0 else forward
        backward = math.inf if heavy < 0 else backward
    words = (
        f"{first.family} noise of scale {first.scale:.6g} against {second.family} noise of scale "
        f"{second.scale:.6g}"
    )
    return [Part(forward, backward, pair, (way,), atoms, words)]


def _heavier(first: Law, second: Law) -> int:
    """1 where log P/Q grows without end in a tail, -1 where log Q/P does, 0 where neither is known."""
    one, other = _TAILS[first.family], _TAILS[second.family]
    if one != other:
        return 1 if one > other else -1
    if first.family is not second.family or first.family is Family.CAUCHY:
        return 0
    if abs(first.scale - second.scale) <= 1e-9 * first.scale:
        return 0
    return 1 if first.scale > second.scale else -1


def monotone_parts(
    way: str, first: Monotone, second: Monotone, one: list[Atom], other: list[Atom]
) -> list[Part]:
    """The same steps after two noisy values: bins between values the output can tell apart."""
    names = [name for name, _ in first.steps]
    if names != [name for name, _ in second.steps] or first.flipped != second.flipped:
        return []
    p_law, q_law = law_of(first.inner, one), law_of(second.inner, other)
    if p_law is None or q_law is None:
        return []
    if same_scale(p_law, q_law):
        moved = q_law.center - p_law.center
        slack = slack_of(first.inner, second.inner)
        if abs(moved) <= slack:
            return []
        # A little less far apart than seen, so that rounding cannot convict.
        q_law = Law(q_law.family, q_law.center - math.copysign(slack, moved), p_law.scale)
    cuts = bins.edges_for(
        p_law.family, p_law.center, p_law.scale, q_law.family, q_law.center, q_law.scale
    )
    low, high = _told_apart(first, second, cuts)
    if not len(low):
        return []
    p = bins.masses(p_law.family, p_law.center, p_law.scale, high)
    q = bins.masses(q_law.family, q_law.center, q_law.scale, high)
    gap_p = bins.masses(
        p_law.family, p_law.center, p_law.scale, np.sort(np.concatenate([low, high]))
    )
    gap_q = bins.masses(
        q_law.family, q_law.center, q_law.scale, np.sort(np.concatenate([low, high]))
    )
    doubt = max(float(gap_p[1::2].sum()), float(gap_q[1::2].sum()))
    if doubt > 1e-13:
        return []
    pair = bins.from_masses(*bins.table(p, q))
    if pair is None:
        return []
    forward, backward = bins.largest(pair)
    words = f"{p_law.family} noise of scale {p_law.scale:.6g}, then {', '.join(names)}"
    return [Part(forward, backward, pair, (way,), first.depends, words)]


def _told_apart(first: Monotone, second: Monotone, cuts: Array) -> tuple[Array, Array]:
    """For each cut two neighbouring numbers between which the output steps from below it to above.

    Both sides' steps must agree there: they may hold constants of the data.
    """
    sign = -1.0 if first.flipped else 1.0
    found: set[tuple[float, float]] = set()
    for cut in cuts.tolist():
        level = sign * first.at(cut)
        edge = _edge(lambda x: sign * first.at(x) > level, cut)  # noqa: B023
        if edge is None:
            continue
        agree = all(first.at(x) == second.at(x) for x in edge)
        if agree:
            found.add(edge)
        else:
            return np.empty(0), np.empty(0)
    ordered = sorted(found)
    return np.array([a for a, _ in ordered]), np.array([b for _, b in ordered])


def _edge(above: object, start: float) -> tuple[float, float] | None:
    """Neighbouring numbers around the place where `above` turns true; None if it never does."""
    assert callable(above)
    step = max(1e-9, abs(start) * 1e-9)
    high = start
    while not above(high):
        high = start + step
        step *= 4
        if step > 1e12 * max(1.0, abs(start)):
            return None
    low = start
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if above(middle):
            high = middle
        else:
            low = middle
    return (low, high)
