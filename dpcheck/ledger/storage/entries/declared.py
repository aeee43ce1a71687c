"""What is declared: datasets, splits, overlaps, plans, and how delta is divided."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar, cast

from dpcheck.core.budget import Budget
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import from_dict
from dpcheck.ledger.account import Batch
from dpcheck.ledger.populations.accounts import PopulationSpec
from dpcheck.ledger.pricing.allocation import Allocation
from dpcheck.ledger.pricing.certificate import Certificate
from dpcheck.ledger.pricing.deferral import Pairs
from dpcheck.ledger.pricing.loop import kinds
from dpcheck.ledger.provenance import SplitKind
from dpcheck.ledger.state import DatasetSpec, PlanState, State
from dpcheck.ledger.storage.entries.entry import (
    READERS,
    dataset_of,
    event_fields,
    now,
    readable,
)
from dpcheck.ledger.storage.seals import Fields

_OPEN = "shares, order open"
_SHARES = ("planned", "failing", "odometer", "loop", "filter")


def _budget(value: object) -> Budget | None:
    return None if value is None else Budget(*cast(list[float], value))


def _whole(value: object, least: int) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"{value!r} is not a whole number from {least} on")
    return value


def _text(value: object) -> str:
    if type(value) is not str or not value:
        raise ValueError(f"{value!r} is not a name")
    return value


@readable(
    lambda f, at: DatasetDeclared(
        DatasetSpec(
            _text(f["name"]),
            None if f["rows"] is None else _whole(f["rows"], 1),
            _budget(f["budget"]),
            _text(f["unit"]),
            _whole(f["max_rows_per_unit"], 1),
        ),
        at,
    )
)
@dataclass(frozen=True, slots=True)
class DatasetDeclared:
    """A new dataset."""

    spec: DatasetSpec
    time: float = field(default_factory=now)
    kind: ClassVar[str] = "dataset"

    def apply(self, state: State) -> None:
        """A tree of its own, and an account."""
        state.add_dataset(self.spec)

    def datasets(self, state: State) -> tuple[str, ...]:  # noqa: ARG002
        """Where it is written."""
        return (self.spec.name,)

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


@readable(
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
    time: float = field(default_factory=now)
    kind: ClassVar[str] = "split"

    def apply(self, state: State) -> None:
        """Nodes below the node."""
        state.add_split(state.nodes[self.path], self.name, self.how, self.labels, self.rows)

    def datasets(self, state: State) -> tuple[str, ...]:  # noqa: ARG002
        """Where it is written."""
        return (dataset_of(self.path),)

    def write(self) -> Fields:
        """As it was declared."""
        return {
            "path": self.path,
            "name": self.name,
            "how": self.how.value,
            "labels": list(self.labels),
            "rows": list(self.rows),
        }


@readable(lambda f, at: OverlapDeclared(tuple(cast(list[str], f["names"])), at))
@dataclass(frozen=True, slots=True)
class OverlapDeclared:
    """Datasets that may share people."""

    names: tuple[str, ...]
    time: float = field(default_factory=now)
    kind: ClassVar[str] = "overlap"

    def apply(self, state: State) -> None:
        """Accounts of several datasets."""
        state.add_overlap(self.names)

    def datasets(self, state: State) -> tuple[str, ...]:  # noqa: ARG002
        """Where it is written."""
        return self.names

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


@readable(
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
    time: float = field(default_factory=now)
    kind: ClassVar[str] = "shares"

    def apply(self, state: State) -> None:
        """Fixed from now on."""
        state.set_allocation(self.account, self.allocation)

    def datasets(self, state: State) -> tuple[str, ...]:  # noqa: ARG002
        """Where it is written."""
        return (dataset_of(self.allocation.path),)

    def write(self) -> Fields:
        """The shares as decimals."""
        found = self.allocation
        return {
            "account": self.account,
            "path": found.path,
            "event": event_fields(found.event),
            "repeats": found.repeats,
            "order": found.certificate.order,
            "epsilon": found.certificate.epsilon,
            "limits": [list(pair) for pair in found.certificate.limits],
            **_to_choose(found.certificate),
            **{share: str(getattr(found, share)) for share in _SHARES},
        }


# As earlier versions wrote it; they do not know the new kind, and so refuse what they cannot enforce.
READERS["division"] = READERS[_OPEN] = READERS["shares"]


@readable(
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
    time: float = field(default_factory=now)
    kind: ClassVar[str] = "plan"

    def apply(self, state: State) -> None:
        """Paid in full."""
        plan = PlanState(
            self.name, state.nodes[self.path], self.event, self.batch, kinds(self.event)
        )
        state.add_plan(plan, self.cost)

    def datasets(self, state: State) -> tuple[str, ...]:  # noqa: ARG002
        """Where it is written."""
        return (dataset_of(self.path),)

    def write(self) -> Fields:
        """The schedule and its cost."""
        return {
            "name": self.name,
            "path": self.path,
            "event": event_fields(self.event),
            "batch": self.batch,
            "epsilon": str(self.cost.epsilon),
            "delta": str(self.cost.delta),
            "method": self.cost.method,
        }


@readable(
    lambda f, at: PopulationDeclared(
        PopulationSpec(
            _text(f["name"]),
            _whole(f["size"], 1),
            Budget(*cast(list[float], f["budget"])),
            f["private"] is True,
            cast("float | None", f["order"]),
        ),
        at,
    )
)
@dataclass(frozen=True, slots=True)
class PopulationDeclared:
    """A new population."""

    spec: PopulationSpec
    time: float = field(default_factory=now)
    kind: ClassVar[str] = "population"

    def apply(self, state: State) -> None:
        """Accounts, of which nothing was spent."""
        state.add_population(self.spec)

    def datasets(self, state: State) -> tuple[str, ...]:  # noqa: ARG002
        """Where it is written."""
        return (self.spec.name,)

    def write(self) -> Fields:
        """As it was declared."""
        spec = self.spec
        return {
            "name": spec.name,
            "size": spec.size,
            "budget": [spec.budget.epsilon, spec.budget.delta],
            "private": spec.private,
            "order": spec.order,
        }
