"""Signals around somebody's code: Ctrl-C told from its own exceptions, and an end to what hangs."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from dpcheck.core.errors import DpcheckError, RunTimedOut, TimeLimitReached

_OVER = "the time limit of the audit passed."
_AGAIN = 1.0  # seconds until the alarm rings again, for code that catches everything


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, as opposed to a KeyboardInterrupt that the code raised itself."""


class _Late(BaseException):
    """The alarm; not an Exception, which code that catches those would swallow."""


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


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
    timeout: float | None, what: str = "a run", deadline: float = math.inf
) -> Iterator[None]:
    """Raise RunTimedOut after `timeout` seconds, or TimeLimitReached at `deadline`, by a signal.

    Only a process's main thread gets signals; elsewhere (dask's workers run tasks in threads) a run
    that took too long is reported once it returns.
    """
    left = deadline - time.time()
    if timeout is None and math.isinf(left):
        yield
        return
    if left <= 0:
        raise TimeLimitReached(_OVER)
    seconds = left if timeout is None else min(timeout, left)
    late: DpcheckError = TimeLimitReached(_OVER)
    if seconds == timeout:
        late = RunTimedOut(
            f"{what} did not finish within {seconds:g} s; the mechanism hangs, or needs a larger "
            "timeout. Finished batches are kept.",
            timeout=seconds,
            name="timeout",
        )
    if not hasattr(signal, "setitimer") or not _in_main_thread():
        began = time.monotonic()
        yield
        if time.monotonic() - began > seconds:
            raise late
        return

    def ring(signum: int, frame: object) -> None:  # noqa: ARG001 - signal's signature
        raise _Late

    with _ringing(seconds, ring, _AGAIN):
        try:
            yield
        except _Late:
            raise late from None


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Raise TimeLimitReached at `deadline` (by time.time()), around code of our own.

    Where no signal can be had, only the runs inside look at the clock.
    """
    left = deadline - time.time()
    if math.isinf(left) or not hasattr(signal, "setitimer") or not _in_main_thread():
        yield
        return
    if left <= 0:
        raise TimeLimitReached(_OVER)

    def ring(signum: int, frame: object) -> None:  # noqa: ARG001 - signal's signature
        raise TimeLimitReached(_OVER)

    with _ringing(left, ring, 0.0):
        yield


@contextmanager
def _ringing(
    seconds: float, ring: Callable[[int, FrameType | None], None], again: float
) -> Iterator[None]:
    """An alarm clock; one that was set before goes on afterwards."""
    before, began = signal.signal(signal.SIGALRM, ring), time.monotonic()
    outer, interval = signal.setitimer(signal.ITIMER_REAL, seconds, again)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer > 0:
            left = outer - (time.monotonic() - began)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-3), interval)
