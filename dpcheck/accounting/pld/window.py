"""Where to compute: saddle point, lattice step and window, from a coarse picture of the losses.

Nothing here is certified and nothing needs to be: a bad plan gives a loose bound, never a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import Array

# log of the tilted mass that may lie outside the window on either side.
OUTSIDE = -23.0
# Losses with P-mass below delta e^-RARE in all count as infinite (upper) or are merged (lower).
RARE = 13.0
# Smaller losses with P-mass below e^-UNSEEN in all matter at no positive tilt.
UNSEEN = 60.0
# Nodes of the picture of one loss; more are merged.
MOST_NODES = 1000
# Points of the largest lattice.
MAX_POINTS = 2**21
# The same where an accuracy is asked for: 64 MB an array.
MOST_ASKED = 2**23
# Tilts over the standard deviation, and slopes of Chernoff bounds, that are tried.
_TILTS = np.geomspace(1e-3, 1e4, 72)
_SLOPES, _SHARES = np.geomspace(0.02, 60.0, 36), np.geomspace(0.05, 1.0, 8)
_FINER = np.linspace(0.0, 1.0, 14)


class Cumulants:
    """K(t) = sum n log E e^{tL} of the composed loss, with the tilted means and variances.

    The largest losses, where all of them together have P-mass below e^(log_delta - RARE), are left out, and
    so are the smallest below e^-UNSEEN.
    """

    def __init__(self, parts: Sequence[tuple[LossPair, int]], log_delta: float = -math.inf) -> None:
        self.parts: list[tuple[LossPair, int, Array, Array]] = []
        self.cut: list[bool] = []
        self.uncut: list[tuple[int, Array, Array]] = []
        for pair, count in parts:
            losses, logs = pair.nodes()
            if not len(losses):  # every loss is infinite
                losses, logs = np.zeros(1), np.full(1, -700.0)
            order = np.argsort(losses)
            losses, logs = _thinned(losses[order], logs[order])
            self.uncut.append((count, losses, logs))
            below = np.logaddexp.accumulate(logs)
            above = np.logaddexp.accumulate(logs[::-1])[::-1]
            frequent = above >= log_delta - RARE - math.log(count)
            kept = frequent & (below >= below[-1] - UNSEEN - math.log(count))
            kept[int(np.argmax(logs))] = True
            self.parts.append((pair, count, losses[kept], logs[kept]))
            self.cut.append(not bool(frequent.all()))
        self.uses = sum(count for _, count in parts)
        self.mean, variance = 0.0, 0.0
        for _, count, losses, logs in self.parts:
            weight = np.exp(logs - logs.max())
            average = float(weight @ losses) / float(weight.sum())
            away = losses - average
            self.mean += count * average
            variance += count * float(weight @ (away * away)) / float(weight.sum())
        self.sd = math.sqrt(max(variance, 1e-300))
        self.grid = _TILTS / self.sd
        self.value, self.means, variances = self(self.grid)
        self.variances = np.maximum(variances, 1e-300)
        self.reached: dict[float, Reach] = {}

    def around(self, parts: Sequence[tuple[LossPair, int]]) -> Cumulants:
        """The same picture for pairs that are these but for rounding."""
        pairs = zip(parts, self.parts, strict=True)
        return self._with([(pair, n, losses, logs) for (pair, _), (_, n, losses, logs) in pairs])

    def _with(self, parts: list[tuple[LossPair, int, Array, Array]]) -> Cumulants:
        result = object.__new__(Cumulants)  # copy.copy takes ten times as long
        result.__dict__.update(self.__dict__)
        result.parts = parts
        return result

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """(K, K', K'') at each t."""
        value, mean, variance = np.zeros((3, len(t)))
        for _, count, losses, logs in self.parts:
            exponent = t[:, None] * losses
            exponent += logs
            top = exponent.max(axis=1)
            exponent -= top[:, None]
            weight = np.exp(exponent, out=exponent)
            total = weight.sum(axis=1)
            average = weight @ losses / total
            value += count * (top + np.log(total))
            mean += count * average
            variance += count * np.maximum(weight @ losses**2 / total - average**2, 0.0)
        return value, mean, variance

    def only(self, t: Array) -> Array:
        """K at each t."""
        value = np.zeros(len(t))
        for _, count, losses, logs in self.parts:
            exponents = t[:, None] * losses
            exponents += logs
            value += count * _log_sums(exponents)
        return value

    def whole(self, t: float) -> float:
        """K at t with nothing left out."""
        return sum(n * _log_sum(logs + t * losses) for n, losses, logs in self.uncut)

    def shares(self, t: float) -> Array:
        """What each part adds to K at t."""
        return np.array([n * _log_sum(logs + t * losses) for _, n, losses, logs in self.parts])

    def log_chernoff(self, epsilons: Array) -> Array:
        """Rough upper estimates of log delta at each epsilon."""
        exponents = self.value - self.grid * epsilons[:, None]
        return np.asarray(np.minimum(exponents.min(axis=1), 0.0))

    def log_divergence(self, epsilon: float) -> float:
        """About log delta(epsilon), by its saddle point; Chernoff's estimate where that is less."""
        t = np.array([self.tilt_for_epsilon(epsilon)])
        value, mean, variance = self(t)
        about = float(log_saddle(t, value, mean, np.maximum(variance, 1e-300))[0])
        return min(about, float(self.log_chernoff(np.array([epsilon]))[0]))

    def tilt_for_delta(self, delta: float) -> float:
        """The t whose saddle point has about this delta."""
        wanted = math.log(delta)
        logs = log_saddle(self.grid, self.value, self.means, self.variances)
        return self._refined(
            np.minimum.accumulate(logs) > wanted, lambda *k: log_saddle(*k) - wanted
        )

    def tilt_for_epsilon(self, epsilon: float) -> float:
        """The t with K'(t) = epsilon; small where epsilon is below the mean."""
        before = np.maximum.accumulate(self.means) < epsilon
        return self._refined(before, lambda _t, _value, mean, _variance: epsilon - mean)

    def _refined(self, before: npt.NDArray[np.bool_], left: Callable[..., Array]) -> float:
        """Where what is `left`, positive for small t, is 0: from the grid, by a finer one and a chord."""
        at = int(np.count_nonzero(before))
        if at == 0 or at == len(self.grid):
            return float(self.grid[min(at, len(self.grid) - 1)])
        t = self.grid[at - 1] + (self.grid[at] - self.grid[at - 1]) * _FINER
        value, mean, variance = self(t)
        ahead = left(t, value, mean, np.maximum(variance, 1e-300))
        at = min(max(int(np.count_nonzero(ahead > 0)), 1), len(t) - 1)
        fall = float(ahead[at - 1] - ahead[at])
        share = min(max(float(ahead[at - 1]) / fall, 0.0), 1.0) if fall > 0 else 0.5
        return float(t[at - 1] + share * (t[at] - t[at - 1]))


def _thinned(losses: Array, logs: Array) -> tuple[Array, Array]:
    """A few times MOST_NODES nodes: neighbours merged at their mean, which many uses add up; the ends and
    large masses kept.
    """
    every = -(-len(losses) // MOST_NODES)
    if every == 1:
        return losses, logs
    large = np.flatnonzero(logs > -math.log(MOST_NODES))
    starts = np.union1d(np.arange(0, len(losses), every), np.append(large, large + 1))
    starts = starts[starts < len(losses)]
    total = np.logaddexp.reduceat(logs, starts)
    known = np.where(np.isfinite(total), total, 0.0)
    share = np.exp(logs - np.repeat(known, np.diff(np.append(starts, len(losses)))))
    means = np.where(np.isfinite(total), np.add.reduceat(share * losses, starts), losses[starts])
    means[0], means[-1] = losses[0], losses[-1]
    return means, total


def _log_sums(exponents: Array) -> Array:
    """log sum exp of every row, which is overwritten (scipy's is slow for small arrays)."""
    top = exponents.max(axis=1)
    exponents -= top[:, None]
    return np.asarray(top + np.log(np.exp(exponents, out=exponents).sum(axis=1)))


def _log_sum(exponents: Array) -> float:
    top = float(exponents.max())
    return top + math.log(float(np.exp(exponents - top).sum())) if math.isfinite(top) else top


def log_saddle(t: Array, value: Array, mean: Array, variance: Array) -> Array:
    """Saddle-point estimate of log delta at epsilon = K'(t).

    The factor of e^(K - t epsilon) is E e^{-tx} (1 - e^{-x})+: about 1 / (t (t+1) sd sqrt(2 pi)) for a
    wide tilted law, at most the largest value of that function for a narrow one.
    """
    wide = np.log(t * (t + 1)) + 0.5 * np.log(2 * np.pi * variance)
    narrow = np.log1p(t) + t * np.log1p(1 / t)
    return np.asarray(np.minimum(value - t * mean - np.maximum(wide, narrow), 0.0))


@dataclass(frozen=True, slots=True)
class Reach:
    """The window of the tilted sum in units of loss, with the slopes of its Chernoff bounds; K there."""

    tilt: float
    value: float
    low: float
    high: float
    slope_below: float
    slope_above: float
    center: float
    sd: float


def reach(cumulants: Cumulants, tilt: float) -> Reach:
    """The interval that holds all but e^OUTSIDE of the tilted sum, on each side; kept with the cumulants."""
    if tilt not in cumulants.reached:
        cumulants.reached[tilt] = _reach(cumulants, tilt)
    return cumulants.reached[tilt]


def _reach(cumulants: Cumulants, tilt: float) -> Reach:
    value, mean, variance = (float(a[0]) for a in cumulants(np.array([tilt])))
    sd = math.sqrt(max(variance, 1e-300))
    slopes = np.concatenate((_SLOPES / sd, tilt * _SHARES))
    further = cumulants.only(np.concatenate((tilt + slopes, tilt - slopes)))
    up = (further[: len(slopes)] - value - OUTSIDE) / slopes
    down = (value - further[len(slopes) :] + OUTSIDE) / slopes
    best_up, best_down = int(np.argmin(up)), int(np.argmax(down))
    # A law concentrated in one point still gets a window around it.
    pad = 1e-9 * abs(mean) + 1e-12
    return Reach(
        tilt,
        value,
        min(float(down[best_down]), mean) - pad,
        max(float(up[best_up]), mean) + pad,
        float(slopes[best_down]),
        float(slopes[best_up]),
        mean,
        sd,
    )


def too_many_points(cumulants: Cumulants) -> CannotCertify:
    """Why a composition is refused."""
    return CannotCertify(
        f"composing {cumulants.uses} steps needs a lattice of more than {MAX_POINTS} points to be "
        "certified within memory; the Renyi bound still holds: ask for it with method='rdp'.",
        uses=cumulants.uses,
    )


def aligned_part(cumulants: Cumulants) -> int | None:
    """The part whose own lattice the step should divide: the one with most atoms at stake."""
    stakes = [
        count * (pair.loose_atoms + 1e-12) if pair.span is not None else 0.0
        for pair, count, _, _ in cumulants.parts
    ]
    best = int(np.argmax(stakes))
    return best if stakes[best] > 0 else None


def fitted(cumulants: Cumulants, steps: Array, least: float) -> Array:
    """Each step made to divide the span of the aligned part, unless that takes it below `least`."""
    aligned = aligned_part(cumulants)
    pair = None if aligned is None else cumulants.parts[aligned][0]
    if pair is None or pair.span is None:
        return steps
    wanted = np.full_like(steps, pair.span) if pair.exact and len(cumulants.parts) == 1 else steps
    found = pair.span / np.maximum(np.ceil(pair.span / wanted * (1 - 1e-9)), 1.0)
    return np.where(found >= least, found, steps)


def smallest(shifts: Array, room: float) -> list[int]:
    """The parts of smallest shifts that together stay within `room`."""
    order = np.argsort(shifts)
    return [int(i) for i in order[np.cumsum(shifts[order]) <= room]]


# Lattices of more points than this are given less accuracy, this share of epsilon: any, and those of lone
# atoms from below, of a few losses or of many different ones, which no lattice has on its points. Of a few,
# lattices of few points are given more, a quarter of the share.
EASED, EASED_ATOMS, FEW_POINTS = (2**19, 2.5e-4), (2**17, 9e-4), 2**14
MANY_KINDS, EASED_KINDS = 16, (0, 2e-3)


def allowed_cost(
    plan: Reach, step: Array | float, accuracy: tuple[float, float], *, lone: int
) -> Array:
    """The epsilon that a lattice of each step may cost, for a relative and an absolute accuracy.

    `lone` is the number of different losses with lone atoms below; none matter above.
    """
    relative, absolute = accuracy
    points, share = EASED_KINDS if lone >= MANY_KINDS else EASED_ATOMS if lone else EASED
    needed = (plan.high - plan.low) / np.asarray(step)
    shares = np.where(needed > points, max(relative, share), relative)
    if 0 < lone < MANY_KINDS:
        shares = np.where(needed <= FEW_POINTS, relative / 4, shares)
    return np.asarray(shares * abs(plan.center) + absolute)


def spread_cost(
    cumulants: Cumulants, tilt: float, steps: Array, *, merged: Array | None, finest: float
) -> Array:
    """About how much epsilon the lattice costs at each step h, none of them below `finest`.

    Upper: (t+1)/2 sum n E (L-a)(b-L), h^2/6 for a smooth law; a bulk narrower than a cell, aligned
    with the lattice, costs |L - anchor| h only. Merged half cells (`merged`: below, the steps
    they would be laid with) cost half of it, and lone atoms what `LossPair.merging` says.
    """
    cost = np.zeros(len(steps))
    aligned = aligned_part(cumulants)
    for part, (pair, count, losses, logs) in enumerate(cumulants.parts):
        if pair.exact and part == aligned and (pair.span or 0.0) >= finest:
            continue
        exponent = logs + tilt * losses
        weight = np.exp(exponent - _log_sum(exponent))
        # The mean of min(h / 6, |L - anchor|), from sums over all nearer and over all further losses.
        away = np.abs(losses - pair.anchor)
        order = np.argsort(away)
        away, weight = away[order], weight[order]
        nearer, further = np.zeros((2, len(away) + 1))
        np.cumsum(weight * away, out=nearer[1:])
        np.cumsum(weight[::-1], out=further[-2::-1])
        at = np.searchsorted(away, steps / 6)
        cell = steps * (nearer[at] + further[at] * (steps / 6))
        cost += count * cell * (tilt + 1) / (2 if merged is None else 4)
        if merged is not None and part != aligned:
            cost += count * pair.merging(merged, tilt)
    return cost


def loss_ranges(cumulants: Cumulants, tilt: float) -> list[tuple[float, float]]:
    """Losses of each part beyond which its mass does not matter at this tilt.

    Losses below the first are raised to it, so their mass counts as if tilted there.
    """
    found = []
    for (pair, count, losses, logs), cut in zip(cumulants.parts, cumulants.cut, strict=True):
        tilted = tilt * losses
        below = np.logaddexp.accumulate(logs) + tilted - _log_sum(logs + tilted)
        low = losses[max(int(np.searchsorted(below, -30.0 - math.log(count))) - 1, 0)]
        whole = math.isfinite(pair.top) and not cut
        found.append((float(low), float(pair.top if whole else losses[-1])))
    return found


def given_away(cumulants: Cumulants, measures: Sequence[LatticeLoss], tilt: float) -> float:
    """About how much loss lower lattices gave away: what their Q-masses have too much, or what listed
    outcomes lack in their logarithmic moments.
    """
    moved = lacking = 0.0
    for loss, (pair, count, nodes, logs) in zip(measures, cumulants.parts, strict=True):
        levels = np.maximum(loss.levels, -700.0)
        moved += count * max(float(loss.masses @ np.exp(-levels)) - 1, 0.0)
        if pair.listed:
            with np.errstate(divide="ignore"):
                lack = _log_sum(logs + tilt * nodes) - _log_sum(np.log(loss.masses) + tilt * levels)
            lacking += count * max(lack, 0.0) / tilt
    return max(moved, lacking)
