"""Noise whose scale is a released number: the private value is measured in units of it.

Lemma. Let s > 0 be released, and Z noise of scale 1. value + s Z is s (value / s + Z): a release of value / s
with noise of scale 1, times a number that is known. Division by s > 0 goes through sums, minima, maxima,
products and choices between two; so min(x, r) / s is at most r / s, a public number if both are multiples of
one released number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Aggregate, Drawn, Public, Released, Rows, ScaledNoise
from dpcheck.program.graph import Graph, Node
from dpcheck.program.rules.common import whole

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

_EXACT = 2.0**53  # whole numbers below it are floats


def release(reader: Reader, name: str, private: Node, noise: Node, *, flip: bool) -> Node:
    """private + s Z, private - s Z, or s Z - private."""
    graph, fact = reader.graph, noise.fact
    assert isinstance(fact, ScaledNoise)
    unit, scale = noise.args if isinstance(noise.args[0].fact, Drawn) else noise.args[::-1]
    value = whole(graph, divided(graph, private, scale))
    sign = 1.0 if name == "add" or flip else -1.0
    made = graph.add("release", value, unit, sign=sign, flip=flip)
    return graph.add("multiply", made, scale)


def divided(graph: Graph, node: Node, scale: Node) -> Node:
    """node / scale, with the division as far down as it goes."""
    if isinstance(node.fact, Public | Released):
        return _ratio(graph, node, scale)
    inner, name = node.args, node.primitive
    if not _follows(node):
        return graph.add("divide", node, scale)
    if name == "sum":
        found = divided(graph, inner[0], scale)
        return graph.add("sum", found, **{**node.params, "dtype": np.dtype(float)})
    if name in ("minimum", "maximum", "add", "subtract", "concatenate", "reshape"):
        parts = (divided(graph, each, scale) for each in inner)
        return graph.add(name, *parts, **node.params)
    if name == "select":
        return graph.add(
            "select", _test(graph, inner, scale), *(divided(graph, v, scale) for v in inner[1:])
        )
    if name in ("negative", "number", "convert"):
        found = divided(graph, inner[0], scale)
        return graph.add("negative", found) if name == "negative" else found
    if name == "divide":
        return graph.add("divide", divided(graph, inner[0], scale), inner[1])
    if name == "multiply":
        factor = inner[1] if _is_factor(inner[1]) else inner[0]
        other = inner[0] if factor is inner[1] else inner[1]
        return graph.add("multiply", divided(graph, other, scale), factor)
    return graph.add("divide", node, scale)


def _follows(node: Node) -> bool:
    """Whether the division goes through: real arithmetic, and nothing that wraps around or is cut off."""
    if any(arg.dtype.kind not in "biuf" for arg in node.args):
        return False
    if node.primitive == "convert":
        return node.dtype.kind == "f" and node.dtype.itemsize == 8 and _plain(node.args[0])
    if node.primitive == "number":
        return node.params["kind"] is float and _plain(node.args[0])
    if node.primitive == "divide":
        return isinstance(node.args[1].fact, Public | Released)
    if node.primitive == "multiply":
        return any(_is_factor(arg) for arg in node.args) and _plain(node)
    return isinstance(node.fact, Rows | Aggregate) and _plain(node)


def _plain(node: Node) -> bool:
    """A number that is what it is over the reals."""
    if node.dtype.kind == "f":
        return node.dtype.itemsize == 8
    return node.dtype.kind in "iu" and bool((node.fact.box.magnitude < _EXACT).all())


def _is_factor(node: Node) -> bool:
    return isinstance(node.fact, Public) and not node.ndim


def _test(graph: Graph, inner: tuple[Node, ...], scale: Node) -> Node:
    """A test for NaN has the same answer for the quotient."""
    test = inner[0]
    if test.primitive == "isnan" and test.args[0] in inner[1:]:
        return graph.add("isnan", divided(graph, test.args[0], scale))
    return test


def _ratio(graph: Graph, node: Node, scale: Node) -> Node:
    """A released or public number over the scale: a public one, where both are multiples of one number."""
    one, other = _multiple(node), _multiple(scale)
    if one[0] is other[0] and not node.ndim:
        return graph.constant(one[1] / other[1])
    if node.primitive in ("minimum", "maximum") and isinstance(node.fact, Released):
        return graph.add(node.primitive, *(_ratio(graph, each, scale) for each in node.args))
    return graph.add("divide", node, scale)


def _multiple(node: Node) -> tuple[Node, float]:
    """A number, and how many times that this one is."""
    factor = 1.0
    while isinstance(node.fact, Released):
        found = _step(node)
        if found is None:
            break
        node, times = found
        factor *= times
    return node, factor


def _step(node: Node) -> tuple[Node, float] | None:
    if node.primitive == "number" and node.params["kind"] is float and _plain(node.args[0]):
        return node.args[0], 1.0
    if node.primitive == "negative" and node.dtype == np.float64:
        return node.args[0], -1.0
    if node.primitive not in ("multiply", "divide") or node.dtype != np.float64:
        return None
    first, second = node.args
    number, other = (second, first) if _is_factor(second) else (first, second)
    if not _is_factor(number) or (node.primitive == "divide" and number is first):
        return None
    assert isinstance(number.fact, Public)
    value = float(np.asarray(number.fact.value))
    if not np.isfinite(value) or not value or other.ndim or not _plain(other):
        return None
    return other, value if node.primitive == "multiply" else 1 / value
