"""Wide cells, and the opposite direction from this one's lattice: sound, close, and fewer."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dpcheck.accounting.certify.bound import Plan, Question, certify
from dpcheck.accounting.losses import FiniteLoss, GaussianMixtureLoss, SampledLaplaceLoss
from dpcheck.accounting.pld import distribution
from dpcheck.accounting.pld.distribution import ComposedLoss, worse_epsilon
from dpcheck.accounting.pld.pairs.mixtures import Mixture, NormalPair
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
def test_cells_are_above_the_closed_form(rate: float, mean: float) -> None:
    pair = NormalPair(Mixture((mean,), (rate,)), Mixture())
    cumulants = Cumulants([(pair, 1000)], -12.0)
    ((low, high),) = loss_ranges(cumulants, cumulants.tilt_for_delta(1e-5))
    laid = pair.upper((high - low) / 500, low, high)
    with mpmath.workdps(30):
        for epsilon in np.linspace(low - 0.01, high, 60).tolist():
            y = float(np.exp(epsilon))
            gains = np.maximum(-np.expm1(np.log(y) - laid.levels), 0.0)
            curve = float(np.sum(laid.masses * gains)) + laid.infinite
            assert curve >= _divergence(rate, mean, y) - mpmath.mpf(1e-15)


def test_the_other_direction_is_proved_by_a_coarser_lattice(monkeypatch) -> None:
    asked = []
    rough = ComposedLoss.rough
    monkeypatch.setattr(
        ComposedLoss, "rough", lambda one, *more: asked.append(one) or rough(one, *more)
    )
    ways = [((FORWARD, 1003),), ((BACKWARD, 1003),)]
    distribution._more_steps.cache_clear()
    first = worse_epsilon(ways, 1e-5, Side.UPPER)
    assert first == worse_epsilon(ways[::-1], 1e-5, Side.UPPER)
    close = [((SampledLaplaceLoss(1.0, 0.01, way), 1000),) for way in (False, True)]
    for both in (ways, close):
        asked.clear()
        distribution._more_steps.cache_clear()
        found = worse_epsilon(both, 1e-5, Side.UPPER)
        assert asked
        worst = certify(Plan(*found), Question(both[0], Side.UPPER, 1e-5), "pld").upper
        assert worst == max(ComposedLoss(way, Side.UPPER).epsilon(1e-5) for way in both)


def test_the_lead_is_that_of_the_worse_direction():
    forward, backward = (ComposedLoss([(loss, 1000)], Side.UPPER) for loss in (FORWARD, BACKWARD))
    assert forward.lead(1e-5) > 0 > backward.lead(1e-5)
    # What the picture does not show, as an outcome that only Q has, is not guessed at.
    table = ComposedLoss([(FiniteLoss((0.5, 0.5, 0.0), (0.5, 0.25, 0.25)), 1)], Side.UPPER)
    assert table.lead(1e-5) == 0.0
