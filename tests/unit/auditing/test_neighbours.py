"""Generated pairs are neighbours under the adjacency they are generated for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.auditing.neighbours import gradient_canaries, neighbours, value_pairs
from dpcheck.core.errors import InvalidParameter


def parts(dataset):
    return dataset if isinstance(dataset, tuple) else (dataset, None)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(1, 4),
    st.booleans(),
    st.floats(0.1, 5),
    st.sampled_from(["replace-one", "add-remove", "zero-out"]),
    st.integers(0, 99),
)
def test_pairs_are_neighbours(n, d, labelled, bound, adjacency, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    rows *= bound * rng.random((n, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    labels = rng.choice([-1.0, 1.0], n) if labelled else None
    record = int(rng.integers(n))
    pairs = neighbours(rows, labels, adjacency=adjacency, norm_bound=bound, record=record)
    assert pairs
    for pair in pairs:
        (X, y), (X2, y2) = parts(pair.first), parts(pair.second)
        assert np.linalg.norm(X, axis=1).max() <= bound
        if adjacency == "add-remove":
            assert len(X) == len(X2) + 1
            assert np.array_equal(np.delete(X, record, axis=0), X2)
            continue
        assert np.linalg.norm(X2, axis=1).max(initial=0) <= bound
        others = np.arange(n) != record
        assert np.array_equal(X[others], X2[others])
        if labelled:
            assert np.array_equal(y[others], y2[others])
        if adjacency == "zero-out":
            assert not X2[record].any()


def test_label_flips_and_forks_are_among_the_replacements():
    labels = {
        p.label
        for p in neighbours(np.zeros((3, 2)), np.ones(3), adjacency="replace-one", norm_bound=1.0)
    }
    assert {"label flipped", "fork", "opposite outliers"} <= labels


def test_rows_beyond_the_bound_are_refused():
    with pytest.raises(InvalidParameter, match="longer"):
        neighbours(np.ones((2, 2)), adjacency="replace-one", norm_bound=1.0)
    with pytest.raises(InvalidParameter, match="do not fit"):
        gradient_canaries(4, 3, 1.0)


def test_canaries_are_orthogonal_and_of_full_norm():
    found = gradient_canaries(3, 5, 2.0)
    assert np.array_equal(found @ found.T, 4.0 * np.eye(3))


@pytest.mark.parametrize(("values", "most", "expected"), [(3, 24, 3), (10, 45, 45), (10, 7, 7)])
def test_value_pairs_are_different_pairs_of_the_values(values, most, expected):
    pairs = value_pairs(range(values), most=most, seed=1)
    found = {(p.first[0], p.second[0]) for p in pairs}
    assert len(pairs) == len(found) == expected
    assert all(0 <= a < b < values for a, b in found)
    with pytest.raises(InvalidParameter, match="at least two"):
        value_pairs(["alone", "alone"])


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove", "zero-out"])
def test_user_pairs_differ_in_all_rows_of_one_user_and_in_no_other(adjacency):
    rng = np.random.default_rng(0)
    rows, labels = rng.uniform(-0.5, 0.5, size=(6, 2)), np.array([1.0, -1, 1, 1, -1, 1])
    users = np.array(["ann", "bob", "ann", "eve", "bob", "ann"])
    pairs = neighbours(rows, labels, adjacency=adjacency, norm_bound=1.0, record=1, users=users)
    mine = users == "bob"
    assert len(pairs) >= 4
    for pair in pairs:
        assert pair.label.startswith("user: ")
        (X, y), (X2, y2) = pair.first, pair.second
        if adjacency == "add-remove":
            assert np.array_equal(X[~mine], X2)
            assert np.array_equal(y[~mine], y2)
            continue
        assert np.array_equal(X[~mine], X2[~mine])
        assert np.array_equal(y[~mine], y2[~mine])
        assert all(
            not np.array_equal(X[row], X2[row]) or y[row] != y2[row] for row in np.flatnonzero(mine)
        )


def test_duplicates_and_zero_rows_are_among_the_removals():
    rows = np.array([[0.1, 0.2], [0.3, -0.4]])
    pairs = {p.label: p for p in neighbours(rows, adjacency="add-remove", norm_bound=1.0)}
    assert np.array_equal(pairs["duplicate removed"].first[0], rows[1])
    assert not pairs["zero row removed"].first[0].any()


def test_users_and_records_that_do_not_exist_are_refused():
    rows = np.zeros((3, 2))
    with pytest.raises(InvalidParameter, match="owner of every row"):
        neighbours(rows, adjacency="zero-out", norm_bound=1.0, users=np.array([1, 2]))
    with pytest.raises(InvalidParameter, match="no row 3"):
        neighbours(rows, adjacency="zero-out", norm_bound=1.0, record=3)
