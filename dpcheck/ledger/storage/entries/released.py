"""What is counted: releases, steps of plans, and that a reserved release was shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, cast

from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import from_dict
from dpcheck.ledger.state import State
from dpcheck.ledger.storage.entries.entry import dataset_of, event_fields, now, readable
from dpcheck.ledger.storage.seals import Fields


@readable(
    lambda f, at: Released(
        cast(str, f["path"]),
        from_dict(f["event"]),
        _times(f["times"]),
        cast("str | None", f.get("request")),
        at,
    )
)
@dataclass(frozen=True, slots=True)
class Released:
    """More releases of an event, counted before they are made; or fewer, given back unmade.

    `request` is the id they were asked for under; then they are made once `ReleaseShown` says so.
    """

    path: str
    event: Event
    times: int
    request: str | None = None
    time: float = field(default_factory=now)
    kind: ClassVar[str] = "release"

    def apply(self, state: State) -> None:
        """Counts and totals."""
        state.count(state.nodes[self.path], self.event, self.times)

    def datasets(self, state: State) -> tuple[str, ...]:  # noqa: ARG002
        """Where it is written."""
        return (dataset_of(self.path),)

    def write(self) -> Fields:
        """Where, what, how often."""
        found: Fields = {
            "path": self.path,
            "event": event_fields(self.event),
            "times": self.times,
        }
        return found if self.request is None else {**found, "request": self.request}


@readable(lambda f, at: ReleaseShown(cast(str, f["path"]), cast(str, f["request"]), at))
@dataclass(frozen=True, slots=True)
class ReleaseShown:
    """What was asked for under an id is released from here on; nothing else may be under that id."""

    path: str
    request: str
    time: float = field(default_factory=now)
    kind: ClassVar[str] = "receipt"

    def apply(self, state: State) -> None:
        """Nothing: it was counted when it was reserved."""

    def datasets(self, state: State) -> tuple[str, ...]:  # noqa: ARG002
        """Where it is written."""
        return (dataset_of(self.path),)

    def write(self) -> Fields:
        """Which."""
        return {"path": self.path, "request": self.request}


@readable(
    lambda f, at: PlanStepped(cast(str, f["plan"]), from_dict(f["event"]), _times(f["times"]), at)
)
@dataclass(frozen=True, slots=True)
class PlanStepped:
    """More steps taken of a plan, or fewer."""

    plan: str
    event: Event
    times: int
    time: float = field(default_factory=now)
    kind: ClassVar[str] = "step"

    def apply(self, state: State) -> None:
        """Counts only: the plan is paid for."""
        state.step(self.plan, self.event, self.times)

    def datasets(self, state: State) -> tuple[str, ...]:
        """Where it is written."""
        return (state.plans[self.plan].node.root.path,)

    def write(self) -> Fields:
        """Which plan, what, how often."""
        return {"plan": self.plan, "event": event_fields(self.event), "times": self.times}


@readable(
    lambda f, at: Charged(
        cast(str, f["population"]),
        from_dict(f["event"]),
        _times(f["times"]),
        cast("int | None", f["people"]),
        cast("str | None", f["who"]),
        cast("str | None", f.get("request")),
        at,
        cast("int | None", f.get("highest")),
    )
)
@dataclass(frozen=True, slots=True)
class Charged:
    """Releases that some accounts of a population pay for.

    Of public accounts: how many, a digest of which (None: all), and the highest balance of them then. Of
    private ones nothing: who takes part depends on the data.
    """

    population: str
    event: Event
    times: int
    people: int | None
    who: str | None
    request: str | None = None
    time: float = field(default_factory=now)
    highest: int | None = None
    kind: ClassVar[str] = "charge"

    def apply(self, state: State) -> None:
        """Balances are written beside it."""
        known = state.populations[self.population]
        known.first = known.first or self.event
        if known.most is not None:
            known.most = None if self.highest is None else max(known.most, self.highest)

    def datasets(self, state: State) -> tuple[str, ...]:  # noqa: ARG002
        """Where it is written."""
        return (self.population,)

    def write(self) -> Fields:
        """What, how often, for how many."""
        found: Fields = {
            "population": self.population,
            "event": event_fields(self.event),
            "times": self.times,
            "people": self.people,
            "who": self.who,
            **({} if self.highest is None else {"highest": self.highest}),
        }
        return found if self.request is None else {**found, "request": self.request}


_MOST = 10**18  # nobody makes more


def _times(value: object) -> int:
    if type(value) is not int or not value or abs(value) > _MOST:
        raise ValueError(f"{value!r} is not a number of releases")
    return value


COUNTED = (Released.kind, ReleaseShown.kind, PlanStepped.kind, Charged.kind)
