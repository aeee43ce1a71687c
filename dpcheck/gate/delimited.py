"""Delimited text files, read row by row in bounded memory; what is unclear is asked, never guessed.

Whoever reads a table here is told its columns, and the rows in blocks. A file whose delimiter, encoding
or header is not plain from the file itself is refused with the flag that answers the question.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, islice, product
from pathlib import Path
from typing import IO, TextIO, cast

from dpcheck.core.errors import InvalidRecords, reason

DELIMITERS = (",", ";", "\t", "|")
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_LINE = 1_000_000  # characters of a line; a longer one is no row
_SAMPLE = 100  # lines that the delimiter is chosen from
_BLOCK = 20_000  # cells that are held at a time
# What pandas reads as missing, too, and whatever Python reads as a number that is none.
MISSING = frozenset(["", "#N/A", "<NA>", "N/A", "NA", "NULL", "None", "n/a", "null"]) | {
    sign + "".join(letters) for sign in ("", "+", "-") for letters in product("nN", "aA", "nN")
}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DATA = re.compile(
    r"[-+]?[\d.,]*\d[\d.,]*(e[-+]?\d+)?%?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|true|false", re.I
)


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a file, its delimiter, and its rows in blocks."""

    names: tuple[str, ...]
    delimiter: str
    blocks: Iterator[list[list[str]]]


@contextmanager
def open_table(
    path: Path,
    delimiter: str | None = None,
    encoding: str | None = None,
    *,
    trusted_header: bool = False,
) -> Iterator[Table]:
    """Open a file of delimited text, also one compressed with gzip.

    Every row has as many cells as the header; an error names the line that has not. A first line that looks
    like data is refused unless the header is trusted.
    """
    try:
        with _opened(path) as raw:
            stream = TextIOWrapper(raw, encoding=encoding or _encoding(path, raw), newline="")
            yield _table(path, stream, delimiter, trusted_header)
    except UnicodeDecodeError as error:
        raise InvalidRecords(
            f"{path} is not {error.encoding} text. Add its encoding, for example --encoding cp1252."
        ) from None
    except LookupError:
        raise InvalidRecords(
            f"there is no encoding {encoding!r}; common ones are utf-8, cp1252 and utf-16."
        ) from None
    except (OSError, EOFError) as error:
        raise InvalidRecords(f"cannot read {path}: {reason(error)}.") from None


def _opened(path: Path) -> IO[bytes]:
    if path.name.lower().endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def _encoding(path: Path, raw: IO[bytes]) -> str:
    """By the mark at the beginning, or UTF-8."""
    start = raw.read(4096)
    raw.seek(0)
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    if b"\0" in start:
        raise InvalidRecords(
            f"{path} is not a text file. Give a .csv file, or load it in Python and name the table: "
            "--data file.py:table."
        )
    return "utf-8"


def _lines(path: Path, stream: TextIO) -> Iterator[str]:
    while line := stream.readline(_LINE):
        if len(line) == _LINE:
            raise InvalidRecords(
                f"{path} has a line of more than {_LINE:,} characters, so it is no table of rows."
            )
        yield line


def _table(path: Path, stream: TextIO, delimiter: str | None, trusted_header: bool) -> Table:
    lines = _lines(path, stream)
    sample = list(islice(lines, _SAMPLE))
    if not any(line.strip() for line in sample):
        raise InvalidRecords(f"{path} is empty. Give a table with a header and rows.")
    chosen = delimiter or chosen_delimiter(path, sample)
    reader = csv.reader(chain(sample, lines), delimiter=chosen)
    names = _header(path, reader, trusted_header)
    return Table(names, chosen, _blocks(path, reader, names, chosen))


def chosen_delimiter(path: Path, sample: Sequence[str]) -> str:
    """The only delimiter that gives every line of the sample the same number of cells, at least 2.

    >>> chosen_delimiter(Path("a.csv"), ["age;income", "30;1,5", "40;2,5"])
    ';'
    """
    fits = [each for each in DELIMITERS if _is_regular(sample, each)]
    if len(fits) == 1:
        return fits[0]
    if not fits and not any(each in sample[0] for each in DELIMITERS):
        return ","  # one column
    found = " and ".join(f"the {_NAMES[each]}" for each in fits) or "none of the usual ones"
    raise InvalidRecords(
        f"what separates the cells of {path}? In its first lines {found} would give every row the same "
        "number of cells. Add it, for example --delimiter ';' (or tab)."
    )


def _is_regular(sample: Sequence[str], delimiter: str) -> bool:
    try:
        rows = list(csv.reader(sample, delimiter=delimiter))
    except csv.Error:
        return False
    if len(sample) == _SAMPLE:
        rows.pop()  # which may go on below, in quotes
    counts = {len(row) for row in rows if row}
    return len(counts) == 1 and counts.pop() > 1


def _header(path: Path, reader: Iterator[list[str]], trusted: bool) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in _next(path, reader) or [])
    for place, name in enumerate(names, 1):
        if not name:
            raise InvalidRecords(
                f"column {place} of {path} has no name; name every column in its first line."
            )
        if name in names[: place - 1]:
            raise InvalidRecords(f"{path} has two columns of the same name; rename one of them.")
        if _DATA.fullmatch(name) and not trusted:
            # The cell is not shown: it may be somebody's.
            raise InvalidRecords(
                f"the first line of {path} looks like data (column {place}), not like the names of "
                "columns. Add a line with their names, or add --header if these are the names."
            )
    return names


def _next(path: Path, reader: Iterator[list[str]]) -> list[str] | None:
    """The next row that is not blank; None at the end."""
    try:
        return next((row for row in reader if row), None)
    except csv.Error as error:
        raise InvalidRecords(f"cannot read {path} as a table: {reason(error)}.") from None


def _blocks(
    path: Path, reader: Iterator[list[str]], names: tuple[str, ...], delimiter: str
) -> Iterator[list[list[str]]]:
    most, width = max(1, _BLOCK // len(names)), len(names)
    block: list[list[str]] = []
    try:
        for row in reader:
            if len(row) == width:
                block.append(row)
                if len(block) == most:
                    yield block
                    block = []
            elif row:  # a blank line is none
                raise InvalidRecords(
                    f"line {getattr(reader, 'line_num', 0)} of {path} has {len(row)} cells and the header "
                    f"{width}. Fix the line, or give --delimiter if it is not the "
                    f"{_NAMES.get(delimiter, delimiter)}."
                )
    except csv.Error as error:
        raise InvalidRecords(f"cannot read {path} as a table: {reason(error)}.") from None
    if block:
        yield block
