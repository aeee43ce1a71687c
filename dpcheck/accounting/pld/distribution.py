"""The certified privacy-loss-distribution accountant.

`compose` puts every loss on a lattice that bounds it from the wanted side, and adds them up by one
tilted FFT whose every error is bounded (`dpcheck.numerics.lattice`, `dpcheck.numerics.tilted`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len

from dpcheck.accounting.losses import GaussianLoss, Loss
from dpcheck.accounting.pld.build import build, supports
from dpcheck.accounting.pld.window import (
    Cumulants,
    Reach,
    aligned_part,
    loss_range,
    reach,
    spread_cost,
)
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import UNIT, Array
from dpcheck.numerics.side import Side
from dpcheck.numerics.tilted import Profile, Window
from dpcheck.numerics.tilted import compose as convolve

__all__ = ["ComposedLoss", "compose", "pld_delta", "pld_epsilon", "pld_tradeoff", "supports"]

MAX_POINTS = 2**21
EASY_POINTS = 2**19
FEW = 100
STEEPEST = 12.0
# Share of epsilon, and absolute epsilon, that the lattice may cost on each side.
ACCURACY = {Side.UPPER: (6e-5, 1.2e-7), Side.LOWER: (4e-4, 2e-7)}
# Error allowance, relative to delta, above which a point is computed again at its own tilt.
QUIET = 1e-4


def _too_many_points(cumulants: Cumulants) -> CannotCertify:
    return CannotCertify(
        f"composing {cumulants.uses} steps needs a lattice of more than {MAX_POINTS} points to be "
        "certified within memory; the Renyi bound still holds: ask for it with method='rdp'.",
        uses=cumulants.uses,
    )


class ComposedLoss:
    """The composition of (loss, count) parts, bounded on one side; reuse it for several questions.

    Guarantee: every answer lies on `side` of the truth for the composed pair, floating point
    included. Reference: [Zhu2022] Theorem 10 (domination composes), [Doroshenko2022] (upper
    lattice); the lower lattice and all error bounds are derived in `dpcheck.numerics`.
    """

    def __init__(self, parts: Sequence[tuple[Loss, int]], side: Side) -> None:
        self.side = side
        self.parts = [(build(loss, side), count) for loss, count in _merged(parts, side)]
        self._plain: Profile | None = None
        if self.parts:
            self.everything = Cumulants(self.parts)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon >= 0 with divergence at most `delta`, on this object's side."""
        if delta >= 1.0 or not self.parts:
            return 0.0
        if delta <= 0.0:
            return self._largest_loss()
        if self.side is Side.UPPER:
            return max(min(self.solve(delta)[0], self._largest_loss()), 0.0)
        if self._certain_leak() > delta:
            return math.inf
        return max(self.solve(delta)[0], 0.0)

    def solve(self, delta: float) -> tuple[float, Cumulants, float]:
        """(epsilon of any sign, and the plan and tilt it was found with)."""
        cumulants = Cumulants(self.parts, math.log(delta))
        tilt = cumulants.tilt_for_delta(delta)
        best, best_tilt = (math.inf, tilt) if self.side is Side.UPPER else (-math.inf, tilt)
        for _ in range(8):
            profile = self.profile(cumulants, tilt)
            value, noise = profile.epsilon(delta)
            if math.isnan(value) and profile.epsilons[0] <= 0.0 and delta >= profile.deltas[0]:
                value, noise = 0.0, 0.0
            if not math.isnan(value):
                if value < best if self.side is Side.UPPER else value > best:
                    best, best_tilt = value, tilt
                better = cumulants.tilt_for_epsilon(value)
                if noise <= QUIET or abs(better - tilt) <= 0.01 * tilt:
                    break
                tilt = better
            else:
                tilt = tilt * 1.5 if delta < profile.deltas[-1] else tilt / 5
        return best, cumulants, best_tilt

    def delta(self, epsilons: npt.ArrayLike) -> Array:
        """The divergence at each epsilon (any sign), on this object's side."""
        wanted = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
        if not self.parts:
            return np.maximum(-np.expm1(np.minimum(wanted, 0.0)), 0.0)
        inside = wanted < self._largest_loss()
        if not inside.all():  # nothing lies beyond the largest loss
            result = np.zeros(wanted.shape)
            if inside.any():
                result[inside] = self.delta(wanted[inside])
            return result
        best = np.full(wanted.shape, 1.0 if self.side is Side.UPPER else 0.0)
        open_ = np.ones(wanted.shape, dtype=bool)
        choose = np.minimum if self.side is Side.UPPER else np.maximum
        log_delta = self.everything.log_chernoff(float(wanted.max()))
        cumulants = Cumulants(self.parts, max(log_delta - 3.0, -700.0))
        for _ in range(64):
            if not open_.any():
                break
            next_ = float(wanted[open_].min())
            plan = reach(cumulants, cumulants.tilt_for_epsilon(next_))
            # Tilt a little further on, so that one window serves as many points as it can.
            ahead = wanted[open_ & (wanted <= max(next_, plan.center) + 2 * plan.sd)]
            profile = self.profile(cumulants, cumulants.tilt_for_epsilon(float(ahead.max())))
            best = choose(best, profile.delta(wanted))
            open_ &= (profile.noise_at(wanted) > QUIET) & (wanted > next_)
        return best

    def tradeoff(self, fpr: npt.ArrayLike) -> Array:
        """The trade-off curve at `fpr`; an upper composition bounds it from below and vice versa."""
        rates = np.asarray(fpr, dtype=np.float64)
        if not self.parts:
            return 1.0 - rates
        if self._plain is None:
            self._plain = self.profile(self.everything, float(self.everything.grid[0]))
        y = np.exp(np.clip(self._plain.epsilons, -700.0, 700.0))
        deltas = self._plain.deltas
        flat = rates.ravel()
        # The lattice curve is piecewise linear in y, so the supremum is at one of its points.
        best = np.array([float(np.max(1.0 - deltas - y * a)) for a in flat]).reshape(rates.shape)
        if self.side is Side.UPPER:
            return np.asarray(np.clip(best - 16 * UNIT, 0.0, 1.0))
        # Left of the lattice delta >= 1 - y and delta >= its first value; right of it y is larger.
        left = np.minimum(1.0 - deltas[0], y[0] * (1.0 - rates))
        right = 1.0 - y[-1] * rates
        best = np.maximum(best, np.maximum(left, right)) + 16 * UNIT
        return np.asarray(np.clip(np.minimum(best, 1.0 - rates), 0.0, 1.0))

    def profile(self, cumulants: Cumulants, tilt: float) -> Profile:
        """Certified divergences around the saddle point of `tilt`."""
        losses, window = self.layout(cumulants, tilt)
        return convolve(losses, window, self.side)

    def layout(
        self, cumulants: Cumulants, tilt: float
    ) -> tuple[list[tuple[LatticeLoss, int]], Window]:
        """The lattice losses and the window that `profile` works with."""
        plan = reach(cumulants, tilt)
        if not any(pair.exact for pair, _ in self.parts):
            # Steeper tilts resolve epsilon beyond the accuracy the lattice has anyway.
            relative, absolute = ACCURACY[Side.UPPER]
            tilt = min(tilt, 3 / (relative * abs(plan.center) + absolute))
            plan = plan if tilt == plan.tilt else reach(cumulants, tilt)
        step = self._step(cumulants, plan)
        if tilt * step > STEEPEST:
            # The point below epsilon must not drown in the weight of the one above it.
            tilt = STEEPEST / step
            plan = reach(cumulants, tilt)
        losses = [
            (self._lattice_loss(cumulants, i, step, tilt), count)
            for i, (_, count) in enumerate(self.parts)
        ]
        origin = sum(count * loss.lattice.offset for loss, count in losses)
        # The window need not reach beyond the sums there are.
        first = sum(count * loss.first for loss, count in losses)
        last = sum(count * (loss.first + len(loss.masses) - 1) for loss, count in losses)
        start = max(math.floor((plan.low - origin) / step) - 1, first - 1)
        stop = min(math.ceil((plan.high - origin) / step) + 1, last + 2)
        if stop - start > 4 * MAX_POINTS:  # losses with steps of their own cannot be made coarser
            raise _too_many_points(cumulants)
        size = next_fast_len(max(stop - start, 128), real=True)
        return losses, Window(tilt, start, size, plan.slope_below, plan.slope_above)

    def _step(self, cumulants: Cumulants, plan: Reach) -> float:
        relative, absolute = ACCURACY[self.side]
        allowed = relative * abs(plan.center) + absolute
        width = plan.high - plan.low
        most = MAX_POINTS if self.side is Side.UPPER else MAX_POINTS // 2
        steps = np.geomspace(width / most * 1.01, min(width, 1.0), 150)
        costs = spread_cost(cumulants, plan.tilt, steps, merged=self.side is Side.LOWER)
        # The worst point of a cell counts when few losses are added.
        costs = costs * (1 + 2 / cumulants.uses)
        costs = costs * (1 + plan.tilt * steps)
        # Large lattices are given less accuracy, still within 3e-4.
        eased = np.where(
            width / steps > EASY_POINTS, max(allowed, 2.5e-4 * abs(plan.center)), allowed
        )
        fine = np.flatnonzero(costs <= eased)
        if not len(fine) and costs[0] > 0.05 * abs(plan.center) + 1e-3:
            raise _too_many_points(cumulants)
        step = float(steps[fine[-1]] if len(fine) else steps[0])
        ranges = (loss_range(cumulants, i, plan.tilt) for i in range(len(self.parts)))
        widest = max(high - low for low, high in ranges)
        if cumulants.uses <= FEW:
            # Little averaging over the cell then, and a fine lattice costs nothing.
            step = min(step, max(width / 2000, allowed / 2, widest / 200_000))
        step = max(step, widest / most)
        aligned = aligned_part(cumulants)
        if aligned is not None:
            pair = self.parts[aligned][0]
            span = pair.span if pair.span is not None else step
            wanted = span if pair.exact and len(self.parts) == 1 else min(step, span)
            fitted = span / max(math.ceil(span / wanted * (1 - 1e-9)), 1)
            if width / fitted <= most:
                step = fitted
        return step

    def _lattice_loss(
        self, cumulants: Cumulants, part: int, step: float, tilt: float
    ) -> LatticeLoss:
        pair, _ = self.parts[part]
        low, high = loss_range(cumulants, part, tilt)
        if self.side is Side.UPPER:
            return pair.upper(step, low, high)
        return pair.lower(step, low, high)

    def _certain_leak(self) -> float:
        """A lower bound on the probability of an infinite loss somewhere."""
        leaks = [(pair.certain_infinite, count) for pair, count in self.parts]
        total = -math.expm1(math.fsum(n * math.log1p(-p) for p, n in leaks if p < 1))
        return 1.0 if any(p >= 1 for p, _ in leaks) else total * (1 - 1e-12)

    def _largest_loss(self) -> float:
        total = math.fsum(count * pair.top for pair, count in self.parts)
        if math.isinf(total):
            return math.inf
        slip = 64 * UNIT * (1 + abs(total)) * self.everything.uses
        return max(total + slip if self.side is Side.UPPER else total - slip, 0.0)


def _merged(parts: Sequence[tuple[Loss, int]], side: Side) -> list[tuple[Loss, int]]:
    """Equal losses counted together; all Gaussian ones as the one they compose to exactly."""
    counts: dict[Loss, int] = {}
    squares: list[float] = []
    for loss, count in parts:
        if isinstance(loss, GaussianLoss):
            squares.append(count * (loss.mu * loss.mu))
        elif count > 0:
            counts[loss] = counts.get(loss, 0) + count
    if math.fsum(squares) > 0:
        slip = 8 * UNIT if side is Side.UPPER else -8 * UNIT
        counts[GaussianLoss(math.sqrt(math.fsum(squares)) * (1 + slip))] = 1
    return list(counts.items())


@lru_cache(maxsize=64)
def _composed(parts: tuple[tuple[Loss, int], ...], side: Side) -> ComposedLoss:
    return ComposedLoss(parts, side)


def compose(parts: Sequence[tuple[Loss, int]], side: Side) -> ComposedLoss:
    """The composed loss of (loss, count) parts; cached, so repeated questions share the work."""
    return _composed(tuple((loss, int(count)) for loss, count in parts), side)


def pld_epsilon(parts: Sequence[tuple[Loss, int]], delta: float, side: Side) -> float:
    """epsilon(delta) of one direction of the composition, certified on `side`.

    >>> from dpcheck.accounting.losses import GaussianLoss
    >>> round(pld_epsilon([(GaussianLoss(1.0), 1)], 1e-5, Side.UPPER), 2)
    4.38
    """
    return compose(parts, side).epsilon(delta)


def pld_delta(parts: Sequence[tuple[Loss, int]], epsilons: npt.ArrayLike, side: Side) -> Array:
    """delta(epsilon) of one direction at every epsilon, certified on `side`."""
    return compose(parts, side).delta(epsilons)


def pld_tradeoff(parts: Sequence[tuple[Loss, int]], fpr: npt.ArrayLike, side: Side) -> Array:
    """The least false-negative rate f(fpr) of any test of Q (without the record) against P.

    Guarantee: the returned f lies on `side` of the true one; LOWER is the one a claim may be held
    to by an accountant, UPPER the one no test has to stay above. Reference: [Dong2022] Proposition
    2.12: f(a) = sup over all real epsilon of 1 - delta(epsilon) - e^epsilon a.
    """
    return compose(parts, Side.UPPER if side is Side.LOWER else Side.LOWER).tradeoff(fpr)
