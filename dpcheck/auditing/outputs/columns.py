"""Columns of numbers taken from tables of outputs; fixed once, then the same for every run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.outputs.slots import Slot
from dpcheck.auditing.outputs.tables import Table

Array = NDArray[np.float64]
STATES = ("a number", "NaN", "inf", "-inf", "absent")
LARGEST = 1e150  # squares of what is kept are finite


class Column(Protocol):
    """One number per output."""

    @property
    def name(self) -> str:
        """What it is, as Python where that is possible."""

    def __call__(self, table: Table) -> Array:
        """A finite number for every run."""

    def label(self, threshold: float) -> str:
        """A value of the column as somebody would type it."""


def entries(table: Table, slot: Slot, index: int) -> Array:
    """An entry of a place in all runs; NaN where a run lacks it."""
    if slot not in table.numbers or index >= table.numbers[slot][0].shape[1]:
        return np.full(table.size, np.nan)
    return table.numbers[slot][0][:, index]


def present(table: Table, slot: Slot, index: int) -> NDArray[np.bool_]:
    """Which runs have an entry."""
    if slot not in table.numbers:
        return np.zeros(table.size, dtype=bool)
    return table.numbers[slot][1] > index


def finite(values: Array) -> Array:
    """Numbers as they are; what is none is 0, since its state is another column."""
    kept = np.where(np.isfinite(values), values, 0.0)
    return np.clip(kept, -LARGEST, LARGEST)


def states(table: Table, slot: Slot, index: int) -> Array:
    """Which of STATES every run's entry is in."""
    values = entries(table, slot, index)
    found = np.zeros(table.size)
    found[np.isnan(values)] = 1
    found[np.isposinf(values)] = 2
    found[np.isneginf(values)] = 3
    found[~present(table, slot, index)] = 4
    return found


@dataclass(frozen=True, slots=True)
class Value:
    """A number of the output."""

    slot: Slot
    index: int

    @property
    def name(self) -> str:
        """The entry as Python."""
        return self.slot.name(self.index)

    def __call__(self, table: Table) -> Array:
        """The number, 0 where there is none."""
        return finite(entries(table, self.slot, self.index))

    def label(self, threshold: float) -> str:
        """The number."""
        return f"{threshold:.6g}"


@dataclass(frozen=True, slots=True)
class State:
    """Whether a number is one, NaN, infinite or absent."""

    slot: Slot
    index: int

    @property
    def name(self) -> str:
        """In words."""
        return f"state of {self.slot.name(self.index)}"

    def __call__(self, table: Table) -> Array:
        """The place in STATES."""
        return states(table, self.slot, self.index)

    def label(self, threshold: float) -> str:
        """The state nearest to a threshold."""
        return STATES[int(np.clip(round(threshold), 0, len(STATES) - 1))]


@dataclass(frozen=True, slots=True)
class Category:
    """A text as its place among those known, in order; the place after the last is for others."""

    slot: Slot
    known: tuple[str, ...]

    @property
    def name(self) -> str:
        """The text as Python."""
        return self.slot.path

    def __call__(self, table: Table) -> Array:
        """The place; -1 where a run has none."""
        places = {text: float(place) for place, text in enumerate(self.known)}
        others = float(len(self.known))
        texts = table.tokens.get(self.slot)
        if texts is None:
            return np.full(table.size, -1.0)
        return np.array([-1.0 if t is None else places.get(t, others) for t in texts])

    def label(self, threshold: float) -> str:
        """The text at a place."""
        place = round(threshold)
        if not 0 <= place < len(self.known):
            return "absent" if place < 0 else "another text"
        return json.dumps(self.known[place], ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Flag:
    """Whether something is so."""

    slot: Slot

    @property
    def name(self) -> str:
        """The condition as Python."""
        return f"({self.slot.path})"

    def __call__(self, table: Table) -> Array:
        """1 where it is so."""
        if self.slot not in table.flags:
            return np.zeros(table.size)
        return table.flags[self.slot].astype(float)

    def label(self, threshold: float) -> str:
        """A truth value."""
        return str(threshold > 0.5)


@dataclass(frozen=True, slots=True)
class Unforeseen:
    """How many things an output has that the learning runs' outputs did not have.

    Places, categories of places with few of them, and other values of what was always the same.
    """

    categories: tuple[Category, ...]
    constants: tuple[tuple[Column, float], ...]

    @property
    def name(self) -> str:
        """In words."""
        return "things not seen in learning runs"

    def __call__(self, table: Table) -> Array:
        """The count."""
        found = table.strangers.copy() if len(table.strangers) else np.zeros(table.size)
        for category in self.categories:
            found += category(table) == len(category.known)
        for column, value in self.constants:
            found += column(table) != value
        return found

    def label(self, threshold: float) -> str:
        """The count."""
        return f"{threshold:.6g}"
