"""Sums and their kin, over records or over entries; products; extremes; all rows as one array."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpcheck.verify.program.boxes import (
    TRUTH,
    WHOLE,
    Box,
    Entries,
    box,
    fitted,
    is_float,
    is_whole,
    limits,
    multiply,
)
from dpcheck.verify.program.common import (
    MOST_ENTRIES,
    MOST_RECORDS,
    Node,
    State,
    aggregate_fact,
    coins_of,
    differences,
    element,
    expect,
    fixed,
    holds_where,
    integer,
    integers,
    kept_aggregate,
    only_released,
    over,
    plain,
    rows_fact,
    rule,
    spread,
    spread_box,
)
from dpcheck.verify.program.facts import (
    RANDOM,
    Aggregate,
    Dim,
    Fact,
    Public,
    Released,
    Rows,
    RowSet,
    Shape,
    together,
)
from dpcheck.verify.program.numbers import INF, ZERO, Number, add, magnitude, root_up, times
from dpcheck.verify.program.randomness import spent
from dpcheck.verify.program.sizes import UNKNOWN, Size, total, where_it_differs


def left(shape: Shape, axes: list[int]) -> Shape:
    """The shape without these axes."""
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def axes_of(node: Node) -> list[int]:
    """The axes of the operand that go."""
    axes = integers(node, "axes")
    if sorted(set(axes)) != sorted(axes) or not all(0 <= axis < node.args[0].ndim for axis in axes):
        node.refuse("it has no such axes")
    expect(node, left(node.args[0].shape, axes))
    return axes


def added_up(entries: Entries, shape: tuple[int, ...], axes: list[int]) -> Entries:
    """Sums of bounds along axes."""
    if len(entries) == 1:
        return (times(entries[0], Fraction(math.prod(shape[i] for i in axes))),)
    return over(entries, shape, axes, total)


def summed(found: Box, shape: tuple[int, ...], axes: list[int]) -> Box:
    """The box of a sum along axes."""
    lo, hi = (added_up(end, shape, axes) for end in (found.lo, found.hi))
    mixed = any(a == -INF and b == INF for a, b in zip(found.lo, found.hi, strict=True))
    apart = -INF in found.lo and INF in found.hi
    return Box(lo, hi, found.nan or mixed or apart, found.plain)


@rule("sum")
def sums(state: State, node: Node) -> Fact:
    """over records: moves by a row's diameter (replace-one) or its norm (add-remove); over axes: linear"""
    a, axes = node.args[0], axes_of(node)
    if isinstance(a.fact, RANDOM):
        return spent(state, node)
    if is_float(a.dtype) and is_whole(node.dtype):
        node.refuse("floats are added up in whole numbers, which cuts each of them")
    state.open(a)
    if not isinstance(a.fact, Rows):
        return _of_entries(node, a, axes)
    inner = [i for i in axes if i != a.fact.axis]
    if a.fact.axis not in axes:
        return _within_rows(node, a, inner)
    if inner:
        axis = a.fact.axis - sum(i < a.fact.axis for i in inner)
        between = Node(a.id, "sum", [a], {}, left(a.shape, inner), node.dtype, node.line, a.fact)
        between.fact = _within_rows(between, a, inner)
        assert between.fact.axis == axis
        a = between
    return over_records(state, node, a)


def _of_entries(node: Node, a: Node, axes: list[int]) -> Fact:
    shape, fact = plain(a), a.fact
    found, fits = fitted(summed(fact.box, shape, axes), node.dtype)
    if not isinstance(fact, Aggregate):
        return Released(box=found)
    many = root_up(Fraction(math.prod(shape[i] for i in axes)))

    def change(size: Size) -> Size:
        entries = added_up(size.entries, shape, axes)
        return Size(entries, size.l1, min(size.l1, times(many, size.l2)), size.l1, size.changed)

    if not fits or not found.finite:
        return aggregate_fact(
            node, found, where_it_differs(fact.size), places=fact.places, coins=fact.coins
        )
    return aggregate_fact(node, found, change(fact.size), **kept_aggregate(fact, change))


def _within_rows(node: Node, a: Node, inner: list[int]) -> Rows:
    fact = a.fact
    assert isinstance(fact, Rows)
    shape = element(a)
    found, fits = fitted(summed(fact.box, shape, inner), node.dtype)
    whole = all(i in inner or i == fact.axis or n == 1 for i, n in enumerate(shape))
    size = Size(l1=fact.size.l1) if fits else UNKNOWN
    axis = fact.axis - sum(i < fact.axis for i in inner)
    factor = fact.powers if whole and is_float(node.dtype) else None
    return rows_fact(
        node,
        found,
        fact.rows,
        axis,
        size,
        factor=factor,
        zero_null=fact.zero_null,
        sampling=fact.sampling,
        predicate=fact.predicate,
        coins=fact.coins,
    )


def over_records(state: State, node: Node, a: Node) -> Aggregate:
    """The sum over the records of rows."""
    fact = a.fact
    assert isinstance(fact, Rows)
    rows = fact.rows
    some = rows.count is None or rows.optional or rows.sampling is not None
    one = fact.box.with_zero() if some else fact.box
    many = MOST_RECORDS if rows.count is None else Fraction(rows.count)
    lo, hi = (tuple(times(end, many) for end in ends) for ends in (one.lo, one.hi))
    mixed = -INF in one.lo and INF in one.hi
    found, fits = fitted(Box(lo, hi, one.nan or mixed, one.plain), node.dtype)
    size, places = differences(state, a), rows.places
    if not fits or not found.finite:
        return aggregate_fact(node, found, where_it_differs(size), places=places, coins=fact.coins)
    sampling = rows.sampling or fact.sampling
    if rows.sampling is not None and fact.sampling is not None:
        sampling = None  # two kinds of coins at once amplify nothing
    return aggregate_fact(
        node,
        found,
        size,
        sampling=sampling,
        added=fact.size,
        places=places,
        coins=fact.coins,
        predicate=together(together(rows.predicate, fact.predicate), holds_where(a, True)),
        rising=state.adjacency == "add-remove" and fact.box.least >= 0,
    )


@rule("whole")
def whole(state: State, node: Node) -> Fact:
    """all rows as one array: between neighbours one row of it changes"""
    a = node.args[0]
    fact = a.fact
    if not isinstance(fact, Rows):
        return node.refuse("its operand has no rows")
    rows = fact.rows
    if (
        rows.count is None
        or rows.optional
        or rows.sampling is not None
        or state.adjacency == "add-remove"
    ):
        node.refuse("the number of rows is private")
    shape = tuple(rows.count if i == fact.axis else n for i, n in enumerate(a.shape))
    expect(node, shape)
    full, size = plain(node), differences(state, a)
    return aggregate_fact(
        node,
        spread_box(fact.box, element(a), full),
        size.laid(spread(size.entries, element(a), full)),
        places=rows.places,
        coins=fact.coins,
    )


@rule("any")
def any_of(state: State, node: Node) -> Fact:
    """a truth value; over records nothing bounds it but its box"""
    a, axes = node.args[0], axes_of(node)
    if isinstance(a.fact, RANDOM):
        return spent(state, node)
    state.open(a)
    fact = a.fact
    if only_released([a]):
        return Released(box=TRUTH)
    if isinstance(fact, Rows) and fact.axis not in axes:
        axis = fact.axis - sum(i < fact.axis for i in axes)
        return rows_fact(node, TRUTH, fact.rows, axis, UNKNOWN, coins=fact.coins)
    return aggregate_fact(node, TRUTH, UNKNOWN, coins=fact.coins)


@rule("variance")
def variance(state: State, node: Node) -> Fact:
    """(1/n^2) times the sum over pairs of (x_i - x_j)^2, n - 1 of which hold the record: (n-1)/n^2 width^2"""
    a, axes, ddof = node.args[0], axes_of(node), integer(node, "ddof")
    if isinstance(a.fact, RANDOM):
        return spent(state, node)
    state.open(a)
    fact, unbounded = a.fact, Box((ZERO,), (INF,), nan=True)
    if only_released([a]):
        return Released(box=unbounded)
    if not isinstance(fact, Rows):
        return aggregate_fact(node, unbounded, UNKNOWN, coins=fact.coins)
    many = math.prod(element(a)[i] for i in axes)
    over_all = axes == [fact.axis]
    if over_all:
        rows = fact.rows
        node.need(
            rows.count is not None and not rows.optional and rows.sampling is None,
            "a variance over a private number",
        )
        node.need(state.adjacency != "add-remove", "a variance over a private number")
        many = rows.count or 0
    elif fact.axis in axes:
        node.no_certificate("a variance over records and entries")
    if ddof < 0 or many - ddof <= 0:
        node.refuse("a variance of too few numbers")
    factor = Fraction(many, many - ddof)
    widths = fact.box.width if over_all else (add(fact.box.most, -fact.box.least),)
    squares = tuple(times(each, each) for each in widths)
    large = max(squares, default=ZERO)
    if not fact.box.finite or times(large, Fraction(many)) > limits(node.dtype)[1]:
        found, moves = unbounded, UNKNOWN
    else:
        found = Box((ZERO,) * len(squares), tuple(times(each, factor / 4) for each in squares))
        moves = Size(tuple(times(each, Fraction(many - 1, many**2) * factor) for each in squares))
    if over_all:
        return aggregate_fact(node, found, moves, coins=fact.coins)
    axis = fact.axis - sum(i < fact.axis for i in axes)
    return rows_fact(node, found, fact.rows, axis, UNKNOWN, coins=fact.coins)


# Order --------------------------------------------------------------------------------------------------


def _between(state: State, node: Node, axes: list[int], known: bool) -> Fact:
    """A statistic between the least and the largest entry, which moves by at most Linf; else anything."""
    a = node.args[0]
    if isinstance(a.fact, RANDOM):
        return spent(state, node)
    state.open(a)
    fact = a.fact
    if (
        isinstance(fact, Rows)
        and fact.axis in axes
        and (fact.rows.count is None or fact.rows.optional)
    ):
        node.refuse("a private number of records, of which there may be none")
    shape = element(a)
    if not all(shape[i] for i in axes):
        node.refuse("there are no entries")
    lo = over(fact.box.lo, shape, axes, min)
    hi = over(fact.box.hi, shape, axes, max)
    found = Box(lo, hi, fact.box.nan, fact.box.plain) if known else WHOLE
    if only_released([a]):
        return Released(box=found)
    if isinstance(fact, Rows) and fact.axis not in axes:
        axis = fact.axis - sum(i < fact.axis for i in axes)
        return rows_fact(
            node,
            found,
            fact.rows,
            axis,
            UNKNOWN,
            sampling=fact.sampling,
            zero_null=fact.zero_null,
            predicate=fact.predicate,
            coins=fact.coins,
        )
    moves = Size((fact.size.linf,)) if known and isinstance(fact, Aggregate) else UNKNOWN
    return aggregate_fact(node, found, moves, coins=fact.coins)


@rule("extreme")
def extreme(state: State, node: Node) -> Fact:
    """between the bounds of its entries; of an aggregate it moves by at most Linf"""
    return _between(state, node, axes_of(node), known=True)


@rule("quantile")
def quantile(state: State, node: Node) -> Fact:
    """between the bounds of its entries; of an aggregate it moves by at most Linf"""
    level, a = node.params.get("level"), node.args[0]
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 <= level <= 1:
        node.refuse("a quantile has a level between 0 and 1")
    # Entries are added or subtracted in their own type: of int8, 127 - (-128) is -1.
    found = a.fact.box
    most = 2 * max(magnitude(found.least), magnitude(found.most))
    own = limits(a.dtype if is_whole(a.dtype) and level != 0.5 else node.dtype)
    return _between(
        state, node, axes_of(node), known=not found.nan and own[0] <= -most and most <= own[1]
    )


@rule("argmax")
def argmax(state: State, node: Node) -> Fact:
    """some place; with noise on every entry it is report noisy max"""
    a, axis = node.args[0], integer(node, "axis")
    if not 0 <= axis < a.ndim:
        node.refuse("it has no such axis")
    expect(node, left(a.shape, [axis]))
    fact = a.fact
    if isinstance(fact, Rows) and fact.axis == axis:
        node.refuse("the place of the largest record says which record it is")
    found = box(ZERO, Fraction(max(0, fixed(a, a.shape[axis]) - 1)), plain=True)
    if isinstance(fact, RANDOM):
        return replace(spent(state, node), box=found)
    if isinstance(fact, Released):
        how = "argmax" if node.params.get("largest") is True else "argmin"
        if a.ndim == 1 and fact.release is not None and state.chosen.get(fact.release, how) == how:
            state.chosen[fact.release] = how
        else:
            state.open(a)
        return Released(box=found)
    if isinstance(fact, Public):
        return Released(box=found)
    if isinstance(fact, Rows):
        return rows_fact(
            node, found, fact.rows, fact.axis - (axis < fact.axis), UNKNOWN, coins=fact.coins
        )
    return aggregate_fact(node, found, UNKNOWN, coins=fact.coins)


@rule("sort")
def sort(state: State, node: Node) -> Fact:
    """sorting brings two vectors no further apart, in any norm"""
    a, axis = node.args[0], integer(node, "axis")
    fact = a.fact
    if isinstance(fact, RANDOM):
        expect(node, a.shape)
        return spent(state, node)
    state.open(a)
    if isinstance(fact, Rows):
        if fact.axis == axis:
            between = Node(a.id, "whole", [a], {}, node.shape, a.dtype, node.line, fact)
            between.fact = whole(state, between)
            a, fact = between, between.fact
        else:
            expect(node, a.shape)
            found = fact.box.hull()
            return rows_fact(
                node,
                found,
                fact.rows,
                fact.axis,
                fact.size.norms(),
                sampling=fact.sampling,
                zero_null=fact.zero_null,
                predicate=fact.predicate,
                coins=fact.coins,
            )
    expect(node, a.shape)
    found = fact.box.hull()
    if only_released([a]):
        return Released(box=found)
    assert isinstance(fact, Aggregate)
    node.need(a.ndim == 1, "a table of aggregates is sorted")
    # Every order statistic may move, each by at most Linf.
    size = Size((fact.size.linf,), fact.size.l1, fact.size.l2, fact.size.linf)
    return aggregate_fact(node, found, size, places=fact.places, coins=fact.coins)


@rule("cumulative")
def cumulative(state: State, node: Node) -> Fact:
    """running sums along an axis that is not the records: linear"""
    a, axis = node.args[0], integer(node, "axis")
    expect(node, a.shape)
    if isinstance(a.fact, RANDOM):
        return spent(state, node)
    state.open(a)
    fact, shape = a.fact, element(a)
    if not 0 <= axis < a.ndim or (isinstance(fact, Rows) and fact.axis == axis):
        node.refuse("running sums over records mix all of them")
    many = shape[axis]
    lo, hi = (
        times(min(fact.box.least, ZERO), Fraction(many)),
        times(max(fact.box.most, ZERO), Fraction(many)),
    )
    found, fits = fitted(box(lo, hi, fact.box.nan or not fact.box.bounded), node.dtype)
    if only_released([a]):
        return Released(box=found)
    if isinstance(fact, Rows):
        return rows_fact(
            node,
            found,
            fact.rows,
            fact.axis,
            UNKNOWN,
            zero_null=fact.zero_null,
            sampling=fact.sampling,
            coins=fact.coins,
        )
    assert isinstance(fact, Aggregate)
    if not fits or not found.finite:
        return aggregate_fact(node, found, UNKNOWN, coins=fact.coins)
    return aggregate_fact(
        node,
        found,
        _running(fact.size, shape, axis),
        **kept_aggregate(fact, lambda size: _running(size, shape, axis)),
    )


def _running(size: Size, shape: tuple[int, ...], axis: int) -> Size:
    """Partial sums: entry k moves by at most the first k bounds, all by at most L1."""
    many = Fraction(shape[axis])
    entries: Entries = (size.l1,)
    if math.prod(shape) <= MOST_ENTRIES:
        step = math.prod(shape[axis + 1 :])
        each = size.entries * math.prod(shape) if len(size.entries) == 1 else size.entries
        found: list[Number] = []
        for i, own in enumerate(each):
            found.append(own if i // step % shape[axis] == 0 else add(own, found[i - step]))
        entries = tuple(found)
    return Size(entries, times(size.l1, many), times(root_up(many), size.l1), size.l1)


# Products -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Terms:
    """The axes of both operands and of the result, a letter each, as einsum has them."""

    one: str
    two: str
    out: str
    lengths: dict[str, int]

    def places(self, term: str, letters: str) -> Callable[[Entries], Entries]:
        """Bounds of an operand as an array with an axis for every letter."""
        order = sorted(range(len(term)), key=lambda i: letters.index(term[i]))
        before = tuple(self.lengths[letter] for letter in term)
        full = tuple(self.lengths[letter] if letter in term else 1 for letter in letters)
        after = tuple(self.lengths[letter] for letter in letters)

        def on(entries: Entries) -> Entries:
            if len(entries) == 1:
                return entries
            steps = [math.prod(before[i + 1 :]) for i in range(len(before))]
            turned = _turned([before[i] for i in order], [steps[i] for i in order])
            return spread(tuple(entries[i] for i in turned), full, after)

        return on


def _turned(lengths: list[int], steps: list[int]) -> list[int]:
    found = [0]
    for n, step in zip(lengths, steps, strict=True):
        found = [base + i * step for base in found for i in range(n)]
    return found


@rule("product")
def product(state: State, node: Node) -> Fact:
    """rows times public numbers are rows (Cauchy-Schwarz); over records a sum of rows; else matrix norms"""
    spelled = node.params.get("terms")
    if (
        not isinstance(spelled, list)
        or len(spelled) != 3
        or not all(isinstance(t, str) for t in spelled)
    ):
        node.refuse("terms must be three texts")
    a, b = node.args
    one, two, out = spelled
    dims: dict[str, Dim] = {}
    for term, arg in ((one, a), (two, b)):
        if len(term) != arg.ndim or len(set(term)) < len(term):
            node.refuse("terms do not fit the operands")
        for letter, n in zip(term, arg.shape, strict=True):
            if letter not in dims or isinstance(n, RowSet):
                dims[letter] = n
    if len(set(out)) < len(out) or not set(out) <= set(dims):
        node.refuse("terms do not fit the result")
    expect(node, [dims[letter] for letter in out])
    if any(isinstance(arg.fact, RANDOM) for arg in node.args):
        return spent(state, node)
    state.open(a, b)
    rows = {
        arg.fact.rows: term[arg.fact.axis]
        for arg, term in ((a, one), (b, two))
        if isinstance(arg.fact, Rows)
    }
    if not rows:
        lengths = {letter: fixed(node, n) for letter, n in dims.items()}
        _check_lengths(node, lengths)
        return _of_arrays(node, _Terms(one, two, out, lengths))
    records, letter = next(iter(rows.items()))
    letters = {
        term[arg.fact.axis] for arg, term in ((a, one), (b, two)) if isinstance(arg.fact, Rows)
    }
    lengths = {each: 1 if each == letter else fixed(node, n) for each, n in dims.items()}
    if len(rows) > 1 or len(letters) > 1:
        node.refuse("every record is combined with every other")
    for arg, term in ((a, one), (b, two)):
        if not isinstance(arg.fact, Rows) and (isinstance(arg.fact, Aggregate) or letter in term):
            node.refuse("records are weighted by their place, or by private values")
    _check_lengths(node, lengths)
    if letter in out:
        return _of_rows(node, _Terms(one, two, out, lengths), records, out.index(letter))
    shape = (records, *(dims[each] for each in out))
    between = Node(node.id, "product", [a, b], {}, shape, node.dtype, node.line, node.fact)
    between.fact = _of_rows(between, _Terms(one, two, letter + out, lengths), records, 0)
    return over_records(state, node, between)


def _check_lengths(node: Node, lengths: dict[str, int]) -> None:
    for term, arg in zip(node.params["terms"][:2], node.args, strict=True):
        for letter, n in zip(term, element(arg), strict=True):
            if n != lengths[letter]:
                node.refuse("its operands do not fit together")


def _product_box(node: Node, terms: _Terms) -> Box:
    """The box of the sum of products."""
    letters = terms.out + "".join(sorted(set(terms.one + terms.two) - set(terms.out)))
    full = tuple(terms.lengths[letter] for letter in letters)
    sides = []
    for arg, term in zip(node.args, (terms.one, terms.two), strict=True):
        found, on = arg.fact.box, terms.places(term, letters)
        sides.append(Box(on(found.lo), on(found.hi), found.nan, found.plain))
    return summed(multiply(*sides), full, list(range(len(terms.out), len(full))))


def _of_rows(node: Node, terms: _Terms, records: RowSet, axis: int) -> Rows:
    """Rows of products.

    Lemma. Outer product, nothing summed within a row: norms multiply. Otherwise |x M|_2 <= |x|_2 |M|_F, after
    the axes that only one operand has are summed, which lengthens it by the root of their lengths.
    """
    a, b = node.args
    found, fits = fitted(_product_box(node, terms), node.dtype)
    finite = a.fact.box.finite and b.fact.box.finite
    letter, sizes = terms.out[axis], [_as_vector(arg) for arg in (a, b)]
    one, two, out = set(terms.one), set(terms.two), set(terms.out)
    size = UNKNOWN
    if fits and not ((one | two) - out) and not (one & two) - {letter}:
        size = Size(
            (INF,),
            *(
                times(getattr(sizes[0], n), getattr(sizes[1], n))
                for n in ("l1", "l2", "linf", "changed")
            ),
        )
    elif fits:
        most = times(times(sizes[0].l2, sizes[1].l2), _lone(terms))
        size = Size((INF,), l2=most, linf=most)
    facts = [arg.fact for arg in (a, b) if isinstance(arg.fact, Rows)]
    sampling = next((fact.sampling for fact in facts if fact.sampling is not None), None)
    return rows_fact(
        node,
        found,
        records,
        axis,
        size,
        coins=coins_of(a, b),
        zero_null=finite and any(fact.zero_null for fact in facts),
        sampling=sampling if finite else None,
    )


def _lone(terms: _Terms) -> Number:
    """By how much sums over axes that only one operand has lengthen it: the root of their lengths."""
    alone = (set(terms.one) ^ set(terms.two)) - set(terms.out)
    return root_up(Fraction(math.prod(terms.lengths[letter] for letter in alone)))


def _as_vector(arg: Node) -> Size:
    """The operand as one vector: a row, or the whole public array."""
    if isinstance(arg.fact, Rows):
        return arg.fact.size
    return Size(arg.fact.box.size).tightened(math.prod(plain(arg)))


def _of_arrays(node: Node, terms: _Terms) -> Fact:
    """Products of aggregates with public numbers, or with each other.

    Lemma. Entry by entry a product moves by the sum of |difference| |weight|; L1 grows by at most the largest
    L1 norm of what one entry is multiplied with, L2 by the Frobenius norm.
    """
    a, b = node.args
    found, fits = fitted(_product_box(node, terms), node.dtype)
    if only_released(node.args):
        return Released(box=found)
    if not fits or not found.finite:
        return aggregate_fact(node, found, UNKNOWN, coins=coins_of(a, b))
    sides = [(a, b, terms.one, terms.two), (b, a, terms.two, terms.one)]
    private = [each for each in sides if isinstance(each[0].fact, Aggregate)]
    if len(private) == 2:
        parts = [
            _moved(terms, mine.fact.size, other, term, rest)
            for mine, other, term, rest in private
            if isinstance(mine.fact, Aggregate)
        ]
        return aggregate_fact(
            node, found, Size(parts[0]).plus(Size(parts[1])), coins=coins_of(a, b)
        )
    mine, other, term, rest = private[0]
    fact = mine.fact
    assert isinstance(fact, Aggregate)

    def change(size: Size) -> Size:
        weights = other.fact.box.size
        shape = plain(other)
        keep = [i for i, letter in enumerate(rest) if letter not in term]
        columns = max(added_up(weights, shape, keep), default=ZERO)
        frobenius = Size(weights).tightened(math.prod(shape)).l2
        entries = _moved(terms, size, other, term, rest)
        return Size(
            entries, times(size.l1, columns), times(size.l2, times(frobenius, _lone(terms)))
        )

    return aggregate_fact(
        node,
        found,
        change(fact.size),
        places=fact.places,
        sampling=fact.sampling,
        coins=coins_of(a, b),
        added=None if fact.added is None else change(fact.added),
    )


def _moved(terms: _Terms, size: Size, other: Node, term: str, rest: str) -> Entries:
    """Entry by entry: the sum of |difference| times |weight|."""
    letters = terms.out + "".join(sorted(set(terms.one + terms.two) - set(terms.out)))
    full = tuple(terms.lengths[letter] for letter in letters)
    mine, theirs = (
        terms.places(term, letters)(size.entries),
        terms.places(rest, letters)(other.fact.box.size),
    )
    many = max(len(mine), len(theirs))
    pairs = zip(
        mine * many if len(mine) == 1 else mine,
        theirs * many if len(theirs) == 1 else theirs,
        strict=True,
    )
    return added_up(
        tuple(times(x, y) for x, y in pairs), full, list(range(len(terms.out), len(full)))
    )
