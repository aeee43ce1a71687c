"""One run of a selection from below: masses above thresholds of its loss, and which are worth it.

What the classes B and Y are is said in `selected_below`. Everything that is searched for is searched for in
floating point, and only what is found is proved.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from flint import arb

from dpcheck.accounting.accountants.distribution import lower_composition
from dpcheck.accounting.accountants.gaussian import gdp_epsilon_on
from dpcheck.accounting.certify.gaussian import gaussian_mu, normal
from dpcheck.accounting.certify.selection import laplace_ratio
from dpcheck.accounting.losses import Parts
from dpcheck.accounting.pairs.combined.selected import Number
from dpcheck.accounting.pld.distribution import Bulk, bulk
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.rounding import LARGEST_EXPONENT, UNIT, Array, Indices
from dpcheck.numerics.search import cell, saddle
from dpcheck.numerics.side import Side
from dpcheck.numerics.tilted import Convolution

# Lattices of one run may cost this share of epsilon.
ROUGH = 2e-3
# Where B takes less than this of log delta the lattice of the upper side's plan serves as well.
SAME_LATTICE = 3.0
# Thresholds of the better class that are tried on a lattice, and their distance in standard deviations.
THRESHOLDS, APART = 11, 0.1
# How much lower a threshold of a Gaussian run is tried.
LOWER = (0.0, 0.15, 0.4)
# Points that are tried for the threshold of the far class, and their distance as a share of epsilon.
NEARBY, NEAR = np.arange(-4, 4), 3e-4
# Epsilon below a threshold at which a lattice is asked how much lies above it.
BACK = 0.25
# Each of the few functions, sums and products errs by 8 units of its terms; this is 900 of them.
SLIP = 1e-13


class Better(NamedTuple):
    """The class B of losses up to `level`: P(B) from `least` to `most`, Q(B) at least base + ratio P(B)."""

    level: float
    least: float
    most: float
    base: float
    ratio: float = 0.0

    def gain(self, number: Number, far: float) -> float:
        """fall(Q(B)) - fall(P(B) + far/2) at least.

        It is monotone in P(B) where the bound on Q(B) is 0 and where it is linear, so least at one of the
        ends or where the second begins.
        """
        ends = {self.least, self.most}
        if self.base < 0 < self.ratio:
            ends.add(min(max(-self.base / self.ratio, self.least), self.most))
        return min(
            number.fall(max(self.base + self.ratio * p, 0.0)) - number.fall(p + far / 2)
            for p in ends
        )

    def share(self, part: float) -> Better:
        """A part of the class."""
        return Better(self.level, part * self.least, part * self.most, part * self.base, self.ratio)


NONE_BETTER = Better(-math.inf, 0.0, 0.0, 0.0)


class Search(NamedTuple):
    """What is looked for: a class B of most worth; for searching only.

    Its gain counts, and what one run costs at the delta that is left: about `bend` times the root of its
    negative logarithm, less what Y pays for its own mass. `listed` if large losses have likely outcomes.
    """

    number: Number
    rarity: float
    bend: float = 0.0
    listed: bool = True

    def worth(self, gain: float, p: float) -> float:
        """Of a class of so much P-mass."""
        left = self.rarity - self.number.fall(p)
        if left <= 0:
            return -math.inf
        slope, rare = self.number.slope(p), math.exp(-left)
        # Of a Gaussian Y has about delta over the flatness, of a few outcomes as little as is wanted.
        paid = math.sqrt(2 * slope * rare)
        if not self.listed:
            paid = slope * rare * (0.5 + math.sqrt(left) / self.bend)
        return gain + self.bend * math.sqrt(left) - paid

    def of(self, better: Better) -> float:
        """Of a class that is known."""
        return self.worth(better.gain(self.number, 0.0), better.most)

    def shared(self, better: Better) -> Better:
        """A class, or a part of it where all of it would leave too little for the others."""
        if better.most <= 0:
            return better
        enough = 1 + math.log1p(2 * self.number.slope(better.most))
        most = self.number.inverse(max(self.rarity - enough, 0.0))
        return better.share(most / better.most) if most < better.most else better

    def share_of_far(self, better: Better, most: float) -> float:
        """The part to take of a far class of P-mass `most`: P(Y)/2 should not cost more than delta does."""
        slope = self.number.slope(better.most)
        left = max(self.rarity - self.number.fall(better.most), 1e-3)
        needed, flatness = math.exp(-left), self.bend / 2 / math.sqrt(left)
        room = min(math.sqrt(2 * needed / slope), most)
        cost = slope * room / 2 - flatness * math.log(room / most) + needed / room
        return room / most if cost < slope * most / 2 else 1.0

    def best(
        self, masses: Callable[[float], tuple[float, float]], low: float, high: float
    ) -> float:
        """The threshold of most worth, by golden sections."""

        def worth(x: float) -> float:
            p, q = masses(x)
            return self.worth(self.number.fall(q) - self.number.fall(p), p)

        golden = (math.sqrt(5) - 1) / 2
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = worth(left), worth(right)
        while high - low > 0.02 * (1 + abs(low)):
            if at_left < at_right:
                low, left, at_left = left, right, at_right
                right = low + golden * (high - low)
                at_right = worth(right)
            else:
                high, right, at_right = right, left, at_left
                left = high - golden * (high - low)
                at_left = worth(left)
        return (low + high) / 2

    def best_normal(self, mu: float) -> float:
        """That for N(mu, 1) against N(0, 1)."""
        return self.best(partial(_normal_masses, mu), -8.0, mu / 2 + 0.1)


def _normal_masses(mu: float, x: float) -> tuple[float, float]:
    """About the masses below x."""
    return math.erfc((mu - x) * math.sqrt(0.5)) / 2, math.erfc(-x * math.sqrt(0.5)) / 2


class Run(ABC):
    """One run, known by the masses above thresholds of its loss."""

    search: Search

    @abstractmethod
    def better(self) -> Iterable[Better]:
        """Classes B that may be worth it, the best one first, smaller ones to be tried where that fails."""

    @abstractmethod
    def far(self, delta: float) -> tuple[float, float] | None:
        """(log y, a bound on the P-mass of losses above it) with F(y) at least `delta`; None without any."""

    @abstractmethod
    def at_most(self, delta: float) -> float:
        """About the epsilon of one run at `delta`, or more; for searching only."""


def known_run(parts: Parts, search: Search) -> Run | None:
    """One run, by what is known of it; None where nothing is."""
    if search.rarity <= 0 or search.rarity > LARGEST_EXPONENT:
        return None
    if mu := gaussian_mu(parts):
        return GaussianRun(mu[0], search) if 0 < mu[0] < 1e150 else None
    if (ratio := laplace_ratio(parts)) is not None:
        return LaplaceRun(ratio, search)
    return LatticeRun.of(parts, search)


class GaussianRun(Run):
    """N(mu, 1) against N(0, 1); the loss above log y is x above log y / mu + mu / 2."""

    def __init__(self, mu: float, search: Search) -> None:
        self.mu, self.search = mu, search._replace(bend=mu * math.sqrt(2.0), listed=False)

    def better(self) -> Iterable[Better]:
        """x below a threshold."""
        best = self.search.best_normal(self.mu)
        for x in (best - lower for lower in LOWER):
            with precision(96):
                p, q = above(normal(arb(x) - arb(self.mu))), below(normal(arb(x)))
                level = above(arb(self.mu) * (arb(x) - arb(self.mu) / 2))
            yield Better(level, p, p, q)

    def far(self, delta: float) -> tuple[float, float] | None:
        """The normal tail above z is at most e^{-z^2/2}/2: their ratio falls from 1 (`numerics.normal`)."""
        found = gdp_epsilon_on(self.mu, delta, Side.LOWER) if 0 < delta < 1 else 0.0
        if found <= 0:  # then delta may be more than all there is
            return None
        place, half = found / self.mu, self.mu / 2
        z = max(place - half - 4 * UNIT * (place + half), 0.0)
        return found, math.exp(-min(z * z * (1 - 8 * UNIT) / 2, 700.0)) / 2 * (1 + SLIP) + 1e-300

    def at_most(self, delta: float) -> float:
        """By Chernoff's bound."""
        return self.mu * (self.mu / 2 + math.sqrt(-2 * math.log(delta)))


class LaplaceRun(Run):
    """Laplace(r, 1) against Laplace(0, 1): F(e^eps) = 1 - e^{(eps - r)/2} between the losses -r and r."""

    def __init__(self, ratio: float, search: Search) -> None:
        self.ratio, self.search = ratio, search

    def better(self) -> Iterable[Better]:
        """x below a threshold of at most r / 2."""

        def masses(x: float) -> tuple[float, float]:
            return math.exp(x - self.ratio) / 2, (
                1 - math.exp(-x) / 2 if x > 0 else math.exp(x) / 2
            )

        x = self.search.best(masses, -40.0, self.ratio / 2)
        p, q = masses(x)
        # A difference is rounded, then a function errs by 8 units.
        p, q = p * (1 + 2 * UNIT * (abs(x) + self.ratio + 16)), q * (1 - 32 * UNIT)
        level = max(2 * x - self.ratio, -self.ratio)
        yield Better(level + 4 * UNIT * (abs(x) + self.ratio), p, p, q)

    def far(self, delta: float) -> tuple[float, float] | None:
        """eps = r + 2 log(1 - delta), and 1 - e^{(eps - r)/2}/2 above it."""
        if not delta < 1:
            return None
        value = self.ratio + 2 * math.log1p(-delta)
        if value < -self.ratio:
            return None
        slip = 32 * UNIT * (2 + self.ratio + abs(value))  # the mass has a density below 1
        return value - slip, (1 + delta) / 2 + 2 * slip

    def at_most(self, delta: float) -> float:  # noqa: ARG002 - the interface
        """The largest loss."""
        return self.ratio


class LatticeRun(Run):
    """A composition on the lower lattice of the direction that is likely to cost more."""

    def __init__(self, law: Convolution, whole: Bulk, search: Search, missed: float) -> None:
        self.law, self.whole, self.search, self.missed = law, whole, search, missed

    @classmethod
    def of(cls, parts: Parts, search: Search) -> LatticeRun | None:
        """The lattice for about the delta of the far class; that of the upper side's plan mostly."""
        likely = math.exp(-search.rarity)
        composed = lower_composition(parts, likely)
        if composed is None:
            return None
        whole = bulk(composed, likely)
        bend = 2 * math.sqrt(search.rarity) / whole.tilt
        search = search._replace(bend=bend, listed=bend <= whole.sd)
        fall = search.number.fall(_normal_masses(whole.sd, search.best_normal(whole.sd))[0])
        if fall > SAME_LATTICE:
            likely = math.exp(min(fall - search.rarity, -1.0))
        solved = composed.solve(likely, ROUGH)
        if solved.law is None or not math.isfinite(solved.value):
            return None
        sums = solved.law.sums
        about = saddle(sums)
        missed = solved.value - about.epsilon(math.log(likely), about.mean)
        return cls(sums, whole, search, missed)

    def better(self) -> Iterable[Better]:
        """The best of all classes near the threshold."""
        known = [one for one in self._classes() if one.most > 0]
        return sorted(known, key=lambda one: -self.search.of(self.search.shared(one)))[:1]

    def _classes(self) -> Iterable[Better]:
        """Losses up to some of the lattice points near the best threshold of a normal law.

        Losses above a point have the masses a = F(y) + y b and b, and -b is the slope of F right of it: that
        of the chord to the next point of the lattice, or, F being convex, between those of the chords to
        any points on both sides.
        """
        sd = self.whole.sd
        middle = self.whole.mean + sd * (self.search.best_normal(sd) - sd)
        stride = max(1, round(APART * sd / self.law.step))
        around = np.arange(-(THRESHOLDS // 2), THRESHOLDS // 2 + 1) * stride
        points = self._index(middle) + around
        first, last = self.law.window.start, self.law.window.start + self.law.window.size - 1
        points = points[(points >= first) & (points <= last)]
        points = points[np.abs(self.law.epsilons(points)) < LARGEST_EXPONENT]
        if len(points) < 2:
            return
        low, high = self._around(points)
        levels = self.law.epsilons(points)
        y = np.exp(levels)
        # Points and y err by some units of the losses, slopes by these over the share that y changes by.
        units = 64 * UNIT * (1 + np.abs(levels) + abs(self.law.origin))
        slopes = 4 * units[1:] * (y[1:] / (y[1:] - y[:-1]))
        for i in range(int(stride > 1), len(points) - 1):
            before = i - int(stride > 1)
            most = (high[before] - low[before + 1]) / (y[before + 1] - y[before])
            least = max((low[i] - high[i + 1]) / (y[i + 1] - y[i]), 0.0)
            slip = units[i] * (1 + 1 / y[i]) + slopes[before] + slopes[i]
            p_least = 1 - (high[i] + y[i] * most) - slip
            p_most = 1 - (low[i] + y[i] * least) + slip
            if p_most < 1 and math.isfinite(most):
                base = 1 - (1 - low[i]) / y[i] - slip
                p_least = min(max(float(p_least), 0.0), float(p_most))
                level = float(levels[i] + units[i])
                yield Better(level, p_least, float(p_most), float(base), float(1 / y[i]))

    def far(self, delta: float) -> tuple[float, float] | None:
        """F(y') >= P(L > log y) (1 - y'/y) at y' < y."""
        if not 0 < delta < 1:
            return None
        value = self._last_above(delta)
        if value is None:  # an answer between two points, which takes longer
            place = cell(self.law, delta)
            value = self.law.between(place.point, delta) if place else math.nan
        point = self._index(value - BACK) - 1 if math.isfinite(value) else self.law.window.start
        if point < self.law.window.start:
            return (value, 1.0) if math.isfinite(value) else None
        _, high = self._around(np.array([point]))
        gap = value - float(self.law.epsilons(np.array([point]))[0])
        # The difference errs by some units of the losses.
        gap -= 8 * UNIT * (abs(value) + abs(self.law.origin) + 1)
        return value, min(float(high[0]) / -math.expm1(-gap) * (1 + SLIP), 1.0)

    def _last_above(self, delta: float) -> float | None:
        """The last of some points next to each other where F is at least `delta`; None if it is at an end."""
        guess = self.at_most(delta)
        points = self._index(guess) + NEARBY * max(1, round(NEAR * abs(guess) / self.law.step))
        window = self.law.window
        if points[0] < window.start or points[-1] >= window.start + window.size:
            return None
        enough = np.flatnonzero(self.law.at(points)[0] >= delta)
        if not len(enough) or enough[-1] == len(points) - 1:
            return None
        return float(self.law.epsilons(points[enough[-1:]])[0])

    def at_most(self, delta: float) -> float:
        """By the saddle point, moved by what that misses where the lattice was laid for."""
        about = saddle(self.law)
        return about.epsilon(math.log(delta), about.mean) + self.missed

    def _index(self, loss: float) -> int:
        return round((loss - self.law.origin - self.law.move) / self.law.step)

    def _around(self, points: Indices) -> tuple[Array, Array]:
        """The divergence of the lattice's own measure at increasing points, from below and from above.

        From below it is e^-c (B - A) beside the infinite loss, where B is right within A and their factor
        within e^c; the share n of error is A/B + e^c - 1: from above it is at most (1 + n)^3/(1 - n) of it.
        """
        low, share = self.law.at(points)
        infinite = self.law.infinite
        with np.errstate(divide="ignore", invalid="ignore"):
            wider = np.where(share < 1, (1 + share) ** 3 / (1 - share), math.inf)
            high = np.where(low > infinite, (low - infinite) * wider, math.inf) + infinite
        return low, high * (1 + 8 * UNIT)
