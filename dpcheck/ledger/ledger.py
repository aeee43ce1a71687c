"""The ledger: what people agreed to lose, what was released, and no release beyond it.

`spend` is for releases that are chosen, or stopped, after seeing outputs: proved filters only.
`plan` is for schedules fixed in advance: the tightest accountant. See docs/explanation/ledger.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.budget import Budget
from dpcheck.core.errors import BudgetExceeded, InvalidParameter, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.core.validate import count, probability
from dpcheck.ledger.handles import Dataset, Plan, brief, checked_name
from dpcheck.ledger.plans import declare_plan
from dpcheck.ledger.provenance import SplitKind
from dpcheck.ledger.queries import Reader, how_many
from dpcheck.ledger.report import Remaining, Report
from dpcheck.ledger.rows import check_rows, rows_per_unit, too_deep
from dpcheck.ledger.spending import FromDataset, FromPlan, Spending
from dpcheck.ledger.state import DatasetSpec, State, Terms
from dpcheck.ledger.statements.written import Answers, Said, written
from dpcheck.ledger.storage.entries import DatasetDeclared, Entry, OverlapDeclared, SplitDeclared
from dpcheck.ledger.storage.file import FileJournal, as_path
from dpcheck.ledger.storage.terms import check_agreement, make_terms, read_terms, write_terms

__all__ = ["Dataset", "Ledger", "Plan", "Remaining", "Report"]


class Ledger:
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
    ) -> Ledger:
        """A ledger kept in a file, to which several processes may spend.

        Up to `block` releases of one kind are counted ahead (never more than this process has
        already made of it), so most cost no disk access. A crash therefore counts too many, never
        too few; block=1 is exact. `close()` gives back what was not used.

        Opening an existing ledger needs no arguments; those that are given must agree with it.
        """
        wanted = None
        if budget is not None and adjacency is not None:
            wanted = write_terms(make_terms(budget, adjacency, filter, order, reserve, expect))
        journal = FileJournal(as_path(path), wanted)
        try:
            terms = read_terms(journal.terms)
            given = {"budget": budget, "adjacency": adjacency, "filter": filter, "order": order}
            check_agreement(path, terms, {**given, "reserve": reserve, "expect": expect})
            self = cls.__new__(cls)
            self._spending = Spending(terms, count("block", block), journal)
            with self._spending.transaction():
                pass  # learns what the file holds
        except BaseException:
            journal.close()
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
        with self._spending.transaction() as transaction:
            known = transaction.state.specs.get(name)
            if known is not None and known != spec:
                raise LedgerMisuse(f"dataset {name!r} was declared before, as {known}.")
            if known is None:
                transaction.write(DatasetDeclared(spec))
        return self._handle(name, rows)

    def overlaps(self, *datasets: Dataset) -> None:
        """A person may be in several of these: their costs add up, within the ledger's budget."""
        names = [self._root_name(d) for d in datasets]
        if len(set(names)) < 2:
            raise LedgerMisuse("name at least two different datasets that may share a person.")
        with self._spending.transaction() as transaction:
            state = transaction.state
            for account in state.accounts_with(names):
                used = [root.path for root in account.roots if state.released(root)]
                if used:
                    raise LedgerMisuse(
                        f"{used[0]!r} has releases already; declare overlaps before the first one.",
                        dataset=used[0],
                    )
                if not account.accepts(account.total(), None):
                    raise LedgerMisuse(
                        f"the plans of {account.name!r} together exceed the budget "
                        f"{account.budget} of a person in all of them; declare overlaps first."
                    )
            transaction.write(OverlapDeclared(tuple(names)))

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
        if name is None and self._spending.shared:
            raise LedgerMisuse(
                f"splitting {path!r} in a shared ledger needs name=..., so that every process means "
                "the same parts."
            )
        with self._spending.transaction() as transaction:
            splits = transaction.state.nodes[path].splits
            if name is None:
                name = f"{kind.value}#{1 + sum(s.kind is kind for s in splits.values())}"
            checked_name("split name", name)
            paths = [f"{path}/{name}[{label}]" for label in labels]
            known = splits.get(name)
            if known is None:
                declared = SplitDeclared(path, name, kind, tuple(labels), tuple(rows))
                transaction.write(declared)
            elif (
                known.kind is not kind
                or [part.path for part in known.parts] != paths
                or [part.rows for part in known.parts] != rows
            ):
                raise LedgerMisuse(f"{path!r} was split as {name!r} before, otherwise.")
        return [self._handle(part, size) for part, size in zip(paths, rows, strict=True)]

    # Spending ------------------------------------------------------------------------------------

    def spend(self, dataset: object, event: Event, times: int = 1) -> None:
        """Count `times` releases of `event` before they are made; each may depend on all outputs.

        Raises BudgetExceeded, and changes nothing, if the budget cannot bear all of them.
        """
        if type(times) is not int or times < 1:
            times = count("times", times)
        with self._spending.lock:
            try:
                if (
                    isinstance(dataset, Dataset)
                    and dataset.ledger is self
                    and isinstance(event, Event)
                ):
                    prepaid = dataset.prepaid.get(event)
                    if prepaid is not None and prepaid.left >= times:
                        prepaid.left -= times
                        return
                self._spending.take(FromDataset(self._checked(dataset, event)), event, times)
            except RecursionError:
                raise too_deep() from None

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
        path = self._checked(dataset, event)
        if delta is not None:
            delta = probability("delta", delta)
        if name is None and self._spending.shared:
            raise LedgerMisuse("a plan in a shared ledger needs name=..., for others to find it.")
        self._spending.give_back()  # a plan may use what was only counted ahead
        with self._spending.transaction() as transaction:
            state = transaction.state
            name = checked_name("plan name", name or f"plan-{len(state.plans) + 1}")
            known = state.plans.get(name)
            if known is None:
                declared = declare_plan(state, state.nodes[path], event, delta, name)
                transaction.write(declared)
                batch = declared.cost
            elif known.node.path != path or known.event != event:
                raise LedgerMisuse(f"plan {name!r} was declared before, with another schedule.")
            else:
                batch = state.batches[known.node.root][known.batch]
        bound = Bound(0.0, float(batch.epsilon), batch.method, self._spending.terms.adjacency)
        return Plan(self, name, self._spending.prepaid_for(FromPlan(name)), bound)

    def take_planned(self, plan: Plan, event: Event | None, times: int) -> None:
        """Use up planned releases; see `Plan.step`."""
        if type(times) is not int or times < 1:
            times = count("times", times)
        with self._spending.lock:
            prepaid = None if event is None else plan.prepaid.get(event)
            if prepaid is not None and prepaid.left >= times:
                prepaid.left -= times
                return
            left = self.steps_left(plan.name)
            if event is None:
                if len(left) != 1:
                    raise LedgerMisuse(
                        f"plan {plan.name!r} has {len(left)} kinds of event; say which one: "
                        "plan.step(event=...)."
                    )
                event = next(iter(left))
            elif event not in left:
                raise LedgerMisuse(
                    f"{event!r} is not in plan {plan.name!r}; spend it with ledger.spend()."
                )
            self._spending.take(FromPlan(plan.name), event, times)

    def steps_left(self, plan: str) -> dict[Event, int]:
        """What is left of a plan, without what this process has counted ahead; see `Plan.left`."""
        with self._spending.transaction() as transaction:
            found = transaction.state.plans[plan]
            return {e: limit - found.counts.get(e, 0) for e, limit in found.limits.items()}

    # Reading -------------------------------------------------------------------------------------

    def epsilon(self, delta: float = 0.0, dataset: object = None) -> Bound:
        """An odometer: a bound on what was spent that may be read at any moment.

        Of the worst-off person, or of the worst-off of one dataset; `method` names the proof.
        Choose `delta` before looking at outputs. See `Account.odometer` for what it guarantees.
        """
        target = probability("delta", delta)
        path = None if dataset is None else self._path(dataset)
        with self._reader() as (reader, state):
            return reader.epsilon(target, None if path is None else state.nodes[path].root)

    def remaining(self, dataset: object = None) -> Remaining:
        """What is left to a dataset or part, by default to the one with the least."""
        path = None if dataset is None else self._path(dataset)
        self._spending.give_back()
        with self._reader() as (reader, state):
            return reader.remaining(None if path is None else state.nodes[path])

    def how_many(self, dataset: object, event: Event) -> int:
        """How many more releases of `event` `spend` would accept at once, at most 10^12."""
        path = self._checked(dataset, event)
        self._spending.give_back()
        with self._reader() as (_, state):
            return how_many(state, state.nodes[path], event)

    def event(self, dataset: object) -> Event:
        """One event for all releases and plans of a dataset, as provenance composes them."""
        path = self._path(dataset)
        with self._reader() as (reader, state):
            return reader.event(state.nodes[path].root)

    def report(self) -> Report:
        """Everything spent, and which proof each number comes from."""
        with self._reader() as (reader, _):
            return reader.report()

    def statement(self, format: str = "text", answers: Answers = None, audits: Said = ()) -> str:  # noqa: A002
        """To paste ("text"), for the registry of deployments ("registry"), for reviewers ("nist")."""
        with self._reader() as (reader, state):
            units = {n: (s.unit, s.max_rows_per_unit) for n, s in state.specs.items()}
            return written(format, reader.report(), units, answers, audits)

    def history(self) -> list[Entry]:
        """Every entry of the journal, oldest first, with the time it was made."""
        with self._spending.transaction():
            return self._spending.journal.read(0)

    @property
    def terms(self) -> Terms:
        """Budget, adjacency and filter it was opened on."""
        return self._spending.terms

    def _repr_html_(self) -> str | None:
        return self.report()._repr_html_()

    @contextmanager
    def _reader(self) -> Iterator[tuple[Reader, State]]:
        """Answers about totals without what was counted ahead and not used."""
        with self._spending.transaction() as transaction:
            yield Reader(transaction.state, self._spending.counts), transaction.state

    def _handle(self, path: str, rows: int | None) -> Dataset:
        return Dataset(self, path, rows, self._spending.prepaid_for(FromDataset(path)))

    def _path(self, dataset: object) -> str:
        if not isinstance(dataset, Dataset) or dataset.ledger is not self:
            raise LedgerMisuse(
                f"{brief(dataset)} is not a dataset of this ledger; make one with ledger.dataset()."
            )
        return dataset.name

    def _root_name(self, dataset: object) -> str:
        path = self._path(dataset)
        if "/" in path:
            raise LedgerMisuse(f"{path!r} is a part; overlaps are declared of whole datasets.")
        return path

    def _checked(self, dataset: object, event: object) -> str:
        path = self._path(dataset)
        if not isinstance(event, Event):
            raise InvalidParameter(f"expected an event, got {brief(event)}.", value=event)
        if isinstance(dataset, Dataset) and dataset.rows is not None:
            check_rows(event, dataset.rows, path)
        return path

    def close(self) -> None:
        """Give back what was counted ahead and let go of the file."""
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
