"""Many runs of a program at once: draws, and all that is computed from them, have one entry a run.

A program that was read does the same in every run, whatever the noise, so that what it does to one draw
it does to many. Private aggregates are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import DpcheckError
from dpcheck.core.records import Records
from dpcheck.program import releases
from dpcheck.program.described import form_of
from dpcheck.program.facts.kinds import Released
from dpcheck.program.facts.rowsets import RowSet
from dpcheck.program.graph import PRIMITIVES, Node
from dpcheck.program.proof import Program, read
from dpcheck.program.reading.values import Array, Scalar
from dpcheck.program.rules.functions import FUNCTIONS
from dpcheck.program.running import (
    CannotRun,
    drawn,
    inputs_of,
    materialised,
    own,
    shape_of,
    value_of,
)

Numbers = NDArray[np.float64]
MOST_NUMBERS = 1 << 22  # in one draw


class NotTogether(Exception):
    """The runs of this function cannot be made at once; call it instead."""


class TooLarge(NotTogether):
    """Not so many at once, for their draws would fill the memory."""


@dataclass(frozen=True, slots=True)
class Runs:
    """One value a run, along the first axis."""

    array: NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Sampler:
    """(data, size, rng) -> outputs of `size` runs.

    Guarantee: with size 1 it is the function's own output, up to the order of additions.
    """

    function: Callable[..., object]
    adjacency: Adjacency
    records: Records | None

    def __call__(
        self, data: object, size: int, rng: np.random.Generator
    ) -> NDArray[Any] | list[object]:
        """Outputs of many runs, as one array where they are arrays, else as a list."""
        program = self._program(data)
        values = _values(program, data, size, rng)
        if isinstance(program.output, Array | Scalar):
            found = values[_node(program, program.output).id]
            if isinstance(found, Runs):
                return found.array
        return [
            materialised(program.graph, program.output, lambda node, i=i: _of_run(values, node, i))  # type: ignore[misc]
            for i in range(size)
        ]

    def one(self, data: object, rng: np.random.Generator) -> object:
        """The output of one run of the program."""
        return self(data, 1, rng)[0]

    def call(self, data: object, rng: np.random.Generator) -> object:
        """The function itself."""
        from dpcheck.program.proof import arguments_for

        args, named = arguments_for(self.function, data, rng)
        return self.function(*args, **named)

    def log_density(self, data: object, outputs: object) -> Numbers:
        """Of each output, where that is one release with Laplace or Gaussian noise; or NotTogether."""
        program = self._program(data)
        if not isinstance(program.output, Array | Scalar) or len(program.graph.releases) != 1:
            raise NotTogether
        node = _node(program, program.output)
        fact = node.fact
        if node.primitive != "release" or not isinstance(fact, Released) or fact.release is None:
            raise NotTogether
        release = fact.release
        if release.coins or release.family not in (releases.LAPLACE, releases.GAUSSIAN):
            raise NotTogether
        values = _values(program, data, 1, np.random.default_rng(0))
        private, noise = (values[arg.id] for arg in node.args)
        place = np.asarray(noise.array[0] * 0 if isinstance(noise, Runs) else 0) + np.asarray(
            private
        )
        if node.params["flip"]:
            place = -place
        location = getattr(node.args[1].fact, "location", 0.0)
        rows = np.asarray(outputs, dtype=float)
        rows = rows.reshape(len(rows), *place.shape)
        away = (rows - place - location) / release.scale
        if release.family == releases.LAPLACE:
            each = -np.abs(away) - np.log(2 * release.scale)
        else:
            each = -0.5 * away**2 - np.log(release.scale) - 0.5 * math.log(2 * math.pi)
        found: Numbers = np.broadcast_to(each, rows.shape).reshape(len(rows), -1).sum(axis=1)
        return found

    def _program(self, data: object) -> Program:
        try:
            described = self.records
            if described is not None:
                described = Records(
                    described.fields, _rows(data), described.person, described.rows_per_person
                )
            given = data if described is None else described
            form = None if described is None else form_of(data)
            return read(self.function, given, self.adjacency, form=form)
        except DpcheckError as refused:
            raise NotTogether from refused


def _rows(data: object) -> int:
    return len(next(iter(data.values())) if isinstance(data, dict) else data)  # type: ignore[arg-type]


def _node(program: Program, value: Array | Scalar) -> Node:
    return value.node if isinstance(value, Scalar) else value.node(program.graph)


def _of_run(values: dict[int, object], node: Node, run: int) -> object:
    found = values[node.id]
    return own(found.array[run]) if isinstance(found, Runs) else found


def _values(
    program: Program, data: object, size: int, rng: np.random.Generator
) -> dict[int, object]:
    """The value of every node; of those that depend on draws, one a run."""
    if program.graph.when:
        raise NotTogether  # runs take different paths
    values: dict[int, object] = {}
    lengths: dict[int, int] = {}
    inputs = inputs_of(data)
    with np.errstate(all="ignore"):
        for node in program.graph.nodes:
            if node.id in program.graph.scratch:
                continue
            values[node.id] = found = _value(node, values, inputs, lengths, size, rng)
            shape = found.array.shape[1:] if isinstance(found, Runs) else shape_of(found)
            for place, dim in enumerate(node.shape):
                if isinstance(dim, RowSet) and place < len(shape):
                    lengths[id(dim)] = shape[place]
    return values


def _value(
    node: Node,
    values: dict[int, object],
    inputs: dict[str, object],
    lengths: dict[int, int],
    size: int,
    rng: np.random.Generator,
) -> object:
    if node.primitive == "draw":
        return _drawn(node, lengths, size, rng)
    operands = [values[arg.id] for arg in node.args]
    if node.primitive == "pick":
        law = operands[0]
        if isinstance(law, Runs):
            raise NotTogether
        return Runs(rng.choice(len(np.asarray(law)), size, p=np.asarray(law, dtype=float)))
    if not any(isinstance(each, Runs) for each in operands):
        try:
            return value_of(node, lambda arg: values[arg.id], inputs, lengths, rng)
        except CannotRun as error:
            raise NotTogether from error
    if node.primitive == "apply_draw":
        return operands[0]
    if node.primitive in FUNCTIONS or node.primitive in _ENTRIES:
        return _entries(node, operands)
    if node.primitive in _AXES:
        return _along_axes(node, operands[0])  # type: ignore[arg-type]
    if node.primitive == "filter":
        raise NotTogether  # another number of rows in every run
    return _one_by_one(node, operands, size)


_ENTRIES = frozenset(
    {"select", "convert", "fill", "release", "respond", "answer", "sampled", "number"}
)
_AXES = {
    "sum": "axes",
    "any": "axes",
    "extreme": "axes",
    "argmax": "axis",
    "sort": "axis",
    "cumulative": "axis",
}


def _entries(node: Node, operands: list[object]) -> Runs:
    """Entry by entry: runs along the first axis, then the axes of the result."""
    ndim = max(arg.ndim for arg in node.args)
    wide = []
    for each, arg in zip(operands, node.args, strict=True):
        if isinstance(each, Runs):
            shape = each.array.shape
            wide.append(each.array.reshape(shape[0], *[1] * (ndim - arg.ndim), *shape[1:]))
        else:
            wide.append(each)  # type: ignore[arg-type]
    if node.primitive == "number":
        found = np.asarray(wide[0]).reshape(len(wide[0]))
        return Runs(found.astype(node.dtype))
    return Runs(np.asarray(PRIMITIVES[node.primitive].evaluate(*wide, **node.params)))


def _along_axes(node: Node, operand: Runs) -> Runs:
    name = _AXES[node.primitive]
    given = node.params[name]
    moved = tuple(i + 1 for i in given) if isinstance(given, tuple) else int(given) + 1  # type: ignore[call-overload]
    params = {**node.params, name: moved}
    return Runs(np.asarray(PRIMITIVES[node.primitive].evaluate(operand.array, **params)))


def _one_by_one(node: Node, operands: list[object], size: int) -> Runs:
    """Run by run; what comes out must have one shape."""
    rows = [
        PRIMITIVES[node.primitive].evaluate(
            *(own(each.array[i]) if isinstance(each, Runs) else each for each in operands),
            **node.params,
        )
        for i in range(size)
    ]
    if node.primitive == "apply":
        found = np.empty(size, dtype=object)
        for i, row in enumerate(rows):
            found[i] = row
        return Runs(found)
    try:
        return Runs(np.stack([np.asarray(row) for row in rows]))
    except ValueError as error:
        raise NotTogether from error


def _drawn(node: Node, lengths: dict[int, int], size: int, rng: np.random.Generator) -> Runs:
    shape = node.params["shape"]
    assert isinstance(shape, tuple)
    sizes = tuple(lengths[id(n)] if isinstance(n, RowSet) else n for n in shape)
    if math.prod((size, *sizes)) > MOST_NUMBERS and size > 1:
        raise TooLarge
    if node.params.get("source") != "rng" or node.params["method"] == "bernoulli":
        raise NotTogether
    if node.params["method"] in ("choice", "permutation", "binomial"):
        return Runs(np.stack([np.asarray(drawn(node, rng, sizes)) for _ in range(size)]))
    return Runs(np.asarray(drawn(node, rng, (size, *sizes))))
