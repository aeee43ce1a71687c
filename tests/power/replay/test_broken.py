"""Broken functions are refuted exactly in at most ten calls a pair; their twins are not."""

from __future__ import annotations

import math

import pytest

from dpcheck.core.budget import Budget
from dpcheck.replay import FindingKind, examine

from .broken import CASES


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function = function
        self.__wrapped__ = function
        self.calls = 0

    def __call__(self, data, rng):
        self.calls += 1
        return self.function(data, rng)


def test_enough_cases():
    assert len(CASES) >= 30
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refuted(case):
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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_twin_is_silent(case):
    for pair in (case.pair, case.pair[::-1]):
        finding = examine(case.correct, pair, Budget(case.epsilon, case.delta), "replace-one")
        assert not finding.exceeds(case.epsilon, case.delta), finding.sentence(case.delta)


def test_twins_are_followed():
    """Silence of a twin means something only where its law is known; most are."""
    kinds = [examine(case.correct, case.pair).kind for case in CASES]
    followed = sum(kind in (FindingKind.EXACT, FindingKind.PROVED) for kind in kinds)
    assert followed >= 0.9 * len(CASES)
