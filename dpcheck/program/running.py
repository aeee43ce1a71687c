"""A program that was read, run on real data with real draws."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.program.facts.rowsets import RowSet, Shape
from dpcheck.program.graph import IMPURE, PRIMITIVES, Graph, Node
from dpcheck.program.listed import columns_of
from dpcheck.program.reading.named import fields_of
from dpcheck.program.reading.values import (
    Array,
    Grid,
    Instance,
    Opaque,
    Scalar,
    Series,
    Undecided,
    Value,
)

if TYPE_CHECKING:
    from dpcheck.program.proof import Program


class CannotRun(Exception):
    """The program draws from a source that nobody can hand in, or asks for data that are not there."""


_ONCE = IMPURE | {
    "release",
    "apply_draw",
    "apply",
    "either",
}  # computed where they stand, if at all


@dataclass(frozen=True, slots=True)
class Run:
    """One run: what came out, and the value of every node."""

    output: object
    values: Mapping[int, object]


def run(program: Program, data: object, rng: np.random.Generator) -> Run:
    """The program's own output on `data`, its draws made by `rng` in the order the function makes them.

    Guarantee: whole numbers, truth values, shapes and choices are those of the function; floats up to the
    order of additions.
    """
    values: dict[int, object] = {}
    waiting: dict[int, Callable[[], object]] = {}
    lengths: dict[int, int] = {}
    inputs = inputs_of(data)

    def value(node: Node) -> object:
        if node.id in waiting:
            values[node.id] = waiting.pop(node.id)()
        if node.id not in values and node.primitive not in _ONCE:
            # It was read first on a path that is not taken, and is used after it as well.
            values[node.id] = value_of(node, value, inputs, lengths, rng)
        return values[node.id]

    def reached(node: Node) -> bool:
        return all(
            test.id in values or test.id in waiting for test, _ in graph.when.get(node.id, ())
        ) and all(bool(value(test)) == answer for test, answer in graph.when.get(node.id, ()))

    graph = program.graph
    loops = list(graph.in_order.values())
    if len({id(loop) for loop in loops}) < len(loops):
        raise CannotRun("several numbers are drawn for each record, in turns")
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if node.id in graph.scratch or not reached(node):
                continue
            if node.primitive in ("apply", "either"):  # may be an error on a path that is not taken
                waiting[node.id] = _later(node, value)
                continue
            values[node.id] = value_of(node, value, inputs, lengths, rng)
            for place, dim in enumerate(node.shape):
                if isinstance(dim, RowSet):
                    lengths[id(dim)] = shape_of(values[node.id])[place]
        output = materialised(graph, program.output, value)
    return Run(output, values)


def _later(node: Node, value: Callable[[Node], object]) -> Callable[[], object]:
    if node.primitive == "either":
        test, first, second = node.args
        return lambda: own(value(first if value(test) else second))
    return lambda: PRIMITIVES["apply"].evaluate(
        *(own(value(arg)) for arg in node.args), **node.params
    )


def shape_of(value: object) -> tuple[int, ...]:
    """The shape of an array or a number."""
    return np.asarray(value).shape


def own(value: object) -> object:
    """As Python code has it: numbers of numpy instead of arrays without axes."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def value_of(
    node: Node,
    value: Callable[[Node], object],
    inputs: Mapping[str, object],
    lengths: Mapping[int, int],
    rng: np.random.Generator,
) -> object:
    """The value of one node, from those of its operands."""
    if node.primitive == "data":
        name = str(node.params["source"])
        if name not in inputs and shape_of(inputs.get("data")) == (0,):  # a list of no records
            return np.empty((0, *(n for n in node.shape[1:] if isinstance(n, int))), node.dtype)
        if name not in inputs:
            raise CannotRun(f"the data have no {name}")
        if shape_of(inputs[name])[1:] != tuple(node.shape[1:]):
            raise CannotRun(f"{name} has another shape than was described")
        return inputs[name]
    if node.primitive == "constant":
        return node.params["value"]
    if node.primitive == "select" and not node.args[0].ndim:
        return _selected(node, value)
    if node.primitive == "apply":
        return PRIMITIVES["apply"].evaluate(*(own(value(arg)) for arg in node.args), **node.params)
    if node.primitive == "draw":
        return drawn(node, rng, _sizes(node.params["shape"], lengths))  # type: ignore[arg-type]
    if node.primitive == "apply_draw":
        return value(node.args[0])
    if node.primitive == "pick":
        return picked(node, np.asarray(value(node.args[0]), dtype=float), rng)
    return PRIMITIVES[node.primitive].evaluate(*(value(arg) for arg in node.args), **node.params)


def _selected(node: Node, value: Callable[[Node], object]) -> object:
    """One of two; the other one was not computed where a branch decides, and then both have one shape."""
    test, *sides = node.args
    taken, other = sides if value(test) else reversed(sides)
    chosen = np.asarray(value(taken)).astype(node.dtype)
    if taken.shape == node.shape:
        return chosen
    return np.broadcast_to(chosen, np.broadcast_shapes(chosen.shape, shape_of(value(other))))


def _sizes(shape: Shape, lengths: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(lengths[id(n)] if isinstance(n, RowSet) else n for n in shape)


def picked(node: Node, law: np.ndarray, rng: np.random.Generator) -> object:
    """One place with these probabilities."""
    source, places = node.params["source"], len(law)
    if node.params["method"] == "choices" and source == "random":
        return random.choices(range(places), weights=law.tolist())[0]
    if node.params["method"] == "choice" and source in ("rng", "np.random"):
        return (rng if source == "rng" else np.random).choice(places, p=law)
    raise CannotRun("the program makes a generator of its own")


def drawn(node: Node, rng: np.random.Generator, sizes: tuple[int, ...]) -> object:
    """The numbers of one draw."""
    params = node.params
    if params.get("method") == "bernoulli":
        raise CannotRun("coins with probabilities of their own")
    source: object = rng
    if params.get("source") != "rng":
        if params.get("source") == "np.random":
            source = np.random
        elif params.get("source") == "random":
            several: list[Any] = [_python(node) for _ in range(math.prod(sizes))]
            return np.reshape(several, sizes) if sizes else several[0]
        else:
            raise CannotRun("the program makes a generator of its own")
    size = sizes if sizes or "sized" in params else None
    method, scale = str(params["method"]), params.get("scale", 1.0)
    call = getattr(source, method if method != "integers" or source is rng else "randint")
    if method in ("laplace", "normal", "gumbel"):
        return call(0.0, scale, size)
    if method == "exponential":
        return call(scale, size)
    if method in ("standard_normal", "random"):
        return call(size) if size is not None else call()
    if method == "uniform":
        first = np.asarray(params["location"])
        return call(first, first + np.asarray(scale), size)
    if method == "geometric":
        return call(params["chance"], size)
    if method == "binomial":
        return call(1, float(np.asarray(scale)), size)
    if method == "integers":
        if params["law"] == "coin":
            return call(0, 2, size)
        low = int(np.asarray(params["location"]))
        return call(low, low + int(np.asarray(scale)), size)
    if method == "permutation":
        return call(params["count"])
    if params["law"] == "places":
        return call(params["count"], sizes[0], replace=False)
    values = params.get("values")
    many = int(np.asarray(scale)) if values is None else values
    return call(many, size, p=params.get("law_of"))


def _python(node: Node) -> object:
    scale, place = (
        float(np.asarray(node.params.get(n, d))) for n, d in (("scale", 1.0), ("location", 0.0))
    )
    method = node.params["method"]
    if method == "random":
        return random.random()
    if method == "uniform":
        return random.uniform(place, place + scale)
    if method == "integers":
        coin = node.params["law"] == "coin"
        return random.randint(0, 1) if coin else random.randint(int(place), int(place + scale) - 1)
    if method == "normal":
        return random.gauss(0.0, scale)
    return random.expovariate(1 / scale)


def inputs_of(data: object, name: str = "data") -> dict[str, object]:
    """The arrays of a dataset, by the names the reader gave them."""
    if isinstance(data, tuple):
        return {
            k: v for i, part in enumerate(data) for k, v in inputs_of(part, f"{name}[{i}]").items()
        }
    if isinstance(data, dict):
        return {
            k: v
            for key, part in data.items()
            for k, v in inputs_of(part, f"{name}[{key!r}]").items()
        }
    if type(data).__name__ == "DataFrame":
        return {f"{name}[{key!r}]": _column(data[key]) for key in data.columns}  # type: ignore[index, attr-defined]
    if type(data).__name__ == "Series":
        return {name: _column(data)}
    listed = columns_of(data)
    if listed is not None:
        return {f"{name}[{key!r}]": _of_list(column) for key, column in listed.items()}
    return {name: np.asarray(data)}


def _of_list(column: list[object]) -> np.ndarray:
    found = np.asarray(column)
    return found if found.dtype.kind in "biuf" else np.asarray(column, dtype=object)


def _column(series: object) -> np.ndarray:
    found = series.to_numpy()  # type: ignore[attr-defined]
    return found if isinstance(found, np.ndarray) else np.asarray(found)


def materialised(graph: Graph, value: object, of: Callable[[Node], object]) -> object:
    """A value of the reader as Python would have it."""
    if isinstance(value, Undecided):
        test, first = value.options[0]
        taken = test is not None and bool(of(test[0])) == test[1]
        rest = first if taken or len(value.options) == 1 else Undecided(value.options[1:])
        return materialised(graph, rest, of)
    if isinstance(value, Series):
        import pandas as pd

        found = of(value.array.node(graph))
        return pd.Series(np.array(found), index=value.labels, name=value.name)
    if isinstance(value, Grid):
        import pandas as pd

        table = np.array(of(value.array.node(graph)))
        return pd.DataFrame(table, index=list(value.rows), columns=list(value.columns))
    if isinstance(value, Array):
        found = np.array(of(value.node(graph)))
        return found.tolist() if value.form is list else found
    if isinstance(value, Scalar | Opaque):
        return own(of(value.node))
    if isinstance(value, Instance):
        fields = fields_of(value)
        if fields is not None:
            return tuple.__new__(value.kind, [materialised(graph, each, of) for each in fields])
        made: object = object.__new__(value.kind)
        for name, each in value.attributes.items():
            object.__setattr__(made, name, materialised(graph, each, of))
        return made
    if isinstance(value, Value):
        raise CannotRun(f"an output that is a {type(value).__name__}")
    if type(value) is dict:
        return {key: materialised(graph, each, of) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(materialised(graph, each, of) for each in value)  # type: ignore[attr-defined, call-arg]
    return value
