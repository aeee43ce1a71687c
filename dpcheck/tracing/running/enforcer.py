"""The tracer at run time: symbols carry the real arrays, and each release is paid for before it is made.

Facts are worked out as in a proof, from shapes, types and public numbers alone. A value that was released
is a plain array from then on: it may decide what happens next, because every later release is checked in
its turn.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Data
from dpcheck.core.events.event import Event
from dpcheck.tracing import releases
from dpcheck.tracing.containers import Container
from dpcheck.tracing.generator import TracedGenerator
from dpcheck.tracing.releases import Release
from dpcheck.tracing.tracer import Applied, Compute, Operation, Tracer
from dpcheck.tracing.values import Released, Traced


class Pays(Protocol):
    """Takes an event before its release, or raises."""

    def __call__(self, event: Event) -> None:
        """Pay."""


class Enforcer(Tracer):
    """State of one enforced run."""

    def __init__(self, adjacency: Adjacency, pay: Pays) -> None:
        super().__init__(adjacency)
        self.pay = pay
        self._depth = 0
        self._seen_coins: set[int] = set()

    def run(self, trace: Operation, compute: Compute, applied: Applied = None) -> Data:  # noqa: ARG002
        """Facts first; a release is paid for in them. Then the same on real values."""
        found = self.inside(trace)
        if self._depth or not isinstance(found, Traced | tuple) or isinstance(found, Container):
            return found
        return attach(found, compute(real))

    @property
    def is_inside(self) -> bool:
        """Whether facts of an operation are being worked out."""
        return self._depth > 0

    def inside(self, trace: Operation) -> Data:
        """Facts alone: operations inside have no values of their own."""
        self._depth += 1
        try:
            return trace()
        finally:
            self._depth -= 1

    def spend(self, release: Release) -> None:
        """Pay for a release as if all its numbers were seen; Gumbel noise waits for its argmax."""
        coins = release.coins
        if not self._seen_coins.isdisjoint(coins):
            self.refuse(
                "shared-sample",
                "a second release sees a random choice of rows that amplified an earlier one",
                "draw a new choice for each release",
            )
        if release.sampling is not None and release.coins == release.sampling.ids:
            release.shared = not self.spent_ids.isdisjoint(release.sampling.ids)
        elif release.sampling is not None:
            release.shared = True
        self._seen_coins |= coins
        if release.family in (*releases.ADDITIVE, "randomized response"):
            release.opened = True
            self._pay(release)

    def use(self, ids: Data, what: str) -> None:
        """As in a proof; and coins that amplified a release cannot be shown afterwards."""
        if not self._seen_coins.isdisjoint(np.ravel(ids).tolist()):
            self.refuse(
                "shared-sample",
                "the random choice of rows of an earlier release is used for something else",
                "draw a new choice",
            )
        super().use(ids, what)

    def chosen(self, release: Release) -> None:
        """Pay for the argmax of a release."""
        self._pay(release)

    def _pay(self, release: Release) -> None:
        event = release.event
        if event is not None:
            self.pay(event)


class EnforcedGenerator(TracedGenerator):
    """Draws real numbers and the symbols that stand for them."""

    source: np.random.Generator

    def drawn(
        self, name: str, symbol: Data, args: tuple[Data, ...], kwargs: dict[str, Data]
    ) -> Data:
        """The symbol of a draw with its real value; a public one is handed over as it is."""
        value = getattr(self.source, name)(*real(args), **real(kwargs))
        if isinstance(symbol, Released):
            return value
        if isinstance(symbol, Traced):
            symbol.value = value
        return symbol

    def spawn(self, n_children: int) -> list[Data]:
        """Generators of their own, each with a real source."""
        return [type(self).over(self.tracer, source) for source in self.source.spawn(n_children)]

    @classmethod
    def over(cls, tracer: Data, source: np.random.Generator) -> EnforcedGenerator:
        """The generator a function is handed that runs on real values."""
        made = cls(tracer)
        made.source = source
        return made


def _drawing(name: str) -> Data:
    traced = getattr(TracedGenerator, name)

    def method(self: EnforcedGenerator, *args: Data, **kwargs: Data) -> Data:
        assert isinstance(self.tracer, Enforcer)
        if self.tracer.is_inside:  # one law drawn by another: the outer one has the real value
            return traced(self, *args, **kwargs)
        located = _locations(name, args, kwargs)
        if located is not None:
            location, args, kwargs = located
            return location + method(self, *args, **kwargs)
        symbol = self.tracer.inside(lambda: traced(self, *args, **kwargs))
        return self.drawn(name, symbol, args, kwargs)

    return method


def _locations(name: str, args: tuple[Data, ...], kwargs: dict[str, Data]) -> Data:
    """rng.normal(private, scale) as private + rng.normal(0, scale)."""
    if name not in ("normal", "laplace", "gumbel"):
        return None
    location = args[0] if args else kwargs.get("loc", 0.0)
    if not isinstance(location, Traced) or isinstance(location, Container):
        return None
    if len(args) < 3 and "size" not in kwargs:
        kwargs = {**kwargs, "size": location.dims}
    return (location, (0.0, *args[1:]), {k: v for k, v in kwargs.items() if k != "loc"})


for _name in (
    *("laplace", "normal", "standard_normal", "gumbel", "exponential", "random", "uniform"),
    *("geometric", "binomial", "integers", "choice", "permutation"),
):
    setattr(EnforcedGenerator, _name, _drawing(_name))


def real(value: Data) -> Data:
    """Symbols as the arrays they carry, in nested containers too."""
    if isinstance(value, Container):
        return value.array
    if isinstance(value, Released):
        return value.example
    if isinstance(value, Traced):
        return value.value
    if isinstance(value, list | tuple):
        items = [real(each) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: real(each) for key, each in value.items()}
    if isinstance(value, slice):
        return slice(real(value.start), real(value.stop), real(value.step))
    return value


def attach(found: Data, value: Data) -> Data:
    """The real value for a symbol; a released one is handed over as it is."""
    if isinstance(found, tuple):
        return tuple(attach(each, own) for each, own in zip(found, value, strict=True))
    if not isinstance(found, Traced) or isinstance(found, Container):
        return found
    if isinstance(found, Released):
        if found.release is not None and not found.release.opened:
            found.example = np.asarray(value)
            return found
        return value
    found.value = value
    return found


def handed_over(value: Data) -> Data:
    """An output of plain values: containers and draws as arrays."""
    if isinstance(value, Traced):
        return real(value)
    if isinstance(value, list | tuple):
        items = [handed_over(each) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: handed_over(each) for key, each in value.items()}
    return value
