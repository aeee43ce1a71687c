"""`dpcheck.prove`: one symbolic run, and what it proves for every dataset of that shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dpcheck.accounting.api import epsilon as account
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.data import Data
from dpcheck.core.errors import DpcheckError, InvalidRecords
from dpcheck.core.events.event import Event, Grouped, Sequential
from dpcheck.core.records import Records
from dpcheck.tracing import releases
from dpcheck.tracing.calling import call
from dpcheck.tracing.outputs import check_output
from dpcheck.tracing.releases import Release
from dpcheck.tracing.standins import stand_in
from dpcheck.tracing.tracer import Tracer

ASSUMES = (
    "arithmetic is that of real numbers: rounding of floats is not followed",
    "numpy computes what its documentation says, and the generator draws independent numbers",
    "what the function returns is all that anybody sees: no files, no timing, no messages",
)


@dataclass(frozen=True, slots=True)
class ProvedRelease:
    """One release: where, how far one record moves it, what noise it has, what it spends."""

    line: str
    sensitivity: float
    noise: str
    event: Event | None
    times: int = 1


@dataclass(frozen=True, slots=True)
class Proof:
    """What a function releases, proved for all data of a shape; `event` describes all of it."""

    event: Event
    releases: tuple[ProvedRelease, ...]
    adjacency: Adjacency
    assumes: tuple[str, ...]

    def epsilon(self, delta: float = 0.0) -> Bound:
        """What it spends at `delta`, by the accountant."""
        bound = account(self.event, delta=delta, adjacency=self.adjacency)
        return replace(bound, assumes=tuple(dict.fromkeys((*bound.assumes, *self.assumes))))


def prove(
    function: Callable[..., Data],
    data: Data,
    adjacency: Adjacency | str = Adjacency.REPLACE_ONE,
    *,
    form: str | None = None,
) -> Proof:
    """Prove what `function(data, rng)` spends, for every dataset like `data`, or raise NotProvable.

    `data` is an example, of which only shapes and types are read, or a `dpcheck.records(...)` description,
    handed over as a numpy table or, if it has more than numbers, as a DataFrame (`form`).

    Guarantee: no two neighbouring datasets of that shape have outputs further apart than `event`.
    Assumes: what `assumes` lists.

    >>> import dpcheck
    >>> import numpy as np
    >>> def mean_age(age, rng):
    ...     return np.clip(age, 0, 100).mean() + rng.laplace(scale=0.5)
    >>> people = dpcheck.records(age=dpcheck.number(), rows=1000)
    >>> round(prove(mean_age, people).epsilon().upper, 12)
    0.2
    """
    relation = as_adjacency(adjacency)
    tracer = Tracer(relation)
    symbol = stand_in(tracer, data, form)
    output = call(tracer, function, symbol)
    if tracer.refusal is not None:
        raise tracer.refusal
    check_output(tracer, output)
    return _proof(tracer, data)


def _proof(tracer: Tracer, data: Data) -> Proof:
    _share_samples(tracer.releases, tracer.spent_ids)
    found: Counter[ProvedRelease] = Counter()
    for each in tracer.releases:
        if not (each.opened or each.selected):
            each.opened = True  # it was thrown away; counting it is safe
        if each.opened and each.fixed is None and each.family not in releases.ADDITIVE:
            where = tracer.refuse
            where(
                "unknown-noise",
                f"numbers with {each.family} noise are released ({each.line})",
                "release only their argmax, or use Laplace or Gaussian noise",
            )
        found[_shown(each)] += 1
    listed = tuple(replace(each, times=times) for each, times in found.items())
    parts = [
        each.event if each.times == 1 else each.event * each.times
        for each in listed
        if each.event is not None
    ]
    event: Event = parts[0] if len(parts) == 1 else Sequential(tuple(parts))
    if isinstance(data, Records) and data.person is not None and data.rows_per_person > 1:
        event = Grouped(event, data.rows_per_person)
    assumes = list(ASSUMES)
    if not tracer.public_rows:
        assumes.append("there are fewer than 2^40 records")
    return Proof(event, listed, tracer.adjacency, (*tracer.assumes, *assumes))


def _shown(each: Release) -> ProvedRelease:
    return ProvedRelease(str(each.line), each.sensitivity, each.noise, each.event)


def _share_samples(made: Sequence[Release], spent: set[int]) -> None:
    """Sampling amplifies a release only if nothing else saw the same coins."""
    seen: Counter[int] = Counter()
    for each in made:
        seen.update(each.coins)
    for each in made:
        if each.sampling is None:
            continue
        own = each.sampling.ids
        # Coins of another choice that the release has seen as well: only one of them is accounted.
        each.shared = any(seen[i] > 1 or i in spent for i in own) or each.coins != own


__all__ = ["DpcheckError", "InvalidRecords", "Proof", "ProvedRelease", "prove"]
