"""What a column looks like, from all of its cells: a guess that holds none of its texts.

Only ends of numbers (rounded to one digit, outwards) and lengths of texts are kept. The values of a
column are kept where somebody said that they are a public list of categories.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from dpcheck.core.errors import InvalidRecords
from dpcheck.core.records import Field, Number, OneOf, Text
from dpcheck.gate.delimited import MISSING

_FEW = 20  # different texts up to which a column may be a choice among them
_MOST_CATEGORIES = 1000
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+(,\d+)?")
_COMMAS = re.compile(r"[-+]?\d+(,\d+)*(\.\d+)?")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})*(\.\d+)?")
_IDENTIFIER = re.compile(r"(^|[_\s])(id|ids|key|uuid|ssn|nr|number|no)$|[a-z]ID$", re.I)
_BOOLEAN = {"true", "false"}


@dataclass
class ColumnGuess:
    """A running summary of a column's cells; `field` and `note` say what it looks like."""

    name: str
    category: bool = False  # its values are a public list, somebody said
    decimal_comma: bool = False  # 1,5 is a number here
    rows: int = 0
    missing: bool = False
    present: bool = False
    low: float = math.inf
    high: float = -math.inf
    whole: bool = True
    longest: int = 0
    kinds: set[str] = field(default_factory=lambda: {"number", "boolean", "date", "comma"})
    different: set[str] = field(default_factory=set)
    all_different: bool = True  # in the first block, which is enough for a hint

    def add(self, cells: Sequence[str]) -> None:
        """Take in a block of cells; a text that repeats is looked at once, unless the column has none."""
        seen = cells if self.rows and self.all_different else set(cells)
        if not self.rows:
            self.all_different = len(seen) == len(cells) >= _FEW
        self.rows += len(cells)
        if not self.category and (self._add_plain_numbers(seen) or self._add_plain_texts(seen)):
            return
        texts = set(map(str.strip, seen))
        self.missing = self.missing or not MISSING.isdisjoint(texts)
        texts -= MISSING
        if not texts:
            return
        self.present = True
        if self.category:
            self._add_texts(texts)
        if "number" in self.kinds:
            self._add_numbers(texts)
        if "boolean" in self.kinds and not all(text.lower() in _BOOLEAN for text in texts):
            self.kinds.discard("boolean")
        if "number" in self.kinds:
            return  # no text so far
        for kind, form in (("date", _DATE), ("comma", _COMMAS)):
            if kind in self.kinds and not all(map(form.fullmatch, texts)):
                self.kinds.discard(kind)
        if not self.category:
            self._add_texts(texts)

    def _add_plain_numbers(self, texts: Collection[str]) -> bool:
        """Take in texts that are numbers without exception, the usual case, with few steps for each."""
        if "number" not in self.kinds or "_" in "".join(texts):
            return False
        try:
            values = list(map(float, texts))
        except ValueError:
            return False
        if not math.isfinite(
            sum(values)
        ):  # one is not finite, or they are huge: taken in with care
            return False
        self._widen(values)
        self.present = True
        self.kinds.discard("boolean")
        return True

    def _add_plain_texts(self, texts: Collection[str]) -> bool:
        """Take in texts of a column that is known to be nothing but text."""
        if self.kinds or len(self.different) <= _FEW:
            return False
        self.longest = max(self.longest, max(map(len, texts)))
        self.missing = self.missing or not MISSING.isdisjoint(texts)
        return True

    def _add_numbers(self, texts: set[str]) -> None:
        try:
            values = as_numbers(texts, decimal_comma=self.decimal_comma)
        except ValueError:
            self.kinds.discard("number")
            if self.low <= self.high:  # there were numbers before
                self.kinds -= {"boolean", "date"}
            return
        self._widen(values)

    def _widen(self, values: Sequence[float]) -> None:
        self.low, self.high = min(self.low, min(values)), max(self.high, max(values))
        self.whole = self.whole and all(map(float.is_integer, values))

    def _add_texts(self, texts: Iterable[str]) -> None:
        limit = _MOST_CATEGORIES if self.category else _FEW
        for text in texts:
            self.longest = max(self.longest, len(text))
            if len(self.different) <= limit:
                self.different.add(text)

    @property
    def is_text(self) -> bool:
        """Whether nothing but text fits."""
        return not self.kinds & {"number", "boolean", "date"}

    @property
    def guess(self) -> Field:
        """The description it gets."""
        if not self.present:
            return Text()
        if self.category:
            return self._categories()
        if "number" in self.kinds:
            low = outwards(self.low, -1, max(self.low, self.high))
            high = outwards(self.high, 1, min(self.low, self.high))
            if self.low == self.high:  # one value is no range
                low, high = min(low, 0.0), max(high, 1.0 if high == 0 else 0.0)
            whole = self.whole and not self.missing and math.isfinite(self.low + self.high)
            return Number(low, high, whole, missing=self.missing)
        if "boolean" in self.kinds:
            return OneOf((False, True, *([None] if self.missing else [])))
        return Text(max(1000, int(outwards(float(self.longest), 1, 0.0))))

    def _categories(self) -> OneOf:
        if len(self.different) > _MOST_CATEGORIES:
            raise InvalidRecords(
                f"{self.name} has more than {_MOST_CATEGORIES:,} different values, too many for a category."
            )
        none = [None] if self.missing else []
        if "boolean" in self.kinds:
            return OneOf((False, True, *none))
        if "number" in self.kinds:
            numbers = sorted(set(as_numbers(self.different, decimal_comma=self.decimal_comma)))
            return OneOf((*(int(n) if n.is_integer() else n for n in numbers), *none))
        return OneOf((*sorted(self.different), *none))

    @property
    def note(self) -> str:
        """What whoever corrects the guess should look at."""
        if not self.present:
            return "every cell is empty: say what it can contain"
        if self.category:
            return "public, as you said: add the values that are missing"
        if "number" in self.kinds:
            return self._number_note()
        if "boolean" in self.kinds:
            return ""
        if "date" in self.kinds:
            return "dates, described as text"
        if "comma" in self.kinds:
            return "numbers with commas: are they decimals or thousands?"
        if len(self.different) <= _FEW:
            return (
                f"{len(self.different)} different texts: if the list is public, write "
                "dpcheck.one_of(...)"
            )
        return ""

    def _number_note(self) -> str:
        if self.low == self.high:
            return "every row has the same number"
        if self.whole and self.all_different and _IDENTIFIER.search(self.name):
            return f"an identifier? If it says whose row it is, add person={self.name!r}"
        return ""


def as_numbers(cells: Iterable[str], *, decimal_comma: bool) -> list[float]:
    """The numbers of all cells; ValueError where one is none.

    >>> as_numbers(["1,5", "2"], decimal_comma=True)
    [1.5, 2.0]
    """
    cells = list(cells)
    if any("_" in cell for cell in cells):  # which Python would read, and no table means
        raise ValueError("an underscore")
    if decimal_comma and any("," in cell for cell in cells):
        if all(map(_THOUSANDS.fullmatch, cells)) or not all(map(_DECIMAL_COMMA.fullmatch, cells)):
            raise ValueError("decimals or thousands")
        cells = [cell.replace(",", ".") for cell in cells]
    return list(map(float, cells))


def outwards(value: float, sign: int, other: float) -> float:
    """The next round number outwards, of one digit; an end small beside the `other` end becomes 0.

    >>> outwards(61_300.0, 1, 27_000.0), outwards(27_000.0, -1, 61_300.0), outwards(8.0, -1, 61_300.0)
    (70000.0, 20000.0, 0.0)
    """
    if value == 0 or not math.isfinite(value):
        return value
    if value * sign < 0 and 10 * abs(value) <= abs(other):
        return 0.0
    unit = 10.0 ** math.floor(math.log10(abs(value)))
    step = math.ceil if sign > 0 else math.floor
    return step(value / unit) * unit
