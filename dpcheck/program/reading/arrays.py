"""Reading and writing arrays: indices, views, operations in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Coins, Drawn, Places, Public, Released, Rows
from dpcheck.program.graph import Node
from dpcheck.program.reading import records, writes
from dpcheck.program.reading.attributes import not_text
from dpcheck.program.reading.named import fields_of
from dpcheck.program.reading.values import (
    Array,
    Counted,
    Grid,
    Grouped,
    Growing,
    Listed,
    Locator,
    Opaque,
    Scalar,
    Series,
    Storage,
    Table,
    Tally,
    Value,
)
from dpcheck.program.rules.common import plain

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

Key = tuple[object, ...]


def get_item(reader: Reader, owner: object, key: object) -> object:
    """owner[key]."""
    from dpcheck.program.reading.public import released_call

    if isinstance(owner, Table | Series | Grouped | Counted | Locator | Grid):
        from dpcheck.program.lowering import tables

        return tables.get_item(reader, owner, key)
    if isinstance(owner, Array | Scalar):
        not_text(reader, owner)
        return _of_array(reader, owner, key)
    if isinstance(owner, Listed):
        return _of_list(reader, owner, key)
    if isinstance(owner, Tally):
        from dpcheck.program.lowering.tallies import counted

        return counted(reader, owner, key)
    if isinstance(owner, Opaque):
        return released_call(reader, lambda o, k: o[k], (owner, key))
    fields = fields_of(owner)
    if fields is not None:
        return get_item(reader, fields, key)
    if isinstance(owner, records.Line) and not owner.tuple:
        return records.entry(reader, owner, reader.plain(key))
    if isinstance(owner, Value):
        reader.unknown(f"an index into {reader.describe(owner)}")
    if type(owner) not in (list, tuple, dict, str, range):
        reader.unknown(f"an index into a {type(owner).__name__}")
    reader.alive(owner)
    if reader.is_public(key):
        place = reader.plain(key)
        return reader.attempt(lambda: owner[place])  # type: ignore[index]
    if reader.is_released(key):
        if not reader.is_released(owner):
            reader.unknown("a container of private values, looked up at a released place")
        return released_call(reader, lambda o, k: o[k], (owner, key))
    reader.refuse(
        "private-control",
        "a private value decides which item is taken",
        "add noise to it first, or use np.where",
    )


def _keys(reader: Reader, key: object) -> Key:
    return key if type(key) is tuple else (key,)


def _of_array(reader: Reader, owner: Array | Scalar, key: object) -> object:
    from dpcheck.program.reading.public import released_call

    node = reader.node(owner)
    parts = _keys(reader, key)
    if any(isinstance(part, Value) and type(part).__name__ == "Places" for part in parts):
        return _of_this_record(reader, owner, parts)
    if isinstance(owner, Array) and owner.form is list and not reader.is_released(owner):
        reader.unknown("an index into a list of records")
    if all(reader.is_public(part) for part in parts):
        places = tuple(_place(reader.plain(part)) for part in parts)
        mask = next((p for p in places if isinstance(p, np.ndarray) and p.dtype == bool), None)
        if (
            mask is not None
            and any(not isinstance(n, int) for n in node.shape)
            and len(places) == 1
        ):
            places = (np.flatnonzero(mask),)
        return _at(reader, owner, node, _full(reader, node, places))
    secret = [part for part in parts if not reader.is_public(part)]
    if isinstance(node.fact, Rows):
        return _records_by(reader, owner, node, parts, secret)
    if reader.is_released(owner) and all(reader.is_released(part) for part in parts):
        return _at_released(reader, owner, node, parts)
    if any(isinstance(reader.node(part).fact, Places | Coins | Drawn) for part in secret):
        reader.unknown("an index by random numbers")
    if isinstance(node.fact, Public) and len(parts) == 1 and node.ndim == 1:
        place = reader.node(secret[0])
        if place.dtype.kind in "iu" and isinstance(place.fact, Rows):
            table = tuple(np.asarray(node.fact.value).tolist())
            found = reader.graph.add("lookup", place, table=table, first=0)
            if found.dtype != node.dtype:
                found = reader.graph.add("convert", found, dtype=node.dtype)
            return reader.array(found)
    if reader.mapped and len(parts) == 1:
        from dpcheck.program.lowering.others import by_mask

        left = by_mask(reader, node, reader.node(secret[0]))
        if left is not None:
            return left
    if isinstance(node.fact, Public) and len(parts) == 1 and node.ndim == 2:
        rows = _rows_of_table(reader, node, reader.node(secret[0]))
        if rows is not None:
            return reader.array(rows)
    del released_call
    reader.refuse(
        "private-control",
        "a private value decides which entry is taken",
        "add noise to it first, or use np.where",
    )


def _rows_of_table(reader: Reader, table: Node, place: Node) -> Node | None:
    """np.eye(k)[x]: each whole number as a row with a 1 at its place."""
    many = plain(table.shape)[0]
    assert isinstance(table.fact, Public)
    if place.dtype.kind not in "iu" or place.ndim != 1 or not isinstance(place.fact, Rows):
        return None
    if not np.array_equal(np.asarray(table.fact.value), np.eye(many)):
        return None
    box = place.fact.box
    if not ((box.lo >= 0).all() and (box.hi < many).all()):
        return None
    return reader.graph.add(
        "convert", reader.graph.add("one_hot", place, bins=many), dtype=table.dtype
    )


def _of_this_record(reader: Reader, owner: Array | Scalar, parts: Key) -> object:
    """x[i] in a loop over the places of records."""
    column = records.column_of(reader, owner)
    first = parts[0]
    if (
        column is None
        or not reader.mapped
        or not isinstance(first, records.Places)
        or not first.one
    ):
        reader.refuse(
            "private-control",
            "the place of a record is used for something else than its own values",
            "loop over the records themselves",
        )
    plain_list = isinstance(owner, Array) and owner.form is list
    found = records.element(reader, reader.mapped[-1], column, plain_list)  # type: ignore[arg-type]
    return (
        found
        if len(parts) == 1
        else get_item(reader, found, parts[1:] if len(parts) > 2 else parts[1])
    )


def _of_list(reader: Reader, owner: Listed, key: object) -> object:
    """rows[i] in a loop over the places of records."""
    from dpcheck.program.reading import records

    if not reader.mapped or not isinstance(key, records.Places) or not key.one:
        reader.unknown("an index into a list of records")
    return records.record_of(reader, reader.mapped[-1], owner)  # type: ignore[arg-type]


def _place(part: object) -> object:
    if isinstance(part, (list | tuple, range)):
        return np.asarray(part, dtype=int) if len(part) == 0 else np.asarray(part)
    if isinstance(part, np.generic):
        return part.item()
    return part


def _full(reader: Reader, node: Node, key: Key) -> Key:
    """A key without an ellipsis."""
    if not any(k is Ellipsis for k in key):
        return key
    at = next(i for i, k in enumerate(key) if k is Ellipsis)
    used = sum(1 for k in key if k is not None and k is not Ellipsis)
    return (*key[:at], *[slice(None)] * (node.ndim - used), *key[at + 1 :])


def _at(reader: Reader, owner: Array | Scalar, node: Node, key: Key) -> object:
    """At public places: basic slices are views."""
    basic = all(isinstance(k, int | slice | None) and not isinstance(k, bool) for k in key)
    if any(isinstance(k, str) for k in key):
        reader.refuse("failed", "an array is indexed by text", "fix the code")
    if isinstance(owner, Scalar) or not basic:
        return reader.array(reader.graph.add("index", node, key=key))
    found = reader.graph.add("index", node, key=key)
    if found.ndim == 0:
        return Scalar(found)
    return Array(owner.storage, (*owner.steps, ("index", {"key": key})))


def _at_released(reader: Reader, owner: object, node: Node, parts: Key) -> object:
    """Released places of public or released values."""
    from dpcheck.program.reading.public import released_call

    del node
    return released_call(reader, lambda o, *k: o[k if len(k) > 1 else k[0]], (owner, *parts))


def _records_by(
    reader: Reader, owner: Array | Scalar, node: Node, parts: Key, secret: list[object]
) -> object:
    """x[mask], x[mask, 1], x[batch]."""
    fact = node.fact
    assert isinstance(fact, Rows)
    if len(secret) > 1:
        reader.unknown("an index by several private values")
    at = next(i for i, part in enumerate(parts) if part is secret[0])
    by = reader.node(secret[0])
    if isinstance(by.fact, Released):
        reader.refuse(
            "released-path",
            "released values decide which records are taken",
            "decorate the function with @dpcheck.enforced, or use np.where",
        )
    if at != fact.axis or any(p is None or p is Ellipsis for p in parts[:at]):
        reader.unknown("a mask along another axis than the records")
    if isinstance(by.fact, Places):
        chosen = reader.graph.add("batch", node, by, axis=fact.axis)
    elif by.dtype.kind == "b" and by.ndim == 1:
        chosen = reader.graph.add("filter", node, by, axis=fact.axis)
    elif by.dtype.kind == "b" and by.shape == node.shape:
        reader.refuse(
            "private-length",
            "a mask of single entries selects a number of entries that depends on the data",
            "use np.where(mask, x, 0)",
        )
    else:
        reader.refuse(
            "private-control",
            "records are taken at private places",
            "use a mask of truth values, or np.where",
        )
    rest = tuple(slice(None) if part is secret[0] else reader.plain(part) for part in parts)
    if any(part != slice(None) for part in rest):
        chosen = reader.graph.add("index", chosen, key=tuple(_place(part) for part in rest))
    del owner
    return reader.array(chosen)


# Writing ------------------------------------------------------------------------------------------------


def set_item(reader: Reader, owner: object, key: object, value: object) -> None:
    """owner[key] = value."""
    if isinstance(owner, Table):
        from dpcheck.program.lowering import tables

        tables.set_item(reader, owner, key, value)
        return
    if isinstance(owner, Array):
        _write_item(reader, owner, key, value)
        return
    if isinstance(owner, Growing):
        from dpcheck.program.lowering import growing

        growing.set_item(reader, owner, key, value)
        return
    if isinstance(owner, Value) or type(owner) not in (list, dict):
        reader.unknown(f"a write into {reader.describe(owner)}")
    changed(reader, owner)
    if not reader.is_public(key):
        reader.refuse(
            "private-control",
            "a private or released value decides which item is written",
            "use public places",
        )
    place = reader.plain(key)

    def write() -> None:
        owner[place] = value  # type: ignore[index]

    reader.attempt(write)


def changed(reader: Reader, container: object) -> None:
    """A container is written: only one that was made in the call, on a path that is always taken."""
    if id(container) in reader.foreign:
        reader.refuse(
            "outlives",
            "something that outlives the call is changed, and keeps private values",
            "use a variable of the function, and return it",
        )
    reader.alive(container)
    if id(container) in reader.frozen:
        reader.refuse(
            "aliases",
            "a list or dict is changed that something else remembers, on some path",
            "copy it first: list(...) or dict(...)",
        )
    if reader.mapped and reader.guarded:
        reader.refuse(
            "released-path",
            "a list or dict is changed where a record decides whether",
            "change it on every path",
        )
    writes.note(reader, container)


def _write_item(reader: Reader, owner: Array, key: object, value: object) -> None:
    if owner.form is list:
        reader.unknown("a write into the data")
    node, new = owner.node(reader.graph), reader.node(value)
    parts = _keys(reader, key)
    if len(parts) == 1 and isinstance(parts[0], Array | Scalar) and not reader.is_public(parts[0]):
        mask = reader.node(parts[0])
        if mask.dtype.kind != "b" or mask.shape != node.shape[: mask.ndim]:
            reader.unknown("a write at private places")
        if mask.ndim < node.ndim:
            wide = (*mask.shape, *[1] * (node.ndim - mask.ndim))
            mask = reader.graph.add("reshape", mask, shape=wide)
        if new.ndim:
            reader.unknown("a write of an array at private places")
        from dpcheck.program.lowering.functions import where

        found = where(reader, mask, cast(reader, new, node), node)
        write(reader, owner, found)
        return
    hot = _one_for_each(reader, owner, node, parts, new)
    if hot is not None:
        write(reader, owner, hot)
        return
    if not all(reader.is_public(part) for part in parts):
        reader.refuse(
            "private-control",
            "a private value decides which entry is written",
            "use np.where, or public places",
        )
    places = _full(reader, node, tuple(_place(reader.plain(part)) for part in parts))
    from dpcheck.program.rules.common import whole

    if all(k == slice(None) for k in places if isinstance(k, slice)) and all(
        isinstance(k, slice) for k in places
    ):
        write(reader, owner, spread(reader, cast(reader, new, node), node))
        return
    if isinstance(new.fact, Rows) and not isinstance(node.fact, Rows):
        new = whole(reader.graph, new)
    write(reader, owner, reader.graph.add("put", node, cast(reader, new, node), key=places))


def _one_for_each(reader: Reader, owner: Array, node: Node, parts: Key, new: Node) -> Node | None:
    """table[np.arange(n), x] = 1 on a table of zeros: a row for each record, with a 1 at its place."""
    if len(parts) != 2 or owner.steps or not isinstance(node.fact, Public) or node.ndim != 2:
        return None
    if not reader.is_public(parts[0]) or not isinstance(parts[1], Array) or not is_one(new):
        return None
    place, (count, many) = reader.node(parts[1]), plain(node.shape)
    fact, box = place.fact, place.fact.box
    if not isinstance(fact, Rows) or place.ndim != 1 or place.dtype.kind not in "iu":
        return None
    inside = bool((box.lo >= 0).all() and (box.hi < many).all())
    all_of_them = fact.rows.count == count and np.array_equal(
        np.asarray(reader.plain(parts[0])), np.arange(count)
    )
    if not inside or not all_of_them or np.any(np.asarray(node.fact.value)):
        return None
    hot = reader.graph.add("one_hot", place, bins=many)
    return reader.graph.add("convert", hot, dtype=node.dtype)


def is_one(node: Node) -> bool:
    """Whether it is the number 1."""
    return isinstance(node.fact, Public) and not node.ndim and bool(node.fact.value == 1)


def cast(reader: Reader, new: Node, old: Node) -> Node:
    """A value as it is after it was written into an array: of its type, if numpy casts it so."""
    from dpcheck.program.lowering.making import one_by_one
    from dpcheck.program.rules.common import weakness

    if new.dtype == old.dtype:
        return new
    if weakness(new) is not False:
        one_by_one(reader, new, old.dtype)
    if isinstance(new.fact, Public) or np.can_cast(new.dtype, old.dtype, "same_kind"):
        return reader.graph.add("convert", new, dtype=old.dtype)
    return reader.refuse(
        "unknown-operation",
        f"numbers of type {new.dtype} are written into an array of {old.dtype}, which changes them",
        "make the array of that type first",
    )


def spread(reader: Reader, new: Node, old: Node) -> Node:
    """A value repeated to the shape of what it replaces."""
    if new.shape == old.shape:
        return new
    if isinstance(old.fact, Rows) and not isinstance(new.fact, Rows):
        zero = reader.graph.add("multiply", old, reader.graph.constant(0))
        if not np.isfinite(old.fact.box.magnitude).all() or old.fact.box.nan:
            reader.unknown("a write over rows that may be infinite or NaN")
        return reader.graph.add("add", zero, new)
    return reader.graph.add("broadcast", new, shape=old.shape)


def write(reader: Reader, owner: Array, found: Node) -> None:
    """The array, under all its names, holds this now."""
    if owner.storage.locked is not None:
        reader.refuse(
            "outlives", f"an array is written, but {owner.storage.locked}", "copy it first"
        )
    if reader.mapped and reader.guarded:
        reader.refuse(
            "released-path",
            "an array is written where a record decides whether",
            "use np.where",
        )
    writes.note(reader, owner.storage)
    nodes = [owner.storage.node]
    for name, params in owner.steps:
        nodes.append(reader.graph.add(name, nodes[-1], **params))
    for (name, params), before in zip(reversed(owner.steps), reversed(nodes[:-1]), strict=True):
        if name == "index":
            found = reader.graph.add("put", before, found, key=params["key"])
        elif name == "transpose":
            order = params["order"]
            assert isinstance(order, tuple)
            back = tuple(int(i) for i in np.argsort(order))
            found = reader.graph.add("transpose", found, order=back)
        else:
            reader.refuse(
                "aliases",
                "an array is written that may share its memory with another one",
                "copy it first: .copy()",
            )
    owner.storage.node = found


def in_place(reader: Reader, name: str, old: object, new: object) -> object:
    """old op= new: arrays are written, all else is computed anew."""
    from dpcheck.program.reading.operators import binary

    if isinstance(old, Growing) and name == "add":
        from dpcheck.program.lowering import growing

        return growing.extend(reader, old, new)
    if type(old) is list and name == "add":
        from dpcheck.program.reading.expressions import iterated

        changed(reader, old)
        old.extend(iterated(reader, new))
        return old
    if type(old) is list and name == "multiply":
        changed(reader, old)
        old[:] = binary(reader, name, old, new)  # type: ignore[call-overload]
        return old
    if isinstance(old, Series):
        found = binary(reader, name, old, new)
        node = reader.node(found)
        if node.shape != reader.node(old).shape:
            reader.unknown("an operation in place on a column that changes its shape")
        if reader.guarded:
            reader.unknown("an operation in place on a column here")
        from dpcheck.program.lowering.tables import check_copies

        check_copies(reader)
        old.array = Array(Storage(node))
        return old
    if not isinstance(old, Array) or old.form is list:
        if type(old) in (dict, set):
            reader.unknown("an operation in place on a dict or a set")
        return binary(reader, name, old, new)
    found = reader.node(binary(reader, name, old, new))
    before = old.node(reader.graph)
    if found.shape != before.shape and tuple(found.shape) != tuple(before.shape):
        reader.refuse("failed", "the result has another shape than the array", "fix the code")
    if found.dtype != before.dtype:
        if not np.can_cast(found.dtype, before.dtype, "same_kind"):
            reader.refuse(
                "failed",
                f"numpy does not write {found.dtype} into an array of {before.dtype}",
                "make the array of that type first",
            )
        found = cast(reader, found, before)
    write(reader, old, found)
    return old


def fresh(node: Node) -> Array:
    """New memory."""
    return Array(Storage(node))
