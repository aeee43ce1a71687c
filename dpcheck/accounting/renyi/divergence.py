"""Renyi differential privacy: one pure function per worst-case pair, composed by addition.

`renyi(loss, orders)` bounds max(D_a(P||Q), D_a(Q||P)) from above at every order a > 1.
"""

from __future__ import annotations

import math
from functools import lru_cache, singledispatch

import numpy as np
from flint import arb

from dpcheck.accounting import losses
from dpcheck.accounting.accountants.pure import largest_loss
from dpcheck.accounting.losses import Loss, Parts
from dpcheck.accounting.renyi.conversion import best_order
from dpcheck.accounting.renyi.discrete import (
    discrete_gaussian_divergence,
    discrete_laplace_moment,
    finite_moment,
)
from dpcheck.accounting.renyi.moments import (
    LEAST_WEIGHT,
    Floats,
    exp_beyond_first,
    half_square,
    laplace_log_moment,
    log_sum_exp,
    mixture_log_moments,
)
from dpcheck.accounting.renyi.sampled import (
    interpolated,
    replaced_moment,
    without_replacement_moment,
)
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.balls import above, precision
from dpcheck.numerics.side import Side
from dpcheck.numerics.tails import binomial_masses, binomial_tail

# Closed forms below are a handful of elementary functions: 1e-14 covers their rounding.
_ROUND_UP = 1 + 1e-14


@singledispatch
def renyi(loss: Loss, orders: Floats) -> Floats:
    """Upper bounds on the Renyi divergence of `loss` in both directions, per order (all above 1).

    Guarantee: never below the divergence; infinite where none is finite.
    """
    raise CannotCertify(f"no Renyi bound is known for {type(loss).__name__}.")


@renyi.register
def _(loss: losses.GaussianLoss, orders: Floats) -> Floats:
    return half_square(orders, loss.mu) * _ROUND_UP  # [Mironov2017] Proposition 7


@renyi.register
def _(loss: losses.LaplaceLoss, orders: Floats) -> Floats:
    # [Mironov2017] Proposition 6, with its first-order terms, which cancel, left out.
    a, r = orders, loss.ratio
    with np.errstate(over="ignore"):
        excess = a * exp_beyond_first((a - 1) * r) + (a - 1) * exp_beyond_first(-a * r)
        small = np.log1p(excess / (2 * a - 1))
    large = (a - 1) * r + np.log(a / (2 * a - 1)) + np.log1p((a - 1) / a * np.exp((1 - 2 * a) * r))
    moment = np.where((a - 1) * r > 600, large, small)
    return np.minimum(moment / (a - 1), r) * _ROUND_UP * (1 + 1e-12)


@renyi.register
def _(loss: losses.ResponseLoss, orders: Floats) -> Floats:
    if loss.delta > 0:
        return np.full_like(orders, math.inf)
    a, e = orders, loss.epsilon
    # ((e^{ae} + e^{(1-a)e}) / (1 + e^e) - 1) (1 - neutral), factored so that nothing cancels.
    with np.errstate(over="ignore", invalid="ignore"):
        excess = -np.expm1((1 - a) * e) * np.expm1(a * e) / (1 + np.exp(e))
        moment = np.log1p((1 - loss.neutral) * excess)
    return np.minimum(np.where(np.isfinite(moment), moment / (a - 1), e), e) * _ROUND_UP


@renyi.register
def _(loss: losses.BoundedLoss, orders: Floats) -> Floats:
    # Randomized response is the worst of all pairs of bounded loss [Kairouz2017, Theorem 3.1].
    return renyi(losses.ResponseLoss(loss.epsilon), orders)


@renyi.register
def _(loss: losses.BoundedRangeLoss, orders: Floats) -> Floats:
    a, e = orders, loss.epsilon
    concentrated = (
        half_square(a, e) / 4 * (1 + 1e-12)
    )  # [Cesar2021] Lemma 3.2: a range of eps is eps^2/8-zCDP
    if e < 1e-3:
        return concentrated
    # The loss lives on {t, t - eps}; the worst t solves a linear equation in e^t [Dong2020, Lemma 3.2].
    # Any t gives a divergence some such pair has; the stationary one is the largest.
    log_small = -e + np.log(-np.expm1((1 - a) * e))
    t = np.log((a - 1) / a) + np.log(-np.expm1(-a * e)) - log_small
    # In logarithms: of a large t nothing is left of e^-t, but of e^((a-1) t).
    # Next to eps nothing is left of 1 - e^(t - eps); no loss, so no divergence, is above eps.
    known = e - t > 1e-9 * (1 + e)
    t = np.where(known, t, e / 2)
    log_heads = np.log(-np.expm1(t - e)) - np.log(-np.expm1(-e)) - t
    tails = np.log1p(-np.exp(log_heads))
    moment: Floats = np.logaddexp(a * t + log_heads, a * (t - e) + tails)
    # Exponents of up to a e err by 6 units of themselves, the logarithms beside them by 100; 1e-13 is 900.
    # The moment is stationary at t, so that the rounding of t does not matter.
    moment = moment + 1e-13 * (1 + a * e)
    return np.minimum(np.where(known, moment / (a - 1), e), concentrated)


@renyi.register
def _(loss: losses.DiscreteGaussianLoss, orders: Floats) -> Floats:
    return discrete_gaussian_divergence(loss, orders, Side.UPPER)


@renyi.register
def _(loss: losses.DiscreteLaplaceLoss, orders: Floats) -> Floats:
    moment, rounding = discrete_laplace_moment(loss, orders)
    largest = loss.shift / loss.scale * _ROUND_UP
    return np.clip((moment + rounding) / (orders - 1), 0.0, largest)


@renyi.register
def _(loss: losses.FiniteLoss, orders: Floats) -> Floats:
    if loss.one_sided:
        return np.full_like(orders, math.inf)
    forward, rounding = finite_moment(loss, orders)
    backward, _ = finite_moment(losses.FiniteLoss(loss.q, loss.p), orders)
    moment: Floats = np.maximum(np.maximum(forward, backward), 0.0)
    return np.asarray((moment + rounding) / (orders - 1))


@renyi.register
def _(loss: losses.GaussianMixtureLoss, orders: Floats) -> Floats:
    # One shift: the direction with the mixture on top is the larger one [Mironov2019, Theorem 5].
    weights, total = loss.weights, math.fsum(loss.weights)
    if 0 < total < LEAST_WEIGHT:
        weights = tuple(weight * (LEAST_WEIGHT / total * (1 + 1e-12)) for weight in weights)
    moments = np.add(*mixture_log_moments(loss.shifts, weights, tuple(orders.tolist())))
    if len(loss.shifts) > 1:
        back = mixture_log_moments(loss.shifts, weights, tuple((1 - orders).tolist()))
        moments = np.maximum(moments, np.add(*back))
    if not np.isfinite(moments).all():  # too long a sum
        moments = np.where(np.isfinite(moments), moments, _convex_mixture_moments(loss, orders))
    return np.asarray(moments / (orders - 1) * _ROUND_UP)


def _convex_mixture_moments(loss: losses.GaussianMixtureLoss, orders: Floats) -> Floats:
    """log((1-w) + sum_j w_j e^{a (a-1) s_j^2/2}), w = sum_j w_j: x^a and x^(1-a) are convex, so the mixture's
    moments, of either direction, are at most the mixture of the moments.
    """
    shifts, weights = np.asarray(loss.shifts), np.asarray(loss.weights)
    rest = max(1 - math.fsum(loss.weights), 1e-300)
    terms = np.log(weights) + (orders * (orders - 1) / 2)[:, None] * shifts**2
    moment = np.logaddexp(math.log(rest), log_sum_exp(terms))
    return np.maximum(moment, 0.0) * (1 + 1e-12) + 1e-12


@renyi.register
def _(loss: losses.SampledLaplaceLoss, orders: Floats) -> Floats:
    result = np.full_like(orders, largest_loss(loss)[1])  # no divergence exceeds the largest loss
    for i, a in enumerate(orders):
        if a * loss.ratio < 1000:  # beyond, the divergence is the largest loss but for 1/order
            forward = sum(laplace_log_moment(loss.ratio, loss.rate, a))
            backward = sum(laplace_log_moment(loss.ratio, loss.rate, 1 - a))
            result[i] = min(result[i], max(forward, backward) / (a - 1) * _ROUND_UP)
    return result


@renyi.register
def _(loss: losses.LatticeMassLoss, orders: Floats) -> Floats:
    # E_P e^{(a-1) L} of each direction; convex in the curve, so an upper curve gives an upper moment.
    worst = np.zeros_like(orders)
    for way in (loss, losses.reverse(loss)):
        assert isinstance(way, losses.LatticeMassLoss)
        if way.infinite > 0 and math.isinf(way.most):
            return np.full_like(orders, math.inf)
        p = np.asarray((*way.masses, way.infinite))
        at = np.append((way.first + np.arange(len(way.masses))) * way.step, min(way.most, 1e300))
        p, at = p[p > 0], at[p > 0]
        moment = log_sum_exp((orders[:, None] - 1) * at + np.log(p))
        rounding = 1e-13 * (1 + float(np.abs(at).max()) * orders)
        worst = np.maximum(worst, (moment + rounding) / (orders - 1))
    return worst


@renyi.register
def _(loss: losses.ConcentratedLoss, orders: Floats) -> Floats:
    return (orders * loss.rho + loss.offset) * _ROUND_UP


@renyi.register
def _(loss: losses.ReplacedSampleLoss, orders: Floats) -> Floats:
    return interpolated(lambda order: replaced_moment(loss, order), orders)


@renyi.register
def _(loss: losses.WithoutReplacementLoss, orders: Floats) -> Floats:
    return interpolated(lambda order: without_replacement_moment(loss, order), orders)


@renyi.register
def _(loss: losses.OppositeMixtureLoss, orders: Floats) -> Floats:
    if not loss.binomial:
        return renyi_of_mixed_shifts(2 * np.asarray(loss.shifts), np.asarray(loss.weights), orders)
    # One record: the bound on all pairs of a replaced record. A group: by group privacy of that.
    one = losses.ReplacedSampleLoss(losses.GaussianLoss(loss.shifts[0]), _drawn_once(loss))
    return renyi(
        one if len(loss.shifts) == 1 else losses.GroupedLoss(one, len(loss.shifts)), orders
    )


def _drawn_once(loss: losses.OppositeMixtureLoss) -> float:
    """The sampling rate of a group's records, from the weight of none being drawn, rounded up."""
    if len(loss.weights) == 1:
        return loss.weights[0]
    none = math.log1p(-math.fsum(loss.weights))  # at least 1/4 of the time: few units of it
    return min(1.0, -math.expm1(none / len(loss.weights)) * (1 + 1e-12))


def renyi_of_mixed_shifts(shifts: Floats, weights: Floats, orders: Floats) -> Floats:
    """Gaussian pairs mixed by a coin that is tossed alike in P and Q, and kept secret: at most the mean of
    their moments, 1 - w + sum_j w_j e^{a (a-1) s_j^2/2} [VanErven2014, Theorem 11: joint convexity].
    """
    rest = max(1 - math.fsum(weights), 1e-300)
    terms = np.log(weights) + (orders * (orders - 1) / 2)[:, None] * shifts**2
    moment = np.maximum(np.logaddexp(math.log(rest), log_sum_exp(terms)), 0.0)
    return np.asarray((moment * (1 + 1e-12) + 1e-13) / (orders - 1))


@renyi.register
def _(loss: losses.WithReplacementLoss, orders: Floats) -> Floats:
    most = min(loss.batch, 4096)
    draws = np.arange(1, most + 1, dtype=np.float64)
    weights = binomial_masses(draws, loss.batch, 1 / loss.rows)
    shifts = loss.mu * draws
    if most < loss.batch:
        shifts[-1] = loss.mu * loss.batch
        weights[-1] = binomial_tail(loss.batch, 1 / loss.rows, most)[1] + 1e-300
    with np.errstate(over="ignore"):
        return renyi_of_mixed_shifts(shifts, weights, orders)


@renyi.register
def _(loss: losses.CoinLoss, orders: Floats) -> Floats:
    # The coin is public: E (P/Q)^a is the mean of the options' moments.
    terms = [
        math.log(share) + (orders - 1) * renyi(option, orders)
        for share, option in loss.options
        if share > 0
    ]
    moment = np.maximum(log_sum_exp(np.stack(terms, axis=-1)), 0.0)
    return np.asarray((moment * (1 + 1e-12) + 1e-14) / (orders - 1))


@renyi.register
def _(loss: losses.GroupedLoss, orders: Floats) -> Floats:
    # [Mironov2017] Proposition 2: halving the order c times pays for a group of 2^c.
    doublings = (loss.size - 1).bit_length()
    bound = 3.0**doublings * renyi(loss.inner, orders * 2.0**doublings)
    return np.where(orders >= 2, bound, math.inf)


@renyi.register
def _(loss: losses.SampledLoss, orders: Floats) -> Floats:
    # (1-q) Q + q P against Q: x^a is convex, so its moment is at most 1 - q + q E_Q (P/Q)^a; likewise
    # backwards, where x^(1-a) is. Never more than without sampling.
    whole = composed_renyi(loss.inner, orders)
    with np.errstate(over="ignore"):
        moment = np.log1p(loss.rate * np.expm1(np.minimum((orders - 1) * whole, 700.0)))
    bound = np.where((orders - 1) * whole < 700.0, moment / (orders - 1) * (1 + 1e-12), whole)
    return np.asarray(np.minimum(bound, whole))


@renyi.register
def _(loss: losses.WorstLoss, orders: Floats) -> Floats:
    worst: Floats = np.max([composed_renyi(option, orders) for option in loss.options], axis=0)
    return worst


@renyi.register
def _(loss: losses.SelectedLoss, orders: Floats) -> Floats:
    """[Papernot2022] Theorem 2."""
    selecting = _cost_of_selecting(loss) * (1 + 1e-12)
    runs = log_expected_runs(loss.shape, loss.stop)
    return (composed_renyi(loss.inner, orders) + selecting + runs / (orders - 1)) * _ROUND_UP


@lru_cache(maxsize=64)
def _cost_of_selecting(loss: losses.SelectedLoss) -> float:
    """(1 + shape) ((1 - 1/a) D_a + log(1/stop)/a) at the best order a; any is valid.

    (a-1) D_a is convex in a, so that this has one minimum.
    """
    room = -math.log(loss.stop)
    known = math.inf

    def cost(orders: Floats, divergences: Floats) -> Floats:
        return (1 - 1 / orders) * divergences + room / orders

    def curve(orders: Floats) -> Floats:
        nonlocal known
        found = composed_renyi(loss.inner, orders)
        known = min(known, float(cost(orders, found).min()))
        return found

    # Beyond an order of 2 the cost is at least half the divergence, which grows.
    return (1 + loss.shape) * best_order(curve, cost, lambda d: d / 2 > known).value


@lru_cache(maxsize=256)
def log_expected_runs(eta: float, gamma: float) -> float:
    """log of `expected_runs`, rounded up: next to gamma = 1 its formula loses all digits."""
    with precision(320):
        shape, stop = arb(eta), arb(gamma)
        rare = 1 - (shape * stop.log()).exp() if eta else -stop.log()
        return max(above(((shape if eta else arb(1)) * (1 - stop) / (stop * rare)).log()), 0.0)


def expected_runs(eta: float, gamma: float) -> float:
    """Mean of the truncated negative binomial distribution [Papernot2022, Definition 1]."""
    if eta == 0:
        return (1 / gamma - 1) / math.log(1 / gamma)
    return eta * (1 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))


@renyi.register
def _(loss: losses.PoissonSelectedLoss, orders: Floats) -> Floats:
    """log(e^-mean + mean e^{(a-1) (D_a + mean delta)})/(a-1), delta that of one run at log(1 + 1/(a-1)).

    [Papernot2022] Theorem 6 for what is released; with e^-mean nothing is, under P and Q alike.
    """
    from dpcheck.accounting.accountants.selected import curve_above  # it asks all accountants

    one = curve_above(loss.inner, (1 / (orders - 1)) * (1 - 1e-15), loss.mean)
    moved = composed_renyi(loss.inner, orders) + loss.mean * one * (1 + 1e-14)
    released = (orders - 1) * moved + math.log(loss.mean)
    total = np.logaddexp(-loss.mean, released)
    # Terms of both signs, each right within a few units of itself.
    rounding = 1e-14 * (1 + (orders - 1) * moved + abs(math.log(loss.mean)) + loss.mean)
    return np.asarray(np.maximum(total + rounding, 0.0) / (orders - 1) * _ROUND_UP)


@renyi.register
def _(loss: losses.RevealedSizeLoss, orders: Floats) -> Floats:
    # A size of all rows is seen with the record only, and without it never: no divergence is finite.
    return np.full_like(orders, math.inf)


@renyi.register
def _(loss: losses.AllocationLoss, orders: Floats) -> Floats:
    # Quasi-convex in each argument [VanErven2014, Theorem 13]: a mixture of single steps is no worse
    # than one of them, in both directions.
    return half_square(orders, loss.mu) * _ROUND_UP


@renyi.register
def _(loss: losses.UnboundedLoss, orders: Floats) -> Floats:
    return np.full_like(orders, math.inf)


# Divergences below this may have lost digits to underflow on the way, or be 0 by it.
LEAST_DIVERGENCE = 1e-290


def composed_renyi(parts: Parts, orders: Floats) -> Floats:
    """Divergences of an adaptive composition: they add [Mironov2017, Proposition 1]."""
    total = np.zeros_like(orders)
    for loss, times in parts:
        divergence = renyi(loss, orders)
        if divergence.min() < LEAST_DIVERGENCE and largest_loss(loss)[1] > 0:
            divergence = np.maximum(divergence, LEAST_DIVERGENCE)
        total += times * divergence
    return total * (1 + 1e-14 * len(parts))
