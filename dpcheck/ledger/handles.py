"""What a ledger hands out: datasets to split and spend from, plans to step through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcheck.core.bound import Bound
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.validate import count
from dpcheck.ledger.names import checked_name
from dpcheck.ledger.provenance import SplitKind

if TYPE_CHECKING:
    from dpcheck.ledger.frozen import Key
    from dpcheck.ledger.ledger import Ledger
    from dpcheck.ledger.sources import FromPlan
    from dpcheck.ledger.spending import Prepaid


class Dataset:
    """A dataset of a ledger, or a part of one. Split it as the data is split; spend from it."""

    __slots__ = ("_path", "_rows", "ledger", "prepaid")

    def __init__(
        self, ledger: Ledger, path: str, rows: int | None, prepaid: dict[Key, Prepaid]
    ) -> None:
        self.ledger, self._path, self._rows, self.prepaid = ledger, path, rows, prepaid

    @property
    def name(self) -> str:
        """Its path: the dataset, then the splits that lead here."""
        return self._path

    @property
    def rows(self) -> int | None:
        """The public number of rows, if there is one."""
        return self._rows

    def __repr__(self) -> str:
        return f"<Dataset {self.name!r}, rows {self.rows}>"

    def split_rows(self, parts: int | Sequence[int], *, name: str | None = None) -> list[Dataset]:
        """Parts of other people: who is in which is fixed by index, whatever the records hold.

        `parts` is a number of near-equal parts or a list of sizes. Costs the maximum of the parts.
        Assumes: under add-remove, that adding a record moves no other record to another part.
        """
        rows = self.rows
        sizes: list[int | None]
        if isinstance(parts, Sequence):
            sizes = [count("size", size) for size in parts]
            if rows is not None and sum(s or 0 for s in sizes) != rows:
                raise InvalidParameter(
                    f"the sizes of {self.name!r} add up to {sum(s or 0 for s in sizes)}, but it "
                    f"has {rows} rows; list every row once.",
                    sizes=sizes,
                )
        else:
            number = count("parts", parts)
            if rows is not None and number > rows:
                raise InvalidParameter(
                    f"{self.name!r} has {rows} rows, too few for {number} parts.", parts=number
                )
            sizes = [None] * number
            if rows is not None:
                sizes = [rows // number + (i < rows % number) for i in range(number)]
        labels = [str(i) for i in range(len(sizes))]
        return self.ledger.split(self, SplitKind.ROWS, name, labels, sizes)

    def split_by(self, key: str, parts: int | Sequence[str]) -> list[Dataset]:
        """Parts by a private attribute of the record, such as the hospital or the label.

        Under add-remove and zero-out it costs the maximum of the parts. Under replace-one a record
        may also leave one part and enter another, so it costs the worse of one part under
        replace-one and of two parts under add-remove, together. A guarantee without an adjacency of
        its own, PureDP(1.0), is vouched for under both.
        """
        labels = _labels(parts)
        name = checked_name("key", key)
        return self.ledger.split(self, SplitKind.KEY, name, labels, [None] * len(labels))

    def split_columns(
        self, parts: int | Sequence[str], *, name: str | None = None
    ) -> list[Dataset]:
        """Parts of the same people's records. Costs the sum of the parts."""
        labels = _labels(parts)
        rows = [self.rows] * len(labels)
        return self.ledger.split(self, SplitKind.COLUMNS, name, labels, rows)


def _labels(parts: int | Sequence[str]) -> list[str]:
    if isinstance(parts, Sequence) and not isinstance(parts, str):
        labels = [checked_name("part", part) for part in parts]
        if not labels or len(set(labels)) != len(labels):
            raise InvalidParameter("give at least one part, each with a name of its own.")
        return labels
    return [str(i) for i in range(count("parts", parts))]


class Plan:
    """A schedule that was paid for when it was declared; step through it as releases are made."""

    __slots__ = ("bound", "ledger", "prepaid", "source")

    def __init__(
        self, ledger: Ledger, source: FromPlan, prepaid: dict[Key, Prepaid], bound: Bound
    ) -> None:
        self.ledger, self.source, self.prepaid, self.bound = ledger, source, prepaid, bound

    @property
    def name(self) -> str:
        """As it was declared."""
        return self.source.name

    @property
    def left(self) -> dict[Event, int]:
        """How many of each event are still to come."""
        return self.ledger.steps_left(self)

    def step(self, times: int = 1, event: Event | None = None) -> None:
        """Take the next `times` releases of the plan, of `event` where it has several kinds.

        Raises BudgetExceeded when the plan has fewer left, LedgerMisuse for an event it does not
        have; nothing changes then.
        """
        self.ledger.take_planned(self, event, times)

    def __repr__(self) -> str:
        return f"<Plan {self.name!r}, {sum(self.left.values())} left>"
