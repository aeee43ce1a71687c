"""Products of matrices, norms, einsum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Aggregate, Drawn, Public, Rows
from dpcheck.program.facts.rowsets import RowSet, same
from dpcheck.program.graph import Node
from dpcheck.program.lowering.functions import apply
from dpcheck.program.lowering.reductions import NO, axes_of, kept, operand, summed
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.public import public_call, released_call
from dpcheck.program.reading.values import Opaque, Series, Table
from dpcheck.program.rules.common import whole

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def product(reader: Reader, a: Node, b: Node, terms: tuple[str, str, str]) -> Node:
    """A sum of products; rows meet aggregates as a whole."""
    graph = reader.graph
    if any(node.dtype.kind not in "biuf" for node in (a, b)):
        reader.unknown("a product of text")
    if any(isinstance(node.fact, Aggregate) for node in (a, b)):
        a, b = whole(graph, a), whole(graph, b)
    lengths: dict[str, object] = {}
    for term, node in zip(terms[:2], (a, b), strict=True):
        for letter, n in zip(term, node.shape, strict=True):
            if letter in lengths and not same(lengths[letter], n):  # type: ignore[arg-type]
                reader.refuse("failed", "the shapes of a product do not fit", "fix the code")
            if letter not in lengths or isinstance(n, RowSet):
                lengths[letter] = n
    rows = [node for node in (a, b) if isinstance(node.fact, Rows)]
    if len(rows) == 1 and not isinstance(rows[0].fact, Aggregate):
        other = b if rows[0] is a else a
        term, rest = (terms[0], terms[1]) if rows[0] is a else (terms[1], terms[0])
        fact = rows[0].fact
        assert isinstance(fact, Rows)
        letter = term[fact.axis]
        if letter in rest and isinstance(other.fact, Public):
            reader.refuse(
                "mixed-records",
                "records are weighted by their place",
                "use weights that depend on the record itself",
            )
    if any(isinstance(each.fact, Rows) for each in (a, b)):
        # Random weights of rows are no noise: they are public from now on.
        a, b = (
            graph.add("apply_draw", each) if isinstance(each.fact, Drawn) else each
            for each in (a, b)
        )
    turned = a.primitive == "transpose" and a.params["order"] == (1, 0) and a.args[0] is b
    if turned and isinstance(b.fact, Rows):
        a, terms = b, (terms[0][::-1], *terms[1:])  # x.T @ x: of one and the same table
    return graph.add("product", a, b, terms=terms)


def matmul(reader: Reader, a: object, b: object) -> object:
    """a @ b."""
    if any(isinstance(each, Opaque) for each in (a, b)):
        return released_call(reader, np.matmul, (a, b))
    one, two = (_operand(reader, each) for each in (a, b))
    terms = {
        (1, 1): ("i", "i", ""),
        (2, 1): ("ij", "j", "i"),
        (1, 2): ("i", "ij", "j"),
        (2, 2): ("ij", "jk", "ik"),
    }.get((one.ndim, two.ndim))
    if terms is None:
        reader.unknown("a product of arrays of more than two axes")
    return reader.array(product(reader, one, two, terms))


def _operand(reader: Reader, a: object) -> Node:
    if isinstance(a, Table):
        from dpcheck.program.lowering.tables import to_numpy

        a = to_numpy(reader, a)
    if isinstance(a, Series):
        a = a.array
    return reader.node(a)


@lower(np.matmul)
def np_matmul(reader: Reader, a: object, b: object) -> object:
    """np.matmul."""
    if reader.is_public([a, b]):
        return public_call(reader, np.matmul, (a, b), {})
    return matmul(reader, a, b)


@lower(np.dot, methods=("dot",))
def dot(reader: Reader, a: object, b: object) -> object:
    """np.dot: as matmul, and with a number the product."""
    if reader.is_public([a, b]):
        return public_call(reader, np.dot, (a, b), {})
    if not isinstance(a, Opaque) and not isinstance(b, Opaque):
        one, two = (_operand(reader, each) for each in (a, b))
        if not one.ndim or not two.ndim:
            return reader.array(apply(reader, "multiply", one, two))
    return matmul(reader, a, b)


@lower(np.inner, np.vdot)
def inner(reader: Reader, a: object, b: object) -> object:
    """The product of two vectors."""
    if reader.is_public([a, b]):
        return public_call(reader, np.inner, (a, b), {})
    one, two = (_operand(reader, each) for each in (a, b))
    if (one.ndim, two.ndim) != (1, 1):
        reader.unknown("np.inner of anything but two vectors")
    return reader.array(product(reader, one, two, ("i", "i", "")))


@lower(np.outer)
def outer(reader: Reader, a: object, b: object) -> object:
    """All products of two vectors."""
    if reader.is_public([a, b]):
        return public_call(reader, np.outer, (a, b), {})
    one, two = (_operand(reader, each) for each in (a, b))
    if (one.ndim, two.ndim) != (1, 1):
        reader.unknown("np.outer of anything but two vectors")
    return reader.array(product(reader, one, two, ("i", "j", "ij")))


@lower(np.einsum)
def einsum(reader: Reader, spelled: object, *operands: object, **named: object) -> object:
    """np.einsum of one or two operands."""
    if reader.is_public([spelled, *operands]):
        return public_call(reader, np.einsum, (spelled, *operands), named)
    text = reader.plain(spelled)
    if named or not isinstance(text, str) or "." in text or "->" not in text:
        reader.unknown("this np.einsum")
    inputs, _, out = text.replace(" ", "").partition("->")
    terms = inputs.split(",")
    nodes = [_operand(reader, each) for each in operands]
    wrong = any(
        len(set(t)) < len(t) or len(t) != n.ndim for t, n in zip(terms, nodes, strict=False)
    )
    if len(terms) != len(nodes) or len(nodes) > 2 or wrong or len(set(out)) < len(out):
        reader.unknown("this np.einsum")
    if len(nodes) == 2:
        return reader.array(product(reader, nodes[0], nodes[1], (terms[0], terms[1], out)))
    node, term = nodes[0], terms[0]
    drop = tuple(i for i, letter in enumerate(term) if letter not in out)
    left = [letter for letter in term if letter in out]
    found = summed(reader, node, drop, node.dtype) if drop else node
    order = tuple(left.index(letter) for letter in out)
    if order != tuple(range(len(order))):
        found = reader.graph.add("transpose", found, order=order)
    return reader.array(found)


@lower(np.tensordot)
def tensordot(reader: Reader, a: object, b: object, axes: object = 2) -> object:
    """np.tensordot along one axis of each."""
    if reader.is_public([a, b, axes]):
        return public_call(reader, np.tensordot, (a, b, axes), {})
    one, two = (_operand(reader, each) for each in (a, b))
    plain = reader.plain(axes)
    if isinstance(plain, int):
        pairs = [(one.ndim - plain + i, i) for i in range(plain)]
    else:
        first, second = ([each] if isinstance(each, int) else list(each) for each in plain)  # type: ignore[attr-defined]
        pairs = [(i % one.ndim, j % two.ndim) for i, j in zip(first, second, strict=True)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    left = list(letters[: one.ndim])
    right = list(letters[one.ndim : one.ndim + two.ndim])
    for i, j in pairs:
        right[j] = left[i]
    shared = {left[i] for i, _ in pairs}
    out = "".join(c for c in (*left, *right) if c not in shared)
    return reader.array(product(reader, one, two, ("".join(left), "".join(right), out)))


@lower(np.linalg.norm)
def norm(
    reader: Reader,
    x: object,
    ord: object = None,  # noqa: A002 - numpy's name
    axis: object = None,
    keepdims: object = False,
) -> object:
    """Norms of vectors: roots of sums of squares, sums, maxima."""
    if reader.is_public([x, ord, axis, keepdims]):
        return public_call(
            reader, np.linalg.norm, (x,), {"ord": ord, "axis": axis, "keepdims": keepdims}
        )
    if isinstance(x, Opaque):
        return released_call(reader, np.linalg.norm, (x, ord, axis, bool(reader.plain(keepdims))))
    node, order = (
        operand(reader, x) if not isinstance(x, Table) else _operand(reader, x),
        reader.plain(ord),
    )
    axes = axes_of(reader, node, axis)
    if len(axes) > 1 and order not in (None, "fro"):
        reader.unknown("a norm of matrices")
    kind = node.dtype if node.dtype.kind == "f" else np.dtype(float)
    if node.dtype != kind:
        node = reader.graph.add("convert", node, dtype=kind)
    if order in (None, "fro", 2) and not (order == "fro" and len(axes) != 2):
        squares = reader.graph.add("square", node)
        found = reader.graph.add("sqrt", summed(reader, squares, axes, kind))
    elif order == 1:
        sizes = reader.graph.add("absolute", node)
        found = summed(reader, sizes, axes, node.dtype)
    elif order == np.inf:
        sizes = reader.graph.add("absolute", node)
        found = reader.graph.add("extreme", sizes, axes=axes, largest=True)
    else:
        reader.unknown(f"a norm of order {order}")
    return kept(reader, node, found, axes, keepdims if keepdims is not NO else False)
