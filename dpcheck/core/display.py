"""Results as a small card in a notebook: escaped, on the notebook's own background and ink.

Only the coloured edge and bars carry colour of their own; each has 3:1 against white and against the
dark grey of notebooks, and none says what the words do not say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from dpcheck.core.verdict import Verdict

SIGNS = {
    Verdict.HOLDS: "✓",
    Verdict.CONSISTENT: "≈",
    Verdict.VIOLATED: "✗",
    Verdict.UNDECIDED: "?",
}
ACCENTS = {
    "holds": "#16917a",
    "consistent": "#2f7fd0",
    "violated": "#dd4f45",
    "undecided": "#a98215",
    "plain": "#7a8595",
}
_CELL = "text-align:left;padding:.2em 1.2em .2em 0;background:none"


@dataclass(frozen=True, slots=True)
class Meter:
    """A share of a whole, drawn as a bar."""

    text: str
    share: float


def number(value: float) -> str:
    """Six digits, and a sign for infinity."""
    return "∞" if value == math.inf else f"{value:.6g}"


def card(
    title: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str | Meter]],
    *,
    accent: str = "plain",
    folded: tuple[str, Sequence[str]] = ("", ()),
) -> str:
    """A titled table with a coloured edge, and details to unfold.

    >>> "&lt;b&gt;" in card("<b>", ["x"], [["1"]])
    True
    """
    head = "".join(f'<th scope="col" style="{_CELL};opacity:.75">{escape(h)}</th>' for h in headers)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    summary, lines = folded
    rest = ""
    if lines:
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        unfolded = f'<ul style="margin:.2em 0">{items}</ul>'
        rest = f"<details><summary>{escape(summary)}</summary>{unfolded}</details>"
    return (
        f'<div style="border-left:4px solid {ACCENTS[accent]};padding:.1em 0 .1em .8em;'
        f'margin:.3em 0"><strong>{escape(title)}</strong>'
        '<table style="color:inherit;font:inherit;border-collapse:collapse;'
        'font-variant-numeric:tabular-nums;margin:.3em 0">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>"
    )


def _cell(value: str | Meter) -> str:
    if isinstance(value, str):
        return f'<td style="{_CELL}">{escape(value)}</td>'
    full = min(1.0, max(0.0, value.share))
    return (
        f'<td style="{_CELL}"><span style="display:inline-block;width:6em;height:.7em;'
        f'border:1px solid {ACCENTS["plain"]};margin-right:.6em" aria-hidden="true">'
        f'<span style="display:block;height:100%;width:{100 * full:.1f}%;'
        f'background:{ACCENTS["consistent"]}"></span></span>{escape(value.text)}</td>'
    )
