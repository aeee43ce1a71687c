"""What an audit concludes."""

from __future__ import annotations

from enum import Enum


class Verdict(str, Enum):
    """The comparison of a claim with what was proved and what was observed."""

    HOLDS = "holds"
    CONSISTENT = "consistent"
    VIOLATED = "violated"
    UNDECIDED = "undecided"

    def __str__(self) -> str:
        return self.value
