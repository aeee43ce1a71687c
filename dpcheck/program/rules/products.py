"""Sums of products: of rows with public or released arrays, of rows over the records, of aggregates."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Array, Box, multiply
from dpcheck.program.facts.kinds import RANDOM, Aggregate, Public, Released, Rows
from dpcheck.program.facts.rowsets import Dim, RowSet
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Graph, Made, Node, primitive
from dpcheck.program.rules.common import (
    UNBOUNDED,
    aggregate,
    coins_of,
    fixed,
    opened,
    plain,
    released,
    result_dtype,
    rowwise,
)
from dpcheck.program.rules.random_numbers import use_up
from dpcheck.program.rules.shapes import public


def _einsum(a: object, b: object, terms: tuple[str, str, str]) -> object:
    one, two, out = terms
    x, y = np.asarray(a), np.asarray(b)
    if (len(one), len(two)) in ((1, 1), (1, 2), (2, 1), (2, 2)) and _is_matmul(one, two, out):
        return x @ y
    return np.einsum(f"{one},{two}->{out}", x, y)


def _is_matmul(one: str, two: str, out: str) -> bool:
    return (
        one[-1] == two[0]
        and out == one[:-1] + two[1:]
        and len(set(one + two[1:])) == len(one + two[1:])
    )


@primitive(
    "product",
    "rows times public numbers are rows (Cauchy-Schwarz bounds their entries); rows times rows, added up "
    "over the records, move by the product of one record; aggregates times public numbers move by the "
    "matrix's norms",
    _einsum,
)
def product(graph: Graph, a: Node, b: Node, terms: tuple[str, str, str]) -> Made:
    """The sum of products that `terms` spells, as einsum does."""
    kind = result_dtype(graph, lambda x, y: np.multiply(x, y), (a, b))
    if kind.kind == "b":
        graph.refuse("unknown-operation", "a product of truth values", "turn them into numbers")
    one, two, out = terms
    if any(len(set(term)) < len(term) for term in terms):
        graph.refuse("unknown-operation", "a product along a diagonal", "use np.diagonal")
    lengths: dict[str, Dim] = {}
    for term, node in ((one, a), (two, b)):
        for letter, n in zip(term, node.shape, strict=True):
            if letter not in lengths or isinstance(n, RowSet):
                lengths[letter] = n
    if isinstance(a.fact, Public) and isinstance(b.fact, Public):
        return public(_einsum(a.fact.value, b.fact.value, terms))
    shape = tuple(lengths[letter] for letter in out)
    if any(isinstance(node.fact, RANDOM) for node in (a, b)):
        if not all(isinstance(node.fact, (*RANDOM, Public, Released)) for node in (a, b)):
            graph.refuse("unknown-operation", "a product of private values and noise", "add noise")
        use_up(graph, (a, b))
        return released(shape, kind, boxes.WHOLE)
    opened((a, b))
    if any(isinstance(node.fact, Rows) for node in (a, b)):
        return _with_rows(graph, a, b, terms, lengths, kind)
    whole = {letter: fixed(n) for letter, n in lengths.items()}
    box = _summed(a, b, terms, whole)
    if not any(isinstance(node.fact, Aggregate) for node in (a, b)):
        return released(shape, kind, boxes.fitted(box, kind))
    return _of_aggregates(a, b, terms, whole, box, kind)


def _spread(box: Box, term: str, letters: str, lengths: dict[str, int]) -> Box:
    """A box with an axis for every letter."""
    order = sorted(range(len(term)), key=lambda i: letters.index(term[i]))

    def on(end: Array) -> Array:
        full = np.broadcast_to(end, tuple(lengths[letter] for letter in term))
        return np.transpose(full, order).reshape(
            tuple(lengths[letter] if letter in term else 1 for letter in letters)
        )

    return box.mapped(on)


def _summed(a: Node, b: Node, terms: tuple[str, str, str], lengths: dict[str, int]) -> Box:
    """The box of the sum of products."""
    one, two, out = terms
    letters = out + "".join(sorted(set(one + two) - set(out)))
    parts = [_spread(node.fact.box, term, letters, lengths) for node, term in ((a, one), (b, two))]
    found = multiply(parts[0], parts[1])
    full = tuple(lengths[letter] for letter in letters)
    drop = tuple(range(len(out), len(letters)))
    from dpcheck.program.rules.reductions import dropped, summed

    return dropped(summed(found.broadcast(full), full, drop), drop) if drop else found


def _with_rows(
    graph: Graph,
    a: Node,
    b: Node,
    terms: tuple[str, str, str],
    lengths: dict[str, Dim],
    kind: np.dtype[np.generic],
) -> Made:
    one, two, out = terms
    facts = [
        (node, node.fact, term)
        for node, term in ((a, one), (b, two))
        if isinstance(node.fact, Rows)
    ]
    letters = {term[fact.axis] for _, fact, term in facts}
    if len(letters) > 1 or len({id(fact.rows) for _, fact, _ in facts}) > 1:
        graph.refuse(
            "mixed-records",
            "every record is combined with every other",
            "aggregate over the records first",
        )
    letter, rows = letters.pop(), facts[0][1].rows
    for node, term in ((a, one), (b, two)):
        if letter not in term or isinstance(node.fact, Rows):
            continue
        if isinstance(node.fact, Aggregate) or node.shape[term.index(letter)] != 1:
            graph.refuse(
                "mixed-records",
                "records are weighted by their place, or by private values",
                "use columns of the same records",
            )
    if letter not in out:  # a sum over the records: of the rows it would be without it
        first = graph.add("product", a, b, terms=(one, two, letter + out))
        return _over_records(graph, first, facts, terms)
    whole = {key: 1 if isinstance(n, RowSet) else fixed(n) for key, n in lengths.items()}
    box = _summed(a, b, terms, whole)
    axis = out.index(letter)
    shape = tuple(lengths[key] for key in out)
    shape = tuple(rows if i == axis else n for i, n in enumerate(shape))
    overflow = boxes.overflows(box, kind, a.fact.box, b.fact.box)
    size = UNBOUNDED if overflow else _row_norm(a, b, terms, letter, whole)
    zero = any(
        fact.zero_null and _finite(other)
        for (_, fact, _), other in zip(
            facts, ((b, a) if facts[0][0] is a else (a, b)), strict=False
        )
    )
    sampling = next((fact.sampling for _, fact, _ in facts if fact.sampling is not None), None)
    if not all(_finite(node) for node in (a, b)):
        sampling = None
    return rowwise(
        graph,
        shape,
        kind,
        boxes.fitted(box, kind),
        rows,
        axis,
        size,
        coins=coins_of(a, b),
        zero_null=zero,
        sampling=sampling,
    )


def _finite(node: Node) -> bool:
    return not node.fact.box.nan and bool(np.isfinite(node.fact.box.magnitude).all())


def _row_norm(
    a: Node, b: Node, terms: tuple[str, str, str], letter: str, lengths: dict[str, int]
) -> Size:
    """Norms of one row of the product.

    Lemma. Outer product, nothing summed within a row: norms multiply. Otherwise |x M|_2 is at most
    |x|_2 |M|_F (Cauchy-Schwarz), after the axes that only one operand has are summed, which lengthens it by
    the root of their lengths.
    """
    one, two, out = terms
    inside = (set(one) | set(two)) - set(out)
    sizes = [_size(node) for node in (a, b)]
    if not inside and not (set(one) & set(two)) - {letter}:
        return Size(
            np.asarray(np.inf),
            _times(sizes[0].l1, sizes[1].l1),
            _times(sizes[0].l2, sizes[1].l2),
            _times(sizes[0].linf, sizes[1].linf),
            _times(sizes[0].changed, sizes[1].changed),
        )
    most = _times(sizes[0].l2, sizes[1].l2) * _lone(terms, lengths)
    return Size(np.asarray(np.inf), l2=most, linf=most)


def _lone(terms: tuple[str, str, str], lengths: dict[str, int]) -> float:
    """By how much sums over axes that only one operand has lengthen it: the root of their lengths."""
    one, two, out = terms
    return math.sqrt(math.prod(lengths[letter] for letter in (set(one) ^ set(two)) - set(out)))


def _size(node: Node) -> Size:
    """The operand as one vector: a row, or the whole public array."""
    if isinstance(node.fact, Rows):
        return node.fact.row
    return Size(np.asarray(node.fact.box.magnitude, dtype=float)).tightened(plain(node.shape))


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _over_records(
    graph: Graph,
    first: Node,
    facts: list[tuple[Node, Rows, str]],
    terms: tuple[str, str, str],
) -> Made:
    """x.T @ x: the sum over records of the outer products of their rows."""
    from dpcheck.program.rules.reductions import total

    made = total(graph, first, (0,), first.dtype)
    fact = made.fact
    assert isinstance(fact, Aggregate)
    if len(facts) == 2 and facts[0][0] is facts[1][0]:
        # The two outer products of one record each have norm |x|^2; their difference is of two
        # positive matrices, so its Frobenius norm is at most the root of 2 times it, not twice.
        from dataclasses import replace

        one, two, out = terms
        square = (
            len(out) == 2 and one[1 - facts[0][1].axis] != two[1 - facts[1][1].axis]
            if len(one) == 2
            else False
        )
        if square:
            fact = replace(fact, symmetric=True)
    return Made(made.shape, made.dtype, fact)


def _of_aggregates(
    a: Node,
    b: Node,
    terms: tuple[str, str, str],
    lengths: dict[str, int],
    exact: Box,
    kind: np.dtype[np.generic],
) -> Made:
    one, two, out = terms
    shape = tuple(lengths[letter] for letter in out)
    full = boxes.fitted(exact, kind).broadcast(shape)
    both = isinstance(a.fact, Aggregate) and isinstance(b.fact, Aggregate)
    if boxes.overflows(exact, kind, a.fact.box, b.fact.box):
        return aggregate(shape, kind, full, UNBOUNDED, coins=coins_of(a, b))
    if both:
        parts = []
        for mine, other, term, rest in ((a, b, one, two), (b, a, two, one)):
            if isinstance(mine.fact, Aggregate):
                parts.append(_moved(mine, other, term, rest, out, lengths))
        return aggregate(shape, kind, full, Size(parts[0] + parts[1]), coins=coins_of(a, b))
    mine, other, term, rest = (
        (a, b, one, two) if isinstance(a.fact, Aggregate) else (b, a, two, one)
    )
    assert isinstance(mine.fact, Aggregate)
    fact = mine.fact

    def change(size: Size) -> Size:
        entries = _moved(mine, other, term, rest, out, lengths, size)
        weights = np.broadcast_to(other.fact.box.magnitude, plain(other.shape))
        spectral = math.sqrt(float(np.square(weights).sum())) * _lone(terms, lengths)
        columns = _column_sums(weights, rest, term)
        return Size(entries, _times(size.l1, columns), _times(size.l2, spectral))

    return aggregate(
        shape,
        kind,
        full,
        change(fact.diff),
        records=fact.records,
        sampling=fact.sampling,
        contribution=None if fact.contribution is None else change(fact.contribution),
        coins=coins_of(a, b),
    )


def _moved(
    mine: Node,
    other: Node,
    term: str,
    rest: str,
    out: str,
    lengths: dict[str, int],
    size: Size | None = None,
) -> Array:
    """Entry by entry: the sum of |difference| times |weight|."""
    assert isinstance(mine.fact, Aggregate)
    found = mine.fact.diff if size is None else size
    moves = np.broadcast_to(found.coordinates, tuple(lengths[letter] for letter in term))
    weights = np.broadcast_to(other.fact.box.magnitude, tuple(lengths[letter] for letter in rest))
    with np.errstate(invalid="ignore", over="ignore"):
        result = np.einsum(f"{term},{rest}->{out}", moves, weights)
    return np.where(np.isnan(result), np.inf, result)


def _column_sums(weights: Array, rest: str, term: str) -> float:
    """The largest L1 norm of what one entry is multiplied with."""
    keep = tuple(i for i, letter in enumerate(rest) if letter not in term)
    sums = weights.sum(axis=keep) if keep else weights
    return float(np.max(sums)) if np.size(sums) else 0.0
