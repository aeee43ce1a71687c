"""What a ledger answers about itself; nothing here spends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dpcheck.core.bound import Bound
from dpcheck.core.errors import InvalidParameter, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.core.validate import probability
from dpcheck.ledger.frozen import frozen
from dpcheck.ledger.handles import Dataset
from dpcheck.ledger.names import brief
from dpcheck.ledger.queries import Reader, how_many
from dpcheck.ledger.report import Remaining, Report
from dpcheck.ledger.rows import check_rows
from dpcheck.ledger.spending import Spending, Transaction
from dpcheck.ledger.state import Terms
from dpcheck.ledger.statements.page import Overview, Spender
from dpcheck.ledger.statements.written import Answers, Said, written
from dpcheck.ledger.storage.entries import Charged, Entry, Released
from dpcheck.ledger.timeline import timeline

Answer = TypeVar("Answer")


def group_of(path: str) -> tuple[str, ...]:
    """The dataset whose group a call about a part concerns."""
    return (path.split("/", 1)[0],)


_MOST_SHOWN = 100


def _spenders(made: list[tuple[str, Entry]]) -> list[Spender]:
    """Releases by whoever counted them, the most recent first."""
    found: dict[tuple[str, str], Spender] = {}
    for by, entry in made:
        if isinstance(entry, Released | Charged):
            where = entry.path if isinstance(entry, Released) else entry.population
            before = found.get((by, where), Spender(by, where, 0, 0.0))
            made_now = before.releases + entry.times
            found[by, where] = Spender(by, where, made_now, max(before.last, entry.time))
    return sorted(found.values(), key=lambda spender: -spender.last)


class Answering:
    """The questions a ledger answers."""

    _spending: Spending

    def epsilon(self, delta: float = 0.0, dataset: object = None) -> Bound:
        """An odometer: a bound on what was spent that may be read at any moment.

        Of the worst-off person, or of the worst-off of one dataset; `method` names the proof.
        Choose `delta` before looking at outputs. See `Account.odometer` for what it guarantees.
        """
        target = probability("delta", delta)
        path = None if dataset is None else self._path(dataset)

        def ask(reader: Reader) -> Bound:
            root = None if path is None else reader.state.nodes[path].root
            return reader.epsilon(target, root)

        return self._read(path, ask)

    def remaining(self, dataset: object = None) -> Remaining:
        """What is left to a dataset or part, by default to the one with the least."""
        path = None if dataset is None else self._path(dataset)

        def ask(reader: Reader) -> Remaining:
            return reader.remaining(None if path is None else reader.state.nodes[path])

        return self._read(path, ask, giving_back=True)

    def how_many(self, dataset: object, event: Event) -> int:
        """How many more releases of `event` `spend` would accept at once, at most 10^12."""
        path = self._checked(dataset, event)
        wanted = frozen(event)

        def ask(reader: Reader) -> int:
            return how_many(reader.state, reader.state.nodes[path], wanted)

        return self._read(path, ask, giving_back=True)

    def event(self, dataset: object) -> Event:
        """One event for all releases and plans of a dataset, as provenance composes them."""
        path = self._path(dataset)
        return self._read(path, lambda reader: reader.event(reader.state.nodes[path].root))

    def report(self) -> Report:
        """Everything spent, and which proof each number comes from."""
        return self._read(None, lambda reader: reader.report())

    def statement(self, format: str = "text", answers: Answers = None, audits: Said = ()) -> str:  # noqa: A002
        """To paste ("text"), for the registry of deployments ("registry"), for reviewers ("nist")."""

        def ask(reader: Reader) -> str:
            units = {n: (s.unit, s.max_rows_per_unit) for n, s in reader.state.specs.items()}
            units |= dict.fromkeys(reader.state.populations, ("account", 1))
            return written(format, reader.report(), units, answers, audits)

        return self._read(None, ask)

    def history(self) -> list[Entry]:
        """Every entry, oldest first, with the time it was made."""
        with self._spending.alone():
            return self._spending.run((), lambda t: t.storage.history(), writing=False)

    def stood_at(self, head: str) -> int | None:
        """How many entries there were when a statement printed this head; None if it never was.

        None says that the ledger was put back to an older state since, or that it is another one.
        """
        if not isinstance(head, str):
            raise InvalidParameter(f"the head must be text from a statement, got {brief(head)}.")
        with self._spending.alone():
            return self._spending.run((), lambda t: t.storage.stood_at(head), writing=False)

    def overview(self) -> Overview:
        """What `dpcheck ledger report` shows."""

        def ask(reader: Reader) -> tuple[Report, list[Remaining]]:
            state = reader.state
            least = sorted(state.specs, key=lambda name: -state.nodes[name].total.pure)[
                :_MOST_SHOWN
            ]
            return reader.report(), [reader.remaining(state.nodes[name]) for name in least]

        report, remaining = self._read(None, ask, giving_back=True)
        with self._spending.alone():
            made = self._spending.run((), lambda t: t.storage.spenders(), writing=False)
        points = timeline(self._spending.terms, [entry for _, entry in made])
        place = self._spending.storage.place
        return Overview(place, report, remaining, points, _spenders(made))

    @property
    def terms(self) -> Terms:
        """Budget, adjacency and filter it was opened on."""
        return self._spending.terms

    def _repr_html_(self) -> str | None:
        return self.report()._repr_html_()

    def _read(
        self, path: str | None, ask: Callable[[Reader], Answer], *, giving_back: bool = False
    ) -> Answer:
        """An answer about totals, without what was counted ahead and not used."""

        def body(transaction: Transaction) -> Answer:
            state = transaction.state
            head = transaction.storage.head() if path is None else None
            return ask(Reader(state, lambda root: self._spending.counts(state, root), head))

        with self._spending.alone():
            if giving_back:
                self._spending.give_back()
            names = None if path is None else group_of(path)
            return self._spending.run(names, body, writing=False)

    def _path(self, dataset: object) -> str:
        if not isinstance(dataset, Dataset) or dataset.ledger is not self:
            raise LedgerMisuse(
                f"{brief(dataset)} is not a dataset of this ledger; get one from ledger.dataset()."
            )
        return dataset.name

    def _checked(self, dataset: object, event: object) -> str:
        path = self._path(dataset)
        if not isinstance(event, Event):
            raise InvalidParameter(f"expected an event, got {brief(event)}.", value=event)
        if isinstance(dataset, Dataset) and dataset.rows is not None:
            check_rows(event, dataset.rows, path)
        return path
