"""Sparse vectors that stop by a budget: the charge against the dearest of all their paths, run one by one."""

from __future__ import annotations

import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import proof_of, read

QUERIES = 6
DATA = dpcheck.records(**{f"q{i}": dpcheck.number(0, 1) for i in range(QUERIES)}, rows=50)
THRESHOLD = 8.0  # the scale of its noise


def charged(function):
    return proof_of(read(function, DATA, Adjacency.REPLACE_ONE), DATA).epsilon(0.0).upper


class Number:
    """A noisy number, or a difference of two; whoever compares it gets the next answer that was planned."""

    def __init__(self, path, scale):
        self.path, self.scale = path, scale

    def __add__(self, other):
        return self

    __radd__ = __add__

    def __sub__(self, threshold):
        return self

    def __ge__(self, threshold):
        return self.path.answer(self.scale)

    __gt__ = __ge__


class Path:
    """One run with planned answers; it also draws the noise, and is the data."""

    def __init__(self, plan):
        self.plan, self.given, self.cost = plan, [], 0.0

    def laplace(self, scale):
        return Number(self, scale)

    def sum(self, axis):
        return [self] * QUERIES

    def __add__(self, noisy):
        return noisy

    def answer(self, scale):
        at = len(self.given)
        self.given.append(self.plan[at] if at < len(self.plan) else False)
        self.cost += 2 / scale if self.given[-1] else 0.0
        return self.given[-1]


def dearest_path(function):
    """1 / 8 for the threshold, and the hits of the worst sequence of answers."""
    waiting, worst = [[]], 0.0
    while waiting:
        plan = waiting.pop()
        path = Path(plan)
        function(path, path)
        worst = max(worst, path.cost)
        waiting += [[*path.given[:i], True] for i in range(len(plan), len(path.given))]
    return 1 / THRESHOLD + worst


def answer_by_answer(function):
    """What it costs if all answers are given, each with its own noise; the dearest way."""
    path = Path([])
    path.answer = lambda scale: path.given.append(1 / scale)
    function(path, path)
    return sum(path.given)


def two_kinds_of_hits(x, rng):
    threshold = 5 + rng.laplace(scale=THRESHOLD)
    left, out = 4, []
    for q in x.sum(axis=0):
        coarse = q + rng.laplace(scale=32.0)
        if coarse - threshold >= 3:
            out.append(2)
            left = left - 1
        else:
            fine = q + rng.laplace(scale=16.0)
            if fine - threshold >= 0:
                out.append(1)
                left = left - 2
            else:
                out.append(0)
        if left < 2:
            break
    return out


def fine_hits_are_half_price(x, rng):
    """Wrong: a fine hit costs 2/16 like two coarse ones, and is counted as one."""
    threshold = 5 + rng.laplace(scale=THRESHOLD)
    left = 3
    for q in x.sum(axis=0):
        if q + rng.laplace(scale=32.0) - threshold >= 3:  # noqa: SIM114 - two hits, one price
            left -= 1
        elif q + rng.laplace(scale=16.0) - threshold >= 0:
            left -= 1
        if left <= 0:
            break
    return left


def coarse_hits_are_free(x, rng):
    """Wrong: only fine hits are counted."""
    threshold = 5 + rng.laplace(scale=THRESHOLD)
    spent = 0
    for q in x.sum(axis=0):
        if spent >= 2:
            break
        if q + rng.laplace(scale=32.0) - threshold >= 3:
            continue
        if q + rng.laplace(scale=16.0) - threshold >= 0:
            spent += 1
    return spent


def a_hit_gives_back(x, rng):
    """Wrong: coarse hits are given back to the budget."""
    threshold = 5 + rng.laplace(scale=THRESHOLD)
    spent = 0
    for q in x.sum(axis=0):
        if spent >= 2:
            break
        if q + rng.laplace(scale=32.0) - threshold >= 3:
            spent -= 1
        elif q + rng.laplace(scale=16.0) - threshold >= 0:
            spent += 1
    return spent


def asked_too_late(x, rng):
    """Wrong: the budget is asked in every second round."""
    threshold = 5 + rng.laplace(scale=THRESHOLD)
    spent = 0
    for i, q in enumerate(x.sum(axis=0)):
        if i % 2 == 1 and spent >= 1:
            break
        if q + rng.laplace(scale=16.0) - threshold >= 0:
            spent += 1
    return spent


def counted_in_bytes(x, rng):
    """Wrong where numbers wrap around; the charge does not count on it."""
    threshold = 5 + rng.laplace(scale=THRESHOLD)
    spent, out = 0, []
    for q in x.sum(axis=0):
        if spent * 2 >= 2:
            break
        if q + rng.laplace(scale=16.0) - threshold >= 0:
            spent += 1
        out.append(spent)
    return out


CASES = {
    two_kinds_of_hits: 1 / 8 + 4 / 16,
    fine_hits_are_half_price: 1 / 8 + 3 * 2 / 16,
    asked_too_late: QUERIES / 16,  # 1/8 and two hits of 1/8: as much
    coarse_hits_are_free: QUERIES
    * (1 / 16 + 1 / 32),  # answer by answer, which is less than by hits
    a_hit_gives_back: QUERIES * (1 / 16 + 1 / 32),
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_no_path_costs_more_than_is_charged(function):
    found, worst = charged(function), dearest_path(function)
    assert found == pytest.approx(CASES[function])
    assert min(worst, answer_by_answer(function)) == pytest.approx(found)


def test_what_is_not_followed_is_charged_in_full():
    """A product is no sum of hits: every answer may be one."""
    assert charged(counted_in_bytes) == pytest.approx(QUERIES / 16)
    assert dearest_path(counted_in_bytes) <= 1 / 8 + 2 / 16


@pytest.mark.parametrize(
    ("weight", "limit", "real", "counted"),
    [(0.1, 1.0, 11, 11), (0.1, 0.3, 3, 4), (0.125, 0.5, 4, 4), (1, 3, 3, 3), (2, 3, 2, 2)],
)
def test_a_budget_in_floats_may_leave_room_for_a_hit_more(weight, limit, real, counted):
    """Ten times 0.1 is below 1 in floats. Numbers that floats hold exactly are counted exactly."""

    def until(x, rng):
        threshold = 5 + rng.laplace(scale=THRESHOLD)
        spent, queries = 0, x.sum(axis=0)
        for i in range(10 * QUERIES):
            if spent >= limit:
                break
            if queries[i % QUERIES] + rng.laplace(scale=100.0) >= threshold:
                spent += weight
        return spent

    spent, hits = 0, 0
    while spent < limit:
        spent, hits = spent + weight, hits + 1
    assert hits == real
    assert charged(until) == pytest.approx(1 / THRESHOLD + counted * 2 / 100)


def numbers_with_hits(x, rng):
    """The second query is asked if the first one misses, the third one always: two numbers may be told."""
    threshold = 5 + rng.laplace(scale=80.0)
    q, hits, out = x.sum(axis=0), 0, []
    if q[0] + rng.laplace(scale=80.0) >= threshold:
        hits += 1
        out.append(q[0] + rng.laplace(scale=1.0))
    elif q[1] + rng.laplace(scale=80.0) >= threshold:
        hits += 1
        out.append(q[1] + rng.laplace(scale=1.0))
    if hits < 2:  # noqa: SIM102 - read as two tests
        if q[2] + rng.laplace(scale=80.0) >= threshold:
            out.append(q[2] + rng.laplace(scale=1.0))
    return out


def test_numbers_told_with_hits_count_on_every_path():
    """Two numbers of cost 1 each, and what the answers cost."""
    assert charged(numbers_with_hits) == pytest.approx(2 + 3 / 80)
