"""Divergences of a sum of lattice losses near a chosen point, with every error bounded.

F(epsilon) = e^{log_scale - t epsilon} sum_{j>=1} v_{k+j} w_j at the lattice point k of epsilon, with v the
tilted law of the sum and w_j = e^{-t j h} (1 - e^{-j h}); accurate relatively, however small F is. By
Parseval the sum is one over frequencies against the transform of w, a difference of two geometric
series: where few frequencies matter (`dpcheck.numerics.spectrum`) a point costs as many operations.
Otherwise v is computed by one inverse transform. Counted on the safe side:

- errors of the spectrum: against |transform of w|, or in the 2-norm (Parseval, Cauchy-Schwarz);
- the inverse transform: `transform_error` |v|_2 against |w|_2;
- wrapped-around mass: Chernoff bounds on both tails of the tilted sum;
- sums of n terms: n units [Higham2002] section 3.1, in whatever order they are added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import mul

import numpy as np
import numpy.typing as npt

from dpcheck.numerics.direct import roots
from dpcheck.numerics.fourier import backward, transform_error
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import ELEMENTARY, FAINTEST, TINY, UNIT, Array, Indices
from dpcheck.numerics.series import NEAR, Window
from dpcheck.numerics.side import Side
from dpcheck.numerics.spectrum import Product, Spectrum, spectrum, tail
from dpcheck.numerics.uses import total

Parts = Sequence[tuple[LatticeLoss, int]]

# With more frequencies than this, and than this share of the window, one inverse transform is cheaper.
FEW_FREQUENCIES = 1500
FEW_SHARE = 1 / 12
# Weights below e^-FAR are left out of sums over the law, and counted.
FAR = 60.0
# Ends of the window weigh less than a unit from here on: they are left out, and counted.
NO_END = 40.0
# Tilts that fall by less than this over a window leave the geometric series with too few digits.
FLATTEST = 0.05
# Rounding of one summand over frequencies, in units: e^{i theta} at the point, from there to the next ones
# and in the series (27, 27 and 29), two denominators (37 each, `Series`), their product and quotient (13),
# real factors (19), three products of complex numbers (sqrt 5 each): 196.
SUMMAND_UNITS = 256
# Points whose turns are held at once.
BLOCK = 2048
# The two neighbours of a single epsilon.
_BOTH = np.arange(2)


@dataclass(frozen=True, slots=True)
class Profile:
    """Certified divergences at all lattice points of a window; they do not increase."""

    epsilons: Array
    deltas: Array


class Convolution:
    """The divergence of composed lattice losses, on one side.

    Guarantee: every answer lies on `side` of the divergence of the composed lattice losses (which
    bound the true one as `LatticeLoss` says), floating point included.
    """

    def __init__(self, terms: Spectrum, counts: Sequence[int], side: Side) -> None:
        self.window, self.step, self.side = terms.placed(counts), terms.step, side
        self.product: Product = terms.product(counts)
        self.terms, self.counts, each = terms, tuple(counts), terms.each
        self.origin = total(counts, each.offsets)
        slack = total(counts, each.slacks)
        self.infinite = each.infinite.bound(counts, above=side is Side.UPPER)
        tilt, first, size, slope_below, slope_above = self.window
        last = first + size - 1
        ends = self.origin + first * self.step, self.origin + last * self.step
        self.outside = 0.0
        # No bound is needed on a side where the window holds every sum there is.
        if sum(map(mul, counts, each.lasts)) > last:
            beyond = tail(terms.laws, counts, slope_above, ends[1] + self.step)
            self.outside += _largest_weight(tilt) * beyond
        if side is Side.LOWER and sum(map(mul, counts, each.firsts)) < first:
            # Mass from below the window is read too high: that only helps an upper bound.
            beyond = tail(terms.laws, counts, -slope_below, ends[0])
            self.outside += _largest_weight(tilt) * beyond
        furthest = max(abs(ends[0]), abs(ends[1]))
        # The scale is a sum over factors. log_scale - t origin - t h k: t origin and the difference are
        # rounded once, t h k twice, both further sums once; |h k| <= |origin| + |point|: below 8 units.
        self.certain = ELEMENTARY + 2 * UNIT * (8 + len(counts)) * abs(self.product.log_scale)
        self.certain += 8 * UNIT * tilt * (abs(self.origin) + furthest) + self.product.drift
        log_factor = self.product.log_scale - tilt * self.origin
        self._log_factor = log_factor + (self.certain if side is Side.UPPER else -self.certain)
        self._decay = tilt * self.step
        # Points need 3 units; the rest pays for the division that finds the cell of an epsilon.
        units = 16 * UNIT * (abs(self.origin) + furthest + slack)
        self.move = units if side is Side.UPPER else -slack - units
        sparse = len(terms.active) <= max(FEW_FREQUENCIES, FEW_SHARE * size)
        self.few = None
        if sparse and tilt * self.step * size >= FLATTEST:
            self.few = _FewFrequencies(self.product, terms, self.counts, self.window)
        self._law: Array | None = None
        self._weights = np.zeros(0)
        self._error = 0.0

    # -- lattice points ------------------------------------------------------------------------

    def at(self, points: Indices) -> tuple[Array, Array]:
        """(divergence, share of it that is error allowance) at increasing lattice indices in the window."""
        body, allowance = self.few.sums(points) if self.few else self._dense(points)
        return self._scaled(points, body, allowance)

    def _scaled(
        self, points: Indices, body: Array, allowance: Array | float
    ) -> tuple[Array, Array]:
        factor = self._log_factor - self._decay * points
        allowance = allowance + (self.outside + FAINTEST)
        body = np.maximum(body, 1e-300)
        noise = np.minimum(allowance / body + math.expm1(min(self.certain, 1.0)), 1.0)
        far = factor[0] > 690.0  # the first is the largest
        value = np.exp(np.minimum(factor, 690.0) if far else factor)
        if self.side is Side.LOWER:
            return value * np.maximum(body - allowance, 0.0) + self.infinite, noise
        value = value * (body + allowance) + (TINY + self.infinite)
        if far:  # left of the saddle nothing is known but delta <= 1
            value[factor > 690.0] = 1.0
        return np.minimum(value, 1.0), noise

    def law(self) -> Array:
        """The tilted law v on the window, from its first point on."""
        if self._law is None:
            size, product = self.window.size, self.product
            values = np.zeros(size // 2 + 1, dtype=np.complex128)
            values[product.active] = product.values
            # Parseval: the error of v in the 2-norm; conjugate frequencies count twice.
            errors = self.terms.missed(self.counts, product)
            missed = 2 * float(np.sum(errors**2)) + size * product.left_out**2
            self._error = math.sqrt(missed / size) * (1 + 4 * UNIT * len(product.active))
            v = backward(values, size)
            self._error += 2 * transform_error(size) * float(np.linalg.norm(v)) + FAINTEST
            v = np.roll(v, -((self.window.start - product.shift) % size))
            self._law = np.maximum(v, 0.0, out=v)
        return self._law

    def _dense(self, points: Indices) -> tuple[Array, Array]:
        v, tilt = self.law(), self.window.tilt
        offsets = points - self.window.start
        longest = self.window.size - 1 - int(offsets.min())
        if tilt * self.step * longest > FAR:
            longest = math.ceil(FAR / (tilt * self.step))
        if longest > len(self._weights):
            x = np.arange(1, longest + 1) * self.step
            self._weights = np.exp(-tilt * x) * -np.expm1(-x)
        weights = self._weights[:longest]
        parts = [v[k + 1 : k + 1 + longest] for k in offsets.tolist()]
        # Not by BLAS, whose threads cost more than they save here.
        body = np.array([float(np.sum(part * weights[: len(part)])) for part in parts])
        # The weights err by 2 units of t x <= FAR, two functions and three products: below 160.
        rounding = (self.window.size * UNIT + 20 * ELEMENTARY) * body
        rest = math.exp(4 * min(self.product.drift, 10.0) - FAR)
        rest *= 1.01 + self._error * math.sqrt(self.window.size)
        norm = _weight_norm(tilt, self.step, self.window.size)
        return body, self._error * norm + rounding + rest

    def profile(self) -> Profile:
        """All points at once, by two recursions; upper bounds made to fall, lower ones too."""
        body = divergences(self.law(), self.window.tilt, self.step)
        allowance = self._error * _weight_norm(self.window.tilt, self.step, self.window.size)
        points = np.arange(self.window.start, self.window.start + self.window.size)
        # A step of the first recursion adds 8 + 1 + 1 + 1 units (e^x, its exponent, product, sum), of the
        # second, whose factor is a product of two, 8 + 8 + 5.
        rounding = 32 * UNIT * self.window.size * body
        value, _ = self._scaled(points, body, allowance + rounding)
        if self.side is Side.UPPER:
            value = np.minimum.accumulate(value)
        else:
            value = np.maximum.accumulate(value[::-1])[::-1]
        return Profile(self.epsilons(points), value)

    def epsilons(self, points: Indices) -> Array:
        """The epsilons the values at `points` are certified at."""
        return np.asarray(self.origin + points * self.step + self.move)

    # -- answers -------------------------------------------------------------------------------

    def delta(self, epsilons: Array) -> tuple[Array, Array]:
        """(divergence, share of error allowance) at `epsilons`; trivial outside the window.

        Between points the lattice curve is linear in e^epsilon, so the chord is on the same side.
        """
        step, size = self.step, self.window.size
        low_end = float(self.epsilons(np.array([self.window.start]))[0])
        into = np.floor((epsilons - low_end) / step)
        inside = (into >= 0) & (into < size - 1)
        at = np.clip(into, 0, size - 2).astype(np.int64) + self.window.start
        ends = np.concatenate((at, at + 1))
        points, where = (ends, _BOTH) if len(at) == 1 else np.unique(ends, return_inverse=True)
        values, noises = self.at(points)
        low, high = values[where[: len(at)]], values[where[len(at) :]]
        left = self.epsilons(at)
        ahead = np.clip(epsilons - left, 0.0, step)
        # (e^ahead - 1) / (e^step - 1), without overflow for steps of any size.
        share = np.exp(ahead - step) * np.expm1(-ahead) / np.expm1(-step)
        # The share errs by the rounding of the difference; moving it is sound in one direction only.
        # Three functions and as many operations: below 4 ELEMENTARY.
        guard = 4 * UNIT * (1 + (np.abs(epsilons) + np.abs(left)) / step) + 4 * ELEMENTARY
        noise = np.where(inside, noises[where[: len(at)]], 1.0)
        if self.side is Side.UPPER:
            value = low + (high - low) * np.clip(share - guard, 0.0, 1.0)
            value = np.minimum(np.maximum(value, high) * (1 + 4 * UNIT), 1.0)
            # Left of the window: the chord from the value 1 at e^epsilon = 0.
            chord = 1.0 - np.exp(np.minimum(epsilons - low_end, 0.0)) * (1 - low)
            below = np.minimum(chord + 16 * UNIT, 1.0)
            return np.where(epsilons < low_end, below, np.where(inside, value, high)), noise
        value = low + (high - low) * np.clip(share + guard, 0.0, 1.0)
        value = np.maximum(np.minimum(value, low) * (1 - 4 * UNIT), 0.0)
        # Right of the window an infinite loss is all that is certain.
        value = np.where(inside, value, np.where(epsilons < low_end, low, self.infinite))
        return value, noise

    def between(self, point: int, delta: float) -> float:
        """The epsilon for `delta` between a lattice point and the one before it; nan where none is proved.

        Above the divergence at the point has to be at most delta, below the one before it more than that.
        """
        first, last = self.window.start, self.window.start + self.window.size - 1
        if not first < point <= last:
            return math.nan
        low, high = self.at(np.array([point - 1, point]))[0].tolist()
        if high > delta if self.side is Side.UPPER else not low > delta:
            return math.nan
        return self._between(point, low, high, delta)

    def _between(self, point: int, low: float, high: float, delta: float) -> float:
        step = self.step
        share = 0.0 if low <= delta else 1.0
        if low > delta > high:
            share = min((low - delta) / (low - high), 1.0)
        # log(1 + share (e^step - 1)), for steps of any size.
        grown = math.log1p(share * math.expm1(step)) if step < 30 else 0.0
        if step >= 30:
            grown = step + math.log(share + (1 - share) * math.exp(-min(step, 700.0)))
        value = self.origin + (point - 1) * step + self.move + grown
        guard = 16 * UNIT * (abs(value) + step)
        return value + guard if self.side is Side.UPPER else value - guard


class _FewFrequencies:
    """sum_j v_{k+j} w_j from the few coefficients of v that matter (`dpcheck.numerics.series.Series`).

    The angle of z^J together with that of the point is the window's last one, the same for all points.
    """

    def __init__(
        self, product: Product, terms: Spectrum, counts: Sequence[int], window: Window
    ) -> None:
        self.size, self.last = window.size, window.start + window.size - 1
        self.product, self.series = product, terms.series
        self.bulk = product.values * terms.series.bulk
        self.uses = terms.uses(counts)
        self.sizes: list[float] = (terms.error_weights @ product.sizes).tolist()
        # |transform of w| is at most its value at frequency 0, at most J and 1/(1 - e^{-th}).
        self.rest = product.left_out * min(float(self.size), 1.01 / -math.expm1(-self.series.slow))

    def error(self, i: int) -> float:
        """A bound on the error of a sum against one of the transforms of `Series`: bulk, end, end_fast."""
        size, spread = self.sizes[i], total(self.uses, self.sizes[3 + i :: 3])
        slip, steepness = self.product.slip, self.product.steepness
        # A real part is a sum of two products a summand, in whatever order.
        rounding = (SUMMAND_UNITS + 2 * len(self.product.active)) * UNIT
        return (1 + slip) * (steepness * spread + slip * size) + rounding * size

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The sums that stand for the end of the window."""
        at_end = self.product.values * self._turned(np.array([self.last]))[0]
        return float((at_end @ self.series.end).real), float((at_end @ self.series.end_fast).real)

    def _turned(self, points: Indices) -> npt.NDArray[np.complex128]:
        steps = (self.product.shift - points[:, None]) % self.size
        return roots(self.product.active * steps, self.size)

    def sums(self, points: Indices) -> tuple[Array, Array | float]:
        """(sum, bound on its error) at increasing points."""
        if len(points) <= NEAR and points[-1] - points[0] == len(points) - 1:
            body = (
                self.series.near[: len(points)] @ (self._turned(points[:1])[0] * self.bulk)
            ).real
        else:
            blocks = [points[k : k + BLOCK] for k in range(0, len(points), BLOCK)]
            body = np.concatenate([(self._turned(block) @ self.bulk).real for block in blocks])
        bulk = self.error(0)
        nearest = self.series.slow * int(self.last - points[-1])
        if nearest > NO_END:  # both ends are at most e^-nearest times the sums of their moduli
            ends = math.exp(-nearest) * (self.sizes[1] + self.sizes[2])
            return body, (bulk + ends) * (1 + 1e-9) + self.rest
        left = self.last - points
        far, far_fast = self.series.slow * left, self.series.fast * left
        slow, fast = np.exp(-far), np.exp(-far_fast)
        body = body - slow * self.ends[0] + fast * self.ends[1]
        # e^-x errs by at most (1 + x) units of itself.
        error = bulk + slow * (1 + far) * self.error(1) + fast * (1 + far_fast) * self.error(2)
        # The errors are sums themselves: 1e-9 is one unit each of nine million summands.
        return body, error * (1 + 1e-9) + self.rest


def compose(parts: Parts, window: Window, side: Side) -> Convolution | None:
    """The sum of independent losses, each `count` times; None where one has no finite part."""
    terms = spectrum(parts, window)
    return None if terms is None else Convolution(terms, [count for _, count in parts], side)


def _weight_norm(t: float, step: float, size: int) -> float:
    """A bound on the 2-norm of e^{-t x} (1 - e^{-x}) over x = h, 2h, ..., size h.

    With 1 - e^{-x} <= min(1, x) the squares sum to at most r / (1 - r) and h^2 r (1 + r) / (1 - r)^3,
    r = e^{-2 t h}, and to at most `size`. The factor 1.01 is room for rounding.
    """
    rest = -math.expm1(-2 * t * step)
    ratio = 1.0 - rest
    squares = float(size)
    if rest > 1e-90:  # below, neither series is shorter than the window
        squares = min(squares, ratio / rest, step**2 * ratio * (1 + ratio) / rest**3)
    return 1.01 * math.sqrt(squares)


def _largest_weight(t: float) -> float:
    """A bound on e^{-t x} (1 - e^{-x}) for x >= 0: (t/(t+1))^t / (t+1); 1.01 is room for rounding."""
    return 1.01 * math.exp(-t * math.log1p(1 / t)) / (t + 1) if t > 0 else 1.01


def divergences(v: Array, t: float, step: float) -> Array:
    """sum_{j>k} v_j e^{-t (j-k) h} (1 - e^{-(j-k) h}) for every k, by two positive recursions."""
    decay = math.exp(-t * step)
    later = _decaying_sums(np.ascontiguousarray(v[::-1]), decay)
    later[1:] = later[:-1] * (decay * -math.expm1(-step))
    later[0] = 0.0
    return _decaying_sums(later, decay * math.exp(-step))[::-1]


def _decaying_sums(x: Array, decay: float) -> Array:
    """y_k = x_k + decay y_(k-1): a triangular system with two bands (scipy.signal is slow to import)."""
    bands = np.empty((2, len(x)), order="F")
    bands[0], bands[1] = 1.0, -decay
    from scipy.linalg.blas import dtbsv  # slow to import, and most answers need none

    return np.asarray(dtbsv(1, bands, x, lower=1, diag=1, overwrite_x=1))
