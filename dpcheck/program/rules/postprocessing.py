"""Anything computed from released values alone is released: nothing more need be known of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Box
from dpcheck.program.facts.kinds import RANDOM, Aggregate, Coins, Public, Released
from dpcheck.program.graph import Graph, Made, Node, primitive
from dpcheck.program.rules.common import aggregate, opened, released
from dpcheck.program.rules.random_numbers import spent
from dpcheck.program.rules.shapes import known_aggregate

ANYTHING = np.dtype(object)


def _apply(*values: object, function: Callable[..., object]) -> object:
    return function(*values)


@primitive("apply", "a pure function of released and public values", _apply)
def apply(graph: Graph, *args: Node, function: Callable[..., object]) -> Made:
    """Of whatever type and shape: it may be returned, and handed on."""
    assert all(isinstance(arg.fact, Released | Public) for arg in args)
    opened(args)
    return released((), ANYTHING, boxes.WHOLE)


def _either(test: object, first: object, second: object) -> object:
    return first if test else second


@primitive("either", "one of two released values, as a released value decides", _either)
def either(graph: Graph, test: Node, first: Node, second: Node) -> Made:
    """Of whatever type and shape."""
    del graph
    assert all(isinstance(arg.fact, Released | Public) for arg in (test, first, second))
    opened((test, first, second))
    return released((), ANYTHING, boxes.WHOLE)


def _truth(value: object) -> object:
    return bool(value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value)


@primitive("truth", "whether something released counts as true", _truth)
def truth(graph: Graph, a: Node) -> Made:
    """bool(), of whatever type."""
    del graph
    assert isinstance(a.fact, Released)
    opened((a,))
    return released((), np.dtype(bool), boxes.box(0.0, 1.0))


def _check_whole(graph: Graph, a: Node, kind: type) -> None:
    """int() raises for NaN and infinities, and has no end where numpy's whole numbers wrap around."""
    box = a.fact.box
    small = not box.nan and bool((np.abs(box.magnitude) <= 2.0**53).all())
    if kind is int and a.dtype.kind == "f" and not small:
        graph.refuse(
            "private-control",
            "int() of a private value that may be NaN, infinite or huge is an error for some data",
            "clip it first: np.clip(x, low, high)",
        )


def _number(value: object, kind: type) -> object:
    found: object = kind(np.asarray(value).item())
    return found


@primitive("number", "float() and int() of one number", _number)
def number(graph: Graph, a: Node, kind: type) -> Made:
    """A plain number of Python."""
    fact = a.fact
    if a.ndim and any(n != 1 for n in a.shape):
        graph.refuse("failed", "an array is turned into one number", "choose one of its entries")
    dtype = np.dtype(float if kind is float else (bool if kind is bool else np.int64))

    def flat(box: Box) -> Box:
        return box.mapped(lambda v: np.asarray(v).reshape(()) if np.size(v) == 1 else np.asarray(v))

    if isinstance(fact, Released):
        opened((a,))
        return released((), dtype, flat(fact.box))
    if isinstance(fact, RANDOM) and not a.ndim:
        whole = a.dtype.kind in "iu" or isinstance(fact, Coins)
        if kind is float or (kind is int and whole):
            return Made((), dtype, fact)
        return spent(graph, (a,), dtype)
    if isinstance(fact, Aggregate):
        _check_whole(graph, a, kind)
        if a.ndim == 0 and (kind is float or a.dtype.kind in "biu") and kind is not bool:
            return aggregate(
                (), dtype, fact.box, fact.diff, **known_aggregate(fact), counts=fact.counts
            )
        if a.ndim == 0 and kind is int:
            made = graph.add("convert", a, dtype=np.dtype(np.int64))
            return Made((), dtype, made.fact)
    return graph.refuse(
        "private-control",
        "a private value is turned into a plain number",
        "add noise to it first",
    )
