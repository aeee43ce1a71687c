"""What an audit may spend: how the pace is measured, and what is left after the game."""

from __future__ import annotations

import time

from dpcheck.auditing.limits import Limits, Pace
from dpcheck.auditing.mechanism import Mechanism

MECHANISM = Mechanism(lambda data, rng: data)


def test_the_first_calls_count_only_until_others_were_timed():
    pace = Pace()
    pace.took(8, 16.0)  # imports, compiles
    assert pace.needs(1) == 2.0
    pace.took(10, 1.0)
    pace.took(10, 1.0)
    assert pace.needs(1) == 0.1
    assert pace.within(5.0) == 50


def test_what_is_left_after_the_game_does_not_change_while_the_time_runs_out():
    slow = Pace(calls=100, seconds=10.0, warm=True)
    late = Limits(max_runs=8000, deadline=time.time() + 1.0, pace=slow)
    assert not late.leaves_room_to_learn(MECHANISM)
    early = Limits(max_runs=8000)
    assert early.leaves_room_to_learn(MECHANISM)
    assert late.after_game(MECHANISM) == early.after_game(MECHANISM) == 8000 - 512
    assert early.game_for(MECHANISM) == 512
    assert late.game_for(MECHANISM) == 8000


def test_few_runs_are_all_guessed():
    few = Limits(max_runs=1500)
    assert few.game_for(MECHANISM) == few.short_game(MECHANISM) == 1500


def test_learning_and_testing_share_the_time_that_is_left():
    pace = Pace(calls=1000, seconds=5.0, warm=True)
    limits = Limits(deadline=time.time() + 60.0, pace=pace)
    assert limits.leaves_room_to_learn(MECHANISM)
    planned = limits.in_time(MECHANISM)
    calls = 2 * planned.after_game(MECHANISM)
    assert 0.75 * 12_000 <= calls <= 12_000  # what 60 s allow at 5 ms a call
    learned = planned.learning_for(MECHANISM) + 2 * planned.sharpening_for(MECHANISM)
    assert planned.testing_for(MECHANISM, learned) >= planned.after_game(MECHANISM) // 2


def test_without_a_deadline_or_with_time_enough_nothing_is_planned_anew():
    pace = Pace(calls=1000, seconds=5.0, warm=True)
    assert Limits(pace=pace).in_time(MECHANISM) == Limits()
    enough = Limits(deadline=time.time() + 1e5, pace=pace)
    assert enough.in_time(MECHANISM) is enough
    unknown = Limits(deadline=time.time() + 1.0)
    assert unknown.in_time(MECHANISM) is unknown
