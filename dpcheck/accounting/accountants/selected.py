"""The best of a random number of runs: which (e, d) of one run to prove the cost of selecting with.

What it proves, and that any (e, d) will do, is said in `certify.selection`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpcheck.accounting.accountants.distribution import DistributionAccountant, OneLaw, has_lattice
from dpcheck.accounting.accountants.gaussian import GaussianAccountant
from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.accountants.pure import PureAccountant
from dpcheck.accounting.accountants.renyi import RenyiOptimal
from dpcheck.accounting.certify.bound import Plan, Question
from dpcheck.accounting.certify.gaussian import gaussian_curve, gaussian_mu, gdp_delta, gdp_deltas
from dpcheck.accounting.certify.lattice import once
from dpcheck.accounting.certify.renyi import by_renyi
from dpcheck.accounting.certify.selection import (
    ROUND_UP,
    by_selection,
    delta_of_one,
    laplace_curve,
    laplace_ratio,
    left_of,
    selection_curve,
)
from dpcheck.accounting.losses import Parts, SelectedLoss
from dpcheck.accounting.pairs.pair import composed_variation
from dpcheck.accounting.renyi.closed_forms import concentration
from dpcheck.accounting.renyi.conversion import linear_majorant, majorant_epsilon
from dpcheck.accounting.renyi.divergence import composed_renyi
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.side import Side

# Searches end when two terms, or a step, are this close, or after so many tries.
BALANCED, TRIES = 5e-5, 20
# Lattices are asked at another delta than their own where less than this share is allowance for error.
QUIET = 1e-4
# Share of epsilon that lattices of one run may cost: the bounds on a selection are much further apart.
ROUGH = 2e-4
# About where the two terms are equal.
_AROUND = 0.05


class SelectionAccountant(Accountant):
    """One selection, by the curve of one run; its composition is left to Renyi divergences."""

    method = AccountingMethod.SELECTION

    def plan_above(self, parts: Parts, delta: float) -> Plan:
        """The cost of selecting and of one run at a smaller delta."""
        loss = _only(parts)
        if delta <= 0 or loss is None:
            return Plan()
        one, pair = _one_and_pair(loss, delta_of_one(loss, delta))
        return Plan(by_selection(loss, delta, one, *pair))

    def curve_above(self, parts: Parts, epsilons: Array) -> Plan:
        """The runs' deltas at what the cost of selecting leaves."""
        loss = _only(parts)
        if loss is None:
            return Plan()
        pair = _one_and_pair(loss, _AROUND)[1]
        left = left_of(loss, epsilons, *pair)
        left = left[left > 0]
        one = _curve_of_one(loss.inner, left) if len(left) else Plan()
        return Plan(selection_curve(loss, epsilons, one, *pair))


def _only(parts: Parts) -> SelectedLoss | None:
    """The one selection that is all there is; None where there is more, or something else."""
    chosen = parts[0][0].selection if len(parts) == 1 == parts[0][1] else None
    return chosen.binomial if chosen else None


class Pair(NamedTuple):
    """What proves an (e, d) of one run."""

    plan: Plan
    asked: Question


# No loss beyond the largest, or d = 1: nothing has to be proved.
_NOTHING = Pair(Plan(), Question((), Side.UPPER, epsilons=np.zeros(1)))


class OneRun(NamedTuple):
    """What proves the epsilon of one run; a good e; f(e), and what proves it.

    c is at least max(e, f(e)): either one run is (e, d)-DP and f = log(1 + odds d), or it is (f, d)-DP and
    e = log(1 + odds d).
    """

    plan: Plan
    start: float
    other: Callable[[float], float]
    pair: Callable[[float], Pair]


def _one_and_pair(loss: SelectedLoss, delta: float) -> tuple[Plan, Pair]:
    """What proves the epsilon of one run at `delta`, and c."""
    odds = (1 - loss.stop) / loss.stop
    pure = PureAccountant().epsilon(loss.inner, 0.0)
    if delta <= 0:
        return Plan(), _NOTHING
    run = _one_run(loss.inner, delta, odds)
    _, _, at = _least_maximum(run.other, run.start, min(pure, math.log1p(odds)))
    return run.plan, run.pair(at) if math.isfinite(at) else _NOTHING


# About how fast log(1 + odds d) - e falls where it is 0, and epsilon(d) - e with e = log(1 + odds d).
_SLOPE, _SLOPE_OF_EPSILON = -2.0, -1.4


def _least_maximum(
    other: Callable[[float], float], start: float, most: float, first: float = _SLOPE
) -> tuple[float, float, float]:
    """The least of max(e, other(e)), no more than `most`, about the best e, and the one it is known of: by
    secants.

    `other` falls in e, and other(e) - e about as fast as `first` says.
    """
    low, high, best, known = 0.0, min(most, 700.0), most, math.nan
    where, before = start, (math.nan, math.nan)
    for _ in range(TRIES):
        if not low < where < high:
            where = (low + high) / 2
        over = other(where) - where
        if where + max(over, 0.0) < best:
            best, known = where + max(over, 0.0), where
        low, high = (where, high) if over > 0 else (low, where)
        slope = (over - before[1]) / (where - before[0]) if where != before[0] else math.nan
        before = (where, over)
        where -= over / (first if math.isnan(slope) else min(slope, -1.0))
        if abs(over) <= BALANCED * before[0]:
            break
    return best, where, known


def _one_run(parts: Parts, delta: float, odds: float) -> OneRun:
    """One run by what is known of it."""
    if mu := gaussian_mu(parts):
        shift = mu[1]
        plan = GaussianAccountant().plan_above(parts, delta)
        start = _balanced(shift, odds) if odds > 0 and 0 < shift < math.inf else 0.0
        return OneRun(
            plan,
            start,
            lambda e: math.log1p(odds * gdp_delta(shift, e)[1]),
            lambda e: _at(e, Plan(gaussian_curve(parts, np.array([e])))),
        )
    if laplace_ratio(parts) is not None:
        return OneRun(
            Plan(once(parts[0][0], min(delta, 0.5), Side.UPPER)),
            0.0,
            lambda e: math.log1p(odds * _closed(parts, e)),
            lambda e: _at(e, Plan(laplace_curve(parts, np.array([e])))),
        )
    distribution = DistributionAccountant(ROUGH)
    one = distribution.epsilon(parts, delta)
    law, start = _law_near(parts, one, delta, odds) if math.isfinite(one) else (None, 0.0)
    if law is not None:
        known = law
        return OneRun(
            distribution.plan_above(parts, delta),
            start,
            lambda e: math.log1p(odds * float(known.deltas(np.array([e]))[0][0])),
            lambda e: _at(e, Plan(known.curve(np.array([e]))[0])),
        )
    return _one_run_by_renyi(parts, delta, odds)


def _at(e: float, plan: Plan) -> Pair:
    return Pair(plan, Question((), Side.UPPER, epsilons=np.array([e])))


def _one_run_by_renyi(parts: Parts, delta: float, odds: float) -> OneRun:
    """`_one_run` by Renyi divergences; the e of linear ones is found before anything is proved of it."""
    renyi = RenyiOptimal()
    plan = renyi.plan_above(parts, delta)
    start = _start(renyi.epsilon(parts, delta), delta, odds)
    linear, found = concentration(parts), None

    def paired(e: float) -> Pair:
        d = _paired(e, odds)
        known = linear_majorant(*linear, d) if linear else None
        proof = by_renyi(parts, d, known.order, known.u) if known else None
        return Pair(Plan(proof) if proof else renyi.plan_above(parts, d), _asking(d))

    if linear is None or not start:
        return OneRun(plan, start, lambda e: renyi.epsilon(parts, _paired(e, odds)), paired)

    def likely(e: float) -> float:
        nonlocal found
        found = linear_majorant(*linear, _paired(e, odds), found)
        return found.epsilon if found else math.inf

    def other(e: float) -> float:
        likely(e)
        return majorant_epsilon(found, _paired(e, odds)) if found else math.inf

    def pair(e: float) -> Pair:
        d = _paired(e, odds)
        likely(e)
        return Pair(Plan(by_renyi(parts, d, found.order, found.u) if found else None), _asking(d))

    start = _least_maximum(likely, start, math.log1p(odds), _SLOPE_OF_EPSILON)[1]
    return OneRun(plan, start, other, pair)


def _asking(d: float) -> Question:
    return Question((), Side.UPPER, d)


def _paired(e: float, odds: float) -> float:
    """The d with e = log(1 + odds d), rounded down: a function and two roundings; 1e-14 is 90 units."""
    return math.expm1(e) / odds * (1 - 1e-14)


def _law_near(parts: Parts, one: float, delta: float, odds: float) -> tuple[OneLaw | None, float]:
    """A lattice that says something at a good e, and that e: the one for `delta` if it does."""
    law, start = None, math.nan
    for _ in range(TRIES):
        start, law = _start(one, delta, odds), DistributionAccountant(ROUGH).one_law(parts, delta)
        if law is None:
            break
        found, noises = law.deltas(np.array([start]))
        if noises[0] <= QUIET:
            return law, _balanced_law(law, start, float(found[0]), odds)
        delta = math.expm1(start) / odds
        one = DistributionAccountant(ROUGH).epsilon(parts, delta)
    return law, start


def _balanced_law(law: OneLaw, start: float, delta: float, odds: float) -> float:
    """The epsilon at which it is log(1 + odds d), about, from one where the delta is known."""
    known = {start: delta}
    first = odds * delta * law.slope(start) / (1 + odds * delta) - 1

    def likely(e: float) -> float:
        return math.log1p(odds * (known[e] if e in known else law.about(e)))

    return _least_maximum(likely, start, math.log1p(odds), first)[1]


def _start(epsilon: float, delta: float, odds: float) -> float:
    """About the e at which a Gaussian with that epsilon at that delta has log(1 + odds d) = e."""
    if not (odds > 0 and epsilon < math.inf and delta < 1):
        return 0.0
    return _balanced(_gaussian_like(epsilon, delta), odds)


def _curve_of_one(parts: Parts, epsilons: Array) -> Plan:
    """What proves the least deltas of one run."""
    if gaussian_mu(parts):
        return GaussianAccountant().curve_above(parts, epsilons)
    able = (DistributionAccountant(), PureAccountant(), RenyiOptimal())
    plans = [one.curve_above(parts, epsilons) for one in able]
    return Plan(*(theorem for plan in plans for theorem in plan.theorems))


def _delta(parts: Parts, epsilon: float) -> float:
    """The least delta proved of one run."""
    if gaussian_mu(parts):
        return GaussianAccountant().delta(parts, epsilon)
    able = (DistributionAccountant(), PureAccountant(), RenyiOptimal())
    return min(one.delta(parts, epsilon) for one in able)


def _gaussian_like(epsilon: float, delta: float) -> float:
    """The shift mu of a Gaussian with that epsilon at that delta, about; for searching only.

    Newton's method for log delta as a function of z = epsilon/mu - mu/2, of which it is nearly a parabola.
    The derivative of delta by mu is the normal density at z.
    """
    if epsilon == 0:
        return math.sqrt(2 * math.pi) * delta  # to first order in mu
    z, mu = math.sqrt(-2 * math.log(delta)), 0.0
    for _ in range(TRIES):
        root = math.sqrt(z * z + 2 * epsilon)
        mu = 2 * epsilon / (root + z)
        found = _curve(mu, epsilon)[0]
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        if not min(found, density) > 0:
            break
        step = math.log(found / delta) * found / density * root / mu
        z += step
        if abs(step) <= BALANCED:
            break
    return mu


def _balanced(mu: float, odds: float) -> float:
    """The epsilon of such a Gaussian at which it is log(1 + odds delta), about: by Newton's method."""
    low, high = 0.0, min(math.log1p(odds * _curve(mu, 0.0)[0]), 700.0)
    where = high / 2
    for _ in range(TRIES):
        delta, beyond = _curve(mu, where)
        over = math.log1p(odds * delta) - where
        low, high = (where, high) if over > 0 else (low, where)
        step = over / (1 + odds * beyond / (1 + odds * delta))
        where = where + step if low < where + step < high else (low + high) / 2
        if abs(step) <= BALANCED * where:
            break
    return where


def _curve(mu: float, epsilon: float) -> tuple[float, float]:
    """delta of a Gaussian in floating point, and how fast it falls with epsilon."""
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    beyond = math.exp(min(epsilon, 700.0)) * math.erfc(-far / math.sqrt(2)) / 2
    return max(math.erfc(-near / math.sqrt(2)) / 2 - beyond, 0.0), beyond


# Deltas whose sum over all runs is below this share of the divergence beside it do not matter.
_FAINT = 1e-6
# The delta whose lattice is asked for the whole curve.
_MIDDLE = 1e-2
# Ratios e^eps, less 1, at which the curve of one run is asked.
_CORNERS: Array = np.concatenate(([0.0], np.geomspace(1e-3, 100.0, 101)))


def curve_above(parts: Parts, excess: Array, runs: float) -> Array:
    """delta of a composition at epsilon = log(1 + excess) from above, excess >= 0, that `runs` multiply.

    By its formula, or known at some points: delta is convex in e^eps, so straight lines between them are
    above it; beyond the last it is no larger than there.
    """
    found = _formula(parts, _epsilons(excess))
    return np.interp(excess, *_corners(parts, runs)) * ROUND_UP if found is None else found


def _epsilons(excess: Array) -> Array:
    """log(1 + excess), never above it: a logarithm errs by 8 units, the product by one; 2e-15 is 18."""
    return np.asarray(np.log1p(excess) * (1 - 2e-15))


def _formula(parts: Parts, epsilons: Array) -> Array | None:
    """delta of what has a closed form, rounded up."""
    if mu := gaussian_mu(parts):
        return gdp_deltas(mu[1], epsilons)
    known = laplace_curve(parts, epsilons)
    return known.deltas if known else None


def _closed(parts: Parts, epsilon: float) -> float:
    found = _formula(parts, np.array([epsilon]))
    return 1.0 if found is None else float(found[0])


@lru_cache(maxsize=64)
def _corners(parts: Parts, runs: float) -> tuple[Array, Array]:
    pure = PureAccountant().epsilon(parts, 0.0)
    corners = _CORNERS
    if 0 < pure < math.log1p(float(corners[-1])):
        last = math.expm1(pure) * (1 + 1e-14)  # nothing is left from there on
        corners = np.append(corners[corners < last], last)
    points = _epsilons(corners)
    if has_lattice(parts):
        # What is added to: D_a, here of order 2, and log(runs)/(a-1), 1/(a-1) being e^eps - 1.
        beside = float(composed_renyi(parts, np.array([2.0]))[0]) + math.log(max(runs, 1)) * corners
        found = _by_distribution(parts, points, _FAINT * beside / runs)
    else:
        found = np.array([_delta(parts, point) for point in points.tolist()])
    found = np.minimum(found, composed_variation(parts))
    return corners, np.where(points >= pure, 0.0, found)


def _by_distribution(parts: Parts, points: Array, faint: Array) -> Array:
    """Deltas at increasing points from one lattice; where its error is seen above what is `faint`, from
    lattices of their own.
    """
    distribution = DistributionAccountant()
    if (law := distribution.one_law(parts, _MIDDLE)) is None:
        return distribution.deltas(parts, points)
    found, noises = law.deltas(points)
    asked = 1
    while len(unsure := np.flatnonzero((noises > QUIET) & (found > faint))):
        # A few at first: what is faint at one epsilon is faint at all that are larger.
        some = unsure[:asked]
        found[some] = np.minimum(found[some], distribution.deltas(parts, points[some]))
        found, noises[some], asked = np.minimum.accumulate(found), 0.0, 2 * asked
    return found
