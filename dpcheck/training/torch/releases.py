"""Sums over records, what is added to them, and when somebody may look at them.

**Lemma (settling).** Public + sum + noise, where the noise is Gaussian, fresh for every entry and used nowhere else,
is one Gaussian release; all that is computed from it is free. The same sum with the same noise, both times a
number and shifted by something public, is the same release. Sums stay open until something looks: several sums
and several draws may still be added.
"""
# mypy: disable-error-code="arg-type, assignment, attr-defined, misc, no-any-return, operator, union-attr"

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from dpcheck.replay.draws import Line
from dpcheck.training.torch.facts import (
    PUBLIC,
    Bounded,
    Fact,
    Key,
    Part,
    Sum,
    Why,
    digest,
    rounded,
)


@dataclass(frozen=True, slots=True)
class Settled:
    """One release of a run: what is in it, and the standard deviation of its noise."""

    line: Line
    parts: tuple[tuple[Key, Part], ...]
    noise: tuple[tuple[Any, float], ...]

    @property
    def deviation(self) -> float:
        """Of all draws together."""
        return math.hypot(*(c for _, c in self.noise))

    def normal(self) -> tuple[Any, ...]:
        """The release up to a common factor."""
        unit = self.noise[0][1]
        return (
            tuple(sorted((str(n), rounded(c / unit)) for n, c in self.noise)),
            tuple(
                sorted(
                    (k, part.bound.part, tuple((r, rounded(c / unit)) for r, c in part.times))
                    for k, part in self.parts
                )
            ),
        )


def records_of(owner: Any) -> list[int]:
    """The records that entries depend on."""
    return sorted(int(r) for r in torch.unique(owner) if int(r) != PUBLIC)


def box(fact: Fact) -> Bounded | None:
    """The bound that the interval of the entries gives."""
    if fact.bounded is not None:
        return fact.bounded if fact.numbers.tame else None
    if fact.owner is None or not fact.numbers.tame or math.isinf(fact.numbers.magnitude):
        return None
    found = records_of(fact.owner)
    if not found or found[0] < 0:
        return None
    entries = max(int((fact.owner == r).sum()) for r in found)
    token = digest("box", fact.key, fact.coef)
    return Bounded(token, frozenset({token}), fact.numbers.magnitude * math.sqrt(entries))


def as_sum(tape: Any, fact: Fact) -> Sum | Why:
    """A value as a sum over records, if each adds something bounded."""
    if fact.why is not None:
        return fact.why
    if fact.sum is not None:
        return fact.sum
    if fact.owner is None:
        return Sum(offset="" if fact.value == 0 else digest(fact.ukey))
    found = records_of(fact.owner)
    if len(found) != 1 or found[0] < 0:
        return Why(
            "mixed-records",
            tape.line(),
            "values of different records are added entry by entry",
            "sum over the records first",
        )
    return one(tape, fact, found)


def one(tape: Any, fact: Fact, found: Sequence[int]) -> Sum | Why:
    """The sum over these records of what is bounded for each."""
    bound = box(fact)
    if not fact.numbers.tame:
        why = "what is summed may be infinite or NaN for some records"
        remedy = "guard it with torch.where(torch.isfinite(g), g, 0), or put an epsilon inside the root or the quotient"
        if tape.half:
            why += ", since numbers of half precision overflow"
            remedy = "convert to float32 before gradients are computed"
        return Why("not-finite", tape.line(), why, remedy)
    if bound is None:
        return Why(
            "unclipped",
            tape.line(),
            "a sum over records is not clipped record by record",
            "clip every record's gradient by its own norm, all leaves together, before it is summed",
        )
    part = Part(bound, tuple((r, 1.0) for r in found), tape.line())
    return Sum(((digest(fact.key, rounded(fact.coef)), part),))


def scaled(value: Sum, by: float) -> Sum:
    """A sum times a number."""
    return Sum(
        tuple(
            (k, replace(p, times=tuple((r, c * by) for r, c in p.times))) for k, p in value.parts
        ),
        tuple((n, c * by) for n, c in value.noise),
        digest(value.offset, rounded(by)) if value.offset else "",
    )


def added(a: Sum, b: Sum) -> Sum:
    """Two sums: contributions of one function to one record add up."""
    parts: dict[Any, Part] = dict(a.parts)
    for k, p in b.parts:
        place = k
        if k in parts and parts[k].bound.part != p.bound.part:
            place = (k, p.bound.part)
        if place in parts:
            times = dict(parts[place].times)
            for r, c in p.times:
                times[r] = times.get(r, 0.0) + c
            bound = max(parts[place].bound, p.bound, key=lambda x: x.bound)
            parts[place] = replace(parts[place], bound=bound, times=tuple(sorted(times.items())))
        else:
            parts[place] = p
    noise = dict(a.noise)
    for n, c in b.noise:
        noise[n] = noise.get(n, 0.0) + c
    offset = digest(sorted((a.offset, b.offset))) if a.offset and b.offset else a.offset or b.offset
    return Sum(tuple(parts.items()), tuple((n, c) for n, c in noise.items() if c != 0), offset)


def released_key(value: Sum) -> Key:
    """How a release was shifted and scaled: none of it may tell the number of records."""
    return digest("released", value.offset, sorted(rounded(c) for _, c in value.noise))


def joined(sums: Sequence[Sum], name: Key) -> Sum | None:
    """Sums side by side in one tensor: leaves of one group stay one group."""
    if any(s.noise or s.offset or len(s.parts) != 1 for s in sums):
        return None
    parts = [s.parts[0][1] for s in sums]
    first = parts[0]
    leaves: frozenset[object] = frozenset()
    for each in parts:
        same = each.bound.group == first.bound.group and each.times == first.times
        if not same or each.bound.leaves & leaves or each.bound.part is not None:
            return None
        leaves |= each.bound.leaves
    bound = Bounded(first.bound.group, leaves, max(p.bound.bound for p in parts))
    return Sum(((name, replace(first, bound=bound)),))


def sum_part(tape: Any, value: Sum, places: Any, numel: int, bijective: bool, fact: Fact) -> Fact:
    """Some entries of a sum."""
    if bijective:
        if not bool((places == torch.arange(numel)).all()) and not value.noise:
            moved = digest(places.numpy().tobytes())
            value = replace(
                value, parts=tuple((k, _sliced(p, (moved, 0, numel))) for k, p in value.parts)
            )
        return Fact(fact.numbers, sum=value, released=fact.released)
    if value.noise and value.parts:
        if not settle(tape, value):
            return Fact(
                why=Why(
                    "no-noise", tape.line(), "a sum over records has no noise", "add noise to it"
                )
            )
        return Fact(released=True, key=released_key(value), exact=released_key(value))
    start, stop = int(places.min()), int(places.max()) + 1
    contiguous = stop - start == places.numel() and bool(
        (places == torch.arange(start, stop)).all()
    )
    if value.noise:
        if places.unique().numel() != places.numel():
            return Fact(
                why=Why(
                    "shared-noise",
                    tape.line(),
                    "one draw is used for several entries",
                    "draw noise of the shape of what it is added to",
                )
            )
        noise = []
        for name, c in value.noise:
            taken = tape.pieces.setdefault(name, [])
            mark = digest(places.numpy().tobytes())
            for other, mine in taken:
                if mine != mark and bool(torch.isin(other, places).any()):
                    return Fact(
                        why=Why(
                            "reused-noise",
                            tape.line(),
                            "parts of one draw overlap",
                            "draw fresh noise for each release",
                        )
                    )
            taken.append((places, mark))
            noise.append(((name, mark), c))
        return Fact(sum=Sum((), tuple(noise), value.offset))
    parts = tuple((k, _sliced(p, (k, start, stop) if contiguous else None)) for k, p in value.parts)
    return Fact(fact.numbers, sum=Sum(parts, (), value.offset), released=fact.released)


def _sliced(part: Part, where: tuple[Any, int, int] | None) -> Part:
    """A slice; of a slice nothing is known."""
    if part.bound.part is not None:
        where = None
    return replace(part, bound=replace(part.bound, part=where))


def settle(tape: Any, value: Sum) -> bool:
    """Somebody looks at it: a release if its noise is right; False if it has none."""
    noise = tuple((n, c) for n, c in value.noise if c != 0)
    parts = tuple((k, p) for k, p in value.parts if any(c != 0 for _, c in p.times))
    if not noise:
        return not parts
    first = noise[0][0]
    made = Settled(tape.draws[first[0] if isinstance(first, tuple) else first], parts, noise)
    names = {n for n, _ in noise}
    bases = {n[0] if isinstance(n, tuple) else n for n in names}
    for name in list(names):
        if name in tape.pieces:
            tape.refuse(
                "reused-noise",
                "a draw and a part of it are both used",
                "draw fresh noise for each release",
            )
    for old in tape.settled:
        known = {n for n, _ in old.noise}
        if names & known:
            if made.normal() != old.normal():
                tape.refuse(
                    "reused-noise",
                    "the same noise is used in two releases",
                    "draw fresh noise for each release",
                    made.line,
                )
            return True
        if any(n in bases for n in known if not isinstance(n, tuple)):
            tape.refuse(
                "reused-noise",
                "a draw and a part of it are both used",
                "draw fresh noise for each release",
            )
    tape.settled.append(made)
    return True


def settle_all(tape: Any, tensors: Iterable[Any], facts: Iterable[Fact]) -> bool:
    """Whether all of these may be seen; those with noise are released by that."""
    pairs = list(zip(tensors, facts, strict=True))
    for _, fact in pairs:
        if fact.private and (fact.sum is None or not fact.sum.noise or fact.why is not None):
            return False
    for tensor, fact in pairs:
        if fact.private and fact.sum is not None:
            before = len(tape.settled)
            if not settle(tape, fact.sum):
                return False
            if len(tape.settled) > before:
                tape.values[before] = tensor.detach().clone()
            key = released_key(fact.sum)
            tape.set(tensor, Fact(released=bool(fact.sum.parts), key=key, exact=key))
    return True
