"""F* against numbers from the theory and against a search over real data, outputs and centres."""

import cmath
import math

import numpy as np
import pytest
from scipy.optimize import minimize

import dpcheck
from dpcheck.accounting.objective import objective_epsilon
from dpcheck.core.adjacency import Adjacency


def bound(noise_epsilon, rows, regularization, **extra):
    event = dpcheck.ObjectivePerturbation(noise_epsilon, rows, regularization, **extra)
    return dpcheck.epsilon(event, delta=0.0, adjacency="replace-one")


@pytest.mark.parametrize(
    ("noise_epsilon", "regularization", "expected"),
    [(0.950615, 0.1, 0.950615), (0.553713, 0.01, 0.662103)],
)
def test_numbers_of_the_theory(noise_epsilon, regularization, expected):
    found = bound(noise_epsilon, 100, regularization)
    assert found.upper == pytest.approx(expected, abs=5e-7)
    assert found.lower == pytest.approx(expected, abs=5e-7)


def test_branch_two():
    # eps = 1, eps' = 1/2 and Delta so that m = 1/(4 (e^{1/4} - 1)) = .880...
    modulus = 1 / (4 * math.expm1(0.25))
    found = bound(0.5, 100, 0.001, extra_regularization=modulus / 100 - 0.001)
    assert found.upper == pytest.approx(0.642507, abs=5e-7)


def inner(a: complex, b: complex) -> float:
    return (a.conjugate() * b).real


def exact_loss(w, record, other, centre, noise_epsilon, modulus):
    """The loss at output w when one record (sign folded in) is replaced and all others are 0.

    Vectors of the plane are complex numbers here: the search below asks many thousand times.
    """

    def pull_and_determinant(x):
        t = inner(w, x)
        s = math.exp(-max(t, 0.0) - math.log1p(math.exp(-abs(t))))
        return s * x, math.log(modulus) + math.log(modulus + s * (1 - s) * inner(x, x))

    pull, det = pull_and_determinant(record)
    pull_other, det_other = pull_and_determinant(other)
    rest = -modulus * (w - centre)
    b, b_other = pull + rest, pull_other + rest
    # |b'| - |b| without cancellation, since |b| may be huge.
    growth = inner(pull_other - pull, b + b_other) / (abs(b) + abs(b_other))
    return noise_epsilon / 2 * growth + det - det_other


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_an_independent_search(seed):
    rng = np.random.default_rng(seed)
    noise_epsilon = float(np.exp(rng.uniform(-2, 1.5)))
    modulus = float(np.exp(rng.uniform(-2.5, 2.5)))
    q = float(rng.uniform(0.3, 1.0))
    lower, upper = objective_epsilon(noise_epsilon, modulus, q, Adjacency.REPLACE_ONE)

    def negative(parameters):
        theta, other, w1, w2, away = parameters.tolist()
        w = complex(w1, w2)
        # A free centre lets the noise point anywhere; far away the norms are linear.
        centre = w + cmath.rect(1e6, away)
        x, x_other = cmath.rect(q, theta), cmath.rect(q, other)
        return -exact_loss(w, x, x_other, centre, noise_epsilon, modulus)

    best = -math.inf
    for _ in range(10):
        start = np.concatenate(
            [rng.uniform(-3.1, 3.1, 2), rng.normal(0, 8, 2), rng.uniform(-3.1, 3.1, 1)]
        )
        found = minimize(negative, start, method="Nelder-Mead", options={"maxiter": 3000})
        best = max(best, -found.fun)
    assert best <= upper + 1e-9
    assert best >= 0.97 * lower


def test_rows_bounded_by_q_scale_as_one_parameter_family():
    # Scaling rows by q and the noise and modulus with them changes nothing.
    one = objective_epsilon(1.0, 2.0, 1.0, Adjacency.REPLACE_ONE)[1]
    half = objective_epsilon(2.0, 0.5, 0.5, Adjacency.REPLACE_ONE)[1]
    assert one == pytest.approx(half, rel=1e-14)


def test_other_adjacencies():
    event = dpcheck.ObjectivePerturbation(0.9, 100, 0.1)
    assert dpcheck.epsilon(event, adjacency="add-remove").lower == math.inf
    zero_out = dpcheck.epsilon(event, adjacency="zero-out").upper
    assert zero_out == pytest.approx(dpcheck.epsilon(event).upper - 0.45, rel=1e-12)
