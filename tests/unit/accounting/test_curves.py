"""Curves given point by point: privacy profiles of other libraries as events."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

import dpcheck
from dpcheck.accounting.curves import from_curve
from dpcheck.core.errors import InvalidParameter
from dpcheck.integrations.opendp import event_of


def gaussian_delta(epsilon: float) -> float:
    return float(norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon))


def stub(measure: str, distance: object) -> SimpleNamespace:
    """What of an OpenDP measurement is read: its measure's name and its map."""
    return SimpleNamespace(output_measure=measure, map=lambda _d_in: distance)


def test_a_profile_becomes_a_distribution_that_is_never_below_it() -> None:
    profile = stub("SmoothedMaxDivergence", SimpleNamespace(delta=gaussian_delta))
    event = event_of(profile, 1, adjacency="add-remove", step=0.02, largest=12.0)
    for epsilon in (0.0, 0.3, 1.0, 4.38):
        found = dpcheck.delta(event, epsilon=epsilon, adjacency="add-remove").upper
        assert (
            gaussian_delta(epsilon) * (1 - 1e-9) <= found <= gaussian_delta(epsilon) * 1.02 + 1e-12
        )
    three = dpcheck.epsilon(event * 3, delta=1e-5, adjacency="add-remove")
    exact = dpcheck.epsilon(dpcheck.Gaussian(1.0) * 3, delta=1e-5)
    assert exact.lower <= three.upper <= exact.upper * 1.05
    assert three.lower == 0.0
    assert any("was given" in line for line in three.assumes)
    # Asked under replace-one, what was stated under add-remove counts twice.
    twice = dpcheck.epsilon(event, delta=1e-5, adjacency="replace-one").upper
    assert twice >= dpcheck.epsilon(dpcheck.Gaussian(0.5), delta=1e-5).lower


@pytest.mark.parametrize(
    ("measure", "distance", "event"),
    [
        ("MaxDivergence", 0.5, dpcheck.PureDP(0.5, "add-remove")),
        ("Approximate(MaxDivergence)", (0.5, 1e-6), dpcheck.ApproxDP(0.5, 1e-6, "add-remove")),
        ("ZeroConcentratedDivergence", 0.1, dpcheck.ZCDP(0.1, "add-remove")),
    ],
)
def test_other_promises_are_guarantees(
    measure: str, distance: object, event: dpcheck.Event
) -> None:
    assert event_of(stub(measure, distance), 1, adjacency="add-remove") == event


def test_a_curve_with_dents_is_covered_all_the_same() -> None:
    """Values raised by chance, as a sum of bounds from several lattices has them."""
    rng = np.random.default_rng(3)
    step, first = 0.1, -40
    epsilons = (first + np.arange(90)) * step
    deltas = np.array([gaussian_delta(e) for e in epsilons]) * (1 + 1e-3 * rng.random(90))
    deltas = np.minimum(deltas, 1.0)
    start, masses, infinite = from_curve(step, first, deltas)
    losses = (start + np.arange(len(masses))) * step
    p = np.array(masses)
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        value = infinite + float(p @ np.maximum(1 - np.exp(epsilon - losses), 0))
        assert value >= gaussian_delta(epsilon) * (1 - 1e-12)
        assert value <= delta * 1.05
    with pytest.raises(InvalidParameter, match="less than 1"):
        dpcheck.LossDistribution(0.1, 0, (0.5,))


def test_losses_with_their_signs_turned_around_are_refused():
    event = dpcheck.Gaussian(1.0)
    levels = np.arange(-61, 61) * 0.1  # losses are rounded up
    masses = np.diff(norm.cdf(levels, loc=0.5, scale=1.0))
    masses[0] += norm.cdf(-6.1, loc=0.5)
    given = dpcheck.LossDistribution(0.1, -60, tuple(masses), 1 - masses.sum())
    assert dpcheck.epsilon(given, delta=1e-3).upper == pytest.approx(
        dpcheck.epsilon(event, delta=1e-3).upper, rel=0.05
    )
    with pytest.raises(InvalidParameter, match="signs the other way round"):
        dpcheck.LossDistribution(0.1, -60, tuple(masses[::-1]), 1 - masses.sum())
    # An epsilon of 0 for whatever else is released with it: found by the fuzz.
    with pytest.raises(InvalidParameter, match="no mechanism has these losses"):
        dpcheck.LossDistribution(0.152, -10, (0.398, 0.0133, 0.0001, 0.5886))
