"""np.where and coins beside private rows: filters, Poisson masks, randomized response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.core.events.noise import RandomizedResponse
from dpcheck.tracing.facts import boxes, norms
from dpcheck.tracing.facts.boxes import Box, Missing
from dpcheck.tracing.facts.rowsets import Sampling
from dpcheck.tracing.facts.sizes import Shape, Size
from dpcheck.tracing.registry import Family, rule
from dpcheck.tracing.releases import Release, snapped
from dpcheck.tracing.rules import coins, noise
from dpcheck.tracing.rules.elementwise import box_of, result_dtype
from dpcheck.tracing.rules.rowwise import as_aggregate, broadcast, made, operand_box
from dpcheck.tracing.values import BLOCK, PRIVATE, Aggregate, Coin, Noise, Released, Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer


def sampling_of_coin(coin: Coin) -> Sampling:
    """Each row by a coin of its own."""
    return Sampling(frozenset(coin.ids.ravel().tolist()), coin.rate)


def own_coins(coin: Coin, count: int) -> bool:
    """Whether `count` coins are different ones; many are one block, which nobody can take apart."""
    if count == PRIVATE or count > BLOCK:
        return coin.ids.size == 1
    return coin.ids.size == np.unique(coin.ids).size == max(1, count)


def one_coin_a_row(coin: Coin, rows: Rows, axis: int, ndim: int) -> bool:
    """Whether every record has exactly one coin, drawn for it."""
    full = [1] * (ndim - coin.ndim) + list(coin.dims)
    place = full[axis]
    rest = full[:axis] + full[axis + 1 :]
    same = place == rows.dims[rows.axis]
    distinct = own_coins(coin, place)
    whole = rows.rows.records is None and rows.rows.sampling is None and not rows.rows.optional
    return same and all(n == 1 for n in rest) and distinct and whole


def times_coin(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Data]) -> Data:
    """rows * coins: each row is kept by its own coin."""
    coin = next(v for v in inputs if isinstance(v, Coin))
    other = inputs[0] if inputs[1] is coin else inputs[1]
    if ufunc is np.multiply and isinstance(other, Rows):
        like = Rows(
            tracer, coin.dims, coin.dtype, boxes.box(0.0, 1.0), other.rows, 0, Size(np.asarray(1.0))
        )
        dims, axis = broadcast(tracer, [other, _placed(like, other, coin)])
        if one_coin_a_row(coin, other, axis, len(dims)) and other.sampling is None:
            kind = result_dtype(tracer, np.multiply, inputs)
            found = other.box.with_zero().mapped(
                lambda v: v.reshape((1,) * (len(dims) - v.ndim) + v.shape)
            )
            return made(
                other, dims, kind, found, other.row, axis=axis, sampling=sampling_of_coin(coin)
            )
    return tracer.refuse(
        "unknown-operation",
        f"np.{ufunc.__name__} of private values and random coins is no known mechanism",
        "use one coin for each record: mask = rng.random(n) < rate, then x[mask] or x * mask[:, None]",
    )


def _placed(like: Rows, other: Rows, coin: Coin) -> Rows:
    """The coins as rows, their axis where the other operand's is."""
    like.axis = other.axis - (other.ndim - coin.ndim)
    if not 0 <= like.axis < coin.ndim:
        like.axis = 0
    like.box = Box(np.zeros((1,) * coin.ndim), np.ones((1,) * coin.ndim))
    return like


@rule(
    np.where,
    family=Family.ELEMENTWISE,
    lemma="an entry is one of two: the hull of their boxes; with a coin for each record it is randomized "
    "response",
)
def where(tracer: Tracer, condition: Data, x: Data = None, y: Data = None) -> Data:
    """np.where with three arguments."""
    if x is None or y is None:
        tracer.refuse(
            "private-length",
            "np.where with one argument gives as many places as the data decide",
            "use np.where(mask, x, 0), or x[mask]",
        )
    if isinstance(condition, Coin):
        return _by_coin(tracer, condition, x, y)
    parts = [condition, x, y]
    if any(isinstance(v, Noise | Coin) for v in (x, y)):
        if not any(isinstance(v, Rows | Aggregate) for v in parts):
            return noise.spent(tracer, np.where, parts)
        tracer.unknown("np.where with noise in one branch and a private condition")
    kind = result_dtype(tracer, lambda a, b: np.where(np.empty(0, bool), a, b), (x, y))
    if any(isinstance(v, Aggregate) for v in parts):
        return _aggregates(
            tracer, [as_aggregate(v) if isinstance(v, Rows) else v for v in parts], kind
        )
    rows = [v for v in parts if isinstance(v, Rows)]
    if any(v.rows is not rows[0].rows for v in rows):
        tracer.refuse("mixed-records", "rows of different records are combined", "aggregate first")
    dims, axis = broadcast(tracer, parts)
    found = _branch(condition, x, dims, axis, True).hull(_branch(condition, y, dims, axis, False))
    found = found.mapped(lambda v: v.reshape((1,) * (len(dims) - v.ndim) + v.shape))
    result = made(rows[0], dims, kind, boxes.fitted(found, kind), axis=axis)
    _kept_sizes(result, condition, x, y)
    return result


def _branch(condition: Data, value: Data, dims: Shape, axis: int, answer: bool) -> Box:
    """The box of one branch; np.where(np.isnan(x), 0, x) is never NaN."""
    found = operand_box(value, dims, axis)
    asked = getattr(condition, "kind", None)
    if not isinstance(value, Rows) or not isinstance(asked, Missing):
        return found
    same = asked.source is value.identity and value.dims == condition.dims
    return asked.box_where(found, answer) if same else found


def _is_zero(value: Data) -> bool:
    return not isinstance(value, Traced) and bool(np.all(np.asarray(value) == 0))


def _kept_sizes(result: Rows, condition: Data, x: Data, y: Data) -> None:
    """np.where(mask, x, 0) keeps the norms of x; norms compared with C select a factor."""
    for kept, other in ((x, y), (y, x)):
        if isinstance(kept, Rows) and _is_zero(other) and kept.dims == result.dims:
            result.row = result.row.both(kept.row)
            result.sampling = kept.sampling
    chosen = getattr(condition, "kind", None)
    if isinstance(chosen, norms.Threshold):
        factors = [_factor(v, chosen.tag) for v in (x, y)]
        if factors[0] is not None and factors[1] is not None:
            result.tag = chosen.select(factors[0], factors[1])


def _factor(value: Data, tag: norms.NormTag) -> norms.NormTag | None:
    own = getattr(value, "tag", None)
    if own is not None:
        return own if own.source is tag.source and own.order == tag.order else None
    if isinstance(value, Traced) or np.ndim(value):
        return None
    return norms.constant(tag, float(value)) if float(value) >= 0 else None


def _aggregates(tracer: Tracer, parts: list[Data], kind: np.dtype[np.generic]) -> Aggregate:
    dims = np.broadcast_shapes(*(v.dims if isinstance(v, Traced) else np.shape(v) for v in parts))
    found = box_of(parts[1]).hull(box_of(parts[2]))
    if isinstance(parts[0], Aggregate):
        return Aggregate(tracer, dims, kind, found, Size(np.asarray(np.inf)))
    sizes = [v.diff for v in parts[1:] if isinstance(v, Aggregate) and v.dims == dims]
    aggregated = [v for v in parts[1:] if isinstance(v, Aggregate)]
    if len(sizes) < len(aggregated):
        return Aggregate(tracer, dims, kind, found, Size(np.asarray(np.inf)))
    diff = sizes[0] if len(sizes) == 1 else sizes[0].plus(sizes[1])
    return Aggregate(tracer, dims, kind, found, diff)


def _by_coin(tracer: Tracer, coin: Coin, x: Data, y: Data) -> Data:
    """np.where(coins, private, random): randomized response."""
    rows = [v for v in (x, y) if isinstance(v, Rows | Aggregate)]
    if not rows:
        return noise.spent(tracer, np.where, (coin, x, y))
    truth, other = (x, y) if isinstance(x, Rows) else (y, x)
    keep = coin.rate if truth is x else 1 - coin.rate
    if not isinstance(truth, Rows) or truth.dims != coin.dims or PRIVATE in coin.dims:
        if isinstance(truth, Rows) and _is_zero(other):
            return times_coin(tracer, np.multiply, (truth, coin) if truth is x else (truth, ~coin))
        tracer.unknown("np.where with a private condition for coins of another shape")
    if _is_zero(other):
        return times_coin(tracer, np.multiply, (truth, coin if truth is x else ~coin))
    return respond(tracer, coin, truth, other, keep)


def respond(tracer: Tracer, coin: Coin, truth: Rows, other: Data, keep: float) -> Released:
    """Each record's answer is kept with probability `keep`, else replaced by a random one."""
    if not tracer.public_rows or truth.rows.count is None or truth.rows.optional or truth.ndim != 1:
        tracer.unknown("randomized response of a private number of records")
    low, high = float(truth.box.lo.min()), float(truth.box.hi.max())
    whole = truth.dtype.kind in "biu" and not truth.box.nan
    if not whole:
        tracer.refuse(
            "unbounded",
            "randomized response needs answers from a public list",
            "turn the column into whole numbers or truth values first",
        )
    if not own_coins(coin, truth.dims[0]):
        tracer.unknown("randomized response with coins that several records share")
    categories, extra = _random_answer(tracer, truth, other, int(low), int(high))
    # P(another answer is reported) in units of a uniform answer among the categories.
    noise_rate = (1 - keep) * extra
    if not 0 < noise_rate <= 1:
        tracer.refuse("no-noise", "the answers are reported as they are", "use fewer true answers")
    tracer.use(np.unique(coin.ids), "randomized response")
    event = RandomizedResponse(snapped(noise_rate), categories)
    made_release = Release(
        tracer.line(),
        tracer.adjacency,
        "randomized response",
        np.asarray([keep]),
        truth.dims,
        Size(np.asarray(1.0)).tightened(truth.dims),
        fixed=event,
        opened=True,
    )
    tracer.releases.append(made_release)
    tracer.spend(made_release)
    example = np.zeros(truth.dims, dtype=truth.dtype)
    return Released(tracer, example, truth.box)


def _random_answer(
    tracer: Tracer, truth: Rows, other: Data, low: int, high: int
) -> tuple[int, float]:
    """(number of categories, share of `1 - keep` that is a uniform answer)."""
    flipped = isinstance(other, Rows) and other.complement_of is truth.identity
    if flipped and (low, high) == (0, 1):
        return 2, 2.0  # the opposite answer: twice a uniform one
    fair = isinstance(other, Coin) and other.dims == truth.dims and other.rate == 0.5
    if fair and (low, high) == (0, 1):
        tracer.use(np.unique(other.ids), "randomized response")
        return 2, 1.0
    if isinstance(other, Noise) and other.family == coins.UNIFORM_INTEGERS:
        first, many = int(other.location), int(other.scale)
        if other.dims == truth.dims and first <= low and high < first + many:
            tracer.use(np.unique(other.ids), "randomized response")
            return many, 1.0
    return tracer.refuse(
        "unknown-noise",
        "the answer that replaces the true one is not uniform over the possible answers",
        "draw it with rng.integers(low, high, size=n) over all answers, or flip a truth value",
    )
