"""Branches that a released value, a draw or a record decides: both sides are read, and joined."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from dpcheck.program.facts.kinds import RANDOM, Public, Released
from dpcheck.program.graph import Node
from dpcheck.program.reading.values import Array, Opaque, Scalar, Scope, Series, Value

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader
    from dpcheck.program.reading.statements import Left


def decides(reader: Reader, test: object) -> bool:
    """Whether a truth value is no public one."""
    return isinstance(test, Value) and reader.public_value(test) is None


def is_truth(reader: Reader, value: object) -> bool:
    """Whether it is True or False, and nothing else."""
    if isinstance(value, Scalar):
        return value.node.dtype.kind == "b"
    return type(value) is bool or isinstance(value, np.bool_ | Opaque)


def refuse_branch(reader: Reader, test: object) -> NoReturn:
    """A branch that nobody may take."""
    if isinstance(test, Array | Scalar | Opaque | Series):
        fact = reader.node(test).fact
        if isinstance(fact, RANDOM):
            reader.refuse(
                "random-path",
                "a random number decides what happens",
                "use np.where, or decide by something public",
            )
        if isinstance(fact, Released):
            reader.refuse(
                "released-path",
                "a released value decides what is computed next in a way that is not followed",
                "use np.where, or decorate the function with @dpcheck.enforced",
            )
    reader.refuse(
        "private-control",
        f"{reader.describe(test)} decides a branch",
        "add noise to it first, or use np.where",
    )


def _released(reader: Reader, test: object) -> bool:
    return isinstance(test, Scalar | Opaque) and isinstance(reader.node(test).fact, Released)


def _of_a_record(reader: Reader, test: object) -> bool:
    """Whether the record that is looped over decides."""
    from dpcheck.program.facts.kinds import Aggregate

    if not reader.mapped or not isinstance(test, Scalar):
        return False
    return isinstance(test.node.fact, Aggregate) and test.node.dtype.kind == "b"


def chosen(reader: Reader, test: object, tree: ast.IfExp, scope: Scope) -> object:
    """body if test else orelse."""
    from dpcheck.program.reading.expressions import check_names, evaluate

    if not _released(reader, test) and not _of_a_record(reader, test):
        refuse_branch(reader, test)
    check_names(reader, tree.body, tree.orelse)
    before = scope.names
    found = []
    for side, answer in ((tree.body, True), (tree.orelse, False)):
        with Guard(reader, test, answer):
            scope.names = dict(before)
            if _of_a_record(reader, test):
                assumed(reader, reader.node(test), scope.names, answer)
            found.append(evaluate(reader, side, scope))
    scope.names = before
    return joined(reader, test, found[0], found[1])


class Guard:
    """One side of a branch: nothing that was there before may be written, for it may not happen.

    Draws and releases are made where a released value decides, and counted as if they always were: dropping
    a release costs nothing. Where a record decides there must be none.
    """

    def __init__(self, reader: Reader, test: object, answer: bool) -> None:
        self.reader = reader
        self.released = _released(reader, test)
        self.side = (reader.node(test), answer)

    def __enter__(self) -> None:
        graph = self.reader.graph
        self.reader.guarded += 1
        self.before = (len(graph.releases), graph._next_draw)
        if self.released:
            graph.guards.append(self.side)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        graph = self.reader.graph
        self.reader.guarded -= 1
        if self.released:
            graph.guards.pop()
        elif kind is None and (len(graph.releases), graph._next_draw) != self.before:
            self.reader.refuse(
                "private-control",
                "whether something is drawn or released is decided by a record",
                "release it for all records, after the loop",
            )


def conditional(reader: Reader, tree: ast.If, scope: Scope, rest: list[ast.stmt]) -> bool:
    """An if statement; whether the rest of the block was read with it."""
    from dpcheck.program.reading.expressions import evaluate, truth
    from dpcheck.program.reading.statements import block

    test = evaluate(reader, tree.test, scope)
    if not decides(reader, test):
        block(reader, tree.body if truth(reader, test) else tree.orelse, scope)
        return False
    return branch(reader, test, tree, scope, rest)


def branch(reader: Reader, test: object, tree: ast.If, scope: Scope, rest: list[ast.stmt]) -> bool:
    """Both sides are read, then every variable is one of two."""
    by_record = _of_a_record(reader, test)
    if not _released(reader, test) and not by_record:
        refuse_branch(reader, test)
    before = dict(scope.names)
    ends = [
        _side(reader, test, body, scope, before, answer)
        for body, answer in ((tree.body, True), (tree.orelse, False))
    ]
    (first, left_first), (second, left_second) = ends
    if left_first is None and left_second is None:
        scope.names = _both(reader, test, before, first, second)
        return False
    if by_record:
        _skip(reader, test, ends, scope)
        return False
    _leave(reader, test, ends, scope, rest)
    return True


def _side(
    reader: Reader,
    test: object,
    body: list[ast.stmt],
    scope: Scope,
    before: dict[str, object],
    answer: bool,
) -> tuple[dict[str, object], Left | None]:
    """One side: its variables, and how it was left."""
    from dpcheck.program.reading.statements import Left, block

    scope.names = dict(before)
    by_record = _of_a_record(reader, test)
    tests = reader.mapped[-1].tests if by_record else []  # type: ignore[attr-defined]
    if by_record:
        tests.append((reader.node(test), answer))
        assumed(reader, reader.node(test), scope.names, answer)
    left = None
    with Guard(reader, test, answer):
        try:
            block(reader, body, scope)
        except Left as how:
            left = how
    if by_record:
        tests.pop()
    return scope.names, left


def _both(
    reader: Reader,
    test: object,
    before: dict[str, object],
    first: dict[str, object],
    second: dict[str, object],
) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in {**first, **second}:
        if name not in first or name not in second:
            continue
        if _unchanged(before.get(name), first[name], second[name]):
            found[name] = before[name]
        else:
            found[name] = joined(reader, test, first[name], second[name])
    return found


def _skip(
    reader: Reader, test: object, ends: list[tuple[dict[str, object], Left | None]], scope: Scope
) -> None:
    """`continue` for some records: the rest of the body is for the others."""
    from dpcheck.program.reading.statements import Left

    skipped = [left is not None and left.how == "continue" for _, left in ends]
    other = [left for (_, left), gone in zip(ends, skipped, strict=True) if not gone]
    if all(skipped):
        raise Left("continue")
    if not any(skipped) or any(left is not None for left in other):
        reader.refuse(
            "private-control",
            "a loop over records is left early, which tells of a record",
            "let the loop run to its end",
        )
    reader.mapped[-1].tests.append((reader.node(test), not skipped[0]))  # type: ignore[attr-defined]
    scope.names = ends[1][0] if skipped[0] else ends[0][0]


def assumed(reader: Reader, test: Node, names: dict[str, object], answer: bool) -> None:
    """On one side of a comparison, the variable that was compared is known better."""
    from dpcheck.program.rules.functions import COMPARISONS

    if test.primitive not in COMPARISONS or test.primitive in ("equal", "not_equal"):
        return
    left, right = test.args
    for mine, other in ((left, right), (right, left)):
        if isinstance(other.fact, Public) and not other.ndim and not isinstance(mine.fact, Public):
            name = test.primitive if mine is left else _MIRRORED[test.primitive]
            value = float(np.asarray(other.fact.value))
            found = reader.graph.add("assume", mine, comparison=name, limit=value, answer=answer)
            for key, held in names.items():
                if isinstance(held, Scalar) and held.node is mine:
                    names[key] = Scalar(found)


_MIRRORED = {
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
}


def _leave(
    reader: Reader,
    test: object,
    ends: list[tuple[dict[str, object], Left | None]],
    scope: Scope,
    rest: list[ast.stmt],
) -> None:
    """A side returns: the rest of the block belongs to the other one."""
    from dpcheck.program.reading.statements import Left, block

    values = []
    for (names, left), answer in zip(ends, (True, False), strict=True):
        found = left
        if found is None:
            scope.names = names
            with Guard(reader, test, answer):
                try:
                    block(reader, rest, scope)
                except Left as how:
                    found = how
        if found is None or found.how != "return":
            reader.refuse(
                "released-path",
                "the function is left early where a released value decides it",
                "return on both sides of the branch",
            )
        values.append(found.value)
    raise Left("return", joined(reader, test, values[0], values[1]))


def joined(reader: Reader, test: object, first: object, second: object) -> object:
    """A value that is one of two."""
    if first is second:
        return first
    if (
        type(first) is type(second)
        and not isinstance(first, Value)
        and _same(reader, first, second)
    ):
        return first
    if type(first) in (list, tuple) and type(first) is type(second) and len(first) == len(second):  # type: ignore[arg-type]
        parts = [joined(reader, test, a, b) for a, b in zip(first, second, strict=True)]  # type: ignore[call-overload]
        return type(first)(parts)  # type: ignore[call-arg]
    if isinstance(test, Scalar) and _numeric(first) and _numeric(second):
        from dpcheck.program.lowering.functions import where

        a, b = reader.node(first), reader.node(second)
        if a.shape == b.shape and a.dtype.kind in "biuf" and b.dtype.kind in "biuf":
            return reader.array(where(reader, test.node, a, b))
    from dpcheck.program.reading.public import either

    if reader.is_released(test) and reader.is_released(first) and reader.is_released(second):
        return either(reader, test, first, second)
    reader.unknown("a variable that is one of two kinds of things")


def _unchanged(before: object, *after: object) -> bool:
    """Whether a variable is what it was, but for what each side assumes of it."""
    if not isinstance(before, Scalar):
        return False
    return all(
        isinstance(each, Scalar)
        and (
            each is before or (each.node.primitive == "assume" and each.node.args[0] is before.node)
        )
        for each in after
    )


def _numeric(value: object) -> bool:
    return isinstance(value, Scalar | Array) or (
        type(value) in (bool, int, float) or isinstance(value, np.generic)
    )


def _same(reader: Reader, first: object, second: object) -> bool:
    if not reader.is_public(first) or not reader.is_public(second):
        return False
    try:
        return bool(np.all(reader.plain(first) == reader.plain(second)))
    except Exception:
        return False


def repeated(reader: Reader, tree: ast.For, over: object, scope: Scope) -> bool:
    """A loop of many equal rounds, read once: see `scans`."""
    from dpcheck.program.reading.scans import scan

    return scan(reader, tree, over, scope)
