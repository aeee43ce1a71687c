"""A broken function as somebody might write it, its correct twin, and what it claims on a pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Case:
    """`true` is the broken function's epsilon on the pair at `delta`, from a hand derivation."""

    name: str
    broken: Function
    correct: Function
    pair: tuple[Any, Any]
    epsilon: float
    true: float
    delta: float = 0.0
