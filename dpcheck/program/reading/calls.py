"""Calls: functions of the user's are read, functions of libraries are lowered or called on public values."""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import math
import types
from collections.abc import Callable
from typing import TYPE_CHECKING

from dpcheck.core.errors import DpcheckError
from dpcheck.program.reading import named as named_tuples
from dpcheck.program.reading.values import (
    Bound,
    Function,
    Instance,
    Iterator,
    LibraryCall,
    Mechanism,
    Method,
    Partial,
    Scope,
    Value,
)
from dpcheck.replay.draws import is_users

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

Args = tuple[object, ...]
Named = dict[str, object]


def call(reader: Reader, function: object, args: Args, named: Named) -> object:
    """function(*args, **named)."""
    from dpcheck.program.lowering import library
    from dpcheck.program.lowering.registry import lowered

    if isinstance(function, Function):
        return read_call(reader, function, args, named)
    if isinstance(function, Bound):
        return read_call(reader, function.function, (*function.first, *args), named)
    if isinstance(function, LibraryCall):
        return lowered_call(reader, function.function, (function.owner, *args), named)
    if isinstance(function, Method):
        return library.method(reader, function.owner, function.name, args, named)
    if isinstance(function, Partial):
        return call(reader, function.function, (*function.args, *args), {**function.named, **named})
    if isinstance(function, Instance):
        made = _special(reader, function, "__call__")
        return read_call(reader, made.function, (*made.first, *args), named)
    if isinstance(function, Mechanism) and function.library == "OpenDP":
        from dpcheck.program.lowering.mechanisms import noisy

        return lowered_call(reader, noisy, (function, *args), named)
    if isinstance(function, Value):
        reader.unknown(f"a call of {reader.describe(function)}")
    args = _items_of(reader, function, args)
    known = lowered(function) or _of_class(function)
    if known is not None:
        return lowered_call(reader, known, args, named)
    if isinstance(function, types.FunctionType) and is_users(function.__code__.co_filename):
        return read_call(reader, _read(reader, function), args, named)
    if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
        owner = reader.constant(function.__self__, "self")
        return read_call(reader, _read(reader, function.__func__), (owner, *args), named)
    if isinstance(function, type):
        return _instance(reader, function, args, named)
    if isinstance(function, functools._lru_cache_wrapper):
        return _cached(reader, function.__wrapped__, args, named)
    return library.call(reader, function, args, named)


def _of_class(function: object) -> Callable[..., object] | None:
    """dict.fromkeys and class methods of libraries: another object whenever they are named."""
    from dpcheck.program.lowering.python import from_keys
    from dpcheck.program.lowering.registry import lowered

    owner = getattr(function, "__self__", None)
    if not isinstance(owner, type):
        return None
    if isinstance(function, types.BuiltinMethodType):
        return from_keys if owner is dict and function.__name__ == "fromkeys" else None
    return lowered(function.__func__) if isinstance(function, types.MethodType) else None


_CONSUMING = frozenset(
    id(each)
    for each in (
        *(sum, list, tuple, set, frozenset, dict, sorted, max, min, any, all, zip, enumerate, map),
        *(math.fsum, functools.reduce, filter),
        *(itertools.chain, itertools.product, itertools.combinations, itertools.permutations),
    )
)


def _items_of(reader: Reader, function: object, args: Args) -> Args:
    """Iterators as lists, for functions of Python that take their items and nothing else."""
    from dpcheck.program.reading.expressions import iterated, opened

    if id(function) not in _CONSUMING:
        return args
    args = tuple(opened(reader, each) for each in args)
    return tuple(iterated(reader, each) if isinstance(each, Iterator) else each for each in args)


def lowered_call(
    reader: Reader, handler: Callable[..., object], args: Args, named: Named
) -> object:
    """A lowering; one that does not know an option refuses it by name."""
    try:
        return handler(reader, *args, **named)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        if isinstance(error, DpcheckError):
            raise
        options = ", ".join(named) or f"{len(args)} arguments"
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            options += f" of these kinds ({error})"
        reader.refuse(
            "unknown-operation",
            f"a function of a library is not followed with {options}",
            "leave them out, or write it with other operations",
        )


def _cached(reader: Reader, function: object, args: Args, named: Named) -> object:
    """A cached function is what it computes, as long as it draws nothing: noise would be used again."""
    before = reader.graph._next_draw
    found = call(reader, function, args, named)
    if reader.graph._next_draw != before or not (
        reader.is_public(list(args)) and reader.is_public(named)
    ):
        reader.refuse(
            "known-noise",
            "a cached function draws random numbers, or keeps private values after the call",
            "leave the cache out",
        )
    return found


def _read(reader: Reader, function: types.FunctionType) -> Function:
    """A plain function; one that wraps another is read as what it is."""
    return reader.function(function)


def _special(reader: Reader, owner: Instance, name: str) -> Bound:
    found = next((vars(kind)[name] for kind in owner.kind.__mro__ if name in vars(kind)), None)
    if not isinstance(found, types.FunctionType):
        reader.unknown(f"a call of a {owner.kind.__name__}")
    return Bound(reader.function(found), (owner,))


def _instance(reader: Reader, kind: type, args: Args, named: Named) -> object:
    """An object of a class of the user's."""
    from dpcheck.program.lowering import library
    from dpcheck.program.reading.constants import _is_users

    if named_tuples.is_named(kind):
        return named_tuples.made(reader, kind, args, named)
    if not _is_users(kind) or type(kind) is not type or "__new__" in vars(kind):
        return library.call(reader, kind, args, named)
    made = Instance(kind, {})
    first = vars(kind).get("__init__")
    if dataclasses.is_dataclass(kind) and not _is_written(first):
        _fields(reader, kind, made, args, named)
    elif isinstance(first, types.FunctionType):
        read_call(reader, reader.function(first), (made, *args), named)
    elif args or named:
        reader.refuse("failed", f"{kind.__name__} takes no arguments", "fix the code")
    return made


def _is_written(initialiser: object) -> bool:
    """Whether somebody wrote this `__init__`; the one that `dataclass` makes is a text of its own."""
    if not isinstance(initialiser, types.FunctionType):
        return False
    code = initialiser.__code__
    return code.co_filename != "<string>" or code.co_firstlineno > 2


def _fields(reader: Reader, kind: type, made: Instance, args: Args, named: Named) -> None:
    """The attributes of a plain dataclass."""
    fields = [each for each in dataclasses.fields(kind) if each.init]
    places = [each.name for each in fields if not each.kw_only]
    special = {"__post_init__", "__setattr__"} & vars(kind).keys() and not _is_frozen(kind)
    if special or "__post_init__" in vars(kind) or len(args) > len(places):
        reader.unknown(f"the dataclass {kind.__name__}")
    given = dict(zip(places, args, strict=False)) | named
    for each in fields:
        if each.name in given:
            made.attributes[each.name] = given.pop(each.name)
        elif each.default is not dataclasses.MISSING:
            made.attributes[each.name] = reader.constant(each.default, each.name)
        else:
            reader.unknown(f"the dataclass {kind.__name__} without {each.name}")
    if given:
        reader.refuse("failed", f"{kind.__name__} has no {', '.join(given)}", "fix the code")


def _is_frozen(kind: type) -> bool:
    return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]


def read_call(reader: Reader, function: Function, args: Args, named: Named) -> object:
    """Read the body of a function with these arguments."""
    from dpcheck.program.reading.branches import Paths, register
    from dpcheck.program.reading.expressions import evaluate
    from dpcheck.program.reading.reader import DEEPEST
    from dpcheck.program.reading.statements import Left, block

    if reader.depth > DEEPEST:
        reader.refuse("too-long", "functions call each other too deeply", "use a loop")
    scope = Scope(
        bound(reader, function, args, named),
        function.scope,
        function.globals,
        local_names(function.tree),
        function.path,
        _nonlocals(function.tree),
    )
    line = reader.graph.line
    reader.depth += 1
    reader.scopes.append(scope)
    try:
        if isinstance(function.tree, ast.Lambda):
            return evaluate(reader, function.tree.body, scope)
        for each in ast.walk(function.tree):
            if isinstance(each, ast.Yield | ast.YieldFrom | ast.Await | ast.Global):
                reader.unknown("a function with yield, await or global")
        with Paths(reader, scope) as paths:
            alive = True
            try:
                block(reader, function.tree.body, scope)
            except Left as left:
                register(reader, left, scope)
                alive = False
            return paths.meet("return", alive)[1]
    finally:
        reader.scopes.pop()
        reader.depth -= 1
        if reader.depth:
            reader.graph.line = line


def bound(reader: Reader, function: Function, args: Args, named: Named) -> dict[str, object]:
    """Arguments by the names of parameters, as Python binds them."""
    spec = function.tree.args
    places = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    found: dict[str, object] = dict(zip(places, args, strict=False))
    rest = args[len(places) :]
    left = dict(named)
    if spec.vararg is not None:
        found[spec.vararg.arg] = tuple(rest)
    elif rest:
        reader.refuse("failed", f"{function.name} gets too many arguments", "fix the code")
    only = {arg.arg for arg in spec.posonlyargs}
    for name in (*places, *(arg.arg for arg in spec.kwonlyargs)):
        if name in left and name not in only:
            if name in found:
                reader.refuse("failed", f"{function.name} gets {name} twice", "fix the code")
            found[name] = left.pop(name)
    first = len(places) - len(function.defaults)
    for name, value in zip(places[first:], function.defaults, strict=True):
        found.setdefault(name, value)
    for name, value in function.keyword_defaults.items():
        found.setdefault(name, value)
    if spec.kwarg is not None:
        found[spec.kwarg.arg] = left
    elif left:
        reader.refuse("failed", f"{function.name} has no {', '.join(left)}", "fix the code")
    missing = [n for n in (*places, *(a.arg for a in spec.kwonlyargs)) if n not in found]
    if missing:
        reader.refuse("failed", f"{function.name} misses {', '.join(missing)}", "fix the code")
    return found


def local_names(tree: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that are variables of the function."""
    spec = tree.args
    found = {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
    found |= {arg.arg for arg in (spec.vararg, spec.kwarg) if arg is not None}
    if isinstance(tree, ast.FunctionDef):
        _stored(tree.body, found)
    return frozenset(found)


def _stored(body: list[ast.stmt], found: set[str]) -> None:
    waiting: list[ast.AST] = list(body)
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found.add(each.name)
            continue
        if isinstance(
            each, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        ):
            found |= {n.target.id for n in ast.walk(each) if isinstance(n, ast.NamedExpr)}
            continue
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store | ast.Del):
            found.add(each.id)
        if isinstance(each, ast.Import | ast.ImportFrom):
            found |= {(n.asname or n.name.partition(".")[0]) for n in each.names}
        waiting.extend(ast.iter_child_nodes(each))


def _nonlocals(tree: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    if isinstance(tree, ast.Lambda):
        return frozenset()
    return frozenset(
        name for each in tree.body if isinstance(each, ast.Nonlocal) for name in each.names
    )
