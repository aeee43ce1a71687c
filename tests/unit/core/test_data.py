"""A digest of data is one of what they say, not of what reading them left behind."""

from __future__ import annotations

import functools

import numpy as np

from dpcheck.core.data import fingerprint, keeps_results


class Survey:
    """As the graphs of networkx are: views are worked out on the first look and kept."""

    def __init__(self, answers):
        self.answers = answers

    @functools.cached_property
    def total(self):
        return sum(self.answers)


def test_reading_changes_nothing():
    data = [Survey([1, 2]), {"other": Survey([3])}]
    before = fingerprint(data)
    assert data[0].total + data[1]["other"].total == 6
    assert fingerprint(data) == before


def test_changes_show():
    data = Survey([1, 2])
    before = fingerprint(data)
    data.answers[0] = 5
    assert fingerprint(data) != before
    data.answers[0] = 1
    assert fingerprint(data) == before
    data.note = "kept"  # no cached_property: it may be an answer that is given again
    assert fingerprint(data) != before


def test_who_keeps_results():
    assert keeps_results([Survey([1])])
    assert not keeps_results([np.zeros(3), {"a": 1}])
    assert fingerprint(lambda: 0) is None
