"""Steps on random batches: mixtures of contributions, draws with replacement."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

import dpcheck
from dpcheck.core.errors import InvalidParameter, UnsupportedAdjacency

X = np.linspace(-60, 80, 700_001)


Mixture = list[tuple[float, float]]


def mixture_epsilon(p: Mixture, q: Mixture, delta: float) -> float:
    """Where the hockey-stick divergence of two mixtures of unit normals (weight, mean) is delta."""
    top = sum(w * norm.pdf(X - m) for w, m in p)
    base = sum(w * norm.pdf(X - m) for w, m in q)

    def excess(epsilon: float) -> float:  # by quadrature
        return float(np.maximum(top - math.exp(epsilon) * base, 0).sum() * (X[1] - X[0])) - delta

    return brentq(excess, 0.0, 30.0)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_contributions_by_chance_by_quadrature(adjacency: str) -> None:
    event = dpcheck.MixtureGaussian(2.0, (1.0, 3.0, 0.0), (0.2, 0.05, 0.75))
    p = [(0.75, 0.0), (0.2, 0.5), (0.05, 1.5)]
    q = [(1.0, 0.0)] if adjacency == "add-remove" else [(w, -m) for w, m in p]
    for delta in (1e-3, 1e-6):
        exact = max(mixture_epsilon(*pair, delta) for pair in ((p, q), (q, p)))
        found = dpcheck.epsilon(event, delta=delta, adjacency=adjacency)
        assert found.lower <= exact * (1 + 1e-6)
        assert exact * (1 - 1e-6) <= found.upper <= 1.005 * found.lower


def test_contributions_of_a_group_are_those_of_its_records() -> None:
    q = 0.1
    weights = tuple(float(binom.pmf(j, 3, q)) for j in (1, 2, 3))
    event = dpcheck.MixtureGaussian(1.5, (1.0, 2.0, 3.0), weights) * 20
    known = dpcheck.epsilon(dpcheck.Grouped(dpcheck.SampledGaussian(1.5, q), 3) * 20, delta=1e-5)
    found = dpcheck.epsilon(event, delta=1e-5)
    assert found.upper == pytest.approx(known.upper, rel=1e-4)
    assert found.lower == pytest.approx(known.lower, rel=1e-4)
    always = dpcheck.epsilon(dpcheck.MixtureGaussian(1.5, (1.0,), (1.0,)), delta=1e-5)
    assert always.upper == pytest.approx(dpcheck.epsilon(dpcheck.Gaussian(1.5), delta=1e-5).upper)
    assert dpcheck.epsilon(dpcheck.MixtureGaussian(1.5, (0.0,), (1.0,)), delta=1e-5).upper == 0.0


@pytest.mark.parametrize(
    ("contributions", "probabilities"),
    [((), ()), ((1.0,), (0.5, 0.5)), ((1.0, 2.0), (0.7, 0.7)), ((-1.0,), (0.5,))],
)
def test_a_mixture_that_is_none_is_refused(contributions, probabilities) -> None:
    with pytest.raises(InvalidParameter):
        dpcheck.MixtureGaussian(1.0, contributions, probabilities)


def test_draws_with_replacement_by_quadrature() -> None:
    """Above: the sum of w_j F_j(1 + (y-1)/rate) of [Balle2018] Theorem 10; below: all others are like the
    replacement, and the record is opposite.
    """
    rows, batch, noise = 50, 10, 3.0
    weights = [float(binom.pmf(j, batch, 1 / rows)) for j in range(batch + 1)]
    rate = 1 - weights[0]

    def bound(epsilon: float) -> float:
        inner = math.log1p(math.expm1(epsilon) / rate)
        shifts = [2 * j / noise for j in range(1, batch + 1)]
        curves = [
            norm.cdf(s / 2 - inner / s) - math.exp(inner) * norm.cdf(-s / 2 - inner / s)
            for s in shifts
        ]
        return float(np.dot(weights[1:], curves))

    p = [(w, 2 * j / noise) for j, w in enumerate(weights)]
    q = [(1.0, 0.0)]
    event = dpcheck.WithReplacementGaussian(noise, rows, batch)
    for delta in (1e-3, 1e-6):
        above = brentq(lambda e: bound(e) - delta, 0.0, 30.0)  # noqa: B023
        attained = max(mixture_epsilon(p, q, delta), mixture_epsilon(q, p, delta))
        found = dpcheck.epsilon(event, delta=delta, adjacency="replace-one")
        assert attained * (1 - 1e-6) <= found.upper <= above * 1.001
        assert attained * 0.995 <= found.lower <= attained * (1 + 1e-6)
    # Whoever draws once draws without replacement.
    single = dpcheck.epsilon(dpcheck.WithReplacementGaussian(noise, rows, 1) * 9, delta=1e-6)
    fixed = dpcheck.epsilon(dpcheck.FixedBatchGaussian(noise, rows, 1) * 9, delta=1e-6)
    assert single.upper == pytest.approx(fixed.upper, rel=1e-6)
    with pytest.raises(UnsupportedAdjacency, match="replace-one"):
        dpcheck.epsilon(event, delta=1e-5, adjacency="add-remove")


def test_a_pair_stated_under_add_remove_pays_for_a_removal_and_an_addition() -> None:
    """(0.6, 0.4) to (0.4, 0.6) and back another way: three outcomes in a row, enumerated."""
    stated = dpcheck.Under("add-remove", dpcheck.FinitePair((0.5, 0.5), (0.25, 0.75)))
    # A chain the statement allows: (0.5, 0.5, 0), (0.25, 0.75, 0) -> (0.5, 0.5) the other way round.
    chain = [np.array(x) for x in ((0.5, 0.5), (0.25, 0.75), (0.125, 0.875))]
    worst = dpcheck.delta(stated, epsilon=0.2, adjacency="replace-one").upper
    for first, last in ((chain[0], chain[2]), (chain[2], chain[0])):
        assert np.maximum(first - math.exp(0.2) * last, 0).sum() <= worst * (1 + 1e-9)
    assert worst <= 1.0


def revealed(rows: int, rate: float, mu: float, epsilon: float) -> float:
    """Batch size and noisy sum released, all others at -C and the record at +C; the worse direction."""
    y, totals, x = math.exp(epsilon), [0.0, 0.0], np.linspace(-12, 14, 26_001)
    for m in range(rows + 1):
        with_it, without = binom.pmf(m, rows, rate), binom.pmf(m, rows - 1, rate)
        p = with_it * ((1 - m / rows) * norm.pdf(x) + m / rows * norm.pdf(x - 2 * mu))
        q = without * norm.pdf(x)
        for i, (a, b) in enumerate(((p, q), (q, p))):
            totals[i] += float(np.maximum(a - y * b, 0).sum() * (x[1] - x[0]))
    return max(totals)


def test_a_sum_divided_by_the_size_of_its_batch_by_quadrature() -> None:
    rows, rate, noise = 30, 0.3, 3.0
    event = dpcheck.RealisedBatchGaussian(noise, rate, rows)
    for epsilon in (0.5, 1.5):
        truth = revealed(rows, rate, 1 / noise, epsilon)
        found = dpcheck.delta(event, epsilon=epsilon, adjacency="add-remove")
        assert truth * (1 - 1e-6) <= found.upper <= truth * 1.02
        plain = dpcheck.delta(dpcheck.SampledGaussian(noise, rate), epsilon=epsilon)
        assert found.lower == pytest.approx(plain.lower)
        assert found.upper > plain.upper  # the divisor costs
    # Replaced: at least a batch of the usual size, at most one of all rows.
    replaced = dpcheck.epsilon(event, delta=1e-4, adjacency="replace-one")
    fixed = dpcheck.epsilon(dpcheck.FixedBatchGaussian(noise, rows, 9), delta=1e-4)
    whole = dpcheck.epsilon(dpcheck.Gaussian(noise), delta=1e-4, adjacency="replace-one")
    assert fixed.upper < replaced.upper < whole.upper


def test_many_steps_divided_by_realised_sizes_cost_more_than_by_expected_ones() -> None:
    event = dpcheck.RealisedBatchGaussian(1.0, 0.01, 10_000) * 100
    plain = dpcheck.epsilon(dpcheck.SampledGaussian(1.0, 0.01) * 100, delta=1e-5)
    found = dpcheck.epsilon(event, delta=1e-5)
    assert plain.upper < found.upper < 20
    assert found.lower == pytest.approx(plain.lower)
    all_rows = dpcheck.RealisedBatchGaussian(1.0, 1.0, 100)
    assert dpcheck.epsilon(all_rows, delta=1e-5).upper == math.inf
    assert dpcheck.epsilon(all_rows, delta=1e-5, adjacency="replace-one").upper < math.inf
