"""Products: rows times public matrices, sums of products over records, norms of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts import norms
from dpcheck.tracing.facts.boxes import Box
from dpcheck.tracing.facts.sizes import Size
from dpcheck.tracing.registry import Family, named, rule
from dpcheck.tracing.rules import rowwise
from dpcheck.tracing.rules.reductions import total
from dpcheck.tracing.values import Aggregate, Coin, Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_MOST = 1 << 22  # entries of a product that is worked out entry by entry


def _ndim(value: Data) -> int:
    return int(value.ndim) if isinstance(value, Traced) else np.ndim(value)


@rule(
    np.matmul,
    np.dot,
    family=Family.LINEAR,
    lemma="the sum over the shared axis of products of entries; over records it moves by the product of one "
    "row, whose L2 norm is at most the product of the two norms",
    methods=("dot", "__matmul__"),
)
def matmul(tracer: Tracer, a: Data, b: Data) -> Data:
    """a @ b for at most two axes each."""
    a, b = (v if isinstance(v, Traced) else np.asarray(v) for v in (a, b))
    if isinstance(a, Coin) or isinstance(b, Coin):
        return _with_coins(tracer, a, b)
    if _ndim(a) == 0 or _ndim(b) == 0:
        return a * b
    if _ndim(a) > 2 or _ndim(b) > 2:
        tracer.unknown("a product of arrays of more than two axes")
    left = a if _ndim(a) == 2 else a[None, :]
    right = b if _ndim(b) == 2 else b[:, None]
    if (left.shape[0] if isinstance(left.shape[0], int) else 1) * right.shape[1] > _MOST:
        tracer.unknown("so large a product")
    found = _product(tracer, left, right)
    if _ndim(b) == 1:
        found = found[:, 0]
    return found[0] if _ndim(a) == 1 else found


def _product(tracer: Tracer, left: Data, right: Data) -> Data:
    both = isinstance(left, Rows) and isinstance(right, Rows)
    over_records = both and left.axis == 1 and right.axis == 0
    if over_records and left.rows is right.rows:
        entries = left.T[:, :, None] * right[:, None, :]
        # The product of one row is an outer product: its norms are products of the two norms.
        sizes = (left.row, right.row)
        bound = Size(
            np.asarray(np.inf),
            *(getattr(sizes[0], n) * getattr(sizes[1], n) for n in ("l1", "l2", "linf")),
        )
        entries.row = entries.row.both(bound).tightened(entries.element)
        return total(tracer, entries, 0)
    if isinstance(left, Rows) and left.axis == 0 and not isinstance(right, Rows | Aggregate):
        return total(tracer, left[:, :, None] * right[None], 1)
    if isinstance(right, Rows) and right.axis == 1 and not isinstance(left, Rows | Aggregate):
        return total(tracer, left[:, :, None] * right[None], 1)
    if isinstance(left, Rows) and left.axis == 1 and not isinstance(right, Rows | Aggregate):
        return total(tracer, left[:, :, None] * right[None], 1)
    if isinstance(right, Rows) and right.axis == 0 and not isinstance(left, Rows | Aggregate):
        return total(tracer, left[:, :, None] * right[None], 1)
    whole = [rowwise.as_aggregate(v) if isinstance(v, Rows) else v for v in (left, right)]
    return total(tracer, whole[0][:, :, None] * whole[1][None], 1)


def _with_coins(tracer: Tracer, a: Data, b: Data) -> Data:
    """mask @ rows: the sum over the rows whose coin fell on heads."""
    if isinstance(a, Coin) and isinstance(b, Rows) and a.ndim == 1 and b.axis == 0:
        mask = a[(slice(None), *[None] * (b.ndim - 1))] if b.ndim > 1 else a
        return total(tracer, b * mask, 0)
    if isinstance(b, Coin) and isinstance(a, Rows) and b.ndim == 1 and a.axis == a.ndim - 1:
        return matmul(tracer, b, a.T)
    return tracer.unknown("a product with random coins")


@rule(np.outer, family=Family.LINEAR, lemma="products of entries")
def outer(tracer: Tracer, a: Data, b: Data) -> Data:
    """np.outer of vectors."""
    if isinstance(a, Rows) or isinstance(b, Rows):
        tracer.unknown("np.outer of records")
    return a[:, None] * b[None, :]


@rule(
    np.linalg.norm,
    family=Family.LINEAR,
    lemma="the norm of each row is remembered, so that a row scaled by it is known to be clipped; of an "
    "aggregate it moves by at most the norm of the difference",
)
def norm(
    tracer: Tracer,
    x: Data,
    ord: Data = None,  # noqa: A002 - numpy's name
    axis: Data = None,
    keepdims: bool = False,
) -> Data:
    """np.linalg.norm of order 1, 2 or inf."""
    order = 2.0 if ord is None or ord == "fro" else float(ord)
    if order not in (1.0, 2.0, np.inf):
        tracer.unknown(f"the norm of order {ord}")
    matrix = ord not in (None, "fro") and (
        x.ndim == 2 if axis is None else isinstance(axis, tuple) and len(axis) == 2
    )
    if matrix:  # spectral norms, largest sums of rows or columns
        tracer.unknown(f"the matrix norm of order {ord}")
    if isinstance(x, Aggregate):
        if axis is not None and x.ndim > 1:
            tracer.unknown("norms of parts of an aggregate")
        moved = {1.0: x.diff.l1, 2.0: x.diff.l2, np.inf: x.diff.linf}[order]
        most = float(np.linalg.norm(np.broadcast_to(x.box.magnitude, x.dims).ravel(), order))
        found = Box(np.asarray(0.0), np.asarray(most), x.box.nan, True)
        return Aggregate(tracer, (), np.dtype(float), found, Size(np.asarray(moved)))
    if not isinstance(x, Rows):
        tracer.unknown("np.linalg.norm")
    axes = (axis,) if isinstance(axis, int | np.integer) else axis
    if axes is None or x.axis in (places := {int(i) % x.ndim for i in axes}):
        tracer.refuse(
            "mixed-records",
            "a norm over all records together",
            "take it row by row: np.linalg.norm(x, axis=1)",
        )
    if order == 2.0:
        found = np.sqrt(total(tracer, np.square(x), tuple(places), keepdims=keepdims))
    elif order == 1.0:
        found = total(tracer, np.abs(x), tuple(places), keepdims=keepdims)
    else:
        found = tracer.function(np.max, (np.abs(x),), {"axis": tuple(places), "keepdims": keepdims})
    return tagged(found, x, order, len(places) == x.ndim - 1)


def tagged(found: Rows, x: Rows, order: float, whole: bool) -> Rows:
    """The norm of every row, as such."""
    most = {1.0: x.row.l1, 2.0: x.row.l2, np.inf: x.row.linf}[order]
    if whole:
        found.tag = norms.norm_of(x.identity, order)
        found.box = Box(found.box.lo, np.minimum(found.box.hi, most), found.box.nan, True)
    return found


@rule(np.einsum, family=Family.LINEAR, lemma="as the product or sum it spells")
def einsum(tracer: Tracer, spelled: str, *operands: Data) -> Data:
    """np.einsum of one or two operands, as products and a sum."""
    text = spelled.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if not arrow or "." in text or len(terms) != len(operands) or len(operands) > 2:
        tracer.unknown("this np.einsum")
    if any(len(set(term)) < len(term) for term in terms):
        tracer.unknown("np.einsum along a diagonal")
    letters = output + "".join(sorted(set("".join(terms)) - set(output)))
    spread = [_spread(v, term, letters) for v, term in zip(operands, terms, strict=True)]
    product = spread[0] if len(spread) == 1 else spread[0] * spread[1]
    drop = tuple(range(len(output), len(letters)))
    return total(tracer, product, drop) if drop else product


def _spread(value: Data, term: str, letters: str) -> Data:
    """The operand with its axes in the order of `letters`, length 1 where it has none."""
    order = sorted(range(len(term)), key=lambda i: letters.index(term[i]))
    moved = np.transpose(value, order)
    return moved[tuple(slice(None) if letter in term else None for letter in letters)]


@named(
    "dpcheck.clip_norm",
    Family.LINEAR,
    "each row is scaled to norm at most C; NaN and infinite entries count as 0",
)
def clip_rows(tracer: Tracer, x: Data, bound: float, order: float = 2.0) -> Data:
    """dpcheck.clip_norm on private rows."""
    if not isinstance(x, Rows) or x.ndim < 2:
        tracer.unknown("dpcheck.clip_norm of anything but a table of rows")
    most = min(float(bound), x.row.linf)
    found = Box(
        np.maximum(np.minimum(x.box.lo, 0.0), -most), np.minimum(np.maximum(x.box.hi, 0.0), most)
    )
    l1, l2, linf = (
        min(float(bound), old) if order == at else old
        for old, at in ((x.row.l1, 1.0), (x.row.l2, 2.0), (x.row.linf, np.inf))
    )
    row = Size(np.asarray(np.inf), l1, l2, linf, x.row.changed)
    return rowwise.made(x, x.dims, np.dtype(float), found, row, sampling=x.sampling)
