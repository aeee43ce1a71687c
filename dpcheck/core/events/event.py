"""What was released, as a value: events and how they combine.

An event describes a mechanism and never changes meaning; accountants interpret it. `a + b` is
adaptive sequential composition on the same people, `a * n` repetition, `a | b` release from disjoint
people assigned by index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count, finite, positive_or_zero, rate, sequence


class Event:
    """A description of a release. `natural` is the adjacency it is usually stated under, if any."""

    __slots__ = ()
    natural: ClassVar[Adjacency | None] = Adjacency.ADD_REMOVE

    def __add__(self, other: Event) -> Event:
        return Sequential((self, other)) if isinstance(other, Event) else NotImplemented

    def __radd__(self, other: object) -> Event:
        """`sum(events)` begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, times: int) -> Event:
        return Repeated(self, times) if isinstance(times, int) else NotImplemented

    __rmul__ = __mul__

    def __or__(self, other: Event) -> Event:
        return Parallel((self, other)) if isinstance(other, Event) else NotImplemented


def _read_events(node: Sequential | Parallel) -> None:
    object.__setattr__(node, "events", sequence("events", node.events))
    _check_events(node.events)


def _check_events(events: tuple[Event, ...]) -> None:
    for event in events:
        if not isinstance(event, Event):
            raise InvalidParameter(f"expected an event, got {event!r}.", value=event)


@dataclass(frozen=True, slots=True)
class Sequential(Event):
    """All of them on the same people, each chosen with the earlier outputs known."""

    events: tuple[Event, ...]
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        _read_events(self)


@dataclass(frozen=True, slots=True)
class Repeated(Event):
    """The same event `times` times on the same people."""

    event: Event
    times: int
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        _check_events((self.event,))
        object.__setattr__(self, "times", count("times", self.times, at_least=0))


@dataclass(frozen=True, slots=True)
class Parallel(Event):
    """Each on other people; who is where is fixed by index and does not depend on the records."""

    events: tuple[Event, ...]
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        _read_events(self)


@dataclass(frozen=True, slots=True)
class Under(Event):
    """The event with its guarantees stated under `adjacency`.

    Asked under another relation it is translated or refused, like a guarantee that names its own:
    what is stated under add-remove costs two steps under replace-one. An event inside that names another
    relation itself is a contradiction, and refused.
    """

    adjacency: Adjacency
    event: Event
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", as_adjacency(self.adjacency))
        _check_events((self.event,))
        _check_statements(self.adjacency, self.event)


def _check_statements(adjacency: Adjacency, event: Event) -> None:
    """Refuse an event that states another relation than the one it is said to be stated under."""
    stack = [event]
    while stack:
        node = stack.pop()
        own = stated_adjacency(node)
        if own is not None and own is not adjacency:
            raise InvalidParameter(
                f"{type(node).__name__} states its guarantee under {own}, and Under says {adjacency}: one "
                "of the two is wrong. Leave out Under, or state the event anew.",
                stated=own,
                adjacency=adjacency,
            )
        if not isinstance(node, Under):  # what is inside another Under was held against it
            stack.extend(children(node))


@dataclass(frozen=True, slots=True)
class Moved(Event):
    """A part of a split by a private key, seen by a replaced record that leaves or enters it.

    Accounted under add-remove whatever surrounds it. Whoever builds it counts the part that is left
    and the part that is entered, each once.
    """

    event: Event
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        _check_events((self.event,))


@dataclass(frozen=True, slots=True)
class Grouped(Event):
    """The event seen by a person who owns up to `size` records."""

    event: Event
    size: int
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        _check_events((self.event,))
        object.__setattr__(self, "size", count("size", self.size))


@dataclass(frozen=True, slots=True)
class Sampled(Event):
    """The event, or a whole composition of events, on one Poisson sample of the records.

    Every record is drawn with probability `rate`, on its own; all of the event sees the same sample.
    """

    event: Event
    rate: float
    natural: ClassVar[Adjacency | None] = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        _check_events((self.event,))
        object.__setattr__(self, "rate", rate("rate", self.rate))


@dataclass(frozen=True, slots=True)
class RandomStopping(Event):
    """Run the event a random number of times on the same people, release only the best run.

    The number of runs is truncated negative binomial: `shape` 1 is geometric, 0 logarithmic, -1 <
    shape < 0 heavier; `stop` in (0, 1] is the probability parameter (smaller means more runs, 1 is one run).
    """

    event: Event
    shape: float
    stop: float
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        _check_events((self.event,))
        object.__setattr__(self, "shape", finite("shape", self.shape))
        object.__setattr__(self, "stop", rate("stop", self.stop))
        if self.stop == 0:
            raise InvalidParameter("stop must be above 0: at 0 the runs never end.", name="stop")
        if self.shape <= -1:
            raise InvalidParameter(f"shape must be above -1, got {self.shape:g}.", name="shape")


@dataclass(frozen=True, slots=True)
class PoissonStopping(Event):
    """Run the event a Poisson number of times on the same people, release only the best run.

    `mean` is the mean number of runs; where there is none, nothing is released.
    """

    event: Event
    mean: float
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        _check_events((self.event,))
        object.__setattr__(self, "mean", positive_or_zero("mean", self.mean))


def stated_adjacency(event: Event) -> Adjacency | None:
    """The relation an event says its guarantee was proved under; None where it leaves that open."""
    found = getattr(event, "adjacency", None)
    return found if isinstance(found, Adjacency) else None


_AROUND = (Repeated, Under, Moved, Grouped, Sampled, RandomStopping, PoissonStopping)


def children(event: Event) -> tuple[Event, ...]:
    """The events directly inside a combination; empty for a leaf."""
    if isinstance(event, Sequential | Parallel):
        return event.events
    if isinstance(event, _AROUND):
        return (event.event,)
    return ()


def leaves(event: Event) -> frozenset[Event]:
    """The distinct leaf events of a tree."""
    found: set[Event] = set()
    stack = [event]
    while stack:
        node = stack.pop()
        inner = children(node)
        stack.extend(inner)
        if not inner and not isinstance(node, Sequential | Parallel):
            found.add(node)
    return frozenset(found)


def natural_adjacency(event: Event) -> Adjacency:
    """The one adjacency all of `event` is usually stated under; an error if its parts differ."""
    found: set[Adjacency] = set()
    stack = [event]
    while stack:
        node = stack.pop()
        if isinstance(node, Under):
            found.add(node.adjacency)
            continue
        inner = children(node)
        stack.extend(inner)
        if not inner and node.natural is not None and not isinstance(node, Sequential | Parallel):
            found.add(node.natural)
    if len(found) > 1:
        raise InvalidParameter(
            "this event mixes mechanisms that are usually stated under different adjacencies; "
            "pass adjacency= explicitly.",
            found=found,
        )
    return found.pop() if found else Adjacency.ADD_REMOVE
