"""Statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import NoReturn

import numpy as np

from dpcheck.program.reading import arrays, attributes, branches, records
from dpcheck.program.reading.expressions import evaluate, iterated, truth
from dpcheck.program.reading.operators import BINARY, binary
from dpcheck.program.reading.public import released_call
from dpcheck.program.reading.reader import Reader
from dpcheck.program.reading.values import (
    Array,
    Function,
    Instance,
    Opaque,
    Scope,
    Value,
)


@dataclass(slots=True)
class Left(Exception):
    """A block was left: how, and with what."""

    how: str  # "return", "break", "continue"; "gone" if no path goes on, and all exits are noted
    value: object = None


def block(reader: Reader, body: Iterable[ast.stmt], scope: Scope) -> None:
    """Statements, one after the other."""
    start = len(reader.temporaries)
    for each in body:
        reader.at(each, scope)
        reader.statements += 1
        del reader.temporaries[start:]
        if isinstance(each, ast.If):
            branches.conditional(reader, each, scope)
            continue
        handler = STATEMENTS.get(type(each))
        if isinstance(each, ast.Try):
            _caught(reader, "try")
        if handler is None:
            reader.refuse(
                "unknown-statement",
                f"a `{_word(each)}` statement is not read",
                "write it without, or prove a smaller function",
            )
        handler(reader, each, scope)
    del reader.temporaries[start:]


def _caught(reader: Reader, word: str) -> NoReturn:
    reader.refuse(
        "private-control",
        f"a `{word}` block catches errors, and which ones come may depend on the data",
        "write it without, and let errors end the function",
    )


def _word(tree: ast.AST) -> str:
    words = {
        "Try": "try",
        "With": "with",
        "Global": "global",
        "ClassDef": "class",
        "Match": "match",
    }
    words |= {"Import": "import", "ImportFrom": "import", "Delete": "del", "While": "while"}
    return words.get(type(tree).__name__, type(tree).__name__)


def _expr(reader: Reader, tree: ast.Expr, scope: Scope) -> None:
    evaluate(reader, tree.value, scope)


def _pass(reader: Reader, tree: ast.stmt, scope: Scope) -> None:
    """Nothing."""


def _return(reader: Reader, tree: ast.Return, scope: Scope) -> None:
    raise Left("return", None if tree.value is None else evaluate(reader, tree.value, scope))


def _break(reader: Reader, tree: ast.Break, scope: Scope) -> None:
    raise Left("break")


def _continue(reader: Reader, tree: ast.Continue, scope: Scope) -> None:
    raise Left("continue")


def _assign(reader: Reader, tree: ast.Assign, scope: Scope) -> None:
    value = evaluate(reader, tree.value, scope)
    for target in tree.targets:
        bind(reader, target, value, scope)


def _annotated(reader: Reader, tree: ast.AnnAssign, scope: Scope) -> None:
    if tree.value is not None:
        bind(reader, tree.target, evaluate(reader, tree.value, scope), scope)


def set_name(reader: Reader, name: str, value: object, scope: Scope) -> None:
    """Bind a variable where it lives."""
    if name in scope.nonlocals:
        place = scope.outer
        while place is not None and name not in place.local:
            place = place.outer
        if place is not None and place.outlives:
            reader.refuse(
                "outlives",
                f"{name} outlives the call and is changed by it",
                "use a variable of the function, and return it",
            )
        if place is None or reader.guarded:
            reader.unknown(f"a write to {name} outside of the function")
        place.names[name] = value
        return
    scope.names[name] = value


def bind(reader: Reader, target: ast.expr, value: object, scope: Scope) -> None:
    """target = value."""
    if isinstance(target, ast.Name):
        set_name(reader, target.id, value, scope)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(reader, target, value, scope)
    elif isinstance(target, ast.Subscript):
        owner = evaluate(reader, target.value, scope)
        key = evaluate(reader, target.slice, scope)
        arrays.set_item(reader, owner, key, value)
    elif isinstance(target, ast.Attribute):
        owner = evaluate(reader, target.value, scope)
        if not isinstance(owner, Instance) or owner.locked or reader.mapped:
            reader.refuse(
                "outlives",
                f"the attribute {target.attr} of something that outlives the call is written",
                "return the value instead",
            )
        attributes.set_attribute(reader, owner, target.attr, value)
    else:
        reader.unknown(f"an assignment to {ast.unparse(target)}")


def _unpack(reader: Reader, target: ast.Tuple | ast.List, value: object, scope: Scope) -> None:
    plain_names = not any(isinstance(each, ast.Starred) for each in target.elts)
    if isinstance(value, Opaque) and plain_names:
        parts = _opened(reader, value, len(target.elts))
    else:
        parts = iterated(reader, value)
    stars = [i for i, each in enumerate(target.elts) if isinstance(each, ast.Starred)]
    if stars:
        first, after = stars[0], len(target.elts) - stars[0] - 1
        if len(parts) < first + after:
            reader.refuse("failed", "not enough values to unpack", "fix the code")
        middle = parts[first : len(parts) - after]
        parts = [*parts[:first], middle, *parts[len(parts) - after :]]
    if len(parts) != len(target.elts):
        reader.refuse("failed", f"{len(parts)} values for {len(target.elts)} names", "fix the code")
    for each, part in zip(target.elts, parts, strict=True):
        bind(reader, each.value if isinstance(each, ast.Starred) else each, part, scope)


def _opened(reader: Reader, value: Opaque, many: int) -> list[object]:
    """The items of something released; whether there are so many is released, too."""
    return [
        released_call(reader, lambda held, i=i: _item(held, i, many), (value,)) for i in range(many)
    ]


def _item(held: Iterable[object], place: int, many: int) -> object:
    items = list(held)
    if len(items) != many:
        raise ValueError(f"{len(items)} values for {many} names")
    return items[place]


def _augmented(reader: Reader, tree: ast.AugAssign, scope: Scope) -> None:
    operator = BINARY[type(tree.op)]
    if isinstance(tree.target, ast.Name):
        name = ast.copy_location(ast.Name(tree.target.id, ast.Load()), tree)
        old = evaluate(reader, name, scope)
        new = evaluate(reader, tree.value, scope)
        if reader.mapped and records.accumulates(reader, tree, old, new, scope):
            return
        changed = arrays.in_place(reader, operator, old, new)
        set_name(reader, tree.target.id, changed, scope)
        return
    if isinstance(tree.target, ast.Subscript):
        owner = evaluate(reader, tree.target.value, scope)
        key = evaluate(reader, tree.target.slice, scope)
        if reader.mapped:
            new = evaluate(reader, tree.value, scope)
            if records.adds_to_entry(reader, tree, owner, key, new, scope):
                return
        old = arrays.get_item(reader, owner, key)
        new = evaluate(reader, tree.value, scope)
        if isinstance(old, Array) and isinstance(owner, list | dict):
            arrays.in_place(reader, operator, old, new)
            return
        arrays.set_item(reader, owner, key, binary(reader, operator, old, new))
        return
    if isinstance(tree.target, ast.Attribute):
        load = ast.copy_location(
            ast.Attribute(tree.target.value, tree.target.attr, ast.Load()), tree
        )
        old = evaluate(reader, load, scope)
        new = evaluate(reader, tree.value, scope)
        bind(reader, tree.target, arrays.in_place(reader, operator, old, new), scope)
        return
    reader.unknown("this assignment in place")


def _for(reader: Reader, tree: ast.For, scope: Scope) -> None:
    over = records.iterator(reader, tree.iter, scope)
    if records.is_records(reader, over):
        if tree.orelse:
            reader.unknown("a for loop with else over records")
        records.loop(reader, tree.target, over, tree.body, scope)
        return
    items = records.rounds(reader, over)
    if not _leaves(tree.body):
        for each in items:
            bind(reader, tree.target, each, scope)
            block(reader, tree.body, scope)
        block(reader, tree.orelse, scope)
        return
    with branches.Paths(reader, scope) as paths:
        alive = True
        for each in items:
            bind(reader, tree.target, each, scope)
            alive = branches.one_round(reader, tree.body, scope)
            if not alive:
                break
        _finish(reader, tree, paths, alive, scope)


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a body can be left before its end."""
    return any(
        isinstance(each, ast.Break | ast.Continue | ast.Return)
        for statement in body
        for each in ast.walk(statement)
    )


def _finish(
    reader: Reader, tree: ast.For | ast.While, paths: branches.Paths, alive: bool, scope: Scope
) -> None:
    """The loop ended, or was left: `else` is for those that were not."""
    if alive:
        try:
            block(reader, tree.orelse, scope)
        except Left as left:
            branches.register(reader, left, scope)
            alive = False
    if not paths.meet("break", alive)[0]:
        raise Left("gone")


def _while(reader: Reader, tree: ast.While, scope: Scope) -> None:
    with branches.Paths(reader, scope) as paths:
        alive, undecided = True, 0
        while alive:
            test = branches.settled(reader, evaluate(reader, tree.test, scope))
            if branches.decides(reader, test):
                undecided += 1
                if undecided > branches.MOST_ROUNDS or tree.orelse:
                    reader.refuse(
                        "released-path",
                        "how often a loop runs is decided by a released value alone",
                        "use `for _ in range(most):` with a public number of rounds, and break",
                    )
                branches.leave_unless(reader, test, scope)
            elif not truth(reader, test):
                break
            alive = branches.one_round(reader, tree.body, scope)
            reader.at(tree, scope)
        _finish(reader, tree, paths, alive, scope)


def _def(reader: Reader, tree: ast.FunctionDef, scope: Scope) -> None:
    if tree.decorator_list:
        reader.unknown("a decorated function inside of a function")
    scope.names[tree.name] = closure(reader, tree, scope, tree.name)


def closure(
    reader: Reader, tree: ast.FunctionDef | ast.Lambda, scope: Scope, name: str
) -> Function:
    """A function that is defined while reading."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Yield | ast.YieldFrom | ast.Await):
            reader.unknown("a generator function")
    defaults = tuple(evaluate(reader, each, scope) for each in tree.args.defaults)
    keywords = {
        arg.arg: evaluate(reader, each, scope)
        for arg, each in zip(tree.args.kwonlyargs, tree.args.kw_defaults, strict=True)
        if each is not None
    }
    return Function(name, tree, scope, scope.globals, scope.path, defaults, keywords)


def _nonlocal(reader: Reader, tree: ast.Nonlocal, scope: Scope) -> None:
    """Names of an outer scope; see `set_name`."""


def _assert(reader: Reader, tree: ast.Assert, scope: Scope) -> None:
    test = evaluate(reader, tree.test, scope)
    if isinstance(test, Value) and reader.public_value(test) is None:
        if reader.is_released(test):
            return  # whether it fails tells no more than what is released
        reader.refuse(
            "private-control",
            "an assert tells something of the data by failing",
            "check what is public, or leave it out",
        )
    if not truth(reader, test):
        reader.refuse("failed", "an assert fails for all data", "fix the code")


def _raise(reader: Reader, tree: ast.Raise, scope: Scope) -> None:
    what = "an error" if tree.exc is None else ast.unparse(tree.exc)[:60]
    if reader.guarded:
        reader.refuse(
            "released-path",
            f"{what} is raised where a released value, or a record, decides it",
            "return a value instead",
        )
    reader.refuse("failed", f"the function raises {what} for all data", "let it return an output")


def _module(reader: Reader, name: str) -> object:
    """A module, imported now as the function would."""
    if reader.guarded:
        reader.unknown(f"an import of {name} on one path only")
    return reader.attempt(lambda: import_module(name))


def _import(reader: Reader, tree: ast.Import, scope: Scope) -> None:
    for each in tree.names:
        found = _module(reader, each.name)
        top = each.name.partition(".")[0]
        scope.names[each.asname or top] = found if each.asname else _module(reader, top)


def _import_from(reader: Reader, tree: ast.ImportFrom, scope: Scope) -> None:
    if tree.level or not tree.module:
        reader.unknown("a relative import inside of the function")
    module = _module(reader, tree.module)
    for each in tree.names:
        if each.name == "*" or not hasattr(module, each.name):
            reader.refuse("failed", f"{tree.module} has no {each.name}", "fix the code")
        found = getattr(module, each.name)
        scope.names[each.asname or each.name] = reader.constant(found, each.name)


def _with(reader: Reader, tree: ast.With, scope: Scope) -> None:
    """np.errstate that ignores or warns: nobody hears it."""
    for each in tree.items:
        call = each.context_expr
        known = isinstance(call, ast.Call) and evaluate(reader, call.func, scope) is np.errstate
        if not isinstance(call, ast.Call) or not known or each.optional_vars or call.args:
            _caught(reader, "with")
        words = [evaluate(reader, keyword.value, scope) for keyword in call.keywords]
        if any(word not in ("ignore", "warn") for word in words):
            reader.refuse(
                "private-control",
                "np.errstate turns floating-point errors of private values into exceptions",
                "leave it at warn or ignore",
            )
    block(reader, tree.body, scope)


def _delete(reader: Reader, tree: ast.Delete, scope: Scope) -> None:
    for target in tree.targets:
        if isinstance(target, ast.Name) and target.id in scope.names and not reader.guarded:
            del scope.names[target.id]
        else:
            reader.unknown("this del")


STATEMENTS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Expr: _expr,
    ast.Pass: _pass,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    records.Anew: _augmented,
    ast.For: _for,
    ast.While: _while,
    ast.FunctionDef: _def,
    ast.Nonlocal: _nonlocal,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Delete: _delete,
    ast.With: _with,
}
