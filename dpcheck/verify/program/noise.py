"""The moments a private value is released: noise added to it, or its answers randomized."""

from __future__ import annotations

import math
from fractions import Fraction

from dpcheck.verify.program.boxes import BOXES, Box, box, fitted, is_whole, minus, plus
from dpcheck.verify.program.common import (
    Node,
    Release,
    State,
    broadcast_shape,
    expect,
    plain,
    rule,
    scalar,
    scalar_value,
    spread_box,
)
from dpcheck.verify.program.elementwise import widened
from dpcheck.verify.program.facts import Aggregate, Coins, Drawn, Fact, Released, Rows, same
from dpcheck.verify.program.linear import form_of, moves
from dpcheck.verify.program.numbers import INF, ZERO, Number, finite, inverse, magnitude, times
from dpcheck.verify.program.randomness import BLOCK, DISCRETE, SYMMETRIC, one_coin_a_row
from dpcheck.verify.program.sizes import UNKNOWN

NOISES = (*SYMMETRIC, "gumbel", "exponential")


@rule("release")
def release(state: State, node: Node) -> Fact:
    """an aggregate plus fresh noise, number by number: an event, and public from then on"""
    private, noise = node.args
    fact, drawn = private.fact, noise.fact
    if not isinstance(fact, Aggregate) or not isinstance(drawn, Drawn):
        return node.refuse("it is no private value plus noise")
    if drawn.family not in NOISES:
        node.refuse(f"{drawn.family} noise protects nothing")
    flip, sign = node.params.get("flip") is True, node.params.get("sign")
    if isinstance(sign, bool) or sign not in (1, -1):
        node.refuse("noise is added or subtracted: sign is 1 or -1")
    if sign != 1 and not flip and drawn.family not in SYMMETRIC:
        node.refuse(f"{drawn.family} noise is subtracted")
    if drawn.family in DISCRETE and not is_whole(private.dtype):
        node.refuse("whole-number noise is added to numbers that are not whole")
    if any(not isinstance(n, int) for n in noise.shape) or not all(
        each > 0 for each in drawn.scale
    ):
        node.refuse("the noise has a private length, or a scale of 0")
    shape = broadcast_shape(node, [plain(private), plain(noise)])
    expect(node, shape)
    count = math.prod(shape)
    if count != math.prod(plain(noise)) or len(drawn.ids) != (1 if drawn.block else count):
        node.refuse("a drawn number is added to several numbers")
    if not fact.box.finite:
        node.refuse("values that may be infinite or NaN are released")
    state.protect(node, [each for ids in drawn.ids for each in ids])
    form = form_of(private)
    size = fact.size if form is None else fact.size.both(moves(form))
    change = widened(private, size, shape)
    added = None if fact.added is None else widened(private, fact.added, shape)
    sampling = fact.sampling if added is not None else None
    coins = fact.coins | (sampling.ids if sampling else frozenset())
    state.releases[node.id] = Release(
        node,
        drawn.family,
        drawn.scale,
        change,
        count,
        added,
        sampling,
        coins,
        fact.predicate,
        fact.rising and not flip,
        form=form,
    )
    base = spread_box(minus(fact.box) if flip else fact.box, plain(private), shape)
    return Released(box=plus(base, Box(drawn.box.lo, drawn.box.hi)), release=node.id)


@rule("respond")
def respond(state: State, node: Node) -> Fact:
    """each record's answer is kept by its own coin, else a random one: randomized response"""
    coins, truth, other = node.args
    fact, coin = truth.fact, coins.fact
    if (
        not isinstance(fact, Rows)
        or not isinstance(coin, Coins)
        or truth.ndim != 1
        or coins.ndim != 1
    ):
        return node.refuse("it is no column of answers with a coin for each")
    rows = fact.rows
    if state.adjacency == "add-remove" or rows.count is None or not rows.all_in:
        node.refuse("as many answers are given as there are records, which is private")
    expect(node, (rows.count,))
    whole = fact.whole or is_whole(truth.dtype)
    if not whole or not fact.box.finite or not one_coin_a_row(coins, rows):
        node.refuse("randomized response needs whole numbers and a coin for each record")
    extra, kinds = _random_answer(state, node, truth, other)
    noise = (1 - coin.rate) * extra
    if not 0 < noise <= 1:
        node.refuse("the answers are reported as they are")
    state.protect(node, [each for ids in coin.ids for each in ids])
    state.releases[node.id] = Release(
        node,
        "randomized response",
        (),
        UNKNOWN,
        rows.count or 0,
        coins=fact.coins,
        response=(noise, kinds),
    )
    state.seen.add(node.id)
    return Released(box=fact.box.hull())


def _random_answer(state: State, node: Node, truth: Node, other: Node) -> tuple[Number, int]:
    """The share of the lies that is a uniform answer, and how many answers there are."""
    fact, lie = truth.fact, other.fact
    assert isinstance(fact, Rows)
    low, high = fact.box.least, fact.box.most
    if isinstance(lie, Rows) and lie.complement == truth.id and (low, high) == (0, 1):
        return Fraction(2), 2  # the opposite answer: twice a uniform one
    fair = (
        isinstance(lie, Coins) and lie.rate == Fraction(1, 2) and one_coin_a_row(other, fact.rows)
    )
    if isinstance(lie, Coins) and fair and other.ndim == 1 and low >= 0 and high <= 1:
        state.protect(node, [each for ids in lie.ids for each in ids])
        return Fraction(1), 2
    if (
        isinstance(lie, Drawn)
        and lie.family == "uniform integers"
        and len(lie.scale) == 1
        and other.ndim == 1
    ):
        many = lie.scale[0]
        alone = (lie.block and (fact.rows.count or 0) > BLOCK) or len(lie.ids) == fact.rows.count
        if (
            same(other.shape[0], fact.rows)
            and alone
            and lie.location <= low
            and high < lie.location + many
        ):
            state.protect(node, [each for ids in lie.ids for each in ids])
            return Fraction(1), int(many)
    return node.refuse(
        "the answer that replaces the true one is not uniform over the possible answers"
    )


# The exponential mechanism ------------------------------------------------------------------------------


@rule("pick")
def pick(state: State, node: Node) -> Fact:
    """a place with probabilities exp(factor * score) / sum: the exponential mechanism"""
    law, score = node.args
    factor, fact = _softmax(law, score), score.fact
    if factor is None or not isinstance(fact, Aggregate) or score.ndim != 1:
        return node.refuse("its probabilities are no softmax of the scores")
    expect(node, ())
    if not fact.box.finite or not finite(fact.size.linf) or not factor:
        node.refuse("scores without bounds")
    (count,) = plain(score)
    scale = inverse(magnitude(factor))
    state.releases[node.id] = Release(
        node, "softmax", (scale,), fact.size, count, coins=fact.coins, rising=fact.rising
    )
    state.chosen[node.id] = "argmax"
    return Released(box=box(Fraction(0), Fraction(count - 1), plain=True))


def _softmax(law: Node, score: Node) -> Fraction | None:
    """The factor, if these are exp(factor * score) divided by their sum."""
    if law.primitive != "divide" or law.args[1].primitive != "sum" or law.args[1].ndim:
        return None
    above, below = law.args[0], law.args[1].args[0]
    if above.primitive != "exp" or below.primitive != "exp" or below.args[0] is not above.args[0]:
        return None
    least = -87 if above.args[0].dtype == "float32" else -708
    above.need(_highest(above.args[0]) >= least, "weights that may all be close to 0")
    return _factor(above.args[0], score)


def _highest(node: Node) -> Number:
    """What the largest entry is at least, so that its exp is a float with all its digits.

    Lemma. The largest entry is at least the largest of the lower ends; the largest of scores less the largest
    is 0; a positive multiple of the entries has that multiple of the largest.
    """
    known, name, args = max(node.fact.box.lo, default=-INF), node.primitive, node.args
    if name == "subtract" and args[1].primitive == "extreme" and args[1].args[0] is args[0]:
        return max(known, ZERO)
    factor = scalar(args[1]) if name in ("multiply", "divide") else None
    if factor is not None:
        times_over = factor if name == "multiply" else inverse(factor)
        known = max(known, times(_highest(args[0]), times_over))
    return known


def _factor(node: Node, score: Node) -> Fraction | None:
    """How many times the scores a node is, up to one number that is added to all of them.

    Whole numbers that wrap around are no multiples.
    """
    factor = Fraction(1)
    while node is not score:
        name, args = node.primitive, node.args
        if (
            name not in BOXES
            or not fitted(BOXES[name](*(arg.fact.box for arg in args)), node.dtype)[1]
        ):
            return None
        numbers = [scalar_value(arg) for arg in args]
        if name == "negative":
            factor, node = -factor, args[0]
        elif name in ("add", "subtract") and not args[1].ndim and args[1].fact.box.finite:
            node = args[0]
        elif name == "divide" and numbers[1]:
            factor, node = factor / numbers[1], args[0]
        elif name == "multiply" and numbers[0] is not None:
            factor, node = factor * numbers[0], args[1]
        elif name == "multiply" and numbers[1] is not None:
            factor, node = factor * numbers[1], args[0]
        else:
            return None
    return factor
