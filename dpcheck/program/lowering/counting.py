"""Histograms, bins, membership."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.program.facts.kinds import RANDOM, Rows
from dpcheck.program.graph import Node
from dpcheck.program.lowering.functions import apply
from dpcheck.program.lowering.reductions import operand, summed
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.public import public_call, released_call

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def binned(reader: Reader, places: Node, bins: int, weights: Node | None = None) -> Node:
    """Counts, or sums of weights, of whole numbers 0 to bins - 1."""
    hot = reader.graph.add("one_hot", places, bins=bins)
    if weights is None:
        return reader.graph.add("sum", hot, axes=(0,), dtype=np.dtype(np.int64))
    if not isinstance(weights.fact, Rows) or weights.ndim != 1:
        reader.unknown("a histogram with weights of something else than the same records")
    column = reader.graph.add("reshape", weights, shape=(weights.shape[0], 1))
    if weights.dtype.kind != "f":
        column = reader.graph.add("convert", column, dtype=np.dtype(float))
    filled = apply(reader, "multiply", reader.graph.add("convert", hot, dtype=column.dtype), column)
    return summed(reader, filled, (0,), np.dtype(float))


def histogram_edges(bins: Any, limits: Any) -> np.ndarray:
    """The edges that np.histogram takes, once they do not depend on the data."""
    return np.histogram_bin_edges(np.zeros(1), bins, limits)


def _edges(reader: Reader, bins: object, limits: object) -> np.ndarray:
    if not reader.is_public([bins, limits]):
        if reader.is_released([bins, limits]):
            reader.refuse(
                "released-path",
                "the bins of a histogram are released values",
                "use public edges, or @dpcheck.enforced",
            )
        reader.refuse(
            "private-control",
            "the bins of a histogram are computed from the data",
            "use public edges: np.histogram(x, bins=[...])",
        )
    plain, ends = reader.plain(bins), reader.plain(limits)
    if isinstance(plain, str):
        reader.refuse(
            "private-control",
            f"bins={plain!r} are chosen by looking at the data",
            "use public edges: np.histogram(x, bins=[...])",
        )
    if np.ndim(plain) == 0 and ends is None:  # type: ignore[arg-type]
        reader.refuse(
            "private-control",
            "np.histogram without range= puts its bins where the data are",
            "pass range=(low, high) or a list of edges",
        )
    found = reader.attempt(lambda: histogram_edges(plain, ends))
    assert isinstance(found, np.ndarray)
    return found


@lower(np.histogram)
def histogram(
    reader: Reader,
    a: object,
    bins: object = 10,
    range: object = None,  # noqa: A002 - numpy's name
    density: object = None,
    weights: object = None,
) -> object:
    """np.histogram with public edges."""
    if reader.is_public([a, bins, range, density, weights]):
        named = {"bins": bins, "range": range, "density": density, "weights": weights}
        return public_call(reader, np.histogram, (a,), named)
    edges = _edges(reader, bins, range)
    node = operand(reader, a)
    if not isinstance(node.fact, Rows):
        if reader.is_released(a):
            return released_call(reader, lambda v: np.histogram(v, edges), (a,))
        reader.unknown("np.histogram of something else than records")
    if node.ndim != 1:
        if any(n != 1 for i, n in enumerate(node.shape) if i != node.fact.axis):
            reader.unknown("np.histogram of more than one column")
        node = reader.graph.add("reshape", node, shape=(node.fact.rows,))
    if reader.plain(density):
        reader.refuse(
            "private-count", "density=True divides by a private count", "divide a noisy histogram"
        )
    if node.dtype.kind not in "biuf":
        reader.unknown("np.histogram of text")
    places = _bins(reader, node, edges)
    weight = None if weights is None else reader.node(weights)
    counts = binned(reader, places, len(edges) - 1, weight)
    return reader.array(counts), reader.wrap(edges)


def _bins(reader: Reader, node: Node, edges: np.ndarray) -> Node:
    """The bin of each record, -1 or beyond for those outside; the last bin holds its right end."""
    graph = reader.graph
    many = len(edges) - 1
    if node.dtype.kind == "b":
        node = graph.add("convert", node, dtype=np.dtype(np.int64))
    places = graph.add("digitize", node, edges=edges, right=False)
    one_less = graph.add("subtract", places, graph.constant(1))
    last = graph.add("equal", node, graph.constant(edges[-1]))
    return graph.add("select", last, graph.constant(many - 1), one_less)


@lower(np.histogram2d)
def histogram2d(
    reader: Reader,
    x: object,
    y: object,
    bins: object = 10,
    range: object = None,  # noqa: A002 - numpy's name
    density: object = None,
    weights: object = None,
) -> object:
    """np.histogram2d with public edges."""
    if reader.is_public([x, y, bins, range, density, weights]):
        return public_call(reader, np.histogram2d, (x, y, bins, range, density, weights), {})
    edges = _edges_of_many(reader, (bins, range, density, weights), 2)
    counts = _counts(reader, [operand(reader, x), operand(reader, y)], edges)
    return (counts, *(reader.wrap(each) for each in edges))


@lower(np.histogramdd)
def histogramdd(
    reader: Reader,
    sample: object,
    bins: object = 10,
    range: object = None,  # noqa: A002 - numpy's name
    density: object = None,
    weights: object = None,
) -> object:
    """np.histogramdd with public edges."""
    if reader.is_public([sample, bins, range, density, weights]):
        return public_call(reader, np.histogramdd, (sample, bins, range, density, weights), {})
    if type(sample) in (list, tuple):
        columns = [operand(reader, each) for each in sample]  # type: ignore[attr-defined]
    else:
        node = operand(reader, sample)
        if not isinstance(node.fact, Rows) or node.ndim != 2 or node.fact.axis:
            reader.unknown("np.histogramdd of something else than a table of records")
        many = int(node.shape[1])  # type: ignore[arg-type]
        keys = [(slice(None), i) for i in builtins.range(many)]
        columns = [reader.graph.add("index", node, key=key) for key in keys]
    edges = _edges_of_many(reader, (bins, range, density, weights), len(columns))
    return _counts(reader, columns, edges), [reader.wrap(each) for each in edges]


def _edges_of_many(reader: Reader, options: tuple[object, ...], axes: int) -> list[np.ndarray]:
    """The edges along each axis, which must be the same whatever the data are."""
    bins, limits, density, weights = options
    if not reader.is_public(list(options)) or weights is not None or reader.plain(density):
        reader.unknown("a histogram of several columns with private bins, weights or density")
    plain: Any = reader.plain(bins)
    ends: Any = reader.plain(limits)

    def edges(value: float) -> list[np.ndarray]:
        one = np.full((1, axes), value)
        if axes == 2:
            return list(np.histogram2d(one[:, 0], one[:, 1], plain, ends)[1:])
        return list(np.histogramdd(one, plain, ends)[1])

    found, again = (reader.attempt(lambda v=v: edges(v)) for v in (0.0, 7.25))  # type: ignore[misc]
    assert isinstance(found, list)
    assert isinstance(again, list)
    if not all(np.array_equal(a, b) for a, b in zip(found, again, strict=True)):
        reader.refuse(
            "private-control",
            "a histogram without range= puts its bins where the data are",
            "pass range=[(low, high), ...], or a list of edges for each column",
        )
    return found


def _counts(reader: Reader, columns: list[Node], edges: list[np.ndarray]) -> object:
    """One cell a record, at most."""
    graph, lengths = reader.graph, [len(each) - 1 for each in edges]
    for node in columns:
        if not isinstance(node.fact, Rows) or node.ndim != 1 or node.dtype.kind not in "biuf":
            reader.unknown("a histogram of something else than columns of numbers")
    cell = inside = None
    for node, ends, many in zip(columns, edges, lengths, strict=True):
        place = _bins(reader, node, ends)
        within = apply(
            reader,
            "logical_and",
            graph.add("greater_equal", place, graph.constant(0)),
            graph.add("less", place, graph.constant(many)),
        )
        if cell is None or inside is None:
            cell, inside = place, within
            continue
        cell = graph.add("add", graph.add("multiply", cell, graph.constant(many)), place)
        inside = graph.add("logical_and", inside, within)
    assert cell is not None
    assert inside is not None
    cell = graph.add("select", inside, cell, graph.constant(-1))
    flat = binned(reader, cell, math.prod(lengths))
    table = graph.add("reshape", flat, shape=tuple(lengths))
    return reader.array(graph.add("convert", table, dtype=np.dtype(float)))


@lower(np.bincount)
def bincount(reader: Reader, x: object, weights: object = None, minlength: object = 0) -> object:
    """np.bincount of bounded whole numbers."""
    if reader.is_public([x, weights, minlength]):
        return public_call(reader, np.bincount, (x, weights, minlength), {})
    node, many = operand(reader, x), int(reader.plain(minlength))  # type: ignore[call-overload]
    if isinstance(node.fact, RANDOM) or not isinstance(node.fact, Rows):
        if reader.is_released(x):
            return released_call(reader, np.bincount, (x, weights, minlength))
        reader.unknown("np.bincount of something else than records")
    if node.dtype.kind not in "biu" or float(node.fact.box.lo.min()) < 0 or node.ndim != 1:
        reader.refuse(
            "unbounded",
            "np.bincount raises for numbers that are negative or not whole, and the data decide that",
            "clip them: np.clip(x, 0, k - 1), as whole numbers",
        )
    if float(node.fact.box.hi.max()) >= many:
        reader.refuse(
            "private-length",
            "the data decide how many bins np.bincount has",
            "clip the numbers below k and pass minlength=k",
        )
    return reader.array(
        binned(reader, node, many, None if weights is None else reader.node(weights))
    )


@lower(np.digitize)
def digitize(reader: Reader, x: object, bins: object, right: object = False) -> object:
    """np.digitize with public edges."""
    if reader.is_public([x, bins, right]):
        return public_call(reader, np.digitize, (x, bins, right), {})
    edges = _public_edges(reader, bins)
    steps = np.diff(edges)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        reader.refuse("failed", "the bins must be in order", "sort them")
    plain = bool(reader.plain(right))
    return _digitized(reader, x, edges, plain)


def _digitized(reader: Reader, x: object, edges: np.ndarray, right: bool) -> object:
    node = operand(reader, x)
    if node.dtype.kind not in "biuf":
        reader.unknown("bins of text")
    if node.dtype.kind == "b":
        node = reader.graph.add("convert", node, dtype=np.dtype(np.int64))
    return reader.array(reader.graph.add("digitize", node, edges=edges, right=right))


def _public_edges(reader: Reader, bins: object) -> np.ndarray:
    if not reader.is_public(bins):
        reader.refuse("private-control", "the edges of bins are private", "use public edges")
    return np.asarray(reader.plain(bins))


@lower(np.searchsorted)
def searchsorted(reader: Reader, a: object, v: object, side: object = "left") -> object:
    """Places of private values among public edges; never the other way round."""
    if reader.is_public([a, v, side]):
        return public_call(reader, np.searchsorted, (a, v, side), {})
    edges = _public_edges(reader, a)
    if (np.diff(edges) < 0).any():
        reader.refuse("failed", "np.searchsorted in edges that are not sorted", "sort them")
    return _digitized(reader, v, edges, reader.plain(side) == "left")


@lower(np.isin)
def isin(reader: Reader, element: object, test_elements: object, invert: object = False) -> object:
    """np.isin with a public list."""
    if reader.is_public([element, test_elements, invert]):
        return public_call(reader, np.isin, (element, test_elements), {"invert": invert})
    values = reader.plain(test_elements)
    found = np.ravel(np.asarray(list(values) if isinstance(values, set) else values)).tolist()
    node = reader.graph.add("isin", operand(reader, element), values=tuple(found))
    if reader.plain(invert):
        node = reader.graph.add("logical_not", node)
    return reader.array(node)
