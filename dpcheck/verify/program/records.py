"""Rows of some records, one number or bin a record, casts, what is missing, and what is released already."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from dpcheck.verify.program.boxes import (
    TRUTH,
    Box,
    box,
    fitted,
    is_float,
    is_whole,
    limits,
    loosened,
    union,
)
from dpcheck.verify.program.common import (
    Node,
    State,
    aggregate_fact,
    coins_of,
    element,
    expect,
    fixed,
    holds_where,
    integer,
    kept,
    kept_aggregate,
    not_rounded,
    only_released,
    plain,
    rows_fact,
    rule,
)
from dpcheck.verify.program.facts import (
    RANDOM,
    Aggregate,
    Coins,
    Drawn,
    Fact,
    Places,
    Public,
    Region,
    Released,
    Rows,
    RowSet,
    Sampling,
    Shape,
    together,
)
from dpcheck.verify.program.numbers import INF, ONE, ZERO, Number, finite, magnitude, read
from dpcheck.verify.program.randomness import anything, one_coin_a_row, spent
from dpcheck.verify.program.relations import region_of, where_known
from dpcheck.verify.program.sizes import ONE_ENTRY, UNKNOWN, Size, where_it_differs


def rows_of(node: Node) -> tuple[Node, Rows]:
    """The first operand, which has rows."""
    a = node.args[0]
    if not isinstance(a.fact, Rows):
        return node.refuse("its operand has no rows")
    return a, a.fact


def chosen_shape(a: Node, fact: Rows, rows: RowSet) -> Shape:
    """The shape with other records."""
    return tuple(rows if i == fact.axis else n for i, n in enumerate(a.shape))


@rule("filter")
def filter_rows(state: State, node: Node) -> Fact:
    """the records that a mask keeps: a private mask makes their number private, own coins sample them"""
    a, fact = rows_of(node)
    mask = node.args[1]
    if integer(node, "axis") != fact.axis:
        node.refuse("a mask along another axis than the records")
    found = fact.box
    if isinstance(mask.fact, Coins):
        if not one_coin_a_row(mask, fact.rows):
            node.refuse("coins that do not belong to one record each choose rows")
        ids = frozenset(each for ids in mask.fact.ids for each in ids)
        made = replace(_selected(node, fact), count=None, sampling=Sampling(ids, mask.fact.rate))
    elif (
        isinstance(mask.fact, Rows)
        and mask.fact.rows is fact.rows
        and math.prod(element(mask)) == 1
    ):
        where = together(fact.rows.predicate, holds_where(mask, True))
        made = replace(_selected(node, fact), count=None, optional=True, predicate=where)
        found = _narrowed(a, mask, found)
    else:
        return node.refuse("rows are chosen by a mask of other records")
    rows = state.part(node, ("mask", id(fact.rows), mask.id), made)
    expect(node, chosen_shape(a, fact, rows))
    known = kept(fact) | {"coins": coins_of(a, mask)}
    return rows_fact(node, found, rows, fact.axis, fact.size, **known)


def _selected(node: Node, fact: Rows) -> RowSet:
    rows = fact.rows
    return RowSet(node.id, rows.count, rows.optional, rows.sampling, rows.predicate, rows.places)


def _narrowed(a: Node, mask: Node, found: Box) -> Box:
    """x[x > c] is above c; x[~isnan(x)] is never NaN."""
    fact = mask.fact
    if not isinstance(fact, Rows) or a.shape != mask.shape:
        return found
    if fact.missing is not None and fact.missing.source == a.id:
        return where_known(fact.missing, found, a.dtype, True)
    region = (fact.truth or {}).get(a.id)
    if region is None or region.members is not None:
        return found
    inside = found.within(region.low, region.high)
    return Box(inside.lo, inside.hi, False, found.plain)


@rule("batch")
def batch(state: State, node: Node) -> Fact:
    """rows of a batch of a fixed size, chosen uniformly"""
    a, fact = rows_of(node)
    places = node.args[1]
    chosen = places.fact
    if integer(node, "axis") != fact.axis or not isinstance(chosen, Places):
        return node.refuse("random places of something else than rows")
    if fact.rows.count != chosen.count or not fact.rows.all_in or state.adjacency == "add-remove":
        node.refuse("a batch is drawn out of another number of rows than there are")
    ids = frozenset(each for ids in chosen.ids for each in ids)
    sampling = Sampling(ids, Fraction(chosen.batch, chosen.count), chosen.batch, chosen.count)
    made = replace(_selected(node, fact), count=chosen.batch, sampling=sampling)
    rows = state.part(node, ("batch", id(fact.rows), places.id), made)
    expect(node, chosen_shape(a, fact, rows))
    return rows_fact(
        node, fact.box, rows, fact.axis, fact.size, **(kept(fact) | {"coins": coins_of(a, places)})
    )


@rule("sampled")
def sampled(state: State, node: Node) -> Fact:
    """rows times their own coins: a row is 0 unless its coin fell on heads"""
    a, fact = rows_of(node)
    coins = node.args[1]
    expect(node, a.shape)
    if not isinstance(coins.fact, Coins) or coins.ndim > a.ndim:
        return node.refuse("its second operand is no column of coins")
    at = fact.axis - (a.ndim - coins.ndim)
    aligned = at >= 0 and all(n == 1 or i == at for i, n in enumerate(coins.shape))
    if (
        not aligned
        or not one_coin_a_row(coins, fact.rows)
        or fact.sampling is not None
        or not fact.box.finite
    ):
        node.refuse("a product of rows and coins that do not belong to one record each")
    ids = frozenset(each for ids in coins.fact.ids for each in ids)
    known = kept(fact) | {"sampling": Sampling(ids, coins.fact.rate), "coins": coins_of(a, coins)}
    wide = fact.box.with_zero()  # -1.0 * 0 is -0.0
    found, fits = fitted(replace(wide, plain=wide.plain and fact.box.least >= 0), node.dtype)
    return rows_fact(node, found, fact.rows, fact.axis, fact.size if fits else UNKNOWN, **known)


# One number or bin a record -----------------------------------------------------------------------------


@rule("ones")
def ones(state: State, node: Node) -> Fact:
    """a 1 for every record"""
    _, fact = rows_of(node)
    expect(node, (fact.rows,))
    return rows_fact(node, box(ONE, ONE, plain=True), fact.rows, 0, UNKNOWN, coins=fact.coins)


@rule("one_hot")
def one_hot(state: State, node: Node) -> Fact:
    """each record is in at most one bin: a row that is 0 but for one entry, or none"""
    a, fact = rows_of(node)
    if a.ndim != 1:
        node.refuse("its operand is no column")
    expect(node, (fact.rows, integer(node, "bins")))
    return rows_fact(node, box(ZERO, ONE, plain=True), fact.rows, 0, ONE_ENTRY, coins=fact.coins)


def _function(state: State, node: Node, low: Number, high: Number) -> Fact:
    """A function of entries of which only the range is known."""
    a = node.args[0]
    fact, found = a.fact, box(low, high, plain=True)
    expect(node, a.shape)
    if isinstance(fact, RANDOM):
        return spent(state, node)
    state.open(a)
    if isinstance(fact, Rows):
        return rows_fact(node, found, fact.rows, fact.axis, UNKNOWN, coins=fact.coins)
    if isinstance(fact, Aggregate):
        return aggregate_fact(node, found, where_it_differs(fact.size), coins=fact.coins)
    return Released(box=found)


@rule("digitize")
def digitize(state: State, node: Node) -> Fact:
    """the bin of each entry among public edges"""
    edges = node.params.get("edges")
    if not isinstance(edges, list):
        return node.refuse("edges must be a list")
    return _function(state, node, ZERO, Fraction(len(edges)))


@rule("isin")
def isin(state: State, node: Node) -> Fact:
    """a truth value for each entry"""
    return _function(state, node, ZERO, ONE)


@rule("lookup")
def lookup(state: State, node: Node) -> Fact:
    """a public number for each whole number in a public range"""
    table, first, found = node.params.get("table"), integer(node, "first"), node.args[0].fact.box
    if not isinstance(table, list) or not table:
        return node.refuse("table must be a list")
    if found.nan or found.least < first or found.most >= first + len(table):
        node.refuse("a place that may not exist")
    values = [read(each, "table") for each in table]
    return _function(state, node, min(values), max(values))


def _column(node: Node) -> tuple[Node, Rows]:
    a, fact = rows_of(node)
    if a.ndim != 1:
        node.refuse("its operand is no column")
    expect(node, a.shape)
    return a, fact


@rule("is_value")
def is_value(state: State, node: Node) -> Fact:
    """a truth value for each record: whether a column of text is a public text"""
    a, fact = _column(node)
    public = node.params.get("public")
    if not isinstance(public, str | int):
        return node.no_certificate("a comparison with a value of that type")
    inside, outside = (Region(members=frozenset({public}), but=but) for but in (False, True))
    return rows_fact(
        node,
        TRUTH,
        fact.rows,
        fact.axis,
        UNKNOWN,
        coins=fact.coins,
        truth={a.id: inside},
        falsehood={a.id: outside},
    )


@rule("place_of")
def place_of(state: State, node: Node) -> Fact:
    """the place of each record among public categories, -1 for none"""
    _, fact = _column(node)
    categories = node.params.get("categories")
    if not isinstance(categories, list):
        return node.refuse("categories must be a list")
    found = box(-ONE, Fraction(len(categories) - 1))
    return rows_fact(node, found, fact.rows, fact.axis, UNKNOWN, coins=fact.coins)


@rule("clip_norm")
def clip_norm(state: State, node: Node) -> Fact:
    """each row is scaled to norm at most C; NaN and infinite entries count as 0"""
    a, fact = rows_of(node)
    expect(node, a.shape)
    bound, order = read(node.params.get("bound"), "bound"), node.params.get("order")
    name = {1: "l1", 2: "l2", "inf": "linf"}.get(order)
    if name is None or not bound > 0:
        return node.refuse("a norm has order 1, 2 or infinity and a positive bound")
    most = min(bound, fact.size.linf)
    found = fact.box.with_zero()
    size = fact.size.norms() if fact.box.finite else Size(changed=fact.size.changed)
    size = replace(size, **{name: min(bound, getattr(size, name))})
    within = Box(found.lo, found.hi).within(-most, most)
    return rows_fact(node, within, fact.rows, fact.axis, size, **kept(fact))


# Casts, and what is missing -----------------------------------------------------------------------------


@rule("convert")
def convert(state: State, node: Node) -> Fact:
    """a cast: rows stay rows; whole numbers that may not fit wrap around, fractions are cut"""
    a = node.args[0]
    fact = a.fact
    expect(node, a.shape)
    if isinstance(fact, Coins):
        return fact
    if isinstance(fact, RANDOM):
        return fact if node.dtype == a.dtype else spent(state, node)
    if not all(is_float(each) or is_whole(each) for each in (a.dtype, node.dtype)):
        node.no_certificate("a cast of something that is no number")
    state.open(a)
    steps = is_float(a.dtype) and is_whole(node.dtype)
    before = loosened(fact.box, not_rounded(a)) if steps else fact.box
    found, exact = _cast(before, a.dtype, node.dtype)
    if only_released([a]):
        return Released(box=found)
    if isinstance(fact, Rows):
        keeps = exact or is_float(node.dtype)
        return rows_fact(
            node,
            found,
            fact.rows,
            fact.axis,
            fact.size if exact else UNKNOWN,
            zero_null=fact.zero_null,
            sampling=fact.sampling,
            coins=fact.coins,
            predicate=together(fact.predicate, holds_where(a, True)),
            factor=fact.factor if keeps and node.dtype in ("float32", "float64") else None,
            complement=fact.complement if a.dtype == "bool" else None,
            multiple=(a.id, ONE) if exact else None,
        )
    assert isinstance(fact, Aggregate)
    if exact:
        return aggregate_fact(node, found, fact.size, **kept_aggregate(fact, lambda size: size))
    return aggregate_fact(
        node, found, _cut(fact, a.dtype, node.dtype), places=fact.places, coins=fact.coins
    )


def _cast(found: Box, before: str, dtype: str) -> tuple[Box, bool]:
    """The box after the cast, and whether every value stays what it was."""
    if dtype == "bool":
        return TRUTH, before == "bool"
    if is_float(before) and is_whole(dtype) and found.finite:
        lo, hi = (tuple(Fraction(math.trunc(end)) for end in ends) for ends in (found.lo, found.hi))
        found = Box(lo, hi, plain=True)
    made, inside = fitted(found, dtype)
    return made, inside and (is_float(dtype) or not is_float(before)) and (
        found.finite or is_float(dtype)
    )


def _cut(fact: Aggregate, before: str, dtype: str) -> Size:
    """Fractions are cut off: one step more; what may wrap around may move by anything."""
    low, high = limits(dtype)
    inside = not fact.box.nan and low < fact.box.least and fact.box.most < high
    if not (is_float(before) and is_whole(dtype) and dtype != "bool" and inside):
        return where_it_differs(fact.size)
    slack = Fraction(1, 10**9)
    entries = tuple(
        Fraction(math.floor(e + slack) + 1) if not isinstance(e, float) else INF
        for e in fact.size.entries
    )
    return Size(entries, changed=fact.size.changed)


@rule("fill")
def fill(state: State, node: Node) -> Fact:
    """NaN becomes a public number, infinities the public ends"""
    a = node.args[0]
    fact = a.fact
    expect(node, a.shape)
    if isinstance(fact, RANDOM):
        return spent(state, node)
    state.open(a)
    if not is_float(a.dtype):
        return replace(fact, release=None) if isinstance(fact, Released) else fact
    least, most = limits(a.dtype)
    high, low = (
        end if node.params.get(name) is None else read(node.params[name], name)
        for name, end in (("posinf", most), ("neginf", least))
    )
    old = fact.box
    lo = tuple(least if end == -INF else end for end in old.lo)
    hi = tuple(most if end == INF else end for end in old.hi)
    found = Box(tuple(map(min, lo, hi)), tuple(map(max, lo, hi)))
    for end, value in ((-INF, low), (INF, high)):
        if end in old.lo or end in old.hi:
            found = union(found, box(value, value))
    if old.nan:
        nan = read(node.params.get("nan", 0), "nan")
        found = union(found, box(nan, nan))
    if only_released([a]):
        return Released(box=found)
    if isinstance(fact, Rows):
        zero = fact.zero_null
        size = fact.size if old.finite else UNKNOWN
        return rows_fact(
            node,
            found,
            fact.rows,
            fact.axis,
            size,
            coins=fact.coins,
            zero_null=zero,
            sampling=fact.sampling,
            predicate=fact.predicate,
        )
    assert isinstance(fact, Aggregate)
    size = fact.size if old.finite else where_it_differs(fact.size)
    return aggregate_fact(node, found, size, coins=fact.coins)


@rule("assume")
def assume(state: State, node: Node) -> Fact:
    """the value itself, for records of which a comparison is true: a later select must make sure of it"""
    a = node.args[0]
    fact = a.fact
    expect(node, a.shape)
    if isinstance(fact, Aggregate | Public):
        return fact
    if not isinstance(fact, Rows):
        return node.no_certificate("a value within one side of a comparison")
    multiple = fact.multiple or (a.id, ONE)
    answer, limit = node.params.get("answer") is True, read(node.params.get("limit"), "limit")
    where = region_of(str(node.params.get("comparison")), limit, answer)
    if where is None or math.prod(element(a)) != 1 or (fact.box.nan and not answer):
        return replace(fact, multiple=multiple)
    node.given = frozenset({(a.id, where)})
    found = fact.box.within(where.low, where.high)
    return replace(fact, multiple=multiple, box=Box(found.lo, found.hi, False, found.plain))


# What is released ---------------------------------------------------------------------------------------


@rule("apply", "either")
def apply(state: State, node: Node) -> Fact:
    """any function of released and public values is released"""
    if not only_released(node.args):
        node.refuse("it is computed from private values")
    state.open(*node.args)
    return Released(box=anything(node))


@rule("number")
def number(state: State, node: Node) -> Fact:
    """float() and int() of one number"""
    a = node.args[0]
    fact = a.fact
    expect(node, ())
    if isinstance(fact, Drawn) and node.dtype == a.dtype:
        return fact
    if isinstance(fact, RANDOM):
        return spent(state, node)
    if only_released([a]):
        state.open(a)
        if any(n != 1 for n in plain(a)):
            node.refuse("it has more than one number")
        return Released(box=anything(node))
    if isinstance(fact, Aggregate) and a.ndim == 0:
        steps = is_float(a.dtype) and is_whole(node.dtype)
        before = loosened(fact.box, not_rounded(a)) if steps else fact.box
        found, exact = _cast(before, a.dtype, node.dtype)
        if is_whole(node.dtype) and not is_whole(a.dtype):
            if not (
                fact.box.finite
                and max(magnitude(fact.box.least), magnitude(fact.box.most)) <= 2**53
            ):
                node.refuse("int() of a value that may be NaN, infinite or huge")
            return aggregate_fact(
                node, found, _cut(fact, a.dtype, node.dtype), places=fact.places, coins=fact.coins
            )
        if exact:
            return aggregate_fact(node, found, fact.size, **kept_aggregate(fact, lambda size: size))
    return node.refuse("a private value is turned into a plain number")


# Data ---------------------------------------------------------------------------------------------------


def data(state: State, node: Node) -> Fact:
    """The records: each in the described box; under zero-out the null record, 0, is one of them."""
    everything = next(iter(state.row_sets.values()))
    if not node.shape or node.shape[0] is not everything:
        node.refuse("the data have one row for each record")
    count = math.prod(element_of(node))
    lo, hi = (tuple(read(each, name) for each in _listed(node, name)) for name in ("low", "high"))
    if len(lo) != len(hi) or len(lo) not in (1, count) or not all(map(_ordered, lo, hi)):
        node.refuse("its bounds are not in order")
    known, nan = is_whole(node.dtype) or is_float(node.dtype), node.params.get("missing") is True
    found, _ = fitted(Box(lo, hi, nan, plain=is_whole(node.dtype)), node.dtype)
    if state.adjacency == "zero-out" and (not known or found.with_zero() != found):
        node.refuse("the null record of zeros does not fit the description")
    if not known and (finite(found.least) or finite(found.most)):
        node.refuse("what is no number has no bounds")
    whole = node.params.get("whole") is True
    return rows_fact(node, found, everything, 0, UNKNOWN, zero_null=known, whole=whole)


def element_of(node: Node) -> tuple[int, ...]:
    """The shape of one record's row of the data."""
    return (1, *(fixed(node, n) for n in node.shape[1:]))


def _ordered(low: Number, high: Number) -> bool:
    return low <= high


def _listed(node: Node, name: str) -> list[object]:
    value = node.params.get(name)
    return value if isinstance(value, list) else [value]


def constant(node: Node) -> Fact:
    """A public array, number or text."""
    value = node.params.get("value")
    if (
        isinstance(value, str)
        or value is None
        or not (is_whole(node.dtype) or is_float(node.dtype))
    ):
        return Public(box=anything(node), value=value)
    entries = [value] if not isinstance(value, list) else value
    numbers = [None if each == "nan" else read(each, "value") for each in entries]
    if len(numbers) not in (1, math.prod(plain(node))):
        node.refuse("it has another number of entries")
    lo, hi = (tuple(end if each is None else each for each in numbers) for end in (-INF, INF))
    return Public(box=Box(lo, hi, None in numbers, not any(map(_minus_zero, entries))), value=value)


def _minus_zero(value: object) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1.0, value) < 0
