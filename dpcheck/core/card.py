"""What a result shows of itself: a titled table. How it looks is the business of whoever draws it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpcheck.core.verdict import Verdict

SIGNS = {
    Verdict.HOLDS: "✓",
    Verdict.CONSISTENT: "≈",
    Verdict.VIOLATED: "✗",
    Verdict.UNDECIDED: "?",
}


@dataclass(frozen=True, slots=True)
class Meter:
    """A share of a whole, drawn as a bar."""

    text: str
    share: float


@dataclass(frozen=True, slots=True)
class Card:
    """A titled table, the verdict that colours it, and lines to unfold under a heading."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str | Meter]]
    verdict: Verdict | None = None
    heading: str = ""
    lines: Sequence[str] = ()


def number(value: float) -> str:
    """Six digits, and a sign for infinity."""
    return "∞" if value == math.inf else f"{value:.6g}"


def apart(*values: float) -> list[str]:
    """Numbers as text, with as many digits as it takes to tell different ones apart.

    >>> apart(1.0, 1.0000000000000002, float("inf")), apart(0.5, 2.0)
    (['1', '1.0000000000000002', 'inf'], ['0.5', '2'])
    """
    for digits in range(6, 18):
        shown = [f"{value:.{digits}g}" for value in values]
        if len(set(shown)) == len(set(values)):
            break
    return shown


class Displayed:
    """A result that a notebook shows as cards, once something is there to draw them."""

    __slots__ = ()

    @abstractmethod
    def cards(self) -> tuple[Card, ...]:
        """What to show."""

    def _repr_html_(self) -> str | None:
        return None if _Drawing.html is None else _Drawing.html(self.cards())


class _Drawing:
    html: Callable[[Sequence[Card]], str] | None = None


def draw_with(html: Callable[[Sequence[Card]], str]) -> None:
    """Let `html` draw the cards of every result."""
    _Drawing.html = html
