"""The event that goes with a proof about one noisy number, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcheck.core.budget import Budget
from dpcheck.replay import examine
from dpcheck.replay.losses.half_lines import HalfLine

LAWS = {"laplace": stats.laplace, "normal": stats.norm, "logistic": stats.logistic}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.3, 0.7])
def test_the_probabilities_are_those_of_the_law(law, scale):
    def noisy(data, rng):
        return 3.0 - 2 * (sum(data) + getattr(rng, law)(0, scale))

    half = examine(noisy, ([0.0, 1.0], [0.0, 0.0]), Budget(1.0)).half_line
    for center, seen in ((1.0, half.first), (3.0, half.second)):
        known = LAWS[law](center, 2 * scale)
        assert seen == pytest.approx(known.sf(half.cut) if half.above else known.cdf(half.cut))
    # It refutes the claim by itself, as far as any half-line does.
    ratio = max(half.first, half.second) / min(half.first, half.second)
    assert math.log(ratio) > 1.0


def test_its_worth_is_the_divergence_of_the_hits():
    half = HalfLine(True, 0.0, 0.5, 0.05)
    share, allowed = 0.5 / 0.55, math.e / (1 + math.e)
    told = stats.entropy([share, 1 - share], [allowed, 1 - allowed])
    assert half.worth(1.0, 0.0) == pytest.approx(0.275 * told)
    assert half.worth(math.log(10), 0.0) == 0.0
    assert half.worth(1.0, 0.5) == 0.0  # delta excuses every hit
    assert HalfLine(True, 0.0, 0.5, 0.0).worth(1.0, 0.0) == pytest.approx(-0.25 * math.log(allowed))


def test_only_one_number_on_one_path_has_such_an_event():
    def two(data, rng):
        return sum(data) + rng.laplace(0, 0.1), 1.0

    def mixed(data, rng):
        return sum(data) + rng.laplace(0, 0.1 if rng.random() < 0.5 else 9.0)

    def rounded(data, rng):
        return np.rint(sum(data) + rng.laplace(0, 0.1))

    for function in (two, mixed, rounded):
        assert examine(function, ([0.0], [1.0]), Budget(1.0)).half_line is None
