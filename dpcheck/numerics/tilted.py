"""The law of a sum of lattice losses near a chosen point, by one tilted FFT, with its error proved.

Masses m are replaced by m e^{t l - K}: the tilted sum concentrates where the divergence is wanted,
and F(epsilon) = e^{sum n K - t epsilon} sum_{L > epsilon} v_L e^{-t (L - epsilon)} (1 - e^{epsilon - L})
is accurate relatively, however small. Every error is bounded:

- tilting and lattice rounding: a factor (1 + rho)^n, rho a few units times (1 + |t l|);
- forward FFT: each coefficient errs by at most eta |x|_1, eta = FFT_UNITS log2(size) UNIT. Each
  output is a sum over inputs along a path of log2(size) butterflies, each of which adds a few
  units ([Higham2002] Theorem 24.2 gives the normwise form); measured errors are 30 times smaller;
- powers: prod (|s| + e)^n - prod |s|^n, plus the rounding of modulus and angle;
- inverse FFT: eta |v|_2; the error of v enters F by Cauchy-Schwarz with the 2-norm of the weights;
- wrapped-around mass: Chernoff bounds on both tails of the tilted sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, rfft
from scipy.linalg.blas import dtbsv

from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import ELEMENTARY, TINY, UNIT, Array, Indices
from dpcheck.numerics.side import Side

FFT_UNITS = 16.0
# Spectrum below e^-FLAT is left out and counted as error.
FLAT = 80.0

Parts = Sequence[tuple[LatticeLoss, int]]


@dataclass(frozen=True, slots=True)
class Window:
    """Where the tilted sum is computed: `size` lattice points from index `start`, at `tilt`.

    The slopes are those of the Chernoff bounds on the mass outside; any positive value is sound.
    """

    tilt: float
    start: int
    size: int
    slope_below: float
    slope_above: float


@dataclass(frozen=True, slots=True)
class Profile:
    """Certified divergences at the lattice points of a window, on one side.

    `deltas` do not increase; between points the chord in e^epsilon is on the same side. `noise` is
    the share of each that is error allowance.
    """

    epsilons: Array
    deltas: Array
    noise: Array
    side: Side

    def delta(self, epsilons: Array) -> Array:
        """The divergence at `epsilons`; above the window a lower bound is 0, below it convexity helps."""
        step = self.epsilons[1] - self.epsilons[0]
        at = np.clip(np.searchsorted(self.epsilons, epsilons, side="right") - 1, 0, None)
        at = np.minimum(at, len(self.epsilons) - 2)
        into = np.clip(epsilons - self.epsilons[at], 0.0, step)
        # (e^into - 1) / (e^step - 1), without overflow for steps of any size.
        share = np.exp(into - step) * np.expm1(-into) / np.expm1(-step)
        # The share errs by the rounding of the difference; moving it is sound in one direction only.
        guard = 4 * UNIT * (1 + (np.abs(epsilons) + np.abs(self.epsilons[at])) / step)
        low, high = self.deltas[at], self.deltas[at + 1]
        if self.side is Side.UPPER:
            value = low + (high - low) * np.clip(share - guard, 0.0, 1.0)
            value = np.minimum(value * (1 + 4 * UNIT), 1.0)
            # Below the window: the chord from the value 1 at e^epsilon = 0.
            chord = 1.0 - np.exp(np.minimum(epsilons - self.epsilons[0], 0.0)) * (
                1 - self.deltas[0]
            )
            low_end = np.minimum(chord + 8 * UNIT, 1.0)
            return np.asarray(np.where(epsilons < self.epsilons[0], low_end, value))
        value = low + (high - low) * np.clip(share + guard, 0.0, 1.0)
        value = np.maximum(value * (1 - 4 * UNIT), 0.0)
        value = np.where(epsilons > self.epsilons[-1], 0.0, value)
        return np.asarray(np.where(epsilons < self.epsilons[0], self.deltas[0], value))

    def noise_at(self, epsilons: Array) -> Array:
        """The share of error allowance at `epsilons`; 1 outside the window."""
        inside = (epsilons >= self.epsilons[0]) & (epsilons <= self.epsilons[-1])
        return np.asarray(np.where(inside, np.interp(epsilons, self.epsilons, self.noise), 1.0))

    def epsilon(self, delta: float) -> tuple[float, float]:
        """The smallest certified epsilon for `delta` and the noise there; (nan, 1) if not in sight."""
        if not self.deltas[-1] <= delta < self.deltas[0]:
            return math.nan, 1.0
        at = int(np.searchsorted(-self.deltas, -delta, side="left"))
        low, high = float(self.deltas[at - 1]), float(self.deltas[at])
        step = float(self.epsilons[at] - self.epsilons[at - 1])
        share = (low - delta) / (low - high)
        share = min(max(share, 0.0), 1.0)
        # log(1 + share (e^step - 1)), for steps of any size.
        grown = math.log1p(share * math.expm1(step)) if step < 30 else 0.0
        if step >= 30:
            grown = step + math.log(share + (1 - share) * math.exp(-min(step, 700.0)))
        value = float(self.epsilons[at - 1]) + grown
        guard = 16 * UNIT * (abs(value) + step)
        value = value + guard if self.side is Side.UPPER else value - guard
        return value, float(self.noise[at])


def compose(parts: Parts, window: Window, side: Side) -> Profile:
    """The divergence profile of the sum of independent losses, each `count` times.

    Guarantee: `deltas` lie on `side` of the divergence of the composed lattice losses (which bound
    the true one as `LatticeLoss` says), floating point included.
    """
    t, size = window.tilt, window.size
    step = parts[0][0].lattice.step
    eta = FFT_UNITS * math.log2(size) * UNIT
    log_scale, origin, slack, drift, shift = 0.0, 0.0, 0.0, 0.0, 0
    # Frequencies at which the product can still matter, and its logarithm there.
    active: Indices | None = None
    log_size, spread, angle = np.zeros(1), np.zeros(1), np.zeros(1)
    tilted: list[tuple[Array, Array, int]] = []
    for loss, count in parts:
        levels = loss.levels
        exponent = np.where(loss.masses > 0, t * levels, -math.inf)
        top = float(exponent.max())
        if not math.isfinite(top):
            return _nothing(parts, window, side)
        scale = top + math.log(float(np.sum(loss.masses * np.exp(exponent - top))))
        x = loss.masses * np.exp(exponent - scale)
        log_scale += count * scale
        origin += count * loss.lattice.offset
        slack += count * loss.slack
        largest = abs(t) * float(np.abs(levels).max())
        drift += count * (ELEMENTARY + 6 * UNIT * (largest + abs(scale)))
        tilted.append((levels, x, count))
        # The heaviest mass needs no transform: with it at the origin its spectrum is constant, and
        # only the others' transform errs.
        heaviest = int(np.argmax(x))
        shift += count * (loss.first + heaviest)
        others = x.copy()
        others[heaviest] = 0.0
        spectrum = rfft(_wrapped(others, -heaviest, size)) + x[heaviest]
        total = float(np.sum(others))
        # Where one factor is below e^-FLAT the product is: nothing there is worth computing.
        least = max(math.exp(-FLAT / count) - 2 * eta * total, 0.0)
        if active is None:
            active = np.flatnonzero(spectrum.real**2 + spectrum.imag**2 > least**2)
            spectrum = spectrum[active]
        else:
            spectrum = spectrum[active]
            kept = spectrum.real**2 + spectrum.imag**2 > least**2
            active, spectrum = active[kept], spectrum[kept]
            log_size, spread, angle = log_size[kept], spread[kept], angle[kept]
        modulus = np.maximum(np.abs(spectrum), max(eta * total, 1e-300))
        log_size = log_size + count * np.log(modulus)
        turn = np.angle(spectrum)
        # The transform, and the rounding of sum, modulus, logarithm and angle.
        spread = spread + count * (eta * total / modulus + UNIT * (6 + 4 * np.abs(turn)))
        angle = angle + np.remainder(count * turn, 2 * np.pi)
    grown = np.exp(log_size)
    product = np.zeros(size // 2 + 1, dtype=np.complex128)
    product[active] = grown * np.exp(1j * angle)
    missed = grown * (np.expm1(np.minimum(spread, 600.0)) + 4 * ELEMENTARY * (FLAT + len(parts)))
    # Parseval: the error of v in the 2-norm; conjugate frequencies count twice.
    error = math.sqrt((2 * float(np.sum(missed**2)) + size * math.exp(-2 * FLAT)) / size)
    v = irfft(product, size, overwrite_x=True)
    del product
    # 1e-290 stands for tilted masses that underflow.
    error += eta * float(np.linalg.norm(v)) * 2 + 1e-290
    v = np.roll(v, -((window.start - shift) % size))
    body = _divergences(np.maximum(v, 0.0, out=v), t, step)
    del v

    epsilons = np.arange(window.start, window.start + size, dtype=np.float64)
    epsilons *= step
    epsilons += origin
    low_end, high_end = float(epsilons[0]), float(epsilons[-1])
    norm, heaviest_weight = _weights(t, step, size)
    allowance = error * norm
    # No bound is needed on a side where the window holds every sum there is.
    if sum(n * (a.first + len(a.masses) - 1) for a, n in parts) >= window.start + size:
        allowance += heaviest_weight * _tail(tilted, window.slope_above, high_end + step)
    if side is Side.LOWER and sum(n * a.first for a, n in parts) < window.start:
        # Mass from below the window is read too high: that only helps an upper bound.
        allowance += heaviest_weight * _tail(tilted, -window.slope_below, low_end)
    furthest = max(abs(low_end), abs(high_end))
    certain = ELEMENTARY + 8 * UNIT * (abs(log_scale) + abs(t) * furthest) + drift
    certain += 4 * UNIT * size  # the recursions' own rounding
    factor = log_scale - t * epsilons
    if side is Side.UPPER:
        # 1e-290 stands for what underflowed; far left of the saddle nothing is known but delta <= 1.
        factor += certain
        unknown = factor > 690.0
        value = np.exp(np.minimum(factor, 690.0, out=factor), out=factor)
        value *= body + (allowance + 1e-290)
        value += TINY + _infinite(parts, side)
        value[unknown] = 1.0
        value = np.minimum.accumulate(np.minimum(value, 1.0, out=value))
        move = 8 * UNIT * (abs(origin) + furthest)
    else:
        factor -= certain
        value = np.exp(np.minimum(factor, 700.0, out=factor), out=factor)
        value *= np.maximum(body - allowance, 0.0)
        value += _infinite(parts, side)
        value = np.maximum.accumulate(value[::-1])[::-1]
        move = -slack - 8 * UNIT * (abs(origin) + furthest + slack)
    # From here on body holds the share of error allowance.
    np.maximum(body, 1e-300, out=body)
    np.divide(allowance + 1e-290, body, out=body)
    noise = np.minimum(body + math.expm1(min(certain, 1.0)), 1.0, out=body)
    epsilons += move
    return Profile(epsilons, value, noise, side)


def _weights(t: float, step: float, size: int) -> tuple[float, float]:
    """Bounds on the 2-norm and the maximum of e^{-t x} (1 - e^{-x}) over x = h, 2h, ..., size h.

    With 1 - e^{-x} <= min(1, x) the squares sum to at most r / (1 - r) and h^2 r (1 + r) / (1 - r)^3,
    r = e^{-2 t h}, and to at most `size`.
    """
    rest = -math.expm1(-2 * t * step)
    ratio = 1.0 - rest
    squares = float(size)
    if rest > 1e-90:  # below, neither series is shorter than the window
        squares = min(squares, ratio / rest, step**2 * ratio * (1 + ratio) / rest**3)
    largest = math.exp(-t * math.log1p(1 / t)) / (t + 1) if t > 0 else 1.0
    return 1.01 * math.sqrt(squares), 1.01 * largest


def _nothing(parts: Parts, window: Window, side: Side) -> Profile:
    """The profile when some loss has no finite part at all."""
    step = parts[0][0].lattice.step
    index = np.arange(window.start, window.start + window.size)
    epsilons = np.asarray(index * step, dtype=np.float64)
    deltas = np.full(window.size, _infinite(parts, side))
    return Profile(epsilons, deltas, np.zeros(window.size), side)


def _wrapped(x: Array, first: int, size: int) -> Array:
    """`x` laid on a circle of `size` points, starting at `first`."""
    start = first % size
    if start + len(x) <= size:
        circle = np.zeros(size)
        circle[start : start + len(x)] = x
        return circle
    folded = np.bincount((start + np.arange(len(x))) % size, weights=x, minlength=size)
    return np.asarray(folded, dtype=np.float64)


def _divergences(v: Array, t: float, step: float) -> Array:
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
    return np.asarray(dtbsv(1, bands, x, lower=1, diag=1, overwrite_x=1))


def _tail(tilted: list[tuple[Array, Array, int]], slope: float, edge: float) -> float:
    """Chernoff: the tilted mass of sums on the far side of `edge` as seen by the sign of `slope`."""
    total, size = -slope * edge, abs(slope * edge)
    for levels, x, count in tilted:
        exponent = slope * levels
        top = float(exponent.max())
        term = count * (top + math.log(float(np.sum(x * np.exp(exponent - top))) + TINY))
        total += term
        size += abs(term) + count * (1.0 + abs(top))
    return math.exp(min(total + 2 * ELEMENTARY * size, 0.0))


def _infinite(parts: Parts, side: Side) -> float:
    """P-mass of at least one infinite loss: prod (m + i)^n - prod m^n."""
    if not any(loss.infinite for loss, _ in parts):
        return 0.0
    log_finite, ratio, uses = 0.0, 0.0, 0
    for loss, count in parts:
        finite = float(np.sum(loss.masses))
        if finite <= 0.0:
            log_finite, ratio = -math.inf, math.inf
            break
        log_finite += count * math.log(finite)
        ratio += count * math.log1p(loss.infinite / finite)
        uses += count
    if math.isinf(log_finite):
        totals = [(float(np.sum(a.masses)) + a.infinite, n) for a, n in parts]
        if min(total for total, _ in totals) <= 0.0:  # a lower measure that keeps nothing
            return 0.0
        value = math.exp(sum(n * math.log(total) for total, n in totals))
        uses = sum(count for _, count in parts)
    else:
        if log_finite > 700.0:  # a lattice too coarse for so many uses proves nothing
            return 1.0 if side is Side.UPPER else 0.0
        value = math.exp(log_finite) * math.expm1(min(ratio, 700.0))
    slip = 256 * UNIT * uses
    return value * (1 + slip) if side is Side.UPPER else value * max(1 - slip, 0.0)
