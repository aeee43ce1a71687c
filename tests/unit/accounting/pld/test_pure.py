"""Compositions of pure mechanisms: the PLD must enclose the optimal-composition theorem.

At very large tilts the sum underflows left of the saddle; nothing may be claimed there.
"""

import math
import random

import pytest

import dpcheck
from dpcheck.accounting import losses
from dpcheck.accounting.accountants.optimal import optimal_composition
from dpcheck.accounting.losses import ResponseLoss
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.distribution import pld_delta, pld_epsilon
from dpcheck.numerics.side import Side

CASES = [
    (0.6368155261018924, 1, 8.550532339044147e-09),
    (1.6518152820869005, 3, 8.893588015815193e-09),
    (0.688003516382506, 2, 2.6708689522086542e-18),
    (4.440122546767736, 3, 6.416989361887978e-09),
    (4.070821299817024, 4, 2.3913417995963444e-05),
]
_RNG = random.Random(0)
CASES += [
    (10 ** _RNG.uniform(-2, 0.7), _RNG.randint(1, 60), 10 ** _RNG.uniform(-20, -0.5))
    for _ in range(60)
]


@pytest.mark.parametrize(("epsilon", "times", "delta"), CASES)
def test_randomized_response_is_enclosed(epsilon, times, delta):
    low, high = optimal_composition(epsilon, times, delta)
    parts = [(ResponseLoss(epsilon), times)]
    upper, lower = (pld_epsilon(parts, delta, side) for side in (Side.UPPER, Side.LOWER))
    assert upper >= low * (1 - 1e-13)
    assert lower <= high * (1 + 1e-13)
    assert upper - lower <= 1e-3 * high + 1e-6


def test_delta_left_of_all_losses_is_never_tiny():
    found = pld_delta([(ResponseLoss(0.6368155261018924), 1)], [-1.0, -0.1, 0.0], Side.UPPER)
    assert (found >= [0.6, 0.3, 0.3]).all()


def test_more_uses_than_a_lattice_holds_are_left_to_other_accountants():
    times = 10**15
    spent = dpcheck.epsilon(dpcheck.PureDP(0.5) * times, delta=1e-5)
    # Mean plus a few deviations of `times` randomized responses; basic composition is 0.5 * times.
    mean = times * 0.5 * math.tanh(0.25)
    assert mean <= spent.upper <= 0.5 * times
    with pytest.raises(dpcheck.DpcheckError, match="rdp"):
        dpcheck.epsilon(dpcheck.PureDP(0.5) * times, delta=1e-5, method="pld")


def test_an_atom_at_the_end_of_a_rounded_range_stays_on_the_lattice():
    """It was counted as infinite, on a lattice of sixty million points from 0 on: found by the fuzz."""
    loss = losses.SampledLaplaceLoss(1 / 0.0010072705403422302, 0.7519183183166445).reversed()
    pair = build(loss, Side.UPPER)
    rounded = float(f"{pair.top * (1 - 1e-10):.10g}")
    found = pair.upper(2.3e-8, rounded, rounded)
    assert len(found.masses) < 10
    assert found.infinite < 1e-12
    assert found.masses.sum() == pytest.approx(1.0, abs=1e-6)
    # Half of all is at the largest loss, of which nothing is left out.
    assert found.masses[found.levels >= pair.top].sum() >= 0.5
