"""Are two datasets neighbours? Given pairs are held against the adjacency that was stated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from numbers import Real
from typing import Any

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.pairs.forms import rows_of
from dpcheck.auditing.pairs.graphs import problem_of
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotNeighbours
from dpcheck.core.relation import Relation

_SHOWN = 4  # differing rows in a message


def check_pairs(pairs: Sequence[Pair], adjacency: Adjacency | Relation) -> tuple[str, ...]:
    """Raise NotNeighbours unless every pair differs as it should; notes where nobody can tell.

    Rows are compared as a multiset: their order is no part of who is in the data. Answers are compared
    one by one.
    """
    if isinstance(adjacency, Relation):
        for pair in pairs:
            answers = adjacency.kind == "answers"
            problem = (_of_answers if answers else problem_of)(pair.first, pair.second, adjacency)
            if problem is not None:
                raise NotNeighbours(
                    f"{pair.label} is no pair of neighbours by {adjacency}: {problem}.",
                    label=pair.label,
                )
        return ()
    notes = []
    for pair in pairs:
        one, two = rows_of(pair.first), rows_of(pair.second)
        if one is None or two is None:
            kind = type(pair.first).__name__
            notes.append(
                f"{pair.label}: rows of a {kind} cannot be compared, so dpcheck did not check "
                f"that the two datasets are {adjacency} neighbours"
            )
        else:
            _check(pair, one, two, adjacency)
    return tuple(notes)


def _of_answers(first: Any, second: Any, relation: Relation) -> str | None:
    """Why two lists of answers are no neighbours; None where they are."""
    one, two = rows_of(first), rows_of(second)
    sides = [side if side is None else _flat(side) for side in (one, two)]
    if any(
        side is None or not all(isinstance(x, Real) and math.isfinite(x) for x in side)
        for side in sides
    ):
        return "answers are a list or an array of finite numbers"
    left, right = sides
    assert left is not None
    assert right is not None
    if len(left) != len(right):
        return f"{len(left)} answers on one side and {len(right)} on the other"
    if left == right:
        return "both sides have the same answers"
    return "they are further apart" if relation.exceeded(left, right) else None


def _flat(rows: Sequence[Any]) -> list[Any]:
    return [x for row in rows for x in (_flat(row) if isinstance(row, list) else [row])]


def differing(one: Sequence[Any], two: Sequence[Any]) -> tuple[list[str], list[str]]:
    """The rows that only one side has, as text, each as often as it has it more.

    >>> differing([1, 2, 2], [2, 1.0, 3])
    (['2'], ['3'])
    """
    left, right = Counter(map(_key, one)), Counter(map(_key, two))
    return list((left - right).elements()), list((right - left).elements())


def _check(pair: Pair, one: list[Any], two: list[Any], adjacency: Adjacency) -> None:
    gone, came = differing(one, two)
    if not gone and not came:
        raise NotNeighbours(
            f"{pair.label}: both datasets have the same rows; neighbours differ in one record.",
            label=pair.label,
        )
    problem = _problem(gone, came, adjacency, pair.rows_per_person)
    if problem is None and adjacency is Adjacency.ZERO_OUT and not _is_zeroed(one, two):
        problem = "zero-out keeps the row and blanks its values; here a row has other values"
    if problem is not None:
        raise NotNeighbours(
            f"{pair.label} is no pair of {adjacency} neighbours: {problem}. "
            f"Only in the first: {_shown(gone)}; only in the second: {_shown(came)}. If one person "
            "owns several rows, say how many: rows_per_person=... of audited. If these are answers to "
            'queries and no records, say how far apart they may be: adjacency=dpcheck.relation("answers", '
            'norm="inf", bound=1).',
            label=pair.label,
            first=gone,
            second=came,
        )


def _problem(gone: list[str], came: list[str], adjacency: Adjacency, most: int) -> str | None:
    if adjacency is Adjacency.ADD_REMOVE:
        if gone and came:
            return (
                "under add-remove one dataset is the other with a row more, and here each has rows that "
                "the other lacks"
            )
        if len(gone) + len(came) > most:
            return f"{len(gone) + len(came)} rows differ, not {_number(most)}"
        return None
    if len(gone) != len(came):
        return f"{adjacency} keeps the number of rows, and here it changes"
    if len(gone) > most:
        return f"{len(gone)} rows differ, not {_number(most)}"
    return None


def _number(most: int) -> str:
    return "one" if most == 1 else f"at most {most}"


def _is_zeroed(one: list[Any], two: list[Any]) -> bool:
    """Whether in every place where rows differ, all values that differ are blank on one side."""
    places = [(a, b) for a, b in zip(one, two, strict=True) if _key(a) != _key(b)]
    for kept, blanked in ((0, 1), (1, 0)):
        if all(
            all(_key(v) == _key(w) or _is_blank(w) for v, w in _values(pair[kept], pair[blanked]))
            for pair in places
        ):
            return True
    return False


def _values(row: Any, other: Any) -> list[tuple[Any, Any]]:
    if isinstance(row, list) and isinstance(other, list) and len(row) == len(other):
        return [pair for a, b in zip(row, other, strict=True) for pair in _values(a, b)]
    if isinstance(row, dict) and isinstance(other, dict) and row.keys() == other.keys():
        return [pair for key in row for pair in _values(row[key], other[key])]
    return [(row, other)]


def _is_blank(value: Any) -> bool:
    if value is None or value == "":
        return True
    return isinstance(value, int | float) and (value == 0 or math.isnan(value))


def _key(row: Any) -> str:
    """A row as text; NaN equals NaN, and a float that is whole equals the integer."""
    if isinstance(row, list | tuple):
        return "(" + ", ".join(_key(value) for value in row) + ")"
    if isinstance(row, dict):
        return "{" + ", ".join(f"{key!r}: {_key(value)}" for key, value in row.items()) + "}"
    if isinstance(row, float) and row.is_integer():
        return repr(int(row))
    if hasattr(row, "tolist"):
        return _key(row.tolist())
    return repr(row)


def _shown(rows: list[str]) -> str:
    if not rows:
        return "nothing"
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return "; ".join(row[:120] for row in rows[:_SHOWN]) + more
