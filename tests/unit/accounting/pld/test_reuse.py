"""Questions that share a plan: equal answers in any order, and as close as a question of its own."""

from __future__ import annotations

import pytest

import dpcheck
from dpcheck.accounting.certify.bound import Plan, Question, certify
from dpcheck.accounting.losses import GaussianMixtureLoss
from dpcheck.accounting.pld import distribution
from dpcheck.accounting.pld.distribution import ComposedLoss, worse_epsilon
from dpcheck.accounting.pld.reuse import KEPT, SPECTRA, Shelf, banded, raised
from dpcheck.numerics.side import Side
from dpcheck.numerics.spectrum import FEWER

LOSS = GaussianMixtureLoss((1.0,), (0.01,))


def _asked(steps: int, delta: float = 1e-5) -> tuple[float, float]:
    bound = dpcheck.epsilon(dpcheck.SampledGaussian(1.0, 0.01) * steps, delta=delta)
    return bound.lower, bound.upper


def test_answers_do_not_depend_on_what_was_asked_before():
    questions = [(900, 1e-5), (917, 1e-5), (917, 2e-5), (940, 1e-5)]
    SPECTRA.clear()
    forward = {question: _asked(*question) for question in questions}
    SPECTRA.clear()
    backward = {question: _asked(*question) for question in reversed(questions)}
    assert forward == backward


def test_a_loop_grows_with_every_step_and_stays_close():
    previous = 0.0
    for steps in range(995, 1006):
        lower, upper = _asked(steps)
        assert lower <= upper <= lower * 1.001 + 1e-6
        assert upper > previous * (1 - 1e-4)  # by a different lattice at most
        previous = upper


@pytest.mark.parametrize("side", list(Side))
def test_a_shared_plan_costs_no_accuracy(side):
    composed = ComposedLoss([(LOSS, 1000)], side)
    shared = composed.solve(1e-5)
    own = composed._solution(
        composed._transformed(composed.everything, composed.everything.tilt_for_delta(1e-5)), 1e-5
    )
    assert shared.value == pytest.approx(own.value, rel=3e-4)


def test_counts_are_planned_within_the_band():
    assert [banded(n) for n in (1, 7, 20)] == [1, 7, 20]
    for count in (21, 100, 12_345, 10**8):
        assert 0.95 <= banded(count) / count <= 1.05 < 1 / FEWER


def test_the_worse_direction_is_the_worse_of_both():
    ways = [((LOSS, 500),), ((GaussianMixtureLoss((1.0,), (0.01,), True), 500),)]
    for side in Side:
        each = [ComposedLoss(way, side).epsilon(1e-5) for way in ways]
        plan = Plan(*worse_epsilon(ways, 1e-5, side))
        assert plan == Plan(*worse_epsilon(ways[::-1], 1e-5, side))
        found = certify(plan, Question(ways[0], side, 1e-5), "pld")
        assert (found.upper if side is Side.UPPER else found.lower) == max(each)


def test_the_shelf_keeps_within_its_limit():
    shelf = Shelf()
    composed = ComposedLoss([(LOSS, 1000)], Side.UPPER)
    made = composed._transformed(composed.everything, composed.everything.tilt_for_delta(1e-5))
    for key in range(2000):
        assert shelf.get(key, lambda: made) is made
    assert 0 < shelf._bytes <= KEPT
    assert len(shelf._kept) < 2000


def test_a_loop_gets_the_answers_of_fresh_questions():
    """What a spectrum remembers of earlier counts and deltas changes no digit of an answer."""
    steps = [61, 62, 310, 311, 1500, 1501, 1502, 1520]
    looped = {(n, delta): _asked(n, delta) for delta in (1e-5, 1.2e-5) for n in steps}
    for question, answer in looped.items():
        SPECTRA.clear()
        distribution._more_steps.cache_clear()
        distribution._composed.cache_clear()
        assert _asked(*question) == answer


def test_raised_counts_share_a_plan():
    for count in range(1, 3000):
        assert count <= raised(count) <= count * (1 + 1 / 64)
        assert banded(raised(count)) == banded(count)
