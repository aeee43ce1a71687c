"""Learning runs of a pair: outputs of any kind, and the reader that makes rows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.outputs.encode import plain_rows
from dpcheck.auditing.outputs.reader import (
    MOST_COLUMNS,
    Reader,
    is_plain,
    learn_reader,
)
from dpcheck.auditing.outputs.slots import OUT
from dpcheck.auditing.outputs.tables import Encoded, Plain, Table, pack, unpack
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

Array = NDArray[np.float64]
_WIDE = 512  # numbers of an output from which on only the best columns leave a worker
_SURVEYED = 1 << 22  # numbers a side that the best columns are chosen on
_SIDES = ("first", "second")


@dataclass(frozen=True, slots=True)
class Observation:
    """Rows of both sides, how they were made, and what of the outputs was not looked at."""

    first: Array
    second: Array
    reader: Reader
    runs: int
    unread: dict[str, str]


def width_batch(
    mechanism: Mechanism, data: object, size: int, seed: np.random.SeedSequence
) -> Arrays:
    """How many numbers an output has."""
    encoded = mechanism.observe(data, size, generator(seed))
    return {"width": np.array([float(_width(encoded))])}


def _width(encoded: Encoded) -> int:
    if isinstance(encoded, Plain):
        return int(encoded.rows.shape[1])
    return sum(values.shape[1] for values, _ in encoded.as_table().numbers.values())


def fit_batches(mechanism: Mechanism, pairs: Sequence[Pair], runner: Runner) -> Mechanism:
    """The mechanism with batches whose outputs fit into memory, by the size of two of them."""
    if not mechanism.batched or mechanism.batch_runs is not None:
        return mechanism
    (found,) = runner.batches("width", range(1), width_batch, mechanism, pairs[0].first, 2)
    width = int(found["width"][0])
    return mechanism if width <= MOST_COLUMNS else replace(mechanism, width=width)


def sample_pair(
    mechanism: Mechanism,
    first: object,
    second: object,
    reader: Reader | None,
    size: int,
    seed: np.random.SeedSequence,
) -> Arrays:
    """One learning batch: outputs of both sides, whole, or as rows where there is a reader."""
    result: Arrays = {}
    for name, data, one in zip(_SIDES, (first, second), seed.spawn(2), strict=True):
        encoded = mechanism.observe(data, size, generator(one))
        result |= pack(encoded, name) if reader is None else {name: reader.rows(encoded)}
    return result


def observe_pair(
    mechanism: Mechanism, pair: Pair, stage: str, wanted: int, runner: Runner
) -> Observation:
    """At most `wanted` learning outputs of both sides of a pair.

    The first batch says whether outputs are wide. If so its runs choose the columns, and are not
    learned from again where there are others; if not, all runs together say what the columns are.
    """
    size = min(mechanism.batch, wanted)
    number = max(1, wanted // size)

    def batches(indices: range, reader: Reader | None) -> list[Arrays]:
        arguments = (mechanism, pair.first, pair.second, reader, size)
        return list(runner.batches(stage, indices, sample_pair, *arguments))

    (arrays,) = batches(range(1), None)
    head = [unpack(arrays, side) for side in _SIDES]
    _check_answers(head)
    if max(map(_width, head)) > _WIDE:
        return _wide(head, batches(range(1, number), reader := _surveyed(head)), reader, size)
    rest = [[unpack(batch, side) for side in _SIDES] for batch in batches(range(1, number), None)]
    sides = [[head[side], *(batch[side] for batch in rest)] for side in (0, 1)]
    reader = learn_reader(sides[0], sides[1])
    one, two = (np.concatenate([reader.rows(part) for part in side]) for side in sides)
    return Observation(one, two, reader, size * number, _unread([*sides[0], *sides[1]]))


def _check_answers(head: Sequence[Encoded]) -> None:
    """Raise what the mechanism raised, if it did nothing else, and always the same."""
    if all(part.raised == part.size for part in head):
        tokens = [part.as_table().tokens for part in head]
        if tokens[0] == tokens[1] and all(len(set(texts)) == 1 for texts in tokens[0].values()):
            plain_rows(head[0])


def _surveyed(head: Sequence[Encoded]) -> Reader:
    rows = max(32, min(part.size for part in head) // 2)
    rows = min(rows, max(32, _SURVEYED // max(map(_width, head))))
    return learn_reader(*([part.as_table().head(rows)] for part in head))


def _wide(
    head: Sequence[Encoded], rest: Sequence[Arrays], reader: Reader, size: int
) -> Observation:
    if rest:
        one, two = (np.concatenate([batch[side] for batch in rest]) for side in _SIDES)
    else:
        one, two = (reader.rows(part) for part in head)
    return Observation(one, two, reader, size * (1 + len(rest)), _unread(head))


def _unread(parts: Sequence[Encoded]) -> dict[str, str]:
    """What was not looked at; an answer that is always None is none."""
    found: dict[str, str] = {}
    for part in parts:
        if isinstance(part, Table):
            found |= part.unread
    if not is_plain(parts) and all(_is_nothing(part) for part in parts):
        found[OUT] = "every run returned None; does the function forget to return its answer?"
    if all(part.raised == part.size for part in parts):
        found[OUT] = "every run raised an error and none returned an answer"
    return found


def _is_nothing(part: Encoded) -> bool:
    if isinstance(part, Plain):
        return False
    table = part.as_table()
    kinds = [texts for slot, texts in table.tokens.items() if slot.path == f"type({OUT})"]
    return len(kinds) == 1 and all(text == "NoneType" for text in kinds[0])
