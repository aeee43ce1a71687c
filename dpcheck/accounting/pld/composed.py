"""The composition of losses on one lattice, bounded on one side.

`ComposedLoss` puts every loss on a lattice that bounds it from the wanted side, and adds them up by one
tilted FFT whose every error is bounded (`dpcheck.numerics.lattice`, `dpcheck.numerics.tilted`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial

import numpy as np
import numpy.typing as npt

from dpcheck.accounting.losses import Loss
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.layout import ACCURACY, laid_out
from dpcheck.accounting.pld.opposite import best_parabola
from dpcheck.accounting.pld.parts import merged
from dpcheck.accounting.pld.reuse import (
    SPECTRA,
    TiltPlan,
    banded_below,
    delta_band,
    picture,
    planned,
)
from dpcheck.accounting.pld.solution import DROWNED, QUIET, Solution
from dpcheck.accounting.pld.window import Cumulants, smallest
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.opposite import opposite_divergence, opposite_noise
from dpcheck.numerics.rounding import ELEMENTARY, UNIT, Array
from dpcheck.numerics.series import Window
from dpcheck.numerics.side import Side
from dpcheck.numerics.spectrum import Spectrum, spectrum
from dpcheck.numerics.tilted import Convolution, Profile

# Windows that are tried for one question beside the shared one.
TRIES = 5
# Windows that are tried for many epsilons.
MOST_WINDOWS = 64
# Shares of epsilon that finer lattices may cost, and log of the share of delta they leave out.
FINER_SHARES, LEFT_OUT = (2e-5, 5e-6, 1e-6), -14.0
# How many standard deviations beyond its middle a window is used for.
AHEAD = 4.0


class ComposedLoss:
    """The composition of (loss, count) parts, bounded on one side; reuse it for several questions.

    Guarantee: every answer lies on `side` of the truth for the composed pair, floating point
    included. Reference: [Zhu2022] Theorem 10 (domination composes), [Doroshenko2022] (upper
    lattice); the lower lattice and all error bounds are derived in `dpcheck.numerics`.
    """

    def __init__(self, parts: Sequence[tuple[Loss, int]], side: Side) -> None:
        self.side = side
        kept = merged(parts, side)
        self.losses = tuple(loss for loss, _ in kept)
        self.counts = tuple(count for _, count in kept)
        self.parts = [(build(loss, side), count) for loss, count in kept]
        self._plain: Profile | None = None

    @cached_property
    def everything(self) -> Cumulants:
        """The moments of the whole law."""
        return picture(self.losses, self.counts, self.side).around(self.parts)

    def epsilon(self, delta: float, share: float = 0.0) -> float:
        """The smallest epsilon >= 0 with divergence at most `delta`, on this object's side.

        The lattice may cost a `share` of it, where that is more than what it may cost anyway.
        """
        if delta >= 1.0 or not self.parts:
            return 0.0
        if delta <= 0.0:
            return self._largest_loss()
        if self.counts == (1,):
            known = self.parts[0][0].single_epsilon(delta, self.side)
            if known is not None:
                return known
        if self._certain_leak() > delta:
            return math.inf
        most = self._largest_loss() if self.side is Side.UPPER else math.inf
        return max(min(self.solve(delta, share).value, most), 0.0)

    def within(self, epsilon: float, delta: float, spare: float) -> bool:
        """Whether a lattice that may cost `spare` proves divergence at most `delta` at `epsilon` >= 0."""
        if delta >= 1.0 or not self.parts or epsilon >= self._largest_loss():
            return True
        terms = self._shared_spectrum(delta, spare)
        if terms is None:
            return False
        at, _ = Convolution(terms, self.counts, self.side).delta(np.array([epsilon]))
        return bool(at[0] <= delta)

    def rough_epsilon(self, delta: float, spare: float) -> float:
        """The epsilon that a lattice which may cost `spare` proves; infinite where it proves none."""
        if not self.parts:
            return 0.0
        value = self._solution(self._shared_spectrum(delta, spare), delta).value
        return math.inf if math.isnan(value) else value

    def lean(self, delta: float) -> tuple[ComposedLoss, float]:
        """The composition without parts that hardly matter at `delta`, and the epsilon they add at most.

        Below, leaving some out is sound, since seeing less is. Above, a part with losses L <= l is paid for
        by l: (1 - e^(epsilon + l - L - R))+ <= (1 - e^(epsilon - R))+ for the loss R of the others.
        """
        if len(self.parts) < 2 or not 0 < delta < 1 or self._certain_leak() > delta:
            return self, 0.0
        plan = self._plan(delta)[0]
        if self.side is Side.UPPER:
            shifts = np.array([count * max(pair.top, 0.0) for pair, count in self.parts])
        else:  # at the tilt t a part with logarithmic moments K moves epsilon by about K/t
            shifts = np.abs(plan.cumulants.shares(plan.tilt)) / plan.tilt
        spared = smallest(shifts, ACCURACY[self.side][0] * abs(plan.center) / 4)
        if not spared:
            return self, 0.0
        parts = enumerate(zip(self.losses, self.counts, strict=True))
        kept = [part for i, part in parts if i not in spared]
        if self.side is Side.LOWER:
            return ComposedLoss(kept, self.side), 0.0
        # Largest losses are right within some units of 1 + loss.
        uses = sum(self.counts[i] for i in spared)
        added = math.fsum(shifts[spared]) * (1 + 1e-12) + 64 * UNIT * uses
        return ComposedLoss(kept, self.side), added

    def estimate(self, delta: float) -> float:
        """About epsilon at `delta`: the saddle point of the plan; for planning only."""
        if not self.parts or not 0 < delta < 1:
            return 0.0
        return math.inf if self._certain_leak() > delta else self._plan(delta)[0].center

    def log_deltas(self, epsilons: Array) -> Array:
        """Chernoff's estimates of log delta from above at each epsilon; for planning only."""
        if not self.parts or self._certain_leak() > 0:
            return np.zeros(len(epsilons))
        return self.everything.log_chernoff(epsilons)

    def lead(self, delta: float) -> float:
        """About how much less than the estimate the reversed direction costs; 0 where that is not known."""
        known = self.parts and all(pair.shows_both for pair, _ in self.parts)
        return self._plan(delta)[0].lead() if known and 0 < delta < 1 else 0.0

    def opposite_epsilon(self, delta: float, share: float = 0.0) -> float:
        """An epsilon that the reversed direction is proved to cost at most at `delta`, by moments of the
        upper lattice that `solve` asks first; infinite where they prove none.
        """
        if opposite_noise(self.counts) > delta / 2:
            return math.inf
        plan = self._plan(delta)[0]
        found = best_parabola(plan.cumulants, self.counts, plan.tilt, math.log(delta))
        terms = None
        if found is not None and found[1] < plan.center:
            terms = self._shared_spectrum(delta, share * abs(plan.center))
        if found is None or terms is None:
            return math.inf
        parabola, epsilon = found
        parts = [(law.loss, n) for law, n in zip(terms.laws, self.counts, strict=True)]
        return epsilon if opposite_divergence(parts, epsilon, parabola) <= delta else math.inf

    def _plan(self, delta: float) -> tuple[TiltPlan, Hashable]:
        return planned(self.losses, self.counts, self.side, round(math.log(delta)))

    def solve(self, delta: float, share: float = 0.0) -> Solution:
        """epsilon of any sign, with the spectrum it was found with.

        The plan depends on the counts and on delta only by bands, so that one spectrum answers many
        questions and equal questions always get equal answers; where it is not good enough another is
        made for this question alone.
        """
        return _solved(self, delta, share)

    def _solve(self, delta: float, share: float) -> Solution:
        spare = share * abs(self._plan(delta)[0].center)
        best = self._solution(self._shared_spectrum(delta, spare), delta)
        if best.quiet:
            return best
        cumulants = Cumulants(self.parts, math.log(delta))
        tilt = cumulants.tilt_for_delta(delta)
        if math.isnan(best.value):
            best = replace(best, value=math.inf if self.side is Side.UPPER else -math.inf)
        elif best.terms is not None:  # a better place than the plan's, unless it is the same one
            better, used = cumulants.tilt_for_epsilon(best.value), best.terms.window.tilt
            tilt = better if abs(better - used) > 0.01 * used else tilt
        for _ in range(TRIES):
            found = self._solution(self._spectrum(cumulants, tilt), delta)
            if not math.isnan(found.value):
                if (found.value < best.value) is (self.side is Side.UPPER):
                    best = found
                better = cumulants.tilt_for_epsilon(found.value)
                settled = abs(better - tilt) <= 0.01 * tilt
                if found.quiet or (settled and found.noise <= DROWNED):
                    break
                # A law of two heaps, of those who were drawn and of the others, has no saddle between them: a
                # window tilted to one of them drowns what lies between.
                tilt = tilt / 2 if settled else better
            else:
                tilt = tilt * 1.5 if found.beyond else tilt / 5
        return best

    def _solution(self, terms: Spectrum | None, delta: float) -> Solution:
        worst = math.inf if self.side is Side.UPPER else -math.inf
        if terms is None:  # some loss has no finite part
            leak = self._certain_leak()
            known = leak <= delta and self.side is Side.LOWER
            return Solution(0.0 if known else worst, 1.0, None, self.side)
        law = Convolution(terms, self.counts, self.side)
        value, noise = law.epsilon(delta)
        if not math.isnan(value):
            return Solution(value, noise, law, self.side)
        first = np.array([law.window.start])
        start = float(law.at(first)[0][0])
        if float(law.epsilons(first)[0]) <= 0.0 and delta >= start:
            return Solution(0.0, 0.0, law, self.side)
        return Solution(math.nan, 1.0, law, self.side, beyond=delta < start)

    def spectra(self, epsilon: float, delta: float) -> Iterator[Spectrum]:
        """Those that our bounds at this delta or epsilon are proved with, then finer and finer ones."""
        band = delta_band(self.losses, self.counts, self.side, epsilon)
        yield from filter(None, (self.solve(delta).terms, self._shared_spectrum(math.exp(band))))
        near = Cumulants(self.parts, math.log(delta) + LEFT_OUT)
        tilt = near.tilt_for_epsilon(epsilon)
        for share in FINER_SHARES:
            found = spectrum(*laid_out(self.side, near, tilt, share=share))
            yield from filter(None, (found,))

    def layers(self, solution: Solution) -> tuple[list[tuple[LatticeLoss, int]], Window]:
        """The lattice measures and the window that a solution was found with."""
        if solution.terms is None:
            raise CannotCertify("a loss without a finite part is not composed on a lattice.")
        losses = [law.loss for law in solution.terms.laws]
        return list(zip(losses, self.counts, strict=True)), solution.terms.placed(self.counts)

    def delta(self, epsilons: npt.ArrayLike, enough: Array | None = None) -> Array:
        """The divergence at each epsilon (any sign), on this side; above, it need not be below `enough`."""
        wanted = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
        if not self.parts:
            widened = 1 + (2 if self.side is Side.UPPER else -2) * ELEMENTARY  # and two products
            return -np.expm1(np.minimum(wanted, 0.0)) * widened + 0.0
        inside = wanted < self._largest_loss()
        if not inside.all():  # nothing lies beyond the largest loss
            result = np.zeros(wanted.shape)
            if inside.any():
                left = None if enough is None else enough[inside]
                result[inside] = self.delta(wanted[inside], left)
            return result
        best = np.full(wanted.shape, 1.0 if self.side is Side.UPPER else 0.0)
        open_ = np.ones(wanted.shape, dtype=bool)
        choose = np.minimum if self.side is Side.UPPER else np.maximum
        law: Convolution | None = None
        refused: CannotCertify | None = None
        for make, next_ in self._windows(wanted, open_, 0.0 if enough is None else enough[0]):
            try:
                terms = make()
            except CannotCertify as error:  # others may have a window
                refused, terms = error, None
            if terms is None:
                open_ &= wanted > next_
                continue
            # All of them: the nearest of the next window is as good for what this one had to leave noisy.
            law = Convolution(terms, self.counts, self.side)
            values, noises = law.delta(wanted)
            best = choose(best, values)
            # What was too rare for the window and counts as infinite is an allowance too.
            spared = max(law.infinite - self._certain_leak(), 0.0)
            open_ &= ((noises > QUIET) | (spared > QUIET * values)) & (wanted > next_)
            if enough is not None and self.side is Side.UPPER:
                open_ &= best > enough
        if law is None and refused is not None:
            raise refused
        return _falling(wanted, best, self.side)

    def _windows(
        self, wanted: Array, open_: npt.NDArray[np.bool_], enough: float
    ) -> Iterator[tuple[Callable[[], Spectrum | None], float]]:
        """Spectra for the epsilons that are still `open_`, each with what it is the last try for."""
        if len(wanted) == 1:
            # Neighbours share the spectrum of one plan, for about the delta that is asked.
            band = delta_band(self.losses, self.counts, self.side, float(wanted[0]))
            if enough > 0:
                band = max(band, banded_below(math.log(enough)))
            yield partial(self._shared_spectrum, math.exp(band)), -math.inf
        whole, before = None, math.nan
        for _ in range(MOST_WINDOWS):
            if not open_.any():
                break
            whole = whole or self._frequent(float(wanted.max()))
            next_ = float(wanted[open_].min())
            tilt = whole.tilt_for_epsilon(next_)
            _, mean, variance = (float(moment[0]) for moment in whole(np.array([tilt])))
            # Tilt further on, so that one window serves as many points as it can.
            ahead = wanted[open_ & (wanted <= max(next_, mean) + AHEAD * math.sqrt(variance))]
            furthest = float(ahead.max()) if next_ != before else next_
            before = next_
            cumulants = self._frequent(furthest)
            if abs(whole.log_divergence(furthest) - cumulants.log_divergence(furthest)) <= 1.0:
                cumulants = whole  # what is rarer changes little: later points are served as well
            make = partial(self._spectrum, cumulants, cumulants.tilt_for_epsilon(furthest))
            yield make, next_ if furthest == next_ else -math.inf

    def _frequent(self, epsilon: float) -> Cumulants:
        """The moments of the law without losses too rare to matter at `epsilon`."""
        band = delta_band(self.losses, self.counts, self.side, epsilon)
        return self._plan(math.exp(band))[0].cumulants.around(self.parts)

    def tradeoff(self, fpr: npt.ArrayLike) -> Array:
        """The trade-off curve at `fpr`; an upper composition bounds it from below and vice versa."""
        rates = np.asarray(fpr, dtype=np.float64)
        if not self.parts:
            return 1.0 - rates
        self._plain = self._plain or self._whole_profile()
        y, deltas = np.exp(np.clip(self._plain.epsilons, -700.0, 700.0)), self._plain.deltas
        if self.side is Side.UPPER:  # too small a y proves too much
            y[self._plain.epsilons > 700.0] = math.inf
        # The curve is piecewise linear in y: the supremum is at one of its points.
        lost = (y * a if a > 0 else np.zeros(1) for a in rates.ravel())
        best = np.array([float(np.max(1.0 - deltas - each)) for each in lost]).reshape(rates.shape)
        if self.side is Side.UPPER:
            return np.asarray(np.clip(best - 16 * UNIT, 0.0, 1.0))
        # Left of the lattice delta >= 1 - y and delta >= its first value; right of it y is larger.
        left = np.minimum(1.0 - deltas[0], y[0] * (1.0 - rates))
        right = 1.0 - y[-1] * rates
        best = np.maximum(best, np.maximum(left, right)) + 16 * UNIT
        return np.asarray(np.clip(np.minimum(best, 1.0 - rates), 0.0, 1.0))

    def drawn(self) -> tuple[Array, Array] | None:
        """(losses, density) of the composed law, hardly tilted; for drawing, not certified."""
        tilt = float(self.everything.grid[0])
        if (terms := self._spectrum(self.everything, tilt)) is None:
            return None
        composed = Convolution(terms, self.counts, self.side)
        points = composed.window.start + np.arange(composed.window.size)
        losses = composed.epsilons(points)
        masses = composed.law() * np.exp(-tilt * (losses - self.everything.mean))
        return losses, masses / (float(np.sum(masses)) * terms.step)

    def _whole_profile(self) -> Profile:
        """Certified divergences over the whole law, hardly tilted."""
        terms = self._spectrum(self.everything, float(self.everything.grid[0]))
        if terms is None:
            trivial = 1.0 if self.side is Side.UPPER else self._certain_leak()
            return Profile(np.array([0.0, 1.0]), np.full(2, trivial))
        return Convolution(terms, self.counts, self.side).profile()

    def _spectrum(self, cumulants: Cumulants, tilt: float, spare: float = 0.0) -> Spectrum | None:
        return spectrum(*laid_out(self.side, cumulants, tilt, spare))

    def _shared_spectrum(self, delta: float, spare: float = 0.0) -> Spectrum | None:
        """The spectrum of the plan for about `delta`."""
        plan, key = self._plan(delta)
        # A coarser lattice is kept by the power of two it may cost.
        rounded = 2.0 ** math.floor(math.log2(spare)) if spare > 0 else 0.0
        like, make = plan.cumulants.around, self._spectrum
        return SPECTRA.get((key, rounded), lambda: make(like(self.parts), plan.tilt, rounded))

    def _certain_leak(self) -> float:
        """A lower bound on the probability of an infinite loss somewhere."""
        leaks = [(pair.certain_infinite, count) for pair, count in self.parts]
        if not any(p for p, _ in leaks):
            return 0.0
        total = -math.expm1(math.fsum(n * math.log1p(-p) for p, n in leaks if p < 1))
        return 1.0 if any(p >= 1 for p, _ in leaks) else total * (1 - 1e-12)

    def _largest_loss(self) -> float:
        total = math.fsum(count * pair.top for pair, count in self.parts)
        if math.isinf(total):
            return math.inf
        slip = 64 * UNIT * (1 + abs(total)) * sum(self.counts)
        return max(total + slip if self.side is Side.UPPER else total - slip, 0.0)


def _falling(epsilons: Array, deltas: Array, side: Side) -> Array:
    """Bounds on one side, each the best of those that hold there because a divergence falls."""
    order = np.argsort(epsilons)
    if side is Side.UPPER:
        deltas[order] = np.minimum.accumulate(deltas[order])
    else:
        deltas[order[::-1]] = np.maximum.accumulate(deltas[order[::-1]])
    return deltas


@lru_cache(maxsize=2)
def _solved(one: ComposedLoss, delta: float, share: float) -> Solution:
    return one._solve(delta, share)
