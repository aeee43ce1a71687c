"""Expressions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

import numpy as np

from dpcheck.program.facts.kinds import Rows
from dpcheck.program.facts.rowsets import number
from dpcheck.program.reading import arrays, attributes, branches, calls, records
from dpcheck.program.reading.named import fields_of
from dpcheck.program.reading.operators import (
    BINARY,
    COMPARE,
    binary,
    unary,
)
from dpcheck.program.reading.public import released_call
from dpcheck.program.reading.reader import Reader
from dpcheck.program.reading.values import (
    Array,
    Function,
    Generator,
    Instance,
    Iterator,
    Listed,
    Opaque,
    Scalar,
    Scope,
    Series,
    Table,
    Undecided,
    Value,
)

MOST_ITEMS = 200_000  # of something that is looped over


def evaluate(reader: Reader, tree: ast.expr, scope: Scope) -> object:
    """The value of an expression."""
    reader.at(tree, scope)
    handler = EXPRESSIONS.get(type(tree))
    if handler is None:
        reader.refuse(
            "unknown-statement",
            f"`{ast.unparse(tree)[:60]}` ({type(tree).__name__}) is not read",
            "write it without",
        )
    found = handler(reader, tree, scope)
    if isinstance(found, Array | list | tuple | dict | Instance):
        reader.temporaries.append(found)
    return found


def _constant(reader: Reader, tree: ast.Constant, scope: Scope) -> object:
    return tree.value


def _name(reader: Reader, tree: ast.Name, scope: Scope) -> object:
    place: Scope | None = scope
    while place is not None:
        if tree.id in place.names:
            found = place.names[tree.id]
            if isinstance(found, Undecided):
                place.names[tree.id] = found = branches.decided(reader, found)
            reader.alive(found)
            return records.read(reader, found)
        if tree.id in place.local and tree.id not in place.nonlocals:
            reader.refuse(
                "failed", f"{tree.id} has no value here, or only on some paths", "set it before"
            )
        place = place.outer
    if tree.id in scope.globals:
        return reader.constant(scope.globals[tree.id], tree.id)
    if hasattr(builtins, tree.id):
        return getattr(builtins, tree.id)
    reader.refuse("failed", f"the name {tree.id} is not defined", "fix the code")


def _binary(reader: Reader, tree: ast.BinOp, scope: Scope) -> object:
    left = evaluate(reader, tree.left, scope)
    right = evaluate(reader, tree.right, scope)
    reader.at(tree, scope)
    return binary(reader, BINARY[type(tree.op)], left, right)


_UNARY = {ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert"}


def _unary(reader: Reader, tree: ast.UnaryOp, scope: Scope) -> object:
    value = evaluate(reader, tree.operand, scope)
    if isinstance(tree.op, ast.Not):
        return negated(reader, value)
    return unary(reader, _UNARY[type(tree.op)], value)


def negated(reader: Reader, value: object) -> object:
    """not value."""
    if branches.decides(reader, value):
        if isinstance(value, Scalar):
            return Scalar(reader.graph.add("logical_not", value.node))
        return released_call(reader, lambda x: not x, (value,))
    return not truth(reader, value)


def truth(reader: Reader, value: object) -> bool:
    """Which way a public value decides."""
    value = branches.settled(reader, value)
    if isinstance(value, Generator | Function):
        return True
    if isinstance(value, Value):
        found = reader.public_value(value)
        if found is not None:
            return bool(reader.attempt(lambda: bool(found[0])))
        branches.refuse_branch(reader, value)
    if type(value) in (list, tuple, dict, set, frozenset):
        check_filled(reader, value)
        return bool(len(value))  # type: ignore[arg-type]
    return bool(reader.attempt(lambda: bool(value)))


def _bool(reader: Reader, tree: ast.BoolOp, scope: Scope) -> object:
    """`and`, `or`: the right side is read only where the left one does not decide."""
    conjunction = isinstance(tree.op, ast.And)
    value = evaluate(reader, tree.values[0], scope)
    for later in tree.values[1:]:
        value = branches.settled(reader, value)
        if branches.decides(reader, value):
            value = _connected(reader, value, later, conjunction, scope)
            continue
        if truth(reader, value) != conjunction:
            return value
        value = evaluate(reader, later, scope)
    return value


def _connected(
    reader: Reader, value: object, later: ast.expr, conjunction: bool, scope: Scope
) -> object:
    """value and later, where the first of them is released or private."""
    if branches.is_released_truth(reader, value):
        return branches.connected(
            reader, value, conjunction, scope, lambda: evaluate(reader, later, scope)
        )
    check_names(reader, later)
    other = evaluate(reader, later, scope)
    branches.check_truths(reader, value, other)
    return binary(reader, "bitwise_and" if conjunction else "bitwise_or", value, other)


def _compare(reader: Reader, tree: ast.Compare, scope: Scope) -> object:
    left = evaluate(reader, tree.left, scope)
    found: object = True
    for op, each in zip(tree.ops, tree.comparators, strict=True):
        if found is not True:
            if branches.decides(reader, found):
                check_names(reader, each)
            elif not truth(reader, found):
                return found
        right = evaluate(reader, each, scope)
        reader.at(tree, scope)
        one = _compared(reader, op, left, right)
        if found is True:
            found = one
        elif branches.decides(reader, found) or branches.decides(reader, one):
            found = binary(reader, "bitwise_and", found, one)
        else:
            found = one
        left = right
    return found


def _compared(reader: Reader, op: ast.cmpop, left: object, right: object) -> object:
    if isinstance(op, ast.Is | ast.IsNot):
        same = _identical(reader, left, right)
        return same if isinstance(op, ast.Is) else negated(reader, same)
    if isinstance(op, ast.In | ast.NotIn):
        inside = _contains(reader, left, right)
        return inside if isinstance(op, ast.In) else negated(reader, inside)
    return binary(reader, COMPARE[type(op)], left, right)


def _identical(reader: Reader, left: object, right: object) -> object:
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        other = right if isinstance(left, Opaque) else left
        if other is None or isinstance(other, bool):
            return released_call(reader, lambda a, b: a is b, (left, right))
        reader.unknown("`is` of a released value")
    if isinstance(left, Value) or isinstance(right, Value):
        plain = [each for each in (left, right) if not isinstance(each, Value)]
        if plain and (plain[0] is None or isinstance(plain[0], type)):
            return False
        if left is right:
            return True
        reader.unknown("`is` of private values")
    if isinstance(left, type | type(None) | bool) or isinstance(right, type | type(None) | bool):
        return left is right
    return reader.unknown("`is` of these values")


def _contains(reader: Reader, item: object, container: object) -> object:
    if isinstance(container, Iterator) and not container.once:
        container = iterated(reader, container)
    if isinstance(container, Table) and isinstance(item, str):
        return item in container.columns
    if reader.is_public(item) and reader.is_public(container):
        one, many = reader.plain(item), reader.plain(container)
        return bool(reader.attempt(lambda: one in many))  # type: ignore[operator]
    if type(container) is dict and reader.is_public(item):
        return reader.plain(item) in container
    if reader.is_released(item) and reader.is_released(container):
        return released_call(reader, lambda a, b: a in b, (item, container))
    if isinstance(container, tuple | list | set | frozenset) and reader.mapped:
        texts = reader.plain(container) if reader.is_public(container) else ()
        found = records.text_among(reader, item, texts, among=True)  # type: ignore[arg-type]
        if found is not None:
            return found
    if reader.mapped and isinstance(item, Scalar) and reader.is_public(container):
        return _among(reader, item, reader.plain(container))
    reader.refuse(
        "private-control",
        "`in` looks for a private value, and its answer decides what happens",
        "use np.isin, and add noise to the count",
    )


def _among(reader: Reader, item: Scalar, container: object) -> object:
    """Whether a record's value is one of a public list: equal to one of them."""
    if type(container) not in (list, tuple, set, frozenset, range) or not len(container):  # type: ignore[arg-type]
        reader.unknown("`in` of something else than a list of values")
    tests = [binary(reader, "equal", item, each) for each in container]  # type: ignore[attr-defined]
    found = tests[0]
    for each in tests[1:]:
        found = binary(reader, "bitwise_or", found, each)
    return found


def _call(reader: Reader, tree: ast.Call, scope: Scope) -> object:
    function = evaluate(reader, tree.func, scope)
    args: list[object] = []
    for each in tree.args:
        if isinstance(each, ast.Starred):
            args.extend(iterated(reader, evaluate(reader, each.value, scope)))
        else:
            args.append(evaluate(reader, each, scope))
    named: dict[str, object] = {}
    for keyword in tree.keywords:
        value = evaluate(reader, keyword.value, scope)
        if keyword.arg is None:
            if type(value) is not dict or not all(type(k) is str for k in value):
                reader.unknown("** of this value")
            named |= value
        else:
            named[keyword.arg] = value
    reader.at(tree, scope)
    return calls.call(reader, function, tuple(args), named)


def _attribute(reader: Reader, tree: ast.Attribute, scope: Scope) -> object:
    owner = evaluate(reader, tree.value, scope)
    reader.at(tree, scope)
    return records.read(reader, attributes.get(reader, owner, tree.attr))


def _subscript(reader: Reader, tree: ast.Subscript, scope: Scope) -> object:
    owner = evaluate(reader, tree.value, scope)
    key = evaluate(reader, tree.slice, scope)
    reader.at(tree, scope)
    return records.read(reader, arrays.get_item(reader, owner, key))


def _slice(reader: Reader, tree: ast.Slice, scope: Scope) -> object:
    ends = [
        None if each is None else evaluate(reader, each, scope)
        for each in (tree.lower, tree.upper, tree.step)
    ]
    if not all(reader.is_public(each) for each in ends):
        if all(reader.is_released(each) for each in ends):
            return released_call(reader, slice, tuple(ends))
        reader.refuse(
            "private-control",
            "a private value decides where a slice begins or ends",
            "slice at public places",
        )
    return slice(*(reader.plain(each) for each in ends))


def _items(reader: Reader, trees: list[ast.expr], scope: Scope) -> list[object]:
    found: list[object] = []
    for each in trees:
        if isinstance(each, ast.Starred):
            found.extend(iterated(reader, evaluate(reader, each.value, scope)))
        else:
            found.append(evaluate(reader, each, scope))
    return found


def _tuple(reader: Reader, tree: ast.Tuple, scope: Scope) -> object:
    return tuple(_items(reader, tree.elts, scope))


def _list(reader: Reader, tree: ast.List, scope: Scope) -> object:
    return records.fresh(reader, _items(reader, tree.elts, scope))


def _set(reader: Reader, tree: ast.Set, scope: Scope) -> object:
    return {hashable(reader, each) for each in _items(reader, tree.elts, scope)}


def hashable(reader: Reader, value: object) -> object:
    """A key of a dict, or a member of a set."""
    if not reader.is_public(value):
        if isinstance(value, Value) and reader.is_released(value):
            reader.refuse(
                "released-path",
                "a released value is a key of a dict or a member of a set",
                "use a list of pairs",
            )
        reader.refuse(
            "private-control",
            "a private value is a key of a dict or a member of a set, whose size would reveal it",
            "count with np.histogram or np.bincount over public bins",
        )
    found = reader.plain(value)
    reader.attempt(lambda: hash(found))
    return found


def _dict(reader: Reader, tree: ast.Dict, scope: Scope) -> object:
    found: dict[object, object] = {}
    for key, value in zip(tree.keys, tree.values, strict=True):
        if key is None:
            inner = evaluate(reader, value, scope)
            if type(inner) is not dict:
                reader.unknown("** of this value")
            found |= inner
        else:
            name = hashable(reader, evaluate(reader, key, scope))
            found[name] = evaluate(reader, value, scope)
    return found


def _conditional(reader: Reader, tree: ast.IfExp, scope: Scope) -> object:
    test = branches.settled(reader, evaluate(reader, tree.test, scope))
    if branches.decides(reader, test):
        return branches.chosen(
            reader,
            test,
            scope,
            lambda: evaluate(reader, tree.body, scope),
            lambda: evaluate(reader, tree.orelse, scope),
        )
    return evaluate(reader, tree.body if truth(reader, test) else tree.orelse, scope)


def _lambda(reader: Reader, tree: ast.Lambda, scope: Scope) -> object:
    from dpcheck.program.reading.statements import closure

    return closure(reader, tree, scope, "<lambda>")


def check_names(reader: Reader, *trees: ast.AST) -> None:
    """Refuse `:=` where it writes in another scope, or on one path only."""
    for tree in trees:
        if any(isinstance(each, ast.NamedExpr) for each in ast.walk(tree)):
            reader.unknown("`:=` in a comprehension, or where it may not be reached,")


def _walrus(reader: Reader, tree: ast.NamedExpr, scope: Scope) -> object:
    from dpcheck.program.reading.statements import set_name

    value = evaluate(reader, tree.value, scope)
    set_name(reader, tree.target.id, value, scope)
    return value


def _text(reader: Reader, tree: ast.JoinedStr, scope: Scope) -> object:
    """An f-string: of public values it is one, of released ones it is released."""
    parts: list[object] = []
    for each in tree.values:
        if isinstance(each, ast.Constant):
            parts.append(each.value)
            continue
        assert isinstance(each, ast.FormattedValue)
        value = evaluate(reader, each.value, scope)
        form = "" if each.format_spec is None else evaluate(reader, each.format_spec, scope)
        parts.append(_formatted(reader, value, each.conversion, form))
    if all(isinstance(part, str) for part in parts):
        return "".join(str(part) for part in parts)
    return released_call(reader, lambda *each: "".join(each), tuple(parts))


_SHOWN: dict[int, Callable[[object], object]] = {-1: lambda x: x, 115: str, 114: repr, 97: ascii}


def _formatted(reader: Reader, value: object, conversion: int, form: object) -> object:
    shown = _SHOWN[conversion]
    if reader.is_public(value) and isinstance(form, str):
        found = reader.plain(value)
        _printable(reader, found)
        return reader.attempt(lambda: format(shown(found), form))
    if not reader.is_released(value):
        reader.refuse(
            "private-control",
            f"{reader.describe(value)} becomes text",
            "add noise to it first",
        )
    return released_call(reader, lambda x, f: format(shown(x), f), (value, form))


def _printable(reader: Reader, value: object, depth: int = 0) -> None:
    """Text of an object of a class may show its address."""
    exact = (bool, int, float, complex, str, bytes, type(None), np.ndarray)
    if type(value) in (list, tuple) and depth < 20:
        for each in value:  # type: ignore[attr-defined]
            _printable(reader, each, depth + 1)
    elif type(value) not in exact and not isinstance(value, np.generic | np.dtype):
        reader.unknown(f"the text of a {type(value).__name__}")


def _generated(reader: Reader, tree: ast.GeneratorExp, scope: Scope) -> object:
    """A generator expression, whose items are made where they are used."""
    found = records.comprehension(reader, tree, scope, None)
    if isinstance(found, list):
        return Iterator(found, (), statement=reader.statements)
    assert isinstance(found, Array | Listed)
    return once(reader, found)


def once(reader: Reader, column: Array | Listed) -> Iterator:
    """What gives one item a record, and then nothing."""
    return Iterator([], (), statement=reader.statements, column=column)


def opened(reader: Reader, value: object) -> object:
    """What a loop over an iterator of records goes through."""
    if not isinstance(value, Iterator) or value.column is None:
        return value
    _check_once(reader, value)
    return value.column


def _listed(reader: Reader, tree: ast.ListComp, scope: Scope) -> object:
    return records.comprehension(reader, tree, scope, list)


def _set_of(reader: Reader, tree: ast.SetComp, scope: Scope) -> object:
    return {hashable(reader, each) for each in records.plain_comprehension(reader, tree, scope)}


def _dict_of(reader: Reader, tree: ast.DictComp, scope: Scope) -> object:
    return records.dict_comprehension(reader, tree, scope)


def _starred(reader: Reader, tree: ast.Starred, scope: Scope) -> object:
    return reader.unknown("a star here")


def check_filled(reader: Reader, value: object) -> None:
    """Refuse a list that holds one item a record, under a name that was not followed."""
    if type(value) in (list, tuple) and any(isinstance(each, records.Poison) for each in value):  # type: ignore[attr-defined]
        reader.unknown("a list that a loop over records filled, under another name,")


def _consumed(reader: Reader, value: Iterator) -> list[object]:
    """The items of an iterator, once."""
    if value.column is not None:
        reader.refuse(
            "private-length",
            "records are taken one by one here",
            "use array operations on the whole column, or a plain for loop that adds up",
        )
    _check_once(reader, value)
    return list(value.items)


def _check_once(reader: Reader, value: Iterator) -> None:
    late = value.statement is not None and value.statement != reader.statements
    if late or value.changed or (value.once and value.used):
        reader.unknown("an iterator that is used later, or a second time,")
    value.used = True


def iterated(reader: Reader, value: object) -> list[object]:
    """The items of something that has a public number of them."""
    reader.alive(value)
    value = fields_of(value) or value
    if isinstance(value, Array):
        node = value.node(reader.graph)
        if not node.ndim:
            reader.refuse("failed", "a number is looped over", "fix the code")
        many = number(node.shape[0])
        if many is None or (isinstance(node.fact, Rows) and node.fact.axis == 0):
            reader.refuse(
                "private-length",
                "records are taken one by one here",
                "use array operations on the whole column, or a plain for loop that adds up",
            )
        if many > MOST_ITEMS:
            reader.unknown(f"a loop over {many} numbers")
        return [arrays.get_item(reader, value, i) for i in range(many)]
    if isinstance(value, Iterator):
        return _consumed(reader, value)
    if isinstance(value, Table):
        return list(value.columns)
    if isinstance(value, Series):
        return iterated(reader, value.array)
    if isinstance(value, Opaque):
        reader.refuse(
            "released-path",
            "how often a loop runs is decided by a released value",
            "loop over something of public length",
        )
    if isinstance(value, Value):
        reader.unknown(f"a loop over {reader.describe(value)}")
    if type(value) is dict:
        return list(value)
    if isinstance(value, set | frozenset):
        if len(value) > 1:
            reader.unknown("a loop over a set, whose order nobody knows")
        return list(value)
    if type(value) in (list, tuple, range, str):
        assert isinstance(value, list | tuple | range | str)
        if len(value) > MOST_ITEMS:
            reader.unknown("a loop of so many rounds")
        check_filled(reader, value)
        return list(value)
    return reader.unknown(f"a loop over a {type(value).__name__}")


EXPRESSIONS: dict[type[ast.expr], Callable[..., object]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool,
    ast.Compare: _compare,
    ast.Call: _call,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.IfExp: _conditional,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.JoinedStr: _text,
    ast.ListComp: _listed,
    ast.SetComp: _set_of,
    ast.DictComp: _dict_of,
    ast.GeneratorExp: _generated,
    ast.Starred: _starred,
}
