"""The ledger: what people agreed to lose, what was released, and no release beyond it.

`spend` is for releases that are chosen, or stopped, after seeing outputs: proved filters only.
`plan` is for schedules fixed in advance: the tightest accountant. See docs/explanation/ledger.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NoReturn, TypeVar, overload

from dpcheck.accounting.certify.bound import between
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import BudgetExceeded, InvalidParameter, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.core.validate import MOST, count, probability, sequence
from dpcheck.ledger.account import Batch
from dpcheck.ledger.answers import group_of
from dpcheck.ledger.declaring import declare_dataset, declare_overlap, declare_split, knows_dataset
from dpcheck.ledger.frozen import frozen, key_of
from dpcheck.ledger.handles import Dataset, Plan
from dpcheck.ledger.names import brief, checked_name
from dpcheck.ledger.plans import plan_for
from dpcheck.ledger.populations.charging import Active, Population
from dpcheck.ledger.populations.ledger import WithPopulations
from dpcheck.ledger.provenance import SplitKind
from dpcheck.ledger.report import Remaining, Report
from dpcheck.ledger.reserving import Receipt, reserve, show
from dpcheck.ledger.rows import rows_per_unit, too_deep
from dpcheck.ledger.sources import FromDataset, FromPlan
from dpcheck.ledger.spending import Spending, Transaction
from dpcheck.ledger.state import DatasetSpec
from dpcheck.ledger.storage.opening import open_storage
from dpcheck.ledger.storage.terms import check_agreement, make_terms, read_terms, write_terms

Mine = TypeVar("Mine", Plan, Receipt)

__all__ = ["Active", "Dataset", "Ledger", "Plan", "Population", "Receipt", "Remaining", "Report"]


class Ledger(WithPopulations):
    """A budget, the datasets it covers, and everything released from them.

    Guarantee: as long as every release is spent or planned here first, each person's data is
    (epsilon, delta)-DP under `adjacency` at the budget of every dataset they are in, and at the
    ledger's budget over all datasets declared to overlap.
    Reference: the filters' theorems in `filters`, plans by [Haney2023]; the proof that
    ties them together stands in docs/explanation/ledger.md.

    `expect` announces what most releases will be (`10 * step + evaluation`, as often as the budget
    bears); it decides how the budget is kept for them, and the guarantee holds whatever comes.

    >>> from dpcheck import Budget, PureDP
    >>> ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="replace-one")
    >>> low, high = ledger.dataset("patients", rows=12_702).split_rows(2)
    >>> for block in low.split_columns(5):
    ...     ledger.spend(block, PureDP(0.2))
    >>> ledger.spend(high, PureDP(1.0))
    >>> ledger.epsilon(delta=0).upper
    1.0
    """

    def __init__(
        self,
        budget: Budget,
        adjacency: Adjacency | str,
        *,
        filter: str | None = None,  # noqa: A002 - the word the theory uses
        order: float | None = None,
        reserve: float | None = None,
        expect: Event | None = None,
        block: int = 1000,
    ) -> None:
        terms = make_terms(budget, adjacency, filter, order, reserve, expect)
        self._spending = Spending(terms, count("block", block))

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        budget: Budget | None = None,
        adjacency: Adjacency | str | None = None,
        *,
        filter: str | None = None,  # noqa: A002 - the word the theory uses
        order: float | None = None,
        reserve: float | None = None,
        expect: Event | None = None,
        block: int = 1000,
        by: str | None = None,
    ) -> Ledger:
        """A ledger that several processes share: a file (SQLite), or "postgresql://..." for machines.

        Up to `block` releases of one kind are counted ahead (never more than this handle has
        already made of it), so most cost no access to the disk or the server. A crash therefore
        counts too many, never too few; block=1 is exact. `close()` gives back what was not used.

        Opening an existing ledger needs no arguments; those that are given must agree with it. Entries
        say who made them: `by`, or the user and the machine.
        """
        wanted = None
        if budget is not None and adjacency is not None:
            wanted = write_terms(make_terms(budget, adjacency, filter, order, reserve, expect))
        storage = open_storage(path, wanted, None if by is None else checked_name("by", by))
        try:
            terms = read_terms(storage.opened_on)
            given = {"budget": budget, "adjacency": adjacency, "filter": filter, "order": order}
            check_agreement(storage.place, terms, {**given, "reserve": reserve, "expect": expect})
            self = cls.__new__(cls)
            self._spending = Spending(terms, count("block", block), storage)
        except BaseException:
            storage.close()
            raise
        return self

    # Declarations --------------------------------------------------------------------------------

    def dataset(
        self,
        name: str,
        *,
        rows: int | None = None,
        budget: Budget | None = None,
        unit: str = "row",
        max_rows_per_unit: int = 1,
    ) -> Dataset:
        """A dataset of other people than all others, unless `overlaps` says so.

        `budget` replaces the ledger's for it. A `unit` ("person") may own up to `max_rows_per_unit`
        rows, all of which are protected together.
        """
        if budget is not None and not isinstance(budget, Budget):
            raise InvalidParameter(f"budget must be a Budget, got {budget!r}.", value=budget)
        rows = None if rows is None else count("rows", rows)
        most = rows_per_unit(max_rows_per_unit)
        name, unit = checked_name("dataset name", name), checked_name("unit", unit)
        spec = DatasetSpec(name, rows, budget, unit, most)
        with self._spending.alone():
            if not self._spending.run((name,), lambda t: knows_dataset(t, spec), writing=False):
                self._spending.run((name,), lambda t: declare_dataset(t, spec))
        return self._handle(name, rows)

    def overlaps(self, *datasets: Dataset | Population) -> None:
        """A person may be in several of these: their costs add up, within the ledger's budget.

        One may be a population with public accounts. Whatever is released from the others is then
        charged to all of its accounts, because anybody in them may own any account.
        """
        names = tuple(dict.fromkeys(self._root_name(d) for d in datasets))
        if len(names) < 2:
            raise LedgerMisuse(
                "name at least two different datasets that may share a person, or one and a population."
            )
        with self._spending.alone():
            self._spending.run(names, lambda t: declare_overlap(t, names))

    def _root_name(self, dataset: object) -> str:
        if isinstance(dataset, Population) and dataset.ledger is self:
            return dataset.name
        path = self._path(dataset)
        if "/" in path:
            raise LedgerMisuse(f"{path!r} is a part of a dataset. Only whole datasets can overlap.")
        return path

    def split(
        self,
        dataset: Dataset,
        kind: SplitKind,
        name: str | None,
        labels: list[str],
        rows: list[int | None],
    ) -> list[Dataset]:
        """The parts of a dataset; use its split_rows, split_by and split_columns."""
        path = self._path(dataset)
        labels = [checked_name("part", label) for label in sequence("labels", labels)]
        rows = [None if n is None else count("rows", n) for n in sequence("rows", rows)]
        if not isinstance(kind, SplitKind) or not len(rows) == len(labels) == len(set(labels)) > 0:
            raise LedgerMisuse(f"split {path!r} with its split_rows, split_by or split_columns.")
        if name is None and self._spending.shared:
            raise LedgerMisuse(
                f"splitting {path!r} in a shared ledger needs name=..., so that every process means "
                "the same parts."
            )
        if name is not None:
            checked_name("split name", name)
        with self._spending.alone():
            paths = self._spending.run(
                group_of(path), lambda t: declare_split(t, path, name, kind, labels, rows)
            )
        return [self._handle(part, size) for part, size in zip(paths, rows, strict=True)]

    # Spending ------------------------------------------------------------------------------------

    @overload
    def spend(
        self, dataset: object, event: Event, times: int = 1, *, who: object = None
    ) -> Active | None: ...

    @overload
    def spend(
        self, dataset: object, event: Event, times: int = 1, *, request_id: str
    ) -> Receipt: ...

    def spend(
        self,
        dataset: object,
        event: Event,
        times: int = 1,
        *,
        who: object = None,
        request_id: str | None = None,
    ) -> Receipt | Active | None:
        """Count `times` releases of `event` before they are made; each may depend on all outputs.

        Raises BudgetExceeded, and changes nothing, if the budget cannot bear all of them. With
        `request_id` they are reserved: the same id gets the same `Receipt`, whose `release()` comes
        before noise is shown and works once. From a population, the accounts in `who` (a mask, or
        numbers; by default all) pay; private ones get back who takes part.
        """
        if type(times) is not int or not 1 <= times <= MOST:
            times = count("times", times)
        with self._spending.alone():
            try:
                if not isinstance(event, Event):
                    raise InvalidParameter(f"expected an event, got {brief(event)}.", value=event)
                key = key_of(event)
                if isinstance(dataset, Population):
                    active = self._charge(dataset, event, times, who, request_id)
                    return active if request_id is None else Receipt(self, request_id, dataset.name)
                if who is not None:
                    raise InvalidParameter("who= is for populations. In a dataset everybody pays.")
                if request_id is None and isinstance(dataset, Dataset) and dataset.ledger is self:
                    prepaid = dataset.prepaid.get(key)
                    if prepaid is not None and prepaid.left >= times:
                        prepaid.left -= times
                        return None
                event = frozen(event)
                path = self._checked(dataset, event)
                if request_id is not None:
                    return self._reserve(path, event, times, request_id)
                self._spending.take(FromDataset(path), key, event, times)
            except RecursionError:
                raise too_deep() from None
        return None

    def _reserve(self, path: str, event: Event, times: int, request_id: str) -> Receipt:
        source = FromDataset(path, checked_name("request_id", request_id))

        def body(transaction: Transaction) -> BudgetExceeded | None:
            return reserve(transaction, source, event, times)

        refused = self._spending.run(group_of(path), body)
        if refused is not None and self._spending.give_back():
            refused = self._spending.run(group_of(path), body)
        if refused is not None:
            raise refused
        return Receipt(self, request_id, path)

    def release(self, receipt: Receipt) -> None:
        """Use up a receipt; see `Receipt.release`."""
        path, request = self._own(receipt, Receipt).path, receipt.request_id
        with self._spending.alone():
            self._spending.run(group_of(path), lambda t: show(t, path, request))

    def released(self, receipt: Receipt) -> bool:
        """Whether a receipt is used up."""

        path = self._own(receipt, Receipt).path

        def body(transaction: Transaction) -> bool:
            kept = transaction.storage.kept(receipt.request_id)
            return kept is not None and kept.released

        with self._spending.alone():
            return self._spending.run(group_of(path), body, writing=False)

    def steps(self, dataset: object, event: Event) -> Iterator[int]:
        """Number the releases of `event` that the budget bears: `for step in ledger.steps(...)`.

        Each is spent before it is handed out, so a loop that is left early has spent what it used;
        the iterator ends, without an error, where `spend` would refuse.

        >>> from dpcheck import Budget, PureDP
        >>> ledger = Ledger(budget=Budget(1.0), adjacency="add-remove")
        >>> list(ledger.steps(ledger.dataset("d"), PureDP(0.25)))
        [0, 1, 2, 3]
        """
        number = 0
        while True:
            try:
                self.spend(dataset, event)
            except BudgetExceeded:
                return
            yield number
            number += 1

    def plan(
        self, dataset: object, event: Event, *, delta: float | None = None, name: str | None = None
    ) -> Plan:
        """Declare a schedule whose kinds and numbers are fixed; it is paid for in full at once.

        Plans made before the first release are accounted together, by the tightest accountant, at
        `delta` (by default all that is left of the budget's). Later ones are added to it by basic
        composition, as are the adaptive releases.
        """
        if isinstance(event, Event):
            event = frozen(event)
        path = self._checked(dataset, event)
        if delta is not None:
            delta = probability("delta", delta)
        if name is None and self._spending.shared:
            raise LedgerMisuse("a plan in a shared ledger needs name=..., for others to find it.")
        if name is not None:
            checked_name("plan name", name)

        def body(transaction: Transaction) -> tuple[str, Batch]:
            return plan_for(transaction, path, event, delta, name)

        with self._spending.alone():
            self._spending.give_back()  # a plan may use what was only counted ahead
            found, batch = self._spending.run(group_of(path), body)
            source = FromPlan(found, group_of(path)[0])
            bound = between(0.0, float(batch.epsilon), batch.method, self._spending.terms.adjacency)
            return Plan(self, source, self._spending.prepaid_for(source), bound)

    def take_planned(self, plan: Plan, event: Event | None, times: int) -> None:
        """Use up planned releases; see `Plan.step`."""
        self._own(plan, Plan)
        if type(times) is not int or not 1 <= times <= MOST:
            times = count("times", times)
        if event is not None and not isinstance(event, Event):
            raise InvalidParameter(f"expected an event, got {brief(event)}.", value=event)
        with self._spending.alone():
            prepaid = None if event is None else plan.prepaid.get(key_of(event))
            if prepaid is not None and prepaid.left >= times:
                prepaid.left -= times
                return
            left = self._steps_left(plan.source)
            if event is None:
                if len(left) != 1:
                    raise LedgerMisuse(
                        f"plan {plan.name!r} has {len(left)} kinds of event; say which one: "
                        "plan.step(event=...)."
                    )
                event = next(iter(left))
            event = frozen(event)
            if event not in left:
                raise LedgerMisuse(
                    f"{event!r} is not in plan {plan.name!r}; spend it with ledger.spend()."
                )
            self._spending.take(plan.source, key_of(event), event, times)

    def steps_left(self, plan: Plan) -> dict[Event, int]:
        """What is left of a plan; see `Plan.left`."""
        self._own(plan, Plan)
        with self._spending.alone():
            left = self._steps_left(plan.source)
            for prepaid in plan.prepaid.values():
                left[prepaid.event] += prepaid.left
            return left

    def _steps_left(self, source: FromPlan) -> dict[Event, int]:
        def body(transaction: Transaction) -> dict[Event, int]:
            found = transaction.state.plans[source.name]
            return {e: limit - found.counts.get(e, 0) for e, limit in found.limits.items()}

        return self._spending.run((source.dataset,), body, writing=False)

    def _own(self, given: Mine, kind: type[Mine]) -> Mine:
        if not isinstance(given, kind) or given.ledger is not self:
            raise LedgerMisuse(f"{brief(given)} is no {kind.__name__.lower()} of this ledger.")
        return given

    def _handle(self, path: str, rows: int | None) -> Dataset:
        return Dataset(self, path, rows, self._spending.prepaid_for(FromDataset(path)))

    def close(self) -> None:
        """Give back what was counted ahead and let go of the file or the connection."""
        self._spending.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise LedgerMisuse(
            "a ledger cannot be copied into another process: two copies would spend the same "
            "budget twice. Use Ledger.open(path) in each."
        )
