"""Sums of entries of one private vector: they move together by less than one by one.

Lemma. Let neighbours differ by d in a vector, and let numbers c_j . vector (plus what is public or released)
be released with Laplace noise of scales b_j. The losses add up to at most sum_j |c_j . d| / b_j, which is at
most max_i sum_j |c_ji| / b_j times the L1 norm of d, whatever of them is made on which path. One of them
moves by at most max |c_i| times the L1 norm, |c| times the L2 norm, or sum |c_i| times the largest entry.
"""

from __future__ import annotations

import math

import numpy as np

from dpcheck.program.facts.kinds import Aggregate, Public, Released
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Graph, Node
from dpcheck.program.rules.functions import overflows

Form = tuple[Node, dict[int, float]]  # a vector, and the factors of its entries


def form_of(graph: Graph, node: Node) -> Form | None:
    """A private number as a sum of entries of one vector."""
    if node.id not in graph.forms:
        graph.forms[node.id] = _form(graph, node)
    return graph.forms[node.id]


def _form(graph: Graph, node: Node) -> Form | None:
    if node.ndim or not isinstance(node.fact, Aggregate) or node.dtype.kind not in "if":
        return None
    name, args = node.primitive, node.args
    if name == "index" and args[0].ndim == 1 and isinstance(args[0].fact, Aggregate):
        key = node.params["key"]
        if isinstance(key, tuple) and len(key) == 1 and type(key[0]) is int:
            many = args[0].shape[0]
            assert isinstance(many, int)
            return args[0], {key[0] % many: 1.0}
    if name in ("add", "subtract"):
        if overflows(name, [arg.fact.box for arg in args], node.dtype):
            return None  # whole numbers that wrap around are no sum of what they are made of
        return combined(graph, args, 1.0 if name == "add" else -1.0)
    if name in ("convert", "number") and (node.dtype == args[0].dtype or node.dtype.kind == "f"):
        return form_of(graph, args[0])
    return None


def combined(graph: Graph, args: tuple[Node, ...], sign: float) -> Form | None:
    """first + sign * second."""
    found: dict[int, float] = {}
    source: Node | None = None
    for node, factor in zip(args, (1.0, sign), strict=True):
        if isinstance(node.fact, Public | Released):
            continue
        form = form_of(graph, node)
        if form is None or (source is not None and form[0] is not source):
            return None
        source = form[0]
        for at, each in form[1].items():
            found[at] = found.get(at, 0.0) + factor * each
    return None if source is None else (source, found)


def moves(form: Form) -> float:
    """By how much such a sum moves at most."""
    source, factors = form
    assert isinstance(source.fact, Aggregate)
    size, values = source.fact.diff, np.abs(list(factors.values()))
    with np.errstate(invalid="ignore"):
        bounds = (
            values.max(initial=0.0) * size.l1,
            math.sqrt(float((values**2).sum())) * size.l2,
            values.sum() * size.linf,
        )
    return float(np.nanmin(bounds)) * (1 + 1e-15)


def size_of(graph: Graph, name: str, args: tuple[Node, ...]) -> Size | None:
    """How far the sum of two numbers moves, where both are made of entries of one vector."""
    if name not in ("add", "subtract") or any(arg.ndim for arg in args):
        return None
    form = combined(graph, args, 1.0 if name == "add" else -1.0)
    return None if form is None or len(form[1]) < 2 else Size(np.asarray(moves(form)))
