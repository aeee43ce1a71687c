"""delta(epsilon) of single pairs and of compositions with a closed form, in balls, from the definitions.

Nothing here imports an accountant. Each function encloses the larger of the two directions; `side_of` asks
for more bits until the ball lies on one side of the delta in question.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from flint import arb, ctx

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.event import Event, Repeated, Sequential

# Bits that are tried one after the other.
BITS = (128, 512, 2048, 8192, 32768)
# Longer sums are not formed.
MOST_USES, MOST_OUTCOMES, MOST_ANSWERS, WIDEST = 2000, 4, 12, 30.0


class Unsure(Exception):
    """The balls are too wide to tell on which side of a kink a point lies."""


def side_of(event: Event, adjacency: Adjacency, epsilon: float, delta: float) -> tuple[int, str]:
    """(1, -1 or 0: whether the true delta at `epsilon` is above, below or next to `delta`; its value).

    Raises KeyError where no independent truth is known.
    """
    before = ctx.prec
    try:
        for bits in BITS:
            ctx.prec = bits
            try:
                found = true_delta(event, adjacency, epsilon)
            except Unsure:
                continue
            if found > delta:
                return 1, found.str(12)
            if found < delta:
                return -1, found.str(12)
        return 0, "undecided"
    finally:
        ctx.prec = before


def flat(event: Event) -> list[tuple[Event, int]] | None:
    """The leaves of sequences and repetitions with their counts; None where there is another node."""
    if isinstance(event, Sequential):
        parts = [flat(inner) for inner in event.events]
        return None if None in parts else [pair for part in parts for pair in part or ()]
    if isinstance(event, Repeated):
        inner = flat(event.event)
        return None if inner is None else [(leaf, n * event.times) for leaf, n in inner]
    known = (
        dpcheck.Gaussian | dpcheck.GDP | dpcheck.Laplace | dpcheck.PureDP | dpcheck.FinitePair
        | dpcheck.RandomizedResponse | dpcheck.SampledGaussian | dpcheck.SampledLaplace
        | dpcheck.DiscreteGaussian | dpcheck.DiscreteLaplace
    )  # fmt: skip
    return [(event, 1)] if isinstance(event, known) else None


def true_delta(event: Event, adjacency: Adjacency, epsilon: float) -> arb:
    """delta at `epsilon`; KeyError where it is not known."""
    parts = flat(event)
    if not parts:
        raise KeyError(event)
    squares = [_mu_squared(leaf, n, adjacency) for leaf, n in parts]
    if None not in squares:
        return gaussian_delta(sum(squares, arb(0)).sqrt(), arb(epsilon))
    kinds = {type(leaf) for leaf, _ in parts}
    times = sum(n for _, n in parts)
    if kinds == {dpcheck.FinitePair} and times <= MOST_OUTCOMES:
        return finite_delta([leaf for leaf, n in parts for _ in range(n)], epsilon)
    if kinds in ({dpcheck.RandomizedResponse}, {dpcheck.PureDP}):
        leaves = {leaf for leaf, _ in parts}
        if len(leaves) == 1 and times <= MOST_USES:
            return response_delta(_response(leaves.pop()), times, arb(epsilon))
        if times <= MOST_ANSWERS:
            return answers_delta([_response(leaf) for leaf, n in parts for _ in range(n)], epsilon)
        raise KeyError(event)
    if times > 1:
        raise KeyError(event)
    return _single(parts[0][0], adjacency, arb(epsilon))


def _mu_squared(leaf: Event, n: int, adjacency: Adjacency) -> arb | None:
    if isinstance(leaf, dpcheck.Gaussian):
        return n * (arb(adjacency.moves) / arb(leaf.noise_multiplier)) ** 2
    if isinstance(leaf, dpcheck.GDP) and leaf.adjacency is None:
        return n * arb(leaf.mu) ** 2
    return None


def _ncdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian_delta(mu: arb, e: arb) -> arb:
    """[Balle2018b] Theorem 8."""
    return _ncdf(mu / 2 - e / mu) - e.exp() * _ncdf(-mu / 2 - e / mu)


def _response(leaf: Event) -> arb:
    if isinstance(leaf, dpcheck.PureDP):
        if leaf.adjacency is None:
            return arb(leaf.epsilon)
    elif leaf.categories == 2 and 0 < leaf.noise < 1:
        noise = arb(leaf.noise)
        return ((1 - noise / 2) / (noise / 2)).log()
    raise KeyError(leaf)


def answers_delta(losses: list[arb], epsilon: float) -> arb:
    """Answers of different losses +-l: the sum over all that can be answered."""
    outcomes = [(arb(0), arb(1))]
    for loss in losses:
        kept = 1 / (1 + (-loss).exp())
        outcomes = [
            (at + s, p * m) for at, p in outcomes for s, m in ((loss, kept), (-loss, 1 - kept))
        ]
    total, e = arb(0), arb(epsilon)
    for at, mass in outcomes:
        left = 1 - (e - at).exp()
        # On the kink itself it does not matter which side counts: both are 0.
        total += mass * (left if left > 0 else arb(0) if left < 0 else left.union(arb(0)))
    return total


def response_delta(loss: arb, times: int, e: arb) -> arb:
    """Two answers of loss +-e, `times` times: the binomial sum, from the largest loss down."""
    keep = 1 / (1 + (-loss).exp())
    term, total = keep**times, arb(0)
    odds = (-loss).exp()
    for wrong in range(times + 1):
        excess = (times - 2 * wrong) * loss - e
        if not excess > 0:
            if not excess <= 0:
                # Next to its kink a term is between 0 and term * (upper end of the excess).
                total += (term * abs(excess)).union(arb(0))
            break
        total += term * -(-excess).expm1()
        term = term * odds * (times - wrong) / (wrong + 1)
    return total


def finite_delta(pairs: list, epsilon: float) -> arb:
    """All outcomes enumerated."""
    growth, best = arb(epsilon).exp(), arb(0)
    for one, other in (("p", "q"), ("q", "p")):
        total = arb(0)
        for outcome in itertools.product(*(range(len(pair.p)) for pair in pairs)):
            a, b = arb(1), arb(1)
            for pair, k in zip(pairs, outcome, strict=True):
                a *= arb(getattr(pair, one)[k])
                b *= arb(getattr(pair, other)[k])
            total += _positive(a - growth * b)
        best = _larger(best, total)
    return best


def _positive(value: arb) -> arb:
    return arb(0) if value <= 0 else value if value >= 0 else value.union(arb(0))


def _larger(a: arb, b: arb) -> arb:
    return a if a >= b else b if b >= a else a.union(b)


def _single(leaf: Event, adjacency: Adjacency, e: arb) -> arb:
    moves = adjacency.moves
    if isinstance(leaf, dpcheck.Laplace):
        return _positive(-((e - arb(moves) / arb(leaf.noise_multiplier)) / 2).expm1())
    if isinstance(leaf, dpcheck.DiscreteLaplace):
        return _discrete_laplace(arb(leaf.scale), leaf.norm_bound * moves, e)
    if isinstance(leaf, dpcheck.DiscreteGaussian):
        return _discrete_gaussian(leaf.scale, leaf.norm_bound * moves, e)
    if adjacency is Adjacency.REPLACE_ONE:
        raise KeyError(leaf)
    shift = 1 / arb(leaf.noise_multiplier)
    if isinstance(leaf, dpcheck.SampledGaussian):
        # The ratio is at most e^y left of x = y/mu + mu/2.
        def below(y: arb) -> tuple[arb, arb]:
            x = y / shift + shift / 2
            return _ncdf(x), _ncdf(x - shift)
    elif isinstance(leaf, dpcheck.SampledLaplace):
        # Losses are -r, 2 x - r between the centres, and r.
        def below(y: arb) -> tuple[arb, arb]:
            if y >= shift:
                return arb(1), arb(1)
            if y < -shift:
                return arb(0), arb(0)
            if not (y < shift and y >= -shift):
                raise Unsure
            return 1 - (-(y + shift) / 2).exp() / 2, ((y - shift) / 2).exp() / 2
    else:
        raise KeyError(leaf)
    return _sampled(arb(leaf.sampling_rate), e, below)


def _sampled(rate: arb, e: arb, below: Callable[[arb], tuple[arb, arb]]) -> arb:
    """Both directions of (1 - q) Q + q P against Q, with `below(y)` = Q and P of ratios up to e^y.

    (1 - q + q r) > e^e where r > 1 + (e^e - 1)/q; 1 > e^e (1 - q + q r) where r < 1 + (e^-e - 1)/q.
    """
    q, p = (1 - mass for mass in below((1 + e.expm1() / rate).log()))
    grown = e.exp()
    forward = _positive((1 - rate - grown) * q + rate * p)
    edge = 1 + (-e).expm1() / rate
    if edge <= 0:
        return forward
    if not edge > 0:
        raise Unsure
    q, p = below(edge.log())
    return _larger(forward, _positive((1 - grown * (1 - rate)) * q - grown * rate * p))


def _discrete_laplace(scale: arb, shift: int, e: arb) -> arb:
    a = (-1 / scale).exp()
    center, total = (1 - a) / (1 + a), arb(0)
    masses = [(shift, 1 / (1 + a))] + [(x, center * a ** (shift - x)) for x in range(1, shift)]
    for x, mass in masses:
        total += mass * _positive(-(e - (2 * x - shift) / scale).expm1())
    return total


def _discrete_gaussian(scale: float, shift: int, e: arb) -> arb:
    if scale > WIDEST:
        raise KeyError(scale)
    s, reach = arb(scale), math.ceil(25 * scale) + 3
    weights = [(-(arb(x) ** 2) / (2 * s * s)).exp() for x in range(reach + 1)]
    # All that is beyond is a geometric series at most.
    rest = 2 * weights[-1] / (1 - (-arb(reach) / (s * s)).exp())
    beyond = rest.union(arb(0))
    norm, total = weights[0] + 2 * sum(weights[1:], arb(0)) + beyond, beyond
    for x in range(shift - reach, shift + reach + 1):
        excess = shift * arb(2 * x - shift) / (2 * s * s) - e
        if not excess <= 0:
            total += weights[abs(x - shift)] * _positive(-(-excess).expm1())
    return total / norm
