"""What a check ends with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Accepted:
    """Every step holds: what is proved, in words and as the file states it, and what is trusted."""

    statement: str
    claim: Mapping[str, Any]
    steps: int
    words: tuple[str, ...] = ()


class Refused(Exception):
    """The file proves nothing; the text says which step failed."""
