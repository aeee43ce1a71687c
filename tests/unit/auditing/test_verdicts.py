"""Verdict rules, one by one."""

from __future__ import annotations

import math

import pytest

from dpcheck.auditing.verdicts import Evidence, decide
from dpcheck.core.verdict import Verdict

CASES = [
    ({"observed": 1.0001}, Verdict.VIOLATED),
    ({"observed": 1.0001, "proved": 0.9, "tied": True}, Verdict.VIOLATED),
    ({"proved": 1.0, "tied": True}, Verdict.HOLDS),
    ({"proved": 1.0, "tied": True, "detectable": math.inf}, Verdict.HOLDS),
    ({"proved": math.nextafter(1.0, 2.0), "tied": True}, Verdict.CONSISTENT),
    ({"proved": 0.5, "tied": False}, Verdict.CONSISTENT),
    ({}, Verdict.CONSISTENT),
    ({"detectable": 1.25}, Verdict.CONSISTENT),
    ({"detectable": 1.26}, Verdict.UNDECIDED),
    ({"detectable": 1.26, "tolerance": 0.5}, Verdict.CONSISTENT),
    ({"detectable": math.inf}, Verdict.UNDECIDED),
    ({"observed": 1.0}, Verdict.CONSISTENT),
]


@pytest.mark.parametrize(("changes", "expected"), CASES)
def test_rules(changes, expected):
    values = {"epsilon": 1.0, "observed": 0.5, "detectable": 1.1, "proved": None, "tied": False}
    assert decide(Evidence(**{**values, **changes})) is expected
