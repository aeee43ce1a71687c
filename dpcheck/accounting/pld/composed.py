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

from dpcheck.accounting.certify.bound import deltas_above, deltas_below
from dpcheck.accounting.certify.lattice import (
    Law,
    Transformed,
    at,
    at_one,
    by_leak,
    by_top,
    by_top_below,
    certain_leak,
    in_cell,
    law,
    of_nothing,
    once,
    transformed,
)
from dpcheck.accounting.certify.theorem import Spends, Theorem, at_delta_1, excess
from dpcheck.accounting.losses import Loss, Parts
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.layout import ACCURACY, laid_out
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
from dpcheck.numerics.rounding import UNIT, Array
from dpcheck.numerics.search import cell
from dpcheck.numerics.series import Window
from dpcheck.numerics.side import Side
from dpcheck.numerics.tilted import Profile

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

    @property
    def whole(self) -> Parts:
        """The parts that theorems about it are about."""
        return tuple(zip(self.losses, self.counts, strict=True))

    def epsilon(self, delta: float, share: float = 0.0) -> float:
        """The smallest epsilon >= 0 with divergence at most `delta`, on this object's side.

        The lattice may cost a `share` of it, where that is more than what it may cost anyway.
        """
        found = [proof.epsilon for proof in self.spends(delta, share)]
        if self.side is Side.UPPER:
            return max(min(found, default=math.inf), 0.0)
        return max([*found, 0.0])

    def spends(self, delta: float, share: float = 0.0) -> list[Spends]:
        """What proves `epsilon`; empty where nothing does."""
        if not self.parts or delta <= 0:
            return [by_top(self.whole) if self.side is Side.UPPER else by_top_below(self.whole)]
        if delta >= 1.0:
            return [at_delta_1(self.whole, delta, self.side)]
        if self.counts == (1,) and (known := once(self.losses[0], delta, self.side)):
            return [known]
        if certain_leak(self.whole, self.side) > delta:
            leaking = by_leak(self.whole, delta) if self.side is Side.LOWER else None
            return [leaking] if leaking else []
        found = [self.solve(delta, share).proof]
        if self.side is Side.UPPER:
            found.append(by_top(self.whole))
        return [proof for proof in found if proof is not None]

    def within(self, epsilon: float, delta: float, spare: float) -> Spends | None:
        """What proves divergence at most `delta` at `epsilon` >= 0 by a lattice that may cost `spare`."""
        top = by_top(self.whole)
        if epsilon >= top.epsilon:
            return top
        known = self._shared(delta, spare)
        found = None if known is None else at_one(law(known, self.counts), epsilon)
        return found if found and found.delta <= delta else None

    def rough(self, delta: float, spare: float) -> Spends | None:
        """The epsilon that a lattice which may cost `spare` proves."""
        return self._solution(self._shared(delta, spare), delta).proof if self.parts else None

    def lean(self, delta: float) -> tuple[ComposedLoss, float]:
        """The composition without parts that hardly matter at `delta`, and the epsilon they add at most.

        Below, leaving some out is sound, since seeing less is. Above, a part with losses L <= l is paid for
        by l: (1 - e^(epsilon + l - L - R))+ <= (1 - e^(epsilon - R))+ for the loss R of the others.
        """
        if len(self.parts) < 2 or not 0 < delta < 1 or self._leak > delta:
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
        return ComposedLoss(kept, self.side), excess(self.whole, tuple(kept), directed=True)

    def estimate(self, delta: float) -> float:
        """About epsilon at `delta`: the saddle point of the plan; for planning only."""
        if not self.parts or not 0 < delta < 1:
            return 0.0
        return math.inf if self._leak > delta else self._plan(delta)[0].center

    def log_deltas(self, epsilons: Array) -> Array:
        """Chernoff's estimates of log delta from above at each epsilon; for planning only."""
        if not self.parts or self._leak > 0:
            return np.zeros(len(epsilons))
        return self.everything.log_chernoff(epsilons)

    def lead(self, delta: float) -> float:
        """About how much less than the estimate the reversed direction costs; 0 where that is not known."""
        known = self.parts and all(pair.shows_both for pair, _ in self.parts)
        return self._plan(delta)[0].lead() if known and 0 < delta < 1 else 0.0

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
        best = self._solution(self._shared(delta, spare), delta)
        if best.quiet:
            return best
        cumulants = Cumulants(self.parts, math.log(delta))
        tilt = cumulants.tilt_for_delta(delta)
        if math.isnan(best.value):
            best = replace(best, value=math.inf if self.side is Side.UPPER else -math.inf)
        elif best.window is not None:  # a better place than the plan's, unless it is the same one
            better, used = cumulants.tilt_for_epsilon(best.value), best.window.tilt
            tilt = better if abs(better - used) > 0.01 * used else tilt
        for _ in range(TRIES):
            found = self._solution(self._transformed(cumulants, tilt), delta)
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

    def _solution(self, known: Transformed | None, delta: float) -> Solution:
        if known is None:  # some loss has no finite part
            return Solution(math.inf if self.side is Side.UPPER else 0.0, 1.0, None, self.side)
        composed = law(known, self.counts)
        sums = composed.sums
        place = cell(sums, delta)
        if place is not None:
            proof = in_cell(composed, place.point, delta)
            value = math.nan if proof is None else proof.epsilon
            return Solution(value, place.noise, composed, self.side, proof)
        first = np.array([sums.window.start])
        start = float(sums.at(first)[0][0])
        if float(sums.epsilons(first)[0]) <= 0.0 and delta >= start:
            proof = in_cell(composed, sums.window.start + 1, delta)
            return Solution(0.0, 0.0, composed, self.side, proof)
        # Where delta is passed before the window begins, the loss at which it begins is what is known.
        proof = at_one(composed, float(sums.epsilons(first)[0])) if delta >= start else None
        return Solution(math.nan, 1.0, composed, self.side, proof, beyond=delta < start)

    def laws(self, epsilon: float, delta: float) -> Iterator[Law]:
        """Those that our bounds at this delta or epsilon are proved with, then finer and finer ones."""
        band = delta_band(self.losses, self.counts, self.side, epsilon)
        used = self.solve(delta).law
        yield from filter(None, (used,))
        near = Cumulants(self.parts, math.log(delta) + LEFT_OUT)
        tilt = near.tilt_for_epsilon(epsilon)
        laid = (laid_out(self.losses, self.side, near, tilt, share=share) for share in FINER_SHARES)
        for known in (self._shared(math.exp(band)), *(transformed(*one) for one in laid)):
            if known is not None:
                yield law(known, self.counts)

    def layers(self, solution: Solution) -> tuple[list[tuple[LatticeLoss, int]], Window]:
        """The lattice measures and the window that a solution was found with."""
        if solution.law is None:
            raise CannotCertify("a loss without a finite part is not composed on a lattice.")
        measures = solution.law.transformed.lattices.measures
        return list(zip(measures, self.counts, strict=True)), solution.law.sums.window

    def delta(self, epsilons: npt.ArrayLike) -> Array:
        """The divergence at each epsilon (any sign), on this side."""
        wanted = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
        return self.told(self.curves(wanted), wanted)

    def told(self, proofs: Sequence[Theorem], wanted: Array) -> Array:
        """What these theorems say at each epsilon."""
        if self.side is Side.UPPER:
            found = [np.ones(len(wanted)), *(deltas_above(one, wanted) for one in proofs)]
            return np.asarray(np.minimum.reduce(found))
        found = [np.zeros(len(wanted)), *(deltas_below(one, wanted) for one in proofs)]
        return np.asarray(np.maximum.reduce(found))

    def curves(self, wanted: Array, enough: Array | None = None) -> list[Theorem]:
        """What proves `delta` at each epsilon (any sign); above, it need not be below `enough`."""
        if not self.parts:
            return [of_nothing(wanted, self.side)]
        proofs: list[Theorem] = []
        if self.side is Side.UPPER:  # nothing lies beyond the largest loss
            proofs.append(top := by_top(self.whole))
            inside = wanted < top.epsilon
            wanted, enough = wanted[inside], None if enough is None else enough[inside]
            if not len(wanted):
                return proofs
        open_ = np.ones(wanted.shape, dtype=bool)
        refused: CannotCertify | None = None
        answered = False
        for make, next_ in self._windows(wanted, open_, 0.0 if enough is None else enough[0]):
            try:
                known = make()
            except CannotCertify as error:  # others may have a window
                refused, known = error, None
            if known is None:
                open_ &= wanted > next_
                continue
            # All of them: the nearest of the next window is as good for what this one had to leave noisy.
            answered, composed = True, law(known, self.counts)
            curve, noises = at(composed, wanted)
            proofs.append(curve)
            # What was too rare for the window and counts as infinite is an allowance too.
            spared = max(composed.sums.infinite - self._leak, 0.0)
            open_ &= ((noises > QUIET) | (spared > QUIET * curve.deltas)) & (wanted > next_)
            if enough is not None and self.side is Side.UPPER:
                open_ &= self.told(proofs, wanted) > enough
        if not answered and refused is not None:
            raise refused
        return proofs

    def _windows(
        self, wanted: Array, open_: npt.NDArray[np.bool_], enough: float
    ) -> Iterator[tuple[Callable[[], Transformed | None], float]]:
        """Spectra for the epsilons that are still `open_`, each with what it is the last try for."""
        if len(wanted) == 1:
            # Neighbours share the spectrum of one plan, for about the delta that is asked.
            band = delta_band(self.losses, self.counts, self.side, float(wanted[0]))
            if enough > 0:
                band = max(band, banded_below(math.log(enough)))
            yield partial(self._shared, math.exp(band)), -math.inf
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
            make = partial(self._transformed, cumulants, cumulants.tilt_for_epsilon(furthest))
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
        if (known := self._transformed(self.everything, tilt)) is None:
            return None
        composed = law(known, self.counts).sums
        points = composed.window.start + np.arange(composed.window.size)
        losses = composed.epsilons(points)
        masses = composed.law() * np.exp(-tilt * (losses - self.everything.mean))
        return losses, masses / (float(np.sum(masses)) * composed.step)

    def _whole_profile(self) -> Profile:
        """Certified divergences over the whole law, hardly tilted."""
        known = self._transformed(self.everything, float(self.everything.grid[0]))
        if known is None:
            trivial = 1.0 if self.side is Side.UPPER else self._leak
            return Profile(np.array([0.0, 1.0]), np.full(2, trivial))
        return law(known, self.counts).sums.profile()

    def _transformed(
        self, cumulants: Cumulants, tilt: float, spare: float = 0.0
    ) -> Transformed | None:
        return transformed(*laid_out(self.losses, self.side, cumulants, tilt, spare))

    def _shared(self, delta: float, spare: float = 0.0) -> Transformed | None:
        """The spectrum of the plan for about `delta`."""
        plan, key = self._plan(delta)
        # A coarser lattice is kept by the power of two it may cost.
        rounded = 2.0 ** math.floor(math.log2(spare)) if spare > 0 else 0.0
        like, make = plan.cumulants.around, self._transformed
        return SPECTRA.get((key, rounded), lambda: make(like(self.parts), plan.tilt, rounded))

    @cached_property
    def _leak(self) -> float:
        """A lower bound on the probability of an infinite loss somewhere."""
        return certain_leak(self.whole, self.side)


@lru_cache(maxsize=2)
def _solved(one: ComposedLoss, delta: float, share: float) -> Solution:
    return one._solve(delta, share)
