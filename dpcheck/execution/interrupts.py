"""Signals around somebody's code: Ctrl-C told from its own exceptions, and an end to what hangs.

A process has one alarm clock, and limits lie inside each other: a call within an audit, an import within
its planning. They are kept in a list, the clock is set to the one that is due first, and whichever is over
is said so, also from inside another.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from dpcheck.core.errors import DpcheckError, RunTimedOut, TimeLimitReached

_OVER = "the time limit of the audit passed."
_AGAIN = 1.0  # seconds until the alarm rings again, for code that catches everything
_AT_ONCE = 1e-3  # seconds; an alarm clock that is set to zero never rings
_CHECKED = 0.1  # seconds after which the clock is set anew, should the code inside have set it
_TOGETHER = 0.05  # seconds; limits that are over within them are over at once


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, as opposed to a KeyboardInterrupt that the code raised itself."""


class _Late(BaseException):
    """The alarm in somebody's code; not an Exception, which code that catches those would swallow."""

    def __init__(self, error: DpcheckError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(slots=True, eq=False)
class _Alarm:
    """A limit that is in force."""

    due: float  # by time.monotonic()
    error: DpcheckError
    foreign: bool  # around somebody's code rather than ours
    fatal: bool = True  # whether code that goes on beyond it may be ended with its process
    told: bool = False  # our own code is told once, and may then say what it has found so far


_ALARMS: list[_Alarm] = []  # outermost first; of the main thread alone
# Told the limit of somebody's code that is under way (or infinity), and how many seconds of its own it may
# take after that to come back: whoever can end it with this process from outside.
watchers: list[Callable[[float, float], None]] = []
# These seconds: so many, or as many times the longest call that came back.
PATIENCE, AS_EARLIER = 5.0, 2.0


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _has_alarms() -> bool:
    return hasattr(signal, "setitimer") and _in_main_thread()


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, Ctrl-C raises Interrupted: any other exception is the code's own."""
    if not _in_main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def stop(signum: int, frame: object) -> None:  # noqa: ARG001 - signal's signature
        raise Interrupted

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def time_limited(
    timeout: float | None,
    what: str = "a run",
    deadline: float = math.inf,
    *,
    fatal: bool = True,
) -> Iterator[None]:
    """Raise RunTimedOut after `timeout` seconds, or TimeLimitReached at `deadline`, by a signal.

    So do the limits around this one, at their time. Code that no signal interrupts is ended with its process
    by whoever watches, unless `fatal` is false: then it is waited for, as something we tried that may be
    given up is no reason to lose the audit. Only a process's main thread gets signals; elsewhere (dask's
    workers run tasks in threads) a run that took too long is reported once it returns.
    """
    left = deadline - time.time()
    if timeout is None and math.isinf(left) and not (_ALARMS and _in_main_thread()):
        yield
        return
    if left <= 0:
        _over()
        raise TimeLimitReached(_OVER)
    seconds = left if timeout is None else min(timeout, left)
    late: DpcheckError = TimeLimitReached(_OVER)
    if seconds == timeout:
        kept = " Finished batches are kept." if what == "a run" else ""
        late = RunTimedOut(
            f"{what} did not finish within {seconds:.3g} s. Find out where it hangs, or raise --timeout."
            f"{kept}",
            timeout=seconds,
            name="timeout",
        )
    if not _has_alarms():
        began = time.monotonic()
        yield
        if time.monotonic() - began > seconds:
            raise late
        return
    try:
        with _alarm(seconds, late, foreign=True, fatal=fatal):
            yield
    except _Late as rung:
        raise rung.error from None


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Raise TimeLimitReached at `deadline` (by time.time()), around code of our own.

    Where no signal can be had, only the runs inside look at the clock.
    """
    left = deadline - time.time()
    if math.isinf(left) or not _has_alarms():
        yield
        return
    if left <= 0:
        _over()
        raise TimeLimitReached(_OVER)
    with _alarm(left, TimeLimitReached(_OVER), foreign=False):
        yield


@contextmanager
def standing_by() -> Iterator[None]:
    """Around many short limits: the clock is set and left once for all of them, which is cheaper."""
    if not _has_alarms():
        yield
        return
    with _alarm(math.inf, TimeLimitReached(_OVER), foreign=False):
        yield


@contextmanager
def _alarm(
    seconds: float, error: DpcheckError, *, foreign: bool, fatal: bool = True
) -> Iterator[None]:
    """One more limit; an alarm clock that others had set goes on after the last of ours."""
    passed = _over()
    if passed:
        raise passed[0].error
    began = time.monotonic()
    mine = _Alarm(began + seconds, error, foreign, fatal)
    others = None if _ALARMS else _Others()
    try:
        _ALARMS.append(mine)
        _CLOCK.set()
        yield
    finally:
        if foreign:
            _CLOCK.longest = max(_CLOCK.longest, time.monotonic() - began)
        try:
            _leave(mine, others)
        except BaseException:  # the alarm rang in these very lines
            _leave(mine, others)
            raise


def _leave(mine: _Alarm, others: _Others | None) -> None:
    if mine in _ALARMS:
        del _ALARMS[_ALARMS.index(mine) :]
    if others is None:
        _CLOCK.set()
    else:
        _CLOCK.stop()
        others.go_on()


class _Others:
    """The alarm clock as it was set before ours."""

    def __init__(self) -> None:
        self.handler, self.began = signal.getsignal(signal.SIGALRM), time.monotonic()
        self.left, self.interval = signal.getitimer(signal.ITIMER_REAL)

    def go_on(self) -> None:
        if self.handler is not None:  # one that was not set from Python cannot be set again
            signal.signal(signal.SIGALRM, self.handler)
        if self.left > 0:
            left = self.left - (time.monotonic() - self.began)
            signal.setitimer(signal.ITIMER_REAL, max(left, _AT_ONCE), self.interval)


class _Clock:
    """Set only where it has to ring earlier than it would: each call of the system takes time."""

    def __init__(self) -> None:
        self.rings = math.inf  # by time.monotonic()
        self.checked = -math.inf
        self.longest = 0.0  # seconds that somebody's code took and came back

    def set(self) -> None:
        """To the limit that is due first; whoever watches is told when somebody's code is to end."""
        foreign = bool(_ALARMS) and _ALARMS[-1].foreign
        ends = min((alarm.due for alarm in _ALARMS if alarm.fatal and foreign), default=math.inf)
        for each in watchers:
            each(ends, max(PATIENCE, AS_EARLIER * self.longest))
        due = min((alarm.due for alarm in _ALARMS if not alarm.told), default=math.inf)
        now = time.monotonic()
        if now - self.checked > _CHECKED:  # not ours yet, or the code inside has set it
            signal.signal(signal.SIGALRM, _ring)
            self.rings, self.checked = math.inf, now
        if due < self.rings:
            signal.setitimer(signal.ITIMER_REAL, max(due - now, _AT_ONCE), _AGAIN)
            self.rings = due

    def stop(self) -> None:
        """As long as there are no limits."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.rings, self.checked = math.inf, -math.inf
        for each in watchers:
            each(math.inf, 0.0)


_CLOCK = _Clock()


def _over() -> list[_Alarm]:
    """The limits that have passed, outermost first; they count as told."""
    now = time.monotonic()
    found = [each for each in _ALARMS if each.due <= now + _TOGETHER]
    for each in found:
        each.told = True
    return found


_BETWEEN = frozenset({__file__, contextlib.__file__})  # whose lines enter and leave a limit


def _ring(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's signature
    """End somebody's code, as often as it takes; tell our own once.

    Not while a limit is entered or left: what is raised there would pass by those who wait for it. The alarm
    rings again.
    """
    if frame is not None and frame.f_code.co_filename in _BETWEEN:
        _CLOCK.rings = math.inf
        signal.setitimer(signal.ITIMER_REAL, _AT_ONCE, _AGAIN)
        return
    _CLOCK.rings = math.inf
    known = sum(each.told for each in _ALARMS)
    passed = _over()
    if passed and _ALARMS[-1].foreign:
        raise _Late(passed[0].error)
    if sum(each.told for each in _ALARMS) > known:
        raise passed[0].error
    _CLOCK.set()
