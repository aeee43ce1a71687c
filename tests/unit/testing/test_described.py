"""Strategies out of a description: what they draw fits it, and pairs are neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from dpcheck.auditing.pairs.candidates import fits
from dpcheck.auditing.pairs.checking import check_pairs
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.records import number, one_of, records, text
from dpcheck.testing import strategies as dp

PEOPLE = records(age=number(0, 120, integer=True), city=one_of("A", "B"), x=number(), n=text(9))
USERS = records(who=one_of("a", "b", "c"), x=number(0, 1), person="who", rows_per_person=3)


@settings(max_examples=50, deadline=None)
@given(dp.described_datasets(PEOPLE))
def test_datasets_fit_their_description(data):
    assert len(data) <= 8
    for row in data:
        assert all(fits(PEOPLE.column(name), value) for name, value in row.items())


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("description", [PEOPLE, USERS])
def test_pairs_are_neighbours(description, adjacency):
    @settings(max_examples=40, deadline=None)
    @given(dp.described_pairs(description, adjacency))
    def neighbours(pair):
        assert check_pairs([pair], adjacency) == ()

    neighbours()
