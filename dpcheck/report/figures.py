"""The four figures of a report: one axis for all bounds, losses, trade-off, score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcheck.core.audit_result import AuditEntry
from dpcheck.core.evidence import Histogram, Points, RunEvidence
from dpcheck.core.verdict import Verdict
from dpcheck.report.drawing import INK, Drawing, draw
from dpcheck.report.words import allowed, budget, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE, _HIGH = 4.2, 3.1  # inches; small, so that text is readable on a telephone


def overview(entries: Sequence[AuditEntry], key: str) -> Drawing:
    """Claim, proved and observed of every part on one axis of epsilon."""
    values = [
        value
        for entry in entries
        for value in (allowed(entry), entry.observed.epsilon, _proved(entry))
        if math.isfinite(value)
    ]
    end = 1.12 * max([*values, 0.1])
    several = len({(e.name, e.variant) for e in entries}) > 1

    def paint(axes: Axes) -> None:
        for place, entry in enumerate(reversed(entries)):
            _row(axes, entry, place, end, several)
        axes.set(xlim=(0, end), ylim=(-0.45, len(entries) - 0.15), xlabel="epsilon", yticks=[])
        axes.grid(visible=False, axis="y")

    words = "; ".join(
        f"{e.name} {e.part}: claimed {figure(allowed(e))}, proved "
        f"{'at most ' + figure(_proved(e)) if _proved(e) < math.inf else 'nothing'}, observed at "
        f"least {figure(e.observed.epsilon)}"
        for e in entries
    )
    title = "Claim, proof and observation on one axis"
    size = (_WIDE, 0.55 + 0.55 * len(entries))
    svg = draw(title, words + ".", size, paint, key=key, margins=(0.14, 0.05))
    return Drawing(svg, title, "")


def _proved(entry: AuditEntry) -> float:
    """The proved bound, if it is at the delta of the observation; else nothing is proved there."""
    if entry.proved is None or entry.proved.delta > entry.observed.delta:
        return math.inf
    return entry.proved.epsilon


def _row(axes: Axes, entry: AuditEntry, place: int, end: float, several: bool) -> None:
    claimed, proved = allowed(entry), _proved(entry)
    seen = min(entry.observed.epsilon, end)
    low, high = place - 0.17, place + 0.17
    axes.fill_between([claimed, end], low, high, color=INK["violated"], alpha=0.14, linewidth=0)
    axes.fill_between(
        [seen, min(proved, end)],
        place - 0.07,
        place + 0.07,
        color=INK["muted"],
        alpha=0.5,
        linewidth=0,
    )
    axes.plot([claimed, claimed], [low, high], color=INK["claim"], linewidth=2.4)
    axes.plot([seen], [place], ">", color=INK["observed"], markersize=6.5, clip_on=False)
    if proved < math.inf:
        axes.plot([proved], [place], "<", color=INK["proved"], markersize=6.5)
    name = f"{entry.name} {entry.part}" if several else entry.part
    name = name if len(name) <= 28 else name[:27] + "…"
    if entry.observed.delta != entry.claim.budget.delta:
        name += f", at δ = {entry.observed.delta:.3g}"
    axes.text(
        0,
        place + 0.29,
        f"{name}: {entry.verdict}",
        color=INK[entry.verdict],
        weight="bold",
        parse_math=False,
    )


def _sides(axes: Axes, shown: Histogram, runs: int) -> None:
    styles = (("first", "D", "-", shown.first), ("second", "D′", (0, (4, 2)), shown.second))
    for name, label, dashes, counts in styles:
        heights = [count / runs for count in counts]
        axes.stairs(heights, shown.edges, fill=True, color=INK[name], alpha=0.22)
        axes.stairs(
            heights,
            shown.edges,
            color=INK[name],
            linewidth=1.6,
            linestyle=dashes,
            label=f"runs on {label}",
        )
    axes.set_ylim(bottom=0)
    axes.set_ylabel("share of runs")


def _legend(axes: Axes, columns: int = 3) -> None:
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.04, 1.0),
        ncols=columns,
        borderaxespad=0.2,
        handlelength=1.9,
        columnspacing=0.9,
        handletextpad=0.5,
    )


def losses(entry: AuditEntry, seen: RunEvidence, key: str) -> Drawing:
    """The privacy-loss distribution of both sides, and the claim's lines."""
    shown, claim = seen.losses, entry.claim.budget
    proved, witnessed = _proved(entry), _witnessed(entry)
    marks = [value for value in (proved, witnessed) if value is not None and math.isfinite(value)]
    reach = max([shown.edges[-1], *(1.08 * value for value in marks)])

    def paint(axes: Axes) -> None:
        _sides(axes, shown, seen.runs)
        for sign in (-1, 1):
            axes.axvline(
                sign * claim.epsilon,
                color=INK["claim"],
                linewidth=1.8,
                label="claimed ±ε" if sign > 0 else None,
            )
            if claim.delta == 0:  # otherwise a few outputs may lie beyond
                axes.axvspan(
                    sign * claim.epsilon,
                    sign * reach,
                    color=INK["violated"],
                    alpha=0.1,
                    linewidth=0,
                )
        if proved < math.inf:
            for sign in (-1, 1):
                axes.axvline(
                    sign * proved,
                    color=INK["proved"],
                    linewidth=1.6,
                    linestyle=(0, (5, 2)),
                    label="proved ±ε" if sign > 0 else None,
                )
        if witnessed is not None and math.isfinite(witnessed):
            axes.axvline(
                witnessed,
                color=INK["observed"],
                linewidth=2,
                linestyle=(0, (1, 1)),
                label="observed",
            )
        axes.set(xlim=(-reach, reach), xlabel=f"{shown.quantity} of an output")
        _legend(axes)

    beyond = [_beyond(shown, claim.epsilon, side) / seen.runs for side in (0, 1)]
    excused = f"; with delta {claim.delta:.3g} a few may" if claim.delta else ""
    words = (
        f"Histogram of {seen.runs:,} runs a side. Share of runs whose loss lies in a bin beyond the "
        f"claimed {figure(claim.epsilon)}: {beyond[0]:.3g} on D, {beyond[1]:.3g} on D'{excused}."
    )
    how = (
        "Computed from the mechanism's density at every output."
        if seen.exact
        else f"Estimated, so with some noise: how often outputs of a similar score occurred on each "
        f"side, in {seen.pilot_runs:,} other runs a side."
    )
    outside = sum(shown.below) + sum(shown.above)
    rest = f" {outside:,} runs lie outside the axis." if outside else ""
    if seen.exact and entry.witness is not None and entry.witness.get("pair") == seen.pair:
        rest += (
            " The line “observed” is the loss of the counterexample’s output, however rare that is."
        )
    caption = (
        f"log p(output | D) − log p(output | D′) over {seen.runs:,} runs a side, "
        f"pair “{seen.pair}”. {how}{rest}"
    )
    title = f"{shown.quantity.capitalize()} of {entry.part}"
    svg = draw(title, words, (_WIDE, _HIGH + 0.25), paint, key=key, margins=(0.62, 0.55))
    return Drawing(svg, title, caption)


def _witnessed(entry: AuditEntry) -> float | None:
    """The loss the counterexample proves, else the epsilon that was observed."""
    loss = None if entry.witness is None else entry.witness.get("loss")
    if isinstance(loss, float) and entry.witness and entry.witness.get("pair"):
        return loss
    return entry.observed.epsilon or None


def _beyond(shown: Histogram, epsilon: float, side: int) -> int:
    """Runs in bins wholly beyond the claim, and outside the axis."""
    counts = (shown.first, shown.second)[side]
    inside = sum(
        count
        for count, left, right in zip(counts, shown.edges, shown.edges[1:], strict=False)
        if left >= epsilon or right <= -epsilon
    )
    return inside + shown.below[side] + shown.above[side]


def tradeoff(entry: AuditEntry, seen: RunEvidence, key: str) -> Drawing:
    """What an attacker achieves, with its band, against the claimed trade-off function."""
    curve = seen.curve

    def paint(axes: Axes) -> None:
        axes.plot(
            [0, 1],
            [1, 0],
            color=INK["muted"],
            linewidth=1,
            linestyle=(0, (1, 2)),
            label="no information",
        )
        _band(axes, curve.lower, curve.upper)
        axes.plot(*_xy(curve.estimate), color=INK["first"], linewidth=1.8, label="measured")
        if seen.claimed:
            x, y = _xy(seen.claimed)
            axes.fill_between(x, 0, y, color=INK["violated"], alpha=0.1, linewidth=0)
            axes.plot(
                x, y, color=INK["claim"], linewidth=1.8, linestyle=(0, (5, 2)), label="claimed f"
            )
        ticks = [0, 0.25, 0.5, 0.75, 1]
        axes.set(
            xlim=(0, 1),
            ylim=(0, 1),
            xlabel="false-positive rate",
            ylabel="false-negative rate",
            xticks=ticks,
            yticks=ticks,
        )
        _legend(axes)

    broken = _below(curve.upper, seen.claimed)
    word = "goes below" if broken else "stays above"
    words = (
        f"The measured curve of {seen.runs:,} runs a side; the upper edge of its "
        f"{curve.confidence:.6g} confidence band {word} the claimed function."
    )
    caption = (
        f"The closer to the corner, the more an attacker learns; below the claimed f no attack may "
        f"come. Band: {curve.method}, confidence {curve.confidence:.6g} for the whole curve "
        f"({curve.thresholds} {'epsilons' if seen.exact else 'thresholds of ' + seen.score}). The "
        "verdict does not use it."
    )
    if entry.verdict is Verdict.VIOLATED and seen.exact and not broken:
        caption += (
            " Outputs that occur often stay within the claim here; the counterexample is an output "
            "that occurs rarely, and a claim without delta allows none."
        )
    title = f"Trade-off curve of {entry.part}"
    return Drawing(draw(title, words, (_WIDE, _HIGH), paint, key=key), title, caption)


def _xy(points: Points) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _band(axes: Axes, lower: Points, upper: Points) -> None:
    outline = [*lower, *reversed(upper)]
    axes.fill(*_xy(tuple(outline)), color=INK["first"], alpha=0.22, linewidth=0)


def _below(upper: Points, claimed: Points) -> bool:
    """Whether some point of `upper` lies below the claimed function."""
    import numpy as np

    if not claimed:
        return False
    x, y = _xy(upper)
    return bool(np.any(np.asarray(y) < np.interp(x, *_xy(claimed)) - 1e-12))


def scores(entry: AuditEntry, seen: RunEvidence, key: str) -> Drawing | None:
    """What the distinguisher looked at, and the event it tested."""
    shown, threshold = seen.scores, seen.threshold
    if shown is None or threshold is None:
        return None
    low, high = shown.edges[0], shown.edges[-1]

    def paint(axes: Axes) -> None:
        _sides(axes, shown, seen.runs)
        at = min(max(threshold, low), high)
        axes.axvspan(at, high, color=INK["muted"], alpha=0.16, linewidth=0)
        axes.axvline(at, color=INK["text"], linewidth=1.6, label="tested event")
        axes.set(xlim=(low, high), xlabel="score")
        _legend(axes)

    title = f"What the attack on {entry.part} looks at"
    words = f"Histogram of the score {seen.score} over {seen.runs:,} runs a side; the tested event \
is a score of at least {threshold:.4g}."
    caption = (
        f"Score: {seen.score}, learned on other runs. An attacker who says “D” right of the line "
        f"is the one the claim of {budget(entry.claim.budget.epsilon, entry.claim.budget.delta)} "
        "was tested against."
    )
    return Drawing(draw(title, words, (_WIDE, _HIGH), paint, key=key), title, caption)
