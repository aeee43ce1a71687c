"""Limits inside limits: whichever is over first ends what hangs, and says which it was."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import time

import pytest

from dpcheck.core.errors import RunTimedOut, TimeLimitReached
from dpcheck.execution import interrupts
from dpcheck.execution.interrupts import standing_by, time_limited, until


def hang():
    while True:
        pass


def soon():
    return time.time() + 0.1


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert not interrupts._ALARMS
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_a_limit_around_a_longer_one_is_kept():
    """Before, the inner clock stood in for the outer: this took a minute, and was RunTimedOut."""
    with pytest.raises(TimeLimitReached), until(soon()), time_limited(60):
        hang()


def test_a_limit_inside_a_longer_one_is_kept():
    late = pytest.raises(RunTimedOut, match=r"an import did not finish within 0\.1 s")
    with late, until(time.time() + 60), time_limited(0.1, "an import"):
        hang()


def test_the_outer_limit_goes_on_after_an_inner_one():
    def inner_then_outer():
        with pytest.raises(RunTimedOut), time_limited(0.01):
            hang()
        hang()

    with pytest.raises(TimeLimitReached), until(soon()):
        inner_then_outer()


def test_code_without_a_limit_of_its_own_is_ended_though_it_catches_exceptions():
    def catches():
        while True:
            try:
                hang()
            except Exception:
                continue

    with pytest.raises(TimeLimitReached), until(soon()), time_limited(None):
        catches()


def test_code_that_catches_everything_once_is_ended_at_the_second_ring():
    caught = []

    def stubborn():
        try:
            hang()
        except BaseException as error:
            caught.append(type(error).__name__)
        hang()

    with pytest.raises(TimeLimitReached), until(soon()), time_limited(60):
        stubborn()
    assert caught == ["_Late"]


def test_our_own_code_is_told_once_and_may_say_what_it_has_found():
    ends = soon()
    with until(ends):
        try:
            with time_limited(60, deadline=ends):
                hang()
        except TimeLimitReached:
            for _ in range(20):  # a second alarm would come here
                time.sleep(0.01)
        with pytest.raises(TimeLimitReached), time_limited(60):
            pytest.fail("after the limit nothing of somebody's is begun")


def test_code_that_uses_the_alarm_clock_itself_does_not_undo_the_limit():
    """The usual way to give a call a timeout; afterwards our own clock is gone."""

    def with_a_timeout_of_its_own():
        before = signal.signal(signal.SIGALRM, lambda *_: None)
        signal.alarm(5)
        time.sleep(0.12)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)

    def calls():
        with time_limited(60):
            with_a_timeout_of_its_own()
        with time_limited(60):
            hang()

    with pytest.raises(TimeLimitReached), until(time.time() + 0.5), standing_by():
        calls()


def test_an_alarm_that_others_have_set_goes_on():
    rang = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(True))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with time_limited(60):
            pass
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        assert 0 < left <= 0.05
        time.sleep(0.2)
        assert rang == [True]
    finally:
        signal.signal(signal.SIGALRM, before)


def test_many_short_limits_set_the_clock_once(monkeypatch):
    calls = []
    real = signal.setitimer
    monkeypatch.setattr(signal, "setitimer", lambda *given: (calls.append(given), real(*given))[1])
    monkeypatch.setattr(interrupts, "_CHECKED", 1e9)
    with standing_by():
        for _ in range(100):
            with time_limited(60):
                pass
    assert len(calls) == 2  # set, and left


def test_whoever_watches_knows_when_somebodys_code_is_to_end(monkeypatch):
    told = []
    monkeypatch.setattr(interrupts, "watchers", [lambda *given: told.append(given)])
    monkeypatch.setattr(interrupts._CLOCK, "longest", 0.0)
    with until(time.time() + 50):
        assert told[-1][0] == math.inf  # our own code ends by itself
        with time_limited(60):
            assert 40 < told[-1][0] - time.monotonic() <= 50
            assert told[-1][1] == interrupts.PATIENCE
        assert told[-1][0] == math.inf


def test_a_call_may_take_as_long_as_those_before_it(monkeypatch):
    """One call in compiled code at the limit is waited for, so that what was found is not lost."""
    told = []
    monkeypatch.setattr(interrupts, "watchers", [lambda *given: told.append(given)])
    monkeypatch.setattr(interrupts._CLOCK, "longest", 40.0)
    with until(time.time() + 50), time_limited(60):
        assert 40 < told[-1][0] - time.monotonic() <= 50
        assert told[-1][1] == 80.0


def test_a_limit_of_our_own_is_no_reason_to_end_the_process(monkeypatch):
    """Following the noise may be given up: a call that does not come back in time is waited for."""
    told = []
    monkeypatch.setattr(interrupts, "watchers", [lambda *given: told.append(given)])
    monkeypatch.setattr(interrupts._CLOCK, "longest", 0.0)
    with time_limited(20, fatal=False):
        assert told[-1][0] == math.inf
        with time_limited(50):
            assert 40 < told[-1][0] - time.monotonic() <= 50
            assert told[-1][1] == interrupts.PATIENCE


def test_an_alarm_that_rings_while_a_limit_is_left_waits_for_the_next_line():
    """Else what it raises passes by those who wait for it, and is taken for an error of the code."""
    reached = []

    @contextlib.contextmanager
    def left_when_it_rings():
        yield
        between = sys._getframe(1)  # where contextlib leaves this block
        assert between.f_code.co_filename == contextlib.__file__
        interrupts._ring(signal.SIGALRM, between)
        reached.append("left")

    def late():
        with time_limited(60.0):
            interrupts._ALARMS[-1].due = 0.0
            with left_when_it_rings():
                pass
            until_it_rings_again = time.monotonic() + 30.0
            while time.monotonic() < until_it_rings_again:
                sum(range(100))
            reached.append("never")

    with pytest.raises(RunTimedOut):
        late()
    assert reached == ["left"]
    assert not interrupts._ALARMS
