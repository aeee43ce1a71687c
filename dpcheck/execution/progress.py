"""How far an audit is, on standard error: a live line on a terminal, elsewhere one line a minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TypeVar

_EVERY = 60.0  # seconds between two lines where nobody is watching live
_PATIENCE = 2.0  # seconds one waits without being told
T = TypeVar("T")


class Progress(AbstractContextManager["Progress"]):
    """Never touches standard output; silent where `quiet`."""

    def __init__(self, *, always: bool = False, quiet: bool = False, wait: float = 0.0) -> None:
        self._on = not quiet
        self._status = None
        self._last = time.monotonic()
        self._begins = self._last + wait  # a live line before that would only flicker
        self._entered = self._live = False
        if self._on and (always or sys.stderr.isatty()):
            from rich.console import Console

            self._status = Console(stderr=True).status("starting")

    @property
    def on(self) -> bool:
        """Whether anybody is told."""
        return self._on

    def __enter__(self) -> Progress:
        self._entered = True
        self._show()
        return self

    def _show(self) -> None:
        waited = self._entered and time.monotonic() >= self._begins
        if self._status is not None and waited and not self._live:
            self._live = True
            self._status.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None and self._live:
            self._status.stop()
        self._entered = self._live = False

    def stage(self, text: str) -> None:
        """Say what is being done."""
        if self._status is not None:
            self._status.update(text)
            self._show()
        elif self._on and time.monotonic() - self._last >= _EVERY:
            self._last = time.monotonic()
            print(f"dpcheck: {text}", file=sys.stderr, flush=True)

    def testing(
        self,
        part: str,
        runs: int,
        most: int,
        epsilon: float,
        log_e: float,
        seconds: float | None = None,
    ) -> None:
        """Say how far the test is, and how many seconds all runs that are allowed would take."""
        left = "" if seconds is None else f", {duration(seconds)} left at most"
        self.stage(
            f"{part}: {runs:,} of at most {most:,} runs a side, epsilon >= {epsilon:.4g}, "
            f"log e-value {log_e:.1f}{left}"
        )


def counted(what: str, items: Iterable[T], total: int) -> Iterator[T]:
    """The items; whoever waits more than two seconds for them is told how many are left, and how long.

    >>> list(counted("cells", "abc", 3))
    ['a', 'b', 'c']
    """
    started = time.monotonic()
    with Progress(wait=_PATIENCE) as progress:
        for done, item in enumerate(items):
            left = ""
            if done:
                seconds = (time.monotonic() - started) * (total - done) / done
                left = f", {duration(seconds)} left"
            progress.stage(f"{what}: {done} of {total} done{left}")
            yield item


def duration(seconds: float) -> str:
    """A length of time as people say it.

    >>> duration(42.3), duration(400), duration(20_000)
    ('about 42 s', 'about 7 min', 'about 5.6 h')
    """
    if seconds < 120:
        return f"about {max(1, round(seconds))} s"
    return f"about {seconds / 60:.0f} min" if seconds < 7200 else f"about {seconds / 3600:.1f} h"
