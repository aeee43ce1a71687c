"""Figures as one SVG, PNG or PDF file: epsilon against delta, and a ledger's spending over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcheck.accounting.api import epsilon
from dpcheck.accounting.explain import FACTORS, Explanation
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import UsageError, reason
from dpcheck.core.events.event import Event
from dpcheck.core.extras import need
from dpcheck.ledger.timeline import Point

if TYPE_CHECKING:
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
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
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
    try:
        _save(figure, path)
    finally:
        plt.close(figure)


def draw_explanation(
    why: Explanation,
    law: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    claim: float | None,
    title: str,
    path: Path,
) -> None:
    """The privacy-loss distribution with the bounds and a claim, and epsilon as parameters move."""
    _check_suffix(path)
    need("matplotlib", "report")
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    upper, lower = why.bound.upper, why.bound.lower
    if law is None:
        left.text(0.5, 0.5, "no distribution of the loss is known", ha="center")
    else:
        losses, density = law
        left.semilogy(losses, np.maximum(density, 1e-300), color="#0b5394", linewidth=1)
        left.set_ylim(max(float(density.max()) * 1e-12, 1e-290), float(density.max()) * 3)
        beyond = losses >= upper
        left.fill_between(
            losses[beyond], 1e-300, np.maximum(density[beyond], 1e-300), color="#0b5394", alpha=0.2
        )
    if math.isfinite(upper):
        left.axvspan(lower, upper, color="#38761d", alpha=0.3)
        left.axvline(upper, color="#38761d", label=f"proved: [{lower:.5g}, {upper:.5g}]")
    if claim is not None:
        left.axvline(claim, color="#b35900", linestyle="--", label=f"claimed: {claim:g}")
    left.set(xlabel="privacy loss", ylabel="density (log scale)")
    left.set_title("the privacy loss", fontsize=10)
    figure.suptitle(f"{title}\n{why.bound.adjacency}, delta {why.delta:g}", fontsize=10)
    left.legend(frameon=False)
    for name, values in why.moves:
        pairs = sorted([*zip(FACTORS, values, strict=True), (1.0, upper)])
        shown = [(factor, value) for factor, value in pairs if math.isfinite(value)]
        right.plot([f for f, _ in shown], [v for _, v in shown], marker="o", label=name)
    right.set(xscale="log", ylim=(0, None), xlabel="parameter times", ylabel="epsilon")
    ticks = sorted((*FACTORS, 1.0))
    right.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    right.minorticks_off()
    right.set_title("how epsilon moves", fontsize=10)
    right.grid(visible=True, alpha=0.3)
    right.legend(frameon=False)
    try:
        _save(figure, path)
    finally:
        plt.close(figure)


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
        raise UsageError(f"cannot write {path}: {reason(error)}.") from None
