"""Data as a report shows it: JSON in any case, whole where small, else where two datasets differ."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpcheck.auditing.plain import plain, plain_pair


class Odd:
    def __repr__(self):
        return "x" * 500

    def __eq__(self, other):
        raise TypeError("not comparable")

    __hash__ = None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.bool_(True), True),
        (np.int8(3), 3),
        (np.datetime64("2020-01-01"), "datetime.date(2020, 1, 1)"),
        (float("inf"), "inf"),
        (Fraction(1, 3), "1/3"),
        (Decimal("0.10"), "0.10"),
        ({1: (2, [None, "a"])}, {"1": [2, [None, "a"]]}),
        (pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}), {"a": [1, 2], "b": ["u", "v"]}),
        (np.zeros((5, 5)), "ndarray of shape (5, 5)"),
        ([0.0] * 25, "list of 25"),
        ({i: i for i in range(30)}, "dict of 30"),
        (pd.DataFrame({"a": range(30)}), "DataFrame of shape (30, 1)"),
    ],
    ids=str,
)
def test_values_are_json(value, shown):
    assert plain(value) == shown
    json.dumps(plain(value), allow_nan=False)


def test_what_nobody_foresaw_is_text_of_bounded_length():
    assert plain(Odd()) == "x" * 200
    nested = 1.0
    for _ in range(20):
        nested = [nested]
    assert json.dumps(plain(nested)) == "[" * 8 + '"list of 1"' + "]" * 8


def test_a_large_pair_is_shown_where_it_differs():
    rows = [{"age": i, "city": "A"} for i in range(40)]
    changed = [*rows[:7], {"age": 99, "city": "B"}, *rows[8:]]
    first, second = plain_pair(rows, changed)
    assert first == {"of": "list of 40", "rows": {"7": {"age": 7, "city": "A"}}}
    assert second["rows"] == {"7": {"age": 99, "city": "B"}}
    assert plain_pair(pd.DataFrame(rows), pd.DataFrame(changed))[1]["rows"] == second["rows"]
    shorter = plain_pair(rows, rows[:-1])
    assert shorter[0]["rows"] == {"39": {"age": 39, "city": "A"}}
    assert shorter[1]["rows"] == {}


def test_many_differences_are_counted():
    first, _ = plain_pair(np.zeros(50), np.arange(50) + 1.0)
    assert list(first["rows"]) == ["0", "1", "2", "3"]
    assert first["more"] == 46


def test_missing_values_are_alike_and_odd_objects_are_themselves():
    one = np.full(30, np.nan)
    other = one.copy()
    other[4] = 1.0
    assert plain_pair(one, other)[1]["rows"] == {"4": 1.0}
    odd = Odd()
    assert plain_pair([odd] * 30, [odd] * 29 + [Odd()])[0]["rows"] == {"29": "x" * 200}
    assert plain_pair({i: i for i in range(30)}, {0: 0}) == ("dict of 30", {"0": 0})
