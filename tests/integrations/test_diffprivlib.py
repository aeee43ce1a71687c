"""diffprivlib 0.6.6 against the epsilon it is given: what keeps it, and what provably does not."""

import numpy as np
import pytest
from diffprivlib import models

from dpcheck.auditing.mechanism import as_pairs, declaration
from dpcheck.integrations.diffprivlib import audited_model


@pytest.fixture(scope="module")
def targets(load):
    return load("diffprivlib_targets")


@pytest.mark.parametrize("name", ["mean", "count_nonzero", "histogram"])
def test_consistent(targets, audit, name):
    entry = audit(getattr(targets, name), max_runs=6000, tolerance=0.5)
    assert entry.verdict == "consistent"
    assert entry.observed.epsilon > 0.5


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("linear_regression", 2.0),
        ("gaussian_nb", 1.2),
        ("mean_without_bounds", 1.5),
        ("histogram_replaced", 1.05),
    ],
)
def test_violated(targets, audit, name, least):
    entry = audit(getattr(targets, name), max_runs=6000)
    assert entry.verdict == "violated"
    assert entry.observed.epsilon > least


def test_the_sum_of_squares_really_gets_no_noise():
    """The slip itself, without statistics: two fits share the exact sum of x^2 only if it is exact."""
    rows, labels = np.array([[0.25], [0.5], [1.0]]), np.zeros(3)
    sums = [
        models.LinearRegression(
            epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False, random_state=seed
        )
        .fit(rows, labels)
        ._obj_coefs[2][0, 0]
        for seed in range(3)
    ]
    assert sums == [pytest.approx(float((rows**2).sum()), abs=1e-12)] * 3


def test_the_set_of_classes_is_released_silently(audit):
    """The only record of a class changes it, and `classes_` loses it: disjoint outputs."""
    rows, labels = np.full((6, 1), 0.5), np.r_[1.0, np.zeros(5)]
    target = audited_model(
        models.GaussianNB,
        epsilon=1.0,
        bounds=(0, 1),
        adjacency="replace-one",
        release=lambda model: [float(c) for c in model.classes_],
        neighbours=[((rows, labels), (rows, np.zeros(6)))],
    )
    entry = audit(target, max_runs=2000)
    assert entry.verdict == "violated"
    assert entry.observed.epsilon > 3
    assert entry.witness["calls"] < 100  # disjoint: a few dozen right guesses in a row refute


def test_the_same_seed_gives_the_same_model(targets):
    data = as_pairs(declaration(targets.linear_regression).neighbours)[0].first
    one, two, other = (
        targets.linear_regression(data, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert (one == two).all()
    assert (one != other).all()
