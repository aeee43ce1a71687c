"""delta(epsilon) of single pairs and of compositions with a closed form, in mpmath, from the definitions.

Nothing here imports an accountant. Each function returns the larger of the two directions, or None
where no independent truth is known.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath as mp

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.event import Event, Repeated, Sequential

mp.mp.dps = 50


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


def true_delta(event: Event, adjacency: Adjacency, epsilon: float) -> mp.mpf | None:
    """delta at `epsilon`, or None."""
    parts = flat(event)
    if not parts:
        return None
    squares = [_mu_squared(leaf, n, adjacency) for leaf, n in parts]
    if None not in squares:
        return gaussian_delta(mp.sqrt(mp.fsum(squares)), epsilon)
    kinds = {type(leaf) for leaf, _ in parts}
    if kinds == {dpcheck.RandomizedResponse} or kinds == {dpcheck.PureDP}:
        values = {_response(leaf) for leaf, _ in parts}
        times = sum(n for _, n in parts)
        if len(values) == 1 and None not in values and times <= 2000:
            return response_delta(values.pop(), times, epsilon)
        return None
    if kinds == {dpcheck.FinitePair} and sum(n for _, n in parts) <= 5:
        return finite_delta([leaf for leaf, n in parts for _ in range(n)], epsilon)
    if len(parts) > 1 or parts[0][1] > 1:
        return None
    return _single(parts[0][0], adjacency, epsilon)


def _mu_squared(leaf: Event, n: int, adjacency: Adjacency) -> mp.mpf | None:
    if isinstance(leaf, dpcheck.Gaussian):
        return n * (mp.mpf(adjacency.moves) / mp.mpf(leaf.noise_multiplier)) ** 2
    if isinstance(leaf, dpcheck.GDP) and leaf.adjacency is None:
        return n * mp.mpf(leaf.mu) ** 2
    return None


def gaussian_delta(mu: mp.mpf, epsilon: float) -> mp.mpf:
    """[Balle2018b] Theorem 8."""
    if mu == 0:
        return mp.mpf(0)
    e = mp.mpf(epsilon)
    # Tails of moderate size are subtracted; digits for the cancellation of tiny differences.
    with mp.workdps(60 + int(abs(mp.log10(mu))) * 2):
        value = mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)
    return max(value, mp.mpf(0))


def _response(leaf: Event) -> mp.mpf | None:
    if isinstance(leaf, dpcheck.PureDP):
        return mp.mpf(leaf.epsilon) if leaf.adjacency is None else None
    if leaf.categories != 2 or leaf.noise <= 0:
        return None
    noise = mp.mpf(leaf.noise)
    return mp.log((1 - noise / 2) / (noise / 2)) if noise < 1 else mp.mpf(0)


def response_delta(loss: mp.mpf, times: int, epsilon: float) -> mp.mpf:
    """Two answers of loss +-e, `times` times: the binomial sum."""
    keep = 1 / (1 + mp.exp(-loss))
    total = mp.mpf(0)
    for k in range(times + 1):
        excess = (2 * k - times) * loss - epsilon
        if excess > 0:
            total += (
                mp.binomial(times, k) * keep**k * (1 - keep) ** (times - k) * -mp.expm1(-excess)
            )
    return total


def finite_delta(pairs: list, epsilon: float) -> mp.mpf:
    """All outcomes enumerated."""
    growth, best = mp.exp(mp.mpf(epsilon)), mp.mpf(0)
    for one, other in (("p", "q"), ("q", "p")):
        total = mp.mpf(0)
        for outcome in itertools.product(*(range(len(pair.p)) for pair in pairs)):
            a, b = mp.mpf(1), mp.mpf(1)
            for pair, k in zip(pairs, outcome, strict=True):
                a *= mp.mpf(getattr(pair, one)[k])
                b *= mp.mpf(getattr(pair, other)[k])
            total += max(a - growth * b, mp.mpf(0))
        best = max(best, total)
    return best


def _single(leaf: Event, adjacency: Adjacency, epsilon: float) -> mp.mpf | None:
    e = mp.mpf(epsilon)
    moves = adjacency.moves
    if isinstance(leaf, dpcheck.Laplace):
        ratio = mp.mpf(moves) / mp.mpf(leaf.noise_multiplier)
        return max(-mp.expm1((e - ratio) / 2), mp.mpf(0))
    if isinstance(leaf, dpcheck.DiscreteLaplace):
        return _discrete_laplace(mp.mpf(leaf.scale), leaf.norm_bound * moves, e)
    if isinstance(leaf, dpcheck.DiscreteGaussian):
        return _discrete_gaussian(leaf.scale, leaf.norm_bound * moves, e)
    if adjacency is Adjacency.REPLACE_ONE:
        return None
    if isinstance(leaf, dpcheck.SampledGaussian):
        return _sampled(leaf, e, mp.ncdf, lambda a, mu: a / mu + mu / 2)
    if isinstance(leaf, dpcheck.SampledLaplace):
        ratio = 1 / mp.mpf(leaf.noise_multiplier)
        # Whole curve of amplification by sampling: both directions from the Laplace one.
        rate = mp.mpf(leaf.sampling_rate)
        forward = rate * _laplace_curve(ratio, mp.log1p(mp.expm1(e) / rate))
        return max(forward, _reversed(lambda x: _sampled_forward_laplace(ratio, rate, x), e))
    return None


def _laplace_curve(ratio: mp.mpf, e: mp.mpf) -> mp.mpf:
    """E (1 - e^(e - L))+ for real e."""
    if e >= ratio:
        return mp.mpf(0)
    if e <= -ratio:
        return -mp.expm1(e)
    return -mp.expm1((e - ratio) / 2)


def _sampled_forward_laplace(ratio: mp.mpf, rate: mp.mpf, e: mp.mpf) -> mp.mpf:
    inner = 1 + mp.expm1(e) / rate
    if inner <= 0:
        return -mp.expm1(e)
    return rate * _laplace_curve(ratio, mp.log(inner))


def _reversed(curve, e: mp.mpf) -> mp.mpf:
    """The curve with P and Q swapped: H(e) = 1 - e^e + e^e F(-e)."""
    with mp.workdps(150):
        return max(-mp.expm1(e) + mp.exp(e) * curve(-e), mp.mpf(0))


def _sampled(leaf: dpcheck.SampledGaussian, e: mp.mpf, tail, _place) -> mp.mpf:
    mu, rate = 1 / mp.mpf(leaf.noise_multiplier), mp.mpf(leaf.sampling_rate)

    def forward(x: mp.mpf) -> mp.mpf:
        inner = 1 + mp.expm1(x) / rate
        if inner <= 0:
            return -mp.expm1(x)
        y = mp.log(inner)
        return rate * (tail(mu / 2 - y / mu) - inner * tail(-mu / 2 - y / mu))

    with mp.workdps(150 + int(mu**2)):
        return max(forward(e), _reversed(forward, e), mp.mpf(0))


def _discrete_laplace(scale: mp.mpf, shift: int, e: mp.mpf) -> mp.mpf:
    a = mp.exp(-1 / scale)
    center = (1 - a) / (1 + a)
    total = mp.mpf(0)
    if shift / scale > e:
        total += (a**0 / (1 + a)) * -mp.expm1(e - shift / scale)
    for x in range(1, shift):
        loss = (2 * x - shift) / scale
        if loss > e:
            total += center * a ** (shift - x) * -mp.expm1(e - loss)
    return total


def _discrete_gaussian(scale: float, shift: int, e: mp.mpf) -> mp.mpf | None:
    if scale > 60:
        return None
    s = mp.mpf(scale)
    reach = math.ceil(60 * scale) + 3
    norm = mp.fsum(mp.exp(-(mp.mpf(x) ** 2) / (2 * s * s)) for x in range(-reach, reach + 1))
    # Outcomes beyond the threshold loss only: shift (2x - shift)/(2 s^2) > e.
    start = math.floor(float((e * 2 * s * s / shift + shift) / 2)) - 1
    total = mp.mpf(0)
    for x in range(max(start, shift - reach), shift + reach + 1):
        loss = mp.mpf(shift) * (2 * x - shift) / (2 * s * s)
        if loss > e:
            total += mp.exp(-(mp.mpf(x - shift) ** 2) / (2 * s * s)) * -mp.expm1(e - loss)
    return total / norm


def exact(value: float) -> Fraction:
    """The float as the number it is."""
    return Fraction(value)
