"""Claims about query answers: checked exactly, searched, and priced by nobody."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.api import epsilon
from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.pairs.answers import AnswerBreeder, plain_answers
from dpcheck.auditing.pairs.candidates import fits
from dpcheck.auditing.pairs.checking import check_pairs
from dpcheck.core.claim import Claim
from dpcheck.core.errors import (
    InvalidParameter,
    InvalidRecords,
    NotNeighbours,
    UnsupportedAdjacency,
)
from dpcheck.core.events.guarantee import PureDP
from dpcheck.core.records import number, records, text
from dpcheck.core.relation import relation
from dpcheck.core.verdict import Verdict
from dpcheck.gate.budgets import claimed_event
from dpcheck.gate.codec import decode, encode

MAX = relation("answers", norm="inf", bound=1)
FIVE = records(answer=number(), rows=5)


def each_answer(answers, rng):
    """Half of epsilon for one answer, and there are five."""
    return [a + rng.laplace(scale=2.0) for a in answers]


def noisy_arg_max(answers, rng):
    return int(np.argmax([a + rng.laplace(scale=2.0) for a in answers]))


def test_the_pairs_of_statdp_are_accepted():
    ones, base = [1] * 5, [1, 1, 0, 0, 0]
    seconds = ([2, 1, 1, 1, 1], [0, 1, 1, 1, 1], [2, 0, 0, 0, 0], [0, 2, 2, 2, 2], [2] * 5, [0] * 5)
    pairs = [Pair(ones, each) for each in seconds] + [Pair(base, [0, 0, 1, 1, 1])]
    assert check_pairs(pairs, MAX) == ()
    with pytest.raises(NotNeighbours, match="relation"):
        check_pairs(pairs, dpcheck.Adjacency.REPLACE_ONE)


@pytest.mark.parametrize(
    ("norm", "first", "second", "allowed"),
    [
        ("inf", [0, 0], [1, -1], True),
        ("inf", [0, 0], [1.0000000000000002, 0], False),
        (1, [0, 0], [0.5, 0.5], True),
        (1, [0, 0], [1, -1], False),
        (2, [0, 0], [0.6, 0.8], False),  # the floats are a little longer than 1
        (2, [0, 0], [0.6, 0.79], True),
        ("inf", np.zeros((2, 2)), np.ones((2, 2)), True),
        ("inf", [0, 0], [0, 0], False),
        ("inf", [0, 0], [0, 0, 0], False),
        ("inf", [0, math.nan], [0, 0], False),
        ("inf", "ab", "ac", False),
    ],
)
def test_distances_are_compared_exactly(norm, first, second, allowed):
    pair, given = Pair(first, second), relation("answers", norm=norm, bound=1)
    if allowed:
        assert check_pairs([pair], given) == ()
    else:
        with pytest.raises(NotNeighbours):
            check_pairs([pair], given)


@pytest.mark.parametrize("norm", [1, 2, "inf"])
@pytest.mark.parametrize("described", [number(), number(0, 3), number(0, 10, integer=True)])
@pytest.mark.parametrize("bound", [1.0, 0.3, 7.0])
def test_what_is_searched_is_within_bound_and_description(norm, described, bound):
    given = relation("answers", norm=norm, bound=bound)
    description = records(answer=described, rows=4)
    breeder = AnswerBreeder(description, given, (2.5, 77.0), np.random.default_rng(1))
    found = [breeder.random() for _ in range(60)]
    found += [breeder.near(one) for one in found]
    found += [breeder.crossed(a, b) for a, b in zip(found, reversed(found), strict=True)]
    candidates = [one.candidate(description) for one in found]
    candidates += plain_answers(description, given, 64)
    moved = 0
    for one in candidates:
        left, right = ([row[0] for row in side] for side in (one.first, one.second))
        assert not given.exceeded(left, right)
        assert all(fits(described, value) for value in (*left, *right))
        moved += left != right
    assert moved > 20 or (bound < 1 and described.integer)


@pytest.mark.parametrize("given", [None, [([1] * 5, [2] * 5)]])
def test_five_answers_leak_and_the_place_of_their_maximum_does_not(given):
    told = {"neighbours": given} if given else {"records": FIVE}
    found = {
        f: dpcheck.audit(f, epsilon=1.0, adjacency=MAX, max_runs=300, seed=1, **told).entries[0]
        for f in (each_answer, noisy_arg_max)
    }
    assert found[each_answer].verdict is Verdict.VIOLATED
    assert found[noisy_arg_max].verdict is not Verdict.VIOLATED
    assert any("no budget can price" in line for line in found[each_answer].conditions)


def test_a_declared_function_keeps_its_relation():
    declared = dpcheck.audited(claim=1.0, adjacency=MAX, records=FIVE)(lambda d, rng: float(sum(d)))
    (entry,) = dpcheck.audit(declared, max_runs=500).entries
    assert entry.verdict is Verdict.VIOLATED
    assert entry.claim.adjacency == MAX


def test_nobody_prices_it():
    claim = Claim(dpcheck.Budget(1.0), MAX, "here")
    for price in (
        lambda: epsilon(PureDP(1.0), adjacency=MAX),
        lambda: PureDP(1.0, MAX),
        lambda: claimed_event(claim, dpcheck.Adjacency.ADD_REMOVE),
        lambda: dpcheck.Ledger(dpcheck.Budget(1.0, 1e-6), adjacency=MAX),
        lambda: dpcheck.audit(
            each_answer, claim=dpcheck.Gaussian(1.0), adjacency=MAX, neighbours=[([0], [1])]
        ),
    ):
        with pytest.raises(UnsupportedAdjacency, match="audited and not priced"):
            price()


@pytest.mark.parametrize(
    "wrong",
    [
        {"norm": 3, "bound": 1},
        {"norm": "inf"},
        {"norm": True, "bound": 1},
        {"norm": 1, "bound": 0},
        {"norm": 1, "bound": math.inf},
    ],
)
def test_what_says_too_little_is_refused(wrong):
    with pytest.raises(InvalidParameter):
        relation("answers", **wrong)


def test_answers_are_one_column_of_numbers():
    for description in (records(a=number(), b=number()), records(a=text())):
        with pytest.raises(InvalidRecords, match="one column"):
            plain_answers(description, MAX, 8)


@pytest.mark.parametrize("adjacency", [MAX, dpcheck.Adjacency.ADD_REMOVE])
def test_a_kept_result_remembers_it(adjacency):
    claim = Claim(dpcheck.Budget(1.0), adjacency, "here")
    assert decode(Claim, json.loads(json.dumps(encode(claim), allow_nan=False))) == claim
