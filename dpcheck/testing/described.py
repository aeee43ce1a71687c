"""Hypothesis strategies out of a description of a record: rows, datasets, neighbouring pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.pairs.candidates import blank_row, extremes
from dpcheck.auditing.pairs.checking import differing
from dpcheck.auditing.pairs.forms import Form, Row, as_form, build, rows_of
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.data import Data
from dpcheck.core.extras import need
from dpcheck.core.records import Field, Number, OneOf, Records

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

st = need("hypothesis.strategies", "testing")


def described_values(field: Field) -> SearchStrategy[Any]:
    """What a column may hold; the ends of its range more often than chance would have it."""
    found: SearchStrategy[Any]
    if isinstance(field, OneOf):
        found = st.sampled_from(field.values)
    elif isinstance(field, Number):
        found = st.one_of(_numbers(field), st.sampled_from([value for _, value in extremes(field)]))
    else:
        found = st.text(max_size=field.longest)
    return found


def _numbers(field: Number) -> SearchStrategy[Any]:
    low = field.low if math.isfinite(field.low) else None
    high = field.high if math.isfinite(field.high) else None
    found: SearchStrategy[Any]
    if field.integer:
        whole = (None if low is None else math.ceil(low), None if high is None else int(high // 1))
        found = st.integers(*whole)
    else:
        found = st.floats(low, high, allow_nan=False)
    return found


def described_rows(description: Records) -> SearchStrategy[Row]:
    """Rows of a description."""
    found: SearchStrategy[Row] = st.tuples(*(described_values(f) for _, f in description.fields))
    return found


def described_datasets(
    description: Records, form: str = "dicts", *, most: int = 8
) -> SearchStrategy[Data]:
    """Datasets of a description, of its public number of rows or of at most `most`."""
    shape = as_form(form)
    few, many = (0, most) if description.rows is None else (description.rows,) * 2
    rows = st.lists(described_rows(description), min_size=few, max_size=many)
    found: SearchStrategy[Data] = rows.map(lambda drawn: build(drawn, description, shape))
    return found


def described_pairs(
    description: Records, adjacency: Adjacency | str, form: str = "dicts", *, most: int = 8
) -> SearchStrategy[Pair]:
    """Pairs of a description that differ in the rows of one person, as `adjacency` says."""
    relation, shape = as_adjacency(adjacency), as_form(form)

    @st.composite  # type: ignore[untyped-decorator]  # untyped here
    def draw_pair(draw: Callable[[Any], Any]) -> Pair:
        owned = draw(st.integers(1, description.rows_per_person))
        many = most if description.rows is None else max(0, description.rows - owned)
        few = 0 if description.rows is None else many
        others = draw(st.lists(described_rows(description), min_size=few, max_size=many))
        mine = [draw(described_rows(description)) for _ in range(owned)]
        if relation is Adjacency.ADD_REMOVE:
            theirs: list[Row] = []
        elif relation is Adjacency.ZERO_OUT:
            theirs = [blank_row(description, row) for row in mine]
        else:
            theirs = [draw(described_rows(description)) for _ in range(owned)]
        owner = _owner(description, mine)
        sides = [[*owner(others, False), *owner(side, True)] for side in (mine, theirs)]
        if draw(st.booleans()):
            sides.reverse()
        return _pair(sides, description, shape)

    found: SearchStrategy[Pair] = draw_pair().filter(_differs)
    return found


def _owner(description: Records, mine: list[Row]) -> Callable[[list[Row], bool], list[Row]]:
    """Gives rows to the one person, or keeps others' rows from being that person's."""
    if description.person is None:
        return lambda rows, _: rows
    at = description.names.index(description.person)
    name = mine[0][at]

    def given(rows: list[Row], to_person: bool) -> list[Row]:
        if to_person:
            return [(*row[:at], name, *row[at + 1 :]) for row in rows]
        return [row for row in rows if repr(row[at]) != repr(name)]

    return given


def _pair(sides: list[list[Row]], description: Records, form: Form) -> Pair:
    first, second = (build(side, description, form) for side in sides)
    return Pair(first, second, "described", description.rows_per_person)


def _differs(pair: Pair) -> bool:
    return differing(rows_of(pair.first) or [], rows_of(pair.second) or []) != ([], [])
