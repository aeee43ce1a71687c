"""The half-line of a single noisy number that tells D from D' soonest, with its exact probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.following.values import Affine
from dpcheck.replay.losses.families import ABOVE, BELOW
from dpcheck.replay.losses.lines import Law, law_of
from dpcheck.replay.run import Run

_STEPS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0)  # from the centers, in scales


@dataclass(frozen=True, slots=True)
class HalfLine:
    """Numbers of at least, or at most, `cut`, and how likely they are on D and on D'."""

    above: bool
    cut: float
    first: float
    second: float

    def worth(self, epsilon: float, delta: float) -> float:
        """Evidence against a claim of one call on a side that a coin picks, in nats; 0 where none grows."""
        likelier, other = max(self.first, self.second), min(self.first, self.second)
        total = likelier + other
        if total <= 0:
            return 0.0
        share = (likelier - delta) / total  # of the hits, those on the likelier side
        allowed = 1 / (1 + math.exp(-min(epsilon, 700.0)))
        if share <= allowed:
            return 0.0
        told = share * math.log(share / allowed)
        if share < 1:
            told += (1 - share) * math.log((1 - share) / (1 - allowed))
        return total / 2 * told


def half_line_of(first: Run, second: Run, epsilon: float, delta: float) -> HalfLine | None:
    """The best half-line against a claim; None unless the output is one number with noise on both sides."""
    laws = [_law(run) for run in (first, second)]
    if laws[0] is None or laws[1] is None or first.flat.shape != second.flat.shape:
        return None
    one, other = laws[0], laws[1]
    cuts = {
        float(f"{law.center + sign * step * law.scale:.12g}")
        for law in (one, other)
        for step in _STEPS
        for sign in (-1, 1)
    }
    lines = [
        HalfLine(above, cut, _mass(one, cut, above=above), _mass(other, cut, above=above))
        for cut in sorted(cuts)
        for above in (True, False)
    ]
    best = max(lines, key=lambda line: line.worth(epsilon, delta))
    return best if best.worth(epsilon, delta) > 0 else None


def _law(run: Run) -> Law | None:
    if run.recorder.decisions or run.flat.ways != ("",):
        return None  # on another path it may be another number
    value: Value = run.flat.scalars[0]
    return law_of(value, run.recorder.atoms) if isinstance(value, Affine) else None


def _mass(law: Law, cut: float, *, above: bool) -> float:
    side = ABOVE if above else BELOW
    return float(side[law.family](np.asarray((cut - law.center) / law.scale)))
