"""The entries of a ledger's journal: each says how it changes the state, and how it is written."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar, Protocol, TypeVar, cast

from dpcheck.core.budget import Budget
from dpcheck.core.errors import DpcheckError, LedgerBroken
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import from_dict, to_dict
from dpcheck.ledger.account import Batch
from dpcheck.ledger.pricing.allocation import Allocation
from dpcheck.ledger.pricing.certificate import Certificate
from dpcheck.ledger.pricing.deferral import Pairs
from dpcheck.ledger.pricing.loop import kinds
from dpcheck.ledger.provenance import SplitKind
from dpcheck.ledger.state import DatasetSpec, PlanState, State

Fields = dict[str, object]
_OPEN = "shares, order open"
_SHARES = ("planned", "failing", "odometer", "loop", "filter")


class Entry(Protocol):
    """One line of a journal."""

    kind: ClassVar[str]

    @property
    def time(self) -> float:
        """When it was made, in seconds since 1970."""

    def apply(self, state: State) -> None:
        """Change the state accordingly."""

    def write(self) -> Fields:
        """The entry as plain data, without its kind and time."""


Made = TypeVar("Made", bound=Entry)
_READERS: dict[str, Callable[[Fields, float], Entry]] = {}


def _readable(read: Callable[[Fields, float], Made]) -> Callable[[type[Made]], type[Made]]:
    """Register how entries of a class are read back."""

    def register(cls: type[Made]) -> type[Made]:
        _READERS[cls.kind] = read
        return cls

    return register


def to_fields(entry: Entry) -> Fields:
    """The whole entry as plain data."""
    return {"kind": entry.kind, "time": round(entry.time, 3), **entry.write()}


def from_fields(fields: Fields) -> Entry:
    """The entry that `to_fields` wrote, or LedgerBroken."""
    kind = fields.get("kind")
    try:
        return _READERS[str(kind)](fields, float(cast(float, fields["time"])))
    except (KeyError, ValueError, TypeError, ArithmeticError, DpcheckError) as error:
        raise LedgerBroken(
            f"the ledger holds a {kind} that makes no sense ({error}); restore it from a backup, or "
            "read it with the dpcheck that wrote it."
        ) from None


@lru_cache(maxsize=1024)
def _written(event: Event) -> Fields:
    return to_dict(event)


def _budget(value: object) -> Budget | None:
    return None if value is None else Budget(*cast(list[float], value))


def _now() -> float:
    return time.time()


@_readable(
    lambda f, at: DatasetDeclared(
        DatasetSpec(
            cast(str, f["name"]),
            cast("int | None", f["rows"]),
            _budget(f["budget"]),
            cast(str, f["unit"]),
            cast(int, f["max_rows_per_unit"]),
        ),
        at,
    )
)
@dataclass(frozen=True, slots=True)
class DatasetDeclared:
    """A new dataset."""

    spec: DatasetSpec
    time: float = field(default_factory=_now)
    kind: ClassVar[str] = "dataset"

    def apply(self, state: State) -> None:
        """A tree of its own, and an account."""
        state.add_dataset(self.spec)

    def write(self) -> Fields:
        """As it was declared."""
        spec, budget = self.spec, self.spec.budget
        return {
            "name": spec.name,
            "rows": spec.rows,
            "budget": None if budget is None else [budget.epsilon, budget.delta],
            "unit": spec.unit,
            "max_rows_per_unit": spec.max_rows_per_unit,
        }


@_readable(
    lambda f, at: SplitDeclared(
        cast(str, f["path"]),
        cast(str, f["name"]),
        SplitKind(cast(str, f["how"])),
        tuple(cast(list[str], f["labels"])),
        tuple(cast("list[int | None]", f["rows"])),
        at,
    )
)
@dataclass(frozen=True, slots=True)
class SplitDeclared:
    """New parts of a dataset or of a part."""

    path: str
    name: str
    how: SplitKind
    labels: tuple[str, ...]
    rows: tuple[int | None, ...]
    time: float = field(default_factory=_now)
    kind: ClassVar[str] = "split"

    def apply(self, state: State) -> None:
        """Nodes below the node."""
        state.add_split(state.nodes[self.path], self.name, self.how, self.labels, self.rows)

    def write(self) -> Fields:
        """As it was declared."""
        return {
            "path": self.path,
            "name": self.name,
            "how": self.how.value,
            "labels": list(self.labels),
            "rows": list(self.rows),
        }


@_readable(lambda f, at: OverlapDeclared(tuple(cast(list[str], f["names"])), at))
@dataclass(frozen=True, slots=True)
class OverlapDeclared:
    """Datasets that may share people."""

    names: tuple[str, ...]
    time: float = field(default_factory=_now)
    kind: ClassVar[str] = "overlap"

    def apply(self, state: State) -> None:
        """Accounts of several datasets."""
        state.add_overlap(self.names)

    def write(self) -> Fields:
        """The datasets by name."""
        return {"names": list(self.names)}


def _certificate(fields: Fields) -> Certificate:
    """Without limits in ledgers of earlier versions, whose filter goes on as it began."""

    def pairs(name: str) -> Pairs:
        found = cast("list[tuple[float, float]]", fields.get(name, []))
        return tuple((float(order), float(limit)) for order, limit in found)

    found = Certificate(
        cast(float, fields["order"]),
        cast(float, fields.get("epsilon", 0.0)),
        pairs("limits"),
        pairs("choices"),
        pairs("gates"),
    )
    if not found.readable():
        raise ValueError("it adds up divergences of other orders")
    return found


def _to_choose(fixed: Certificate) -> Fields:
    """Under a kind of its own: who does not know it would not choose in time, and refuses it."""
    if not fixed.choices:
        return {}
    named = {"choices": fixed.choices, "gates": fixed.gates}
    return {"kind": _OPEN, **{name: [list(p) for p in pairs] for name, pairs in named.items()}}


@_readable(
    lambda f, at: DeltaDivided(
        cast(str, f["account"]),
        Allocation(
            cast(str, f["path"]),
            from_dict(f["event"]),
            cast(int, f["repeats"]),
            _certificate(f),
            *(Decimal(cast(str, f[share])) for share in _SHARES),
        ),
        at,
    )
)
@dataclass(frozen=True, slots=True)
class DeltaDivided:
    """How an account divided delta with its first release, or then chose an order of its filter."""

    account: str
    allocation: Allocation
    time: float = field(default_factory=_now)
    kind: ClassVar[str] = "shares"

    def apply(self, state: State) -> None:
        """Fixed from now on."""
        state.set_allocation(self.account, self.allocation)

    def write(self) -> Fields:
        """The shares as decimals."""
        found = self.allocation
        return {
            "account": self.account,
            "path": found.path,
            "event": _written(found.event),
            "repeats": found.repeats,
            "order": found.certificate.order,
            "epsilon": found.certificate.epsilon,
            "limits": [list(pair) for pair in found.certificate.limits],
            **_to_choose(found.certificate),
            **{share: str(getattr(found, share)) for share in _SHARES},
        }


# As earlier versions wrote it; they do not know the new kind, and so refuse what they cannot enforce.
_READERS["division"] = _READERS[_OPEN] = _READERS["shares"]


@_readable(
    lambda f, at: Released(cast(str, f["path"]), from_dict(f["event"]), _times(f["times"]), at)
)
@dataclass(frozen=True, slots=True)
class Released:
    """More releases of an event, counted before they are made; or fewer, given back unmade."""

    path: str
    event: Event
    times: int
    time: float = field(default_factory=_now)
    kind: ClassVar[str] = "release"

    def apply(self, state: State) -> None:
        """Counts and totals."""
        state.count(state.nodes[self.path], self.event, self.times)

    def write(self) -> Fields:
        """Where, what, how often."""
        return {"path": self.path, "event": _written(self.event), "times": self.times}


@_readable(
    lambda f, at: PlanDeclared(
        cast(str, f["name"]),
        cast(str, f["path"]),
        from_dict(f["event"]),
        cast(int, f["batch"]),
        Batch(
            Decimal(cast(str, f["epsilon"])), Decimal(cast(str, f["delta"])), cast(str, f["method"])
        ),
        at,
    )
)
@dataclass(frozen=True, slots=True)
class PlanDeclared:
    """A new schedule, and what all of its batch cost together."""

    name: str
    path: str
    event: Event
    batch: int
    cost: Batch
    time: float = field(default_factory=_now)
    kind: ClassVar[str] = "plan"

    def apply(self, state: State) -> None:
        """Paid in full."""
        node = state.nodes[self.path]
        state.set_batch(node.root, self.batch, self.cost)
        state.plans[self.name] = PlanState(
            self.name, node, self.event, self.batch, kinds(self.event)
        )

    def write(self) -> Fields:
        """The schedule and its cost."""
        return {
            "name": self.name,
            "path": self.path,
            "event": _written(self.event),
            "batch": self.batch,
            "epsilon": str(self.cost.epsilon),
            "delta": str(self.cost.delta),
            "method": self.cost.method,
        }


@_readable(
    lambda f, at: PlanStepped(cast(str, f["plan"]), from_dict(f["event"]), _times(f["times"]), at)
)
@dataclass(frozen=True, slots=True)
class PlanStepped:
    """More steps taken of a plan, or fewer."""

    plan: str
    event: Event
    times: int
    time: float = field(default_factory=_now)
    kind: ClassVar[str] = "step"

    def apply(self, state: State) -> None:
        """Counts only: the plan is paid for."""
        counts = state.plans[self.plan].counts
        counts[self.event] = counts.get(self.event, 0) + self.times

    def write(self) -> Fields:
        """Which plan, what, how often."""
        return {"plan": self.plan, "event": _written(self.event), "times": self.times}


def _times(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a number of releases")
    return value
