"""Draws, and the moments a private value is released: noise added, answers randomized, a choice made."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.noise import ExponentialMechanism, RandomizedResponse
from dpcheck.program import releases
from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Box, add
from dpcheck.program.facts.kinds import Aggregate, Coins, Drawn, Fact, Ids, Places, Public, Rows
from dpcheck.program.facts.rowsets import RowSet, Shape, number
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import BLOCK, Graph, Made, Node, primitive
from dpcheck.program.releases import Release, snapped
from dpcheck.program.rules import linear
from dpcheck.program.rules.common import numpy_shape, plain, released, result_dtype
from dpcheck.program.rules.random_numbers import (
    DISCRETE,
    SYMMETRIC,
    UNIFORM_INTEGERS,
    use_up,
)

# How many scales from 0 a draw of numpy can be: its uniform numbers have 53 bits, its normal ones are cut by
# their tables. Draws are finite, so that what is computed from them is.
FARTHEST = {
    releases.LAPLACE: 800.0,
    releases.GAUSSIAN: 40.0,
    releases.GUMBEL: 800.0,
    releases.EXPONENTIAL: 800.0,
}


def _draw(*_: object, **__: object) -> object:
    raise TypeError("draws are made by whoever runs the program")


@primitive("draw", "independent numbers of a public law", _draw)
def draw(
    graph: Graph,
    *,
    law: str,
    shape: Shape,
    scale: object = 1.0,
    location: object = 0.0,
    count: int = 0,
    **how: object,
) -> Made:
    """Numbers from the generator; `how` says by which method, for whoever runs the program."""
    del how
    lengths = [number(n) for n in shape]
    many = (
        None if any(n is None for n in lengths) else math.prod(n for n in lengths if n is not None)
    )
    size, place = np.asarray(scale, dtype=float), np.asarray(location, dtype=float)
    if law == "coin":
        fact: Fact = Coins(box=boxes.box(0.0, 1.0), rate=float(size), ids=graph.new_ids(many))
        return Made(shape, np.dtype(np.int64), fact)
    if law == "places":
        box = Box(np.asarray(0.0), np.asarray(float(count - 1)), False, True)
        fact = Places(box=box, batch=int(lengths[0] or 0), count=count, ids=graph.new_ids(1))
        return Made(shape, np.dtype(np.int64), fact)
    reach = size * FARTHEST.get(law, np.inf)
    box, kind = Box(place - reach, place + reach), np.dtype(float)
    if law in (releases.EXPONENTIAL, releases.GEOMETRIC):
        box = Box(place, place + reach)
    if law == releases.UNIFORM:
        box = Box(place, place + size)
    if law == UNIFORM_INTEGERS:
        box, kind = Box(place, place + size - 1, False, True), np.dtype(np.int64)
    if law in (releases.GEOMETRIC, *DISCRETE):
        kind = np.dtype(np.int64)
    fact = Drawn(box=box, family=law, scale=size, location=place, ids=graph.new_ids(many))
    return Made(shape, kind, fact)


@primitive("apply_draw", "a draw used for itself: public randomness", _draw)
def apply_draw(graph: Graph, a: Node) -> Made:
    """A drawn number that protects nothing; it is as finite as it was."""
    use_up(graph, (a,))
    return released(plain(a.shape), a.dtype, a.fact.box)


# Noise -------------------------------------------------------------------------------------------------


def _add(value: object, noise: object, sign: float, flip: bool) -> object:
    # One float of Python, as rng.laplace() gives it, takes on the type of what it is added to.
    found, drawn = np.asarray(value), noise if type(noise) is float else np.asarray(noise)
    if flip:
        return drawn - found
    return found + drawn if sign > 0 else found - drawn


@primitive(
    "release",
    "an aggregate plus fresh noise, number by number: an event of the accountant, and public from then on",
    _add,
)
def release(graph: Graph, private: Node, noise: Node, sign: float, flip: bool) -> Made:
    """private + noise."""
    fact, drawn = private.fact, noise.fact
    assert isinstance(fact, Aggregate)
    assert isinstance(drawn, Drawn)
    if sign < 0 and not flip and drawn.family not in SYMMETRIC:
        graph.refuse("unknown-noise", f"{drawn.family} noise is subtracted", "add it")
    if any(not isinstance(n, int) for n in noise.shape):
        graph.refuse(
            "private-length",
            "as many numbers are drawn as there are records",
            "draw a public number",
        )
    dims = numpy_shape(graph, [plain(private.shape), plain(noise.shape)])
    if math.prod(dims) != math.prod(plain(noise.shape)):
        graph.refuse(
            "shared-noise",
            f"{math.prod(plain(noise.shape))} drawn number(s) are added to {math.prod(dims)} private "
            "numbers",
            "draw one for each: pass size=...",
        )
    _check_family(graph, private, drawn)
    if plain(private.shape) != dims:
        wide = graph.add("broadcast", private, shape=dims)
        assert isinstance(wide.fact, Aggregate)
        fact = wide.fact
    _check_bounded(graph, fact, drawn)
    kind = result_dtype(graph, np.add, (private, noise))
    if kind.kind == "f" and kind.itemsize < 4:
        graph.refuse(
            "unknown-noise",
            "noise is added in half precision, which rounds most of it away",
            "turn the private value into float64 first: .astype(float)",
        )
    graph.use(drawn.ids, "a release")
    made = releases.of(graph.adjacency, fact, drawn, graph.line, dims)
    made.form = linear.form_of(graph, private)
    if flip:
        made.direction = "either"  # it falls, and others may rise
    graph.release(made)
    base = Box(-fact.box.hi, -fact.box.lo) if flip else fact.box
    return released(dims, kind, add(base, drawn.box), release=made)


def _sum(value: object, noise: object) -> object:
    return np.add(value, noise)  # type: ignore[call-overload]


@primitive("pending", "a private value plus half of its noise: private still", _sum)
def pending(graph: Graph, private: Node, noise: Node) -> Made:
    """count + g1, before g2 is taken away: geometric noise on one side protects nothing."""
    shape = numpy_shape(graph, [plain(private.shape), plain(noise.shape)])
    kind = result_dtype(graph, np.add, (private, noise))
    fact = Aggregate(box=boxes.WHOLE, diff=Size(np.asarray(np.inf)), coins=private.fact.coins)
    return Made(shape, kind, fact)


def _check_family(graph: Graph, private: Node, noise: Drawn) -> None:
    """Noise that can protect such numbers."""
    if noise.family not in (*releases.ADDITIVE, *releases.SELECTING):
        graph.refuse(
            "unknown-noise",
            f"{noise.family} noise is added to a private value, which is no mechanism that is known",
            "add Laplace, Gaussian or discrete noise",
        )
    if noise.family in DISCRETE and private.dtype.kind not in "biu":
        graph.refuse(
            "unknown-noise",
            "whole-number noise is added to numbers that are not whole",
            "round the private value to whole numbers first, or use continuous noise",
        )
    if not (np.asarray(noise.scale) > 0).all():
        graph.refuse("no-noise", "the scale of the noise is 0", "use a positive scale")


def _check_bounded(graph: Graph, private: Aggregate, noise: Drawn) -> None:
    """Only what moves by a bounded amount can be protected."""
    if not (np.isfinite(private.box.lo).all() and np.isfinite(private.box.hi).all()):
        graph.refuse(
            "unbounded",
            "values without bounds reach this release",
            "clip them first: np.clip(x, low, high)",
        )
    if private.box.nan:
        graph.refuse(
            "nan",
            "the released value may be NaN for some data (np.clip lets NaN through), and noise cannot "
            "hide that",
            "replace NaN before with np.nan_to_num(x), or describe the data by dpcheck.records(...), "
            "in which dpcheck.number(low, high) is never missing",
        )
    needed = private.diff.l2 if noise.family == releases.GAUSSIAN else private.diff.l1
    if not np.isfinite(needed):
        graph.refuse(
            "unbounded",
            "one record may move the released value by any amount",
            "clip the records before they are added up",
        )


# Randomized response -----------------------------------------------------------------------------------


def _respond(coins: object, truth: object, other: object) -> object:
    return np.where(coins, truth, other)  # type: ignore[call-overload]


@primitive("respond", "each record's answer is kept by its own coin, else a random one", _respond)
def respond(graph: Graph, coins: Node, truth: Node, other: Node) -> Made:
    """np.where(coins, truth, other): randomized response of every record."""
    fact, coin = truth.fact, coins.fact
    assert isinstance(fact, Rows)
    assert isinstance(coin, Coins)
    if not graph.public_rows or fact.rows.count is None or fact.rows.optional or truth.ndim != 1:
        graph.refuse(
            "private-length",
            "as many answers are given as there are records, which is private",
            "state the claim under replace-one",
        )
    whole = fact.values is not None and all(float(v).is_integer() for v in fact.values)  # type: ignore[arg-type]
    if (truth.dtype.kind not in "biu" and not whole) or fact.box.nan:
        graph.refuse(
            "unbounded",
            "randomized response needs answers from a public list",
            "turn the column into whole numbers or truth values first",
        )
    if not own_coins(coin, coins.shape, fact.rows):
        graph.refuse(
            "shared-noise", "several records share a coin", "draw one for each: pass size=len(x)"
        )
    known = _random_answer(truth, other)
    if known is None:
        graph.refuse(
            "unknown-noise",
            "the answer that replaces the true one is not uniform over the possible answers",
            "draw it with rng.integers(low, high, size=n) over all answers, or flip a truth value",
        )
    categories, extra, lie = known
    noise_rate = (1 - coin.rate) * extra
    if not 0 < noise_rate <= 1:
        graph.refuse("no-noise", "the answers are reported as they are", "use fewer true answers")
    graph.use(np.concatenate([np.unique(coin.ids), lie]), "randomized response")
    shape = (fact.rows.count,)
    made = Release(
        graph.line,
        graph.adjacency,
        "randomized response",
        np.asarray([coin.rate]),
        shape,
        Size(np.asarray(1.0)).tightened(shape),
        fixed=RandomizedResponse(snapped(noise_rate), categories),
        opened=True,
        coins=fact.coins,
    )
    graph.release(made)
    return released(shape, truth.dtype, fact.box)


def own_coins(coin: Coins, shape: Shape, rows: RowSet) -> bool:
    """Whether every record has one coin, drawn for it alone."""
    if len(shape) != 1 or number(shape[0]) != rows.count:
        return False
    count = rows.count or 0
    if count > BLOCK:
        return coin.ids.size == 1
    return coin.ids.size == np.unique(coin.ids).size == max(1, count)


def can_respond(truth: Node, other: Node) -> bool:
    """Whether this is randomized response by one of the lies that `respond` knows."""
    return (
        isinstance(truth.fact, Rows)
        and truth.ndim == 1
        and _random_answer(truth, other) is not None
    )


def _random_answer(truth: Node, other: Node) -> tuple[int, float, Ids] | None:
    """(number of categories, share of the lies that is a uniform answer, numbers drawn for them)."""
    fact, lie = truth.fact, other.fact
    assert isinstance(fact, Rows)
    if not fact.box.finite:
        return None
    none = np.empty(0, dtype=np.int64)
    low, high = int(fact.box.lo.min()), int(fact.box.hi.max())
    flipped = isinstance(lie, Rows) and lie.complement_of == truth.id
    if flipped and (low, high) == (0, 1):
        return 2, 2.0, none  # the opposite answer: twice a uniform one
    fair = isinstance(lie, Coins) and lie.rate == 0.5 and own_coins(lie, other.shape, fact.rows)
    if isinstance(lie, Coins) and fair and (low, high) == (0, 1):
        return 2, 1.0, np.unique(lie.ids)
    if isinstance(lie, Drawn) and lie.family == UNIFORM_INTEGERS:
        first, many = int(lie.location), int(lie.scale)
        alone = own_coins(Coins(box=lie.box, rate=0.5, ids=lie.ids), other.shape, fact.rows)
        if alone and first <= low and high < first + many:
            return many, 1.0, np.unique(lie.ids)
    return None


# The exponential mechanism ------------------------------------------------------------------------------


def _pick(*_: object, **__: object) -> object:
    raise TypeError("draws are made by whoever runs the program")


@primitive("pick", "rng.choice(k, p=softmax(score)): the exponential mechanism", _pick)
def pick(graph: Graph, law: Node, score: Node, factor: float, **how: object) -> Made:
    """One of k places with probabilities exp(factor * score) / sum; `how` is for whoever runs it."""
    del how
    fact = score.fact
    assert isinstance(fact, Aggregate)
    if not np.isfinite(fact.diff.linf) or fact.box.nan or not np.isfinite(fact.box.magnitude).all():
        graph.refuse("unbounded", "scores without bounds", "clip the records first")
    one_way = fact.rising and graph.adjacency is Adjacency.ADD_REMOVE
    cost = snapped((1 if one_way else 2) * abs(factor) * fact.diff.linf)
    made = Release(
        graph.line,
        graph.adjacency,
        "softmax",
        np.asarray([1 / abs(factor)]),
        plain(score.shape),
        fact.diff,
        fixed=ExponentialMechanism(cost, graph.adjacency),
        opened=True,
        coins=fact.coins,
    )
    graph.release(made)
    many = plain(law.shape)[0]
    return released(
        (), np.dtype(np.int64), Box(np.asarray(0.0), np.asarray(float(many - 1)), False, True)
    )


def is_public_law(node: Node) -> bool:
    """Whether probabilities are public."""
    return isinstance(node.fact, Public)
