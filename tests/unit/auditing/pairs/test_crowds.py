"""People of several kinds: neighbours, within the description, at the numbers that stand in the code."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.pairs.candidates import fits
from dpcheck.auditing.pairs.checking import check_pairs
from dpcheck.auditing.pairs.constants import constants_of
from dpcheck.auditing.pairs.coupling import coupled_batch
from dpcheck.auditing.pairs.crowds import Breeder, Crowd
from dpcheck.auditing.pairs.forms import Form
from dpcheck.auditing.pairs.search import PairSearch
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import RunTimedOut, TimeLimitReached
from dpcheck.core.records import number, one_of, records, text
from dpcheck.execution.runner import Runner

PEOPLE = records(
    age=number(0, 120, integer=True), city=one_of("A", "B"), weight=number(0, 300), note=text()
)
USERS = records(id=number(integer=True), value=number(0, 1), person="id", rows_per_person=3)
SIX = records(x=number(0, 1), rows=6)
LIMIT = 77


def bred(description, adjacency, size=120, numbers=(77.0, 5.0), texts=("gold",)):
    breeder = Breeder(description, adjacency, numbers, texts, np.random.default_rng(0))
    crowds = [breeder.random() for _ in range(size)]
    crowds += [breeder.near(one) for one in crowds]
    crowds += [breeder.crossed(a, b) for a, b in itertools.pairwise(crowds)]
    return crowds


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("description", [PEOPLE, USERS, SIX])
def test_crowds_are_neighbours_within_the_description(description, adjacency):
    checked = 0
    for crowd in bred(description, adjacency):
        one = crowd.candidate(description)
        rows = [
            *one.shared,
            *one.first,
            *(one.second if adjacency is Adjacency.REPLACE_ONE else ()),
        ]
        for row in rows:
            assert all(fits(f, v) for (_, f), v in zip(description.fields, row, strict=True))
        if repr(one.first) == repr(one.second):
            continue  # the search leaves those out
        pair = one.pair(description, Form.DICTS)
        assert check_pairs([pair], adjacency) == ()
        checked += 1
        if description.rows is not None:
            assert len(pair.first) == description.rows
        if description.person is not None:
            owners = [row[0] for row in one.shared]
            assert len(set(owners)) == len(owners)
    assert checked > 100


def test_numbers_and_words_of_the_code_are_tried():
    found = bred(records(x=number(0, 100), word=text()), Adjacency.ADD_REMOVE)
    rows = [row for crowd in found for row, _ in crowd.groups]
    assert 77.0 in {row[0] for row in rows}
    assert any(0 < abs(row[0] - 77) < 1 for row in rows)
    assert "gold" in {row[1] for row in rows}
    assert {4, 5} <= {n for crowd in found for _, n in crowd.groups}


def outer(rows, rng, at_least=12):
    """A number in a docstring, as 99, is none of the code."""
    return len(rows) > at_least and inner(rows) and [row for row in rows if row["city"] == "Ulm"]


def inner(rows):
    return sum(row["age"] > 0.25 for row in rows) < LIMIT


def test_constants_of_functions_beside_it_defaults_and_globals():
    numbers, texts = constants_of(outer)
    assert {12.0, 0.25, 77.0} <= set(numbers)
    assert 99.0 not in numbers
    assert {"city", "Ulm", "age"} <= set(texts)
    kept = 3.5
    assert 3.5 in constants_of(lambda data: data > kept)[0]
    assert constants_of(len) == ((), ())


def test_constants_of_functions_that_are_held():
    def noisy(statistic, other=None):
        return lambda data, rng, also=other: statistic(data) + also(data) + rng.laplace()

    found = constants_of(noisy(lambda data: len(data) > 41, lambda data: len(data) > 42))
    assert {41.0, 42.0} <= set(found[0])


def scores(function, *pairs):
    found = coupled_batch(
        Mechanism(function), [Pair(a, b) for a, b in pairs], np.random.SeedSequence(1)
    )
    return found["score"].tolist()


def test_the_same_draws_on_both_sides():
    pairs = [([0.0], [0.0]), ([0.0], [1.0]), ([0.0], [3.0])] * 4
    same, near, far = scores(lambda x, rng: x[0] + rng.normal(), *pairs)[:3]
    assert same == 0.0
    assert far == pytest.approx(3 * near)
    assert 0.2 < near < 5  # in units of the noise


def test_outputs_that_cannot_be_subtracted():
    moved, same = scores(
        lambda x, rng: "many" if x[0] > 0.5 else "few", ([0.0], [1.0]), ([1.0], [1.0])
    )
    assert moved > same == 0.0
    (shape,) = scores(lambda x, rng: x, ([0.0], [0.0, 1.0]))
    (fails,) = scores(lambda x, rng: 1 / x[0], ([0.0], [1.0]))
    assert shape == fails > 100
    assert scores(lambda x, rng: 1 / x[0], ([0.0], [0.0])) == [-1.0]
    assert scores(lambda x, rng: math.nan, ([0.0], [1.0])) == [0.0]


def median(x, rng):
    return np.median(np.clip(x, 0, 1)) + rng.laplace(scale=0.2)


def find(function, description, **options):
    search = PairSearch(description, Adjacency.REPLACE_ONE, Form.ARRAY)
    return search.find(Mechanism(function), Runner(), **options)


def test_a_median_is_tried_between_two_halves():
    """With a mean's noise its epsilon is 5, on (0, 0, x, 1, 1) and nowhere else."""
    found = find(median, records(x=number(0, 1), rows=5), claim=4.9)
    first, second = found.pairs[0].first, found.pairs[0].second
    assert abs(np.median(first) - np.median(second)) == 1.0
    assert found.tried > 64


def first_of_all(x, rng):
    return x[0] + rng.laplace(scale=0.1)


def steps(x, rng):
    return np.abs(np.diff(x)).sum() + rng.laplace(scale=1.0)


@pytest.mark.parametrize(("function", "loss"), [(first_of_all, 9.9), (steps, 1.9)])
def test_who_differs_need_not_stand_last(function, loss):
    """What came first, or stands between two others, moves only there."""
    found = find(function, SIX, claim=loss)
    first, second = found.pairs[0].first, found.pairs[0].second
    assert first[-1] == second[-1]
    assert "of them" in found.pairs[0].label
    assert abs(np.diff(first)).sum() != abs(np.diff(second)).sum() or first[0] != second[0]


def test_a_crowd_says_where_the_person_stands():
    groups = (((0.0,), 2), ((1.0,), 2))
    crowd = Crowd(groups, (0.5,), None, ahead=0.5, turns=True)
    pair = crowd.candidate(SIX).pair(SIX, Form.VALUES)
    assert (pair.first, pair.second) == ([0.0, 1.0, 0.5, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0])
    assert pair.label == "0.5, among 2 x 0 and 2 x 1 taking turns, after 2 of them"


def test_few_runs_and_slow_calls_are_tried_less():
    search = PairSearch(SIX, Adjacency.REPLACE_ONE, Form.ARRAY)
    assert search.rounds_for(1e-5) == search.rounds
    assert 2 <= search.rounds_for(0.2) <= search.rounds_for(0.1) < search.rounds
    assert search.within(1000).rounds < search.rounds == search.within(None).rounds


def test_a_search_that_is_cut_short_keeps_what_it_has():
    calls = []

    def slow(x, rng):
        calls.append(1)
        if len(calls) > 400:
            raise TimeLimitReached("over")
        return median(x, rng)

    found = find(slow, records(x=number(0, 1), rows=5))
    assert found.late
    assert 0 < len(found.pairs) <= 2
    assert PairSearch(SIX, Adjacency.REPLACE_ONE, Form.ARRAY).unsearched().late
    assert found.tried >= 64


def busy(x, rng):
    return sum(range(20_000)) * 0.0 + rng.normal()


def waiting(x, rng):
    time.sleep(0.01)
    return rng.normal()


def test_a_function_that_hangs_is_not_tried_on_every_pair():
    """One call that is followed and one that is not, each for as long as the user allows."""
    calls = []

    def hangs(data, rng):
        calls.append(data)
        while True:
            time.sleep(0.01)

    search = PairSearch(SIX, Adjacency.REPLACE_ONE, Form.ARRAY)
    with pytest.raises(RunTimedOut, match=r"raise --timeout"):
        search.find(Mechanism(hangs, timeout=0.05), Runner())
    assert len(calls) <= 3  # a run that is followed is made again where it imported modules


def test_calls_are_timed_by_themselves(monkeypatch):
    """A clock that runs on while others have the processor says nothing; a sleep is the call's own."""

    def quickest(function):
        pairs = [Pair([0.0], [1.0])] * 3
        return coupled_batch(Mechanism(function), pairs, np.random.SeedSequence(1))["quickest"][0]

    late = iter(np.arange(0.0, 1e9, 5.0))  # five seconds pass from one look to the next
    assert 0.01 <= quickest(waiting) < 5.0
    monkeypatch.setattr("dpcheck.auditing.pairs.coupling.time.perf_counter", lambda: next(late))
    assert quickest(busy) < 5.0
