"""Pairs out of a description: neighbours, all within it, and the ones that matter among them."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dpcheck.auditing.mechanism import Mechanism
from dpcheck.auditing.pairs.candidates import candidates, extremes, fits
from dpcheck.auditing.pairs.checking import check_pairs
from dpcheck.auditing.pairs.forms import Form, build, rows_of
from dpcheck.auditing.pairs.inference import infer_records
from dpcheck.auditing.pairs.search import PairSearch
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidRecords, UnknownName
from dpcheck.core.records import as_code, in_one_line, number, one_of, records, text
from dpcheck.execution.runner import Runner

PEOPLE = records(
    age=number(0, 120, integer=True),
    city=one_of("A", "B"),
    income=number(),
    weight=number(0, 300, missing=True),
    note=text(),
)
USERS = records(id=number(integer=True), value=number(0, 1), person="id", rows_per_person=3)


def allowed(description, adjacency):
    """Whether each value of a row may be there; zero-out blanks what it likes."""

    def check(row):
        return all(
            fits(field, value) or (adjacency is Adjacency.ZERO_OUT and value in (0, None, ""))
            for (_, field), value in zip(description.fields, row, strict=True)
        )

    return check


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("description", [PEOPLE, USERS, records(x=number(0, 1), rows=4)])
def test_candidates_are_neighbours_within_the_description(description, adjacency):
    found = candidates(description, adjacency, 200)
    assert len(found) >= 3
    assert len({c.label for c in found}) == len(found)
    check = allowed(description, adjacency)
    for one in found:
        assert all(check(row) for row in (*one.shared, *one.first, *one.second)), one.label
        pair = one.pair(description, Form.DICTS)
        assert check_pairs([pair], adjacency) == ()
        if description.rows is not None:
            assert len(pair.first) == description.rows
        if description.person is not None:
            owners = [row[0] for row in one.first]
            assert len(set(owners)) == 1
            assert owners[0] not in {row[0] for row in one.shared}


def test_the_values_that_break_things_are_among_them():
    values = [v for _, field in PEOPLE.fields for _, v in extremes(field)]
    assert {0, 120, "A", "B", math.inf, -math.inf, 1e300, 300.0, ""} <= set(values)
    assert any(isinstance(v, float) and math.isnan(v) for v in values)
    assert any(isinstance(v, str) and len(v) == 1000 for v in values)
    labels = " ".join(c.label for c in candidates(PEOPLE, Adjacency.ADD_REMOVE, 500))
    for words in (
        "alone",
        "among copies of it",
        "with everything highest",
        "NaN",
        "nobody else has",
    ):
        assert words in labels


def test_bounds_are_kept():
    assert [v for _, v in extremes(number(2, 5))] == [2.0, 5.0]
    assert not fits(number(0, 1), 2)
    assert not fits(number(0, 1), math.nan)
    assert not fits(one_of("A"), "B")
    assert not fits(text(3), "long")


def test_a_description_of_one_record_only_is_refused():
    with pytest.raises(InvalidRecords, match="DPC422"):
        candidates(records(x=one_of("a")), Adjacency.REPLACE_ONE)


@pytest.mark.parametrize("form", [f for f in Form if f is not Form.ARRAY])
def test_a_dataset_has_its_rows_back_in_every_form(form):
    rows = [(1, "A", 2.5), (2, "B", 3.5)]
    description = records(n=number(integer=True), city=one_of("A", "B"), x=number())
    data = build(rows, description, form)
    found = rows_of(data)
    assert [list(r.values()) if isinstance(r, dict) else list(r) for r in found] == [
        list(row) for row in rows
    ]
    assert len(rows_of(build([], description, form)) or []) == 0


def test_arrays_are_of_numbers():
    assert build([(1.0,), (2.0,)], records(x=number()), Form.ARRAY).shape == (2,)
    assert build([], records(x=number(), y=number()), Form.ARRAY).shape == (0, 2)
    with pytest.raises(InvalidRecords, match="numbers only"):
        build([("A",)], records(x=one_of("A")), Form.ARRAY)


def search(function, description, adjacency, form=Form.DICTS, **options):
    found = PairSearch(description, adjacency, form).find(Mechanism(function), Runner(), **options)
    return found.pairs


def test_the_search_finds_the_column_that_leaks():
    def leaks_weight(rows, rng):
        return (
            sum(row["age"] for row in rows)
            + 500 * rng.normal()
            + sum(row["weight"] == 300.0 for row in rows) * 1e4
        )

    description = records(age=number(0, 120, integer=True), weight=number(0, 300))
    pair = search(leaks_weight, description, Adjacency.ADD_REMOVE)[0]
    assert max(row["weight"] for row in pair.first) == 300.0


def test_followed_noise_takes_two_calls_a_pair():
    calls = []

    def clipped_too_wide(rows, rng):
        calls.append(1)
        ages = np.clip([row["age"] for row in rows], 0, 60)
        return ages.sum() + rng.laplace(scale=50.0)

    description = records(age=number(0, 120, integer=True), weight=number(0, 300), rows=4)
    pair = search(clipped_too_wide, description, Adjacency.REPLACE_ONE, claim=1.1)[0]
    sums = [
        np.clip([row["age"] for row in side], 0, 60).sum() for side in (pair.first, pair.second)
    ]
    assert abs(sums[0] - sums[1]) == 60  # the most any pair can show
    assert len(calls) <= 250


def test_the_search_finds_nan_and_shrinks():
    def fails_on_nan(rows, rng):
        if any(math.isnan(row["weight"]) for row in rows):
            raise ValueError("bad weight")
        return rng.normal()

    description = records(weight=number(0, 300, missing=True))
    pair = search(fails_on_nan, description, Adjacency.REPLACE_ONE)[0]
    sides = [sum(math.isnan(row["weight"]) for row in side) for side in (pair.first, pair.second)]
    assert sorted(sides) == [0, 1]
    assert len(pair.first) == 1
    assert "reduced: alone" in pair.label


SEARCH = """
from dpcheck.auditing.mechanism import Mechanism
from dpcheck.auditing.pairs.forms import Form
from dpcheck.auditing.pairs.search import PairSearch
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.records import number, records
from dpcheck.execution.runner import Runner


def noisy(rows, rng):
    return sum(row["x"] for row in rows) + rng.laplace()


search = PairSearch(records(x=number(0, 1)), Adjacency.ADD_REMOVE, Form.DICTS)
for pair in search.find(Mechanism(noisy), Runner()).pairs:
    print(pair.label)
"""


def test_the_search_repeats():
    # Each in a process of its own: replay also watches generators that other tests left behind.
    one, two = (
        subprocess.run([sys.executable, "-c", SEARCH], capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert one.stdout == two.stdout
    assert len(one.stdout.splitlines()) == 2


def test_a_guess_from_a_table_is_code_one_can_correct():
    table = pd.DataFrame(
        {
            "age": [34, 51, 29, 62],
            "city": ["Ulm", "Berlin", "Ulm", "Ulm"],
            "income": [30_500.0, np.nan, 27_000.0, 61_300.0],
            "note": ["a", "b", "c", "d"],
        }
    )
    guess = infer_records(table)
    assert guess.column("age") == number(20, 70, integer=True)
    assert guess.column("city") == one_of("Berlin", "Ulm")
    assert guess.column("income") == number(20_000, 70_000, missing=True)
    assert guess.column("note") == text()
    import dpcheck

    assert eval(as_code(guess), {"dpcheck": dpcheck}) == guess
    assert eval(in_one_line(guess), {"dpcheck": dpcheck}) == guess
    assert infer_records(table.to_dict("records")).names == guess.names
    for nothing in (table.iloc[:0], [1, 2], "text"):
        with pytest.raises(InvalidRecords, match="DPC422"):
            infer_records(nothing)


def test_a_form_nobody_knows_is_refused():
    import dpcheck

    with pytest.raises(UnknownName, match="unknown form 'excel'"):
        dpcheck.audited(claim=1.0, adjacency="replace-one", records=PEOPLE, form="excel")(print)
