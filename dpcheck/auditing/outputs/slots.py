"""Where in an output something stands: a path in Python, and what kind of thing is there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

OUT = "out"  # what an output is called in every path


class Kind(StrEnum):
    """What a slot holds."""

    NUMBER = "number"  # one number, or an array of them
    TOKEN = "token"  # a short text: a category, a type
    FLAG = "flag"  # present or not


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of an output.

    `trailing` is None for a single number; for an array all of its shape but the first axis, so
    that entry i is the same place in arrays of every length.

    >>> Slot('out["w"]', Kind.NUMBER, (2,)).name(3)
    'out["w"][1, 1]'
    """

    path: str
    kind: Kind
    trailing: tuple[int, ...] | None = None

    def name(self, index: int) -> str:
        """Entry `index` as a Python expression."""
        if self.trailing is None:
            return self.path
        if not self.trailing:
            return f"{self.path}[{index}]"
        per_row = int(np.prod(self.trailing))
        inner = np.unravel_index([index % per_row], self.trailing)
        place = ", ".join(str(i) for i in (index // per_row, *(int(axis[0]) for axis in inner)))
        return f"{self.path}[{place}]"


_LONGEST = 160


def shortened(text: str) -> str:
    """A text short enough to keep; a long one keeps its beginning and a digest of all of it.

    >>> len(shortened("a" * 500)), shortened("a" * 500) == shortened("a" * 501)
    (160, False)
    """
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).hexdigest()
    return f"{text[: _LONGEST - 17]}...{digest}"


def type_name(value: object) -> str:
    """The name of a value's type; numpy's numbers of Python's own kinds are called like those."""
    kind = type(value)
    return _ALIASES.get(kind.__name__, kind.__qualname__)


_ALIASES = {"float64": "float", "int64": "int", "bool_": "bool", "str_": "str", "bytes_": "bytes"}
