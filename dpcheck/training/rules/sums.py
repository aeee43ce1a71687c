"""Reductions: within a record rows stay rows, over the records they become an aggregate."""

from __future__ import annotations

import math
from dataclasses import replace

from dpcheck.core.adjacency import Adjacency
from dpcheck.training.derive import Context
from dpcheck.training.facts import Aggregate, Fact, Member, Numbers, Rows
from dpcheck.training.graph import CUMULATIVE, Node
from dpcheck.training.rules import numbers as of
from dpcheck.training.rules.registry import rule
from dpcheck.training.rules.rowwise import (
    after_sum,
    is_public,
    member_scaled,
    record_size,
    terms_scaled,
    with_tag,
    zero_of,
)
from dpcheck.training.rules.shapes import ordered


def _folded(node: Node) -> int:
    before = node.args[0].shape
    return math.prod(before[axis] for axis in node.params["axes"])


def as_one(at: Context, groups: Rows) -> Rows:
    """Groups of records of which nothing is known, as if each were one record.

    **Lemma.** Where a record takes the place of another, or of zeros, one group takes the place of another group: a
    clipped group moves by at most twice its bound.
    """
    if at.adjacency is Adjacency.ADD_REMOVE:
        return groups
    return replace(groups, grouped=False, zero=False)


def kept_axes(rows: Rows, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Where the records' axes are when `axes` are gone."""
    return tuple(a - sum(b < a for b in axes) for a in rows.axes if a not in axes)


@rule("reduce_sum")
def reduce_sum(at: Context, node: Node, x: Fact) -> Fact:
    """Sums.

    **Lemma.** Over all records: an aggregate, whose term is what one record adds. Over some of their axes: each
    index left holds several records, and still at most one index differs. Within a record: m entries add
    up to at most sqrt(m) times their norm; of squares, to the same squared norm.
    """
    x = at.settled(x)
    axes = tuple(int(a) for a in node.params["axes"])
    image = of.summed(x.numbers, _folded(node))
    if is_public(x):
        return Fact(image, at.public([x]))
    if isinstance(x.kind, Aggregate):
        root = math.sqrt(_folded(node))
        return Fact(
            image, replace(x.kind, terms=terms_scaled(x.kind.terms, root, _folded(node) == 1))
        )
    rows = x.kind
    assert isinstance(rows, Rows)
    over = [a for a in axes if a in rows.axes]
    inside = [a for a in axes if a not in rows.axes]
    within = math.prod(node.args[0].shape[a] for a in inside)
    if over and rows.inner > 1 and rows.axes[-1] in over:
        within *= rows.inner
    root = math.sqrt(within)
    member = member_scaled(rows.member, root, within == 1)
    if over:
        each = record_size(node.out.shape, Rows(())) if len(over) == len(rows.axes) else 1
        one = Fact(of.summed(x.numbers, within), replace(rows, member=member, inner=1))
        if len(over) == len(rows.axes):
            return Fact(image, Aggregate((at.total(one, each),)))
        if rows.inner > 1:
            return at.mixed(
                "records-mixed", "this sum mixes records", "sum over the records, all of them"
            )
        left = kept_axes(rows, axes)
        order = ("groups", rows.order, axes, rows.axes)
        if member is None and x.numbers.tame:
            term = at.total(
                one, math.prod(n for a, n in enumerate(node.out.shape) if a not in left)
            )
            if math.isfinite(term.scale):
                member = Member(term.source, term.tokens, term.scale, unit=term.unit)
        found = Rows(
            left, order, rows.region, 1, grouped=True, zero=rows.zero, member=member, why=rows.why
        )
        return Fact(image, found if member is not None else as_one(at, found))
    found = rows.bare(zero=rows.zero, member=member)
    found = replace(found, axes=kept_axes(rows, axes))
    if within == 1:
        found = replace(found, vector=rows.vector, sums=rows.sums, tag=rows.tag, test=rows.test)
    elif rows.grouped or node.out.half or node.args[0].half:
        return Fact(image, found)
    elif rows.sums is not None:
        found = replace(found, sums=rows.sums)
    return Fact(image, with_tag(found, node.out.shape, at.name))


@rule("reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or")
def reduce_other(at: Context, node: Node, x: Fact) -> Fact:
    """Extremes and products: rows within a record, refused over records."""
    x = at.settled(x)
    axes = tuple(int(a) for a in node.params["axes"])
    count = _folded(node)
    image = x.numbers if count else Numbers(inf=True)
    if node.op == "reduce_prod" and count > 1:
        image = Numbers(
            -math.inf, math.inf, x.numbers.without_zero, x.numbers.inf, not x.numbers.tame
        )
        if x.numbers.lo >= 0:
            image = replace(image, lo=0.0)
        if x.numbers.magnitude <= 1:
            image = replace(image, lo=max(image.lo, -1.0), hi=1.0)
    if is_public(x):
        return Fact(image, at.public([x]))
    if isinstance(x.kind, Aggregate):
        return after_sum(at)
    rows = x.kind
    assert isinstance(rows, Rows)
    if set(axes) & set(rows.axes):
        return ordered(at, [x])
    found = rows.bare(zero=zero_of(x))
    return Fact(image, replace(found, axes=kept_axes(rows, axes)))


@rule("argmax", "argmin")
def argmax(at: Context, node: Node, x: Fact) -> Fact:
    """Where the extreme is."""
    x = at.settled(x)
    axis = int(node.params["axis"])
    image = Numbers(0.0, float(max(node.args[0].shape[axis] - 1, 0)))
    if is_public(x):
        return Fact(image, at.public([x]))
    if isinstance(x.kind, Aggregate):
        return after_sum(at)
    rows = x.kind
    assert isinstance(rows, Rows)
    if axis in rows.axes:
        return ordered(at, [x])
    return Fact(image, replace(rows.bare(), axes=kept_axes(rows, (axis,))))


@rule(*sorted(CUMULATIVE))
def cumulative(at: Context, node: Node, x: Fact) -> Fact:
    """Running sums, products and extremes: rows within a record, refused over records."""
    x = at.settled(x)
    axis = int(node.params["axis"])
    count = node.args[0].shape[axis]
    if node.op == "cumsum":
        image = of.summed(x.numbers, count).joined(x.numbers) if count else x.numbers
    elif node.op == "cumprod":
        image = Numbers(inf=x.numbers.inf, nan=not x.numbers.tame)
    else:
        image = x.numbers
    if is_public(x):
        return Fact(image, at.public([x]))
    if isinstance(x.kind, Aggregate):
        return after_sum(at)
    rows = x.kind
    assert isinstance(rows, Rows)
    if axis in rows.axes:
        return at.mixed(
            "positions",
            "this line runs through the records in their order",
            "treat all records alike",
        )
    return Fact(image, rows.bare(zero=zero_of(x)))
