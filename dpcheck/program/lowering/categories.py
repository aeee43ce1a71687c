"""Categories of pandas: intervals, cross tables, groups by several columns. Imported where pandas is used."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dpcheck.program.facts.kinds import Rows
from dpcheck.program.graph import Node
from dpcheck.program.lowering.columns import binary, node_of, same_labels
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.expressions import iterated
from dpcheck.program.reading.public import public_call
from dpcheck.program.reading.values import BY_PLACE, Array, Counted, Series, Storage, Table

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def column(reader: Reader, value: object, what: str) -> Node:
    """A column of records, one value each."""
    node = node_of(reader, value)
    if not isinstance(node.fact, Rows) or node.ndim != 1:
        reader.unknown(f"{what} of something else than a column")
    return node


def labelled(reader: Reader, places: Node, labels: tuple[object, ...], like: object) -> Series:
    """A column of categories; a place that is none of theirs is missing."""
    if len(set(labels)) < len(labels):
        reader.unknown("categories with a label twice")
    found = Array(Storage(reader.graph.add("label", places, labels=labels)))
    if isinstance(like, Series):
        return Series(found, like.name, None, labels, like.index)
    return Series(found, None, None, labels, BY_PLACE)


@lower(pd.cut)
def cut(
    reader: Reader,
    x: object,
    bins: object,
    right: object = True,
    labels: object = None,
    include_lowest: object = False,
) -> object:
    """pd.cut with public edges: the interval of each record."""
    if reader.is_public([x, bins, right, labels, include_lowest]):
        reader.unknown("pd.cut of public values")
    node = column(reader, x, "pd.cut")
    if not isinstance(x, Series) or node.dtype.kind not in "if":
        reader.unknown("pd.cut of something else than a column of numbers")
    if (
        not reader.is_public([bins, right, labels, include_lowest])
        or np.ndim(
            reader.plain(bins)  # type: ignore[arg-type]
        )
        != 1
    ):
        reader.refuse(
            "private-control",
            "pd.cut with a number of bins puts them where the data are",
            "pass a list of edges: pd.cut(x, bins=[0, 18, 65, 120])",
        )
    edges = np.asarray(reader.plain(bins))
    options = {
        "right": bool(reader.plain(right)),
        "include_lowest": bool(reader.plain(include_lowest)),
    }
    names = reader.plain(labels)
    if names is False:
        reader.unknown("pd.cut with labels=False")
    found = reader.attempt(
        lambda: pd.cut(pd.Series([], dtype=float), edges, labels=names, **options).cat.categories
    )
    graph = reader.graph
    places = graph.add("digitize", node, edges=edges, right=options["right"])
    places = graph.add("subtract", places, graph.constant(1))
    if options["include_lowest"] and options["right"]:
        first = graph.add("equal", node, graph.constant(edges[0]))
        places = graph.add("select", first, graph.constant(0), places)
    return labelled(reader, places, tuple(found), x)  # type: ignore[arg-type]


@lower(pd.Categorical)
def categorical(
    reader: Reader, values: object, categories: object = None, ordered: object = None
) -> object:
    """pd.Categorical with public categories."""
    node = column(reader, values, "pd.Categorical")
    if categories is None or not reader.is_public([categories, ordered]):
        reader.refuse(
            "private-length",
            "the data decide which categories there are",
            "pass a public list: pd.Categorical(x, categories=[...])",
        )
    labels = tuple(iterated(reader, categories))
    known = node.fact.values if isinstance(node.fact, Rows) else None
    if known is None or not set(known) <= set(labels):
        reader.refuse(
            "private-control",
            "pd.Categorical may meet a value that is none of its categories, which warns now and raises "
            "in later versions of pandas",
            "list all values of the column, and describe it by dpcheck.one_of(...)",
        )
    return labelled(reader, reader.graph.add("place_of", node, categories=labels), labels, None)


@lower(pd.MultiIndex.from_product.__func__)
def from_product(reader: Reader, iterables: object, **named: object) -> object:
    """All pairs of public labels."""
    if not reader.is_public(iterables) or named.keys() - {"names"}:
        reader.unknown("pd.MultiIndex of these")
    return public_call(reader, _pairs, (iterables,), {})


def _pairs(iterables: list[list[object]]) -> list[object]:
    return list(pd.MultiIndex.from_product(iterables))


@lower(pd.crosstab)
def crosstab(reader: Reader, index: object, columns: object) -> Counted:
    """pd.crosstab: how often two columns have each pair of values."""
    keys = (column(reader, index, "pd.crosstab"), column(reader, columns, "pd.crosstab"))
    same_labels(reader, index, columns)
    if keys[0].fact.rows is not keys[1].fact.rows:  # type: ignore[attr-defined]
        reader.refuse(
            "mixed-records",
            "pd.crosstab of columns of different records",
            "take both columns from the same selection",
        )
    return Counted(keys, None, "size", table=True)


# Queries --------------------------------------------------------------------------------------------------

_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}


def query(reader: Reader, table: Table, text: object) -> object:
    """table.query("age > 50 and city == 'A'")."""
    from dpcheck.program.lowering.tables import get_item

    if not reader.is_public(text):
        reader.unknown("DataFrame.query of a text that is not public")
    # As pandas does: & and | bind as `and` and `or`.
    if re.search(r"""(['"])[^'"]*[&|@][^'"]*\1""", str(reader.plain(text))):
        reader.unknown("a query for a text with &, | or @")
    words = re.sub(r"@(\w+)", r"__at_\1", str(reader.plain(text)))
    plain = words.replace("&", " and ").replace("|", " or ").strip()
    tree = reader.attempt(lambda: ast.parse(plain, mode="eval").body)
    assert isinstance(tree, ast.expr)
    return get_item(reader, table, _term(reader, table, tree))


def _term(reader: Reader, table: Table, tree: ast.expr) -> object:
    if isinstance(tree, ast.BoolOp):
        found = _term(reader, table, tree.values[0])
        for each in tree.values[1:]:
            name = "bitwise_and" if isinstance(tree.op, ast.And) else "bitwise_or"
            found = binary(reader, name, found, _term(reader, table, each))
        return found
    if isinstance(tree, ast.Compare):
        terms = [_term(reader, table, part) for part in (tree.left, *tree.comparators)]
        kinds = [_COMPARE.get(type(op)) for op in tree.ops]
        tests = [
            binary(reader, kind, one, other) if kind is not None else _unknown(reader)
            for kind, one, other in zip(kinds, terms[:-1], terms[1:], strict=True)
        ]
        found = tests[0]
        for test in tests[1:]:
            found = binary(reader, "bitwise_and", found, test)
        return found
    if isinstance(tree, ast.Constant) and type(tree.value) in (int, float, str):
        return tree.value
    if isinstance(tree, ast.Name) and tree.id.startswith("__at_"):
        value = reader.scopes[-1].names.get(tree.id.removeprefix("__at_"))
        return value if type(value) in (int, float, str) else _unknown(reader)
    if isinstance(tree, ast.Name) and tree.id in table.columns:
        return get_column(reader, table, tree.id)
    return _unknown(reader)


def get_column(reader: Reader, table: Table, name: str) -> object:
    """A column of the table."""
    from dpcheck.program.lowering.tables import get_item

    return get_item(reader, table, name)


def _unknown(reader: Reader) -> object:
    return reader.unknown("a query of more than comparisons of columns with numbers and texts")
