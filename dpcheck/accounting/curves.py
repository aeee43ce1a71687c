"""Certified curves of whole events as lattice measures, for whoever composes or plots them elsewhere."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from dpcheck.accounting.compose import profiles
from dpcheck.accounting.losses import Parts
from dpcheck.accounting.pld.distribution import compose, lower_hull
from dpcheck.accounting.sides import upper_side
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import CannotCertify
from dpcheck.core.events.event import Event
from dpcheck.numerics.rounding import UNIT, Array
from dpcheck.numerics.side import Side
from dpcheck.numerics.tilted import divergences

# A curve is followed to where its delta is below this; the rest counts as infinite loss.
LAST_DELTA = 1e-15
MOST_POINTS = 200_000

# The first index, the P-masses of the losses index * step from there on, and that of an infinite loss.
LatticeMasses: TypeAlias = tuple[int, list[float], float]


def lattice_measures(event: Event, adjacency: Adjacency, step: float) -> list[LatticeMasses]:
    """A measure above the event in each direction, removal first.

    Guarantee: the curve of each is at or above the true one at every epsilon.
    """
    sides = [upper_side(profile) for profile in profiles(event, adjacency)]
    if any(side.failure for side in sides):
        raise CannotCertify("an event that may fail has no privacy-loss distribution.")
    leaks = [float(side.leak) for side in sides]
    found = []
    for backwards in (False, True):
        ways = [
            tuple((loss.reversed() if backwards else loss, times) for loss, times in side.parts)
            for side in sides
        ]
        found.append(_measure(ways, leaks, step))
    return found


def _measure(ways: list[Parts], leaks: list[float], step: float) -> LatticeMasses:
    """The lattice measure above every composition."""
    if not all(loss.on_lattice(Side.UPPER) for way in ways for loss, _ in way):
        raise CannotCertify(
            "part of this event is known by its Renyi divergence only and has no privacy-loss distribution."
        )

    def curve(epsilons: Array) -> Array:
        found = [compose(way, Side.UPPER).delta(epsilons) for way in ways]
        deltas = [leak + (1 - leak) * found_ for leak, found_ in zip(leaks, found, strict=True)]
        return np.asarray(np.minimum(np.max(deltas, axis=0) * (1 + 1e-12), 1.0))

    high = step
    while high < 1e4 and curve(np.array([high]))[0] > max(LAST_DELTA, 1.01 * max(leaks)):
        high *= 2
    points = math.ceil(high / step)
    if 2 * points > MOST_POINTS:
        raise CannotCertify(
            f"losses up to {high:g} in steps of {step:g} are too many; ask with a larger step.",
            step=step,
        )
    index = np.arange(-points, points + 1, dtype=np.float64)
    return from_curve(step, -points, curve(index * step))


def from_curve(step: float, first: int, deltas: Array) -> LatticeMasses:
    """(first, masses, infinite) of a lattice measure above a curve known at (first + i) * step.

    The curve is convex in y = e^epsilon and 1 at y = 0, so it lies below the chords of its values, and
    below their lower hull. Slopes of the hull are Q-masses beyond a point.
    """
    y = np.exp((first + np.arange(len(deltas))) * step)
    x, values = np.concatenate(([0.0], y)), np.concatenate(([1.0], deltas))
    corners = lower_hull(x, values)
    slopes = np.append(np.diff(values[corners]) / np.diff(x[corners]), 0.0)
    at = corners[1:]
    masses = np.zeros(len(deltas))
    masses[at - 1] = np.maximum(np.diff(slopes), 0.0) * x[at]
    infinite = float(values[-1])
    # Differences of slopes lose digits: raise everything until no value lies below what was asked, at no
    # point of the lattice and not at y = 0. The sums are of positive terms, 32 units a point as in `profile`.
    reached = infinite + divergences(masses, 0.0, step)
    short = max(float(np.max(deltas / np.maximum(reached, 1e-300))), 1.0)
    short = max(short, 1 / (infinite + float(np.sum(masses)))) * (
        1 + 1e-12 + 32 * UNIT * len(masses)
    )
    return first, (masses * short).tolist(), infinite * short
