"""Where entries go: broadcast, reshape, transpose, slices, joins. What they keep is where records lie."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.training.derive import Context
from dpcheck.training.facts import (
    Aggregate,
    Drawn,
    Fact,
    Keys,
    Numbers,
    Part,
    Public,
    Region,
    Rows,
    Sums,
    Term,
    Vector,
)
from dpcheck.training.graph import Node, Shape
from dpcheck.training.rules import numbers as of
from dpcheck.training.rules.registry import rule
from dpcheck.training.rules.rowwise import (
    after_sum,
    is_public,
    member_scaled,
    shared,
    terms_scaled,
    with_tag,
    zero_of,
)
from dpcheck.training.sizes import uniform


@rule("constant")
def constant(at: Context, node: Node) -> Fact:
    """The same for all data."""
    value = node.params["value"]
    varies = at.graph.varies.get(node.out.index, ())
    if varies and value.size and uniform(value):
        return Fact(of.of_constant(value), Rows(varies, None, zero=not value.any()))
    return Fact(of.of_constant(value), Public(value if value.size <= 4096 else None))


@rule("iota")
def iota(at: Context, node: Node) -> Fact:
    """0, 1, 2, ... along an axis."""
    axis, shape = node.params["axis"], node.out.shape
    most = max(shape[axis] - 1, 0)
    value = None
    if node.out.size <= 4096:
        lead = [1] * len(shape)
        lead[axis] = shape[axis]
        value = np.broadcast_to(np.arange(shape[axis]).reshape(lead), shape)
    return Fact(Numbers(0.0, float(most)), Public(value))


@rule("broadcast")
def broadcast(at: Context, node: Node, x: Fact) -> Fact:
    """Entries repeated. **Lemma.** m copies have sqrt(m) times the norm."""
    before, after, dims = node.args[0].shape, node.out.shape, node.params["dims"]
    copies = math.prod(after) // max(math.prod(before), 1)
    if isinstance(x.kind, Keys):
        if node.out.dtype == "key":
            view = x.kind.paths.reshape(_lead(before, after, dims))
            return Fact(x.numbers, Keys(np.broadcast_to(view, after)))
        kept = dims and dims[-1] == len(after) - 1 and before[-1] == after[-1]
        if x.kind.raw and kept:
            view = x.kind.paths.reshape(_lead(before[:-1], after[:-1], dims[:-1]))
            return Fact(x.numbers, Keys(np.broadcast_to(view, after[:-1]), raw=True))
        x = at.settled(x)
    if isinstance(x.kind, Drawn):
        if copies == 1:
            return x
        at.ledger.hints.append(f"{node.line}: one number of noise is used for several entries")
        x = at.settled(x)
    if isinstance(x.kind, Aggregate):
        terms = terms_scaled(x.kind.terms, math.sqrt(copies), copies == 1)
        return Fact(x.numbers, replace(x.kind, terms=terms))
    if isinstance(x.kind, Public):
        varies = at.graph.varies.get(node.out.index, ())
        if varies and not any(dims[i] in varies for i in range(len(dims)) if before[i] > 1):
            zero = x.numbers.exactly == 0.0
            return Fact(x.numbers, Rows(varies, None, zero=zero, same=x.kind.multiple))
        value = x.kind.value
        if value is not None and node.out.size <= 4096:
            value = np.broadcast_to(np.reshape(value, _lead(before, after, dims)), after)
        else:
            value = None
        return Fact(x.numbers, Public(value, x.kind.released, x.kind.multiple))
    rows = x.kind
    assert isinstance(rows, Rows)
    axes = tuple(dims[axis] for axis in rows.axes)
    if any(before[axis] != after[dims[axis]] for axis in rows.axes):
        return at.mixed("records-repeated", "this line repeats records", "use each record once")
    root = math.sqrt(copies)
    found = replace(rows, axes=axes, member=member_scaled(rows.member, root, copies == 1))
    vector, sums = rows.vector, rows.sums
    if vector is not None and copies > 1:
        vector = Vector(vector.tokens, vector.factor * root, vector.lower)
    if sums is not None and copies > 1:
        sums = Sums(sums.tokens, sums.power, sums.factor * copies ** (1 / sums.power))
    return Fact(x.numbers, replace(found, vector=vector, sums=sums))


def _lead(before: Shape, after: Shape, dims: Any) -> list[int]:
    lead = [1] * len(after)
    for i, axis in enumerate(dims):
        lead[axis] = before[i]
    return lead


def moved_axes(before: Shape, after: Shape, rows: Rows) -> tuple[tuple[int, ...], int] | None:
    """Where the axes of the records are after a reshape, and how many entries of a record follow there.

    Row-major position = (before the records, record, after): the same three numbers must be found in the
    new shape.
    """
    axes = rows.axes
    if not axes:
        return (), 1
    if list(axes) != list(range(axes[0], axes[0] + len(axes))):
        return None
    ahead = math.prod(before[: axes[0]])
    records = math.prod(before[axis] for axis in axes) // rows.inner
    if records <= 1:
        size_one = [axis for axis in range(len(after)) if after[axis] == 1]
        if rows.inner > 1:
            return None
        return ((size_one[0],), 1) if size_one else ((), 1)
    place, done = 0, 1
    while place < len(after) and done < ahead:
        done *= after[place]
        place += 1
    if done != ahead:
        return None
    found: list[int] = []
    count = 1
    while place < len(after) and count < records:
        if after[place] != 1:
            found.append(place)
            count *= after[place]
        elif found:
            found.append(place)  # keeps the axes neighbours
        place += 1
    if count % records or count < records:
        return None
    while found and after[found[-1]] == 1:
        found.pop()
    return tuple(found), count // records


@rule("reshape")
def reshape(at: Context, node: Node, x: Fact) -> Fact:
    """The same entries in the same order under another shape."""
    before, after = node.args[0].shape, node.out.shape
    if isinstance(x.kind, Keys):
        if not x.kind.raw:
            return Fact(x.numbers, Keys(x.kind.paths.reshape(after)))
        if after and after[-1] == before[-1]:
            return Fact(x.numbers, Keys(x.kind.paths.reshape(after[:-1]), raw=True))
        x = at.settled(x)
    if isinstance(x.kind, (Aggregate, Drawn)):
        return x
    if isinstance(x.kind, Public):
        value = x.kind.value
        return Fact(
            x.numbers,
            Public(
                None if value is None else value.reshape(after), x.kind.released, x.kind.multiple
            ),
        )
    rows = x.kind
    assert isinstance(rows, Rows)
    place = moved_axes(before, after, rows)
    if place is None:
        return at.mixed(
            "records-mixed",
            "this reshape puts entries of different records together",
            "keep the records along one axis, the first one",
        )
    found = replace(rows, axes=place[0], inner=place[1])
    leading = bool(not rows.axes or rows.axes[0] == 0)
    if not leading and found.member is not None:
        found = replace(found, member=replace(found.member, part=None))
    return Fact(x.numbers, with_tag(found, after, at.name))


@rule("transpose")
def transpose(at: Context, node: Node, x: Fact) -> Fact:
    """Axes in another order. The entries of a record stay the same ones."""
    perm = tuple(int(i) for i in node.params["perm"])
    if isinstance(x.kind, Keys):
        if x.kind.raw and perm[-1] != len(perm) - 1:
            x = at.settled(x)
        else:
            perm = perm[:-1] if x.kind.raw else perm
            return Fact(x.numbers, Keys(x.kind.paths.transpose(perm), x.kind.raw))
    if isinstance(x.kind, (Aggregate, Drawn)):
        return x
    if isinstance(x.kind, Public):
        value = x.kind.value
        return Fact(
            x.numbers, Public(None if value is None else value.transpose(perm), x.kind.released)
        )
    rows = x.kind
    assert isinstance(rows, Rows)
    return Fact(x.numbers, replace(rows, axes=tuple(perm.index(axis) for axis in rows.axes)))


@rule("reverse")
def reverse(at: Context, node: Node, x: Fact) -> Fact:
    """The other way round along axes."""
    axes = node.params["axes"]
    x = at.settled(x)
    if isinstance(x.kind, Public):
        return Fact(x.numbers, at.public([x]))
    if isinstance(x.kind, Aggregate):
        return x
    rows = x.kind
    assert isinstance(rows, Rows)
    if set(axes) & set(rows.axes):
        if rows.inner > 1 or len(rows.axes) > 1 or at.graph.varies.get(node.out.index):
            return at.mixed("positions", "this line reverses the records", "keep their order")
        return Fact(x.numbers, replace(rows, order=("reversed", rows.order), region=None))
    return x


def _part(
    at: Context, node: Node, old: Part | None, shape: Shape, start: int, stop: int
) -> Part | None:
    """The slice of a vector; None where it is not simply one."""
    if len(shape) != 1 or old is not None:
        return old
    return ((at.scope, node.args[0].index), start, stop)


@rule("slice")
def slice_(at: Context, node: Node, x: Fact) -> Fact:
    """Some of the entries. **Lemma.** Slices of one vector that do not overlap are disjoint parts of it."""
    start, limit, stride = (node.params[name] for name in ("start", "limit", "stride"))
    return sliced(at, node, x, list(start), list(limit), list(stride))


def sliced(  # noqa: C901 - one case for each kind of fact
    at: Context, node: Node, x: Fact, start: list[int], limit: list[int], stride: list[int]
) -> Fact:
    """A slice with known ends."""
    before = node.args[0].shape
    cut = tuple(slice(a, b, c) for a, b, c in zip(start, limit, stride, strict=True))
    if isinstance(x.kind, Keys):
        if not x.kind.raw:
            return Fact(x.numbers, Keys(x.kind.paths[cut]))
        if cut[-1] == slice(0, before[-1], 1):
            return Fact(x.numbers, Keys(x.kind.paths[cut[:-1]], raw=True))
        x = at.settled(x)
    whole = all(a == 0 and b == n for a, b, n in zip(start, limit, before, strict=True))
    if isinstance(x.kind, (Aggregate, Drawn)):
        if whole and all(c == 1 for c in stride):
            return x
        if isinstance(x.kind, Drawn):
            if len(before) != 1 or x.kind.part is not None:
                axis = [
                    i
                    for i, (a, b) in enumerate(zip(start, limit, strict=True))
                    if (a, b) != (0, before[i])
                ]
                ok = x.kind.part is None and len(axis) == 1 and before[axis[0]] > 1
                if not ok:
                    return at.settled(x)
                name = ((at.scope, node.args[0].index), "axis", axis[0])
                return Fact(x.numbers, replace(x.kind, part=(name, start[axis[0]], limit[axis[0]])))
            return Fact(
                x.numbers, replace(x.kind, part=_part(at, node, None, before, start[0], limit[0]))
            )
        terms = tuple(
            replace(
                t,
                part=_part(
                    at, node, t.part, before, start[0] if start else 0, limit[0] if limit else 0
                ),
            )
            for t in x.kind.terms
        )
        return Fact(x.numbers, replace(x.kind, terms=terms))
    if isinstance(x.kind, Public):
        value = x.kind.value
        return Fact(x.numbers, Public(None if value is None else value[cut], x.kind.released))
    rows = x.kind
    assert isinstance(rows, Rows)
    found = rows.bare(zero=rows.zero, tag=rows.tag, test=rows.test, member=rows.member)
    if whole and all(c == 1 for c in stride):
        return x
    others = [axis for axis in range(len(before)) if axis not in rows.axes]
    if (
        rows.member is not None
        and len(others) == 1
        and (not rows.axes or rows.axes[0] == 0)
        and rows.inner == 1
    ):
        axis = others[0]
        part = _part(at, node, rows.member.part, (before[axis],), start[axis], limit[axis])
        found = replace(found, member=replace(rows.member, part=part))
    chosen = [
        axis
        for axis in rows.axes
        if (start[axis], limit[axis], stride[axis]) != (0, before[axis], 1)
    ]
    if not chosen:
        return Fact(x.numbers, found)
    if at.adjacency is Adjacency.ADD_REMOVE:
        return some_of_them(at)
    if all((start[a], limit[a], stride[a]) == (0, before[a], 1) for a in others):
        found = replace(found, vector=rows.vector, sums=rows.sums, member=rows.member)
    if rows.inner > 1 and any(
        start[a] % rows.inner or limit[a] % rows.inner or stride[a] != 1 for a in chosen
    ):
        return at.mixed("records-mixed", "this slice cuts records", "slice along the records only")
    return Fact(x.numbers, _some_records(at, node, found, chosen, start, limit, stride))


def _of_one_record(at: Context, facts: list[Fact], image: Numbers, what: str) -> Fact:
    """At a place that a record decides: in arrays that are public or that record's alone, as in a loop over records."""
    rows = shared(at, facts)
    if isinstance(rows, Fact):
        return rows
    if not rows.axes:
        return Fact(image, rows.bare())
    return at.mixed(
        "private-index",
        f"a private value decides what is {what} here",
        "use gather or .at[...] inside jax.vmap",
    )


def some_of_them(at: Context) -> Fact:
    """Records by their place, where one that is removed moves all that follow."""
    return at.mixed(
        "positions",
        "under add-remove a record that is removed moves all that follow it into other places, and this line"
        " picks records by their place",
        "treat all records alike (jax.vmap), or use adjacency='replace-one'",
    )


def _some_records(
    at: Context,
    node: Node,
    rows: Rows,
    chosen: list[int],
    start: list[int],
    limit: list[int],
    stride: list[int],
) -> Rows:
    """A slice of the records. `region` is which, if that is one stretch of the whole batch."""
    before = node.args[0].shape
    first = chosen[0]
    order = ("slice", rows.order, tuple((a, start[a], limit[a], stride[a]) for a in chosen))
    region = rows.region
    contiguous = (
        len(chosen) == 1 and rows.inner == 1 and stride[first] == 1 and rows.order == "batch"
    )
    if contiguous and region is None and rows.axes[0] == first:
        each = math.prod(before[axis] for axis in rows.axes[1:])
        region = Region(start[first] * each, limit[first] * each)
    return replace(rows, order=order, region=region)


@rule("dynamic_slice")
def dynamic_slice(at: Context, node: Node, x: Fact, *starts: Fact) -> Fact:
    """A slice whose place is a value. Public places: at most one index still differs."""
    before, after = node.args[0].shape, node.out.shape
    known = [fact.numbers.exactly for fact in starts]
    if all(k is not None or before[i] == after[i] for i, k in enumerate(known)):
        start = [
            0 if before[i] == after[i] else int(min(max(k or 0, 0), before[i] - after[i]))
            for i, k in enumerate(known)
        ]
        limit = [a + n for a, n in zip(start, after, strict=True)]
        return sliced(at, node, x, start, limit, [1] * len(start))
    if isinstance(x.kind, Keys) and is_public(*starts):
        return _some_key(at, node, x, starts)
    x = at.settled(x)
    starts = tuple(at.settled(fact) for fact in starts)
    if is_public(x, *starts):
        return Fact(x.numbers, at.public([x, *starts]))
    if isinstance(x.kind, Aggregate):
        if is_public(*starts):
            return Fact(
                x.numbers, replace(x.kind, terms=terms_scaled(x.kind.terms, 1.0, whole=False))
            )
        return after_sum(at)
    if not is_public(*starts):
        return _of_one_record(at, [x, *starts], x.numbers, "read")
    rows = x.kind
    assert isinstance(rows, Rows)
    found = rows.bare(
        zero=rows.zero,
        tag=rows.tag,
        test=rows.test,
        member=member_scaled(rows.member, 1.0, whole=False),
    )
    cut = [axis for axis in rows.axes if before[axis] != after[axis]]
    if not cut:
        return Fact(x.numbers, found)
    if at.adjacency is Adjacency.ADD_REMOVE:
        return some_of_them(at)
    if rows.inner > 1:
        return at.mixed("records-mixed", "this slice cuts records", "slice along the records only")
    loop = at.loops[-1] if at.loops else None
    order = (
        "slice",
        rows.order,
        tuple((axis, after[axis], node.args[1 + axis].index) for axis in cut),
        at.scope,
    )
    region = rows.region
    if at.blocks(node, cut):
        region = streamed(region, loop)
    return Fact(x.numbers, replace(found, order=order, region=region))


def streamed(region: Region | None, loop: int | None) -> Region:
    """Records of a region that a loop hands over."""
    if region is None:
        return Region(0, 2**62, loop)
    return Region(region.start, region.stop, loop, region)


def _some_key(at: Context, node: Node, x: Fact, starts: tuple[Fact, ...]) -> Fact:
    """One of several keys, by a number that differs in each round of a loop."""
    assert isinstance(x.kind, Keys)
    before, after = node.args[0].shape, node.out.shape
    cut = [i for i in range(len(before)) if before[i] != after[i]]
    if len(cut) == 1 and after[cut[0]] == 1 and x.kind.paths.ndim == 1:
        loop = at.round_of(node.args[1 + cut[0]])
        parents = {path[:-1] for path in x.kind.paths}
        if loop is not None and len(parents) == 1 and x.kind.paths[0][-1][0] == "split":
            paths = np.empty((1,), dtype=object)
            children = frozenset(path[-1][1] for path in x.kind.paths)
            paths[0] = (*next(iter(parents)), ("slice", loop, children))
            return Fact(x.numbers, Keys(paths, x.kind.raw))
    at.ledger.keys.look(x.kind, node.line)
    paths = np.empty(after[:-1] if x.kind.raw else after, dtype=object)
    for index in np.ndindex(*paths.shape):
        paths[index] = (("unknown", "chosen by a number that is not known here"),)
    return Fact(x.numbers, Keys(paths, x.kind.raw))


@rule("dynamic_update")
def dynamic_update(at: Context, node: Node, x: Fact, update: Fact, *starts: Fact) -> Fact:
    """Entries replaced in a place that is a value."""
    x, update = at.settled(x), at.settled(update)
    starts = tuple(at.settled(fact) for fact in starts)
    image = x.numbers.joined(update.numbers)
    if is_public(x, update, *starts):
        return Fact(image, at.public([x, update, *starts]))
    if not is_public(*starts):
        found = _of_one_record(at, [x, update, *starts], image, "written")
        zero = zero_of(x) and zero_of(update)
        return (
            Fact(image, replace(found.kind, zero=zero)) if isinstance(found.kind, Rows) else found
        )
    before, part = node.args[0].shape, node.args[1].shape
    kinds = [fact.kind for fact in (x, update) if isinstance(fact.kind, (Rows, Aggregate))]
    if all(
        isinstance(kind, Rows)
        and all(before[a] == part[a] for a in kind.axes)
        and kind.inner == 1
        and kind.axes
        for kind in kinds
    ):
        rows = shared(at, [x, update])
        if isinstance(rows, Fact):
            return rows
        return Fact(image, replace(rows, zero=zero_of(x) and zero_of(update)))
    return at.mixed(
        "records-written",
        "this line writes private values into an array entry by entry",
        "use jax.vmap, or stack and sum",
    )


@rule("pad")
def pad(at: Context, node: Node, x: Fact, number: Fact) -> Fact:
    """Public entries around and between."""
    x, number = at.settled(x), at.settled(number)
    image = x.numbers.joined(number.numbers)
    if is_public(x, number):
        return Fact(image, at.public([x, number]))
    if not is_public(number):
        return at.mixed("private-padding", "private numbers pad an array", "pad with a constant")
    if isinstance(x.kind, Aggregate):
        shrunk = any(n < 0 for n in (*node.params["low"], *node.params["high"]))
        return Fact(image, replace(x.kind, terms=terms_scaled(x.kind.terms, 1.0, whole=not shrunk)))
    rows = x.kind
    assert isinstance(rows, Rows)
    low, high, inner = (node.params[name] for name in ("low", "high", "interior"))
    if any(low[a] or high[a] or inner[a] for a in rows.axes):
        if at.adjacency.name == "ADD_REMOVE" or rows.inner > 1 or any(inner[a] for a in rows.axes):
            return at.mixed("positions", "this line pads the batch", "pad it before, with a mask")
        order = ("padded", rows.order, low, high)
        return Fact(image, rows.bare(order=order, region=None))
    zeros = number.numbers.exactly == 0.0
    found = rows.bare(zero=zero_of(x) and zeros)
    if zeros and not any(n < 0 for n in (*low, *high)):
        found = replace(
            found,
            vector=rows.vector,
            sums=rows.sums,
            member=member_scaled(rows.member, 1.0, whole=False),
        )
    return Fact(image, found)


@rule("concatenate")
def concatenate(at: Context, node: Node, *parts: Fact) -> Fact:
    """Arrays joined along an axis.

    **Lemma.** Parts of one clipped group that have different places are one part of it, in all their places.
    Squares of different arrays add up.
    """
    axis = node.params["axis"]
    image = parts[0].numbers
    for part in parts[1:]:
        image = image.joined(part.numbers)
    if all(isinstance(part.kind, Keys) for part in parts):
        raw = parts[0].kind.raw  # type: ignore[union-attr]
        if not (raw and axis == len(node.out.shape) - 1):
            joined = np.concatenate([part.kind.paths for part in parts], axis)  # type: ignore[union-attr]
            return Fact(image, Keys(joined, raw))
    parts = tuple(at.settled(part) for part in parts)
    if is_public(*parts):
        values = [part.kind.value for part in parts if isinstance(part.kind, Public)]
        known = node.out.size <= 4096 and all(value is not None for value in values)
        value = np.concatenate([v for v in values if v is not None], axis) if known else None
        return Fact(image, Public(value, at.public(parts).released))
    if any(isinstance(part.kind, Aggregate) for part in parts) or any(
        isinstance(part.kind, Rows) and not part.kind.axes for part in parts
    ):
        return _joined_sums(at, node, parts, image)
    rows = shared(at, parts)
    if isinstance(rows, Fact):
        return rows
    if axis in rows.axes:
        return at.mixed(
            "records-joined", "this line joins records of several arrays", "use each record once"
        )
    found = replace(rows, zero=all(zero_of(part) for part in parts))
    kinds = [part.kind for part in parts]
    if rows.grouped or node.out.half or not all(isinstance(kind, Rows) for kind in kinds):
        return Fact(image, found)
    listed = [kind for kind in kinds if isinstance(kind, Rows)]
    return Fact(image, _together(found, listed))


def _together(found: Rows, listed: list[Rows]) -> Rows:
    vectors = [kind.vector for kind in listed if kind.vector is not None]
    if len(vectors) == len(listed) and _different([v.tokens for v in vectors]):
        factors = {v.factor for v in vectors}
        tokens = frozenset[Any]().union(*(v.tokens for v in vectors))
        lower = any(v.lower for v in vectors) or len(factors) > 1
        found = replace(found, vector=Vector(tokens, min(factors), lower))
    sums = [kind.sums for kind in listed if kind.sums is not None]
    if (
        len(sums) == len(listed)
        and len({s.power for s in sums}) == 1
        and _different([s.tokens for s in sums])
    ):
        tokens = frozenset[Any]().union(*(s.tokens for s in sums))
        found = replace(found, sums=Sums(tokens, sums[0].power, min(s.factor for s in sums)))
    members = [kind.member for kind in listed if kind.member is not None]
    if (
        len(members) == len(listed)
        and len({(m.source, m.unit) for m in members}) == 1
        and _different([m.tokens for m in members])
    ):
        tokens = frozenset[Any]().union(*(m.tokens for m in members))
        scale = max(m.scale for m in members)
        found = replace(found, member=replace(members[0], tokens=tokens, scale=scale, part=None))
    return found


def _different(sets: list[frozenset[Any]]) -> bool:
    return sum(len(each) for each in sets) == len(frozenset[Any]().union(*sets))


def _joined_sums(at: Context, node: Node, parts: tuple[Fact, ...], image: Numbers) -> Fact:
    """Sums over records side by side."""
    if any(isinstance(part.kind, Rows) and part.kind.axes for part in parts):
        found = shared(at, [*parts])
        return found if isinstance(found, Fact) else after_sum(at)
    whole = [part.kind for part in parts if isinstance(part.kind, Rows)]
    if len(whole) == len(parts) and len({(k.region, k.order) for k in whole}) == 1:
        rows = shared(at, parts)
        assert isinstance(rows, Rows)
        zero = all(zero_of(part) for part in parts)
        return Fact(image, _together(replace(rows, zero=zero), whole))
    found_terms: dict[Any, tuple[Term, int]] = {}
    for i, part in enumerate(parts):
        if isinstance(part.kind, Rows):
            terms: tuple[Term, ...] = (at.total(part, node.args[i].size),)
        else:
            terms = part.kind.terms if isinstance(part.kind, Aggregate) else ()
        for term in terms:
            key = (term.source, term.region, term.zero, term.unit)
            old, last = found_terms.get(key, (None, i))
            if old is None:
                found_terms[key] = (term, i)
            elif last != i and not old.tokens & term.tokens:  # other places of the same vector
                both = old.tokens | term.tokens
                wider = replace(old, tokens=both, scale=max(old.scale, term.scale), part=None)
                found_terms[key] = (wider, i)
            else:
                found_terms[(key, len(found_terms))] = (term, i)
    return Fact(image, Aggregate(tuple(term for term, _ in found_terms.values())))


@rule("sort")
def sort(at: Context, node: Node, *args: Fact) -> Fact:
    """Sorted along an axis: record by record if that is not theirs."""
    args = tuple(at.settled(arg) for arg in args)
    chosen = args[node.params["index"]]
    if is_public(*args):
        return Fact(chosen.numbers, at.public(args))
    if any(isinstance(arg.kind, Aggregate) for arg in args):
        return after_sum(at)
    rows = shared(at, args)
    if isinstance(rows, Fact):
        return rows
    if node.params["axis"] in rows.axes:
        return ordered(at, args)
    kept = chosen.kind if isinstance(chosen.kind, Rows) and len(args) == 1 else None
    zero = zero_of(chosen) and len(args) == 1
    vector = kept.vector if kept is not None else None
    return Fact(chosen.numbers, replace(rows, zero=zero, vector=vector))


def ordered(at: Context, args: Any) -> Fact:
    """Records compared with one another."""
    if any(isinstance(arg.kind, Rows) and arg.kind.tag is not None for arg in args):
        return at.mixed(
            "threshold-from-data",
            "norms of different records are compared here: a threshold from the data is not private",
            "clip to a constant, or release the threshold with noise of its own",
        )
    return at.mixed(
        "records-compared",
        "this line compares records of the batch with one another",
        "let each record's loss depend on that record alone",
    )
