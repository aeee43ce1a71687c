"""What a test says of the numbers that it chooses between."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dpcheck.training.derive import Context
from dpcheck.training.facts import Numbers, Rows
from dpcheck.training.graph import Node, Value
from dpcheck.training.rules import numbers as of
from dpcheck.training.rules.rowwise import alone, tokens_of

_SEEN_THROUGH = ("broadcast", "reshape", "copy", "stop_gradient")


def refined(at: Context, node: Node, yes: Numbers, no: Numbers) -> tuple[Numbers, Numbers]:
    """What the test of a select says of the values it chooses between."""
    test = node.args[0]
    return (
        _where(at, test, (), True, node.args[1], yes),
        _where(at, test, (), False, node.args[2], no),
    )


def _where(
    at: Context, test: Value, before: Chain, holds: bool, value: Value, x: Numbers
) -> Numbers:
    """Numbers of a value where a test came out this way: both sides of an "and" hold where it does."""
    node, chain = _chain(at, test, before)
    while node is not None and node.op == "not":
        node, chain = _chain(at, node.args[0], chain)
        holds = not holds
    if node is None:
        return x
    if node.op == ("and" if holds else "or") and node.out.dtype == "bool":
        for each in node.args:
            x = _where(at, each, chain, holds, value, x)
        return x
    if node.op not in ("is_finite", "is_nan", "gt", "ge", "lt", "le", "ne", "eq"):
        return x
    return _given(at, node, chain, holds, value, x)


Chain = tuple[Any, ...]


def _chain(at: Context, value: Value, before: Chain = ()) -> tuple[Node | None, Chain]:
    """The node behind a value, and how its entries got where they are."""
    node = at.made.get(value.index)
    while node is not None and node.op in _SEEN_THROUGH:
        if node.op in ("broadcast", "reshape"):
            before = (*before, (node.op, node.out.shape, node.params.get("dims")))
        node = at.made.get(node.args[0].index)
    return node, before


def _root(at: Context, value: Value, before: Chain = ()) -> Chain:
    """Which entries of which value these are: where a record has one entry, that one wherever it went."""
    node, chain = _chain(at, value, before)
    if node is None:
        return (None, *chain)
    root = node.outs[0]
    kind = at.facts[root.index].kind
    if isinstance(kind, Rows) and not kind.grouped and alone(root.shape, kind):
        return (root.index,)
    return (root.index, *chain)


def _given(
    at: Context, test: Node, through: Chain, holds: bool, value: Value, x: Numbers
) -> Numbers:
    """Numbers of a value where a test came out this way."""
    if test.op in ("is_finite", "is_nan"):
        if holds != (test.op == "is_finite"):
            return x
        held = (test.op, 0.0)
        return _again(at, value, (), _root(at, test.args[0], through), held, x, _DEEP)
    left, right = test.args
    if test.op == "ne" and _root(at, left) == _root(at, right):  # x != x: NaN
        same = _root(at, left, through) == _root(at, value)
        return replace(x, nan=False) if same and not holds else x
    op = test.op if holds else _OPPOSITE[test.op]
    for tested, other, how in ((left, right, op), (right, left, _MIRRORED.get(op, op))):
        limit = _limit_of(how, at.facts[other.index].numbers)
        either = (at.facts[tested.index].numbers, at.facts[other.index].numbers)
        if limit is None or (not holds and any(numbers.nan for numbers in either)):
            continue
        x = _again(at, value, (), _root(at, tested, through), (how, limit), x, _DEEP)
    return x


def _limit_of(op: str, other: Numbers) -> float | None:
    """The number that x is beyond, if x op other."""
    if op in ("eq", "ne"):
        return other.exactly
    limit = other.lo if op in ("gt", "ge") else other.hi
    return limit if math.isfinite(limit) and not other.inf else None


def _again(
    at: Context,
    value: Value,
    before: Chain,
    tested: Chain,
    held: tuple[str, float],
    x: Numbers,
    depth: int,
) -> Numbers:
    """The numbers `x` of a value again, where the tested value fulfils `held`."""
    if _root(at, value, before) == tested:
        return _cut(x, *held)
    if x.tame or not depth:
        return x
    if held[0] in _FINITE and _covered(at, value, tested):
        return _cut(x, *held)
    made, chain = _chain(at, value, before)
    if made is None or made.op not in _ARITHMETIC or made.out.half:
        return x
    first, second = (
        _again(at, arg, chain, tested, held, at.facts[arg.index].numbers, depth - 1)
        for arg in made.args
    )
    return of.BINARY[made.op](first, second)


def _covered(at: Context, value: Value, tested: Chain) -> bool:
    """Whether a value's entries are in a norm that was tested. **Lemma.** The root of a sum of squares, or a sum of
    absolute values, is NaN or infinite if one of its entries is.
    """
    norm = at.facts.get(tested[0]) if len(tested) == 1 else None
    tag = norm.kind.tag if norm is not None and isinstance(norm.kind, Rows) else None
    kind = at.facts[value.index].kind
    if tag is None or not isinstance(kind, Rows) or kind.grouped or kind.vector is None:
        return False
    plain = tag.above == tag.below and len(tag.above) == 1 and tag.above[0][1] > 0
    return plain and not kind.vector.lower and kind.vector.tokens <= tokens_of(tag)


_DEEP = 6
_FINITE = ("is_finite", "is_nan")
_ARITHMETIC = ("mul", "div", "add", "sub", "min", "max")
_OPPOSITE = {"gt": "le", "ge": "lt", "lt": "ge", "le": "gt", "eq": "ne", "ne": "eq"}
_MIRRORED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}


def _cut(x: Numbers, op: str, limit: float) -> Numbers:
    """The numbers that fulfil x op limit, or passed a test for NaN."""
    if op in _FINITE:
        return replace(x, nan=False, inf=x.inf and op == "is_nan")
    if op in ("gt", "ge"):
        nonzero = x.nonzero or (op == "gt" and limit >= 0)
        return replace(x, lo=max(x.lo, limit), nonzero=nonzero, nan=False, inf=x.positive_inf)
    if op in ("lt", "le"):
        nonzero = x.nonzero or (op == "lt" and limit <= 0)
        return replace(x, hi=min(x.hi, limit), nonzero=nonzero, nan=False, inf=x.negative_inf)
    if op == "ne" and limit == 0:
        return replace(x, nonzero=True)
    if op == "eq":
        return Numbers(limit, limit)
    return x
