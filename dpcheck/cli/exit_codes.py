"""What `dpcheck` exits with."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """0 holds or consistent, 1 violated, 2 cannot be carried out, 3 undecided."""

    OK = 0
    VIOLATED = 1
    ERROR = 2
    UNDECIDED = 3
