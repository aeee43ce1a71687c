"""Noise of objective perturbation for a budget, against mpmath and the papers' formulas."""

from __future__ import annotations

import math

import mpmath
import pytest

from dpcheck.accounting.calibrate_objective import (
    ObjectiveFamily,
    family_epsilon,
    paper_noise,
    tight_noise,
)
from dpcheck.core.errors import InvalidParameter

mpmath.mp.dps = 50


def exact_cost(event) -> mpmath.mpf:
    """F*(eps', q, m) at 50 digits: the stationary point of the concave part, found by bisection."""
    q, m = (
        mpmath.mpf(event.norm_bound),
        mpmath.mpf(event.rows)
        * (mpmath.mpf(event.regularization) + mpmath.mpf(event.extra_regularization)),
    )
    a, c = mpmath.mpf(event.noise_epsilon) * q / 2, q * q / m

    def slope(s):
        return a + c * (1 - 2 * s) / (1 + c * s * (1 - s))

    low, high = mpmath.mpf("0.5"), mpmath.mpf(1)
    if slope(high) >= 0:
        low = high
    else:
        for _ in range(170):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return a + a * low + mpmath.log(1 + c * low * (1 - low))


FAMILIES = [
    (1.0, ObjectiveFamily(100, (0.1,), (1.0,))),
    (1.0, ObjectiveFamily(100, (0.01,), (1.0,))),
    (1.0, ObjectiveFamily(100, (0.001,), (1.0,))),
    (1.0, ObjectiveFamily(100, (0.002,), (1.0,))),
    (1.0, ObjectiveFamily(100, (0.0015,) * 5, (0.2,) * 5)),
    (0.01, ObjectiveFamily(10, (0.1, 0.001), (0.9, 0.1))),
    (1e-6, ObjectiveFamily(100, (0.1,), (1.0,))),
    (50.0, ObjectiveFamily(1, (0.1,), (1.0,))),
    (3.0, ObjectiveFamily(1, (1e-6, 1e3), (0.5, 0.5))),
    (1.0, ObjectiveFamily(10**9, (1e3,), (1.0,))),
    (0.7, ObjectiveFamily(40, (0.01, 0.02, 0.03), (1 / 3, 1 / 3, 1 / 3))),
]


@pytest.mark.parametrize(("epsilon", "family"), FAMILIES)
@pytest.mark.parametrize("choose", [paper_noise, tight_noise])
def test_the_exact_cost_is_within_the_claim_without_slack(choose, epsilon, family) -> None:
    events = choose(epsilon, family)
    exact = mpmath.fsum(exact_cost(event) for event in events)
    certified = family_epsilon(events)
    assert exact <= certified <= epsilon
    assert certified == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(("epsilon", "family"), FAMILIES)
def test_tight_spends_the_budget_and_is_never_noisier(epsilon, family) -> None:
    tight, papers = tight_noise(epsilon, family), paper_noise(epsilon, family)
    assert tight[0].noise_epsilon >= papers[0].noise_epsilon * (1 - 1e-12)
    assert tight[0].noise_epsilon >= epsilon / 2 * (1 - 1e-12)
    # Left over at most where no eps' at or below eps/sum(q) could use it.
    if tight[0].noise_epsilon < epsilon * (1 - 1e-9):
        assert family_epsilon(tight) == pytest.approx(epsilon, rel=1e-11)
    assert all(event.extra_regularization >= 0 for event in tight)


def test_theory_numbers() -> None:
    """Section 1: exact PLR costs at eps=1; eps'=eps when n lam eps >= 2; m=.293 buys eps'=.5."""
    assert family_epsilon(paper_noise(1.0, FAMILIES[0][1])) == pytest.approx(0.950615, abs=5e-7)
    assert family_epsilon(paper_noise(1.0, FAMILIES[1][1])) == pytest.approx(0.662103, abs=5e-7)
    assert tight_noise(1.0, ObjectiveFamily(100, (0.02,), (1.0,)))[0].noise_epsilon == (
        pytest.approx(1.0, rel=1e-13)
    )
    (raised,) = tight_noise(1.0, FAMILIES[3][1])
    assert raised.noise_epsilon == pytest.approx(0.5, rel=1e-12)
    assert 100 * (raised.regularization + raised.extra_regularization) == (
        pytest.approx(0.293, abs=5e-4)
    )


def test_papers_choice_is_the_papers_formula() -> None:
    family = ObjectiveFamily(100, (0.01, 0.02), (0.75, 0.25))
    noise = 1.0 - sum(
        math.log(1 + q**2 / (2 * 100 * lam) + q**4 / (16 * 100**2 * lam**2))
        for lam, q in ((0.01, 0.75), (0.02, 0.25))
    )
    for event in paper_noise(1.0, family):
        assert event.noise_epsilon == pytest.approx(noise, rel=1e-13)
        assert event.extra_regularization == 0
    family = ObjectiveFamily(100, (1e-4, 2.0), (0.75, 0.25))
    first, second = paper_noise(0.5, family)
    assert first.noise_epsilon == second.noise_epsilon == pytest.approx(0.25, rel=1e-13)
    for event, q in ((first, 0.75), (second, 0.25)):
        expected = q**2 / (400 * (math.exp(q * 0.5 / 4) - 1)) - event.regularization
        assert event.extra_regularization == pytest.approx(expected, rel=1e-12)
    assert second.extra_regularization < 0  # allowed: only the sum of the two counts


def test_bad_families_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="add up to at most 1"):
        paper_noise(1.0, ObjectiveFamily(10, (0.1, 0.1), (0.9, 0.9)))
    with pytest.raises(InvalidParameter, match="epsilon"):
        tight_noise(0.0, ObjectiveFamily(10, (0.1,), (1.0,)))
    with pytest.raises(InvalidParameter, match="same blocks"):
        ObjectiveFamily(10, (0.1,), (0.5, 0.5))
    with pytest.raises(InvalidParameter, match="regularizations"):
        ObjectiveFamily(10, (0.0,), (1.0,))
