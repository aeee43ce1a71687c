"""Differential testing of any accountant against certified bounds.

An accountant says what an event spends. Where it says less than dpcheck's certified *lower* bound it is
wrong, whoever is better at numerics; Hypothesis then shrinks the event to the simplest that shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Protocol

from dpcheck.accounting.api import epsilon, epsilon_lower
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.errors import InvalidEvent, InvalidParameter
from dpcheck.core.events.event import Event, leaves
from dpcheck.core.events.serialize import to_json
from dpcheck.core.extras import need
from dpcheck.core.validate import count, non_negative

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Peer(Protocol):
    """What is asked of an accountant of dp-accounting that has composed an event."""

    def get_epsilon(self, target_delta: float) -> float:
        """Its epsilon at delta."""


# (event, delta, adjacency) -> epsilon; None where the accountant does not know the event.
Accountant = Callable[[Event, float, Adjacency], float | None]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An event on which an accountant is provably wrong: the simplest that was found."""

    event: Event
    delta: float
    adjacency: Adjacency
    reported: float
    certified: Bound

    @property
    def shortfall(self) -> float:
        """By how much what was reported is below what is certainly spent."""
        return self.certified.lower - self.reported

    def __str__(self) -> str:
        return (
            f"{self.event} at delta {self.delta:g} under {self.adjacency}: reported "
            f"{self.reported:.8g}, certainly at least {self.certified.lower:.8g} "
            f"(certified interval [{self.certified.lower:.8g}, {self.certified.upper:.8g}], "
            f"{self.certified.method}); event as JSON: {to_json(self.event)}"
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison saw; `unsupported` events were declined by the accountant."""

    counterexamples: tuple[Counterexample, ...]
    compared: int
    unsupported: int

    def __str__(self) -> str:
        head = f"{self.compared} comparisons, {self.unsupported} events not supported: "
        if not self.counterexamples:
            return head + "never below the certified bound"
        return head + "below it for\n" + "\n".join(f"  {c}" for c in self.counterexamples)


def compare_accountants(
    accountant: Accountant,
    *,
    adjacency: Adjacency | str,
    events: SearchStrategy[Event] | None = None,
    deltas: SearchStrategy[float] | None = None,
    tolerance: float = 1e-6,
    max_examples: int = 80,
    max_shrinks: int = 100,
    seed: int = 0,
) -> Comparison:
    """Search for events whose reported epsilon is below what is certainly spent.

    `accountant(event, delta, adjacency)` returns an epsilon, or None for an event it does not know.
    By default single releases repeated, then long training runs, `max_examples` of each; `events`
    and `deltas` are Hypothesis strategies that replace them. Each finding is shrunk, then events made
    of the same kinds of release are set aside and the search goes on. `tolerance` is relative
    and forgives rounding in the last digits; `max_shrinks` limits the questions asked to simplify one
    finding.

    Guarantee: every counterexample is one: dpcheck's lower bound is a proof. None found proves nothing.
    Assumes: the accountant means by the event what dpcheck means (noise over the norm bound C,
    which replace-one moves by 2C).

    >>> found = compare_accountants(lambda event, delta, relation: 0.0, adjacency="add-remove",
    ...                             max_examples=5)
    >>> found.counterexamples[0].reported
    0.0
    """
    hypothesis = need("hypothesis", "testing")
    st = need("hypothesis.strategies", "testing")
    from dpcheck.testing import strategies

    relation = as_adjacency(adjacency)
    kinds = _usual_events(relation) if events is None else (events,)
    usual = strategies.deltas()
    # Half of the questions about long runs are where rounding shows first: at the smallest delta.
    points = (usual, st.one_of(usual, st.just(1e-12))) if deltas is None else (deltas, deltas)
    judge = _Judge(accountant, relation, non_negative("tolerance", tolerance))
    options = hypothesis.settings(
        max_examples=count("max_examples", max_examples),
        database=None,
        deadline=None,
        # explaining would run the accountants again for nothing
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    found: list[Counterexample] = []
    for drawn in map(st.tuples, kinds, points):
        while True:
            search = _Search(judge, [_kinds(example.event) for example in found], max_shrinks)
            try:
                smallest = hypothesis.find(
                    drawn,
                    lambda case, fails=search: fails(*case),
                    settings=options,
                    random=Random(seed),
                )
            except hypothesis.errors.NoSuchExample:
                break
            example = judge(*smallest)
            assert example is not None  # answers are remembered
            found.append(example)
    return Comparison(tuple(found), judge.compared, judge.unsupported)


class _Judge:
    """Asks both accountants once per question."""

    def __init__(self, accountant: Accountant, adjacency: Adjacency, tolerance: float) -> None:
        self.accountant, self.adjacency, self.tolerance = accountant, adjacency, tolerance
        self.compared = self.unsupported = 0
        self._answers: dict[tuple[Event, float], Counterexample | None] = {}

    def __call__(self, event: Event, delta: float) -> Counterexample | None:
        """The counterexample this question is, or None."""
        if (event, delta) not in self._answers:
            self._answers[event, delta] = self._ask(event, delta)
        return self._answers[event, delta]

    def knows(self, event: Event, delta: float) -> bool:
        """Whether the question was asked before."""
        return (event, delta) in self._answers

    def _ask(self, event: Event, delta: float) -> Counterexample | None:
        reported = self.accountant(event, delta, self.adjacency)
        if reported is None:
            self.unsupported += 1
            return None
        value = float(reported)
        if math.isnan(value):
            raise InvalidParameter(
                f"the accountant answered NaN for {event} at delta {delta:g}; return None for an "
                "event it does not support.",
                event=event,
            )
        self.compared += 1
        least = epsilon_lower(event, delta=delta, adjacency=self.adjacency)
        if value >= least * (1 - self.tolerance) - self.tolerance**2:
            return None
        certified = epsilon(event, delta=delta, adjacency=self.adjacency)
        return Counterexample(event, delta, self.adjacency, value, certified)


@dataclass(slots=True)
class _Search:
    """One finding: events without the kinds already found, and so many questions once it fails."""

    judge: _Judge
    known: list[frozenset[str]]
    questions: int
    failing: bool = False

    def __call__(self, event: Event, delta: float) -> bool:
        if any(kinds <= _kinds(event) for kinds in self.known):
            return False
        if self.failing and not self.judge.knows(event, delta):
            if self.questions == 0:
                return False
            self.questions -= 1
        fails = self.judge(event, delta) is not None
        self.failing = self.failing or fails
        return fails


def _kinds(event: Event) -> frozenset[str]:
    return frozenset(type(leaf).__name__ for leaf in leaves(event))


def _usual_events(adjacency: Adjacency) -> tuple[SearchStrategy[Event], ...]:
    """A release a few times, and training runs: what accountants are asked about."""
    from dpcheck.testing import strategies

    st = need("hypothesis.strategies", "testing")
    few = strategies.leaves(adjacency, least_noise=2.0)
    return (
        st.builds(lambda e, n: e * n, few, st.integers(1, 4)),
        strategies.training_runs(),
    )


def dp_accounting_pld(event: Event, delta: float, adjacency: Adjacency) -> float | None:
    """Google's dp-accounting, privacy-loss distributions, as it comes."""
    return _epsilon(_composed("PLDAccountant", "dp_accounting.pld", event, adjacency), delta)


def dp_accounting_rdp(event: Event, delta: float, adjacency: Adjacency) -> float | None:
    """Google's dp-accounting, Renyi divergences, as it comes.

    Under replace-one it takes a Gaussian's sensitivity to be C rather than 2C: not comparable there.
    """
    return _epsilon(_composed("RdpAccountant", "dp_accounting.rdp", event, adjacency), delta)


@lru_cache(maxsize=64)  # composing costs, asking at another delta does not
def _composed(kind: str, module: str, event: Event, adjacency: Adjacency) -> Peer | None:
    """A dp-accounting accountant that has composed `event`, or None where it cannot."""
    from dpcheck.integrations.dp_accounting import to_dp_event

    relations = need("dp_accounting", "interop").NeighboringRelation
    names = {
        Adjacency.ADD_REMOVE: relations.ADD_OR_REMOVE_ONE,
        Adjacency.REPLACE_ONE: relations.REPLACE_ONE,
        Adjacency.ZERO_OUT: relations.REPLACE_SPECIAL,
    }
    peer = getattr(need(module, "interop"), kind)(neighboring_relation=names[adjacency])
    try:
        translated = to_dp_event(event)
    except InvalidEvent:
        return None
    if not peer.supports(translated):
        return None
    peer.compose(translated)
    composed: Peer = peer
    return composed


def _epsilon(peer: Peer | None, delta: float) -> float | None:
    return None if peer is None else float(peer.get_epsilon(delta))
