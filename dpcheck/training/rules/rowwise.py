"""What the rules share: which records two values have in common, zeros, terms scaled, reasons in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.facts.norms import NormTag
from dpcheck.training.derive import Context
from dpcheck.training.facts import (
    Aggregate,
    Fact,
    Factor,
    Member,
    Multiple,
    Numbers,
    Powers,
    Public,
    Region,
    Rows,
    Sums,
    Term,
    Tokens,
    Vector,
    united,
)
from dpcheck.training.graph import Shape, Value

PER_RECORD = "clip each record's gradient (jax.vmap of jax.grad, then its norm), sum, and add noise to the sum"


def is_public(*facts: Fact) -> bool:
    """Whether all of these are the same in both runs."""
    return all(isinstance(fact.kind, Public) for fact in facts)


def scalar(fact: Fact) -> float | None:
    """The one finite number that a public value is everywhere."""
    return fact.numbers.exactly if isinstance(fact.kind, Public) else None


def multiple(fact: Fact) -> Multiple | None:
    """The one number that a public value is everywhere, known or not."""
    number = scalar(fact)
    if number is not None:
        return Multiple(number)
    return fact.kind.multiple if isinstance(fact.kind, Public) else None


def zero_of(fact: Fact) -> bool:
    """Whether the null record's entries are 0."""
    if fact.numbers.exactly == 0.0:
        return True
    return isinstance(fact.kind, Rows) and fact.kind.zero and not fact.kind.grouped


def shared(at: Context, facts: Sequence[Fact]) -> Rows | Fact:
    """The records that values of one shape have in common, or why they have none."""
    rows = [fact.kind for fact in facts if isinstance(fact.kind, Rows)]
    if any(isinstance(fact.kind, Aggregate) for fact in facts):
        return at.mixed(
            "batch-statistics",
            "this line combines each record with a sum over the batch, so that one record changes all",
            "use statistics of each record alone (group or layer normalisation), or constants",
        )
    first = next((each for each in rows if each.order is not None), rows[0])
    for each in rows:
        order = each.order if each.order is not None else first.order
        if (each.axes, each.inner, order) != (first.axes, first.inner, first.order):
            return at.mixed(
                "records-compared",
                "this line combines different records of the batch with one another",
                "let each record's loss depend on that record alone",
            )
    region = _common([each.region for each in rows if each.order is not None or not each.axes])
    if region is False:
        return at.mixed(
            "records-compared",
            "this line combines different records of the batch with one another",
            "let each record's loss depend on that record alone",
        )
    assert not isinstance(region, bool)
    grouped = any(each.grouped for each in rows)
    why = next((each.why for each in rows if each.why), "")
    return Rows(first.axes, first.order, region, first.inner, grouped, why=why)


def _common(regions: Sequence[Region | None]) -> Region | bool | None:
    """The one region of all, False if they differ: then two records may be behind one entry."""
    found = set(regions)
    if len(found) > 1:
        return False
    return next(iter(found), None)


def after_sum(at: Context) -> Fact:
    """An aggregate went through something that is not linear."""
    return at.mixed(
        "after-sum",
        "this line computes with a sum over the batch that has no noise yet, in a way that nothing bounds",
        PER_RECORD,
    )


def as_block(at: Context, value: Value, fact: Fact) -> Fact:
    """A sum over the records of one round of a loop, as a value of that round.

    **Lemma.** Only the round that holds the record that differs has another one. What one record did to it is
    not known any more: between neighbours it goes from anything to anything, which is two moves, so this is
    no use under add-remove.
    """
    kind = fact.kind
    if not isinstance(kind, Aggregate) or at.adjacency is Adjacency.ADD_REMOVE or not kind.terms:
        return fact
    regions = {term.region for term in kind.terms}
    region = next(iter(regions))
    if len(regions) > 1 or region is None or region.stream is None:
        return fact
    vector = Vector(frozenset({(at.scope, value.index)}))
    return Fact(fact.numbers, Rows((), ("block", region), region, vector=vector))


def terms_scaled(
    terms: Sequence[Term], factor: float, whole: bool = True, unit: Powers = ()
) -> tuple[Term, ...]:
    """The terms times numbers of at most this magnitude; not `whole`: in other places of the array."""
    return tuple(
        replace(
            term,
            scale=term.scale * factor if term.scale and factor else 0.0,
            part=term.part if whole else None,
            unit=united(term.unit, unit),
        )
        for term in terms
    )


def member_scaled(
    member: Member | None, factor: float, whole: bool = True, unit: Powers = ()
) -> Member | None:
    """A member times numbers of at most this magnitude."""
    if member is None or not math.isfinite(factor):
        return None
    return replace(
        member,
        scale=member.scale * factor,
        part=member.part if whole else None,
        unit=united(member.unit, unit),
    )


def record_size(shape: Shape, rows: Rows) -> int:
    """Entries of one record."""
    size = math.prod(shape)
    for axis in rows.axes:
        size //= max(shape[axis], 1)
    return size * rows.inner


def element_sizes(shape: Shape, rows: Rows) -> tuple[int, ...]:
    """Lengths of the axes that are not the records'."""
    return tuple(n for axis, n in enumerate(shape) if axis not in rows.axes)


def alone(shape: Shape, rows: Rows) -> bool:
    """Whether each record has one entry."""
    return record_size(shape, rows) == 1


def with_tag(rows: Rows, shape: Shape, name: Any) -> Rows:
    """Where each record has one entry, sums are a function of a norm, and the norm is one of the sums.

    The source of the tag is the arrays and `name`, since two norms of the same arrays may differ (L1, L2).
    """
    if rows.grouped or not alone(shape, rows):
        return rows
    if rows.sums is not None and rows.tag is None and rows.sums.factor > 0:
        made = ((rows.sums.factor**rows.sums.power, float(rows.sums.power)),)
        return replace(rows, tag=Factor((rows.sums.tokens, name), 2.0, made, made))
    if rows.tag is not None and rows.sums is None and not rows.tag.unit:
        return from_tag(rows)
    return rows


def tokens_of(tag: NormTag) -> Tokens:
    """The arrays whose joint norm it is at least."""
    tokens, _ = tag.source  # type: ignore[misc]
    return tokens  # type: ignore[no-any-return]


def from_tag(rows: Rows) -> Rows:
    """A norm, or its square, as sums; and a norm as a vector that is at least as long."""
    tag = rows.tag
    assert tag is not None
    if tag.above != tag.below or len(tag.above) != 1:
        return rows
    (a, p), source = tag.above[0], tokens_of(tag)
    if p == 2.0:
        return replace(rows, sums=Sums(source, 2, math.sqrt(a)))
    if p == 1.0:
        return replace(rows, sums=Sums(source, 1, a), vector=Vector(source, a, lower=True))
    return rows


def joined_sums(a: Sums | None, b: Sums | None) -> Sums | None:
    """Entries of both, together: of different arrays."""
    if a is None or b is None or a.power != b.power or a.tokens & b.tokens:
        return None
    return Sums(a.tokens | b.tokens, a.power, min(a.factor, b.factor))


def clipped(v: Rows, tag: Factor, why: str = "norm-misses-leaf") -> tuple[Member | None, str]:
    """Rows times a factor of a joint norm: |g_k| s(r) <= C |g_k| / r, which are parts of a vector <= C."""
    vector = v.vector
    if vector is None or vector.lower or v.grouped:
        return None, why
    if not vector.tokens <= tokens_of(tag):
        return None, why
    bound = tag.product_bound()
    if not math.isfinite(bound):
        return None, "factor-unbounded"
    return Member(tokens_of(tag), vector.tokens, vector.factor * bound, unit=tag.unit), ""


def box_of(numbers: Numbers) -> float:
    """The largest magnitude, infinite if there may be NaN."""
    return math.inf if numbers.nan else numbers.magnitude


def of_size(x: Numbers) -> float:
    """The largest magnitude of something that is multiplied with."""
    return math.inf if x.nan else x.magnitude
