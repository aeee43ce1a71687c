"""Builtins of Python, the math module, methods of lists and dicts."""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import RANDOM, Public, Released, Rows
from dpcheck.program.graph import Node
from dpcheck.program.lowering.functions import elementwise, where
from dpcheck.program.lowering.making import one_by_one
from dpcheck.program.lowering.ordering import as_list
from dpcheck.program.lowering.others import others
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading import arrays, writes
from dpcheck.program.reading.attributes import length
from dpcheck.program.reading.branches import check_small
from dpcheck.program.reading.calls import call
from dpcheck.program.reading.expressions import (
    check_filled,
    hashable,
    iterated,
    once,
    truth,
)
from dpcheck.program.reading.operators import binary
from dpcheck.program.reading.public import public_call, released_call
from dpcheck.program.reading.records import (
    Together,
    appended,
    column_of,
    each_record,
    fresh,
    is_records,
    listed,
    nothing,
    of_python,
)
from dpcheck.program.reading.values import (
    Array,
    Counted,
    Generator,
    Instance,
    Iterator,
    Keys,
    Listed,
    Opaque,
    Partial,
    Scalar,
    Series,
    Table,
    Value,
)
from dpcheck.program.rules.common import is_mixed, is_weak, unsure, weakness
from dpcheck.program.rules.reductions import check_end_of_sum

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


@lower(len)
def len_(reader: Reader, value: object) -> object:
    """len()."""
    if isinstance(value, Table):
        value = next(iter(value.columns.values())).array
    if isinstance(value, Listed):
        value = next(iter(value.columns.values()))
    if isinstance(value, Series):
        value = value.array
    if isinstance(value, Array):
        node = value.node(reader.graph)
        return length(reader, node, 0)
    if isinstance(value, Opaque):
        return released_call(reader, len, (value,))
    if isinstance(value, Counted):
        from dpcheck.program.lowering.tables import not_yet

        not_yet(reader)
    if isinstance(value, Iterator) and not value.once:
        return len(iterated(reader, value))
    if isinstance(value, Value):
        reader.unknown(f"len() of {reader.describe(value)}")
    check_filled(reader, value)
    reader.alive(value)
    return reader.attempt(lambda: len(value))  # type: ignore[arg-type]


def _number(kind: type) -> Callable[..., object]:
    def handler(reader: Reader, value: object = 0, *args: object) -> object:
        if args or reader.is_public(value):
            return public_call(reader, kind, (value, *args), {})
        if isinstance(value, Opaque) or (reader.is_released(value) and kind is bool):
            return released_call(reader, kind, (value,))
        node = reader.node(value)
        return reader.array(reader.graph.add("number", node, kind=kind))

    return handler


lower(float)(_number(float))
lower(int)(_number(int))
lower(bool)(_number(bool))


def _exact_number(kind: type) -> Callable[..., object]:
    def handler(reader: Reader, value: object = 0) -> object:
        if reader.is_public(value):
            return public_call(reader, kind, (value,), {})
        if isinstance(value, Opaque):
            return released_call(reader, kind, (value,))
        node = reader.node(value)
        one_by_one(reader, node, np.dtype(kind))
        return reader.array(reader.graph.add("convert", node, dtype=np.dtype(kind)))

    return handler


for _kind in (np.float64, np.float32, np.int64, np.int32):
    lower(_kind)(_exact_number(_kind))


def _shown(function: Callable[..., object]) -> Callable[..., object]:
    def handler(reader: Reader, *args: object) -> object:
        if reader.is_public(list(args)):
            from dpcheck.program.reading.expressions import _printable

            found = [reader.plain(each) for each in args]
            for each in found:
                _printable(reader, each)
            return reader.attempt(lambda: function(*found))
        if reader.is_released(list(args)):
            return released_call(reader, function, args)
        return reader.refuse(
            "private-control", f"{reader.describe(args[0])} becomes text", "add noise to it first"
        )

    return handler


for _function in (str, repr, format):
    lower(_function)(_shown(_function))


@lower(print)
def print_(reader: Reader, *args: object, **named: object) -> None:
    """Printing what is released or public shows nothing new."""
    if named or not reader.is_released(list(args)):
        reader.refuse(
            "private-output",
            "a private value is printed",
            "print it after noise was added",
        )


@lower(isinstance)
def isinstance_(reader: Reader, value: object, kind: object) -> bool:
    """By the declared form of the data."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if any(not isinstance(each, type) for each in kinds):
        reader.unknown("isinstance of this")
    answers = {any(issubclass(mine, each) for each in kinds) for mine in types_of(reader, value)}
    if len(answers) > 1:
        reader.unknown("the exact type of a number")
    return answers.pop()


@lower(type)
def type_(reader: Reader, value: object, *args: object) -> type:
    """By the declared form of the data."""
    if args:
        reader.unknown("a class made by type()")
    found = types_of(reader, value)
    if len(found) > 1:
        reader.unknown("the exact type of a number")
    return found.pop()


def types_of(reader: Reader, value: object) -> set[type]:
    """The classes a value may have: numbers are Python's or numpy's, which is not always known."""
    if isinstance(value, Array):
        return {list if value.form is list else np.ndarray}
    if isinstance(value, Scalar):
        node = value.node
        if node.dtype.kind == "O":
            reader.unknown("the type of a record's text")
        own = {"f": float, "b": bool}.get(node.dtype.kind, int)
        if is_weak(node):
            return (
                {own}
                if node.primitive in ("number", "draw", "constant")
                else {own, node.dtype.type}
            )
        return {node.dtype.type}
    if isinstance(value, Instance):
        return {value.kind}
    if isinstance(value, Listed):
        return {list}
    if isinstance(value, Table | Series):
        import pandas as pd

        return {pd.DataFrame if isinstance(value, Table) else pd.Series}
    if isinstance(value, Generator):
        return {np.random.Generator}
    if isinstance(value, Value):
        reader.unknown(f"the type of {reader.describe(value)}")
    return {type(value)}


@lower(hasattr)
def hasattr_(reader: Reader, value: object, name: object) -> bool:
    """By the declared form of the data."""
    plain = str(reader.plain(name))
    if not isinstance(value, Array) or value.form is list or plain.startswith("_"):
        reader.unknown("hasattr of this")
    return hasattr(np.empty(0), plain)


@lower(range)
def range_(reader: Reader, *args: object) -> object:
    """A public range; of the private number of records it stands for their places."""
    if reader.is_public(list(args)):
        return public_call(reader, range, args, {})
    if reader.is_released(list(args)):
        return released_call(reader, range, args)
    reader.refuse(
        "private-length",
        "a private value decides how often a loop runs",
        "loop over the records themselves, or a public number of times",
    )


@lower(list)
def list_(reader: Reader, value: object = ()) -> object:
    """list()."""
    if isinstance(value, Opaque):
        return released_call(reader, list, (value,))
    column = column_of(reader, value)
    if column is not None and column.ndim == 1:
        if isinstance(value, Array) and value.form is list:
            return listed(reader, column, value.weak)
        if isinstance(value, Series):
            return as_list(reader, value.array)
        if column.dtype == np.dtype(float):
            return listed(reader, column, False)
    return list(iterated(reader, value))


@lower(tuple)
def tuple_(reader: Reader, value: object = ()) -> object:
    """tuple()."""
    if isinstance(value, Opaque):
        return released_call(reader, tuple, (value,))
    return tuple(iterated(reader, value))


@lower(zip)
def zip_(reader: Reader, *args: object, strict: object = False) -> object:
    """zip() of values of public length."""
    parts = [iterated(reader, each) for each in args]
    if reader.plain(strict) and len({len(part) for part in parts}) > 1:
        reader.refuse("failed", "zip of different lengths", "fix the code")
    return Iterator([tuple(each) for each in zip(*parts, strict=False)], args)


@lower(enumerate)
def enumerate_(reader: Reader, value: object, start: object = 0) -> object:
    """enumerate()."""
    items: list[object] = list(enumerate(iterated(reader, value), int(reader.plain(start))))  # type: ignore[call-overload]
    return Iterator(items, (value,))


@lower(reversed)
def reversed_(reader: Reader, value: object) -> object:
    """reversed()."""
    return Iterator(list(reversed(iterated(reader, value))), (value,))


@lower(dict)
def dict_(reader: Reader, value: object = (), **named: object) -> object:
    """dict()."""
    if type(value) is dict:
        return {**value, **named}
    found: dict[object, object] = {}
    for pair in iterated(reader, value):
        key, each = iterated(reader, pair)
        found[hashable(reader, key)] = each
    return found | named


@lower(set, frozenset)
def set_(reader: Reader, value: object = ()) -> object:
    """set(): of public values."""
    if is_records(reader, value):
        reader.refuse(
            "private-control",
            "the members of a set are private values, and its size would reveal them",
            "count with np.histogram or np.bincount over public bins",
        )
    return {hashable(reader, each) for each in iterated(reader, value)}


@lower(math.fsum)
def fsum(reader: Reader, values: object) -> object:
    """math.fsum(): a sum of floats, rounded once."""
    if reader.is_public(values):
        return public_call(reader, math.fsum, (values,), {})
    return sum_(reader, values, 0.0)


@lower(sum)
def sum_(reader: Reader, values: object, start: object = 0) -> object:
    """sum(): one after the other; over records it is their sum."""
    weak = of_python(values)
    if isinstance(values, Series):
        values = values.array
    if isinstance(values, Array) and not reader.is_public(values):
        node = values.node(reader.graph)
        if isinstance(node.fact, Rows) and node.fact.axis == 0:
            # One after the other, in their own type: int8 wraps around here, unlike in np.sum.
            node = _all_of_them(reader, node)
            kind, pythons = node.dtype, weak is not False
            if kind.kind in "biu":
                zero = nothing(reader, kind, bool(weak))
                kind = reader.node(binary(reader, "add", start, zero)).dtype
                if pythons and weakness(reader.node(start)) is not False:
                    check_end_of_sum(reader.graph, node, kind)
            added = reader.graph.add("sum", node, axes=(0,), dtype=kind)
            if pythons:
                unsure(added)
            found = binary(reader, "add", reader.array(added), start)
            if is_mixed(added):
                unsure(reader.node(found))
            return found
    if isinstance(values, Opaque) or (isinstance(values, Array) and reader.is_released(values)):
        return released_call(reader, sum, (values, start))
    found = start
    for each in iterated(reader, values):
        found = binary(reader, "add", found, each)
    return found


def _all_of_them(reader: Reader, node: Node) -> Node:
    """The records that pass a test, as 0 where they do not: as many as there are, which may be public."""
    if node.primitive != "filter" or node.ndim != 1 or node.dtype.kind not in "biuf":
        return node
    column, mask = node.args
    zero = reader.graph.constant(np.zeros((), dtype=node.dtype)[()])
    return where(reader, mask, column, zero) if isinstance(mask.fact, Rows) else node


def _extreme(name: str) -> Callable[..., object]:
    builtin = getattr(builtins, name)
    ufunc = "maximum" if name == "max" else "minimum"

    def handler(reader: Reader, *args: object, **named: object) -> object:
        if reader.is_public(list(args)) and not named:
            return public_call(reader, builtin, args, {})
        if len(args) == 1 and isinstance(args[0], Array) and not named:
            node = args[0].node(reader.graph)
            if node.ndim == 1 and not isinstance(node.fact, Released | Public):
                _no_nan(reader, [args[0]])
                from dpcheck.program.lowering.ordering import _extreme as of_array

                largest = of_array(name)(reader, args[0])
                if args[0].form is list and args[0].weak is not False:
                    unsure(reader.node(largest))
                return largest
        several = any(isinstance(each, Opaque | list | tuple | Array) for each in args)
        if several and reader.is_released(list(args)) and not named:
            return released_call(reader, builtin, args)
        values = iterated(reader, args[0]) if len(args) == 1 else list(args)
        if named or not values:
            key = named.pop("key", None)
            if named or key is None:
                reader.unknown(f"{name}() with these arguments")
            keys = [call(reader, key, (each,), {}) for each in values]
            if reader.is_released(values) and reader.is_released(keys):
                pick = lambda v, k: v[k.index(builtin(k))]  # noqa: E731
                return released_call(reader, pick, (values, keys))
            reader.refuse(
                "private-control",
                f"{name}() with key= chooses by private values",
                "add noise to the scores: np.argmax(scores + rng.gumbel(...))",
            )
        _no_nan(reader, values)
        found = values[0]
        for each in values[1:]:
            if any(isinstance(v, Array) for v in (found, each)):
                reader.refuse(
                    "private-control", f"{name}() compares arrays", "use np.maximum or np.minimum"
                )
            sides = (reader.node(found), reader.node(each))
            found = elementwise(reader, ufunc, found, each)
            check_small(reader, sides, reader.node(found).dtype)
            if weakness(sides[0]) != weakness(sides[1]):
                unsure(reader.node(found))
        return found

    return handler


def _no_nan(reader: Reader, values: list[object]) -> None:
    """min() and max() of Python keep the first where NaN is compared; numpy gives NaN."""
    for each in values:
        if isinstance(each, Value) and reader.node(each).fact.box.nan:
            reader.unknown("min() or max() of values that may be NaN")


lower(max)(_extreme("max"))
lower(min)(_extreme("min"))


@lower(abs)
def abs_(reader: Reader, value: object) -> object:
    """abs()."""
    if reader.is_public(value):
        return public_call(reader, abs, (value,), {})
    if isinstance(value, Opaque):
        return released_call(reader, abs, (value,))
    if isinstance(value, Series):
        from dpcheck.program.lowering.columns import ufunc

        return ufunc(reader, "absolute", (value,))
    return elementwise(reader, "absolute", value)


@lower(round)
def round_(reader: Reader, value: object, digits: object = None) -> object:
    """round()."""
    if reader.is_public([value, digits]):
        return public_call(reader, round, (value,) if digits is None else (value, digits), {})
    if reader.is_released(value):
        return released_call(reader, round, (value,) if digits is None else (value, digits))
    reader.unknown("round() of a private value")


@lower(sorted)
def sorted_(reader: Reader, value: object, key: object = None, **named: object) -> object:
    """sorted() of public or released values."""
    if key is None and reader.is_public(value) and reader.is_public(named):
        return public_call(reader, sorted, (value,), named)
    if key is None and reader.is_released(value) and reader.is_public(named):
        return _ordered(reader, value, value, named)
    if key is not None and not isinstance(value, Opaque | Array):
        items = iterated(reader, value)
        keys = [call(reader, key, (each,), {}) for each in items]
        if reader.is_released([items, keys]) and reader.is_public(named):
            return _ordered(reader, items, keys, named)
    reader.refuse("private-control", "private values are put in order", "add noise to them first")


def _ordered(reader: Reader, items: object, keys: object, named: dict[str, object]) -> object:
    """Released items by released keys: a list of as many, each of them released."""
    reverse = bool(reader.plain(named.pop("reverse", False)))
    if named:
        reader.unknown(f"sorted() with {', '.join(named)}")

    def order(values: list[object], by: list[object]) -> list[object]:
        places = sorted(range(len(by)), key=by.__getitem__, reverse=reverse)  # type: ignore[arg-type]
        return [values[i] for i in places]

    found = released_call(reader, order, (items, keys))
    if type(items) is not list:
        return found
    widths = {len(each) if type(each) is tuple else None for each in items}
    return [_item(reader, found, i, widths) for i in range(len(items))]


def _item(reader: Reader, owner: object, place: int, widths: set[int | None]) -> object:
    """One item of a released list; a tuple if all of its items are tuples of one length."""
    found = released_call(reader, lambda o: o[place], (owner,))
    many = next(iter(widths)) if len(widths) == 1 else None
    if many is None:
        return found
    return tuple(released_call(reader, lambda o, j=j: o[j], (found,)) for j in range(many))


@lower(functools.partial)
def partial(reader: Reader, function: object, *args: object, **named: object) -> object:
    """functools.partial: the call with some of its arguments, when it comes."""
    return Partial(function, args, named)


@lower(functools.reduce)
def reduce_(reader: Reader, function: object, values: object, *start: object) -> object:
    """functools.reduce of a public number of values: one call after the other."""
    if column_of(reader, values) is not None:
        reader.refuse(
            "private-length",
            "functools.reduce goes through the records one by one",
            "use sum(), or a for loop that adds up",
        )
    items = [*start, *iterated(reader, values)]
    if not items:
        reader.refuse("failed", "functools.reduce of nothing", "give it a start")
    found = items[0]
    for each in items[1:]:
        found = call(reader, function, (found, each), {})
    return found


@lower(map)
def map_(reader: Reader, function: object, *values: object) -> object:
    """map(): the function of each item."""
    now = reader.statements
    if values and all(is_records(reader, each) for each in values):
        over = values[0] if len(values) == 1 else Together(values)

        def item(one: object) -> tuple[object, list[object]]:
            given = one if isinstance(over, Together) else (one,)
            return call(reader, function, given, {}), []  # type: ignore[arg-type]

        return _once(reader, each_record(reader, over, item))
    parts = [iterated(reader, each) for each in values]
    found = [call(reader, function, tuple(each), {}) for each in zip(*parts, strict=False)]
    return Iterator(found, values, statement=now)


def _once(reader: Reader, found: Array | Listed | Opaque) -> object:
    if isinstance(found, Opaque):
        reader.unknown("map() or filter() with answers in words")
    return once(reader, found)


@lower(filter)
def filter_(reader: Reader, function: object, values: object) -> object:
    """filter(): the items of which the function is true."""
    if is_records(reader, values):

        def item(one: object) -> tuple[object, list[object]]:
            return one, [call(reader, function, (one,), {})]

        return _once(reader, each_record(reader, values, item))
    now, items = reader.statements, iterated(reader, values)
    kept = [each for each in items if truth(reader, call(reader, function, (each,), {}))]
    return Iterator(kept, (values,), statement=now)


def _truth(builtin: Callable[..., bool]) -> Callable[..., object]:
    def handler(reader: Reader, value: object) -> object:
        if reader.is_public(value):
            return public_call(reader, builtin, (value,), {})
        if reader.is_released(value):
            return released_call(reader, builtin, (value,))
        return reader.refuse(
            "private-control",
            "any() or all() asks private values one by one, and decides",
            "use np.any, and add noise",
        )

    return handler


lower(any)(_truth(any))
lower(all)(_truth(all))


def _drawn(reader: Reader, args: tuple[object, ...]) -> bool:
    """Whether they are random numbers and public ones alone."""
    values = [each for each in args if not reader.is_public(each)]
    return all(isinstance(v, Scalar) and isinstance(v.node.fact, RANDOM) for v in values)


# Where these functions of `math` have a value, and raise no error.
_DOMAINS = {
    "exp": (-1e300, 709.0),
    "expm1": (-1e300, 709.0),
    "sqrt": (0.0, 1e300),
    "log": (1e-300, 1e300),
    "log2": (1e-300, 1e300),
    "log10": (1e-300, 1e300),
    "log1p": (-0.9999, 1e300),
    **dict.fromkeys(("tanh", "sin", "cos", "fabs"), (-1e300, 1e300)),
}


def _total(reader: Reader, name: str, value: object) -> bool:
    """Whether it is one private number within the domain of the function, for all data."""
    if not isinstance(value, Scalar) or name not in _DOMAINS:
        return False
    node, (low, high) = value.node, _DOMAINS[name]
    if node.dtype.kind not in "biuf" or isinstance(node.fact, RANDOM):
        return False
    box = node.fact.box
    inside = not box.nan and bool((box.lo >= low).all() and (box.hi <= high).all())
    return inside and (name != "sqrt" or bool((box.lo > _CLEAR).all()) or _never_below_0(node))


_CLEAR = 1e-6  # farther from 0 than any rounding


def _never_below_0(node: Node) -> bool:
    """Whether floats that are rounded are never below 0: nothing was taken away."""
    if isinstance(node.fact, Public | Released):
        return bool((node.fact.box.lo >= 0).all())
    if node.primitive in ("square", "absolute"):
        return True
    adds = node.primitive in ("add", "multiply", "divide", "sum", "number", "convert", "maximum")
    return adds and all(_never_below_0(arg) for arg in node.args)


# math.* on a released or private number, where numpy has the same function.
for _name in (
    "sqrt",
    "exp",
    "log",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "tanh",
    "sin",
    "cos",
    "floor",
    "ceil",
    "fabs",
    "copysign",
):

    def _math(reader: Reader, *args: object, _name: str = _name) -> object:
        function = getattr(math, _name)
        if reader.is_public(list(args)):
            return public_call(reader, function, args, {})
        if reader.is_released(list(args)):
            return released_call(reader, function, args)
        if _drawn(reader, args):
            if _name == "copysign" and reader.is_public(args[0]):
                sign = elementwise(reader, "sign", args[1])
                return binary(reader, "multiply", abs(float(reader.plain(args[0]))), sign)  # type: ignore[arg-type]
            return elementwise(reader, {"fabs": "absolute"}.get(_name, _name), *args)
        if len(args) == 1 and _total(reader, _name, args[0]):
            number = reader.array(reader.graph.add("number", reader.node(args[0]), kind=float))
            return elementwise(reader, {"fabs": "absolute"}.get(_name, _name), number)
        reader.refuse(
            "private-control",
            f"math.{_name} of a private value raises for some values, and the error would reveal them",
            f"use np.{_name}",
        )

    lower(getattr(math, _name))(_math)


# Lists and dicts ------------------------------------------------------------------------------------------


def _append(reader: Reader, owner: list[object], value: object) -> None:
    if appended(reader, owner, value):
        return
    arrays.changed(reader, owner)
    owner.append(value)


def _extend(reader: Reader, owner: list[object], values: object) -> None:
    arrays.changed(reader, owner)
    owner.extend(iterated(reader, values))


def _insert(reader: Reader, owner: list[object], at: object, value: object) -> None:
    arrays.changed(reader, owner)
    owner.insert(int(reader.plain(at)), value)  # type: ignore[call-overload]


def _pop(reader: Reader, owner: list[object], at: object = -1) -> object:
    arrays.changed(reader, owner)
    return reader.attempt(lambda: owner.pop(int(reader.plain(at))))  # type: ignore[call-overload]


def _items(reader: Reader, owner: dict[object, object]) -> object:
    return Iterator(list(owner.items()), (owner,), once=False)


def _keys(reader: Reader, owner: dict[object, object]) -> object:
    return Iterator(list(owner), (Keys(owner),), once=False)


def _values(reader: Reader, owner: dict[object, object]) -> object:
    return Iterator(list(owner.values()), (owner,), once=False)


def _get(reader: Reader, owner: dict[object, object], key: object, other: object = None) -> object:
    if reader.is_public(key):
        return owner.get(reader.plain(key), other)
    if reader.is_released([key, owner, other]):
        return released_call(reader, lambda o, k, d: o.get(k, d), (owner, key, other))
    reader.refuse("private-control", "a private value decides which item is taken", "add noise")


def _update(
    reader: Reader, owner: dict[object, object], other: object = (), **named: object
) -> None:
    arrays.changed(reader, owner)
    owner.update(dict_(reader, other, **named))  # type: ignore[call-overload]


def _setdefault(
    reader: Reader, owner: dict[object, object], key: object, value: object = None
) -> object:
    arrays.changed(reader, owner)
    return owner.setdefault(hashable(reader, key), value)


def _copy(reader: Reader, owner: object) -> object:
    return fresh(reader, owner.copy())  # type: ignore[attr-defined]


def _remove(reader: Reader, owner: list[object], value: object) -> None:
    if isinstance(value, Scalar) and reader.mapped and reader.is_public(owner):
        now = reader.mapped[-1]
        left = others(reader, owner, value.node)
        always = id(owner) in now.fresh and not now.tests  # type: ignore[attr-defined]
        if left is not None and always:
            writes.replaced(reader, owner, left)
            reader.dead[id(owner)] = owner
            return
    if not reader.is_public([owner, value]):
        reader.refuse(
            "private-control",
            "a private or released value decides what is taken out of a list",
            "keep a public list, and np.where",
        )
    arrays.changed(reader, owner)
    plain = [reader.plain(each) for each in owner]
    at = reader.attempt(lambda: plain.index(reader.plain(value)))
    del owner[at]  # type: ignore[arg-type]


def _join(reader: Reader, owner: str, values: object) -> object:
    parts = iterated(reader, values)
    if reader.is_public(parts):
        return reader.attempt(lambda: owner.join(reader.plain(parts)))  # type: ignore[arg-type]
    return released_call(reader, lambda o, v: o.join(v), (owner, parts))


def from_keys(reader: Reader, keys: object, value: object = None) -> object:
    """dict.fromkeys(): the same value under every key."""
    return {hashable(reader, each): value for each in iterated(reader, keys)}


CONTAINERS: dict[tuple[type, str], Callable[..., object]] = {
    (list, "append"): _append,
    (list, "extend"): _extend,
    (list, "insert"): _insert,
    (list, "pop"): _pop,
    (list, "remove"): _remove,
    (list, "copy"): _copy,
    (dict, "items"): _items,
    (dict, "keys"): _keys,
    (dict, "values"): _values,
    (dict, "get"): _get,
    (dict, "update"): _update,
    (dict, "setdefault"): _setdefault,
    (dict, "copy"): _copy,
    (str, "join"): _join,
}
