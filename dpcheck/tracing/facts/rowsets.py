"""Which records the rows of an array belong to."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sampling:
    """How rows were chosen by coins that depend on no data.

    Poisson: each with probability `rate`, on its own coin. Otherwise `batch` of `count` at once.
    `ids` are the draws: an amplified release is the only one that may have seen them.
    """

    ids: frozenset[int]
    rate: float = 1.0
    batch: int | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RowSet:
    """A list of records, in an order that is the same for every array that has this set.

    `count` is their number, None where it is not public. `optional` if a record's own values decide
    whether it is in. `first` is the place of the first one where they are consecutive.
    """

    count: int | None
    optional: bool = False
    sampling: Sampling | None = None
    records: frozenset[int] | None = None
    order: tuple[int, ...] | None = None  # the same records as they stand in the array
    parts: dict[object, RowSet] = field(default_factory=dict)

    def part(self, key: object, **changes: object) -> RowSet:
        """The same selection is the same set, however often it is made."""
        if key not in self.parts:
            known = {
                "count": self.count,
                "optional": self.optional,
                "sampling": self.sampling,
                "records": self.records,
                "order": self.order,
            }
            self.parts[key] = RowSet(**{**known, **changes})  # type: ignore[arg-type]
        return self.parts[key]
