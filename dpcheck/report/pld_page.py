"""The privacy-loss distribution as pictures: one HTML file, or a figure for a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.core.evidence import LossCurve, LossReport, Source
from dpcheck.core.extras import need
from dpcheck.report.drawing import INK, Drawing, draw
from dpcheck.report.palette import DARK, LIGHT, variables
from dpcheck.report.pld import BROKEN, GAP, contradicts
from dpcheck.report.sealing import seal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TEMPLATES = Path(__file__).parent / "templates"
_SIZE, _MARGINS = (4.2, 3.3), (0.62, 0.5)  # inches; text is readable on a telephone
_FLOOR = 1e-9  # no delta below it is drawn
_ROWS = 8  # points of a curve in its table


@dataclass(frozen=True, slots=True)
class Curve:
    """One section of the page."""

    id: str
    heading: str
    source: str
    sentences: list[str]
    drawings: list[Drawing]
    rows: list[tuple[str, str, str]]


def write(report: LossReport, path: Path) -> None:
    """An HTML page, or the bare figure where the name ends otherwise."""
    if path.suffix.lower() in (".html", ".htm"):
        path.write_text(as_html(report), encoding="utf-8")
    else:
        figure(report, path)


def as_html(report: LossReport) -> str:
    """The whole file. It loads nothing, follows light and dark themes, and prints."""
    need("jinja2", "report")
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    claims = _claims(report)
    curves = [
        _curve(entry, *claims[entry.part], f"curve-{index}")
        for index, entry in enumerate(report.entries)
    ]
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    page = environment.get_template("pld.html").render(
        target=report.target,
        variant=report.variant,
        curves=curves,
        gap=GAP if any(e.source is not Source.REVEALED for e in report.entries) else "",
        confidence=f"{report.confidence:g}",
        seed=report.seed,
        light=variables(LIGHT),
        dark=variables(DARK),
    )
    return seal(page)


def _claims(report: LossReport) -> dict[str, tuple[float, float]]:
    return {part: (epsilon, delta) for part, epsilon, delta in report.claims}


def _curve(entry: LossCurve, epsilon: float, delta: float, key: str) -> Curve:
    said = f"epsilon {epsilon:g}" + (f", delta {delta:g}" if delta else "")
    beyond = sum(loss > epsilon for loss in entry.losses) / len(entry.losses)
    sentences = [
        f"Claimed: {said}. {beyond:.2%} of {len(entry.losses):,} runs lose more than {epsilon:g}."
    ]
    widths = entry.widths()
    if widths:
        told = ", ".join(f"{width:.1%} at delta {at:g}" for at, width in widths.items())
        sentences.append(f"Half-width of the band: {told}.")
    sentences += [f"{note[:1].upper()}{note[1:]}." for note in entry.notes]
    if contradicts(entry):
        sentences.append(BROKEN)
    every = max(1, len(entry.curve) // _ROWS)
    shown = [p for i, p in enumerate(entry.curve) if i % every == 0 or p.epsilon == epsilon]
    rows = [
        (
            f"{point.epsilon:.4g}",
            _ends(point.observed),
            "nothing" if point.proved is None else _ends(point.proved),
        )
        for point in shown
    ]
    return Curve(
        key,
        f"{entry.part}: {entry.pair}, {entry.direction}",
        str(entry.source),
        sentences,
        _drawings(entry, (epsilon, delta), key),
        rows,
    )


def _ends(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.3g} to {interval[1]:.3g}"


def _drawings(entry: LossCurve, claim: tuple[float, float], key: str) -> list[Drawing]:
    below = sum(loss <= claim[0] for loss in entry.losses) / len(entry.losses)
    title = "How much single runs lose"
    words = f"Distribution function of the loss; {below:.3g} of the runs lose at most the claim."
    first = draw(
        title,
        words,
        _SIZE,
        lambda axes: _losses(axes, entry, claim[0], INK),
        key=f"{key}-losses",
        margins=_MARGINS,
    )
    start = entry.curve[0]
    words = f"At epsilon {start.epsilon:.3g} the pair has delta {_ends(start.observed)}" + (
        "." if start.proved is None else f", proved {_ends(start.proved)}."
    )
    second = draw(
        "delta by epsilon",
        words,
        _SIZE,
        lambda axes: _deltas(axes, entry, claim, INK),
        key=f"{key}-deltas",
        margins=_MARGINS,
    )
    caption = "The band is this pair\u2019s. The worst pair there is lies between the green lines."
    if entry.curve[0].proved is None:
        caption = "The band is this pair\u2019s. Nothing is proved about this code."
    return [
        Drawing(first, title, "Share of runs that lose at most so much."),
        Drawing(second, "delta by epsilon", caption),
    ]


def figure(report: LossReport, path: Path) -> None:
    """Losses and delta(epsilon) of every curve, as a .png, .svg or .pdf file."""
    from matplotlib.figure import Figure

    rows = len(report.entries)
    canvas = Figure(figsize=(9, 3.2 * rows), layout="constrained")
    claims = _claims(report)
    every = canvas.subplots(rows, 2, squeeze=False)
    for (left, right), entry in zip(every, report.entries, strict=True):
        claim = claims[entry.part]
        _losses(left, entry, claim[0], LIGHT)
        left.set_title(f"{entry.part}: {entry.pair}, {entry.direction}", fontsize=8, y=1.1)
        _deltas(right, entry, claim, LIGHT)
    canvas.savefig(path)


def _losses(axes: Axes, entry: LossCurve, claim: float, ink: Mapping[str, str]) -> None:
    finite = sorted(loss for loss in entry.losses if math.isfinite(loss))
    if finite:
        shares = [(place + 1) / len(entry.losses) for place in range(len(finite))]
        axes.step(finite, shares, where="post", color=ink["first"], linewidth=1.8)
    else:
        axes.text(0.5, 0.5, "every run: infinite loss", ha="center", transform=axes.transAxes)
    axes.axvline(claim, color=ink["claim"], linewidth=1.6, label="claim")
    axes.set(xlabel="privacy loss", ylabel="share of runs", ylim=(0, 1.02))
    _legend(axes)


def _deltas(
    axes: Axes, entry: LossCurve, claim: tuple[float, float], ink: Mapping[str, str]
) -> None:
    x = [point.epsilon for point in entry.curve]
    low, high = ([_shown(point.observed[end]) for point in entry.curve] for end in (0, 1))
    floors = [_FLOOR if math.isnan(value) else value for value in low]
    axes.fill_between(x, floors, high, color=ink["first"], alpha=0.35, linewidth=0)
    axes.plot(x, high, color=ink["first"], linewidth=1.2, label="this pair")
    axes.plot(x, low, color=ink["first"], linewidth=1.2)
    proved = [(p.epsilon, p.proved) for p in entry.curve if p.proved is not None]
    if proved:
        for end, style, name in ((1, "-", "proved: at most"), (0, (0, (1, 1.2)), "at least")):
            side = [_shown(ends[end]) for _, ends in proved]
            axes.plot(
                [e for e, _ in proved],
                side,
                linestyle=style,
                color=ink["proved"],
                linewidth=1.6,
                label=name,
            )
    # The claim forbids what lies right of the upright line and above the level one.
    epsilon, delta = claim
    axes.plot(
        [epsilon, epsilon],
        [max(_FLOOR, delta), 1.5],
        color=ink["claim"],
        linewidth=1.6,
        label="claim",
    )
    if delta:
        axes.plot([epsilon, max(x[-1], epsilon)], [delta, delta], color=ink["claim"], linewidth=1.6)
    axes.set(yscale="log", ylim=(_FLOOR, 1.5), xlabel="epsilon", ylabel="delta")
    _legend(axes)


def _shown(delta: float) -> float:
    """What is below the picture is not drawn along its edge."""
    return delta if delta >= _FLOOR else math.nan


def _legend(axes: Axes) -> None:
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.16, 1.0),
        ncols=4,
        frameon=False,
        fontsize=8.5,
        borderaxespad=0.2,
        handlelength=1.5,
        columnspacing=0.8,
        handletextpad=0.4,
    )
