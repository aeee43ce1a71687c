"""Replaced and truncated Poisson samples against the mechanisms themselves, integrated on a grid."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, norm

import dpcheck
from dpcheck.numerics.tails import binomial_tail

X = np.arange(-14.0, 14.0, 0.002)  # kinks cost about 1e-7


def density(weighted):
    """sum of weight N(mean, 1) on the grid."""
    return sum(weight * norm.pdf(X - mean) for mean, weight in weighted)


def delta(p, q, epsilon):
    return float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)) * (X[1] - X[0]))


def batches(values, rate, most):
    """(sum, probability) of a truncated Poisson batch of `values`, by enumerating everything."""
    found = {}
    for drawn in itertools.product((0, 1), repeat=len(values)):
        chance = math.prod(rate if d else 1 - rate for d in drawn)
        chosen = [v for v, d in zip(values, drawn, strict=True) if d]
        subsets = list(itertools.combinations(chosen, min(most, len(chosen))))
        for subset in subsets:
            total = round(sum(subset), 12)
            found[total] = found.get(total, 0.0) + chance / len(subsets)
    return list(found.items())


OTHERS = [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (-1.0, -1.0, -1.0), (1.0, -1.0, 0.5)]


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_truncated_poisson_covers_the_mechanism(most, rate):
    """Every dataset of four records with these others, one step, noise 1."""
    event = dpcheck.TruncatedPoissonGaussian(1.0, rate, 4, most)
    for epsilon in (0.0, 0.5, 1.5):
        bounds = {
            adjacency: dpcheck.delta(event, epsilon=epsilon, adjacency=adjacency)
            for adjacency in ("add-remove", "replace-one", "zero-out")
        }
        worst = dict.fromkeys(bounds, 0.0)
        for others in OTHERS:
            laws = {x: density(batches((*others, x), rate, most)) for x in (1.0, -1.0, 0.0)}
            without = density(batches(others, rate, most))
            pairs = {
                "add-remove": [(laws[x], without) for x in (1.0, -1.0)],
                "zero-out": [(laws[x], laws[0.0]) for x in (1.0, -1.0)],
                "replace-one": [(laws[1.0], laws[-1.0])],
            }
            for adjacency, found in pairs.items():
                for p, q in found:
                    worst[adjacency] = max(
                        worst[adjacency], delta(p, q, epsilon), delta(q, p, epsilon)
                    )
        for adjacency, bound in bounds.items():
            assert worst[adjacency] <= bound.upper + 1e-6, (adjacency, epsilon)
            assert bound.lower <= worst[adjacency] + 1e-6, (adjacency, epsilon)


def test_truncated_poisson_listed_figures():
    """Tighter than dp-accounting 0.6.0's 2.138 and 3.219 (rounded there), and known from below."""
    for most in (150, 200):
        event = dpcheck.TruncatedPoissonGaussian(1.0, 0.01, 10_000, most) * 1000
        added = dpcheck.epsilon(event, delta=1e-6, adjacency="add-remove")
        replaced = dpcheck.epsilon(event, delta=1e-6, adjacency="replace-one")
        assert added.upper <= 2.1385
        assert replaced.upper <= 3.2200
        assert added.lower >= 0.99 * added.upper
        assert replaced.lower >= 0.99 * replaced.upper


def test_no_pair_of_replaced_records_beats_opposite_ones():
    """Kahane's inequality, checked: pairs u, u' in the plane against the line, by quadrature."""
    grid = np.arange(-9.0, 9.0, 0.03)
    x, y = np.meshgrid(grid, grid)
    rng = np.random.default_rng(3)

    def law(shift, rate):
        moved = norm.pdf(x - shift[0]) * norm.pdf(y - shift[1])
        return (1 - rate) * norm.pdf(x) * norm.pdf(y) + rate * moved

    for _ in range(25):
        rate, mu = rng.uniform(0.05, 0.95), rng.uniform(0.3, 2.5)
        u, v = (
            rng.uniform(0, mu) * np.array([math.cos(a), math.sin(a)]) for a in rng.uniform(0, 7, 2)
        )
        for epsilon in (-0.5, 0.0, 0.7):
            e = math.exp(epsilon)
            here = float(np.sum(np.maximum(law(u, rate) - e * law(v, rate), 0.0)) * 0.03**2)
            p = (1 - rate) * norm.pdf(X) + rate * norm.pdf(X - mu)
            q = (1 - rate) * norm.pdf(X) + rate * norm.pdf(X + mu)
            assert here <= delta(p, q, epsilon) + 1e-6


@pytest.mark.parametrize(("noise", "rate", "group"), [(1.0, 0.1, 1), (0.7, 0.5, 1), (1.5, 0.2, 3)])
def test_replaced_groups_are_exact(noise, rate, group):
    """One step: the mirrored binomial mixtures, integrated on a grid."""
    event = dpcheck.Grouped(dpcheck.SampledGaussian(noise, rate), group)
    weights = binom.pmf(np.arange(group + 1), group, rate)
    p = density([(j / noise, w) for j, w in enumerate(weights)])
    q = density([(-j / noise, w) for j, w in enumerate(weights)])
    for epsilon in (0.0, 0.5, 2.0):
        bound = dpcheck.delta(event, epsilon=epsilon, adjacency="replace-one")
        truth = delta(p, q, epsilon)
        assert bound.lower <= truth + 1e-6
        assert truth <= bound.upper + 1e-6
        assert bound.upper <= truth * 1.002 + 1e-6


@pytest.mark.parametrize(
    ("trials", "rate", "least"),
    [(10, 0.5, 8), (9999, 0.01, 150), (10_000, 0.01, 80), (50, 0.9, 3), (7, 0.3, 0), (7, 0.3, 8)],
)
def test_binomial_tails(trials, rate, least):
    low, high = binomial_tail(trials, rate, least)
    truth = float(binom.sf(least - 1, trials, rate))
    assert low <= truth * (1 + 1e-11)
    assert truth * (1 - 1e-11) <= high <= low * (1 + 1e-12) + 1e-300
