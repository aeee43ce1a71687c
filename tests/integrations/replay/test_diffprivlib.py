"""diffprivlib's mechanisms under replay."""

from __future__ import annotations

import math

import numpy as np
import pytest
from diffprivlib import mechanisms

from dpcheck.replay import FindingKind, examine

PAIR = (np.array([0.0, 1.0]), np.array([1.0, 1.0]))


def laplace(data, rng):
    return mechanisms.Laplace(epsilon=2.0, sensitivity=1.0).randomise(float(data.sum()))


def geometric(data, rng):
    return mechanisms.Geometric(epsilon=2.0, sensitivity=1).randomise(int(data.sum()))


@pytest.mark.parametrize("function", [laplace, geometric], ids=lambda f: f.__name__)
def test_pure_mechanisms(function):
    finding = examine(function, PAIR)
    assert finding.kind is FindingKind.EXACT, [str(hint) for hint in finding.hints]
    assert finding.epsilon().lower == pytest.approx(2.0, rel=1e-6)


def test_gaussian():
    def library(data, rng):
        made = mechanisms.Gaussian(epsilon=0.9, delta=1e-5, sensitivity=1.0)
        return made.randomise(float(data.sum()))

    def plain(data, rng):
        return float(data.sum()) + rng.normal(scale=math.sqrt(2 * math.log(1.25 / 1e-5)) / 0.9)

    ours = examine(plain, PAIR).epsilon(1e-5).lower
    assert examine(library, PAIR).epsilon(1e-5).lower == pytest.approx(ours, rel=1e-6)


def test_a_truncated_mechanism_is_no_proof():
    def library(data, rng):
        made = mechanisms.LaplaceTruncated(epsilon=2.0, sensitivity=1.0, lower=0, upper=5)
        return made.randomise(float(data.sum()))

    assert not examine(library, PAIR).proved
