"""Mechanisms of diffprivlib inside of a function: charged for how far the value moves."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpcheck

mechanisms = pytest.importorskip("diffprivlib.mechanisms")
UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=100)
FIVE = dpcheck.records(x=dpcheck.number(0, 5), rows=100)


def proved(function, data=UNIT, delta=0.0):
    return dpcheck.prove(function, data, "add-remove").epsilon(delta).upper


def total(x, rng):
    return mechanisms.Laplace(epsilon=1, sensitivity=1).randomise(x.sum())


def folded(x, rng):
    return mechanisms.LaplaceFolded(epsilon=0.5, sensitivity=1, lower=0, upper=100).randomise(
        x.sum()
    )


def truncated(x, rng):
    noise = mechanisms.LaplaceTruncated(epsilon=0.5, sensitivity=1, lower=0, upper=100)
    return noise.randomise(float(x.sum()))


def counted(x, rng):
    return mechanisms.Geometric(epsilon=0.5, sensitivity=1).randomise(int((x > 0.5).sum()))


def counted_truncated(x, rng):
    noise = mechanisms.GeometricTruncated(epsilon=0.5, sensitivity=1, lower=0, upper=9)
    return noise.randomise(int((x > 0.5).sum()))


def with_less_delta(x, rng):
    return mechanisms.Laplace(epsilon=1, sensitivity=1, delta=0.1).randomise(x.sum())


def normal(x, rng):
    return mechanisms.Gaussian(epsilon=0.5, delta=1e-5, sensitivity=1).randomise(x.sum())


@pytest.mark.parametrize(
    ("function", "data", "epsilon"),
    [
        (total, UNIT, 1.0),
        (total, FIVE, 5.0),
        (folded, UNIT, 0.5),
        (truncated, FIVE, 2.5),
        (counted, UNIT, 0.5),
        (counted_truncated, UNIT, 0.5),
        (with_less_delta, UNIT, 1 - math.log(0.9)),
    ],
)
def test_pure_mechanisms_cost_how_far_the_value_moves(function, data, epsilon):
    assert proved(function, data) == pytest.approx(epsilon, rel=1e-9)


def test_normal_noise_has_the_scale_of_the_mechanism():
    scale = math.sqrt(2 * math.log(1.25 / 1e-5)) / 0.5

    def ours(x, rng):
        return x.sum() + rng.normal(scale=scale)

    assert proved(normal, delta=1e-5) == pytest.approx(proved(ours, delta=1e-5), rel=1e-9)
    assert proved(normal, delta=1e-5) <= 0.5


def test_the_noise_has_the_stated_law():
    """Quantiles of 20,000 draws of each, against Laplace's: four standard errors."""
    noise = mechanisms.Laplace(epsilon=0.5, sensitivity=1)
    drawn = np.array([noise.randomise(0.0) for _ in range(20_000)])
    for chance in (0.1, 0.25, 0.5, 0.75, 0.9):
        at = 2 * math.log(2 * chance) if chance < 0.5 else -2 * math.log(2 - 2 * chance)
        error = 4 * math.sqrt(chance * (1 - chance) / len(drawn))
        assert np.mean(drawn <= at) == pytest.approx(chance, abs=error)


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (
            lambda x, rng: mechanisms.Laplace(epsilon=1, sensitivity=x.max()).randomise(x.sum()),
            "public",
        ),
        (lambda x, rng: mechanisms.Laplace(epsilon=1, sensitivity=0).randomise(x.sum()), "scale"),
        (lambda x, rng: mechanisms.Geometric(epsilon=1, sensitivity=1).randomise(x.sum()), "whole"),
        (
            lambda x, rng: mechanisms.Laplace(epsilon=1, sensitivity=1, random_state=3).randomise(
                x.sum()
            ),
            "seed",
        ),
        (
            lambda x, rng: mechanisms.LaplaceBoundedDomain(
                epsilon=1, sensitivity=1, lower=0, upper=9
            ).randomise(x.sum()),
            "LaplaceBoundedDomain",
        ),
    ],
)
def test_what_is_not_known_is_refused(function, match):
    with pytest.raises(dpcheck.NotProvable, match=match):
        proved(function)
