"""Upper bounds known as a curve that is its own reversal: replace-one under sampling.

A curve F(y), y = e^epsilon, that is convex, decreasing and bounds the divergence in both directions
is the curve of a measure: P(L > log y) = A(y) = F - y F', Q(L > log y) = B(y) = -F'. Negative losses
mirror the positive ones with P and Q swapped, and what is left, 1 - A(1) - B(1), has loss 0.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from dpcheck.accounting.pld.pairs.mixtures import REACH
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.lattice import Cells, Lattice, LatticeLoss, spread
from dpcheck.numerics.normal import LAST, normal_tail
from dpcheck.numerics.rounding import ELEMENTARY, LARGEST_EXPONENT, TINY, UNIT, Array
from dpcheck.numerics.tails import binomial_masses, binomial_tail


class SymmetricPair(LossPair):
    """A symmetric measure given by its tails at losses >= 0."""

    anchor = 0.0

    @abstractmethod
    def tails(self, levels: Array) -> tuple[Array, Array, Array, Array]:
        """(A, error of A, B, error of B) at the given losses >= 0."""

    def add_tails(self, levels: Array, share: float, total: tuple[Array, ...]) -> None:
        """Add `share` times the tails at increasing losses to `total`, in place."""
        for sum_, tail in zip(total, self.tails(levels), strict=True):
            sum_ += share * tail

    @abstractmethod
    def coarse_levels(self) -> Array:
        """Increasing losses from 0 on that show the shape of the law."""

    def nodes(self) -> tuple[Array, Array]:
        """A coarse picture for planning."""
        levels = self.coarse_levels()
        a, _, b, _ = self.tails(levels)
        middle = (levels[1:] + levels[:-1]) / 2
        p, q = np.maximum(a[:-1] - a[1:], 1e-320), np.maximum(b[:-1] - b[1:], 1e-320)
        rest = max(1.0 - float(a[0] + b[0]), 1e-320)
        losses = np.concatenate((middle, -middle, [0.0]))
        return losses, np.log(np.concatenate((p, q, [rest])))

    def upper(self, step: float, low: float, high: float) -> LatticeLoss:
        """Positive cells from the tails, negative ones mirrored, the rest at 0.

        All that is below `low` is raised to the first point.
        """
        lattice = Lattice(step)
        index = lattice.covering(max(low, 0.0), high)
        levels = lattice.levels(index)
        a, a_error, b, b_error = self.tails(levels)
        error_p, error_q = a_error[:-1] + a_error[1:], b_error[:-1] + b_error[1:]
        p, q = np.maximum(a[:-1] - a[1:], 0.0), np.maximum(b[:-1] - b[1:], 0.0)
        below = 0 if low > 0 else max(int(np.searchsorted(levels[:-1], -low)), 1)
        mirrored = slice(below - 1, None, -1) if below else slice(0, 0)
        more = np.concatenate(((q + error_q)[mirrored], p + error_p)) * (1 + 4 * UNIT)
        less = np.concatenate(((p - error_p)[mirrored], q - error_q)) * (1 - 4 * UNIT)
        exact = np.zeros(len(more))
        points = np.arange(int(index[0]) - below, int(index[-1]) + 1)
        cells = Cells(points, more, np.maximum(less, 0.0), exact, exact)
        infinite = float(a[-1] + a_error[-1]) * (1 + 4 * UNIT)
        result = spread(lattice, cells, infinite)
        if low > 0:
            result.masses[0] += max(1.0 - float(a[0]) + float(a_error[0]) + 4 * UNIT, 0.0)
            return result
        rest = 1.0 - float(a[0] + b[0]) + float(a_error[0] + b_error[0]) + 4 * UNIT
        result.masses[-result.first] += max(rest, 0.0)
        result.masses[0] += float(b[below] + b_error[below])
        return result

    def lower(self, step: float, low: float, high: float) -> LatticeLoss:  # noqa: ARG002
        """Not known."""
        raise CannotCertify("this curve bounds the loss from above only.")


class WithoutReplacementPair(SymmetricPair):
    """F(y') = rate F_Gauss(y) with y' = 1 + rate (y - 1), for batches of fixed size.

    Reference: [Balle2018], sampling under substitution: divergence at most rate times that of the step on the
    whole batch; of several shifts (how often the record was drawn), the mean of their curves. It is the
    divergence of (1-rate) Q + rate P against Q for y' >= 1, so A and B are the tails of that mixture;
    A(1) + B(1) <= 1 because the rest is (1-rate) TV(P, Q). `beyond` is mass of infinite loss.
    """

    def __init__(
        self, shifts: tuple[float, ...], weights: tuple[float, ...], beyond: float = 0.0
    ) -> None:
        self.shifts, self.rate, self.beyond = shifts, math.fsum(weights), beyond
        self.shares = tuple(weight / self.rate for weight in weights)
        # Outside these losses the tails of the step are within TINY of 0 or 1: normal_tail is from LAST on.
        # One scale more is mu in log y, and log y errs by less than 1e-13 (1 + log y), log y < 1e6 mu.
        least, most = min(shifts), max(shifts)
        near, far = least * (least / 2 - LAST - 1), most * (most / 2 + LAST + 1)
        self.changing = _outer(np.array([max(near, 0.0), far]), self.rate)

    def tails(self, levels: Array) -> tuple[Array, Array, Array, Array]:
        """(A, error, B, error): see the class."""
        total = tuple(np.zeros_like(levels) for _ in range(4))
        self.add_tails(levels, 1.0, total)
        return total[0], total[1], total[2], total[3]

    def add_tails(self, levels: Array, share: float, total: tuple[Array, ...]) -> None:
        """Add `share` times the tails: one by one only where they change, most of a steep law is flat."""
        start, stop = np.searchsorted(levels, self.changing)
        a, a_error, _, b_error = total
        certain = share * (self.rate + self.beyond)
        a[:start] += certain
        a_error[:start] += 8 * UNIT * certain + TINY
        b_error[:start] += TINY
        for sum_, tail in zip(total, self._changing_tails(levels[start:stop]), strict=True):
            sum_[start:stop] += share * tail
        a[stop:] += share * self.beyond
        a_error[stop:] += 8 * UNIT * share * self.beyond + TINY
        b_error[stop:] += TINY

    def _changing_tails(self, levels: Array) -> tuple[Array, Array, Array, Array]:
        logs, slip = _inner(levels, self.rate)
        total = [np.zeros_like(logs) for _ in range(4)]
        for share, shift in zip(self.shares, self.shifts, strict=True):
            for sum_, tail in zip(total, _normal_tails(logs, slip, shift), strict=True):
                sum_ += share * tail
        a, a_error, b, b_error = total
        p = (1 - self.rate) * b + self.rate * a + self.beyond
        p_error = (1 - self.rate) * b_error + self.rate * a_error
        rounding = (8 + 4 * len(self.shifts)) * UNIT
        return p, p_error + rounding * p, b, b_error + rounding * b

    def coarse_levels(self) -> Array:
        """Losses out to where the tails underflow."""
        widest = max(self.shifts)
        return _outer(np.linspace(0.0, widest * REACH + widest**2 / 2, 800), self.rate)


# Draws of one record more often than this probability count as telling everything.
RARE = 1e-40
# More draws of one record than this take minutes.
MOST_DRAWS = 2000


def with_replacement_pair(mu: float, rows: int, batch: int) -> WithoutReplacementPair:
    """Batches with replacement: a record drawn j times moves the sum by j mu.

    Reference: [Balle2018] Theorem 10: with w_j the probability of j draws and rate = sum_{j>0} w_j,
    F(y') = sum_j w_j F_j(y). Rounded up, and the rarest draws counted as infinite loss.
    """
    most = min(batch, max(64, 40 + 20 * batch // rows))
    if most > MOST_DRAWS:
        raise CannotCertify(
            f"a record may be drawn {most} times in one batch, too many shifts for a lattice; the Renyi "
            "bound still holds: ask for it with method='rdp'."
        )
    draws = np.arange(1, most + 1, dtype=np.float64)
    weights = binomial_masses(draws, batch, 1 / rows)
    kept = np.flatnonzero(weights > RARE)
    last = int(kept[-1]) if len(kept) else 0
    beyond = binomial_tail(batch, 1 / rows, last + 2)[1] * (1 + 1e-10)
    shifts = tuple(float(mu * j * (1 + 2 * UNIT)) for j in draws[: last + 1])
    return WithoutReplacementPair(shifts, tuple(weights[: last + 1].tolist()), beyond)


class ReplacedSamplePair(SymmetricPair):
    """Poisson sampling, one record replaced, by advanced joint convexity.

    F(y') = rate [(1-b) F1(y) + b F2(y)], y' = 1 + rate (y - 1), b = y'/y, for y >= 1: F1 the curve of
    the record against none, F2 against its replacement, twice as far. Reference: [Balle2018] Theorem
    2. With A_i, B_i the tails of F_i: B = (1-rate) B1 + rate B2 + (1-rate) (A2 - A1) / y^2 and
    A = F + y' B = (1-rate) B1 + rate [(1-rate)(1 - 1/y) A1 + b A2] + (1-rate) y' (A2 - A1) / y^2.
    F is convex: dB/dy = (1-rate) (1 - 1/y) B1' + b B2' - 2 (1-rate) (A2 - A1) / y^3 <= 0
    since A2 >= A1; and A(1) + B(1) = rate + 2 (1-rate) (1 - 2 A1 + A2) <= 1 since the law's distribution
    function is concave above 0 (both bases).
    """

    def __init__(self, shift: float, rate: float, *, normal: bool) -> None:
        self.shift, self.rate, self.normal = shift, rate, normal
        if not normal:
            self.top = float(_outer(np.array([2 * shift * (1 + 4 * UNIT)]), rate)[0]) + 8 * UNIT

    def _base_tails(
        self, logs: Array, slip: Array, shift: float
    ) -> tuple[Array, Array, Array, Array]:
        tails = _normal_tails if self.normal else _laplace_tails
        return tails(logs, slip, shift)

    def tails(self, levels: Array) -> tuple[Array, Array, Array, Array]:
        """(A, error, B, error): see the class."""
        r = self.rate
        logs, slip = _inner(levels, r)
        a1, a1_error, b1, b1_error = self._base_tails(logs, slip, self.shift)
        a2, a2_error, b2, b2_error = self._base_tails(logs, slip, 2 * self.shift)
        inverse = np.exp(-np.minimum(logs, 700.0))
        both = r + (1 - r) * inverse
        ahead, ahead_error = np.maximum(a2 - a1, 0.0), a1_error + a2_error
        b = (1 - r) * b1 + r * b2 + (1 - r) * ahead * inverse**2
        b_error = (1 - r) * b1_error + r * b2_error + (1 - r) * ahead_error * inverse**2
        a = (1 - r) * b1 + r * ((1 - r) * -np.expm1(-logs) * a1 + both * a2)
        a = a + (1 - r) * both * inverse * ahead
        a_error = (1 - r) * b1_error + r * ((1 - r) * a1_error + both * a2_error)
        a_error = a_error + (1 - r) * both * inverse * ahead_error
        # 1/y errs by the slip of log y; its rounding is part of the elementary units.
        return (
            a,
            a_error + a * (4 * slip + 8 * ELEMENTARY),
            b,
            b_error + b * (4 * slip + 8 * ELEMENTARY),
        )

    def coarse_levels(self) -> Array:
        """Losses out to where the tails underflow."""
        if not self.normal:
            return _outer(np.linspace(0.0, 2 * self.shift, 800), self.rate)
        reach = 2 * self.shift * REACH + 2 * self.shift**2
        return _outer(np.linspace(0.0, reach, 1600), self.rate)


def _inner(levels: Array, rate: float) -> tuple[Array, Array]:
    """(log y, bound on its error) with 1 + rate (y - 1) = e^level."""
    small = np.log1p(np.expm1(np.minimum(levels, LARGEST_EXPONENT)) / rate)
    logs = np.where(levels > LARGEST_EXPONENT, levels - math.log(rate), small)
    return logs, 4 * ELEMENTARY * logs


def _outer(logs: Array, rate: float) -> Array:
    """log (1 + rate (y - 1)) at log y."""
    small = np.log1p(rate * np.expm1(np.minimum(logs, LARGEST_EXPONENT)))
    return np.asarray(np.where(logs > LARGEST_EXPONENT, logs + math.log(rate), small))


def _normal_tails(logs: Array, slip: Array, mu: float) -> tuple[Array, Array, Array, Array]:
    """P(L > log y) and Q(L > log y) of N(mu, 1) against N(0, 1), with errors."""
    result: list[Array] = []
    for sign in (1.0, -1.0):
        z = sign * mu / 2 - logs / mu
        tail, error = normal_tail(np.abs(z))
        moved = slip / mu + 4 * UNIT * (np.abs(z) + mu)
        # The hazard rate is below |z| + 1 [Birnbaum1942]; where z > 0 the tail is taken from 1.
        error = error + tail * 1.01 * (np.abs(z) + 2.0) * moved + np.where(z > 0, UNIT, 0.0)
        result += [np.where(z > 0, 1.0 - tail, tail), error]
    return result[0], result[1], result[2], result[3]


def _laplace_tails(logs: Array, slip: Array, ratio: float) -> tuple[Array, Array, Array, Array]:
    """The same for Laplace(ratio, 1) against Laplace(0, 1); there is no loss above the ratio."""
    inside = logs < ratio
    p = np.where(inside, 1.0 - 0.5 * np.exp((np.minimum(logs, ratio) - ratio) / 2), 0.0)
    q = np.where(inside, 0.5 * np.exp(-(np.minimum(logs, ratio) + ratio) / 2), 0.0)
    unsure = np.abs(logs - ratio) <= slip + 4 * UNIT * ratio
    error = ELEMENTARY * (2 + ratio) + slip
    # Next to the atom the side of a cut is not known: then all of it is error.
    return p, np.where(unsure, 0.5 + error, error * p), q, np.where(unsure, 0.5, error * q + TINY)
