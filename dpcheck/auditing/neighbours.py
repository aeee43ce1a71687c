"""Neighbouring datasets worth trying, per adjacency.

Rows are vectors of norm at most `norm_bound`, with labels in {-1, +1} or without. The search over
pairs happens on learning runs, so trying many costs runs, not confidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.mechanism import Pair
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.data import Data
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count, positive

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]  # the rows of the record, or user, that changes


def neighbours(
    rows: Array,
    labels: Array | None = None,
    *,
    adjacency: Adjacency | str,
    norm_bound: float,
    record: int = 0,
    users: Array | None = None,
) -> list[Pair]:
    """Pairs that differ in row `record` of `rows`: the standard attacks of the adjacency.

    With labels a dataset is the tuple (rows, labels), without them it is the array of rows. With
    `users`, one name per row, the pairs differ in all rows of the user who owns row `record`.

    >>> [p.label for p in neighbours(np.zeros((3, 2)), adjacency="zero-out", norm_bound=1.0)]
    ['outlier zeroed', 'fork zeroed']
    """
    table = np.asarray(rows, dtype=float)
    if table.ndim != 2 or not len(table):
        raise InvalidParameter("rows must be a table with at least one row.", name="rows")
    bound = positive("norm_bound", norm_bound)
    if float(np.linalg.norm(table, axis=1).max()) > bound * (1 + 1e-12):
        raise InvalidParameter("a row is longer than norm_bound.", name="rows")
    if not 0 <= record < len(table):
        raise InvalidParameter(f"there is no row {record} among {len(table)}.", name="record")
    mine = np.arange(len(table)) == record
    if users is not None:
        owners = np.asarray(users)
        if owners.shape != (len(table),):
            raise InvalidParameter("users must name the owner of every row.", name="users")
        mine = owners == owners[record]
    relation = as_adjacency(adjacency)
    if relation is Adjacency.REPLACE_ONE:
        pairs = _replacements(table, labels, bound, mine)
    elif relation is Adjacency.ZERO_OUT:
        pairs = _zeroings(table, labels, bound, mine)
    else:
        pairs = _removals(table, labels, bound, mine)
    unit = "" if users is None else "user: "
    owned = int(np.count_nonzero(mine))
    return [replace(p, label=unit + p.label, rows_per_person=owned) for p in pairs if not _same(p)]


def _dataset(rows: Array, labels: Array | None) -> Any:
    return rows if labels is None else (rows, labels)


def _with_rows(rows: Array, mine: Mask, row: Array) -> Array:
    changed = rows.copy()
    changed[mine] = row
    return changed


def _extremes(width: int, bound: float) -> tuple[Array, Array]:
    """An outlier along the diagonal, and the two prongs of a fork around the first axis."""
    outlier = np.full(width, bound / np.sqrt(width)) * (1 - 1e-12)
    angle = 0.05
    prong = np.zeros(width)
    prong[0] = bound * (1 - 1e-12)
    if width > 1:
        prong[:2] = bound * np.array([-np.sin(angle), np.cos(angle)]) * (1 - 1e-12)
    return outlier, prong


def _candidates(rows: Array, bound: float, mine: Mask) -> Iterator[tuple[str, Array]]:
    """What a record may be, by name; a record of a user, all of them alike."""
    outlier, prong = _extremes(rows.shape[1], bound)
    yield "record", rows[mine]
    yield "outlier", outlier
    yield "fork", prong
    if not mine.all():
        yield "duplicate", rows[~mine][0]


def _replacements(rows: Array, labels: Array | None, bound: float, mine: Mask) -> Iterator[Pair]:
    outlier, prong = _extremes(rows.shape[1], bound)
    other = prong.copy()
    other[-1 if len(other) == 1 else 1] *= -1
    if labels is not None:
        flipped = np.asarray(labels, dtype=float).copy()
        flipped[mine] *= -1
        yield Pair(_dataset(rows, labels), _dataset(rows, flipped), "label flipped")
    changes = [
        ("opposite outliers", outlier, -outlier),
        ("fork", prong, other),
        ("outlier against zero", outlier, np.zeros_like(outlier)),
    ]
    if not mine.all():
        changes.append(("outlier against a duplicate", outlier, rows[~mine][0]))
    for label, first, second in changes:
        yield Pair(
            _dataset(_with_rows(rows, mine, first), labels),
            _dataset(_with_rows(rows, mine, second), labels),
            label,
        )


def _zeroings(rows: Array, labels: Array | None, bound: float, mine: Mask) -> Iterator[Pair]:
    zero = _dataset(_with_rows(rows, mine, np.zeros(rows.shape[1])), labels)
    for label, row in _candidates(rows, bound, mine):
        yield Pair(_dataset(_with_rows(rows, mine, row), labels), zero, f"{label} zeroed")


def _removals(rows: Array, labels: Array | None, bound: float, mine: Mask) -> Iterator[Pair]:
    fewer = _dataset(rows[~mine], None if labels is None else np.asarray(labels)[~mine])
    zero_row = ("zero row", np.zeros(rows.shape[1]))  # tells by the number of rows alone
    for label, row in (*_candidates(rows, bound, mine), zero_row):
        yield Pair(_dataset(_with_rows(rows, mine, row), labels), fewer, f"{label} removed")


def _same(pair: Pair) -> bool:
    first = pair.first if isinstance(pair.first, tuple) else (pair.first,)
    second = pair.second if isinstance(pair.second, tuple) else (pair.second,)
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def value_pairs(values: Sequence[Data], *, most: int = 24, seed: int = 0) -> list[Pair]:
    """Pairs of datasets of one record each, out of what a record may be: replace-one, local model.

    All pairs of different values, or `most` of them drawn at random; the audit keeps those that
    look worst on its learning runs. For mechanisms that hash or encode a value, where nobody knows
    beforehand which two values are furthest apart.

    >>> [(p.first, p.second) for p in value_pairs(["red", "blue", "red"])]
    [(['red'], ['blue']), (['blue'], ['red'])]
    """
    listed = [Pair([a], [b], f"{a!r} or {b!r}") for a, b in combinations(values, 2)]
    pairs = [pair for pair in listed if not _same(pair)]
    if not pairs:
        raise InvalidParameter("values must hold at least two different values.", name="values")
    if len(pairs) <= count("most", most):
        return pairs
    drawn = np.random.default_rng(seed).choice(len(pairs), most, replace=False)
    return [pairs[index] for index in np.sort(drawn)]


def gradient_canaries(number: int, width: int, norm_bound: float) -> Array:
    """Canaries in gradient space that do not disturb each other: orthogonal, of full norm.

    >>> gradient_canaries(2, 3, 0.5).tolist()
    [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]]
    """
    if number > width:
        raise InvalidParameter(
            f"{number} orthogonal canaries do not fit into {width} dimensions; use fewer.",
            name="number",
        )
    return np.eye(number, width) * positive("norm_bound", norm_bound)
