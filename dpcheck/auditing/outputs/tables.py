"""The outputs of a batch, place by place; tables of several batches are joined by their places."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.outputs.flat import Flat
from dpcheck.auditing.outputs.slots import OUT, Kind, Slot

Array = NDArray[np.float64]
Arrays = dict[str, Array]
_MOST_SLOTS = 4096  # of a table; of more, those that most runs have


@dataclass(frozen=True, slots=True)
class Plain:
    """Outputs that are numbers or arrays of one type and shape, all finite: a row each."""

    rows: Array
    type: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many outputs."""
        return len(self.rows)

    @property
    def raised(self) -> int:
        """How many runs raised: none."""
        return 0

    def as_table(self, only: frozenset[Slot] | None = None) -> Table:
        """The same, by places."""
        trailing = tuple(self.shape[1:]) if self.shape else None
        slot = Slot(OUT, Kind.NUMBER, trailing)
        counts = np.full(self.size, self.rows.shape[1])
        kind = Slot(f"type({OUT})", Kind.TOKEN)
        strange = 0 if only is None else len({slot, kind} - only)
        return Table(
            self.size,
            {slot: (self.rows, counts)},
            {kind: [self.type] * self.size},
            {},
            strangers=np.full(self.size, float(strange)),
        )


@dataclass(frozen=True, slots=True)
class Table:
    """Per place the values of all runs.

    Numbers are a matrix and how many entries of it each run has; what is beyond is NaN. `unread`
    names what was not looked at, and why; `strangers` counts places that nobody asked for.
    """

    size: int
    numbers: dict[Slot, tuple[Array, NDArray[np.intp]]]
    tokens: dict[Slot, list[str | None]]
    flags: dict[Slot, NDArray[np.bool_]]
    unread: dict[str, str] = field(default_factory=dict)
    raised: int = 0
    strangers: Array = field(default_factory=lambda: np.zeros(0))

    def as_table(self, only: frozenset[Slot] | None = None) -> Table:
        """Itself, with the places that `only` lacks counted."""
        if only is None:
            return self
        found = np.zeros(self.size)
        for slot, (_, counts) in self.numbers.items():
            found += (counts > 0) & (slot not in only)
        for slot, texts in self.tokens.items():
            if slot not in only:
                found += np.array([text is not None for text in texts])
        for slot, seen in self.flags.items():
            found += seen & (slot not in only)
        return replace(self, strangers=found)

    def head(self, rows: int) -> Table:
        """The first runs."""
        return Table(
            min(rows, self.size),
            {slot: (v[:rows], c[:rows]) for slot, (v, c) in self.numbers.items()},
            {slot: texts[:rows] for slot, texts in self.tokens.items()},
            {slot: seen[:rows] for slot, seen in self.flags.items()},
            self.unread,
            self.raised,
        )


@dataclass(frozen=True, slots=True)
class Runs:
    """Outputs taken apart, one by one; a table is made of the places that are wanted."""

    flats: tuple[Flat, ...]
    raised: int = 0

    @property
    def size(self) -> int:
        """How many outputs."""
        return len(self.flats)

    def as_table(self, only: frozenset[Slot] | None = None) -> Table:
        """The table of these places, or of all.

        Guarantee: with `only`, what is said of a run does not depend on the other runs.
        """
        return tabulate(self.flats, self.raised, only)


Encoded = Plain | Runs | Table


def shapes_of(encoded: Encoded) -> set[tuple[int, ...]]:
    """The shapes of outputs that are arrays or numbers; of others there are none."""
    if isinstance(encoded, Plain):
        return {encoded.shape}
    slot = Slot(f"np.shape({OUT})", Kind.NUMBER, ())
    table = encoded.as_table()
    if slot not in table.numbers:
        return set()
    values, counts = table.numbers[slot]
    return {tuple(int(n) for n in row[:count]) for row, count in zip(values, counts, strict=True)}


def tabulate(flats: Sequence[Flat], raised: int, only: frozenset[Slot] | None) -> Table:
    """The table of one batch."""
    size = len(flats)
    numbers: dict[Slot, tuple[Array, NDArray[np.intp]]] = {}
    for slot in _common((flat.numbers for flat in flats), only):
        found = [flat.numbers.get(slot) for flat in flats]
        counts = np.array([0 if one is None else len(one) for one in found])
        values = np.full((size, int(counts.max())), np.nan)
        for row, one in enumerate(found):
            if one is not None:
                values[row, : len(one)] = one
        numbers[slot] = (values, counts)
    tokens = {
        slot: [flat.tokens.get(slot) for flat in flats]
        for slot in _common((flat.tokens for flat in flats), only)
    }
    flags = {
        slot: np.array([slot in flat.flags for flat in flats])
        for slot in _common((sorted(f.flags, key=lambda s: s.path) for f in flats), only)
    }
    unread = {path: why for flat in flats for path, why in flat.unread.items()}
    strangers = np.zeros(size)
    if only is not None:
        for row, flat in enumerate(flats):
            known = sum(slot in only for slot in (*flat.numbers, *flat.tokens, *flat.flags))
            strangers[row] = len(flat.numbers) + len(flat.tokens) + len(flat.flags) - known
    return Table(size, numbers, tokens, flags, unread, raised, strangers)


def _common(places: Iterable[Iterable[Slot]], only: frozenset[Slot] | None = None) -> list[Slot]:
    """The wanted places, or all in order of first sight; of too many, those that occur most."""
    counts: Counter[Slot] = Counter()
    for each in places:
        counts.update(iter(each))
    if only is not None:
        return [slot for slot in counts if slot in only]
    if len(counts) <= _MOST_SLOTS:
        return list(counts)
    kept = {slot for slot, _ in counts.most_common(_MOST_SLOTS)}
    return [slot for slot in counts if slot in kept]


def joined(tables: Sequence[Table]) -> Table:
    """One table of all runs, in order."""
    if len(tables) == 1:
        return tables[0]
    numbers: dict[Slot, tuple[Array, NDArray[np.intp]]] = {}
    for slot in _common(table.numbers for table in tables):
        width = max(table.numbers[slot][0].shape[1] for table in tables if slot in table.numbers)
        parts = [_padded(table, slot, width) for table in tables]
        numbers[slot] = (
            np.concatenate([values for values, _ in parts]),
            np.concatenate([counts for _, counts in parts]),
        )
    tokens: dict[Slot, list[str | None]] = {}
    for slot in _common(table.tokens for table in tables):
        tokens[slot] = [
            text for table in tables for text in table.tokens.get(slot, [None] * table.size)
        ]
    flags = {
        slot: np.concatenate([t.flags.get(slot, np.zeros(t.size, dtype=bool)) for t in tables])
        for slot in _common(table.flags for table in tables)
    }
    unread = {path: why for table in tables for path, why in table.unread.items()}
    size = sum(table.size for table in tables)
    return Table(size, numbers, tokens, flags, unread, sum(table.raised for table in tables))


def _padded(table: Table, slot: Slot, width: int) -> tuple[Array, NDArray[np.intp]]:
    if slot not in table.numbers:
        return np.full((table.size, width), np.nan), np.zeros(table.size, dtype=np.intp)
    values, counts = table.numbers[slot]
    if values.shape[1] == width:
        return values, counts
    wide = np.full((table.size, width), np.nan)
    wide[:, : values.shape[1]] = values
    return wide, counts


def pack(encoded: Encoded, name: str) -> Arrays:
    """As arrays of floats, which is what a store keeps; plain outputs are their rows."""
    if isinstance(encoded, Runs):
        encoded = encoded.as_table()
    if isinstance(encoded, Plain):
        about: dict[str, object] = {"type": encoded.type, "shape": list(encoded.shape)}
        return {name: encoded.rows, f"{name}.about": _text(about)}
    words = sorted(
        {text for texts in encoded.tokens.values() for text in texts if text is not None}
    )
    places = {word: float(place) for place, word in enumerate(words)}
    about = {
        "size": encoded.size,
        "raised": encoded.raised,
        "unread": encoded.unread,
        "words": words,
        "numbers": [[*_listed(s), v.shape[1]] for s, (v, _) in encoded.numbers.items()],
        "tokens": [_listed(slot) for slot in encoded.tokens],
        "flags": [_listed(slot) for slot in encoded.flags],
    }
    blank = np.zeros((encoded.size, 0))
    codes = [
        np.array([-1.0 if text is None else places[text] for text in texts])
        for texts in encoded.tokens.values()
    ]
    counts = [np.asarray(c, dtype=float) for _, c in encoded.numbers.values()]
    return {
        f"{name}.about": _text(about),
        f"{name}.numbers": np.hstack([blank, *(v for v, _ in encoded.numbers.values())]),
        f"{name}.counts": np.stack([*counts, np.zeros(encoded.size)], axis=1),
        f"{name}.codes": np.stack([*codes, np.zeros(encoded.size)], axis=1),
        f"{name}.flags": np.stack(
            [*(f.astype(float) for f in encoded.flags.values()), np.zeros(encoded.size)], axis=1
        ),
    }


def unpack(arrays: Arrays, name: str) -> Encoded:
    """What was packed."""
    about = json.loads(arrays[f"{name}.about"].astype(np.uint8).tobytes())
    if "type" in about:
        return Plain(arrays[name], about["type"], tuple(about["shape"]))
    numbers: dict[Slot, tuple[Array, NDArray[np.intp]]] = {}
    matrix, counts = arrays[f"{name}.numbers"], arrays[f"{name}.counts"].astype(np.intp)
    at = 0
    for place, (path, kind, trailing, width) in enumerate(about["numbers"]):
        numbers[_slot(path, kind, trailing)] = (matrix[:, at : at + width], counts[:, place])
        at += width
    words: list[str | None] = [*about["words"], None]
    codes = arrays[f"{name}.codes"].astype(int)
    tokens = {
        _slot(*listed): [words[code] for code in codes[:, place]]
        for place, listed in enumerate(about["tokens"])
    }
    seen = arrays[f"{name}.flags"] > 0
    flags = {_slot(*listed): seen[:, place] for place, listed in enumerate(about["flags"])}
    return Table(about["size"], numbers, tokens, flags, about["unread"], about["raised"])


def _text(about: object) -> Array:
    raw = json.dumps(about).encode("utf-8", "surrogatepass")
    return np.frombuffer(raw, np.uint8).astype(float)


def _listed(slot: Slot) -> list[object]:
    return [slot.path, str(slot.kind), None if slot.trailing is None else list(slot.trailing)]


def _slot(path: str, kind: str, trailing: list[int] | None) -> Slot:
    return Slot(path, Kind(kind), None if trailing is None else tuple(trailing))
