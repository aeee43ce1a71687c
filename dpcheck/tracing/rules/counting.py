"""Counts: of nonzero entries, in public bins, of public categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts.boxes import Array, Box, DType
from dpcheck.tracing.facts.sizes import Size
from dpcheck.tracing.registry import Family, rule
from dpcheck.tracing.rules import rowwise
from dpcheck.tracing.rules.reductions import total
from dpcheck.tracing.values import Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer


@rule(np.count_nonzero, family=Family.COUNTING, lemma="the sum of truth values")
def count_nonzero(tracer: Tracer, a: Data, axis: Data = None, keepdims: bool = False) -> Data:
    """np.count_nonzero."""
    return total(tracer, a != 0, axis, np.int64, keepdims=keepdims)


def one_hot(tracer: Tracer, rows: Rows, bins: int, weights: Data = None) -> Rows:
    """Each record as a row that is 0 but for one entry, or none."""
    most = 1.0
    kind: DType = np.dtype(np.int64)
    low, nan = 0.0, False
    if weights is not None:
        if not isinstance(weights, Rows) or weights.rows is not rows.rows or weights.ndim != 1:
            tracer.unknown("a histogram with weights of other records")
        most = float(weights.box.magnitude.max())
        low, nan = min(0.0, float(weights.box.lo.min())), weights.box.nan
        kind = np.dtype(float)
    high = 1.0 if weights is None else max(0.0, float(weights.box.hi.max()))
    found = Box(np.full((1, bins), low), np.full((1, bins), high), nan, weights is None)
    row = Size(np.asarray(np.inf), most, most, most, 1.0)
    return rowwise.made(rows, (rows.dims[rows.axis], bins), kind, found, row, axis=0)


def _edges(tracer: Tracer, bins: Data, limits: Data) -> Array:
    if isinstance(bins, Traced) or isinstance(limits, Traced):
        tracer.refuse(
            "private-control",
            "the bins of a histogram are computed from the data",
            "use public edges: np.histogram(x, bins=[...])",
        )
    if isinstance(bins, int | np.integer):
        if limits is None:
            tracer.refuse(
                "private-control",
                "np.histogram without range= puts its bins where the data are",
                "pass range=(low, high) or a list of edges",
            )
        return np.linspace(float(limits[0]), float(limits[1]), int(bins) + 1)
    if isinstance(bins, str):
        tracer.refuse(
            "private-control",
            f"bins={bins!r} are chosen by looking at the data",
            "use public edges: np.histogram(x, bins=[...])",
        )
    return np.asarray(bins, dtype=float)


def _vector(tracer: Tracer, x: Data, name: str) -> Rows:
    if not isinstance(x, Rows) or x.ndim != 1:
        tracer.unknown(f"{name} of anything but one column of records")
    return x


@rule(
    np.histogram,
    family=Family.COUNTING,
    lemma="each record is in at most one bin: add-remove moves one count by 1, replace-one two",
)
def histogram(
    tracer: Tracer,
    a: Data,
    bins: Data = 10,
    range: Data = None,  # noqa: A002 - numpy's name
    density: Data = None,
    weights: Data = None,
) -> Data:
    """np.histogram with public edges."""
    edges = _edges(tracer, bins, range)
    x = _vector(tracer, a, "np.histogram")
    if density:
        tracer.refuse(
            "private-count", "density=True divides by a private count", "divide a noisy histogram"
        )
    return total(tracer, one_hot(tracer, x, len(edges) - 1, weights), 0), edges


@rule(
    np.bincount,
    family=Family.COUNTING,
    lemma="as np.histogram; the largest value must be below minlength for all data",
)
def bincount(tracer: Tracer, x: Data, weights: Data = None, minlength: int = 0) -> Data:
    """np.bincount of bounded whole numbers."""
    rows = _vector(tracer, x, "np.bincount")
    if rows.dtype.kind not in "biu" or float(rows.box.lo.min()) < 0:
        tracer.refuse(
            "unbounded",
            "np.bincount raises for numbers that are negative or not whole, and the data decide that",
            "clip them: np.clip(x, 0, k - 1), as whole numbers",
        )
    if float(rows.box.hi.max()) >= int(minlength):
        tracer.refuse(
            "private-length",
            "the data decide how many bins np.bincount has",
            "clip the numbers below k and pass minlength=k",
        )
    return total(tracer, one_hot(tracer, rows, int(minlength), weights), 0)


@rule(
    np.digitize,
    np.searchsorted,
    family=Family.COUNTING,
    lemma="the bin of each record, a whole number between 0 and the number of edges",
)
def digitize(tracer: Tracer, x: Data, bins: Data, right: bool = False) -> Data:  # noqa: ARG001
    """np.digitize with public edges."""
    if not isinstance(x, Rows):
        x, bins = bins, x  # searchsorted(edges, x)
    if isinstance(bins, Traced) or not isinstance(x, Rows):
        tracer.refuse("private-control", "the edges of bins are private", "use public edges")
    found = Box(np.zeros(x.element), np.full(x.element, float(len(np.asarray(bins)))), False, True)
    return rowwise.made(x, x.dims, np.dtype(np.int64), found)


@rule(np.isin, family=Family.COUNTING, lemma="a truth value for each entry")
def isin(tracer: Tracer, element: Data, test_elements: Data, invert: bool = False) -> Data:  # noqa: ARG001
    """np.isin of a public list."""
    if not isinstance(element, Rows) or isinstance(test_elements, Traced):
        tracer.unknown("np.isin with a private list")
    found = Box(np.zeros(element.element), np.ones(element.element), False, True)
    return rowwise.made(element, element.dims, np.dtype(bool), found)
