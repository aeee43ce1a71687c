"""Signals around somebody's code: Ctrl-C told from its own exceptions, and an end to what hangs."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dpcheck.core.errors import RunTimedOut

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
def time_limited(seconds: float | None, what: str = "a run") -> Iterator[None]:
    """Raise RunTimedOut after `seconds`, by a signal.

    Only a process's main thread gets signals; elsewhere (dask's workers run tasks in threads) a run
    that took too long is reported once it returns.
    """
    if seconds is None:
        yield
        return
    late = RunTimedOut(
        f"{what} did not finish within {seconds:g} s; the mechanism hangs, or needs a larger "
        "--timeout. Finished batches are kept.",
        timeout=seconds,
    )
    if not hasattr(signal, "setitimer") or not _in_main_thread():
        began = time.monotonic()
        yield
        if time.monotonic() - began > seconds:
            raise late
        return

    def ring(signum: int, frame: object) -> None:  # noqa: ARG001 - signal's signature
        raise _Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    except _Late:
        raise late from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
