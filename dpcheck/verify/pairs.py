"""Pairs of distributions (P, Q): what an event is dominated by, and the divergences of each.

`curve(level)` is F(y) = sup over sets S of P(S) - y Q(S) at y = e^level, or a little more. Where P/Q
grows along the line the best set is a half-line that starts where P/Q = y; with the threshold in an
interval the P-mass is taken from its left end and the Q-mass from its right one. The empty set and the
whole line are sets too, so F is never below 0 or 1 - y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from dpcheck.verify.intervals import NOTHING, ONE, UP, WHOLE, ZERO, Interval, number
from dpcheck.verify.normal import tail
from dpcheck.verify.result import Refused

TWO = number(2)
# Discrete noise whose values are listed one by one.
MOST_VALUES = 20_000


class Pair:
    """P with the record, Q without it. What is not known of a pair has a true answer all the same."""

    #: Whether P and Q may be swapped.
    symmetric = True
    #: The largest loss where it is rational: at it and beyond F is exactly 0.
    top: Fraction | None = None

    def reversed(self) -> Pair:
        """The pair with P and Q swapped."""
        return self

    def curve(self, level: Fraction) -> Decimal:
        """F at e^level, or a little more."""
        return ZERO if self.top is not None and level >= self.top else self._divergence(level)

    def _divergence(self, level: Fraction) -> Decimal:
        """The same below the largest loss; nothing is above 1."""
        del level
        return ONE

    def largest(self) -> Fraction | None:
        """sup |log P/Q| in either direction, or a little more; None where there is no bound."""
        return self.top

    def log_moment(self, order: Interval) -> Interval | None:
        """Around log E_Q (P/Q)^order or more, in the worse direction, order > 1; None where unknown."""
        del order
        return None


def _best(y: Interval, p: Interval, q: Interval) -> Decimal:
    """The largest of 0, 1 - y and p - y q, or more."""
    return max(ZERO, (WHOLE - y).high, UP.subtract(p.high, (y * q).low))


class OnTheLine(Pair, ABC):
    """Noise on the line; `_masses(c)` are P and Q of the half-line that starts, or ends, at c."""

    def _divergence(self, level: Fraction) -> Decimal:
        """By the one threshold."""
        y = number(level).exp()
        threshold = self._threshold(level, y)
        if threshold is None:
            return max(ZERO, (WHOLE - y).high)
        return _best(y, *self._masses(threshold))

    @abstractmethod
    def _threshold(self, level: Fraction, y: Interval) -> Interval | None:
        """Where P/Q is y; None where it is y nowhere, or that cannot be told."""

    @abstractmethod
    def _masses(self, c: Interval) -> tuple[Interval, Interval]:
        """(P, Q) of the half-line."""


class SampledPair(OnTheLine):
    """P = (1-rate) M(0) + rate M(shift), Q = M(0); backwards the other way round.

    P/Q = 1 - rate + rate e^l(x), l the loss of M(shift) against M(0), which grows with x.
    """

    def __init__(self, shift: Fraction, rate: Fraction, *, backwards: bool = False) -> None:
        self.exact_shift, self.exact_rate, self.backwards = shift, rate, backwards
        self.shift, self.rate, self.rest = number(shift), number(rate), number(1 - rate)
        self.symmetric = rate == 1

    def reversed(self) -> Pair:
        """The other direction; the same for what is always drawn."""
        if self.symmetric:
            return self
        return type(self)(self.exact_shift, self.exact_rate, backwards=not self.backwards)

    def _inner_level(self, level: Fraction, y: Interval) -> Interval | None:
        """l(x) where P/Q = y."""
        if self.symmetric:
            return number(level)
        ratio = WHOLE / y if self.backwards else y
        # Where no ratio is that small every outcome, or backwards none, is in the set.
        inside = (ratio - self.rest) / self.rate
        return inside.ln() if inside.low > 0 else None

    def _threshold(self, level: Fraction, y: Interval) -> Interval | None:
        inner = self._inner_level(level, y)
        if inner is None and self._inner_unknown(y):
            raise Refused(f"a lattice point lies at the end of the losses' range, {float(level)!r}")
        return None if inner is None else self._place(inner)

    def _inner_unknown(self, y: Interval) -> bool:
        """Whether it cannot be told that no outcome has that ratio."""
        ratio = WHOLE / y if self.backwards else y
        return (ratio - self.rest).high > 0

    @abstractmethod
    def _place(self, inner: Interval) -> Interval:
        """The x at which M(shift) against M(0) has that loss."""

    @abstractmethod
    def _beyond(self, x: Interval) -> Interval:
        """The mass of M(0) above x."""

    @abstractmethod
    def _short_of(self, x: Interval) -> Interval:
        """The mass of M(0) below x."""

    def _masses(self, c: Interval) -> tuple[Interval, Interval]:
        side = self._short_of if self.backwards else self._beyond
        unshifted = side(c)
        mixed = self.rest * unshifted + self.rate * side(c - self.shift)
        return (unshifted, mixed) if self.backwards else (mixed, unshifted)


class GaussianPair(SampledPair):
    """N(shift, 1) against N(0, 1), the record drawn with probability `rate`."""

    def _place(self, inner: Interval) -> Interval:
        return inner / self.shift + self.shift / TWO

    def _beyond(self, x: Interval) -> Interval:
        return tail(x)

    def _short_of(self, x: Interval) -> Interval:
        return tail(-x)

    def log_moment(self, order: Interval) -> Interval | None:
        """order (order - 1) shift^2 / 2 without sampling."""
        if not self.symmetric:
            return None
        return order * (order - WHOLE) * self.shift * self.shift / TWO


class LaplacePair(SampledPair):
    """Laplace noise of scale 1, moved by shift; between 0 and shift the loss is 2 x - shift."""

    def __init__(self, shift: Fraction, rate: Fraction, *, backwards: bool = False) -> None:
        super().__init__(shift, rate, backwards=backwards)
        self.top = shift if self.symmetric else None

    def _place(self, inner: Interval) -> Interval:
        return ((inner + self.shift) / TWO).within(NOTHING, self.shift)

    def _beyond(self, x: Interval) -> Interval:
        return Interval(self._law(x.high).low, self._law(x.low).high)

    @staticmethod
    def _law(x: Decimal) -> Interval:
        away = (-Interval(x.copy_abs(), x.copy_abs())).exp() / TWO
        return away if x >= 0 else WHOLE - away

    def _short_of(self, x: Interval) -> Interval:
        return self._beyond(-x)

    def largest(self) -> Fraction:
        """log(1 + rate (e^shift - 1)): [Balle2018] Theorem 8, the larger of the two directions."""
        return self.top or Fraction((self.rest + self.rate * self.shift.exp()).ln().high)

    def log_moment(self, order: Interval) -> Interval | None:
        """[Mironov2017] Table II, without sampling."""
        if not self.symmetric:
            return None
        more = order / (order + order - WHOLE) * ((order - WHOLE) * self.shift).exp()
        less = (order - WHOLE) / (order + order - WHOLE) * (-(order * self.shift)).exp()
        return (more + less).ln()


class OppositeGaussianPair(OnTheLine):
    """(1-rate) N(0, 1) + rate N(shift, 1) against its mirror image: a sampled record is replaced.

    With t = e^(shift x) and c = rate e^(-shift^2/2), P/Q = y is c t^2 - (1-rate)(y-1) t - y c = 0.
    """

    def __init__(self, shift: Fraction, rate: Fraction) -> None:
        self.shift, self.rate, self.rest = number(shift), number(rate), number(1 - rate)

    def _threshold(self, level: Fraction, y: Interval) -> Interval:
        c = self.rate * (-(self.shift * self.shift / TWO)).exp()
        middle = self.rest * (y - WHOLE)
        root = (middle * middle + number(4) * y * c * c).sqrt()
        # The root that is a sum of positive numbers.
        t = (root + middle) / (TWO * c) if level >= 0 else TWO * y * c / (root - middle)
        return t.ln() / self.shift

    def _masses(self, c: Interval) -> tuple[Interval, Interval]:
        base = self.rest * tail(c)
        return base + self.rate * tail(c - self.shift), base + self.rate * tail(c + self.shift)


class FixedBatchPair(Pair):
    """Gaussian noise on a batch drawn without replacement at `rate`, a record replaced: moves by `shift`.

    F(y) = rate F_shift(1 + (y - 1)/rate) for y >= 1 [Balle2018, Theorem 5 and Section 3.2], and for y < 1
    by symmetry F(y) = 1 - y + y F(1/y).
    """

    def __init__(self, shift: Fraction, rate: Fraction) -> None:
        self.shift, self.rate = number(shift), number(rate)

    def _divergence(self, level: Fraction) -> Decimal:
        """From that of the Gaussian."""
        y = number(level).exp()
        if level >= 0:
            return self._above(y)
        inverse = self._above(number(-level).exp())
        return UP.add((WHOLE - y).high, UP.multiply(y.high, inverse))

    def _above(self, y: Interval) -> Decimal:
        # y >= 1 and 1 + (y - 1)/rate >= 1, whatever the last digit says.
        grown = WHOLE + ((y - WHOLE) / self.rate).within(NOTHING, y / self.rate)
        x = grown.ln() / self.shift
        p, q = tail(x - self.shift / TWO), tail(x + self.shift / TWO)
        return UP.multiply(self.rate.high, _best(grown, p, q))


class TablePair(Pair):
    """Finitely many outcomes, (p, q) each: F(y) is the sum of (p - y q)+."""

    def __init__(self, outcomes: list[tuple[Interval, Interval]]) -> None:
        self.outcomes = outcomes

    def _divergence(self, level: Fraction) -> Decimal:
        """The sum."""
        y, total = number(level).exp(), ZERO
        for p, q in self.outcomes:
            total = UP.add(total, max(ZERO, UP.subtract(p.high, (y * q).low)))
        return total

    def log_moment(self, order: Interval) -> Interval | None:
        """log of the sum of q (p/q)^order; the tables here are the same backwards."""
        total = NOTHING
        for p, q in self.outcomes:
            if p.high > 0:
                total += q * (order * (p / q).ln()).exp()
        return total.ln()


class ResponsePair(TablePair):
    """The worst pair of all epsilon-DP mechanisms; with probability `neutral` the answer tells nothing."""

    def __init__(self, epsilon: Fraction, neutral: Fraction) -> None:
        self.top, grown = epsilon, number(epsilon)
        telling = number(1 - neutral)
        more, less = (
            telling / (WHOLE + (-grown).exp()),
            telling / (WHOLE + grown.exp()),
        )
        nothing = number(neutral)
        super().__init__([(more, less), (less, more), (nothing, nothing)])


class DiscreteLaplacePair(TablePair):
    """Integer noise of mass proportional to e^(-|x|/scale), moved by `shift`.

    Below 0 and above the shift the ratio is constant: one outcome each.
    """

    def __init__(self, scale: Fraction, shift: int) -> None:
        if shift > MOST_VALUES:
            raise Refused(f"a shift of {shift} has more values than are listed")
        self.top = shift / scale
        step = (-number(1 / scale)).exp()
        end, centre = WHOLE / (WHOLE + step), (WHOLE - step) / (WHOLE + step)
        outcomes = [(end, end * step.power(shift)), (end * step.power(shift), end)]
        outcomes += [
            (centre * step.power(shift - k), centre * step.power(k)) for k in range(1, shift)
        ]
        super().__init__(outcomes)


class DiscreteGaussianPair(Pair):
    """Integer noise of mass proportional to e^(-x^2 / (2 scale^2)), moved by `shift`.

    The loss at x is shift (2 x - shift) / (2 scale^2), so the threshold is rational. Values beyond
    `reach` of both centres have less than 3 (scale + 1) e^(-reach^2 / (2 scale^2)) of the weight of 0 in
    all: what the sums leave out is added to P and not to Q.
    """

    def __init__(self, scale: Fraction, shift: int) -> None:
        self.scale, self.shift = scale, shift
        self.reach = int(39 * scale) + 2
        if 2 * self.reach + shift > MOST_VALUES:
            raise Refused(f"discrete Gaussian noise of scale {float(scale)!r} has too many values")

    def _weight(self, away: int) -> Interval:
        return (-number(away * away / (2 * self.scale * self.scale))).exp()

    @cached_property
    def _out(self) -> Interval:
        return number(3 * (self.scale + 1)) * self._weight(self.reach)

    @cached_property
    def _total(self) -> Interval:
        """The weight of all values around a whole number."""
        inner = NOTHING
        for x in range(1, self.reach + 1):
            inner += self._weight(x)
        return WHOLE + inner + inner + Interval(ZERO, self._out.high)

    @cached_property
    def _sums(self) -> tuple[list[int], list[Interval], list[Interval]]:
        """Values, and P and Q of all from each of them on."""
        weights = [self._weight(x) for x in range(self.reach + self.shift + 1)]
        out, total = self._out, self._total
        values = list(range(-self.reach, self.reach + self.shift + 1))
        p, q = [Interval(ZERO, (out / total).high)], [NOTHING]
        for x in reversed(values):
            p.append(p[-1] + weights[abs(x - self.shift)] / total)
            q.append(q[-1] + weights[abs(x)] / total)
        return values, p[::-1], q[::-1]

    def _divergence(self, level: Fraction) -> Decimal:
        """The values above the threshold; all that is left out of P counts in full."""
        values, p, q = self._sums
        threshold = level * self.scale * self.scale / self.shift + Fraction(self.shift, 2)
        k = bisect_right(values, threshold)
        return _best(number(level).exp(), p[k], q[k])

    def log_moment(self, order: Interval) -> Interval:
        """That of the Gaussian, and log of W(order shift) / W(0), W(c) the weight of all whole x around c.

        order (x - shift)^2 + (1 - order) x^2 is (x - order shift)^2 and order (1 - order) shift^2.
        """
        wide, middle = 2 * self.scale * self.scale, order * number(self.shift)
        near, around = int(middle.low), NOTHING
        for x in range(near - self.reach, near + self.reach + 1):
            away = number(x) - middle
            around += (-(away * away / number(wide))).exp()
        far = Fraction((self.reach - 1) ** 2) / wide
        out = number(3 * (self.scale + 1)) * (-number(far)).exp()
        ratio = (around + Interval(ZERO, out.high)) / self._total
        smooth = order * (order - WHOLE) * number(Fraction(self.shift**2) / self.scale**2) / TWO
        return smooth + ratio.ln()


class ConcentratedPair(Pair):
    """Known by Renyi divergences of at most offset + rho order: zero-concentrated DP [Bun2016]."""

    def __init__(self, rho: Fraction, offset: Fraction) -> None:
        self.rho, self.offset = number(rho), number(offset)

    def log_moment(self, order: Interval) -> Interval:
        """(order - 1) times the divergence."""
        return (order - WHOLE) * (self.offset + self.rho * order)
