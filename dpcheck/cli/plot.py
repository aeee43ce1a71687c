"""Figures as one SVG, PNG or PDF file: epsilon against delta, and a ledger's spending over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.accounting.api import delta as spent_delta
from dpcheck.accounting.api import epsilon
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import UsageError
from dpcheck.core.events.event import Event
from dpcheck.core.extras import need
from dpcheck.ledger.timeline import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DELTAS = np.geomspace(1e-12, 1e-1, 34)


def draw_curve(event: Event, adjacency: Adjacency, delta: float, title: str, path: Path) -> None:
    """Write the curve to `path`; the asked-for delta is marked."""
    _check_suffix(path)
    need("matplotlib", "report")
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    bounds = [epsilon(event, delta=d, adjacency=adjacency) for d in _DELTAS]
    renyi = [
        epsilon(event, delta=d, adjacency=adjacency, method="rdp-optimal").upper for d in _DELTAS
    ]
    lower = np.array([bound.lower for bound in bounds])
    upper = np.array([bound.upper for bound in bounds])
    figure, (axes, below) = plt.subplots(2, 1, figsize=(7, 7.4), layout="constrained")
    finite = np.isfinite(upper)
    if not finite.any():
        plt.close(figure)
        raise UsageError("no accountant proves a finite epsilon for this event; nothing to plot.")
    axes.plot(_DELTAS, renyi, color="#b35900", linestyle="--", label="RDP, optimal conversion")
    axes.plot(_DELTAS[finite], upper[finite], color="#0b5394", label="proved upper bound")
    axes.plot(
        _DELTAS[finite], lower[finite], color="#38761d", linestyle=":", label="proved lower bound"
    )
    axes.fill_between(_DELTAS[finite], lower[finite], upper[finite], color="#0b5394", alpha=0.15)
    if delta > 0:
        mark = epsilon(event, delta=delta, adjacency=adjacency).upper
        if math.isfinite(mark):
            axes.plot([delta], [mark], "o", color="#0b5394")
            axes.annotate(
                f"({mark:.4g}, {delta:g})",
                (delta, mark),
                xytext=(-8, -14),
                textcoords="offset points",
                horizontalalignment="right",
            )
    axes.set(xscale="log", xlabel="delta", ylabel="epsilon", ylim=(0, None))
    axes.set_title(f"{title}\n{adjacency}", fontsize=10)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    mark = epsilon(event, delta=delta, adjacency=adjacency).upper
    _draw_losses(below, event, adjacency, mark if math.isfinite(mark) else upper[finite].max())
    try:
        _save(figure, path)
    finally:
        plt.close(figure)


_LOSSES = 49


def _draw_losses(axes: Axes, event: Event, adjacency: Adjacency, mark: float) -> None:
    """The upper tail of the privacy-loss distribution, from both proved sides of delta(epsilon).

    With delta(e) = E[(1 - exp(e - L))+] under the first of two neighbours, P(L > e) is
    delta(e) - delta'(e); the derivative is taken by differences, so this is a picture, no bound.
    """
    places = np.linspace(0.0, max(1.4 * mark, 0.1), _LOSSES)
    found = [spent_delta(event, epsilon=float(at), adjacency=adjacency) for at in places]
    for name, colour, style in (("upper", "#0b5394", "-"), ("lower", "#38761d", ":")):
        values = np.array([getattr(bound, name) for bound in found])
        share = np.clip(values - np.gradient(values, places), 0.0, 1.0)
        axes.plot(places, share, color=colour, linestyle=style, label=f"from the proved {name} bound")
    axes.axvline(mark, color="#7b2d8b", linestyle="--", label="epsilon at the delta asked for")
    axes.set(xlabel="privacy loss", ylabel="share of outputs that lose more", ylim=(0, None))
    axes.set_title("privacy-loss distribution of the worst pair, upper tail", fontsize=10)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)


def draw_timeline(points: Sequence[Point], budget: Budget, title: str, path: Path) -> None:
    """What each account's odometer read over time, with the budget as a line."""
    _check_suffix(path)
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for name in dict.fromkeys(point.account for point in points):
        own = [p for p in points if p.account == name and math.isfinite(p.epsilon)]
        times = np.array([round(1000 * p.time) for p in own], dtype="datetime64[ms]")
        axes.step(times, [p.epsilon for p in own], where="post", marker=".", label=name)
    axes.axhline(budget.epsilon, color="#b35900", linestyle="--", label="budget")
    axes.set(xlabel="time (UTC)", ylabel=f"epsilon at delta {budget.delta:g}", ylim=(0, None))
    axes.set_title(f"{title}: epsilon spent", fontsize=10)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    figure.autofmt_xdate()
    try:
        _save(figure, path)
    finally:
        plt.close(figure)


def _check_suffix(path: Path) -> None:
    if path.suffix not in (".svg", ".png", ".pdf"):
        raise UsageError(f"--plot writes .svg, .png or .pdf files, not {path.name!r}.")


def _save(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error}.") from None
