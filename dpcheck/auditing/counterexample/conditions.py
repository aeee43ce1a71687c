"""Conditions on an output as Python, in terms of the output's own names."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.outputs.columns import STATES, Category, Column, Flag, State, Value
from dpcheck.auditing.outputs.reader import PlainReader, Reader, TableReader
from dpcheck.auditing.outputs.slots import OUT, Kind, Slot
from dpcheck.auditing.outputs.summaries import How, Summaries

Array = NDArray[np.float64]
_MADE = {  # summaries that are one call of numpy
    How.LARGEST: "np.max({})",
    How.SMALLEST: "np.min({})",
    How.WHERE: "np.argmax({})",
    How.ZEROS: "np.sum(np.asarray({}) == 0)",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """`column >= cut`, `column <= cut`, or `column == cut`."""

    column: int
    sign: str
    cut: float

    def holds(self, rows: Array) -> NDArray[np.bool_]:
        """Which rows fulfil it."""
        values = rows[:, self.column]
        if self.sign == "==":
            return np.asarray(values == self.cut)
        return np.asarray(values >= self.cut if self.sign == ">=" else values <= self.cut)


def as_python_sees(reader: Reader, rows: Array) -> Array:
    """Rows with NaN and infinity where the output has them, so that comparisons do what Python's do.

    A reader says 0 for them, and in another column what they are. An absent number is NaN here: a
    condition on it does not hold.
    """
    if not isinstance(reader, TableReader):
        return rows
    places = {(c.slot, c.index): i for i, c in enumerate(reader.columns) if isinstance(c, State)}
    seen = rows.copy()
    for index, column in enumerate(reader.columns):
        state = places.get((column.slot, column.index)) if isinstance(column, Value) else None
        if state is not None:
            kinds = rows[:, state].astype(int)
            seen[:, index] = np.where(kinds == 0, rows[:, index], _SEEN[kinds])
    return seen


_SEEN = np.array([0.0, np.nan, np.inf, -np.inf, np.nan])  # by place in STATES


def is_named(reader: Reader, column: int) -> bool:
    """Whether conditions on a column can be written as Python."""
    return as_python(reader, Condition(column, ">=", 0.0)) is not None


def takes_order(reader: Reader, column: int) -> bool:
    """Whether a column is a number, rather than a place in a list of texts or states."""
    if isinstance(reader, TableReader) and column < len(reader.columns):
        return isinstance(reader.columns[column], Value)
    return True


def as_python(reader: Reader, condition: Condition) -> str | None:
    """The condition as an expression of `out`, or of `numbers(out)`; None where there is no short one.

    >>> as_python(PlainReader("float", (), np.zeros(1)), Condition(0, ">=", 3.25))
    'out >= 3.25'
    """
    found = _expression(reader, condition)
    return found if found is not None and _is_python(found) else None


def _is_python(text: str) -> bool:
    """Whether a path is an expression rather than words, such as "letters of out"."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def _expression(reader: Reader, condition: Condition) -> str | None:
    if isinstance(reader, PlainReader):
        trailing = tuple(reader.shape[1:]) if reader.shape else None
        return _number(Slot(OUT, Kind.NUMBER, trailing).name(condition.column), condition)
    if not isinstance(reader, TableReader):
        return None
    if condition.column < len(reader.columns):
        return _of_column(reader.columns[condition.column], condition)
    return _of_summary(reader.summaries, condition, condition.column - len(reader.columns))


def _number(name: str, condition: Condition) -> str:
    return f"{name} {condition.sign} {condition.cut:.12g}"


def _of_column(column: Column, condition: Condition) -> str | None:
    if isinstance(column, Value):
        return _number(column.name, condition)
    if isinstance(column, Flag):
        wanted = condition.cut > 0.5 if condition.sign != "<=" else condition.cut >= 1
        return column.slot.path if wanted else f"not ({column.slot.path})"
    place = round(condition.cut)
    if isinstance(column, Category) and 0 <= place < len(column.known):
        return f"{_text(column.slot.path)} == {json.dumps(column.known[place], ensure_ascii=False)}"
    if isinstance(column, State) and 0 <= place < len(STATES) - 1:
        name = column.slot.name(column.index)
        tests = ("np.isfinite({})", "np.isnan({})", "{} == np.inf", "{} == -np.inf")
        return tests[place].format(name)
    return None


def _text(path: str) -> str:
    return f"{path}.__name__" if path.startswith("type(") else f"str({path})"


def _of_summary(groups: tuple[Summaries, ...], condition: Condition, place: int) -> str | None:
    for group in groups:
        if place < len(How):
            how = list(How)[place]
            pattern = _MADE.get(how)
            return None if pattern is None else _number(pattern.format(group.slot.path), condition)
        place -= len(How)
    return None
