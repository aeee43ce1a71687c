"""How far a function of aggregates moves between neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Array, Box, DType
from dpcheck.program.facts.kinds import Aggregate, Public
from dpcheck.program.facts.rowsets import together
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Node
from dpcheck.program.rules.common import UNBOUNDED, plain, repeated
from dpcheck.program.rules.functions import FUNCTIONS, STEPS, overflows


def changed_only(size: Size) -> Size:
    """A vector that differs where another one does, nobody knows by how much."""
    return Size(np.asarray(np.inf), changed=size.changed)


def private(args: Sequence[Node]) -> list[Aggregate]:
    """The aggregates among the operands."""
    return [arg.fact for arg in args if isinstance(arg.fact, Aggregate)]


def records(args: Sequence[Node]) -> frozenset[int] | None:
    """The places of the records behind the operands, where they are known."""
    found = [fact.records for fact in private(args)]
    known = [each for each in found if each is not None]
    return frozenset().union(*known) if len(known) == len(found) else None


def disjoint(a: Aggregate, b: Aggregate) -> bool:
    """Whether no record is behind both: then only one of them moves."""
    return a.records is not None and b.records is not None and a.records.isdisjoint(b.records)


def difference(name: str, args: Sequence[Node], shape: tuple[int, ...], dtype: DType) -> Size:
    """How far the result moves."""
    found = [arg.fact.box for arg in args]
    sizes = [
        repeated(arg.fact.diff, plain(arg.shape), shape)
        if isinstance(arg.fact, Aggregate)
        else None
        for arg in args
    ]
    only = next(size for size in sizes if size is not None)
    if len(args) == 1:
        return _of_one(name, only, found[0])
    if len(args) != 2:
        return UNBOUNDED
    a, b = sizes
    if name in ("add", "subtract", "minimum", "maximum"):
        if a is None or b is None:
            return only
        first, second = private(args)
        return a.either(b) if disjoint(first, second) else a.plus(b)
    if name == "multiply":
        parts = [s.scaled(found[1 - i].magnitude) for i, s in enumerate(sizes) if s is not None]
        return parts[0] if len(parts) == 1 else parts[0].plus(parts[1])
    if name == "divide":
        inverse = boxes.reciprocal(found[1]).magnitude
        parts = [] if a is None else [a.scaled(inverse)]
        if b is not None:
            parts.append(b.scaled(found[0].magnitude * inverse).scaled(inverse))
        return parts[0] if len(parts) == 1 else parts[0].plus(parts[1])
    if name == "power" and b is None and a is not None and found[1].lo.size == 1:
        exponent = float(found[1].lo.ravel()[0])
        if exponent >= 1 and dtype.kind == "f":
            return a.scaled(exponent * found[0].magnitude ** (exponent - 1))
    if a is None or b is None:
        return changed_only(only)
    return changed_only(a.plus(b))


def _of_one(name: str, size: Size, box: Box) -> Size:
    slope = FUNCTIONS[name].slope
    if slope is not None:
        steep: Array = np.asarray(slope(box), dtype=float)
        return size.scaled(np.where(np.isnan(steep), np.inf, steep))
    if name in STEPS:
        # A step more: sums of floats are rounded, and a step may lie in between.
        return Size(np.floor(size.coordinates + 1e-9) + 1, changed=size.changed)
    return changed_only(size)


def known(name: str, args: Sequence[Node], shape: tuple[int, ...]) -> dict[str, object]:
    """What else stays true: what one record adds, that more records move nothing down."""
    facts = private(args)
    found: dict[str, object] = {}
    if name == "exp" and _highest(args[0]) >= _LEAST_EXPONENT[args[0].dtype == np.float32]:
        found["exponent"] = _exponent(args[0])
    added = _contribution(name, args, shape)
    if added is not None:
        found |= {"contribution": added, "sampling": facts[0].sampling}
        predicate = facts[0].predicate
        if len(facts) == 1:
            found["predicate"] = predicate
        elif facts[0].predicate == facts[1].predicate:
            found["predicate"] = together(*(fact.predicate for fact in facts))
    if _keeps_rising(name, args):
        found["rising"] = True
    if name in ("add", "subtract", "negative", "multiply", "divide"):
        found["symmetric"] = all(_symmetric(arg) for arg in args)
    return found


def _symmetric(arg: Node) -> bool:
    if isinstance(arg.fact, Aggregate):
        return arg.fact.symmetric
    if not isinstance(arg.fact, Public) or arg.dtype.kind not in "biuf":
        return False
    value = np.asarray(arg.fact.value)
    return value.ndim == 0 or (value.ndim == 2 and np.array_equal(value, value.T))


def _exponent(node: Node) -> tuple[int, float]:
    """The scores behind factor * scores + shift: a shift of all entries is a common factor of exp."""
    factor = 1.0
    while (found := _behind(node)) is not None:
        node, times = found
        factor *= times
    return node.id, factor


_LEAST_EXPONENT = (-708.0, -87.0)  # of which exp has all its digits, in float64 and in float32


def _highest(node: Node) -> float:
    """What the largest entry is at least, so that its exp is no number that is rounded to few digits, or 0.

    The largest score less itself is 0.
    """
    known = float(np.max(node.fact.box.lo)) if node.shape != (0,) else -np.inf
    if node.primitive == "subtract" and node.args[1].primitive == "extreme":
        return max(known, 0.0 if node.args[1].args[0] is node.args[0] else -np.inf)
    found = _behind(node)
    if node.primitive in ("multiply", "divide") and found is not None and found[1] > 0:
        return max(known, _highest(found[0]) * found[1])
    return known


def _behind(node: Node) -> tuple[Node, float] | None:
    """Another node, of which this one is a multiple, but for one number that is added to all entries.

    Whole numbers that wrap around are no multiples.
    """
    if not isinstance(node.fact, Aggregate) or node.primitive not in FUNCTIONS:
        return None
    if overflows(node.primitive, [arg.fact.box for arg in node.args], node.dtype):
        return None
    if node.primitive == "negative":
        return node.args[0], -1.0
    if node.primitive not in ("multiply", "divide", "add", "subtract"):
        return None
    left, right = node.args
    for one, other, first in ((left, right, True), (right, left, False)):
        if not isinstance(one.fact, Aggregate) or one.shape != node.shape or other.ndim:
            continue
        if node.primitive in ("add", "subtract") and _is_shift(other):
            return one, 1.0 if first or node.primitive == "add" else -1.0
        if not isinstance(other.fact, Public) or other.dtype.kind not in "iuf":
            continue
        value = float(np.asarray(other.fact.value))
        if not np.isfinite(value) or value == 0 or (node.primitive == "divide" and not first):
            continue
        if node.primitive in ("multiply", "divide"):
            return one, value if node.primitive == "multiply" else 1 / value
    return None


def _is_shift(node: Node) -> bool:
    """A public number, the largest score, or any other finite one: where exp may overflow, the
    probabilities may be NaN, and are refused for that."""
    return isinstance(node.fact, Public) or node.primitive == "extreme" or node.fact.box.finite


def _keeps_rising(name: str, args: Sequence[Node]) -> bool:
    facts = private(args)
    if not all(fact.rising for fact in facts):
        return False
    if name == "add":
        return True
    if name == "subtract":
        return isinstance(args[0].fact, Aggregate) and len(facts) == 1
    if name in ("multiply", "divide") and len(facts) == 1:
        other = args[1] if isinstance(args[0].fact, Aggregate) else args[0]
        if name == "divide" and other is args[0]:
            return False
        return bool((other.fact.box.lo > 0).all()) and not other.fact.box.nan
    return False


def _contribution(name: str, args: Sequence[Node], shape: tuple[int, ...]) -> Size | None:
    """What one record adds, where the function is linear in it."""
    facts = private(args)
    if any(fact.contribution is None for fact in facts):
        return None
    if any(plain(arg.shape) != shape for arg in args if isinstance(arg.fact, Aggregate)):
        return None
    sizes = [fact.contribution for fact in facts if fact.contribution is not None]
    if len(facts) == 2:
        same = facts[0].sampling == facts[1].sampling and name in ("add", "subtract")
        return sizes[0].plus(sizes[1]) if same else None
    if name in ("add", "subtract", "negative", "positive"):
        return sizes[0]
    if name == "multiply":
        other = args[1] if isinstance(args[0].fact, Aggregate) else args[0]
        return sizes[0].scaled(other.fact.box.magnitude)
    if name == "divide" and isinstance(args[0].fact, Aggregate):
        return sizes[0].scaled(boxes.reciprocal(args[1].fact.box).magnitude)
    return None
