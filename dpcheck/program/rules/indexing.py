"""Entries at public places, records at public places, records by a mask or by a batch, writing at places."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Array, Box
from dpcheck.program.facts.kinds import (
    RANDOM,
    Aggregate,
    Coins,
    Places,
    Public,
    Released,
    Rows,
)
from dpcheck.program.facts.rowsets import Dim, RowSet, Sampling, Shape, number, same, together
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import BLOCK, Graph, Made, Node, primitive
from dpcheck.program.rules import mirrored
from dpcheck.program.rules.common import (
    UNBOUNDED,
    aggregate,
    check_fits,
    coins_of,
    element,
    fixed,
    is_zero,
    only_released,
    opened,
    plain,
    predicate_of,
    released,
    result_dtype,
    rowwise,
)
from dpcheck.program.rules.random_numbers import use_up
from dpcheck.program.rules.shapes import kept, most_taken, public, rearranged

Place = int | slice | NDArray[np.int64] | None
Key = tuple[Place, ...]


def _index(value: object, key: Key) -> object:
    return np.asarray(value)[key]


@primitive(
    "index", "some entries, at public places; records at public places are fewer records", _index
)
def index(graph: Graph, a: Node, key: Key) -> Made:
    """value[key] for a key of whole numbers, slices, new axes and arrays of places."""
    fact = a.fact
    if not isinstance(fact, Rows):
        if any(number(n) is None for n in a.shape):
            return _private_length(graph, a, key)
        try:
            empty = np.empty(plain(a.shape), dtype=bool)[key]
        except IndexError as error:
            graph.refuse("failed", f"an index does not fit: {error}", "fix the code")
        made = rearranged(graph, a, np.shape(empty), lambda v: v[key])
        if isinstance(fact, Aggregate) and fact.known is not None:
            return _with_known(made, fact.known[key])
        return made
    return _of_rows(graph, a, fact, key)


def _with_known(made: Made, known: NDArray[np.bool_]) -> Made:
    """An array of which some entries are released; it is released itself once all are."""
    fact = made.fact
    assert isinstance(fact, Aggregate)
    if np.all(known):
        return released(made.shape, made.dtype, fact.box)
    return Made(made.shape, made.dtype, replace(fact, known=np.asarray(known)))


def _known(node: Node) -> NDArray[np.bool_]:
    """Which entries are public or released."""
    fact = node.fact
    if isinstance(fact, Aggregate):
        found = np.zeros(plain(node.shape), dtype=bool) if fact.known is None else fact.known
        return np.broadcast_to(found, plain(node.shape))
    return np.ones(plain(node.shape), dtype=bool)


def _private_length(graph: Graph, a: Node, key: Key) -> Made:
    """Coins or noise of which there is one a record: new axes only."""
    if all(k is None or k == slice(None) for k in key):
        shape: list[Dim] = []
        rest = list(a.shape)
        for k in key:
            shape.append(1 if k is None else rest.pop(0))
        return rearranged(graph, a, (*shape, *rest), lambda v: v)
    return graph.refuse(
        "private-length",
        "some of a private number of random numbers are used",
        "draw a public number of them",
    )


def _of_rows(graph: Graph, a: Node, fact: Rows, key: Key) -> Made:
    """Split the key: what it does to the axis of records, and to the rest."""
    before = sum(1 for k in key if k is not None)
    if before > a.ndim:
        graph.refuse("failed", "too many indices", "fix the code")
    full = [*key, *[slice(None)] * (a.ndim - before)]
    axes = [i for i, k in enumerate(full) if k is not None]
    place = axes[fact.axis]
    chosen = full[place]
    arrays = [i for i, k in enumerate(full) if isinstance(k, np.ndarray | list)]
    integers = [i for i, k in enumerate(full) if isinstance(k, int | np.integer)]
    if (arrays and arrays != [place] and (place in arrays or integers)) or len(arrays) > 1:
        graph.refuse(
            "unknown-operation",
            "several lists of places in one index are not followed",
            "index one axis at a time",
        )
    rows = fact.rows
    if isinstance(chosen, np.ndarray) or chosen != slice(None):
        rows = selected(graph, rows, chosen)
    inner_key = tuple(slice(None) if i == place else k for i, k in enumerate(full))
    old = element(a)
    probe = np.empty(old, dtype=bool)[inner_key]

    def on(end: Array) -> Array:
        return np.broadcast_to(end, old)[inner_key]

    # Where the axis of records went: the one whose key is the full slice at `place`.
    dropped = sum(1 for k in full[:place] if isinstance(k, int | np.integer))
    axis = place - dropped
    if isinstance(chosen, int | np.integer):
        return _one_record(graph, a, rows, on, axis)
    shape = tuple(rows if i == axis else n for i, n in enumerate(probe.shape))
    same_entries = math.prod(probe.shape) == math.prod(old) and not arrays
    size = fact.row.repeated(most_taken(old, on)).shaped(on(fact.row.coordinates))
    one = math.prod(old) == 1
    return rowwise(
        graph,
        shape,
        a.dtype,
        fact.box.broadcast(old).mapped(lambda v: v[inner_key]),
        rows,
        axis,
        size,
        tag=fact.tag if one and rows is fact.rows else None,
        powers=fact.powers if same_entries and rows is fact.rows else None,
        truth=fact.truth if one and rows is fact.rows else None,
        falsehood=fact.falsehood if one and rows is fact.rows else None,
        **kept(fact),
    )


def selected(graph: Graph, rows: RowSet, chosen: Place) -> RowSet:
    """The records at public places."""
    if rows.count is None or rows.optional or rows.sampling is not None or not graph.public_rows:
        graph.refuse(
            "private-length",
            "records are chosen by their place, and their number is private",
            "choose them by a property, or state the claim under replace-one",
        )
    known = rows.records if rows.records is not None else tuple(range(rows.count))
    try:
        taken = np.arange(rows.count)[chosen]
    except (IndexError, TypeError) as error:
        graph.refuse("failed", f"an index does not fit: {error}", "fix the code")
    places = np.atleast_1d(taken)
    if places.ndim != 1 or len(np.unique(places)) < len(places):
        graph.refuse(
            "mixed-records",
            "a record is taken twice",
            "take each record once",
        )
    records = tuple(known[int(i)] for i in places)
    return rows.part(("places", records), count=len(records), records=records)


def _one_record(
    graph: Graph, a: Node, rows: RowSet, on: Callable[[Array], Array], axis: int
) -> Made:
    """x[3]: the private values of one record, an aggregate that depends on it alone."""
    fact = a.fact
    assert isinstance(fact, Rows)
    from dpcheck.program.rules.common import differences

    def flat(end: Array) -> Array:
        return np.squeeze(on(end), axis=axis)

    diff = differences(graph, a)
    shape = np.shape(flat(np.zeros(element(a))))
    return aggregate(
        shape,
        a.dtype,
        fact.box.broadcast(element(a)).mapped(flat),
        diff.shaped(flat(np.broadcast_to(diff.coordinates, element(a)))),
        records=frozenset(rows.records or ()),
        coins=fact.coins,
    )


# Records by a mask or a batch -------------------------------------------------------------------------


def _filter(value: object, mask: object, axis: int) -> object:
    return np.compress(np.asarray(mask, dtype=bool).ravel(), np.asarray(value), axis=axis)


def one_coin_a_row(coins: Node, rows: RowSet) -> bool:
    """Whether every record has exactly one coin, drawn for it."""
    fact = coins.fact
    if not isinstance(fact, Coins):
        return False
    places = [n for n in coins.shape if n != 1]
    if len(places) != 1 or not same(places[0], rows):
        return False
    all_in = rows.records is None and rows.sampling is None and not rows.optional
    count = number(places[0])
    if count is None or count > BLOCK:
        return fact.ids.size == 1 and all_in
    return fact.ids.size == np.unique(fact.ids).size == max(1, count) and all_in


@primitive(
    "filter",
    "the records that a mask keeps: a private mask makes the number private, own coins are a Poisson sample",
    _filter,
)
def filter_rows(graph: Graph, a: Node, mask: Node, axis: int) -> Made:
    """x[mask] along the records."""
    fact = a.fact
    if not isinstance(fact, Rows) or fact.axis != axis:
        graph.refuse(
            "unknown-operation", "a mask along another axis than the records", "use np.where"
        )
    if isinstance(mask.fact, Coins):
        if not one_coin_a_row(mask, fact.rows):
            graph.refuse(
                "unknown-operation",
                "random coins that do not belong to one record each choose rows",
                "use one coin for each record: mask = rng.random(len(x)) < rate",
            )
        sampling = Sampling(frozenset(mask.fact.ids.ravel().tolist()), mask.fact.rate)
        rows = fact.rows.part(("mask", mask.id), count=None, sampling=sampling)
    elif isinstance(mask.fact, Rows) and mask.fact.rows is fact.rows:
        where = together(fact.rows.predicate, predicate_of(mask, True))
        rows = fact.rows.part(
            ("mask", mask.id), count=None, optional=True, predicate=where, records=fact.rows.records
        )
    else:
        graph.refuse(
            "mixed-records",
            "rows are chosen by a mask of other records",
            "use a mask of the same rows",
        )
    shape = tuple(rows if i == axis else n for i, n in enumerate(a.shape))
    return rowwise(
        graph,
        shape,
        a.dtype,
        _narrowed(a, mask),
        rows,
        axis,
        fact.row,
        coins=coins_of(a, mask),
        powers=None,
        **{k: v for k, v in kept(fact).items() if k != "coins"},
    )


def _narrowed(a: Node, mask: Node) -> Box:
    """x[x > c] is above c; x[~isnan(x)] is never NaN."""
    found, fact = a.fact.box, mask.fact
    if not isinstance(fact, Rows) or a.shape != mask.shape:
        return found
    if fact.missing is not None and fact.missing.source == a.id:
        return fact.missing.box_where(found, True)
    region = (fact.truth or {}).get(a.id)
    if region is None or region.members is not None:
        return found
    lo, hi = np.maximum(found.lo, region.low), np.minimum(found.hi, region.high)
    return Box(np.minimum(lo, hi), np.maximum(lo, hi), False, found.plain_zero)


def _batch(value: object, places: object, axis: int) -> object:
    return np.take(np.asarray(value), np.asarray(places), axis=axis)


@primitive("batch", "rows of a batch of a fixed size, chosen uniformly", _batch)
def batch(graph: Graph, a: Node, places: Node, axis: int) -> Made:
    """x[rng.choice(n, m, replace=False)]."""
    fact, chosen = a.fact, places.fact
    if not isinstance(fact, Rows) or fact.axis != axis or not isinstance(chosen, Places):
        graph.refuse("unknown-operation", "random places of something else than rows", "use rows")
    all_in = fact.rows.records is None and fact.rows.sampling is None and not fact.rows.optional
    if fact.rows.count != chosen.count or not all_in or not graph.public_rows:
        graph.refuse(
            "private-length",
            "a batch is drawn out of another number of rows than there are",
            "draw it out of len(x), under replace-one",
        )
    sampling = Sampling(
        frozenset(chosen.ids.ravel().tolist()),
        chosen.batch / chosen.count,
        chosen.batch,
        chosen.count,
    )
    rows = fact.rows.part(("batch", places.id), count=chosen.batch, sampling=sampling)
    shape = tuple(rows if i == axis else n for i, n in enumerate(a.shape))
    return rowwise(
        graph,
        shape,
        a.dtype,
        fact.box,
        rows,
        axis,
        fact.row,
        coins=coins_of(a, places),
        **{k: v for k, v in kept(fact).items() if k != "coins"},
    )


def _mask_rows(value: object, coins: object) -> object:
    return np.multiply(value, coins)  # type: ignore[call-overload]


@primitive(
    "sampled", "rows times their own coins: a row is 0 unless its coin fell on heads", _mask_rows
)
def sampled(graph: Graph, a: Node, coins: Node) -> Made:
    """x * mask."""
    fact, coin = a.fact, coins.fact
    assert isinstance(fact, Rows)
    assert isinstance(coin, Coins)
    place = a.ndim - fact.axis
    full = [1] * (a.ndim - coins.ndim) + list(coins.shape)
    aligned = coins.ndim <= a.ndim and all(
        n == 1 or i == a.ndim - place for i, n in enumerate(full)
    )
    finite = not fact.box.nan and bool(np.isfinite(fact.box.magnitude).all())
    if (
        not aligned
        or not one_coin_a_row(coins, fact.rows)
        or fact.sampling is not None
        or not finite
    ):
        graph.refuse(
            "unknown-operation",
            "a product of private values and random coins is no known mechanism",
            "use one coin for each record: mask = rng.random(n) < rate, then x[mask] or "
            "x * mask[:, None], of values that are finite",
        )
    kind = result_dtype(graph, np.multiply, (a, coins))
    sampling = Sampling(frozenset(coin.ids.ravel().tolist()), coin.rate)
    known = kept(fact) | {"sampling": sampling, "coins": coins_of(a, coins)}
    return rowwise(
        graph, a.shape, kind, fact.box.with_zero(), fact.rows, fact.axis, fact.row, **known
    )


# Writing ----------------------------------------------------------------------------------------------


def _put(value: object, new: object, key: Key) -> object:
    found = np.array(value)
    found[key] = new
    return found


@primitive("put", "the array with other numbers at public places", _put)
def put(graph: Graph, a: Node, new: Node, key: Key) -> Made:
    """a[key] = new, as a new array of the type of a."""
    if isinstance(a.fact, Public) and isinstance(new.fact, Public):
        return public(_put(a.fact.value, new.fact.value, key))
    kind = a.dtype
    if new.dtype != kind and not np.can_cast(new.dtype, kind, "same_kind"):
        graph.refuse(
            "unknown-operation",
            f"numbers of type {new.dtype} are written into an array of {kind}, which changes them",
            "make the array of that type first",
        )
    if any(isinstance(arg.fact, RANDOM) for arg in (a, new)):
        if not all(isinstance(arg.fact, (*RANDOM, Public, Released)) for arg in (a, new)):
            graph.refuse("unknown-operation", "noise is written into a private array", "add it")
        patched = mirrored.written(a, new, key)
        if patched is not None:
            return patched
        use_up(graph, (a, new))
        return released(a.shape, kind, boxes.WHOLE)
    opened((a, new))
    check_fits(graph, (new,), kind)
    if isinstance(a.fact, Rows):
        return _put_rows(graph, a, new, key)
    if isinstance(new.fact, Rows):
        graph.refuse("mixed-records", "rows are written into another array", "use np.where")
    shape = plain(a.shape)
    box = _put_box(a, new, shape, key)
    if only_released((a, new)):
        return released(shape, kind, box)
    sizes = [arg.fact.diff if isinstance(arg.fact, Aggregate) else None for arg in (a, new)]
    entries = np.array(
        np.broadcast_to(0.0 if sizes[0] is None else sizes[0].coordinates, shape), dtype=float
    )
    entries[key] = (
        0.0
        if sizes[1] is None
        else np.broadcast_to(
            sizes[1].coordinates, np.broadcast_shapes(sizes[1].coordinates.shape, plain(new.shape))
        )
    )
    written = entries[key].size / max(1, math.prod(plain(new.shape)))
    found = Size(entries)
    if sizes[1] is not None and sizes[0] is None and written <= 1:
        found = sizes[1].shaped(entries)
    elif sizes[1] is None and sizes[0] is not None:
        found = sizes[0].shaped(entries)
    elif written <= 1 and sizes[0] is not None and sizes[1] is not None:
        found = sizes[0].stacked(sizes[1], entries)
    from dpcheck.program.rules.joining import all_cells, disjoint_parts

    facts = [arg.fact for arg in (a, new) if isinstance(arg.fact, Aggregate)]
    merged = disjoint_parts(graph, facts, entries) if written <= 1 else None
    if merged is not None:
        found = found.both(merged)
    fits = not boxes.overflows(new.fact.box, kind, new.fact.box)
    records = [fact.records for fact in facts]
    known = [each for each in records if each is not None]
    told = np.array(_known(a))
    told[key] = _known(new)
    made = aggregate(
        shape,
        kind,
        boxes.fitted(box, kind),
        found if fits else UNBOUNDED,
        records=frozenset().union(*known) if len(known) == len(records) else None,
        cells=all_cells(facts) if written <= 1 and fits else (),
        coins=coins_of(a, new),
    )
    return _with_known(made, told) if told.any() else made


def _put_box(a: Node, new: Node, shape: tuple[int, ...], key: Key) -> Box:
    ends = []
    for side in ("lo", "hi"):
        end = np.array(np.broadcast_to(getattr(a.fact.box, side), shape), dtype=float)
        value = getattr(new.fact.box, side)
        end[key] = np.broadcast_to(value, np.broadcast_shapes(value.shape, plain(new.shape)))
        ends.append(end)
    return Box(ends[0], ends[1], a.fact.box.nan or new.fact.box.nan)


def _put_rows(graph: Graph, a: Node, new: Node, key: Key) -> Made:
    """Columns of rows, for all records at once."""
    fact = a.fact
    assert isinstance(fact, Rows)
    full = [*key, *[slice(None)] * (a.ndim - len(key))]
    if any(k is None or isinstance(k, np.ndarray | list) for k in full):
        graph.refuse("unknown-operation", "rows are written at lists of places", "use np.where")
    if full[fact.axis] != slice(None):
        graph.refuse(
            "mixed-records",
            "single records are overwritten",
            "choose records by a property: np.where(mask, new, x)",
        )
    same_rows = isinstance(new.fact, Rows) and new.fact.rows is fact.rows
    if (isinstance(new.fact, Rows) and not same_rows) or isinstance(new.fact, Aggregate):
        graph.refuse(
            "mixed-records", "values of other records are written into rows", "use columns"
        )
    if isinstance(new.fact, Public | Released) and new.ndim:
        graph.refuse("unknown-operation", "an array is written into rows", "write one number")
    inner = element(a)
    probe = np.empty(inner, dtype=bool)[tuple(full)]
    ends = []
    for side in ("lo", "hi"):
        end = np.array(np.broadcast_to(getattr(fact.box, side), inner), dtype=float)
        value = getattr(new.fact.box, side)
        end[tuple(full)] = (
            np.broadcast_to(value, np.broadcast_shapes(value.shape, (1,) * probe.ndim))
            if value.ndim <= probe.ndim
            else value.reshape(probe.shape)
        )
        ends.append(end)
    box = boxes.fitted(Box(ends[0], ends[1], fact.box.nan or new.fact.box.nan), a.dtype)
    zero = fact.zero_null and (is_zero(new) or (isinstance(new.fact, Rows) and new.fact.zero_null))
    return rowwise(
        graph, a.shape, a.dtype, box, fact.rows, fact.axis, coins=coins_of(a, new), zero_null=zero
    )


def lengths(shape: Shape) -> tuple[int, ...]:
    """Public lengths, 1 for records."""
    return tuple(1 if number(n) is None else fixed(n) for n in shape)
