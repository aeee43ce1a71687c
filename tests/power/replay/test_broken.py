"""Broken functions are refuted exactly in at most ten calls a pair; their twins are not."""

from __future__ import annotations

import math
from functools import cache

import pytest

from dpcheck.core.budget import Budget
from dpcheck.replay import FindingKind, examine

from .broken import CASES

BY_NAME = {case.name: case for case in CASES}


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function = function
        self.__wrapped__ = function
        self.calls = 0

    def __call__(self, data, rng):
        self.calls += 1
        return self.function(data, rng)


@cache
def of_twin(name, swapped):
    case = BY_NAME[name]
    pair = case.pair[::-1] if swapped else case.pair
    return examine(case.correct, pair, Budget(case.epsilon, case.delta), "replace-one")


def test_enough_cases():
    assert len(CASES) >= 30
    assert len(BY_NAME) == len(CASES)


@pytest.mark.parametrize("name", BY_NAME)
def test_refuted(name):
    case = BY_NAME[name]
    counted = Counted(case.broken)
    finding = examine(counted, case.pair, Budget(case.epsilon, case.delta), "replace-one")
    assert counted.calls == finding.calls <= 10
    assert finding.exceeds(case.epsilon, case.delta), finding
    lower = finding.epsilon(case.delta).lower
    if math.isinf(case.true):
        assert lower == math.inf
    else:
        assert lower <= case.true * (1 + 1e-6)
        assert lower >= case.true * (1 - 2e-3), (lower, case.true, finding.sentence(case.delta))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("name", BY_NAME)
def test_twin_is_silent(name, swapped):
    case = BY_NAME[name]
    finding = of_twin(name, swapped)
    assert not finding.exceeds(case.epsilon, case.delta), finding.sentence(case.delta)


def test_twins_are_followed():
    """Silence of a twin means something only where its law is known; nine of ten are."""
    known = (FindingKind.EXACT, FindingKind.PROVED)
    followed = sum(of_twin(name, False).kind in known for name in BY_NAME)
    assert followed >= 0.9 * len(CASES)
