"""How the error rate of a part was spent: one line per test, adding up to the part's share."""

from __future__ import annotations

from collections.abc import Sequence

from dpcheck.auditing.auditors.noise_scale import Tie
from dpcheck.core.evidence import Spent

DIRECTIONS = ("D against D'", "D' against D")


def bill(
    alpha: float,
    *,
    tie: Tie | None,
    witness: str | None,
    losses: str | None,
    pairs: Sequence[str],
    distinguisher: float | None,
    events: Sequence[str],
    trial: str | None = None,
) -> tuple[Spent, ...]:
    """The lines of one part.

    `witness`, `losses` and `trial` are the methods used, if they were; `distinguisher` is the error
    rate it was given and `events` what it tested. A trial takes half of everything.

    Guarantee: shares add up to alpha; what no test used is a line of its own.

    >>> lines = bill(1e-3, tie=None, witness="exact witness", losses=None, pairs=(),
    ...              distinguisher=None, events=())
    >>> [(line.test, line.share) for line in lines]
    [('exact witness', 0.0), ('not spent', 0.001)]
    """
    lines: list[Spent] = []
    left = alpha
    if witness is not None:
        lines.append(Spent(witness, 0.0, (), "certified arithmetic: a proof, not a test"))
    if tie is not None:
        note = "decides between holds and consistent; it cannot raise an alarm"
        lines.append(Spent("noise-scale test", 0.0, (f"{tie.runs} runs",), note))
    if trial is not None:
        alpha = left = alpha / 2
        note = "a whole training with canaries; split over two bounds"
        lines.append(Spent(trial, alpha, ("Steinke-Nasr-Jagielski", "f-DP"), note))
    if losses == "exact loss of an output":
        lines.append(Spent(losses, 0.0, tuple(pairs), "a computed loss is a proof, not a test"))
    elif losses is not None:
        left -= alpha / 2
        over = (*pairs, *DIRECTIONS)
        lines.append(Spent(losses, alpha / 2, over, "split over pairs; directions averaged"))
    if distinguisher is not None:
        left -= distinguisher
        note = "evidence averaged over events, directions and pairs, valid at any stopping time"
        lines.append(Spent("distinguisher", distinguisher, tuple(events), note))
    if left > 1e-12 * alpha:
        lines.append(Spent("not spent", left, (), "kept: no test needed it"))
    return tuple(lines)
