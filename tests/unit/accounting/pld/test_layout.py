"""Wide cells, and the opposite direction from this one's lattice: sound, close, and fewer."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.certify.bound import Plan, Question, certify
from dpcheck.accounting.losses import FiniteLoss, GaussianMixtureLoss, SampledLaplaceLoss
from dpcheck.accounting.pld import distribution, layout
from dpcheck.accounting.pld.distribution import ComposedLoss, worse_epsilon
from dpcheck.accounting.pld.grading import graded
from dpcheck.accounting.pld.pairs.mixtures import Mixture, NormalPair
from dpcheck.accounting.pld.reuse import SPECTRA
from dpcheck.accounting.pld.window import Cumulants, loss_ranges
from dpcheck.numerics.side import Side

FORWARD, BACKWARD = (GaussianMixtureLoss((1.0,), (0.01,), way) for way in (False, True))


def _divergence(rate: float, mean: float, y: float) -> mpmath.mpf:
    """E (p - y q)+ of a sampled Gaussian in closed form, p/q = 1 - rate + rate e^(mean x - mean^2/2)."""
    above = (y - 1 + mpmath.mpf(rate)) / rate
    if above <= 0:
        return 1 - mpmath.mpf(y)
    x = mpmath.log(above) / mean + mpmath.mpf(mean) / 2
    return (1 - rate - y) * mpmath.ncdf(-x) + rate * mpmath.ncdf(mean - x)


@pytest.mark.parametrize(("rate", "mean"), [(0.01, 1.0), (1e-4, 2.0), (0.3, 0.2)])
def test_wide_cells_are_above_the_closed_form(rate: float, mean: float) -> None:
    pair = NormalPair(Mixture((mean,), (rate,)), Mixture())
    cumulants = Cumulants([(pair, 1000)], -12.0)
    tilt = cumulants.tilt_for_delta(1e-5)
    ((low, high),) = loss_ranges(cumulants, tilt)
    _, _, losses, logs = cumulants.parts[0]
    step = (high - low) / 5000
    grading = graded(losses - pair.anchor, logs + tilt * losses, tilt, step)
    assert grading is not None
    wide, narrow = pair.upper(step, low, high, grading), pair.upper(step, low, high)
    assert np.count_nonzero(wide.masses) < np.count_nonzero(narrow.masses) / 2
    with mpmath.workdps(30):
        for epsilon in np.linspace(low - 0.01, high, 60).tolist():
            y = float(np.exp(epsilon))
            gains = np.maximum(-np.expm1(np.log(y) - wide.levels), 0.0)
            curve = float(np.sum(wide.masses * gains)) + wide.infinite
            assert curve >= _divergence(rate, mean, y) - mpmath.mpf(1e-15)


@pytest.mark.parametrize(
    "event",
    [
        dpcheck.SampledGaussian(1.0, 0.01) * 1000,
        dpcheck.SampledGaussian(0.5, 1e-6) * 1_000_000,  # a few rare jumps make the sum
        dpcheck.SampledGaussian(0.8, 0.001) * 30_000,
        dpcheck.SampledGaussian(1.0, 0.01) * 2000 + dpcheck.Laplace(50.0) * 20,
    ],
)
def test_wide_cells_cost_next_to_nothing(event, monkeypatch) -> None:
    graded = dpcheck.epsilon(event, delta=1e-8).upper
    SPECTRA.clear()
    distribution._composed.cache_clear()
    distribution._opposite.cache_clear()
    distribution._more_steps.cache_clear()
    monkeypatch.setattr(layout, "graded", lambda *_: None)
    plain = dpcheck.epsilon(event, delta=1e-8).upper
    SPECTRA.clear()
    assert graded != plain  # the cells were wide
    assert graded == pytest.approx(plain, rel=6e-5)


def test_few_uses_are_laid_evenly():
    """Nothing averages over their cells."""
    pair = NormalPair(Mixture((1.0,), (0.01,)), Mixture())
    laid, _, window = layout.laid_out([FORWARD], Side.UPPER, Cumulants([(pair, 50)]), 5.0)
    assert (laid.measures[0].masses > 0).mean() > 0.99
    assert window.size > 0


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta"),
    [
        (1.0, 0.01, 1000, 1e-5),
        (2.0, 0.1, 100, 1e-6),
        (1.5, 0.02, 2000, 1e-6),
        (1.0, 0.05, 150, 1e-5),
    ],
)
def test_the_opposite_direction_is_proved_by_moments(noise, rate, steps, delta) -> None:
    one = ComposedLoss([(GaussianMixtureLoss((1 / noise,), (rate,)), steps)], Side.UPPER)
    proved = one.opposite(delta).epsilon
    reverse = [(GaussianMixtureLoss((1 / noise,), (rate,), backwards=True), steps)]
    truth = ComposedLoss(reverse, Side.LOWER).epsilon(delta)
    assert truth <= proved <= 1.35 * truth
    assert proved < one.epsilon(delta)


def test_too_many_uses_for_a_delta_prove_nothing():
    assert ComposedLoss([(FORWARD, 10**7)], Side.UPPER).opposite(1e-12) is None


def test_the_other_direction_needs_no_lattice_of_its_own(monkeypatch) -> None:
    asked = []
    rough = ComposedLoss.rough
    monkeypatch.setattr(
        ComposedLoss, "rough", lambda one, *more: asked.append(one) or rough(one, *more)
    )
    ways = [((FORWARD, 1003),), ((BACKWARD, 1003),)]
    distribution._more_steps.cache_clear()
    first = worse_epsilon(ways, 1e-5, Side.UPPER)
    assert first == worse_epsilon(ways[::-1], 1e-5, Side.UPPER)
    assert not asked
    # Directions this close are not told apart by moments.
    close = [((SampledLaplaceLoss(1.0, 0.01, way), 1000),) for way in (False, True)]
    found = worse_epsilon(close, 1e-5, Side.UPPER)
    assert asked
    worst = certify(Plan(*found), Question(close[0], Side.UPPER, 1e-5), "pld").upper
    assert worst == max(ComposedLoss(way, Side.UPPER).epsilon(1e-5) for way in close)


def test_the_lead_is_that_of_the_worse_direction():
    forward, backward = (ComposedLoss([(loss, 1000)], Side.UPPER) for loss in (FORWARD, BACKWARD))
    assert forward.lead(1e-5) > 0 > backward.lead(1e-5)
    # What the picture does not show, as an outcome that only Q has, is not guessed at.
    table = ComposedLoss([(FiniteLoss((0.5, 0.5, 0.0), (0.5, 0.25, 0.25)), 1)], Side.UPPER)
    assert table.lead(1e-5) == 0.0
