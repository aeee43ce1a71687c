"""Given pairs are held against the adjacency they are said to have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.neighbours import neighbours
from dpcheck.auditing.pairs.checking import check_pairs
from dpcheck.auditing.pairs.forms import rows_of
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotNeighbours

REPLACE, ADD, ZERO = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE, Adjacency.ZERO_OUT
FRAME = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": ["x", "y", "z"]})


def frame(**changes):
    found = FRAME.copy()
    for place, row in changes.items():
        found.loc[int(place[1:])] = row
    return found


GOOD = [
    ([1, 2, 3], [1, 2, 4], REPLACE),
    ([1, 2, 3], [3, 4, 1], REPLACE),  # in another order
    ([1, 2], [1, 2, 2], ADD),
    ([], [1], ADD),
    ([1.0, 2.0], [0.0, 2.0], ZERO),
    (np.eye(3), np.eye(3)[:2], ADD),
    (FRAME, frame(r1=[5.0, "y"]), REPLACE),
    (FRAME, FRAME.iloc[:2], ADD),
    (FRAME, frame(r1=[0.0, ""]), ZERO),
    (pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, 3]}), REPLACE),
    ((np.eye(2), np.array([0, 1])), (np.eye(2), np.array([0, 0])), REPLACE),
    ({"a": np.array([1, 2])}, {"a": np.array([1, 5])}, REPLACE),
    ([{"a": 1, "b": 2}], [{"a": 1, "b": 3}], REPLACE),
    (pd.Series([1, 2]), pd.Series([1]), ADD),
]
BAD = [
    ([0, 0, 7], [1, 1, 7], REPLACE, "2 rows differ, not one"),
    ([1, 2], [1, 2, 3], REPLACE, "keeps the number of rows"),
    ([1, 2], [1, 3], ADD, "rows that the other lacks"),
    ([1, 2, 3], [1], ADD, "2 rows differ"),
    ([1, 2], [1, 3], ZERO, "blanks its values"),
    ([5], [5], REPLACE, "same rows"),
    (FRAME, FRAME.copy(), REPLACE, "same rows"),
    (FRAME, frame(r0=[9.0, "x"], r1=[9.0, "y"]), REPLACE, r"\(9, 'x'\); \(9, 'y'\)"),
    (np.zeros((2, 2)), np.ones((2, 2)), REPLACE, "2 rows differ"),
]


@pytest.mark.parametrize(("first", "second", "adjacency"), GOOD)
def test_neighbours_pass_in_every_form(first, second, adjacency):
    assert check_pairs([Pair(first, second), Pair(second, first)], adjacency) == ()


@pytest.mark.parametrize(("first", "second", "adjacency", "words"), BAD)
def test_others_are_refused_with_the_rows_that_differ(first, second, adjacency, words):
    with pytest.raises(NotNeighbours, match=words) as caught:
        check_pairs([Pair(first, second, "mine")], adjacency)
    assert "DPC421 mine" in str(caught.value)


def test_one_person_may_own_several_rows_if_that_is_said():
    check_pairs([Pair([1, 2, 3], [1], "p", 2)], ADD)
    with pytest.raises(NotNeighbours, match="3 rows differ, not at most 2"):
        check_pairs([Pair([1, 2, 3], [], "p", 2)], ADD)


def test_pairs_made_by_users_pass():
    rows = np.random.default_rng(0).uniform(-0.1, 0.1, size=(6, 2))
    for adjacency in Adjacency:
        made = neighbours(
            rows, adjacency=adjacency, norm_bound=1.0, users=np.array([0, 0, 0, 1, 1, 2])
        )
        assert made
        assert check_pairs(made, adjacency) == ()


def test_what_cannot_be_compared_is_said():
    (note,) = check_pairs([Pair(True, False, "a bit")], REPLACE)
    assert "a bit: rows of a bool cannot be compared" in note
    assert rows_of("text") is None
    assert rows_of(3.0) is None
    assert rows_of((np.zeros(2), np.zeros(3))) is None
