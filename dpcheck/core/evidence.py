"""What an audit saw, small enough to keep: histograms, a trade-off curve with its band, an error budget.

Nothing here decides a verdict. It is what a report draws, and its size does not grow with the
number of runs. Everything is plain and finite, so `dataclasses.asdict` is its JSON.
"""

from __future__ import annotations

from dataclasses import dataclass

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

    D is the side under which large scores are likelier; `swapped` says that it is the second data
    set of the pair. `exact` says whether the losses are known from densities or estimated from how
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
