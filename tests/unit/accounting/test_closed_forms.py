"""Answers that need no lattice, against enumeration and closed forms in mpmath."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.accountants.gaussian import gdp_epsilon
from dpcheck.accounting.accountants.optimal import optimal_composition
from dpcheck.accounting.pld.pairs.atoms import Atoms, atoms_epsilon
from dpcheck.numerics.side import Side

mp.mp.dps = 60


def _binomial_delta(epsilon0: float, times: int, epsilon: float) -> mp.mpf:
    keep = 1 / (1 + mp.exp(-mp.mpf(epsilon0)))
    terms = (
        mp.binomial(times, k)
        * keep**k
        * (1 - keep) ** (times - k)
        * -mp.expm1(mp.mpf(epsilon) - (2 * k - times) * mp.mpf(epsilon0))
        for k in range(times + 1)
        if (2 * k - times) * mp.mpf(epsilon0) > epsilon
    )
    return mp.fsum(terms)


@pytest.mark.parametrize("epsilon0", [1e-3, 0.1, 0.7, 3.0, 40.0])
@pytest.mark.parametrize("times", [1, 2, 7, 60, 401])
@pytest.mark.parametrize("delta", [1e-60, 1e-6, 0.03])
def test_optimal_composition_encloses_the_binomial_sum(
    epsilon0: float, times: int, delta: float
) -> None:
    """delta at the lower end is at least, at the upper end at most, the delta asked for."""
    low, high = optimal_composition(epsilon0, times, delta)
    assert 0 <= low <= high <= times * epsilon0 * (1 + 1e-14)
    assert high - low <= 1e-13 * high
    assert _binomial_delta(epsilon0, times, high) <= delta * (1 + mp.mpf(10) ** -40)
    if low > 0:
        assert _binomial_delta(epsilon0, times, low) >= delta * (1 - mp.mpf(10) ** -40)


def test_ten_thousand_pure_steps_are_exact() -> None:
    """dp-accounting 0.6.0 answers 4.885515558, below the optimum; the sum of 10,001 terms says so."""
    bound = dpcheck.epsilon(dpcheck.PureDP(0.01) * 10_000, delta=1e-6)
    assert bound.upper - bound.lower <= 1e-12
    assert bound.lower > 4.8855156
    assert bound.method == "optimal-composition"


@pytest.mark.parametrize("epsilon", [1e300, 700.0])
def test_huge_pure_steps_stay_ordered(epsilon: float) -> None:
    """No nan becomes a 0."""
    low, high = optimal_composition(epsilon, 3, 1e-9)
    assert 2.9 * epsilon <= low <= high <= 3 * epsilon * (1 + 1e-12)


@pytest.mark.parametrize("noise", [0.3, 2.0, 50.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.2])
def test_one_laplace_answer(noise: float, delta: float) -> None:
    """epsilon = 1/noise + 2 log(1 - delta)."""
    bound = dpcheck.epsilon(dpcheck.Laplace(noise), delta=delta)
    exact = max(1 / mp.mpf(noise) + 2 * mp.log(1 - mp.mpf(delta)), mp.mpf(0))
    assert bound.lower <= exact <= bound.upper
    assert bound.upper - bound.lower <= 1e-12 * (1 + float(exact))


def test_one_table_by_its_best_test() -> None:
    """All subsets of six outcomes against the prefixes."""
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    for delta in (1e-4, 0.05, 0.3):
        best = max(
            (
                math.log((p[list(s)].sum() - delta) / q[list(s)].sum())
                for s in ([i for i in range(6) if mask >> i & 1] for mask in range(1, 64))
                if p[list(s)].sum() > delta
            ),
            default=0.0,
        )
        atoms = Atoms(p, q, 4e-16)
        low = atoms_epsilon(atoms, 0.0, delta, Side.LOWER)
        high = atoms_epsilon(atoms, 0.0, delta, Side.UPPER)
        assert low is not None
        assert high is not None
        assert low <= max(best, 0.0) + 1e-15
        assert high >= max(best, 0.0) - 1e-15
        assert high - low < 1e-12


def test_a_table_with_a_certain_outcome_is_left_to_the_lattice() -> None:
    """Mass that tells everything, more than delta: no finite epsilon is claimed."""
    atoms = Atoms(np.array([0.1, 0.9]), np.array([0.0, 1.0]), 4e-16)
    assert atoms_epsilon(atoms, 0.0, 0.05, Side.UPPER) is None
    assert dpcheck.epsilon(dpcheck.FinitePair((0.1, 0.9), (0.0, 1.0)), delta=0.05).upper == math.inf


@pytest.mark.parametrize(("mu", "delta"), [(1e-7, 1e-9), (1.0, 1e-5), (30.0, 1e-90), (0.5, 0.19)])
def test_gaussian_epsilon_around_its_guess(mu: float, delta: float) -> None:
    """delta at both ends, from the definition."""
    low, high = gdp_epsilon(mu, delta)
    m = mp.mpf(mu)

    def curve(e: float) -> mp.mpf:
        return mp.ncdf(m / 2 - e / m) - mp.exp(mp.mpf(e)) * mp.ncdf(-m / 2 - e / m)

    assert curve(high) <= delta
    assert low == 0 or curve(low) >= delta
    assert high - low <= 2e-13 * high


def test_the_lower_lattice_shows_what_falls_steeply() -> None:
    """Sampled Laplace, 10,000 steps: the gap was 14% while the density next to its atom was one cell."""
    bound = dpcheck.epsilon(dpcheck.SampledLaplace(0.5, 0.001) * 10_000, delta=1e-6)
    assert 0.8405 <= bound.lower <= bound.upper <= 0.84113


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_shift_of_1e19_noise_scales_has_an_answer(relation: str) -> None:
    """The moments of such a step are not formed; the bound of the unsampled one is left."""
    bound = dpcheck.epsilon(dpcheck.SampledGaussian(1e-19, 0.1), delta=1e-5, adjacency=relation)
    shift = 1e19 if relation == "add-remove" else 2e19
    assert 0 <= bound.lower <= bound.upper
    assert 0.99 * shift**2 / 2 <= bound.upper < math.inf
