"""Draws, and arithmetic on them: affine functions keep them draws, comparisons make coins."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpcheck.verify.program.boxes import (
    TRUTH,
    WHOLE,
    Box,
    Entries,
    box,
    is_whole,
    limits,
    multiply,
    pair,
    plus,
)
from dpcheck.verify.program.common import (
    Node,
    State,
    broadcast_shape,
    expect,
    integer,
    numbers,
    plain,
    rule,
)
from dpcheck.verify.program.facts import (
    RANDOM,
    Coins,
    Drawn,
    Fact,
    Places,
    Public,
    Released,
    RowSet,
    same,
)
from dpcheck.verify.program.numbers import (
    INF,
    ONE,
    ZERO,
    Number,
    finite,
    length_of_two,
    magnitude,
    read,
    times,
)
from dpcheck.verify.program.uniform import of_uniform

BLOCK = 4096  # draws of more numbers than that are one block, used as a whole
SYMMETRIC = ("laplace", "normal", "discrete laplace", "discrete normal")
DISCRETE = ("discrete laplace", "discrete normal")
WHOLE_NUMBERS = (*DISCRETE, "geometric")
# How many scales from 0 a draw of numpy can be; draws are finite.
FARTHEST = {"laplace": 800, "normal": 40, "gumbel": 800, "exponential": 800}
_LAWS = (*FARTHEST, "geometric", "uniform", "uniform integers", *DISCRETE)


@rule("draw")
def draw(state: State, node: Node) -> Fact:
    """independent numbers of a public law, each with an id of its own"""
    law = node.params.get("law")
    lengths = [n.count if isinstance(n, RowSet) else n for n in node.shape]
    count = 1
    for n in lengths:
        count = BLOCK + 1 if n is None or count > BLOCK else count * n
    if law == "places":
        many = integer(node, "count")
        if len(lengths) != 1 or not isinstance(lengths[0], int) or not 0 < lengths[0] <= many:
            node.refuse("a batch has between 1 and all places")
        found = box(ZERO, Fraction(many - 1), plain=True)
        return Places(box=found, batch=lengths[0], count=many, ids=((state.draws(1)[0],),))
    block = count > BLOCK
    ids = tuple((each,) for each in state.draws(1 if block else count))
    scale = numbers(node.params.get("scale", 1), "scale")
    if not all(finite(each) and each >= 0 for each in scale) or (
        len(scale) not in (1, count) or not scale
    ):
        node.refuse("a scale is a number of at least 0, one for all or one for each draw")
    if law == "coin":
        if len(scale) != 1 or scale[0] > 1:
            node.refuse("a coin has one probability")
        return Coins(box=TRUTH, rate=scale[0], ids=ids, block=block)
    if law not in _LAWS:
        node.no_certificate(f"draws of {law}")
    location = read(node.params.get("location", 0), "location")
    if not finite(location):
        node.refuse("a location is finite")
    far = Fraction(FARTHEST[law]) if law in FARTHEST else INF
    reach = tuple(times(each, far) for each in scale)
    lo, hi = tuple(location - each for each in reach), tuple(location + each for each in reach)
    if law in ("exponential", "geometric"):
        lo = (location,) * len(hi)
    if law in ("uniform", "uniform integers"):
        lo, hi = (location,) * len(scale), tuple(location + each for each in scale)
    return Drawn(box=Box(lo, hi), family=law, scale=scale, location=location, ids=ids, block=block)


@rule("apply_draw")
def apply_draw(state: State, node: Node) -> Fact:
    """a draw used for itself: public randomness"""
    expect(node, node.args[0].shape)
    return spent(state, node)


def spent(state: State, node: Node) -> Released:
    """Any function of draws, public and released values: public randomness, which protects nothing."""
    if not all(isinstance(arg.fact, (*RANDOM, Public, Released)) for arg in node.args):
        node.refuse("private values meet random numbers, which is no known mechanism")
    state.spend(*node.args)
    return Released(box=anything(node))


def anything(node: Node) -> Box:
    """Everything a type admits."""
    low, high = limits(node.dtype)
    return box(low, high, plain=True) if is_whole(node.dtype) else WHOLE


def of_draws(state: State, node: Node) -> Fact:
    """A function of entries with a draw among its operands."""
    found: Fact | None = None
    if all(isinstance(arg.fact, (*RANDOM, Public)) for arg in node.args):
        draws = [arg for arg in node.args if isinstance(arg.fact, RANDOM)]
        found = of_uniform(node)
        if found is not None:
            expect(node, draws[0].shape)
            return found
        if len(node.args) == 1:
            found = _one(node, draws[0])
        elif len(draws) == 1:
            found = _with_public(node, draws[0])
        else:
            found = _two(node)
        if found is not None:
            expect(node, draws[0].shape)
            return found
    expect(node, broadcast_shape(node, [plain(arg) for arg in node.args]))
    return spent(state, node)


def _one(node: Node, draw: Node) -> Fact | None:
    fact = draw.fact
    if node.primitive == "negative" and isinstance(fact, Drawn):
        return _affine(fact, (-ONE,), ZERO)
    if node.primitive == "positive":
        return fact
    if (
        node.primitive in ("logical_not", "invert")
        and isinstance(fact, Coins)
        and draw.dtype == "bool"
    ):
        return replace(fact, rate=1 - fact.rate)
    return None


def _with_public(node: Node, draw: Node) -> Fact | None:
    left, name = node.args[0] is draw, node.primitive
    other = node.args[1] if left else node.args[0]
    fact, known = draw.fact, other.fact.box
    if known.nan or known.lo != known.hi or not known.bounded:
        return None
    value = known.lo
    if isinstance(fact, Coins):
        return _of_coins(name, fact, value, left)
    if not isinstance(fact, Drawn) or (other.ndim and plain(other) != draw.shape):
        return None
    if name in ("multiply", "divide") and all(value) and (name == "multiply" or left):
        return _affine(
            fact, value if name == "multiply" else tuple(1 / each for each in value), ZERO
        )
    if len(value) != 1:
        return None
    if name == "add":
        return _affine(fact, (ONE,), value[0])
    if name == "subtract":
        return _affine(fact, (ONE,), -value[0]) if left else _affine(fact, (-ONE,), value[0])
    if name in ("less", "less_equal", "greater", "greater_equal"):
        return _coin(fact, value[0], name.startswith("greater") == left)
    return None


def _of_coins(name: str, fact: Coins, value: Entries, left: bool) -> Coins | None:
    """coin == 1, coin != 0, 1 - coin."""
    if len(value) != 1:
        return None
    if name in ("equal", "not_equal") and value[0] in (0, 1):
        return fact if (value[0] == 1) == (name == "equal") else replace(fact, rate=1 - fact.rate)
    return (
        replace(fact, rate=1 - fact.rate)
        if name == "subtract" and not left and value[0] == 1
        else None
    )


def _coin(fact: Drawn, value: Number, above: bool) -> Coins | None:
    """A uniform number compared with a public one."""
    if fact.family != "uniform" or len(fact.scale) != 1 or not fact.scale[0] > 0:
        return None
    rate = (value - fact.location) / fact.scale[0]
    if not 0 <= rate <= 1:
        return None
    return Coins(box=TRUTH, rate=1 - rate if above else rate, ids=fact.ids, block=fact.block)


def _affine(fact: Drawn, factor: Entries, shift: Number) -> Drawn | None:
    """factor * noise + shift with public numbers that are not 0."""
    if any(each < 0 for each in factor) and fact.family not in SYMMETRIC:
        return None
    if fact.family in WHOLE_NUMBERS and not (
        all(magnitude(each) == 1 for each in factor) and Fraction(shift).denominator == 1
    ):
        return None
    if fact.family in ("uniform", "uniform integers") and len(factor) != 1:
        return None
    mine, theirs = pair(fact.scale, tuple(map(magnitude, factor)))
    location: Number = ZERO
    if len(factor) == 1:
        location = fact.location * factor[0] + shift
    elif fact.location or shift:
        return None
    found = plus(multiply(fact.box, Box(factor, factor)), box(shift, shift))
    return replace(fact, box=found, scale=tuple(map(times, mine, theirs)), location=location)


def _two(node: Node) -> Drawn | None:
    """Two draws: sums of Gaussians, and the differences that make Laplace noise."""
    a, b = (arg.fact for arg in node.args)
    if (
        not isinstance(a, Drawn)
        or not isinstance(b, Drawn)
        or node.primitive not in ("add", "subtract")
    ):
        return None
    if node.args[0].shape != node.args[1].shape or a.block != b.block:
        return None
    ids = tuple((*x, *y) for x, y in zip(a.ids, b.ids, strict=True))
    flat = [each for entry in ids for each in entry]
    if len(set(flat)) < len(flat) or a.family != b.family:
        return None
    made: dict[str, Any] = {"box": box(-INF, INF), "ids": ids, "location": ZERO}
    if a.family == "normal":
        mine, theirs = pair(a.scale, b.scale)
        # Less noise than there is costs more, which is sound.
        return replace(a, scale=tuple(map(length_of_two, mine, theirs)), **made)
    if node.primitive == "subtract" and a.scale == b.scale:
        if a.family == "exponential":
            return replace(a, family="laplace", **made)
        if a.family == "geometric" and a.location == b.location:
            return replace(a, family="discrete laplace", **made)
    return None


def one_coin_a_row(coins: Node, rows: RowSet) -> bool:
    """Whether every record has exactly one coin, drawn for it, and every record is in."""
    fact = coins.fact
    places = [n for n in coins.shape if n != 1]
    if (
        not isinstance(fact, Coins)
        or len(places) != 1
        or not same(places[0], rows)
        or not rows.all_in
    ):
        return False
    count = places[0].count if isinstance(places[0], RowSet) else places[0]
    if count is None or count > BLOCK:
        return fact.block
    flat = [each for ids in fact.ids for each in ids]
    return len(flat) == len(set(flat)) == len(fact.ids) == count
