"""How long a process had for itself: a busy machine, or a stop from outside, is no fault of its own."""

from __future__ import annotations

import os
import time
from pathlib import Path

_STOPPED = "Tt"  # by a signal, or by a debugger
_CAN_RUN = "R"


class OwnTime:
    """Adds up a process's time: what it computed while it could run, all that passed while it waited.

    Where the system does not say what a process does, all time that passes is its own.
    """

    def __init__(self, process: int) -> None:
        self.process = process
        self.restart()

    def restart(self) -> None:
        """Count from now on."""
        self.seconds = 0.0
        self._wall = time.monotonic()
        self._computed = self._look()[1]

    def look(self) -> float:
        """Seconds of its own since the count began; to be called often."""
        now, (state, computed) = time.monotonic(), self._look()
        self.seconds += own_seconds(state, now - self._wall, computed - self._computed)
        self._wall, self._computed = now, computed
        return self.seconds

    def _look(self) -> tuple[str, float]:
        try:
            text = Path(f"/proc/{self.process}/stat").read_text()
        except OSError:
            return "", 0.0
        fields = text.rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])  # in user mode and in the kernel
        return fields[0], ticks / os.sysconf("SC_CLK_TCK")


def own_seconds(state: str, passed: float, computed: float) -> float:
    """The part of `passed` seconds that was a process's own.

    >>> own_seconds("R", 5.0, 0.5), own_seconds("S", 5.0, 0.0), own_seconds("T", 5.0, 0.0)
    (0.5, 5.0, 0.0)
    """
    if state and state in _STOPPED:
        return 0.0
    return min(passed, computed) if state == _CAN_RUN else passed
