"""What was seen, small enough to keep: histograms, curves with their bands, an error budget.

Nothing here decides a verdict. It is what a report draws, and its size does not grow with the
number of runs. Everything is plain and finite, so `dataclasses.asdict` is its JSON.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from dpcheck.core.method import Method

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of one number over the runs of both sides.

    `first[i]` runs on D and `second[i]` on D' fell into [edges[i], edges[i+1]); `below` and `above`
    count what lies outside, infinities included, each as (on D, on D').
    """

    quantity: str
    edges: tuple[float, ...]
    first: tuple[int, ...]
    second: tuple[int, ...]
    below: tuple[int, int] = (0, 0)
    above: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class TradeoffBand:
    """The trade-off of thresholding a score: an estimate, and a band around the whole curve.

    Points are (false-positive rate, false-negative rate). `upper` is what an attacker achieves at
    least, `lower` the best that the noise of the runs could hide; with probability `confidence` the
    true curve is between them everywhere.
    """

    estimate: Points
    lower: Points
    upper: Points
    confidence: float
    method: str
    thresholds: int


@dataclass(frozen=True, slots=True)
class Spent:
    """One line of the error budget: a test, its share of the command's error rate, and over what."""

    test: Method
    share: float
    over: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """Both sides of one pair, seen through one score, on runs nothing else was decided with.

    D is the side under which large scores are likelier; `swapped` says that it is the second
    dataset of the pair. `exact` says whether the losses are known from densities or estimated from how
    often scores occurred in `pilot_runs` other runs a side.
    """

    pair: str
    swapped: bool
    score: str
    exact: bool
    runs: int
    pilot_runs: int
    losses: Histogram
    curve: TradeoffBand
    scores: Histogram | None = None
    threshold: float | None = None  # of the tested event, on the axis of `scores`
    claimed: Points = ()
    claimed_method: str = ""


# The privacy loss of a pair as it was measured, beside what the accountant proves of it -----------------

PLD_SCHEMA = "dpcheck.pld/1"
Interval: TypeAlias = tuple[float, float]
SHOWN = (1e-2, 1e-4, 1e-6)  # deltas whose relative width is stated


class Source(StrEnum):
    """Where losses come from, in the words of a report."""

    DENSITY = "exact losses of runs of the real code"
    LAW = "the exact law of the release, its noise followed through the code"
    TRANSCRIPTS = "exact losses of transcripts drawn from the law of the real step"
    REVEALED = "an output that tells the two datasets apart for certain"
    SCORE = "a score learned on other runs: a lower side only"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """delta at one epsilon: of this pair, as measured, and of any pair, as proved."""

    epsilon: float
    observed: Interval
    proved: Interval | None


@dataclass(frozen=True, slots=True)
class LossCurve:
    """One pair in one direction: losses of single runs and delta(epsilon) with its band.

    `direction` is "D to D'" or back: whose runs they are, and against what they are weighed. All `observed`
    intervals of a report hold together with its confidence.
    """

    part: str
    pair: str
    direction: str
    source: Source
    losses: tuple[float, ...]
    curve: tuple[CurvePoint, ...]
    notes: tuple[str, ...] = ()

    def widths(self) -> dict[float, float]:
        """Relative half-width of the band where delta is nearest to each of SHOWN, within a factor of 3."""
        found = {}
        for wanted in SHOWN:
            near = [
                (abs(math.log(math.sqrt(low * high) / wanted)), (high - low) / (high + low))
                for low, high in (point.observed for point in self.curve)
                if low > 0 and high < 1
            ]
            if near and min(near)[0] <= math.log(3):
                found[wanted] = min(near)[1]
        return found

    def to_dict(self) -> dict[str, object]:
        """As in the schema."""
        return {
            "part": self.part,
            "pair": self.pair,
            "direction": self.direction,
            "source": str(self.source),
            "losses": [_number(value) for value in self.losses],
            "curve": [
                {
                    "epsilon": point.epsilon,
                    "observed": list(point.observed),
                    "proved": None if point.proved is None else list(point.proved),
                }
                for point in self.curve
            ],
            "widths": {f"{delta:g}": width for delta, width in self.widths().items()},
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class LossReport:
    """All curves of one command."""

    target: str
    variant: str
    claims: tuple[tuple[str, float, float], ...]  # part, epsilon, delta
    entries: tuple[LossCurve, ...]
    seed: int
    confidence: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """As in the schema."""
        return {
            "schema": PLD_SCHEMA,
            "target": self.target,
            "variant": self.variant,
            "seed": self.seed,
            "confidence": self.confidence,
            "claims": [
                {"part": part, "epsilon": epsilon, "delta": delta}
                for part, epsilon, delta in self.claims
            ],
            "parts": [entry.to_dict() for entry in self.entries],
            "notes": list(self.notes),
        }


def _number(value: float) -> float | str:
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value
