"""A first description of records, from a file of delimited text or from a table in Python code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from dpcheck.core.data import Data
from dpcheck.core.errors import InvalidRecords, UsageError
from dpcheck.core.records import Records
from dpcheck.execution.references import parse
from dpcheck.gate.columns import ColumnGuess
from dpcheck.gate.delimited import open_table

_TAKEN = {"rows", "person", "rows_per_person"}
_TEXT_FILES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_UNQUOTED = str.maketrans({'"': "'", "\\": "/", "\n": " "})  # for a docstring
_BLOCK = 10_000  # cells of a column that are turned to text at a time


@dataclass(frozen=True, slots=True)
class Reading:
    """What somebody said about the data beforehand."""

    delimiter: str | None = None
    encoding: str | None = None
    header: bool = False  # the first line holds names, whatever it looks like
    categories: tuple[str, ...] = ()  # columns whose values are a public list


@dataclass(frozen=True, slots=True)
class Described:
    """A guess, how many rows there are, a remark for every column, and what it was made from."""

    records: Records
    rows: int
    notes: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


def described_by(data: str, reading: Reading | None = None) -> Described:
    """The description of the rows of a file, or of a table in Python code: all rows are read.

    Guarantee: no text of the data is in it, except the values of columns that `reading` names as
    categories, and the names of the columns.
    """
    told = reading or Reading()
    if data.lower().endswith(_TEXT_FILES):
        guesses = _from_file(Path(data), told)
    elif ":" in data:
        guesses = _from_code(data, told)
    else:
        raise UsageError(
            f"--data takes a file ({', '.join(_TEXT_FILES[:3])}, also .gz) or file.py:table, not {data!r}."
        )
    unknown = sorted(set(told.categories) - {guess.name for guess in guesses})
    if unknown:
        names = ", ".join(guess.name for guess in guesses)
        raise UsageError(f"there is no column {unknown[0]!r} to be a category; {data} has {names}.")
    clash = _TAKEN & {guess.name for guess in guesses}
    if clash:
        raise InvalidRecords(
            f"a column is called {min(clash)!r}, which dpcheck.records() uses for something else; "
            "rename the column in a copy of the data."
        )
    if not guesses or guesses[0].rows == 0:
        raise InvalidRecords(
            f"{data} has no rows below its header; there is nothing to guess from."
        )
    return Described(
        Records(tuple((each.name, replace(each.guess, confirmed=False)) for each in guesses)),
        guesses[0].rows,
        {guess.name: guess.note for guess in guesses},
        "every row of " + Path(data).name.translate(_UNQUOTED),
    )


def _from_file(path: Path, told: Reading) -> list[ColumnGuess]:
    delimiter = {"tab": "\t", "\\t": "\t"}.get(told.delimiter or "", told.delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise UsageError(f"--delimiter is one character, or tab, not {told.delimiter!r}.")
    with open_table(path, delimiter, told.encoding, trusted_header=told.header) as table:
        guesses = [
            ColumnGuess(name, name in told.categories, decimal_comma=table.delimiter != ",")
            for name in table.names
        ]
        for block in table.blocks:
            for guess, cells in zip(guesses, zip(*block, strict=True), strict=True):
                guess.add(cells)
    if guesses[0].rows and not told.header and all(guess.is_text for guess in guesses):
        raise InvalidRecords(
            f"every column of {path} holds text, so its first line could be somebody's row. If it holds "
            "the names of the columns, add --header; otherwise add a line with names."
        )
    return guesses


def _from_code(data: str, told: Reading) -> list[ColumnGuess]:
    found = []
    for name, values in _columns(parse(data).load()).items():
        guess = ColumnGuess(str(name), str(name) in told.categories)
        cells = (_cell(value, guess) for value in values)
        while block := list(islice(cells, _BLOCK)):
            guess.add(block)
        found.append(guess)
    return found


def _columns(table: Any) -> dict[Any, Iterable[Any]]:
    if isinstance(table, list) and table and all(isinstance(row, dict) for row in table):
        return {name: [row.get(name) for row in table] for name in table[0]}
    names = getattr(table, "columns", None)
    if names is None:
        raise InvalidRecords(
            "a description is guessed from a DataFrame or a list of dicts; write dpcheck.records("
            "column=dpcheck.number(low, high), ...) for other data."
        )
    return {name: table[name] for name in names}


def _cell(value: Data, guess: ColumnGuess) -> str:
    """A value as the text a file would have; a text stays text, also one of digits."""
    if value is None or value != value or str(value) == "NaT":
        return ""
    if isinstance(value, str):
        guess.kinds -= {"number", "boolean", "comma"}
    return str(value)
