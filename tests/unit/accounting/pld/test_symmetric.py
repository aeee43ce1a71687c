"""A curve that is its own reversal on a lattice that starts at a positive loss."""

import numpy as np
import pytest
from mpmath import mp

from dpcheck.accounting.pld.pairs.symmetric import WithoutReplacementPair


@pytest.mark.parametrize("low", [0.0, 0.003, 1.0, 2.5])
@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.1), (3.0, 0.01)])
def test_a_lattice_from_any_loss_on_lies_above_the_curve(low, mu, rate):
    loss = WithoutReplacementPair((mu,), (rate,)).upper(0.01, low, 12.0)
    levels = loss.levels
    assert levels[0] <= low
    assert levels[0] > low - 0.02 or low <= 0
    assert float(np.sum(loss.masses)) + loss.infinite >= 1
    for epsilon in (0.0, 0.5, 1.003, 2.0, 4.7, 9.0):
        y = mp.exp(epsilon)
        inner = 1 + (y - 1) / mp.mpf(rate)
        far = mp.log(inner) / mu + mp.mpf(mu) / 2
        truth = rate * (mp.ncdf(mu - far) - inner * mp.ncdf(-far))
        above = levels > epsilon
        found = float(loss.masses[above] @ -np.expm1(epsilon - levels[above])) + loss.infinite
        assert found >= truth * (1 - 1e-12)
        if epsilon > low:  # and not far above it
            assert found <= truth * 1.01 + 1e-12
