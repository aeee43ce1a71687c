"""OpenDP's measurements under replay: a wrong scale in the code around them is found exactly."""

from __future__ import annotations

import numpy as np
import opendp.prelude as dp
import pytest

from dpcheck.replay import FindingKind, examine

dp.enable_features("contrib")
PAIR = (np.array([0.0, 1.0]), np.array([1.0, 1.0]))
FLOATS = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
WHOLE = dp.atom_domain(T=int), dp.absolute_distance(T=int)


def laplace(data, rng):
    return dp.m.make_laplace(*FLOATS, scale=0.5)(float(data.sum()))


def chained(data, rng):
    return (FLOATS >> dp.m.then_laplace(scale=0.5))(float(data.sum()))


def whole(data, rng):
    return dp.m.make_laplace(*WHOLE, scale=0.5)(int(data.sum()))


@pytest.mark.parametrize("function", [laplace, chained, whole], ids=lambda f: f.__name__)
def test_laplace(function):
    finding = examine(function, PAIR)
    assert finding.kind is FindingKind.EXACT, [str(hint) for hint in finding.hints]
    assert finding.epsilon().lower == pytest.approx(2.0, rel=1e-6)


def test_gaussian_is_the_gaussian_of_numpy():
    def library(data, rng):
        return dp.m.make_gaussian(*FLOATS, scale=2.0)(float(data.sum()))

    def plain(data, rng):
        return float(data.sum()) + rng.normal(scale=2.0)

    ours = examine(plain, PAIR).epsilon(1e-5).lower
    assert examine(library, PAIR).epsilon(1e-5).lower == pytest.approx(ours, rel=1e-6)


def test_measurements_made_before_are_not_followed():
    made = dp.m.make_laplace(*FLOATS, scale=0.5)
    finding = examine(lambda data, rng: made(float(data.sum())), PAIR)
    assert not finding.proved
