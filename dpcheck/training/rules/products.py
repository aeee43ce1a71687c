"""Matrix products, convolutions and pooling: where the records of both sides end up."""

from __future__ import annotations

import math
from dataclasses import replace

from dpcheck.training.derive import Context
from dpcheck.training.facts import Aggregate, Fact, Member, Numbers, Public, Rows, Sums
from dpcheck.training.graph import Node
from dpcheck.training.rules import numbers as of
from dpcheck.training.rules.registry import rule
from dpcheck.training.rules.rowwise import (
    after_sum,
    clipped,
    is_public,
    member_scaled,
    record_size,
    shared,
    with_tag,
    zero_of,
)
from dpcheck.training.rules.sums import as_one


def _compared(at: Context) -> Fact:
    return at.mixed(
        "records-compared",
        "this product combines different records of the batch with one another (attention or a loss"
        " across the batch, in-batch negatives)",
        "let each record's loss depend on that record alone",
    )


@rule("dot_general")
def dot_general(at: Context, node: Node, a: Fact, b: Fact) -> Fact:
    """Sums of products.

    **Lemma.** Records in a batch axis of both sides, or in a free axis of one, stay where those go. Contracted,
    each record adds its own product: a clip factor times its rows adds a member of the group.
    """
    a, b = at.settled(a), at.settled(b)
    left, right = node.args[0].shape, node.args[1].shape
    (ca, cb), (ba, bb) = node.params["contract"], node.params["batch"]
    count = math.prod(left[i] for i in ca)
    image = of.summed(of.mul(a.numbers, b.numbers), count)
    squared = node.args[0] == node.args[1] and ca == cb and ba == bb
    if squared:
        image = of.summed(of.power(a.numbers, 2.0), count)
    if is_public(a, b):
        return Fact(image, at.public([a, b]))
    if isinstance(a.kind, Aggregate) or isinstance(b.kind, Aggregate):
        if isinstance(a.kind, Rows) or isinstance(b.kind, Rows):
            found = shared(at, [a, b])
            return found if isinstance(found, Fact) else after_sum(at)
        return after_sum(at)
    free_a = [i for i in range(len(left)) if i not in ca and i not in ba]
    free_b = [i for i in range(len(right)) if i not in cb and i not in bb]
    place_a = {axis: i for i, axis in enumerate(ba)} | {
        axis: len(ba) + i for i, axis in enumerate(free_a)
    }
    place_b = {axis: i for i, axis in enumerate(bb)} | {
        axis: len(bb) + len(free_a) + i for i, axis in enumerate(free_b)
    }
    zero = _zero(a, b)
    both = isinstance(a.kind, Rows) and isinstance(b.kind, Rows)
    rows = a.kind if isinstance(a.kind, Rows) else b.kind
    assert isinstance(rows, Rows)
    contract, places = (ca, place_a) if rows is a.kind else (cb, place_b)
    gone = [axis for axis in rows.axes if axis in contract]
    if both:
        assert isinstance(a.kind, Rows) and isinstance(b.kind, Rows)
        pairs = dict(zip((*ca, *ba), (*cb, *bb), strict=True))
        if tuple(pairs.get(axis) for axis in a.kind.axes) != b.kind.axes:
            return _compared(at)
        moved = Fact(b.numbers, replace(b.kind, axes=a.kind.axes))
        found = shared(at, [a, moved])
        if isinstance(found, Fact):
            return found
        rows = found
    if gone and len(gone) < len(rows.axes):
        if rows.inner > 1:
            return at.mixed("records-mixed", "this product mixes records", "sum over all records")
        axes = tuple(places[axis] for axis in rows.axes if axis not in contract)
        order = ("groups", rows.order, tuple(gone), rows.axes)
        return Fact(image, as_one(at, Rows(axes, order, rows.region, grouped=True, why=rows.why)))
    if gone:
        one = _per_record(at, node, rows, a, b, count)
        return Fact(image, Aggregate((at.total(one, node.out.size),)))
    axes = tuple(places[axis] for axis in rows.axes)
    found = replace(rows.bare(zero=zero and not rows.grouped), axes=axes)
    if (
        squared
        and not rows.grouped
        and not node.out.half
        and not node.args[0].half
        and all(left[i] == 1 for i in free_a)
    ):
        found = replace(found, sums=_squares(a))
    return Fact(image, with_tag(found, node.out.shape, at.name))


def _squares(x: Fact) -> Sums | None:
    vector = x.kind.vector if isinstance(x.kind, Rows) else None
    return Sums(vector.tokens, 2, vector.factor) if vector is not None else None


def _zero(a: Fact, b: Fact) -> bool:
    return (zero_of(a) and b.numbers.tame) or (zero_of(b) and a.numbers.tame)


def _per_record(at: Context, node: Node, rows: Rows, a: Fact, b: Fact, count: int) -> Fact:
    """What one record adds where the records are contracted."""
    left, right = node.args[0].shape, node.args[1].shape
    shape = left if isinstance(a.kind, Rows) else right
    own = a.kind if isinstance(a.kind, Rows) else b.kind
    assert isinstance(own, Rows)
    records = math.prod(shape[axis] for axis in own.axes)
    within = rows.inner * max(count // max(records, 1), 1)
    numbers = of.summed(of.mul(a.numbers, b.numbers), within)
    found = replace(rows, zero=_zero(a, b), inner=1, member=None)
    if rows.grouped or node.out.half or node.args[0].half or node.args[1].half:
        return Fact(numbers, replace(found, why="half-precision" if not rows.grouped else rows.why))
    best: list[Member] = []
    why = rows.why
    for v, other, shape in ((a, b, right), (b, a, left)):
        if not isinstance(v.kind, Rows) or within > 1:
            continue
        single = isinstance(other.kind, Rows) and record_size(shape, other.kind) == 1
        if isinstance(other.kind, Rows) and not single:
            continue
        if isinstance(other.kind, Public) and math.prod(shape) != records:
            continue
        weight = math.inf if other.numbers.nan else other.numbers.magnitude
        member = member_scaled(v.kind.member, weight)
        if member is not None:
            best.append(member)
        if isinstance(other.kind, Rows) and other.kind.tag is not None:
            member, reason = clipped(v.kind, other.kind.tag)
            if member is not None:
                best.append(member)
            else:
                why = why or reason
    member = min(best, key=lambda each: each.scale, default=None)
    return Fact(numbers, replace(found, member=member, why="" if member else why))


@rule("conv")
def conv(at: Context, node: Node, a: Fact, b: Fact) -> Fact:
    """Convolution.

    **Lemma.** Records in the batch of the left side stay there. Records that lie, major first, in grouped
    channels of both sides (as `vmap` puts them) or in grouped batches end up in the output's channels.
    """
    a, b = at.settled(a), at.settled(b)
    p = node.params
    left, right = node.args[0].shape, node.args[1].shape
    count = math.prod(right) // max(right[p["rhs_spec"][0]], 1)
    image = of.summed(of.mul(a.numbers, b.numbers), count).joined(Numbers(0.0, 0.0))
    if is_public(a, b):
        return Fact(image, at.public([a, b]))
    if isinstance(a.kind, Aggregate) or isinstance(b.kind, Aggregate):
        return after_sum(at)
    rows = a.kind if isinstance(a.kind, Rows) else b.kind
    assert isinstance(rows, Rows)
    zero = _zero(a, b) and not rows.grouped
    if not rows.axes:
        found = shared(at, [a, b])
        return found if isinstance(found, Fact) else Fact(image, found.bare(zero=zero))
    if len(rows.axes) != 1:
        return at.mixed("records-mixed", "this convolution mixes records", "use jax.vmap")
    (axis,) = rows.axes
    length = left[axis] if rows is a.kind else right[axis]
    records = length // rows.inner
    batch, channels = p["lhs_spec"][0], p["lhs_spec"][1]
    outer, _inner = p["rhs_spec"][0], p["rhs_spec"][1]
    to_batch, to_channels = p["out_spec"][0], p["out_spec"][1]
    if rows is a.kind and isinstance(b.kind, Public):
        if axis == batch and p["batch_groups"] == 1:
            return Fact(image, replace(rows.bare(zero=zero), axes=(to_batch,)))
        if axis == channels and p["groups"] % records == 0:
            inner = node.out.shape[to_channels] // records
            return Fact(image, replace(rows.bare(zero=zero), axes=(to_channels,), inner=inner))
        if axis == batch and p["batch_groups"] % records == 0:
            inner = node.out.shape[to_channels] // records
            return Fact(image, replace(rows.bare(zero=zero), axes=(to_channels,), inner=inner))
        return _compared(at)
    if isinstance(a.kind, Public) and axis == outer and p["batch_groups"] == 1 and p["groups"] == 1:
        return Fact(image, replace(rows.bare(zero=zero), axes=(to_channels,)))
    if isinstance(a.kind, Public):
        return _compared(at)
    assert isinstance(a.kind, Rows) and isinstance(b.kind, Rows)
    grouped = a.kind.axes == (channels,) and p["groups"] % records == 0 and p["batch_groups"] == 1
    batched = a.kind.axes == (batch,) and p["batch_groups"] % records == 0 and p["groups"] == 1
    same = right[outer] // b.kind.inner == records and b.kind.axes == (outer,)
    if (grouped or batched) and same and left[axis] // a.kind.inner == records:
        aligned = Fact(b.numbers, replace(b.kind, axes=a.kind.axes, inner=a.kind.inner))
        found = shared(at, [a, aligned])
        if isinstance(found, Fact):
            return found
        inner = node.out.shape[to_channels] // records
        return Fact(image, replace(found.bare(zero=zero), axes=(to_channels,), inner=inner))
    return _compared(at)


@rule("pool_max", "pool_sum", "pool_max_grad")
def pool(at: Context, node: Node, *args: Fact) -> Fact:
    """Pooling: rows, if no window spans two records."""
    args = tuple(at.settled(arg) for arg in args)
    image = args[0].numbers
    window = math.prod(node.params["window"])
    if node.op == "pool_sum" or node.op == "pool_max_grad":
        image = of.summed(image, window).joined(image).joined(Numbers(0.0, 0.0))
    elif any(any(pair) for pair in node.params["padding"]):
        image = replace(image, nonzero=False)
    if is_public(*args):
        return Fact(image, at.public(args))
    if any(isinstance(arg.kind, Aggregate) for arg in args):
        return after_sum(at)
    rows = shared(at, args)
    if isinstance(rows, Fact):
        return rows
    for axis in rows.axes:
        plain = node.params["window"][axis] == 1 and node.params["strides"][axis] == 1
        if (
            not plain
            or any(node.params["padding"][axis])
            or node.params["base_dilation"][axis] != 1
        ):
            return _compared(at)
    return Fact(image, rows.bare(zero=zero_of(args[0])))
