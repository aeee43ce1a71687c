"""Privacy-loss distributions of dp-accounting (and of riskcal, which uses them), in and out.

from dpcheck.integrations.loss_distributions import from_pld, to_pld

event = from_pld(pld)                                   # composes with every other event
pld = to_pld(event, adjacency="add-remove")             # for riskcal.analysis, or to compose there
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpcheck.accounting.compose import profiles
from dpcheck.accounting.losses import Parts, reverse
from dpcheck.accounting.pld.distribution import compose, supports
from dpcheck.accounting.pld.measures import lower_hull
from dpcheck.accounting.sides import upper_side
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.errors import CannotCertify, InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import LossDistribution
from dpcheck.core.extras import need
from dpcheck.integrations.foreign import Foreign
from dpcheck.numerics.side import Side

# A curve is followed to where its delta is below this; the rest counts as infinite loss.
LAST_DELTA = 1e-15
MOST_POINTS = 200_000


def from_pld(pld: Foreign, *, adjacency: Adjacency | str | None = None) -> LossDistribution:
    """A dp-accounting PrivacyLossDistribution as an event.

    Guarantee: an upper bound where `pld` is one (dp-accounting's are, with pessimistic estimates).
    """
    try:
        ways = [pld._pmf_remove.to_dense_pmf(), pld._pmf_add.to_dense_pmf()]
    except AttributeError:
        raise InvalidParameter(
            f"expected a dp-accounting PrivacyLossDistribution, got {type(pld).__name__}.",
            value=pld,
        ) from None
    step = float(ways[0]._discretization)
    found = [
        (int(way._lower_loss), tuple(float(p) for p in way._probs), float(way._infinity_mass))
        for way in ways
    ]
    # Their tails may be cut without being counted; what is missing is counted here.
    remove, add = (
        (first, masses, max(infinite, 1.0 - math.fsum(masses))) for first, masses, infinite in found
    )
    relation = None if adjacency is None else as_adjacency(adjacency)
    return LossDistribution(step, *remove, None if remove == add else add, relation)


def to_pld(event: Event, *, adjacency: Adjacency | str, step: float = 1e-3) -> Foreign:
    """The certified upper curves of `event` as a dp-accounting PrivacyLossDistribution.

    Guarantee: its delta is at or above the true one at every epsilon, in both directions, up to the float
    arithmetic of dp-accounting itself.
    """
    pmf = need("dp_accounting.pld.pld_pmf", "interop")
    distribution = need("dp_accounting.pld.privacy_loss_distribution", "interop")
    sides = [upper_side(profile) for profile in profiles(event, as_adjacency(adjacency))]
    made = []
    for backwards in (False, True):
        ways = [
            tuple((reverse(loss) if backwards else loss, times) for loss, times in side.parts)
            for side in sides
        ]
        leaks = [float(side.leak) for side in sides]
        if any(side.failure for side in sides):
            raise CannotCertify("an event that may fail has no privacy-loss distribution.")
        first, masses, infinite = _measure(ways, leaks, step)
        losses = {first + i: mass for i, mass in enumerate(masses) if mass > 0}
        made.append(pmf.create_pmf(losses, step, infinite, pessimistic_estimate=True))
    return distribution.PrivacyLossDistribution(*made)


def _measure(ways: list[Parts], leaks: list[float], step: float) -> tuple[int, list[float], float]:
    """The lattice measure above every composition."""
    if not all(supports(loss, Side.UPPER) for way in ways for loss, _ in way):
        raise CannotCertify(
            "part of this event is known by its Renyi divergence only and has no privacy-loss distribution."
        )

    def curve(epsilons: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
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


def from_curve(
    step: float, first: int, deltas: npt.NDArray[np.float64]
) -> tuple[int, list[float], float]:
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
    # Differences of slopes lose digits: raise everything until no value lies below what was asked.
    above = np.cumsum(masses[::-1])[::-1]
    beyond = np.cumsum((masses / y)[::-1])[::-1]
    reached = infinite + above - y * beyond
    short = max(float(np.max(deltas / np.maximum(reached, 1e-300))), 1.0) * (1 + 1e-12)
    return first, (masses * short).tolist(), infinite * short
