"""What an audit concludes."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The comparison of a claim with what was proved and what was observed."""

    HOLDS = "holds"
    CONSISTENT = "consistent"
    VIOLATED = "violated"
    UNDECIDED = "undecided"
