"""The true curve F(y) = sup over sets S of P(S) - y Q(S) of a pair, in balls, from its definition.

Nothing here uses a number of the fast path but as a place to look at: `cut` says about where a threshold
lies, balls prove it. Every set gives a line P(S) - y Q(S) that lies below F.
"""

from __future__ import annotations

import bisect
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from flint import arb

from dpcheck.accounting.pairs.pair import Loss
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.pairs.mixtures import LaplacePair, Mixture, MixturePair
from dpcheck.accounting.pld.verify.refusals import too_much
from dpcheck.numerics.side import Side

_NOTHING = arb(0)
Line = tuple[arb, arb]


class Outcomes(NamedTuple):
    """Listed outcomes: their masses, the P-mass that Q does not have, a bound on the P-mass left out."""

    p: list[arb]
    q: list[arb]
    certain: arb = _NOTHING
    rest: float = 0.0


# Where in a cell thresholds are tried, the likeliest first.
_SHARES = (0.5, 0.25, 0.75, 0.05, 0.95, 0.4, 0.6, 0.1, 0.9, 0.0, 1.0, 0.01, 0.99)
_NEWTON_STEPS = 6
_NEAR = 1e-9


class Curve(ABC):
    """The curve of one pair; `certain` is the P-mass that Q does not have."""

    certain = arb(0)

    @abstractmethod
    def at(self, level: arb) -> arb:
        """A ball around F(e^level)."""

    @abstractmethod
    def lines(self, low: float, high: float, slope: arb) -> Iterator[Line]:
        """(P(S), Q(S)) of sets that are about the best for losses between `low` and `high`."""


def curve_of(loss: Loss, side: Side) -> Curve:
    """The curve of a loss; CannotCertify where none is written down here."""
    if (known := loss.ball_curve(side)) is not None:
        return known
    if (listed := loss.outcomes()) is not None:
        return AtomCurve(*listed)
    pair = build(loss, side)
    if not isinstance(pair, MixturePair):
        raise too_much(f"no curve is written down in balls for {type(loss).__name__}")
    return MixtureCurve(pair)


class MixtureCurve(Curve):
    """Mixtures of shifted normal laws, or a Laplace law with one shift: the loss increases with x."""

    def __init__(self, pair: MixturePair) -> None:
        self.pair = pair
        self.normal = not isinstance(pair, LaplacePair)
        self.shifts = len(pair.p.means) + len(pair.q.means)
        if not self.normal and self.shifts != 1:
            raise too_much("a Laplace law with several shifts")
        self.p, self.q = (_parts(mixture) for mixture in (pair.p, pair.q))

    def at(self, level: arb) -> arb:
        """The tails beyond the x at which the loss is `level`."""
        y = level.exp()
        x = self._threshold(level)
        if x is None:  # beyond the range of the loss: all of the line, or nothing
            return (1 - y).max(arb(0))
        if not self.normal:
            low, high = (arb(end) for end in self.pair.ends)
            if x < low:
                return 1 - y
            if x > high:
                return arb(0)
            # On an end of the plateau both formulas agree, so the ball may straddle it.
            x = x.max(low).min(high)
        return self._tail(self.p, x) - y * self._tail(self.q, x)

    def lines(self, low: float, high: float, slope: arb) -> Iterator[Line]:
        """Half-lines x > c."""
        cuts = self.pair.cut(low + np.sort(_SHARES) * (high - low))
        at = dict(zip(sorted(_SHARES), cuts.tolist(), strict=True))
        for share in _SHARES:
            if math.isfinite(at[share]):
                yield self._line(arb(at[share]))
        if self.normal:
            return
        # At an atom of the loss F has a kink: all lines between its two sides lie below F. The one with
        # the slope of the piece is the one to try.
        low_end, high_end = (arb(end) for end in self.pair.ends)
        for (a, b), (c, d) in (
            ((arb(1), arb(1)), self._line(low_end)),
            (self._line(high_end), (arb(0), arb(0))),
        ):
            yield _between((a, b), (c, d), slope)

    def _line(self, x: arb) -> Line:
        return self._tail(self.p, x), self._tail(self.q, x)

    def _tail(self, mixture: Sequence[tuple[arb, arb]], x: arb) -> arb:
        """The mass beyond x."""
        return sum((weight * self._law(x - mean) for mean, weight in mixture), arb(0))

    def _law(self, z: arb) -> arb:
        if self.normal:
            return (z / arb(2).sqrt()).erfc() / 2
        low, high = 1 - z.exp() / 2, (-z).exp() / 2
        return high if z > 0 else low if z < 0 else low.union(high)

    def _threshold(self, level: arb) -> arb | None:
        """The x at which the loss is `level`; None beyond its range."""
        if self.shifts != 1:
            return self._searched(level)
        forward = bool(self.pair.p.means)
        side = self.pair.p if forward else self.pair.q
        mean, weight = arb(side.means[0]), arb(side.weights[0])
        inside = ((level if forward else -level).exp() - 1 + weight) / weight
        if not inside > 0:
            if inside < 0:
                return None
            raise too_much("a lattice point lies at the end of the loss's range")
        exponent = inside.log()
        if not self.normal:
            return (exponent * (1 if side.means[0] > 0 else -1) + mean) / 2
        return exponent / mean + mean / 2

    def _searched(self, level: arb) -> arb | None:
        """By Newton's steps from the fast path's guess, then proved: the loss increases."""
        guess = float(self.pair.cut(np.array([float(level.mid())]))[0])
        if math.isinf(guess):
            # Left of everything only if no loss is smaller, right of everything only if none is larger.
            shifted, other = (self.q, self.p) if guess > 0 else (self.p, self.q)
            ratio = (-level if guess > 0 else level).exp()
            if len(other) == 1 and ratio <= shifted[0][1]:
                return None
            raise too_much("a lattice point beyond the reach of the search")
        x = arb(guess)
        for _ in range(_NEWTON_STEPS):
            value, slope = self._loss(x)
            x = (x - (value - level) / slope).mid()
        for bits in (140, 120, 100, 80):
            near = (1 + abs(x)) * arb(2) ** -bits
            if self._loss(x - near)[0] <= level and self._loss(x + near)[0] >= level:
                return (x - near).union(x + near)
        raise too_much("a threshold that Newton's steps do not find")

    def _loss(self, x: arb) -> tuple[arb, arb]:
        (p, p_slope), (q, q_slope) = (_log_ratio(mixture, x) for mixture in (self.p, self.q))
        return p - q, p_slope - q_slope


def _parts(mixture: Mixture) -> list[tuple[arb, arb]]:
    """(mean, weight), the unshifted part first."""
    shares = [(arb(m), arb(w)) for m, w in zip(mixture.means, mixture.weights, strict=True)]
    base = 1 - sum((weight for _, weight in shares), arb(0))
    if base < 0:  # weights that add up to 1 but for rounding
        base = arb(0)
    return [(arb(0), base), *shares]


def _log_ratio(mixture: Sequence[tuple[arb, arb]], x: arb) -> tuple[arb, arb]:
    """log of the mixture's density over the normal one, and its derivative."""
    grown = [(mean, weight * (mean * x - mean * mean / 2).exp()) for mean, weight in mixture]
    total = sum((value for _, value in grown), arb(0))
    return total.log(), sum((mean * value for mean, value in grown), arb(0)) / total


class AtomCurve(Curve):
    """Countably many outcomes: the best set holds those of largest ratio.

    `certain` is the P-mass that Q does not have, `rest` bounds the P-mass of outcomes not listed.
    """

    def __init__(self, p: Sequence[arb], q: Sequence[arb], certain: arb, rest: float) -> None:
        pairs = sorted(zip(p, q, strict=True), key=lambda pair: -_middle((pair[0] / pair[1]).log()))
        self.p, self.q = [a for a, _ in pairs], [b for _, b in pairs]
        self.losses = [-_middle((a / b).log()) for a, b in pairs]  # increasing
        self.certain = certain
        self.above, self.scaled = [certain], [arb(0)]
        for a, b in pairs:
            self.above.append(self.above[-1] + a)
            self.scaled.append(self.scaled[-1] + b)
        self.rest = arb(0).union(arb(rest))

    def at(self, level: arb) -> arb:
        """Those of larger ratio, and of those so near that floats may not tell, what is positive."""
        y, middle = level.exp(), _middle(level)
        near = _NEAR * (1 + abs(middle))
        first = bisect.bisect_left(self.losses, -middle - near)
        last = bisect.bisect_right(self.losses, -middle + near)
        value = self.above[first] - y * self.scaled[first]
        for k in range(first, last):
            value += (self.p[k] - y * self.q[k]).max(arb(0))
        return value + self.rest

    def lines(self, low: float, high: float, slope: arb) -> Iterator[Line]:
        """The outcomes of ratios beyond some place of the cell."""
        ends = [bisect.bisect_left(self.losses, -(low + s * (high - low))) for s in _SHARES]
        first, last = min(ends), max(ends)
        # Places next to an outcome on a lattice point, too.
        around = [k for end in (first, last) for k in (end, end - 1, end + 1)]
        tried = [k for k in dict.fromkeys((*ends, *around)) if 0 <= k < len(self.above)]
        for k in tried:
            yield self.above[k], self.scaled[k]
        for k in tried:  # a part of an outcome is a randomised test
            if k + 1 < len(self.above):
                one, two = (self.above[k + 1], self.scaled[k + 1]), (self.above[k], self.scaled[k])
                yield _between(one, two, slope)


def _between(one: Line, two: Line, slope: arb) -> Line:
    """The mixture of two tests whose line has about this slope."""
    (a, b), (c, d) = one, two
    gap = float((b - d).mid())
    part = min(max(float((slope - d).mid()) / gap, 0.0), 1.0) if gap else 0.0
    return a * part + c * (1 - arb(part)), b * part + d * (1 - arb(part))


def _middle(ball: arb) -> float:
    return float(ball.mid())


class FixedBatchCurve(Curve):
    """rate G(1 + (y - 1)/rate) for y >= 1, G the Gaussian curve [Balle2018], mirrored below; from above."""

    def __init__(self, mu: float, rate: float) -> None:
        self.mu, self.rate = arb(mu), arb(rate)

    def at(self, level: arb) -> arb:
        """F(y) = 1 - y + y F(1/y): the curve is its own reversal."""
        y = level.exp()
        if level >= 0:
            return self._above(y)
        if level < 0:
            return 1 - y + y * self._above(1 / y)
        return self._above(y.max(arb(1))).union(arb(0).max(1 - y) + self._above(arb(1)))

    def _above(self, y: arb) -> arb:
        inner = (1 + (y - 1) / self.rate).log() / self.mu
        root = arb(2).sqrt()
        p = ((inner - self.mu / 2) / root).erfc() / 2
        q = ((inner + self.mu / 2) / root).erfc() / 2
        return self.rate * p - (self.rate - 1 + y) * q

    def lines(self, low: float, high: float, slope: arb) -> Iterator[Line]:  # noqa: ARG002
        """None is needed from above."""
        return iter(())


class CoinCurve(Curve):
    """A public coin: the weighted sum of the curves. Known from above only."""

    def __init__(self, options: Sequence[tuple[arb, Curve]]) -> None:
        self.options = options

    def at(self, level: arb) -> arb:
        """The weighted sum."""
        return sum((share * curve.at(level) for share, curve in self.options), arb(0))

    def lines(self, low: float, high: float, slope: arb) -> Iterator[Line]:  # noqa: ARG002
        """None is needed from above."""
        return iter(())


class WorstCurve(Curve):
    """A choice: the largest of the curves. Known from above only."""

    def __init__(self, options: Sequence[Curve]) -> None:
        self.options = options

    def at(self, level: arb) -> arb:
        """The largest."""
        value = self.options[0].at(level)
        for curve in self.options[1:]:
            value = value.max(curve.at(level))
        return value

    def lines(self, low: float, high: float, slope: arb) -> Iterator[Line]:  # noqa: ARG002
        """None is needed from above."""
        return iter(())
