"""How many of the answers of a sparse vector can be hits, on any path: read off the tests that end it.

Lemma. When answer k is given, every test on its path has its answer. A test `this answer is a hit` that is
false says that one was none; a test `count >= c` that is false, with count the number of hits among some
answers, says that fewer than c of those were. So the hits before k are at most the bound that follows, and
the last hit of a path is one more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Public

if TYPE_CHECKING:
    from dpcheck.program.graph import Node
    from dpcheck.program.joints import Bit

Bits = frozenset[int]  # by identity


@dataclass(frozen=True, slots=True)
class Count:
    """A public whole number plus the number of hits among some answers."""

    base: int
    bits: Bits


def most_hits(bits: Sequence[Bit], up: bool) -> tuple[int, int]:
    """The most hits before any answer, and the most in all; a hit is an answer above, or else below."""
    before, most = 0, 0
    for k, bit in enumerate(bits):
        known = _known(bit, up)
        earlier = frozenset(id(each) for each in bits[:k])
        before = max(before, _most(earlier, known))
        most = max(most, _most(earlier, known) + 1)
    return before, most


def _most(bits: Bits, known: list[tuple[Bits, int]]) -> int:
    for some, limit in known:
        if limit <= 0:
            bits -= some
    return max(0, min([len(bits), *(limit + len(bits - some) for some, limit in known)]))


def _known(bit: Bit, up: bool) -> list[tuple[Bits, int]]:
    """Sets of answers, and how many hits there are among them at most."""
    found: list[tuple[Bits, int]] = []
    for node, answer in bit.path:
        limit = _limit(node, answer, up, found)
        if limit is not None:
            found.append(limit)
    return found


def _limit(
    node: Node, answer: bool, up: bool, known: list[tuple[Bits, int]]
) -> tuple[Bits, int] | None:
    while node.primitive == "logical_not":
        node, answer = node.args[0], not answer
    hit = _hit(node, up)
    if hit is not None:
        bit, says = hit
        return (frozenset({id(bit)}), 0) if answer != says else None
    if node.primitive == "select" and not answer:
        return _both(node, up, known)
    if node.primitive not in _ENDS or len(node.args) != 2:
        return None
    name, (left, right) = node.primitive, node.args
    if isinstance(left.fact, Public):
        name, left, right = _MIRRORED[name], right, left
    limit, count = _whole(right), _count(left, up)
    if limit is None or count is None:
        return None
    if name in ("equal", "not_equal"):
        same = answer == (name == "equal")
        if same:
            return count.bits, limit - count.base
        most = count.base + _most(count.bits, known)
        return count.bits, (most - 1 if most == limit else most) - count.base
    if (name in ("less", "less_equal")) != answer:
        return None
    strict = name in ("less", "greater_equal")
    return count.bits, limit - int(strict) - count.base


_ENDS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
_MIRRORED = {
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}


def _both(node: Node, up: bool, known: list[tuple[Bits, int]]) -> tuple[Bits, int] | None:
    """Not (this is a hit, and then a test holds): if it is one, the test does not hold."""
    test, then, other = node.args
    hit = _hit(test, up)
    if hit is None or not hit[1]:
        return None
    if not isinstance(other.fact, Public) or bool(np.asarray(other.fact.value)):
        return None
    inner = _limit(then, False, up, known)
    if inner is None:
        return None
    bits, limit = inner
    if id(hit[0]) in bits:
        return None
    return bits | {id(hit[0])}, max(limit + 1, _most(bits, known))


def _hit(node: Node, up: bool) -> tuple[Bit, bool] | None:
    """The answer a truth value is, and which value of it is a hit."""
    from dpcheck.program.joints import Bit

    turned = False
    while node.primitive == "logical_not":
        node, turned = node.args[0], not turned
    bit = getattr(node.fact, "release", None)
    return (bit, (bit.above == up) != turned) if isinstance(bit, Bit) else None


def _whole(node: Node) -> int | None:
    if not isinstance(node.fact, Public) or node.ndim or node.dtype.kind not in "biu":
        return None
    return int(np.asarray(node.fact.value))


def _count(node: Node, up: bool) -> Count | None:
    """The number of hits that a node counts."""
    public = _whole(node)
    if public is not None:
        return Count(public, frozenset())
    if node.primitive in ("convert", "number") and node.dtype.kind in "iu":
        hit = _hit(node.args[0], up)
        if hit is not None:
            return Count(0, frozenset({id(hit[0])})) if hit[1] else None
        return _count(node.args[0], up)
    if node.primitive == "add":
        one, two = (_count(arg, up) for arg in node.args)
        if one is None or two is None or one.bits & two.bits:
            return None
        return Count(one.base + two.base, one.bits | two.bits)
    if node.primitive != "select":
        return None
    one, two = (_count(arg, up) for arg in node.args[1:])
    if one is None or two is None:
        return None
    if one == two:
        return one
    hit = _hit(node.args[0], up)
    if hit is None:
        return None
    more, less = (one, two) if hit[1] else (two, one)
    if more.bits != less.bits or more.base != less.base + 1 or id(hit[0]) in less.bits:
        return None
    return Count(less.base, less.bits | {id(hit[0])})
