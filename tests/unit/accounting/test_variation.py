"""Total variation distances against integration, and what follows for epsilon."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace, norm

import dpcheck
from dpcheck.accounting import losses
from dpcheck.accounting.pairs.pair import composed_variation
from dpcheck.accounting.pld import measures
from dpcheck.numerics.side import Side


def mixture(shifts, weights, law):
    rest = 1 - sum(weights)
    return lambda x: (
        rest * law.pdf(x) + sum(w * law.pdf(x - s) for s, w in zip(shifts, weights, strict=True))
    )


def distance(p, q):
    return quad(lambda x: abs(p(x) - q(x)), -40, 40, limit=2000, points=[-2, -1, 0, 1, 2])[0] / 2


NONE = mixture((), (), norm)
CASES = {
    "gaussian": (losses.GaussianLoss(0.3), mixture((0.3,), (1.0,), norm), NONE),
    "wide gaussian": (losses.GaussianLoss(4.0), mixture((4.0,), (1.0,), norm), NONE),
    "mixture": (
        losses.GaussianMixtureLoss((0.5, 2.0), (0.2, 0.1)),
        mixture((0.5, 2.0), (0.2, 0.1), norm),
        NONE,
    ),
    "opposite": (
        losses.OppositeMixtureLoss((0.4,), (0.3,)),
        mixture((0.4,), (0.3,), norm),
        mixture((-0.4,), (0.3,), norm),
    ),
    "laplace": (
        losses.LaplaceLoss(0.7),
        mixture((0.7,), (1.0,), laplace),
        mixture((), (), laplace),
    ),
    "sampled laplace": (
        losses.SampledLaplaceLoss(1.5, 0.2),
        mixture((1.5,), (0.2,), laplace),
        mixture((), (), laplace),
    ),
    "replaced sample": (
        losses.ReplacedSampleLoss(losses.GaussianLoss(0.6), 0.3),
        mixture((0.6,), (0.3,), norm),
        mixture((-0.6,), (0.3,), norm),
    ),
    "sampled": (
        losses.SampledLoss(((losses.GaussianLoss(1.0), 1),), 0.1),
        mixture((1.0,), (0.1,), norm),
        NONE,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_never_below_the_distance(name):
    loss, p, q = CASES[name]
    truth = distance(p, q)
    assert truth - 1e-7 <= loss.variation() <= min(1.0, 2.5 * truth)


def test_distances_of_a_composition_add_up():
    parts = ((losses.GaussianLoss(0.01), 9), (losses.ResponseLoss(0.02), 5))
    # Nine Gaussians are one of three times the shift; randomized response has tanh(eps/2).
    truth = 2 * norm.cdf(0.015) - 1
    assert truth < composed_variation(parts) < 9 * 0.00399 + 5 * 0.0101
    assert composed_variation(((losses.UnboundedLoss("x"), 1),)) == 1


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_sampling_far_below_delta_costs_nothing(adjacency):
    """The noise is as good as none, but a record is drawn once in 1e9 trainings."""
    event = dpcheck.SampledGaussian(0.001, 1e-10) * 10
    assert dpcheck.epsilon(event, delta=1e-6, adjacency=adjacency).upper == 0
    leak = dpcheck.delta(event, epsilon=1.0, adjacency=adjacency)
    assert leak.lower <= 1e-9 <= leak.upper <= 1.0001e-9


def test_losses_beyond_the_range_of_floats_are_no_crash():
    event = dpcheck.Sampled(dpcheck.Gaussian(0.001) * 2 + dpcheck.Laplace(0.001), 1e-10)
    leak = dpcheck.delta(event, epsilon=1.0)
    assert leak.lower <= 1e-10 <= leak.upper <= 1.0001e-10
    below = dpcheck.epsilon(event, delta=1e-11)
    assert below.lower <= below.upper
    assert math.isfinite(np.exp(-below.lower))


def test_masses_next_to_nothing_are_moved_to_infinity_or_dropped():
    """A sum of two laws by plain loops: above, nothing is lost; below, nothing is gained."""
    mass = np.array([1e-200, 0.0, 0.25, 1e-160, 0.5, 0.25, 1e-300, 1e-170])
    law = measures._Law(-3, mass, 0.0)
    for side in Side:
        both, lost = measures._joined(law, law, side)
        found = {both.first + k: m for k, m in enumerate(both.mass) if m}
        expected: dict[int, float] = {}
        for i, a in enumerate(mass):
            for j, b in enumerate(mass):
                expected[i + j - 6] = expected.get(i + j - 6, 0.0) + a * b
        assert found == {k: m for k, m in expected.items() if m > 1e-100}
        assert lost >= 2 * (1e-200 + 1e-160 + 1e-170)
    none = measures._Law(0, np.array([1e-200, 1e-200]), 0.0)
    assert measures._joined(none, none, Side.UPPER)[1] >= 4e-200
