"""How outputs become rows: learned on learning runs, frozen, and applied to every later run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.outputs.columns import (
    Category,
    Column,
    Flag,
    State,
    Unforeseen,
    Value,
    finite,
)
from dpcheck.auditing.outputs.slots import Slot
from dpcheck.auditing.outputs.summaries import Summaries, separation, summarise
from dpcheck.auditing.outputs.tables import Encoded, Plain, Table, joined

Array = NDArray[np.float64]
MOST_COLUMNS = 64
_SUMMARISED, _WORTH_SUMS = 2, 8  # the widest places, if they have more entries than that
_CONSTANTS = 256  # places that never changed in learning runs, and are watched
_CATEGORIES = 1024
_FEW = 0.25  # share of runs whose category was seen once, from which on it is none


class Reader(Protocol):
    """Rows of finite numbers from outputs, always of the same width."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are; empty where outputs are plain rows of numbers."""

    def rows(self, encoded: Encoded) -> Array:
        """One row per output, which depends on that output alone."""

    def label(self, column: int, threshold: float) -> str:
        """A value of a column as somebody would type it."""


@dataclass(frozen=True, slots=True)
class PlainReader:
    """Outputs that are their own rows; an output of another kind becomes the row `far`."""

    type: str
    shape: tuple[int, ...]
    far: Array

    @property
    def names(self) -> tuple[str, ...]:
        """None: columns are values by number."""
        return ()

    def rows(self, encoded: Encoded) -> Array:
        """The rows as they are."""
        if isinstance(encoded, Plain) and self._fits(encoded):
            return encoded.rows
        table = encoded.as_table()
        result = np.repeat(self.far[None, :], table.size, axis=0)
        for slot, (values, _) in Plain(result, self.type, self.shape).as_table().numbers.items():
            if slot in table.numbers and table.numbers[slot][0].shape[1] == values.shape[1]:
                found, counts = table.numbers[slot]
                whole = (counts == values.shape[1]) & np.isfinite(found).all(axis=1)
                result[whole] = found[whole]
        return result

    def _fits(self, encoded: Plain) -> bool:
        return (encoded.type, encoded.shape) == (self.type, self.shape)

    def label(self, column: int, threshold: float) -> str:  # noqa: ARG002 - the interface
        """The number."""
        return f"{threshold:.6g}"


@dataclass(frozen=True, slots=True)
class TableReader:
    """Named columns of outputs of any kind; with `summaries` of all where they are a choice."""

    columns: tuple[Column, ...]
    slots: frozenset[Slot]
    summaries: tuple[Summaries, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are."""
        singles = tuple(column.name for column in self.columns)
        return singles + tuple(name for group in self.summaries for name in group.names)

    def rows(self, encoded: Encoded) -> Array:
        """The columns side by side."""
        table = encoded.as_table(self.slots)
        singles = np.stack([column(table) for column in self.columns], axis=1)
        return np.hstack([singles, *(group(table) for group in self.summaries)])

    def label(self, column: int, threshold: float) -> str:
        """A value of a column as somebody would type it."""
        if column >= len(self.columns):
            return f"{threshold:.6g}"
        return self.columns[column].label(threshold)


def is_plain(parts: Sequence[Encoded]) -> bool:
    """Whether outputs are few numbers, always of one type and shape."""
    kinds = {(p.type, p.shape) for p in parts if isinstance(p, Plain)}
    return (
        len(kinds) == 1
        and all(isinstance(part, Plain) for part in parts)
        and all(isinstance(p, Plain) and p.rows.shape[1] <= MOST_COLUMNS for p in parts)
    )


def learn_reader(first: Sequence[Encoded], second: Sequence[Encoded]) -> Reader:
    """The reader for outputs of both sides of a pair."""
    parts = [*first, *second]
    if is_plain(parts):
        plain = parts[0]
        assert isinstance(plain, Plain)
        rows = [p.rows for p in parts if isinstance(p, Plain)]
        high = np.max([part.max(axis=0) for part in rows], axis=0)
        low = np.min([part.min(axis=0) for part in rows], axis=0)
        return PlainReader(plain.type, plain.shape, high + (high - low) + 1.0)
    one, two = (joined([part.as_table() for part in side]) for side in (first, second))
    return _learn_columns(one, two)


def _learn_columns(first: Table, second: Table) -> TableReader:
    both = joined([first, second])
    candidates: list[tuple[Column, Array]] = []
    constants: list[tuple[Column, float]] = []
    for column, values in _possible(both):
        if (values == values[0]).all():
            constants.append((column, float(values[0])))
        elif not (isinstance(column, State) and _told_already(values, candidates)):
            candidates.append((column, values))
    slots = frozenset([*both.numbers, *both.tokens, *both.flags])
    categories = tuple(
        column
        for column, values in candidates
        if isinstance(column, Category) and not (values == len(column.known)).any()
    )
    beyond = Unforeseen(categories, tuple(constants[:_CONSTANTS]))
    if len(candidates) < MOST_COLUMNS:
        return TableReader((*(column for column, _ in candidates), beyond), slots)
    summaries = _summaries(first, second)
    room = MOST_COLUMNS - 1 - sum(len(group.names) for group in summaries)
    matrix = np.stack([values for _, values in candidates], axis=1)
    apart = separation(matrix[: first.size], matrix[first.size :])
    best = np.sort(np.argsort(-apart, kind="stable")[:room])
    return TableReader((*(candidates[i][0] for i in best), beyond), slots, summaries)


def _summaries(first: Table, second: Table) -> tuple[Summaries, ...]:
    widths = {
        slot: values.shape[1]
        for table in (first, second)
        for slot, (values, _) in table.numbers.items()
    }
    widest = sorted(widths, key=lambda slot: (-widths[slot], slot.path))[:_SUMMARISED]
    return tuple(summarise(slot, first, second) for slot in widest if widths[slot] > _WORTH_SUMS)


def _possible(table: Table) -> Iterator[tuple[Column, Array]]:
    """Every column a table could give with its values, in the order of its places."""
    for token, texts in table.tokens.items():
        known = _known(texts)
        if known:
            category = Category(token, known)
            yield category, category(table)
    for slot, (values, counts) in table.numbers.items():
        absent = np.arange(values.shape[1]) >= counts[:, None]
        irregular = np.any(~np.isfinite(values) & ~absent, axis=0, keepdims=True)[0]
        somewhere_absent = counts.min() == 0 and counts.max() > 0
        kept = finite(values)
        for index in range(values.shape[1]):
            yield Value(slot, index), kept[:, index]
            # That a longer array has more entries is told by its length, which is a column.
            if irregular[index] or (somewhere_absent and index == 0):
                state = State(slot, index)
                yield state, state(table)
    for slot in table.flags:
        flag = Flag(slot)
        yield flag, flag(table)


def _known(texts: Sequence[str | None]) -> tuple[str, ...]:
    """The categories of a place, in order; none where most texts occur once."""
    counts = Counter(text for text in texts if text is not None)
    once = sum(1 for number in counts.values() if number == 1)
    if once > _FEW * sum(counts.values()) and len(counts) > 2:
        counts = Counter({text: number for text, number in counts.items() if number > 1})
    return tuple(sorted(text for text, _ in counts.most_common(_CATEGORIES)))


def _told_already(values: Array, others: Sequence[tuple[Column, Array]]) -> bool:
    """Whether a column with few values splits the runs as another one does."""
    mine = np.unique(values, return_inverse=True)[1]
    most = int(mine.max()) + 1
    for column, found in others:
        if isinstance(column, Category | State):
            theirs = np.unique(found, return_inverse=True)[1]
            if theirs.max() + 1 == most == len(np.unique(mine * most + theirs)):
                return True
    return False
