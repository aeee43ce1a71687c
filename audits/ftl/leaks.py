"""The leaks of the protocol, part by part: two neighbours, one event that tells them apart for sure.

Each search runs the real protocol on neighbouring data. Given both parties' starting weights a view is
a deterministic function of the data (masks are the receiver's own or hide nothing it is shown), so
two different views have disjoint supports: epsilon is infinite for every delta below 1. Where it
can, a search also names an event that has probability 1 on one side and 0 on the other whatever the
other party's secret weights are, and tries it on fresh ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.ftl.rebuild import (
    Finding,
    Rebuilt,
    copied_score,
    copy_in_a,
    copy_in_b,
    copy_in_folds,
    labels_agree,
    nothing_rebuilt,
    predicted,
    rebuild_a,
    rebuild_a_in_folds,
    rebuild_b,
    rebuild_b_in_folds,
    rebuild_from_scores,
    score_in_folds,
    weights_seed,
)
from dpcheck.audits.ftl.scenario import Scenario, largest
from dpcheck.core.data import Plain
from dpcheck.core.evidence import Source
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.mechanisms.federated.protocol.autoencoder import Array
from dpcheck.mechanisms.federated.protocol.messages import Party
from dpcheck.mechanisms.ftl import FederatedTransfer, Federation

STARTS = 10  # fresh starting weights a side
_SAME, _OTHER = 1e-9, 1e-6  # rounding stays below the first, other rows are above the second


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two federations that differ in one row, and what to call the difference."""

    first: Federation
    second: Federation
    label: str


@dataclass(frozen=True, slots=True)
class Leak:
    """How one part is attacked. All functions take a finished run of the real protocol."""

    pair: Callable[[Scenario, np.random.Generator], Neighbours]
    run: Callable[[Scenario, Federation, int], FederatedTransfer]
    view: Callable[[FederatedTransfer], list[Array]]  # everything the party can read
    shown: str  # what the two witnesses are
    gap: Callable[[Scenario, FederatedTransfer], float | None]  # 0 on the first side for sure
    event: str  # the event "gap is 0" in words
    rebuild: Callable[[Scenario, Federation, Runner], Rebuilt]


@dataclass(frozen=True, slots=True)
class LeakLaw:
    """The loss of the protocol: infinite where two runs of it tell the datasets apart, else nothing."""

    search: LeakSearch
    label: str = "one row of the other party replaced"
    source: Source = Source.REVEALED

    def draw(self, backwards: bool, size: int, rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: ARG002
        """The same in both directions: the two views never occur on the same data."""
        runner = Runner(int(rng.integers(1 << 31)))
        return np.full(size, self.search.find(runner)[0])


@dataclass(frozen=True, slots=True)
class LeakSearch:
    """Runs one leak; `find` gives infinity and the two views, or 0 if they do not differ."""

    leak: Leak
    scenario: Scenario
    delta: float
    header: Mapping[str, Plain]

    @property
    def detectable(self) -> None:
        """Everything above the claim."""
        return

    def find(self, runner: Runner) -> tuple[float, Witness]:
        """(certified lower bound on epsilon, witness)."""
        leak, scenario = self.leak, self.scenario
        pair = leak.pair(scenario, generator(runner.seeds("data", 0)))
        seed = weights_seed(runner)
        views = [
            leak.view(leak.run(scenario, data, seed))
            for data in (pair.first, pair.first, pair.second)
        ]
        repeated, moved = _distance(views[0], views[1]), _distance(views[0], views[2])
        starts = self._starts(pair, generator(runner.seeds("starts", 0)))
        found = repeated == 0 and moved > _OTHER
        if starts is not None:
            found = found and starts["separated"]
        epsilon = math.inf if found else 0.0
        rebuilt = leak.rebuild(scenario, pair.second, runner)
        figures: Finding = {
            **self.header,
            "epsilon": "inf" if found else 0.0,
            "epsilon_claimed_by_the_paper": "none",
            "neighbours": pair.label,
            **rebuilt.lines,
            "why_infinite": (
                "given both parties' starting weights the view is a function of the data, the "
                "receiver's masks included: two views that differ never occur on the same data"
            ),
            "same_data_twice_differs_by": repeated,
            "neighbours_differ_by": moved,
            "starting_weights_unknown": starts,
            leak.shown + "_first": views[0][0].tolist(),
            leak.shown + "_second": views[2][0].tolist(),
            "figures": rebuilt.figures,
        }
        return epsilon, Witness(WitnessKind.TWO_TRANSCRIPTS, figures)

    def _starts(self, pair: Neighbours, rng: np.random.Generator) -> Finding | None:
        """The event on fresh weights of both parties, which the attacker need not know."""
        gaps: tuple[list[float], list[float]] = ([], [])
        for side, data in zip(gaps, (pair.first, pair.second), strict=True):
            for seed in rng.integers(2**31, size=STARTS):
                run = self.leak.run(self.scenario, data, int(seed))
                gap = self.leak.gap(self.scenario, run)
                if gap is None:
                    return None
                side.append(gap)
        return {
            "event": self.leak.event,
            "largest_gap_first": max(gaps[0]),
            "smallest_gap_second": min(gaps[1]),
            "starts": STARTS,
            "separated": max(gaps[0]) <= _SAME and min(gaps[1]) >= _OTHER,
        }


def _distance(first: list[Array], second: list[Array]) -> float:
    return max(largest(a - b) for a, b in zip(first, second, strict=True))


def _seen(party: Party, *names: str) -> Callable[[FederatedTransfer], list[Array]]:
    return lambda run: [value for name in names for value in run.transcript_.view(party, name)]


def _copied_in_b(scenario: Scenario, rng: np.random.Generator) -> Neighbours:
    return Neighbours(*scenario.pair_in_b(rng), "row 1 of B is a copy of row 0, or another row")


def _copied_in_a(scenario: Scenario, rng: np.random.Generator) -> Neighbours:
    last = scenario.common - 1
    return Neighbours(
        *scenario.pair_in_a(rng), f"row {last} of A is a copy of row {last - 1}, or another row"
    )


def _majority(scenario: Scenario, rng: np.random.Generator) -> Neighbours:
    return Neighbours(
        *scenario.majority_pair(rng), "A's rows are all alike; one label decides the majority"
    )


LEAKS = {
    "a sees b: training": Leak(
        _copied_in_b,
        Scenario.fitted,
        _seen("a", "gradient", "loss"),
        "gradient",
        copy_in_b,
        "rows 0 and 1 of u^B, solved from A's first gradient, are the same",
        rebuild_b,
    ),
    "b sees a: training": Leak(
        _copied_in_a,
        Scenario.fitted,
        _seen("b", "gradient", "loss"),
        "gradient",
        copy_in_a,
        "what A added to B's last two common rows, solved from B's first gradient, is the same",
        rebuild_a,
    ),
    "a sees b: prediction": Leak(
        _copied_in_b,
        predicted,
        _seen("a", "scores"),
        "scores",
        copied_score,
        "rows 0 and 1 of B get the same score",
        rebuild_from_scores,
    ),
    "b sees a: prediction": Leak(
        _majority,
        predicted,
        _seen("b", "labels"),
        "labels",
        labels_agree,
        "every row of B is labelled +1",
        nothing_rebuilt,
    ),
    "a sees b: cross-validation": Leak(
        _copied_in_b,
        Scenario.validated,
        _seen("a", "gradient", "loss", "scores"),
        "gradient",
        score_in_folds,
        "rows 0 and 1 of B get the same score in every fold",
        rebuild_b_in_folds,
    ),
    "b sees a: cross-validation": Leak(
        _copied_in_a,
        Scenario.validated,
        _seen("b", "gradient", "loss"),
        "gradient",
        copy_in_folds,
        "what A added to B's last two common rows is the same",
        rebuild_a_in_folds,
    ),
}
