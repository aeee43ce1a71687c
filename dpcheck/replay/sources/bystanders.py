"""What code does beside computing: it reads clocks, sleeps, logs and reads files.

None of it is randomness, unless the answer depends on it. Clocks are replaced by one that tells the same
time to both datasets, and another time to the plain runs that confirm what was followed: an answer, a
seed or a path that depends on the clock is not confirmed. Sleeping takes no time, loggers are silent, and a
file that is only read must have the same content whenever it is read.
"""

from __future__ import annotations

import builtins
import hashlib
import io
import logging
import os
import stat
import time
from collections.abc import Callable
from typing import ClassVar

from dpcheck.core.data import Value
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.recorder import Recorder
from dpcheck.replay.sources.base import Source, register

# Bound here, before any hook is in place.
_OPEN = builtins.open
_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
_BEGAN = 1_700_000_000.25  # what the clock says at first
_LATER = 12_345_678.371  # seconds by which the clock of confirming runs is ahead
_TICK = 1e-4  # seconds between two looks
_READS = frozenset({"r", "rb", "rt", "br", "tr"})
_SYSTEM = ("/proc/", "/sys/", "/dev/")
_MOST_BYTES = 64_000_000  # of a file whose content is compared


class Clock:
    """Seconds that pass by being asked for, or slept through."""

    def __init__(self, recorder: Recorder) -> None:
        ahead = (_LATER, 3.1) if recorder.plain else (0.0, 1.0)
        self.now, self.tick = _BEGAN + ahead[0], _TICK * ahead[1]

    def seconds(self) -> float:
        """What time it is."""
        self.now += self.tick
        return self.now

    def nanoseconds(self) -> int:
        """The same as a whole number."""
        return int(self.seconds() * 1e9)

    def sleep(self, seconds: float) -> None:
        """Pass some time at once."""
        self.now += float(seconds)


@register
class Bystanders(Source):
    """The time module, loggers, and files that are opened to be read."""

    name: ClassVar[str] = "bystanders"
    needs: ClassVar[str] = "time"

    def install(self) -> None:
        """Replace the functions of their modules."""
        for name, hook in clock_hooks(self.recorder).items():
            self.replace(time, name, hook)
        self.replace(logging.Logger, "handle", _ignore)
        self.replace(logging, "logProcesses", False)
        for owner in (builtins, io):
            self.replace(owner, "open", self._open)

    def _open(self, file: Value, mode: str = "r", *args: Value, **kwargs: Value) -> Value:
        recorder = self.recorder
        content = _content(file) if mode in _READS else None
        if content is None:
            recorder.mark(MarkKind.ENTROPY, f"open({mode!r})")
        elif recorder.files.setdefault(os.path.abspath(file), content) != content:
            recorder.mark(MarkKind.ENTROPY, "a file that changes while it is read")
        return _OPEN(file, mode, *args, **kwargs)


def clock_hooks(recorder: Recorder) -> dict[str, Callable[..., Value]]:
    """Functions of the time module, by name."""
    clock = recorder.clock = recorder.clock or Clock(recorder)
    hooks: dict[str, Callable[..., Value]] = dict.fromkeys(_CLOCKS, clock.seconds)
    hooks |= {f"{name}_ns": clock.nanoseconds for name in _CLOCKS}
    hooks["sleep"] = clock.sleep
    return hooks


REAL_CLOCKS: dict[int, str] = {
    id(getattr(time, name)): name
    for name in (*_CLOCKS, *(f"{each}_ns" for each in _CLOCKS), "sleep")
    if hasattr(time, name)
}


def _ignore(logger: logging.Logger, record: logging.LogRecord) -> None:
    """Nobody reads what a run under observation logs; its numbers stay followed."""


def _content(file: Value) -> str | None:
    """A digest of a regular file; None for anything else, which may say something else each time."""
    try:
        if os.path.abspath(file).startswith(_SYSTEM):
            return None
        found = os.stat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
            return None
        with _OPEN(file, "rb") as stream:
            return hashlib.blake2b(stream.read(), digest_size=16).hexdigest()
    except FileNotFoundError:
        return ""  # opening it raises, each time
    except (OSError, TypeError, ValueError):
        return None
