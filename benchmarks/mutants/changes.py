"""Small changes of a source file, each of which could make a proof smaller."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_METHODS = {"plus": "either", "stacked": "either", "either": "plus"}  # of sizes
_DROPPED = frozenset({"with_zero", "repeated", "scaled", "hull", "over"})  # x.method(...) becomes x
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_CALLS |= {"minimum": "maximum", "maximum": "minimum", "hypot": "maximum"}
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, and what it is in words."""

    line: int
    what: str
    number: int  # of the node, in the order of a walk
    place: int  # of the change, among those of the node

    @property
    def name(self) -> str:
        """Line and change, which tell it from most others of the file."""
        return f"{self.line}: {self.what}"

    def source(self, text: str) -> str:
        """The whole changed source."""
        tree = ast.parse(text)
        node = next(each for i, each in enumerate(ast.walk(tree)) if i == self.number)
        _, change = list(_changes(node))[self.place]
        made = change(node)
        changed = _Replace(node, made).visit(tree) if made is not node else tree
        return ast.unparse(ast.fix_missing_locations(changed))


def mutants(text: str) -> list[Mutant]:
    """All of them, in the order of the file."""
    found = [
        Mutant(getattr(node, "lineno", 0), what, number, place)
        for number, node in enumerate(ast.walk(ast.parse(text)))
        for place, (what, _) in enumerate(_changes(node))
    ]
    return sorted(found, key=lambda each: (each.line, each.what, each.number))


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


Change = tuple[str, Callable[[ast.AST], ast.AST]]


def _changes(node: ast.AST) -> Iterator[Change]:
    shown = ast.unparse(node)[:50].replace("\n", " ") if isinstance(node, ast.expr) else ""
    if isinstance(node, ast.Call):
        yield from _of_call(node, shown)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = _COMPARISONS.get(type(node.ops[0]))
        if other is not None:
            yield f"{shown}: {other.__name__}", lambda n: _set(n, ops=[other()])
    elif isinstance(node, ast.BoolOp):
        for i in range(len(node.values)):
            yield (
                f"{shown}: without part {i}",
                lambda n, i=i: _without(n, i),
            )
    elif isinstance(node, ast.BinOp) and isinstance(
        node.op, ast.Add | ast.Mult | ast.Div | ast.Sub | ast.Pow
    ):
        yield f"{shown}: left only", lambda n: n.left
        if isinstance(node.op, ast.Add | ast.Mult):
            yield f"{shown}: right only", lambda n: n.right
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"{shown}: without not", lambda n: n.operand
    elif isinstance(node, ast.IfExp):
        yield f"{shown}: always", lambda n: n.body
        yield f"{shown}: never", lambda n: n.orelse
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node)
    elif isinstance(node, ast.If):
        test = ast.unparse(node.test)[:50]
        yield f"if {test}: never", lambda n: _set(n, test=ast.Constant(False))
        yield f"if {test}: always", lambda n: _set(n, test=ast.Constant(True))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield f"{ast.unparse(node)[:50]}: left out", lambda _: ast.Pass()
    elif isinstance(node, ast.Name) and node.id == "UNBOUNDED" and isinstance(node.ctx, ast.Load):
        yield "UNBOUNDED: nothing", lambda _: ast.parse("Size(np.asarray(0.0))", mode="eval").body


def _of_call(node: ast.Call, shown: str) -> Iterator[Change]:
    function = node.func
    if isinstance(function, ast.Attribute):
        if function.attr in _METHODS:
            other = _METHODS[function.attr]
            keep = 1 if other == "either" else None
            yield (
                f"{shown}: {other}",
                lambda n: _set(
                    n, func=_set(n.func, attr=other), args=n.args[:keep] if keep else n.args
                ),
            )
        if function.attr in _DROPPED:
            yield f"{shown}: without {function.attr}", lambda n: n.func.value
        if function.attr in _CALLS:
            other = _CALLS[function.attr]
            yield f"{shown}: {other}", lambda n: _set(n, func=_set(n.func, attr=other))
    if isinstance(function, ast.Name):
        if function.id in _CALLS:
            other = _CALLS[function.id]
            yield f"{shown}: {other}", lambda n: _set(n, func=_set(n.func, id=other))
        if function.id in ("changed_only", "together"):
            yield f"{shown}: the argument", lambda n: n.args[0]
        if function.id == "Box" and len(node.args) > 2:
            yield f"{shown}: never NaN", lambda n: _set(n, args=[*n.args[:2], *n.args[3:]])
    for i, keyword in enumerate(node.keywords):
        if keyword.arg in ("coins", "optional", "sampling", "predicate", "records", "zero_null"):
            yield (
                f"{shown}: without {keyword.arg}=",
                lambda n, i=i: _set(n, keywords=[k for j, k in enumerate(n.keywords) if j != i]),
            )


def _of_constant(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if type(value) is bool:
        yield f"{value}: {not value}", lambda n: _set(n, value=not n.value)
    elif type(value) in (int, float) and value != 0:
        yield f"{value}: {value - 1}", lambda n: _set(n, value=n.value - 1)
    elif type(value) in (int, float):
        yield f"{value}: {value + 1}", lambda n: _set(n, value=n.value + 1)


def _set(node: ast.AST, **changes: object) -> ast.AST:
    for name, value in changes.items():
        setattr(node, name, value)
    return node


def _without(node: ast.BoolOp, place: int) -> ast.AST:
    left = [each for i, each in enumerate(node.values) if i != place]
    return left[0] if len(left) == 1 else _set(node, values=left)
