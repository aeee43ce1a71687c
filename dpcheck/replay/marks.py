"""What ends the following of a draw, so that exactness is known and not hoped for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dpcheck.replay.draws import Line


class MarkKind(StrEnum):
    """Why nothing after it is known for every value of the noise."""

    LEFT = "a noisy value became a plain number"
    BRANCH = "a noisy value that is not followed decided a path"
    UNFOLLOWED = "a draw that is not followed"
    ENTROPY = "randomness or time from outside"
    NATIVE = "compiled code that is not known to be free of randomness"
    THREAD = "another thread was started"
    STATE = "two runs with the same draws differ"
    GENERATOR = "a generator that is not followed was used"
    MUTATED = "the data was changed"
    FAILED = "the run under observation raised"


@dataclass(frozen=True, slots=True)
class Mark:
    """A reason, the line, and what was called."""

    kind: MarkKind
    line: Line
    detail: str = ""

    def __str__(self) -> str:
        tail = f" ({self.detail})" if self.detail else ""
        return f"{self.kind} at {self.line}{tail}"
