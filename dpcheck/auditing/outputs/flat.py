"""One output taken apart: its numbers, its categories, and what could not be read."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.outputs.registry import reader_of
from dpcheck.auditing.outputs.slots import Kind, Slot, shortened, type_name
from dpcheck.core.data import Output

Array = NDArray[np.float64]
MOST_NUMBERS = 1 << 16  # of one output, each looked at by itself
MOST_PLACES = 1 << 14  # of one output that are not entries of an array
_SUMS = 1024  # what the numbers of a larger array are added up to
_DEEPEST = 40
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")


@dataclass(slots=True)
class Flat:
    """The places of one output; handlers of the registry fill it in."""

    numbers: dict[Slot, Array] = field(default_factory=dict)
    tokens: dict[Slot, str] = field(default_factory=dict)
    flags: set[Slot] = field(default_factory=set)
    unread: dict[str, str] = field(default_factory=dict)
    _open: list[int] = field(default_factory=list)
    _room: int = MOST_NUMBERS

    def number(self, path: str, value: float) -> None:
        """One number; NaN and infinity are numbers."""
        self.numbers[Slot(path, Kind.NUMBER)] = np.array([value])

    def block(self, path: str, values: NDArray[np.generic]) -> None:
        """An array of numbers, each a place of its own; sums of many where it is very large."""
        flat = np.asarray(values, dtype=np.float64)
        trailing = tuple(int(n) for n in flat.shape[1:])
        flat = flat.ravel()
        if flat.size > self._room:
            self.unread[path] = (
                f"it has {flat.size:,} numbers and only sums of many of them were looked at; "
                "return the part that matters, or one layer at a time"
            )
            path, trailing, flat = f"sums of {path}", (), _summed(flat)
        self._room -= min(flat.size, self._room)
        self.numbers[Slot(path, Kind.NUMBER, trailing)] = flat

    def token(self, path: str, text: str) -> None:
        """A category; addresses of objects are no part of an output."""
        self.tokens[Slot(path, Kind.TOKEN)] = shortened(without_addresses(text))

    def flag(self, condition: str) -> None:
        """Something that is so in this output, such as `"Berlin" in out`."""
        self.flags.add(Slot(condition, Kind.FLAG))

    def skip(self, path: str, why: str) -> None:
        """Something that cannot be read."""
        self.unread[path] = why

    def child(self, value: Output, path: str) -> None:
        """Read what stands at `path`."""
        if id(value) in self._open:
            self.token(f"type({path})", "part of itself")
        elif len(self._open) >= _DEEPEST:
            self.skip(path, "it is nested too deeply; return it flat")
        elif len(self.numbers) + len(self.tokens) + len(self.flags) > MOST_PLACES:
            self.skip(path, "the output has too many parts; return arrays or fewer values")
        else:
            self._open.append(id(value))
            try:
                self._read(value, path)
            finally:
                self._open.pop()

    def _read(self, value: Output, path: str) -> None:
        self.token(f"type({path})", type_name(value))
        try:
            handler = reader_of(value)
            if handler is None:
                self.skip(path, f"an object of type {type_name(value)} cannot be read")
            else:
                handler(value, path, self)
        except (Exception, RecursionError) as error:  # the output's own code ran: anything may be
            self.skip(path, f"reading it raised {type(error).__name__}")


def without_addresses(text: str) -> str:
    """A text without the addresses of objects, which differ from process to process.

    >>> without_addresses("<A object at 0x7f3a12345678>")
    '<A object at 0x>'
    """
    return ADDRESS.sub("0x", text)


def _summed(values: Array) -> Array:
    """Sums over places with fixed signs: any one number that changes changes one of them."""
    places = np.arange(values.size)
    mixed = (places * 0x9E3779B1) & 0xFFFFFFFF
    signs = np.where((mixed >> 7) & 1, 1.0, -1.0)
    finite = np.where(np.isfinite(values), values, 0.0)
    sums = np.bincount((mixed >> 8) % _SUMS, weights=signs * finite, minlength=_SUMS)
    rest = np.array([values.size, np.count_nonzero(~np.isfinite(values)), digest(values.tobytes())])
    return np.concatenate([rest, sums])


def digest(raw: bytes) -> float:
    """A number for bytes: 48 bits, exact in a float, the same in every process."""
    return float(int.from_bytes(hashlib.blake2b(raw, digest_size=6).digest(), "big"))
