"""The ledger: what people agreed to lose, what was released, and no release beyond it.

`spend` is for releases that are chosen, or stopped, after seeing outputs: proved filters only.
`plan` is for schedules fixed in advance: the tightest accountant. See docs/explanation/ledger.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.budget import Budget
from dpcheck.core.errors import InvalidParameter, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.core.validate import count, probability
from dpcheck.ledger.book import Book, DatasetSpec
from dpcheck.ledger.filters import choose_filter
from dpcheck.ledger.handles import Dataset, Plan, checked_name
from dpcheck.ledger.journal import header_of, terms_of
from dpcheck.ledger.plans import declare_plan
from dpcheck.ledger.prepaid import Till
from dpcheck.ledger.provenance import Node, SplitKind
from dpcheck.ledger.queries import Reader
from dpcheck.ledger.report import Remaining, Report, statement
from dpcheck.ledger.rows import check_rows
from dpcheck.ledger.store import Store

__all__ = ["Dataset", "Ledger", "Plan", "Remaining", "Report"]


class Ledger:
    """A budget, the datasets it covers, and everything released from them.

    Guarantee: as long as every release is spent or planned here first, each person's data is
    (epsilon, delta)-DP under `adjacency` at the budget of every dataset they are in, and at the
    ledger's budget over all datasets declared to overlap.
    Reference: the filters' theorems in `filters`, plans by [Haney2023]; the proof that
    ties them together stands in docs/explanation/ledger.md.

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
        reserve: float = 0.1,
        block: int = 1000,
    ) -> None:
        if not isinstance(budget, Budget):
            raise InvalidParameter(f"budget must be a Budget, got {budget!r}.", value=budget)
        chosen = choose_filter(budget, filter, order, probability("reserve", reserve))
        self._book = Book(budget, as_adjacency(adjacency), chosen, float(reserve))
        self._till = Till(self._book, count("block", block))

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
        block: int = 1000,
    ) -> Ledger:
        """A ledger kept in a file, to which several processes may spend.

        Up to `block` releases of one kind are counted ahead (never more than this process has
        already made of it), so most cost no disk access. A crash therefore counts too many, never
        too few; block=1 is exact. `close()` gives back what was not used.

        Opening an existing ledger needs no arguments; those that are given must agree with it.
        """
        given = {
            "budget": budget,
            "adjacency": None if adjacency is None else as_adjacency(adjacency),
            "filter": filter,
            "order": order,
            "reserve": reserve,
        }
        given = {name: value for name, value in given.items() if value is not None}
        header = None
        if budget is not None and adjacency is not None:
            header = header_of(cls(**given)._book)  # type: ignore[arg-type]  # checked there
        store = Store(Path(path), header)
        try:
            terms = terms_of(store.header)
            for name, value in given.items():
                if value != terms[name]:
                    raise LedgerMisuse(
                        f"the ledger {path} was opened with {name} {terms[name]}, not {value}; "
                        "open it as it is, or start another.",
                        stored=terms[name],
                    )
            self = cls(**terms, block=block)
            self._till.store = store
            with self._till.transaction():
                pass  # learns what the file holds
        except BaseException:
            store.close()
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
        spec = DatasetSpec(
            checked_name("dataset name", name),
            rows,
            budget,
            checked_name("unit", unit),
            count("max_rows_per_unit", max_rows_per_unit),
        )
        with self._till.transaction() as write:
            known = self._book.specs.get(name)
            if known is not None and known != spec:
                raise LedgerMisuse(f"dataset {name!r} was declared before, as {known}.")
            if known is None:
                write(self._till.facts.dataset(spec))
        return self._handle(self._book.nodes[name])

    def overlaps(self, *datasets: Dataset) -> None:
        """A person may be in several of these: their costs add up, within the ledger's budget."""
        names = [self._root_name(d) for d in datasets]
        if len(set(names)) < 2:
            raise LedgerMisuse("name at least two different datasets that may share a person.")
        with self._till.transaction() as write:
            for account in self._book.accounts_with(names):
                used = [root.path for root in account.roots if self._book.released(root)]
                if used:
                    raise LedgerMisuse(
                        f"{used[0]!r} has releases already; declare overlaps before the first one.",
                        dataset=used[0],
                    )
                if account.refusal(account.total()) is not None:
                    raise LedgerMisuse(
                        f"the plans of {account.name!r} together exceed the budget "
                        f"{account.budget} of a person in all of them; declare overlaps first."
                    )
            write(self._till.facts.overlap(names))

    def split(
        self,
        dataset: Dataset,
        kind: SplitKind,
        name: str | None,
        labels: list[str],
        rows: list[int | None],
    ) -> list[Dataset]:
        """The parts of a dataset; use its split_rows, split_by and split_columns."""
        node = self._node(dataset)
        if name is None:
            if self._till.store is not None:
                raise LedgerMisuse(
                    f"splitting {node.path!r} in a shared ledger needs name=..., so that every "
                    "process means the same parts."
                )
            number = 1 + sum(s.kind is kind for s in node.splits.values())
            name = f"{kind.value}#{number}"
        else:
            name = checked_name("split name", name)
        with self._till.transaction() as write:
            known = node.splits.get(name)
            if known is not None:
                paths = [f"{node.path}/{name}[{label}]" for label in labels]
                same = [p.path for p in known.parts] == paths and known.kind is kind
                if not same or [p.rows for p in known.parts] != rows:
                    raise LedgerMisuse(f"{node.path!r} was split as {name!r} before, otherwise.")
            else:
                write(self._till.facts.split(node, name, kind, labels, rows))
        return [self._handle(part) for part in node.splits[name].parts]

    # Spending ------------------------------------------------------------------------------------

    def spend(self, dataset: object, event: Event, times: int = 1) -> None:
        """Count `times` releases of `event` before they are made; each may depend on all outputs.

        Raises BudgetExceeded, and changes nothing, if the budget cannot bear all of them.
        """
        if type(times) is not int or times < 1:
            times = count("times", times)
        with self._till.lock:
            if isinstance(dataset, Dataset) and dataset.ledger is self:
                held = dataset.held.get(event)
                if held is not None and held.left >= times:
                    held.left -= times
                    return
            self._till.take(self._checked(dataset, event).node, event, times)

    def plan(
        self, dataset: object, event: Event, *, delta: float | None = None, name: str | None = None
    ) -> Plan:
        """Declare a schedule whose kinds and numbers are fixed; it is paid for in full at once.

        Plans made before the first release are accounted together, by the tightest accountant, at
        `delta` (by default all that is left of the budget's). Later ones are added to it by basic
        composition, as are the adaptive releases.
        """
        checked = self._checked(dataset, event)
        if delta is not None:
            delta = probability("delta", delta)
        if name is None:
            if self._till.store is not None:
                raise LedgerMisuse(
                    "a plan in a shared ledger needs name=..., so that others can find it."
                )
            name = f"plan-{len(self._book.plans) + 1}"
        checked_name("plan name", name)
        with self._till.transaction() as write:
            known = self._book.plans.get(name)
            if known is None:
                write(*declare_plan(self._book, self._till.facts, checked.node, event, delta, name))
            elif known.node is not checked.node or known.event != event:
                raise LedgerMisuse(f"plan {name!r} was declared before, with another schedule.")
        state = self._book.plans[name]
        batch = self._book.batches[state.node.root][state.batch]
        bound = Bound(0.0, float(batch.epsilon), batch.method, self._book.adjacency)
        return Plan(self, state, self._till.held_for(state), bound)

    def take_planned(self, plan: Plan, event: Event, times: int) -> None:
        """Use up planned releases; see `Plan.step`."""
        if type(times) is not int or times < 1:
            times = count("times", times)
        with self._till.lock:
            held = plan.held.get(event)
            if held is not None and held.left >= times:
                held.left -= times
                return
            if event not in plan.state.limits:
                raise LedgerMisuse(
                    f"{event!r} is not in plan {plan.name!r}; spend it with ledger.spend()."
                )
            self._till.take(plan.state, event, times)

    # Reading -------------------------------------------------------------------------------------

    def epsilon(self, delta: float = 0.0, dataset: object = None) -> Bound:
        """An odometer: a bound on what was spent that may be read at any moment.

        Of the worst-off person, or of the worst-off of one dataset; `method` names the proof.
        Choose `delta` before looking at outputs. See `Account.odometer` for what it guarantees.
        """
        target = probability("delta", delta)
        root = None if dataset is None else self._node(dataset).root
        with self._reader() as reader:
            return reader.epsilon(target, root)

    def remaining(self, dataset: object = None) -> Remaining:
        """What is left to a dataset or part, by default to the one with the least."""
        node = None if dataset is None else self._node(dataset)
        with self._reader() as reader:
            return reader.remaining(node)

    def how_many(self, dataset: object, event: Event) -> int:
        """How many more releases of `event` `spend` would accept, at most 10^12."""
        node = self._checked(dataset, event).node
        with self._reader() as reader:
            return reader.how_many(node, event)

    def event(self, dataset: object) -> Event:
        """One event for all releases and plans of a dataset, as provenance composes them."""
        root = self._node(dataset).root
        with self._reader() as reader:
            return reader.event(root)

    def report(self) -> Report:
        """Everything spent, and which proof each number comes from."""
        with self._reader() as reader:
            return reader.report()

    def statement(self) -> str:
        """A privacy statement to paste."""
        units = {n: (s.unit, s.max_rows_per_unit) for n, s in self._book.specs.items()}
        return statement(self.report(), units)

    def _repr_html_(self) -> str | None:
        return self.report()._repr_html_()

    # Machinery -----------------------------------------------------------------------------------

    @contextmanager
    def _reader(self) -> Iterator[Reader]:
        """Answers about totals without what was counted ahead and not used."""
        with self._till.transaction():
            self._till.settle_totals()
            yield Reader(self._book, self._till.used)

    def _handle(self, node: Node) -> Dataset:
        return Dataset(self, node, self._till.held_for(node))

    def _node(self, dataset: object) -> Node:
        if not isinstance(dataset, Dataset) or dataset.ledger is not self:
            raise LedgerMisuse(
                f"{dataset!r} is not a dataset of this ledger; make one with ledger.dataset()."
            )
        return dataset.node

    def _root_name(self, dataset: object) -> str:
        node = self._node(dataset)
        if node.part_of is not None:
            raise LedgerMisuse(f"{node.path!r} is a part; overlaps are declared of whole datasets.")
        return node.path

    def _checked(self, dataset: object, event: object) -> Dataset:
        node = self._node(dataset)
        if not isinstance(event, Event):
            raise InvalidParameter(f"expected an event, got {event!r}.", value=event)
        if node.rows is not None:
            check_rows(event, node.rows, node.path)
        assert isinstance(dataset, Dataset)
        return dataset

    def close(self) -> None:
        """Give back what was counted ahead and let go of the file."""
        self._till.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise LedgerMisuse(
            "a ledger cannot be copied into another process: two copies would spend the same "
            "budget twice. Use Ledger.open(path) in each."
        )
