"""Noise that was not followed: what the outputs say if they are additive in the recorded draws.

Three runs on D with different draws and one on D' show, for each output, whether it moved with one
draw in a fixed proportion. That is a guess: code may do something else on other draws. It names the
loss another auditor should look for, and convicts nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpcheck.core.data import Value
from dpcheck.numerics.rounding import Array
from dpcheck.replay.following.values import Affine
from dpcheck.replay.hints import numbers
from dpcheck.replay.laws import Comparison, compare_runs
from dpcheck.replay.losses.parts import epsilon_of
from dpcheck.replay.run import Observer, Run

_CLOSE = 2e-3  # relative; outputs may be float32
MOST = 4000  # outputs or draws


@dataclass(frozen=True, slots=True)
class Guess:
    """The loss on one pair if the outputs are what they seem."""

    comparison: Comparison
    judged: int

    def epsilon(self, delta: float) -> float:
        """What the loss would be, less what the estimate may be off; no proof."""
        return epsilon_of(self.comparison.parts, delta) * (1 - _CLOSE)


def guess(observer: Observer, data: tuple[Value, Value], seed: int) -> Guess | None:
    """Four plain runs; None where the outputs do not look additive."""
    runs = [observer.check(data[0], seed + k) for k in range(3)]
    other = observer.check(data[1], seed)
    if len({run.flat.shape for run in (*runs, other)}) != 1:
        return None
    outputs = [numbers(run) for run in (*runs, other)]
    draws = [np.array(run.recorder.values) for run in (*runs, other)]
    if any(y is None for y in outputs) or len({len(z) for z in draws}) != 1:
        return None
    return _fitted(runs[0], other, [y for y in outputs if y is not None], draws)


def _fitted(first: Run, other: Run, outputs: list[Array], draws: list[Array]) -> Guess | None:
    moved = np.stack([outputs[1] - outputs[0], outputs[2] - outputs[0]])
    drawn = np.stack([draws[1] - draws[0], draws[2] - draws[0]])
    if not 0 < moved.shape[1] <= MOST or not 0 < drawn.shape[1] <= MOST:
        return None
    one: list[Value] = []
    two: list[Value] = []
    for index in range(moved.shape[1]):
        atom = _partner(moved[:, index], drawn)
        if atom is None:
            return None
        scale = float(moved[:, index] @ drawn[:, atom] / (drawn[:, atom] @ drawn[:, atom]))
        for made, run, y, z in (
            (one, first, outputs[0], draws[0]),
            (two, other, outputs[3], draws[3]),
        ):
            base = float(y[index] - scale * z[atom])
            # What float32 and the estimate of the scale may hide.
            slack = 1e-5 * (abs(float(y[index])) + abs(scale * float(z[atom])))
            made.append(Affine(run.recorder, base, {atom: float(f"{scale:.4g}")}, slack))
    ways = first.flat
    seen = Run(first.recorder, replace(ways, scalars=tuple(one)))
    against = Run(other.recorder, replace(ways, scalars=tuple(two)))
    return Guess(compare_runs(seen, against), len(one))


def _partner(moved: Array, drawn: Array) -> int | None:
    """The draw with which an output moved in the same proportion twice."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = moved[:, None] / drawn
    spread = np.abs(ratio[0] - ratio[1])
    size = np.abs(ratio).max(axis=0)
    fits = np.flatnonzero((spread <= _CLOSE * size) & np.isfinite(size) & (size > 0))
    return int(fits[np.argmin(spread[fits] / size[fits])]) if len(fits) else None
