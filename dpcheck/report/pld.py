"""The privacy-loss distribution as text, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence

from dpcheck.core.evidence import LossCurve, LossReport, Source

_BARS = "▁▂▃▄▅▆▇█"
GAP = (
    "Where the accountant's upper side lies far above the band, either these pairs are weak or the bound is "
    "loose; its lower side says what some pair attains."
)
BROKEN = "The band lies above what is proved: code and description differ, or dpcheck is wrong."


def as_json(report: LossReport) -> str:
    """Schema dpcheck.pld/1."""
    return json.dumps(report.to_dict(), indent=1)


def as_csv(report: LossReport) -> str:
    """One line per point of a curve."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(
        [
            "part",
            "pair",
            "direction",
            "epsilon",
            "observed_low",
            "observed_high",
            "proved_low",
            "proved_high",
        ]
    )
    for entry in report.entries:
        for point in entry.curve:
            proved = point.proved or ("", "")
            table.writerow(
                [entry.part, entry.pair, entry.direction, point.epsilon, *point.observed, *proved]
            )
    return text.getvalue().rstrip("\n")


def as_text(report: LossReport) -> str:
    """What a terminal shows."""
    lines = [f"privacy loss of {report.target} ({report.variant})"]
    claims = {part: (epsilon, delta) for part, epsilon, delta in report.claims}
    for entry in report.entries:
        epsilon, delta = claims[entry.part]
        said = f"{epsilon:g}" + (f", delta {delta:g}" if delta else "")
        lines += [
            "",
            f"{entry.part}: {entry.pair}, {entry.direction} (claim: epsilon {said})",
            f"  {entry.source}",
        ]
        lines += _histogram(entry, epsilon)
        lines += _table(entry, epsilon)
        widths = entry.widths()
        if widths:
            told = ", ".join(f"{width:.1%} at delta {d:g}" for d, width in widths.items())
            lines.append(f"  half-width of the band: {told}")
        lines += [f"  note: {note}" for note in entry.notes]
        if contradicts(entry):
            lines.append(f"  {BROKEN}")
    lines += ["", f"All bands together: confidence {report.confidence:g}, seed {report.seed}."]
    if any(entry.source is not Source.REVEALED for entry in report.entries):
        lines.append(GAP)
    return "\n".join(lines)


def contradicts(entry: LossCurve) -> bool:
    """Whether something observed lies above what is proved."""
    return any(p.proved is not None and p.observed[0] > p.proved[1] for p in entry.curve)


def _histogram(entry: LossCurve, claim: float) -> list[str]:
    finite = [loss for loss in entry.losses if math.isfinite(loss)]
    if not finite:
        return ["  every run: infinite loss"]
    low, high = min(finite), max(finite)
    width = (high - low) / 40 or 1.0
    counts = [0] * 40
    for loss in finite:
        counts[min(39, int((loss - low) / width))] += 1
    beyond = sum(loss > claim for loss in entry.losses) / len(entry.losses)
    return [
        f"  losses {low:+.3g} {_bars(counts)} {high:+.3g}   beyond the claim: {beyond:.2%} of "
        f"{len(entry.losses):,} runs"
    ]


def _bars(counts: Sequence[int]) -> str:
    top = max(counts)
    return "".join(" " if not n else _BARS[min(7, int(8 * n / (top + 1)))] for n in counts)


def _table(entry: LossCurve, claim: float) -> list[str]:
    wanted = sorted({0, *range(0, len(entry.curve), max(1, len(entry.curve) // 6))})
    at_claim = [i for i, p in enumerate(entry.curve) if p.epsilon == claim]
    lines = ["  epsilon      delta of this pair           proved for all pairs"]
    for index in sorted({*wanted, *at_claim}):
        point = entry.curve[index]
        mark = "  <- the claim" if index in at_claim else ""
        proved = "nothing" if point.proved is None else _interval(point.proved)
        lines.append(f"  {point.epsilon:<10.4g} {_interval(point.observed):<28} {proved}{mark}")
    return lines


def _interval(ends: tuple[float, float]) -> str:
    return f"[{ends[0]:.3g}, {ends[1]:.3g}]"
