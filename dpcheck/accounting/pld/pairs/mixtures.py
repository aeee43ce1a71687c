"""Mixtures of shifted normal or Laplace laws as pairs with an increasing loss.

P = sum w_j B(m_j) + (1 - sum w) B(0) with m_j >= 0, Q likewise with m_j <= 0, B of scale 1. Poisson
sampling of a Gaussian or Laplace answer gives such pairs; so do their reversals, mirrored.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcheck.accounting.pld.pairs.atoms import Atoms
from dpcheck.accounting.pld.pairs.pair import SmoothPair
from dpcheck.accounting.pld.pairs.single import sampled_epsilon
from dpcheck.numerics.rounding import ELEMENTARY, FAINTEST, LARGEST_EXPONENT, TINY, UNIT, Array
from dpcheck.numerics.side import Side
from dpcheck.numerics.tails import laplace_masses, normal_masses

# Cells times means that are computed in one call.
AT_ONCE = 4096
_ZERO, _ONE = np.zeros(1), np.ones(1)
# Beyond this many standard deviations a normal tail underflows float64.
REACH = 37.0


@dataclass(frozen=True, slots=True)
class Mixture:
    """Weights of the shifted parts; what they leave belongs to the unshifted one."""

    means: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()

    @property
    def base(self) -> float:
        """The weight of the unshifted part, rounded once: its digits count where it is next to nothing."""
        return max(math.fsum((1.0, *(-weight for weight in self.weights))), 0.0)

    def masses(self, parts: Mapping[float, tuple[Array, Array]]) -> tuple[Array, Array]:
        """(mass, error) of cells, from those of the law at every mean."""
        if not self.means:
            return parts[0.0]
        mass, error = np.zeros(1), np.zeros(1)
        for mean, weight in zip((0.0, *self.means), (self.base, *self.weights), strict=True):
            if weight > 0:
                part, part_error = parts[mean]
                mass, error = mass + weight * part, error + weight * part_error
                if len(self.weights) > 1 and mean == 0.0:
                    error = error + 2 * UNIT * part  # 1 - sum w, where the sum is rounded
        return mass, error + (4 + len(self.means)) * 2 * UNIT * mass + TINY


class MixturePair(SmoothPair):
    """The loss log p - log q of two mixtures; subclasses know the law B."""

    law: Callable[[Array, Array], tuple[Array, Array]]
    shows_both = True

    def __init__(self, p: Mixture, q: Mixture) -> None:
        self.p, self.q = p, q

    @abstractmethod
    def exponent(self, x: Array, mean: float) -> tuple[Array, Array, Array]:
        """(log of B(mean) over B(0) at x, bound on its error, its derivative)."""

    def _log_ratio(self, x: Array, mixture: Mixture) -> tuple[Array, Array, Array]:
        """(log of the mixture over B(0), error, derivative)."""
        if not mixture.means:
            nothing = np.zeros_like(x)
            return nothing, nothing, nothing
        terms = [self.exponent(x, mean) for mean in mixture.means]
        if len(terms) == 1 and mixture.weights[0] == 1.0:
            return terms[0]
        largest = terms[0][0] if len(terms) == 1 else np.max([a for a, _, _ in terms], axis=0)
        # sum w (e^a - 1), scaled by e^-largest where that is large; no cancellation for small w.
        large = float(largest.max(initial=0.0)) > 30.0
        shift = np.where(largest > 30.0, largest, 0.0) if large else _ZERO
        unscale = np.exp(-shift) if large else _ONE
        value, error, slope = _ZERO, _ZERO, _ZERO
        for (a, a_error, a_slope), weight in zip(terms, mixture.weights, strict=True):
            change = weight * np.expm1(np.minimum(a, 30.0) if large else a)
            # w e^a: the rounding of the sum is far less than the room in what it bounds.
            grown = change + weight
            if large:
                grown = weight * np.exp(a - shift)
                change = np.where(shift > 0, grown - weight * unscale, change)
            value = value + change
            error = error + grown * (a_error + 2 * UNIT * np.abs(a))
            error += 2 * ELEMENTARY * np.abs(change)
            slope = slope + grown * a_slope
        total = value + unscale
        error += 2 * UNIT * np.abs(value)
        if large:
            error += np.where(shift > 0, 2 * UNIT * unscale, 0.0)
        if float(value.min(initial=0.0)) < -0.5:
            # The digits of 1 + value are those of the sum without the 1.
            near = (value < -0.5) & (shift <= 0)
            total[near], error[near] = _sum_near(mixture, terms, near)
            result = np.log1p(np.where(near, 0.0, value))
            result[near] = np.log(np.maximum(total[near], TINY))
        else:
            result = np.log1p(value)
        if large:
            result = np.where(shift > 0, shift + np.log(np.maximum(total, TINY)), result)
        error = error / np.maximum(total - error, TINY) + 2 * ELEMENTARY * np.abs(result)
        return result, error, slope / total

    def loss(self, x: Array) -> tuple[Array, Array]:
        """(loss, error): the difference of the two log ratios."""
        p, p_error, _ = self._log_ratio(x, self.p)
        if not self.q.means:
            return p, p_error
        q, q_error, _ = self._log_ratio(x, self.q)
        return p - q, p_error + q_error + 2 * UNIT * np.abs(p - q)

    def slope(self, x: Array) -> tuple[Array, Array]:
        """(loss, derivative of the loss), for Newton's method only."""
        p, _, p_slope = self._log_ratio(x, self.p)
        q, _, q_slope = self._log_ratio(x, self.q)
        return p - q, p_slope - q_slope

    def masses(self, cuts: Array) -> tuple[Array, Array, Array, Array]:
        """(p, error, q, error) between cuts, from the masses of the law at every mean."""
        means = tuple(dict.fromkeys((0.0, *self.p.means, *self.q.means)))
        if len(cuts) * len(means) <= AT_ONCE:
            found, errors = type(self).law(cuts, np.array(means)[:, None])
            parts = dict(zip(means, zip(found, errors, strict=True), strict=True))
        else:
            parts = {mean: type(self).law(cuts, np.array(mean)) for mean in means}
        (p, p_error), (q, q_error) = self.p.masses(parts), self.q.masses(parts)
        empty = cuts[:-1] == cuts[1:]
        p_error[empty], q_error[empty] = 0.0, 0.0
        return p, p_error, q, q_error

    def cut(self, levels: Array) -> Array:
        """Closed form for one shift, otherwise interpolation and Newton steps."""
        single = self._single_cut(levels)
        return self._searched_cut(levels) if single is None else single

    @abstractmethod
    def place(self, exponent: Array, mean: float) -> Array:
        """The x at which `exponent(x, mean)` takes the given values."""

    def _single_cut(self, levels: Array) -> Array | None:
        """Closed form when only one side is a mixture, of one shifted part."""
        if len(self.p.means) + len(self.q.means) != 1:
            return None
        forward = len(self.p.means) == 1
        side = self.p if forward else self.q
        mean, weight = side.means[0], side.weights[0]
        wanted = levels if forward else -levels
        if weight == 1.0:
            a = wanted
        else:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                a = np.log1p(
                    np.maximum(np.expm1(np.minimum(wanted, LARGEST_EXPONENT)) / weight, -1.0)
                )
            if float(wanted.max(initial=0.0)) > LARGEST_EXPONENT:
                a = np.where(wanted > LARGEST_EXPONENT, wanted - math.log(weight), a)
        x = np.minimum(np.maximum(self.place(a, mean), self.ends[0]), self.ends[1])
        return np.asarray(np.maximum.accumulate(x))

    @cached_property
    def _grid(self) -> tuple[Array, Array]:
        """Points and the losses there, for searching."""
        low = max(self.ends[0], min(0.0, *self.q.means, 0.0) - REACH - 2)
        high = min(self.ends[1], max(0.0, *self.p.means, 0.0) + REACH + 2)
        grid = np.linspace(low, high, 8192)
        return grid, np.maximum.accumulate(self.slope(grid)[0])

    def _searched_cut(self, levels: Array) -> Array:
        grid, values = self._grid
        low, high = float(grid[0]), float(grid[-1])
        x = np.interp(levels, values, grid)
        for _ in range(5):
            value, slope = self.slope(x)
            move = (value - levels) / np.maximum(slope, 1e-12)
            x = np.clip(x - np.clip(move, -0.05, 0.05), low, high)
        x = np.where(
            levels >= values[-1], self.ends[1], np.where(levels <= values[0], self.ends[0], x)
        )
        return np.maximum.accumulate(x)

    def end_loss(self, sign: float) -> float:
        """The limit of the loss at an end of the line, rounded outward."""
        # As x falls, p/b tends to the weight of P's unshifted part (or 0), q/b grows; and mirrored.
        growing = self.p if sign < 0 else self.q
        fading = self.q if sign < 0 else self.p
        if growing.means or fading.base <= 0:
            return -sign * math.inf
        limit = math.log(fading.base) * sign
        return limit - sign * 8 * UNIT * (1 + abs(limit)) / fading.base


def _sum_near(
    mixture: Mixture, terms: Sequence[tuple[Array, Array, Array]], at: npt.NDArray[np.bool_]
) -> tuple[Array, Array]:
    """(base + sum w e^a, error) of positive terms; where it underflows nothing is known."""
    total = np.full(int(np.count_nonzero(at)), mixture.base)
    error = np.zeros_like(total)
    for (a, a_error, _), weight in zip(terms, mixture.weights, strict=True):
        grown = weight * np.exp(a[at])
        total += grown
        error += grown * (a_error[at] + 2 * UNIT * np.abs(a[at]))
    error += (2 * ELEMENTARY + 2 * UNIT * len(terms)) * total
    return total, np.where(total > FAINTEST, error, math.inf)


def _around(means: Sequence[float], spacing: float) -> Array:
    """Points within REACH of any of the means, increasing."""
    pieces: list[Array] = []
    low = -math.inf
    for mean in sorted(means):
        start = max(low, mean - REACH)
        if start < mean + REACH:
            pieces.append(np.arange(start, mean + REACH, spacing))
            low = float(pieces[-1][-1]) + spacing
    return np.concatenate(pieces)


def _about_log_ratio(mixture: Mixture, x: float) -> float:
    """About the log of a mixture of normal laws over N(0, 1), for planning only."""
    base = mixture.base
    terms = [
        (mean * x - mean * mean / 2, weight)
        for mean, weight in zip(mixture.means, mixture.weights, strict=True)
    ]
    largest = max([a for a, _ in terms] + [0.0] * (base > 0))
    if largest < 30.0 and base > 0.5:  # next to 1: without cancellation
        return math.log1p(math.fsum(weight * math.expm1(a) for a, weight in terms))
    grown = [weight * math.exp(a - largest) for a, weight in terms]
    return largest + math.log(math.fsum(grown) + (base * math.exp(-largest) if base else 0.0))


class NormalPair(MixturePair):
    """B = N(0, 1)."""

    law = staticmethod(normal_masses)

    def __init__(self, p: Mixture, q: Mixture) -> None:
        super().__init__(p, q)
        self.top = self.end_loss(-1.0)
        self.shows_both = min(q.means, default=0.0) > -REACH / 2
        center = 0.0
        if p.weights and max(p.weights) > p.base:
            center = p.means[int(np.argmax(p.weights))]
        self.anchor = _about_log_ratio(p, center) - _about_log_ratio(q, center)

    def exponent(self, x: Array, mean: float) -> tuple[Array, Array, Array]:
        """(log ratio, error, slope) of this law."""
        product, half = mean * x, mean * mean / 2
        return product - half, 4 * UNIT * (np.abs(product) + half), np.array(mean)

    def place(self, exponent: Array, mean: float) -> Array:
        """The inverse of `exponent`."""
        return exponent / mean + mean / 2

    def single_epsilon(self, delta: float, side: Side) -> float | None:
        """The closed form of one sampled step."""
        if len(self.p.means) + len(self.q.means) != 1:
            return None
        backwards = not self.p.means
        drawn = self.q if backwards else self.p
        if drawn.weights[0] >= 1:
            return None
        mean = abs(drawn.means[0])
        return sampled_epsilon(mean, drawn.weights[0], delta, side, backwards=backwards)

    def merged_to(self, level: float, sign: int) -> float | None:
        """By a formula where only one side is a mixture, of one shifted part; for searching only."""
        if len(self.p.means) + len(self.q.means) != 1 or abs(level) > LARGEST_EXPONENT:
            return None
        forward = 1 if self.p.means else -1
        side = self.p if forward > 0 else self.q
        mean, weight = side.means[0], side.weights[0]
        above = math.expm1(forward * level) / weight
        if above <= -1:  # beyond the end: nothing, or all there is as seen from the other end
            return math.nan if sign == forward else 0.0
        x = (math.log1p(above) / mean + mean / 2) * -sign / math.sqrt(2)
        plain, moved = math.erfc(x), math.erfc(x + sign * mean / math.sqrt(2))
        share = weight * (moved / plain - 1) if plain else -1.0
        return forward * math.log1p(share) if share > -1 else math.nan

    def nodes(self) -> tuple[Array, Array]:
        """A coarse picture for planning."""
        spacing = 0.2
        x = _around((0.0, *self.p.means), spacing)
        logs = [
            math.log(weight) - (x - mean) ** 2 / 2
            for mean, weight in zip(
                (0.0, *self.p.means), (self.p.base, *self.p.weights), strict=True
            )
            if weight > 0
        ]
        losses = self.slope(x)[0]
        return losses, np.logaddexp.reduce(logs, axis=0) + math.log(
            spacing / math.sqrt(2 * math.pi)
        )


class LaplacePair(MixturePair):
    """B = Laplace(0, 1): beyond the outermost means the loss is constant, an atom."""

    law = staticmethod(laplace_masses)

    def __init__(self, p: Mixture, q: Mixture) -> None:
        super().__init__(p, q)
        means = (0.0, *p.means, *q.means)
        self.ends = (min(means), max(means))
        outer = self.masses(np.array([-math.inf, self.ends[0], self.ends[1], math.inf]))
        ends, at_ends = [0, 2], self.loss(np.array(self.ends))[0]
        self.atoms = Atoms(
            outer[0][ends],
            outer[2][ends],
            UNIT * (48 + 2 * (self.ends[1] - self.ends[0])),
            at_ends,
        )
        bottom, top = at_ends.tolist()
        self.top, self.anchor = top, top
        self.span = top - bottom if top > bottom else None
        self.loose_atoms = float(self.atoms.p[0])

    def single_epsilon(self, delta: float, side: Side) -> float | None:
        """Without sampling delta(eps) = 1 - e^{(eps - r)/2} for |eps| <= r: eps = r + 2 log(1 - delta)."""
        if self.p.weights != (1.0,) or self.q.means:
            return None
        value = self.p.means[0] + 2 * math.log1p(-delta)
        room = 2 * ELEMENTARY * (1 + self.p.means[0] + abs(value))
        return max(value + room if side is Side.UPPER else value - room, 0.0)

    def exponent(self, x: Array, mean: float) -> tuple[Array, Array, Array]:
        """(log ratio, error, slope) of this law."""
        value = np.abs(x) - np.abs(x - mean)
        slope = np.where((x - mean) * x <= 0, 2.0 * math.copysign(1.0, mean), 0.0)
        return value, 3 * UNIT * (np.abs(x) + abs(mean)), slope

    def place(self, exponent: Array, mean: float) -> Array:
        """The inverse of `exponent`."""
        # Between 0 and the mean, |x| - |x - mean| = sign(mean) (2 x - mean).
        return (exponent * math.copysign(1.0, mean) + mean) / 2

    def end_loss(self, sign: float) -> float:
        """The limit of the loss at an end of the line, rounded outward."""
        value, error = self.loss(np.array([self.ends[0 if sign > 0 else 1]]))
        return float(value[0]) - sign * float(error[0])

    def nodes(self) -> tuple[Array, Array]:
        """A coarse picture for planning."""
        cuts = np.linspace(*self.ends, 129)
        p, _, _, _ = self.masses(cuts)
        middle = self.slope((cuts[1:] + cuts[:-1]) / 2)[0]
        losses = np.concatenate((middle, self.atoms.losses()))
        return losses, np.log(np.maximum(np.concatenate((p, self.atoms.p)), TINY))
