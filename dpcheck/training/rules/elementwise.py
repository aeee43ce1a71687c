"""Elementwise functions: what they keep of rows, aggregates, draws and norms."""

from __future__ import annotations

import math
from dataclasses import replace

from dpcheck.training.derive import Context
from dpcheck.training.facts import (
    Aggregate,
    Drawn,
    Fact,
    Factor,
    Keys,
    Limit,
    Member,
    Multiple,
    Numbers,
    Powers,
    Public,
    Rows,
    Sums,
    Term,
    Vector,
    united,
)
from dpcheck.training.graph import BINARY, UNARY, Node
from dpcheck.training.refusals import UNBOUNDED
from dpcheck.training.rules import numbers as of
from dpcheck.training.rules.refining import refined
from dpcheck.training.rules.registry import rule
from dpcheck.training.rules.releasing import released
from dpcheck.training.rules.rowwise import (
    after_sum,
    as_block,
    clipped,
    is_public,
    joined_sums,
    member_scaled,
    multiple,
    of_size,
    scalar,
    shared,
    terms_scaled,
    tokens_of,
    with_tag,
    zero_of,
)

_AT_ZERO = frozenset(  # 0 where their argument is 0
    {
        "neg",
        "abs",
        "sign",
        "square",
        "sqrt",
        "cbrt",
        "expm1",
        "log1p",
        "sin",
        "tan",
        "asin",
        "atan",
        "sinh",
        "tanh",
        "asinh",
        "atanh",
        "erf",
        "erf_inv",
        "floor",
        "ceil",
        "round",
        "copy",
        "stop_gradient",
        "is_nan",
    }
)
_LINEAR = frozenset({"neg", "copy", "stop_gradient"})
_LENGTH = _LINEAR | {"abs"}  # each entry keeps its absolute value


def _image(node: Node, x: Numbers) -> Numbers:
    if node.op == "integer_pow":
        return of.power(x, float(node.params["y"]))
    if node.op == "not" and node.out.dtype != "bool":
        return of.ANY
    return of.UNARY[node.op](x)


@rule(*sorted(UNARY))
def unary(at: Context, node: Node, x: Fact) -> Fact:
    """f(x): of rows, row by row; of an aggregate, only -x is one.

    **Lemma.** If the runs differ in at most one index of x they do so in f(x). |-x| = |x|. A square adds up
    to the squared norm, an absolute value to the L1 norm, which is no less than the L2 norm.
    """
    if node.op in _LINEAR and isinstance(x.kind, Aggregate):
        return Fact(_image(node, x.numbers), x.kind)
    if node.op in ("copy", "stop_gradient") and isinstance(x.kind, Keys):
        return x
    if node.op in _LINEAR and isinstance(x.kind, Drawn):
        return x
    x = at.settled(x)
    image = _image(node, x.numbers)
    if isinstance(x.kind, Public):
        same = node.op in ("copy", "stop_gradient")
        return Fact(image, replace(at.public([x]), multiple=x.kind.multiple if same else None))
    x = as_block(at, node.args[0], x)
    if isinstance(x.kind, Aggregate):
        return after_sum(at)
    rows = x.kind
    assert isinstance(rows, Rows)
    found = rows.bare(zero=node.op in _AT_ZERO and zero_of(x))
    half = node.out.half or node.args[0].half
    exponent = _exponent(node)
    if node.op in _LENGTH:
        found = replace(found, vector=rows.vector)
    if node.op in _LINEAR:
        found = replace(found, zero=rows.zero, member=rows.member)
        if node.op != "neg":
            found = replace(found, tag=rows.tag, sums=rows.sums, test=rows.test)
    elif half or rows.grouped:
        return Fact(image, found)
    elif node.op == "abs":
        sums = Sums(rows.vector.tokens, 1, rows.vector.factor) if rows.vector else None
        found = replace(found, sums=rows.sums or sums, tag=rows.tag)
    elif exponent is not None:
        if exponent == 2 and rows.vector is not None:
            found = replace(found, sums=Sums(rows.vector.tokens, 2, rows.vector.factor))
        if rows.tag is not None:
            found = replace(found, tag=rows.tag.raised(exponent))
    elif node.op == "not" and rows.test is not None:
        found = replace(found, test=replace(rows.test, greater=not rows.test.greater))
    return Fact(image, with_tag(found, node.out.shape, at.name))


def _exponent(node: Node) -> float | None:
    known = {"square": 2.0, "sqrt": 0.5, "rsqrt": -0.5, "reciprocal": -1.0, "cbrt": 1 / 3}
    return float(node.params["y"]) if node.op == "integer_pow" else known.get(node.op)


@rule(*sorted(BINARY))
def binary(at: Context, node: Node, a: Fact, b: Fact) -> Fact:
    """f(a, b), entry by entry.

    **Lemma.** Rows of the same records stay rows. Sums and multiples of aggregates are aggregates. An aggregate
    plus a fresh draw is a release.
    """
    a, b = _constant(a, b), _constant(b, a)
    if node.op in ("add", "sub"):
        found = _sum(at, node, a, b)
        if found is not None:
            return found
    if node.op in ("mul", "div"):
        found = _multiple(at, node, a, b)
        if found is not None:
            return found
    a, b = at.settled(a), at.settled(b)
    image = of.BINARY[node.op](a.numbers, b.numbers)
    if node.op in ("and", "or", "xor") and node.out.dtype != "bool":
        image = of.ANY
    if node.op == "mul" and node.args[0] == node.args[1]:
        image = of.power(a.numbers, 2.0)
    if node.op in ("eq", "ne") and node.args[0] == node.args[1] and not a.numbers.nan:
        image = Numbers(1.0, 1.0) if node.op == "eq" else Numbers(0.0, 0.0)
    if is_public(a, b):
        return Fact(image, replace(at.public([a, b]), multiple=_public_product(node, a, b)))
    a, b = as_block(at, node.args[0], a), as_block(at, node.args[1], b)
    if isinstance(a.kind, Aggregate) or isinstance(b.kind, Aggregate):
        if (isinstance(a.kind, Rows) and a.kind.axes) or (isinstance(b.kind, Rows) and b.kind.axes):
            both = shared(at, [a, b])
            assert isinstance(both, Fact)
            return both
        return after_sum(at)
    rows = shared(at, [a, b])
    if isinstance(rows, Fact):
        return rows
    return Fact(image, with_tag(_known(at, node, rows, a, b), node.out.shape, at.name))


def _public_product(node: Node, a: Fact, b: Fact) -> Multiple | None:
    """Multiples of public numbers stay multiples of them."""
    left, right = multiple(a), multiple(b)
    if left is None or right is None or not (left.powers or right.powers):
        return None
    if node.op == "mul":
        return left.times(right)
    return left.times(right.power(-1)) if node.op == "div" and right.factor else None


def _constant(x: Fact, beside: Fact) -> Fact:
    """One number for all records, beside records, as public."""
    named = isinstance(beside.kind, Rows) and beside.kind.order is not None
    if named and isinstance(x.kind, Rows) and x.kind.order is None:
        if x.numbers.exactly is not None:
            return Fact(x.numbers, Public())
        if x.kind.same is not None:
            return Fact(x.numbers, Public(multiple=x.kind.same))
    return x


def _sum(at: Context, node: Node, a: Fact, b: Fact) -> Fact | None:
    """a + b and a - b where one side is an aggregate, a draw or nothing."""
    if scalar(b) == 0.0 and _same_type(node, 0) and not isinstance(a.kind, Keys):
        return a
    if (
        scalar(a) == 0.0
        and node.op == "add"
        and _same_type(node, 1)
        and not isinstance(b.kind, Keys)
    ):
        return b
    image = of.BINARY[node.op](a.numbers, b.numbers)
    whole = [
        isinstance(x.kind, Aggregate) or (isinstance(x.kind, Rows) and not x.kind.axes)
        for x in (a, b)
    ]
    for x, noise, private in ((a, b, whole[0]), (b, a, whole[1])):
        if private and isinstance(noise.kind, Drawn):
            total = _aggregate(at, x, node)
            assert isinstance(total.kind, Aggregate)
            if isinstance(x.kind, Rows) and math.isinf(total.kind.terms[0].scale):
                return None  # numbers that a record is changed by: coins
            return released(at, node, total, noise)
        if isinstance(noise.kind, Drawn) and isinstance(x.kind, Public) and x.numbers.tame:
            return Fact(image, replace(noise.kind, shifted=True))
    if all(whole):
        rows = [x.kind for x in (a, b) if isinstance(x.kind, Rows)]
        if len({(each.region, each.order) for each in rows}) == len(rows) - 1:
            return None  # two values of one record
        left, right = _aggregate(at, a, node), _aggregate(at, b, node)
        assert isinstance(left.kind, Aggregate) and isinstance(right.kind, Aggregate)
        return Fact(image, Aggregate(merged((*left.kind.terms, *right.kind.terms))))
    for x, other in ((a, b), (b, a)):
        if isinstance(x.kind, Aggregate) and isinstance(other.kind, Public):
            return Fact(image, x.kind)
    return None


def merged(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """The same terms, one for each group and region."""
    found: dict[object, Term] = {}
    for term in terms:
        key = (term.source, term.tokens, term.part, term.region, term.zero, term.unit)
        old = found.get(key)
        found[key] = term if old is None else replace(term, scale=term.scale + old.scale)
    return tuple(found.values())


def _same_type(node: Node, index: int) -> bool:
    return node.args[index].dtype == node.out.dtype


def _aggregate(at: Context, x: Fact, node: Node) -> Fact:
    """Rows of a few records alone, as part of a sum."""
    if isinstance(x.kind, Aggregate):
        return x
    return Fact(x.numbers, Aggregate((at.total(x, node.out.size),)))


def _multiple(at: Context, node: Node, a: Fact, b: Fact) -> Fact | None:
    """a b and a / b where one side is an aggregate or a draw and the other public."""
    if node.op == "mul" and isinstance(a.kind, Public):
        a, b = b, a
    if not isinstance(b.kind, Public):
        return None
    factor = b.numbers if node.op == "mul" else of.reciprocal(b.numbers)
    image = of.BINARY[node.op](a.numbers, b.numbers)
    known = multiple(b)
    if known is not None and node.op == "div":
        known = known.power(-1) if known.factor else None
    if isinstance(a.kind, Drawn):
        if known is None or known.factor == 0.0:
            at.ledger.hints.append(
                f"{node.line}: the scale of this noise is not a constant that can be read here"
            )
            return None
        scale, unit = a.kind.scale * abs(known.factor), united(a.kind.unit, known.powers)
        return Fact(image, replace(a.kind, scale=scale, unit=unit))
    if isinstance(a.kind, Aggregate):
        size, unit = _size(known, factor)
        return Fact(image, replace(a.kind, terms=terms_scaled(a.kind.terms, size, unit=unit)))
    return None


def _size(known: Multiple | None, numbers: Numbers) -> tuple[float, Powers]:
    """The largest magnitude of a public factor, in units of public numbers that are not known."""
    if known is not None and known.powers:
        return abs(known.factor), known.powers
    return of_size(numbers), ()


def _known(at: Context, node: Node, rows: Rows, a: Fact, b: Fact) -> Rows:
    """What is known of one record's entries after a binary function of rows and public values."""
    zero = _zero(node.op, a, b)
    found = replace(rows, zero=zero)
    if node.out.half or any(arg.half for arg in node.args):
        return replace(found, why=found.why or "half-precision")
    if node.op in ("mul", "div"):
        return _product(node, found, a, b)
    if rows.grouped:
        return found
    left, right = _factor(a), _factor(b)
    if node.op == "add" and isinstance(a.kind, Rows) and isinstance(b.kind, Rows):
        return _added(found, a.kind, b.kind, left, right)
    if left is None and right is None:
        return found
    tag, other, first = (left, b, True) if left is not None else (right, a, False)
    assert tag is not None
    if left is not None and right is not None and left.source == right.source:
        return _both(node, found, left, right)
    known = multiple(other)
    if known is not None and (known.powers or tag.unit):
        return _beside(node, found, tag, known, other.numbers, first)
    number = scalar(other)
    if number is None or number < 0:
        return found
    if node.op == "min":
        return replace(found, tag=tag.at_most(number))
    if node.op == "max":
        return replace(found, tag=tag.at_least(number))
    if node.op == "add":
        low = (*tag.below, (number, 0.0))
        return replace(
            found, tag=replace(tag, above=() if number else tag.above, below=low, bound=math.inf)
        )
    if node.op == "pow" and first and number > 0:
        vector = a.kind.vector if isinstance(a.kind, Rows) and number == 2 else None
        sums = Sums(vector.tokens, 2, vector.factor) if vector is not None else None
        return replace(found, tag=tag.raised(number), sums=sums)
    if node.op in ("gt", "ge", "lt", "le"):
        return replace(found, test=_test(tag, number, greater=(node.op[0] == "g") == first))
    return found


def _both(node: Node, found: Rows, left: Factor, right: Factor) -> Rows:
    """min and max of two factors of one norm. In units of what may be negative, |min(s, t)| may be the larger."""
    if left.unit or right.unit:
        return found
    if node.op == "min":
        return replace(found, tag=replace(left, above=(*left.above, *right.above), below=()))
    if node.op == "max":
        low = (*left.below, *right.below)
        return replace(found, tag=replace(left, above=(), below=low, bound=math.inf))
    return found


def _beside(
    node: Node, found: Rows, tag: Factor, other: Multiple, numbers: Numbers, first: bool
) -> Rows:
    """A factor beside a number, where one of them is in units of a public number that is not known.

    **Lemma.** For c >= 0, |min(s, c)| <= |s|. If s >= 0, which all that have bounds from below are, max(s, c) >= s,
    and s + c >= s if c >= 0. r > c is a limit of r.
    """
    if not (numbers.lo >= 0 and numbers.tame):
        if node.op in ("gt", "ge", "lt", "le"):
            return replace(found, test=_limit(node, tag, other, first))
        return (
            replace(found, tag=replace(tag, above=(), bound=math.inf))
            if node.op == "max"
            else found
        )
    if node.op == "min":
        return replace(found, tag=replace(tag, below=()))
    if node.op in ("max", "add"):
        return replace(found, tag=replace(tag, above=(), bound=math.inf))
    if node.op in ("gt", "ge", "lt", "le"):
        return replace(found, test=_limit(node, tag, other, first))
    return found


def _limit(node: Node, tag: Factor, other: Multiple, first: bool) -> Limit | None:
    """a r > c as r > c / a."""
    if tag.unit or tag.above != tag.below or len(tag.above) != 1 or tag.above[0][1] != 1.0:
        return None
    limit = other.factor / tag.above[0][0]
    return Limit(tag, limit, (node.op[0] == "g") == first, other.powers) if limit > 0 else None


def _factor(x: Fact) -> Factor | None:
    return x.kind.tag if isinstance(x.kind, Rows) and not x.kind.grouped else None


def _added(found: Rows, a: Rows, b: Rows, left: Factor | None, right: Factor | None) -> Rows:
    """Sums of squares of different arrays add up; so do L1 norms, and norms, which are no less together."""
    sums = joined_sums(a.sums, b.sums)
    if sums is not None:
        return replace(found, sums=sums)
    if left is None or right is None or left.source != right.source or left.unit != right.unit:
        return found
    low = (*left.below, *right.below)
    return replace(found, tag=replace(left, above=(), below=low, bound=math.inf))


def _test(tag: Factor, number: float, greater: bool) -> Limit | None:
    """s(r) > number as r > limit."""
    if tag.above != tag.below or len(tag.above) != 1:
        return None
    a, p = tag.above[0]
    if p <= 0 or a <= 0:
        return None
    return Limit(tag, (number / a) ** (1 / p), greater)


def _zero(op: str, a: Fact, b: Fact) -> bool:
    if op == "mul":
        return (zero_of(a) and b.numbers.tame) or (zero_of(b) and a.numbers.tame)
    if op == "div":
        return zero_of(a) and b.numbers.without_zero and not b.numbers.nan
    if op in ("add", "sub", "max", "min", "and", "or", "xor"):
        return zero_of(a) and zero_of(b)
    return False


def _product(node: Node, found: Rows, a: Fact, b: Fact) -> Rows:
    """Rows times a factor."""
    if node.op == "mul" and isinstance(a.kind, Public):
        a, b = b, a
    public = isinstance(b.kind, Public)
    if not isinstance(a.kind, Rows):  # public / rows
        tag, known = _factor(b), multiple(a)
        raised = tag.raised(-1.0) if tag is not None else None
        if raised is None or known is None or found.grouped:
            return found
        return replace(found, tag=_times(raised, known, a.numbers))
    size = of_size(b.numbers if node.op == "mul" else of.reciprocal(b.numbers))
    rows = a.kind
    if public:
        number, known = scalar(b), multiple(b)
        if known is not None and node.op == "div":
            known = known.power(-1) if known.factor else None
        size, unit = _size(known, b.numbers if node.op == "mul" else of.reciprocal(b.numbers))
        zero = rows.zero if rows.grouped and b.numbers.tame else found.zero
        found = replace(found, zero=zero, member=member_scaled(rows.member, size, unit=unit))
        if known is not None and known.powers and rows.tag is not None and not rows.grouped:
            return replace(found, tag=_times(rows.tag, known, b.numbers))
        if number is None or number == 0:
            return found
        by = number if node.op == "mul" else 1 / number
        return _scaled(found, rows, by)
    if found.grouped:
        return found
    assert isinstance(b.kind, Rows)
    return _of_two(node, found, a, b, size)


def _times(tag: Factor, known: Multiple, numbers: Numbers) -> Factor | None:
    """A factor times a public number. Of one that may be negative only bounds of |s| from above are known."""
    if not known.powers and known.factor <= 0:
        return None
    scaled = tag.scaled(abs(known.factor))
    if scaled is None:
        return None
    below = scaled.below if numbers.lo >= 0 else ()
    return replace(scaled, below=below, unit=united(tag.unit, known.powers))


def _scaled(found: Rows, rows: Rows, by: float) -> Rows:
    vector = rows.vector
    if vector is not None:
        found = replace(found, vector=Vector(vector.tokens, vector.factor * abs(by), vector.lower))
    if by > 0:
        if rows.sums is not None:
            sums = rows.sums
            found = replace(found, sums=replace(sums, factor=sums.factor * by ** (1 / sums.power)))
        if rows.tag is not None:
            found = replace(found, tag=rows.tag.scaled(by))
        # the test of a scaled norm is taken from the scaled tag
    return found


def _of_two(node: Node, found: Rows, a: Fact, b: Fact, size: float) -> Rows:
    """Rows times rows: a clip factor, a bounded weight, a square."""
    first, second = a.kind, b.kind
    assert isinstance(first, Rows) and isinstance(second, Rows)
    if node.op == "mul" and node.args[0] == node.args[1]:
        sums = (
            Sums(first.vector.tokens, 2, first.vector.factor) if first.vector is not None else None
        )
        return replace(found, sums=sums, tag=first.tag.raised(2.0) if first.tag else None)
    choices = []
    for v, other, numbers in ((first, second, b.numbers), (second, first, a.numbers)):
        if v is second and node.op == "div":
            break
        tag = other.tag if node.op == "mul" else other.tag.raised(-1.0) if other.tag else None
        why = v.why
        if tag is not None:
            member, why = clipped(v, tag)
            if member is not None:
                choices.append(member)
            elif len(tokens_of(tag)) == 1 and math.isinf(of_size(numbers)):
                why = v.why  # no clip factor: some quotient of the model
        weight = of_size(numbers if node.op == "mul" else of.reciprocal(numbers))
        member = member_scaled(v.member, weight)
        if member is not None:
            choices.append(member)
        elif why:
            found = replace(found, why=why)
    best = min(choices, key=lambda member: member.scale, default=None)
    tag = _tags(node, first, second, a, b)
    return replace(found, member=best, tag=tag, why="" if best else found.why)


def _tags(node: Node, first: Rows, second: Rows, a: Fact, b: Fact) -> Factor | None:
    """A factor of the norm times another one, or times a weight of the record that is never negative."""
    left = first.tag
    right = second.tag if node.op == "mul" else second.tag.raised(-1.0) if second.tag else None
    if left is not None and right is not None and left.source == right.source:
        above = tuple((x * y, p + q) for x, p in left.above for y, q in right.above)
        below = tuple((x * y, p + q) for x, p in left.below for y, q in right.below)
        unit = united(left.unit, right.unit)
        return replace(left, above=above, below=below, bound=math.inf, unit=unit)
    weights = b.numbers if node.op == "mul" else of.reciprocal(b.numbers)
    for tag, numbers in ((left, weights), (right, a.numbers)):
        if tag is not None and numbers.lo >= 0 and math.isfinite(of_size(numbers)):
            scaled = tag.scaled(numbers.hi) if numbers.hi > 0 else _level(tag, 0.0)
            return replace(scaled, below=()) if scaled is not None else None
    return None


@rule("select")
def select(at: Context, node: Node, test: Fact, yes: Fact, no: Fact) -> Fact:
    """where(test, yes, no).

    **Lemma.** Of rows of the same records, rows. Between two factors of a norm, by a test of that norm, a
    factor. Where the test looks at the very value that is chosen, its numbers are those that pass.
    """
    test = at.settled(test)
    if test.numbers.exactly is not None:
        return yes if test.numbers.exactly else no
    passed, failed = refined(at, node, yes.numbers, no.numbers)
    image = passed.joined(failed)
    if is_public(test, yes, no):
        return Fact(image, at.public([test, yes, no]))
    if isinstance(yes.kind, Aggregate) or isinstance(no.kind, Aggregate):
        if is_public(test) and all(isinstance(x.kind, (Aggregate, Public)) for x in (yes, no)):
            return Fact(image, _either(yes, no))
        return (
            after_sum(at)
            if not isinstance(test.kind, Rows)
            else _as_fact(shared(at, [test, yes, no]))
        )
    yes, no = at.settled(yes), at.settled(no)
    yes, no = _constant(yes, test), _constant(no, test)
    rows = shared(at, [test, yes, no])
    if isinstance(rows, Fact):
        return rows
    # the null record's test is False where its entries are 0
    found = replace(rows, zero=zero_of(no) and (zero_of(yes) or zero_of(test)))
    if rows.grouped or node.out.half:
        return Fact(image, found)
    found = replace(found, member=_chosen(test, yes, no), tag=_selected(at, test, yes, no))
    return Fact(image, with_tag(found, node.out.shape, at.name))


def _as_fact(found: Rows | Fact) -> Fact:
    assert isinstance(found, Fact)
    return found


def _either(yes: Fact, no: Fact) -> Aggregate:
    terms = [x.kind.terms if isinstance(x.kind, Aggregate) else () for x in (yes, no)]
    found = {(t.source, t.tokens, t.part, t.region, t.zero, t.unit): t for t in terms[0]}
    for t in terms[1]:
        key = (t.source, t.tokens, t.part, t.region, t.zero, t.unit)
        if key not in found or found[key].scale < t.scale:
            found[key] = t
    return Aggregate(tuple(found.values()))


def _chosen(test: Fact, yes: Fact, no: Fact) -> Member | None:
    """A member where it is chosen, 0 elsewhere: a member; of two parts of one group, the wider.

    **Lemma.** Where a test says r <= L of a norm r of the arrays g_k, |g_k| <= L |g_k| / r: not clipped is clipped to L.
    The test has one answer for a record, so that its entries are all of one side.
    """
    sides = [x.kind.member if isinstance(x.kind, Rows) else None for x in (yes, no)]
    whole = _within(test, yes, no)
    if whole is not None:
        side, short = whole
        other = sides[1 - side]
        kept = (short.source, short.tokens, short.unit)
        if other is not None and (other.source, other.tokens, other.unit) == kept:
            return replace(short, scale=max(short.scale, other.scale))
    if sides[0] is not None and no.numbers.exactly == 0.0:
        return sides[0]
    if sides[1] is not None and yes.numbers.exactly == 0.0:
        return sides[1]
    if sides[0] is not None and sides[1] is not None:
        one, two = sides
        kept = (one.source, one.tokens, one.part, one.unit)
        if kept == (two.source, two.tokens, two.part, two.unit):
            # each entry is that of one side, so that the squares add up to at most both
            return replace(one, scale=math.hypot(one.scale, two.scale))
    return None


def _within(test: Fact, yes: Fact, no: Fact) -> tuple[int, Member] | None:
    """The side that is chosen where a norm is at most a limit, as a member: rows that the norm covers."""
    on = test.kind.test if isinstance(test.kind, Rows) else None
    if on is None:
        return None
    side = 1 if on.greater else 0
    kind = (yes, no)[side].kind
    vector = kind.vector if isinstance(kind, Rows) and not kind.grouped else None
    if vector is None or vector.lower or not vector.tokens <= tokens_of(on.tag):
        return None
    scale = vector.factor * on.limit
    return side, Member(tokens_of(on.tag), vector.tokens, scale, unit=on.unit)


def _level(tag: Factor, value: float) -> Factor:
    """A constant beside another factor."""
    return replace(tag, above=((value, 0.0),), below=((value, 0.0),), bound=math.inf, unit=())


def _selected(at: Context, test: Fact, yes: Fact, no: Fact) -> Factor | None:
    """A factor of the norm that is one thing above a threshold and another below."""
    sides = [_factor(yes), _factor(no)]
    known = next((side for side in sides if side is not None), None)
    if known is None:
        return None
    tags: list[Factor] = []
    for side, fact in zip(sides, (yes, no), strict=True):
        number = scalar(fact)
        if side is not None and side.source == known.source:
            tags.append(side)
        elif number == 0:
            tags.append(replace(known, above=((0.0, -1.0),), below=(), bound=0.0))
        elif number is not None and number >= 0:
            tags.append(_level(known, number))
        else:
            return None
    on = test.kind.test if isinstance(test.kind, Rows) else None
    if on is not None and on.tag.source != known.source:
        on = None
    if on is not None and on.unit:
        return _between(on, known, *(tags if on.greater else tags[::-1]))
    if tags[0].unit != tags[1].unit:
        return None
    if on is not None:
        found = on.select(tags[0], tags[1])
        return replace(tags[0], above=(), below=(), bound=found.bound)
    bound = max(tag.product_bound() for tag in tags)
    return replace(tags[0], above=(), below=(), bound=bound) if math.isfinite(bound) else None


def _between(on: Limit, known: Factor, over: Factor, under: Factor) -> Factor | None:
    """where(r > L, over, under) for a limit L that is not known: r |over| bounded anywhere, r |under| at r = L."""
    found = []
    for tag, high in ((over, None), (under, on)):
        bounds = [(tag.bound, tag.unit)]
        for a, p in tag.above:
            whole = p == -1.0 or (high is not None and p > -1.0 and p == int(p))
            if not whole:
                continue
            times = int(p + 1)
            limit = on.limit**times
            bounds.append((a * limit, united(tag.unit, tuple((s, q * times) for s, q in on.unit))))
        found.append([each for each in bounds if math.isfinite(each[0])])
    for bound, unit in found[0]:
        for other, its in found[1]:
            if unit == its:
                return replace(known, above=(), below=(), bound=max(bound, other), unit=unit)
    return None


@rule("convert")
def convert(at: Context, node: Node, x: Fact) -> Fact:
    """Another data type. **Lemma.** Wider floats keep every number; whole numbers and half precision do not."""
    before, after = node.args[0], node.out
    wider = before.floating and after.floating and not (after.half and not before.half)
    exact = before.dtype == after.dtype or (wider and not (before.half and after.half))
    if isinstance(x.kind, Keys) and exact:
        return x
    if isinstance(x.kind, Drawn) and exact and not before.half:
        return x
    x = at.settled(x)
    numbers = x.numbers
    if after.dtype == "bool":
        numbers = Numbers(1.0, 1.0) if numbers.without_zero and not numbers.nan else of.TRUTH
        if x.numbers.exactly == 0.0:
            numbers = Numbers(0.0, 0.0)
    elif not after.floating and before.floating:
        low = math.floor(numbers.lo) if math.isfinite(numbers.lo) else numbers.lo
        high = math.ceil(numbers.hi) if math.isfinite(numbers.hi) else numbers.hi
        numbers = Numbers(float(low), float(high), False, numbers.inf, numbers.nan)
    if isinstance(x.kind, Public):
        value = x.kind.value
        held = x.kind.multiple if exact else None
        value = value if exact else None
        return Fact(numbers, Public(value, x.kind.released, held))
    if isinstance(x.kind, Aggregate):
        if after.half:
            return at.mixed("half-precision", *UNBOUNDED["half-precision"])
        return Fact(numbers, x.kind) if exact else after_sum(at)
    rows = x.kind
    assert isinstance(rows, Rows)
    if exact:
        return Fact(numbers, rows)
    found = rows.bare(zero=rows.zero and not rows.grouped)
    if before.dtype == "bool" or not before.floating:
        return Fact(numbers, found)
    return Fact(numbers, replace(found, why="half-precision") if after.half else found)
