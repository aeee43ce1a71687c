"""Results as a small card in a notebook: escaped, on the notebook's own background and ink.

Only the coloured edge and bars carry colour of their own; each has 3:1 against white and against the
dark grey of notebooks, and none says what the words do not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dpcheck.core.card import Card, Meter
from dpcheck.core.verdict import Verdict

PLAIN = "#7a8595"
ACCENTS = {
    Verdict.HOLDS: "#16917a",
    Verdict.CONSISTENT: "#2f7fd0",
    Verdict.VIOLATED: "#dd4f45",
    Verdict.UNDECIDED: "#a98215",
}
_CELL = "text-align:left;padding:.2em 1.2em .2em 0;background:none"


def html(cards: Sequence[Card]) -> str:
    """All cards, one below the other."""
    return "".join(map(_card, cards))


def _card(card: Card) -> str:
    """A titled table with a coloured edge, and details to unfold.

    >>> "&lt;b&gt;" in html([Card("<b>", ["x"], [["1"]])])
    True
    """
    head = "".join(
        f'<th scope="col" style="{_CELL};opacity:.75">{escape(h)}</th>' for h in card.headers
    )
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in card.rows)
    rest = ""
    if card.lines:
        items = "".join(f"<li>{escape(line)}</li>" for line in card.lines)
        unfolded = f'<ul style="margin:.2em 0">{items}</ul>'
        rest = f"<details><summary>{escape(card.heading)}</summary>{unfolded}</details>"
    edge = PLAIN if card.verdict is None else ACCENTS[card.verdict]
    return (
        f'<div style="border-left:4px solid {edge};padding:.1em 0 .1em .8em;'
        f'margin:.3em 0"><strong>{escape(card.title)}</strong>'
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
        f'border:1px solid {PLAIN};margin-right:.6em" aria-hidden="true">'
        f'<span style="display:block;height:100%;width:{100 * full:.1f}%;'
        f'background:{ACCENTS[Verdict.CONSISTENT]}"></span></span>{escape(value.text)}</td>'
    )
