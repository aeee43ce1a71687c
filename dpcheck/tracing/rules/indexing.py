"""Shapes and selections. A view of rows is rows; a private mask makes the number of rows private."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts.boxes import Array
from dpcheck.tracing.facts.rowsets import Sampling
from dpcheck.tracing.facts.sizes import Shape, Size
from dpcheck.tracing.postprocessing import flattened
from dpcheck.tracing.rules import aggregates, masking
from dpcheck.tracing.rules.rowwise import differences, made
from dpcheck.tracing.values import (
    PRIVATE,
    SECRET,
    Aggregate,
    Coin,
    Draw,
    Noise,
    Released,
    Rows,
    Traced,
)

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer


def flat(key: Data) -> list[Data]:
    """The parts of an index."""
    return flattened([key])


def index(tracer: Tracer, owner: Traced, key: Data) -> Data:
    """owner[key]."""
    keys = key if isinstance(key, tuple) else (key,)
    if isinstance(owner, Draw):
        return _batch(owner, key)
    if isinstance(owner, Rows):
        found = _index_rows(tracer, owner, keys)
    else:
        if any(isinstance(each, SECRET) for each in flat(keys)):
            tracer.refuse(
                "private-control",
                "a private or random value is used as an index",
                "use np.where or a sum with a mask",
            )
        if any(isinstance(each, Released) for each in flat(keys)):
            tracer.refuse(
                "released-path",
                "a released value is used as an index of a private one",
                "decorate the function with @dpcheck.enforced",
            )
        found = picked(tracer, owner, lambda v: v[key])
    basic = all(
        each is None or each is Ellipsis or isinstance(each, int | np.integer | slice)
        for each in keys
    )
    if basic and isinstance(found, Traced):
        found.is_view, owner.views = True, True
    return found


def _batch(draw: Draw, key: Data) -> Data:
    """permutation(n)[:m]: the first m places, a batch of a fixed size."""
    if isinstance(key, slice) and key.start in (None, 0) and key.step in (None, 1):
        stop = draw.dims[0] if key.stop is None else int(key.stop)
        if 0 <= stop <= draw.dims[0]:
            return Draw(draw.tracer, stop, draw.count, draw.ids)
    return draw.tracer.unknown("this part of a random choice of rows")


def _full(value: Array, dims: Shape) -> Array:
    return np.broadcast_to(value, dims)


def picked(tracer: Tracer, owner: Traced, change: Callable[[Array], Array]) -> Data:
    """Entries of an aggregate or of noise, moved or left out."""
    if isinstance(owner, Aggregate):
        found = owner.box.mapped(lambda v: np.asarray(change(_full(v, owner.dims))))
        dims = found.lo.shape

        def sized(size: Size) -> Size:
            moved = size.shaped(np.asarray(change(_full(size.coordinates, owner.dims))))
            times = _most_repeats(change, owner.dims)
            return moved.repeated(times) if times > 1 else moved

        result = aggregates.linear(owner, dims, found, sized)
        result.direction = owner.direction
        return result
    if isinstance(owner, Noise):
        if PRIVATE in owner.dims:
            return _row_noise(tracer, owner, change)
        places = np.asarray(change(np.arange(float(np.prod(owner.dims))).reshape(owner.dims)))
        ids = owner.ids
        if ids.shape[0] == int(np.prod(owner.dims)):
            ids = ids[places.ravel().astype(int)]
        elif len(np.unique(places)) < places.size:
            tracer.unknown("repeating numbers of a large draw")
        return Noise(
            tracer,
            places.shape,
            owner.family,
            np.asarray(change(_full(owner.scale, owner.dims))),
            np.asarray(change(_full(owner.location, owner.dims))),
            ids,
            owner.box.mapped(lambda v: np.asarray(change(_full(v, owner.dims)))),
            dtype=owner.dtype,
        )
    if isinstance(owner, Coin):
        dims = _coin_dims(change, owner.dims)
        if np.prod(dims) != np.prod(owner.dims):
            return tracer.unknown("a part of some coins")
        if PRIVATE not in owner.dims and _most_repeats(change, owner.dims) > 1:
            return tracer.unknown("one coin for several records")
        return Coin(tracer, dims, owner.rate, owner.ids, owner.dtype)
    return tracer.unknown("this index")


def _row_noise(tracer: Tracer, owner: Noise, change: Callable[[Array], Array]) -> Noise:
    if owner.scale.ndim or owner.location.ndim:
        tracer.unknown("a part of one draw for each record")
    dims = _coin_dims(change, owner.dims)
    return Noise(
        tracer,
        dims,
        owner.family,
        owner.scale,
        owner.location,
        owner.ids,
        owner.box,
        dtype=owner.dtype,
    )


_MARK = 7919  # stands for a private length while shapes are worked out


def _coin_dims(change: Callable[[Array], Array], dims: Shape) -> Shape:
    shape = tuple(_MARK if n == PRIVATE else n for n in dims)
    found = change(np.broadcast_to(np.zeros(()), shape)).shape
    return tuple(PRIVATE if n == _MARK and PRIVATE in dims else n for n in found)


def _most_repeats(change: Callable[[Array], Array], dims: Shape) -> int:
    """How often one entry may appear in the result."""
    places = np.asarray(change(np.arange(float(np.prod(dims))).reshape(dims))).ravel()
    return int(np.bincount(places.astype(int)).max()) if places.size else 1


def _expanded(owner: Rows, keys: tuple[Data, ...]) -> list[Data]:
    """The keys with the ellipsis written out."""
    used = sum(each is not None and each is not Ellipsis for each in keys)
    found: list[Data] = []
    for each in keys:
        if each is Ellipsis:
            found += [slice(None)] * (owner.ndim - used)
        else:
            found.append(each)
    used = sum(each is not None for each in found)
    return found + [slice(None)] * (owner.ndim - used)


def _index_rows(tracer: Tracer, owner: Rows, keys: tuple[Data, ...]) -> Data:
    """Select records by the key at their axis, entries by the others."""
    masks = [k for k in keys if isinstance(k, Rows) and k.dtype.kind == "b"]
    if masks and masks[0].ndim > 1:
        tracer.unknown("a mask of several axes")
    if any(isinstance(each, Released) for each in flat(keys)):
        tracer.refuse(
            "released-path",
            "a released value decides which private values are used",
            "decorate the function with @dpcheck.enforced",
        )
    full = _expanded(owner, keys)
    place = _place_of(full, owner.axis)
    chosen = full[place]
    rest = list(full)
    rest[place] = slice(None)
    if any(isinstance(each, SECRET) for each in flat(rest)):
        tracer.refuse(
            "private-control", "a private value is used as an index", "use np.where or a mask"
        )
    entries = _entries(owner, tuple(rest), place)
    return select(tracer, entries, chosen)


def _place_of(full: list[Data], axis: int) -> int:
    """Which key speaks of the records."""
    seen = -1
    for place, each in enumerate(full):
        seen += each is not None
        if seen == axis:
            return place
    raise IndexError("too many indices")


def _entries(owner: Rows, rest: tuple[Data, ...], place: int) -> Rows:
    """Entries of every row."""
    trivial = all(isinstance(k, slice) and k == slice(None) for k in rest)
    if trivial:
        return owner
    many = [k for k in rest if not isinstance(k, slice | int | np.integer) and k is not None]
    if len(many) > 1:
        owner.tracer.unknown("an index with several lists")
    axis = sum(1 for k in rest[:place] if k is None or isinstance(k, slice) or k in many)

    def change(value: Array) -> Array:
        return np.asarray(np.broadcast_to(value, owner.element)[rest])

    found = owner.box.mapped(change)
    repeats = _most_repeats(lambda v: v[rest], owner.element)
    row = owner.row.shaped(change(owner.row.coordinates))
    dims = list(found.lo.shape)
    if many and any(isinstance(k, int | np.integer) for k in rest):
        owner.tracer.unknown("an index that mixes lists and numbers")
    dims[axis] = owner.dims[owner.axis]
    result = made(
        owner,
        tuple(dims),
        owner.dtype,
        found,
        row.repeated(repeats) if repeats > 1 else row,
        axis=axis,
        sampling=owner.sampling,
    )
    if np.prod(result.element) == np.prod(owner.element) and repeats <= 1:
        result.tag, result.kind = owner.tag, owner.kind
    return result


def select(tracer: Tracer, rows: Rows, chosen: Data) -> Data:
    """Some of the records."""
    if isinstance(chosen, slice) and chosen == slice(None):
        return rows
    if isinstance(chosen, Rows) and chosen.dtype.kind == "b":
        if chosen.rows is not rows.rows:
            tracer.refuse(
                "mixed-records", "rows are selected by a mask of other records", "use their own"
            )
        part = rows.rows.part(
            ("mask", chosen.identity), count=None, optional=True, records=rows.rows.records
        )
        return _part(rows, part, PRIVATE)
    if isinstance(chosen, Coin):
        return _sampled(tracer, rows, chosen)
    if isinstance(chosen, Draw):
        return _chosen(tracer, rows, chosen)
    if isinstance(chosen, Noise):
        tracer.unknown("rows selected by random numbers")
    if isinstance(chosen, SECRET):
        tracer.refuse(
            "private-control",
            "a private value is an index into the records",
            "select records by a mask of truth values",
        )
    return _public_part(tracer, rows, chosen)


def _public_part(tracer: Tracer, rows: Rows, chosen: Data) -> Data:
    """Records by public places; their number must be public for that to mean the same everywhere."""
    if rows.rows.count is None:
        tracer.refuse(
            "private-length",
            "records are selected by place, and how many there are is private",
            "state the proof under replace-one, or use a mask",
        )
    count = rows.rows.count
    places = np.arange(count)[chosen]
    known = range(count) if rows.rows.order is None else rows.rows.order
    order = tuple(known[int(i)] for i in np.ravel(places))
    behind = frozenset(order)
    if rows.rows.sampling or rows.rows.optional:
        tracer.unknown("places among selected records")
    if np.ndim(places) == 0:
        diff = differences(rows)
        found = Aggregate(
            tracer,
            rows.element,
            rows.dtype,
            rows.box.mapped(lambda v: np.broadcast_to(v, rows.element)),
            diff.shaped(np.broadcast_to(diff.coordinates, rows.element)),
            records=behind,
        )
        return tracer.function(np.squeeze, (found,), {"axis": rows.axis})
    if len(behind) < places.size:
        tracer.unknown("the same record selected twice")
    key = ("places", tuple(int(i) for i in np.ravel(places)))
    part = rows.rows.part(key, count=int(places.size), records=behind, order=order)
    return _part(rows, part, int(places.size))


def _part(rows: Rows, part: Data, count: int) -> Rows:
    dims = tuple(count if i == rows.axis else n for i, n in enumerate(rows.dims))
    result = Rows(
        rows.tracer,
        dims,
        rows.dtype,
        rows.box,
        part,
        rows.axis,
        rows.row,
        sampling=rows.sampling,
    )
    result.tag = rows.tag
    return result


def _sampled(tracer: Tracer, rows: Rows, coin: Coin) -> Rows:
    """rows[mask] with one coin for each record: Poisson sampling."""
    whole = rows.rows.records is None and rows.rows.sampling is None and not rows.rows.optional
    if coin.dims != (rows.dims[rows.axis],) or not whole or coin.dtype.kind != "b":
        tracer.unknown("a random mask of another length")
    sampling: Sampling = masking.sampling_of_coin(coin)
    part = rows.rows.part(("coins", coin.identity), count=None, sampling=sampling)
    return _part(rows, part, PRIVATE)


def _chosen(tracer: Tracer, rows: Rows, draw: Draw) -> Rows:
    """rows[rng.choice(n, m, replace=False)]: a batch of a fixed size."""
    if rows.rows.count != draw.count or not tracer.public_rows or rows.rows.records is not None:
        tracer.unknown("a random choice among another number of rows")
    if rows.rows.sampling or rows.rows.optional:
        tracer.unknown("a random choice among selected rows")
    ids = frozenset(draw.ids.tolist())
    sampling = Sampling(ids, draw.dims[0] / draw.count, draw.dims[0], draw.count)
    part = rows.rows.part(("batch", ids, draw.dims[0]), count=draw.dims[0], sampling=sampling)
    return _part(rows, part, draw.dims[0])
