"""Whole measures of a composition, and what sampling and groups make of them.

A composed loss is first put on one lattice by direct convolution (every product and sum is of
non-negative numbers, so relative errors are bounded by counting), then changed outcome by outcome:

- Poisson sampling at rate q [Zhu2022, Theorem 11]: removal has F_s(y) = q F(1 + (y-1)/q), so the outcome
  of ratio r = e^l gets ratio 1 - q + q r with the same Q-mass; addition swaps the roles: the outcome
  keeps its P-mass and gets ratio 1/(1 - q + q/r). Both are monotone in F: bounds stay on their side.
- A group of k records: with g the power of the best test of (P, Q) at a level, the k-fold g(g(...)) is at
  least the power between datasets k steps apart [Dong2022, Theorem 2.14, in one direction]. Each outcome of
  an upper measure is a straight piece of g; pieces of the k-fold one are outcomes again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms, common_span
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.window import Cumulants
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import ELEMENTARY, FAINTEST, LARGEST_EXPONENT, UNIT, Array, Indices
from dpcheck.numerics.side import Side

POINTS = 8000
# Points to the largest loss of a part, at most; its masses beyond the range are next to nothing.
FARTHEST = 64 * POINTS
# log of the mass that is left out at either end.
FAINT = -100.0
# Products of masses above this are no subnormal numbers, with which processors are slow.
NORMAL = 1e-150


@dataclass(frozen=True, slots=True)
class _Law:
    first: int
    mass: Array
    error: float


@dataclass(frozen=True, slots=True)
class Measure:
    """Outcomes by loss with their P-masses, right within a share `error`, and the mass of infinite loss."""

    losses: Array
    p: Array
    infinite: float
    error: float

    @property
    def q(self) -> Array:
        """Q-masses."""
        return np.asarray(self.p * np.exp(-self.losses))


def measure(parts: Sequence[tuple[LossPair, int]], side: Side) -> Measure:
    """The composition of `parts` on one lattice, on that side."""
    cumulants = Cumulants(parts)
    low, high = _range(cumulants)
    step = max((high - low) / POINTS, 1e-12)
    span = next((pair.span for pair, _ in parts if pair.span is not None), None)
    if span is not None:
        step = span / math.ceil(span / step)
    total: _Law | None = None
    offset = slack = infinite = 0.0
    for (pair, count), (_, _, seen, _) in zip(parts, cumulants.parts, strict=True):
        ends = max(float(seen.min()), low - high), min(float(seen.max()), high)
        # Up to the largest loss where that is near; else what is beyond the end has infinite loss.
        top = pair.top if pair.top - ends[0] <= FARTHEST * step else ends[1]
        found = pair.upper(step, ends[0], top) if side is Side.UPPER else pair.lower(step, *ends)
        repeated, lost = _power(_Law(found.first, found.masses, 0.0), count, side)
        total, more = (repeated, 0.0) if total is None else _joined(total, repeated, side)
        infinite = _infinite(infinite, found, count, lost + more, side)
        offset += count * found.lattice.offset
        slack += count * found.slack
    assert total is not None
    losses: Array = offset + (total.first + np.arange(len(total.mass), dtype=np.float64)) * step
    rounding = 8 * UNIT * (float(np.abs(losses).max()) + sum(count for _, count in parts))
    losses = losses + (rounding if side is Side.UPPER else -(rounding + slack))
    kept = (total.mass > FAINTEST) & (np.abs(losses) < LARGEST_EXPONENT)
    if not kept.any():
        raise CannotCertify(
            f"all losses of the composition lie beyond {LARGEST_EXPONENT:g}, where a lattice has no digits "
            "left; the Renyi bound still holds: ask for it with method='rdp'."
        )
    if side is Side.UPPER:
        infinite += float(np.sum(total.mass[~kept])) * (1 + 1e-9)
    return Measure(losses[kept], total.mass[kept], infinite, total.error + 8 * UNIT)


def _infinite(before: float, found: LatticeLoss, count: int, lost: float, side: Side) -> float:
    if side is Side.UPPER:
        return before + (count * found.infinite + lost) * (1 + 1e-9)
    return max(before, found.infinite)


def _range(cumulants: Cumulants) -> tuple[float, float]:
    """Losses beyond which a composition has no mass to speak of."""
    t = cumulants.grid
    high = float(np.min((cumulants.value - FAINT) / t))
    low = float(np.max(-(cumulants.only(-t) - FAINT) / t))
    least = sum(count * float(losses.min()) for _, count, losses, _ in cumulants.parts)
    most = sum(count * float(losses.max()) for _, count, losses, _ in cumulants.parts)
    return max(low, least), min(high, most)


def _power(one: _Law, count: int, side: Side) -> tuple[_Law, float]:
    total: _Law | None = None
    lost = 0.0
    for bit in range(count.bit_length()):
        if bit:
            one, more = _joined(one, one, side)
            lost += more * (count >> bit)
        if count >> bit & 1:
            total, more = (one, 0.0) if total is None else _joined(total, one, side)
            lost += more
    assert total is not None
    return total, lost


def _joined(a: _Law, b: _Law, side: Side) -> tuple[_Law, float]:
    """The sum of two laws, without faint ends; and the mass that went to infinity with them."""
    a, b, small = _within(a), _within(b), _small(a) + _small(b)
    mass = np.convolve(a.mass, b.mass)
    least = math.exp(FAINT)
    below, above = np.cumsum(mass), np.cumsum(mass[::-1])[::-1]
    kept = np.flatnonzero((below > least) & (above > least))
    if not len(kept):
        kept = np.array([int(np.argmax(mass))])
    start, stop = int(kept[0]), int(kept[-1]) + 1
    inside = mass[start:stop].copy()
    lost = float(np.sum(mass[stop:])) * (1 + 1e-9)
    if side is Side.UPPER:
        inside[0] += float(np.sum(mass[:start]))
    else:
        inside[-1] += lost * (1 - 1e-8)
    terms = min(len(a.mass), len(b.mass)) + 4
    error = a.error + b.error + 2 * terms * UNIT
    return _Law(a.first + b.first + start, inside, error), lost + small


def _within(law: _Law) -> _Law:
    """Without masses that are next to nothing, so that long ends of them cost no time."""
    kept = np.flatnonzero(law.mass >= NORMAL)
    if not len(kept):
        kept = np.array([0])
    mass = np.where(law.mass >= NORMAL, law.mass, 0.0)[kept[0] : kept[-1] + 1]
    return _Law(law.first + int(kept[0]), mass, law.error)


def _small(law: _Law) -> float:
    """What `_within` leaves out; above it has infinite loss, below it is dropped."""
    return float(np.sum(law.mass[law.mass < NORMAL])) * (1 + 1e-9)


def sampled_pair(inner: Measure, rate: float, side: Side, *, backwards: bool) -> AtomicPair:
    """`inner` on a Poisson sample; `inner` is the reversed composition where `backwards`."""
    error = inner.error + (8 * ELEMENTARY + 4 * UNIT * float(np.abs(inner.losses).max(initial=0)))
    if backwards:
        p, q = inner.p, inner.p * (1 - rate + rate * np.exp(-inner.losses))
        # What has infinite loss among the drawn is still not drawn with probability 1 - rate.
        p = np.append(p, inner.infinite)
        q = np.append(q, inner.infinite * (1 - rate))
        return _pair(p, q, error, 0.0, side)
    q = inner.q
    p = q * (1 - rate + rate * np.exp(inner.losses))
    total = float(np.sum(q))
    if side is Side.UPPER:
        # The curve is 1 - y below the smallest ratio: Q-mass that was moved away is put back there.
        missing = max(1.0 - total * (1 - error - 1e-12), 0.0)
        p, q = np.append(p, missing * (1 - rate)), np.append(q, missing)
    elif total > 1:
        p, q = p / total, q / total
    infinite = rate * inner.infinite
    if side is Side.LOWER and infinite:
        p, q = np.append(p, infinite * (1 - 1e-9)), np.append(q, 0.0)
        infinite = 0.0
    return _pair(p, q, error, infinite * (1 + 4 * UNIT), side)


def sampled_atoms(inner: AtomicPair, rate: float, *, backwards: bool) -> AtomicPair:
    """`inner`, used once, on a Poisson sample, outcome by outcome: the reference keeps its mass q, the other
    has (1-rate) q + rate p.

    `inner` lists all outcomes but for `rest`, a bound on the mass of the others under P and under Q; it is
    the reversed pair where `backwards`.
    """
    reference, other = inner.atoms.p, inner.atoms.q
    if not backwards:
        reference, other = other, reference
    # Two products, a difference and a sum of what errs by `error` each.
    drawn = (1 - rate) * reference + rate * other
    p, q = (reference, drawn) if backwards else (drawn, reference)
    kept = (p > FAINTEST) & (q > FAINTEST)
    rest = inner.rest + float(np.sum(p[~kept])) * (1 + 1e-12) + (0.0 if kept.all() else FAINTEST)
    atoms = Atoms(p[kept], q[kept], inner.atoms.error + 8 * UNIT)
    return AtomicPair(atoms, rest, common_span(atoms.losses()))


def group_pair(inner: Sequence[Measure], size: int) -> AtomicPair:
    """An upper measure of a pair `size` steps apart, each step bounded by all of `inner`."""
    level, power = _power_of_test(inner[0])
    for other in inner[1:]:
        more, reached = _power_of_test(other)
        both = np.union1d(level, more)
        power = np.maximum(np.interp(both, level, power), np.interp(both, more, reached))
        corners = lower_hull(both, -power)
        level, power = both[corners], power[corners]
    levels, powers = level, power
    for _ in range(size - 1):
        # Kinks of g(h(a)): those of h, and where h reaches those of g.
        reached = np.interp(level, powers, levels)
        kinks = np.unique(np.concatenate((levels, reached[level > powers[0]])))
        powers = np.minimum(np.interp(np.interp(kinks, levels, powers), level, power), 1.0)
        levels = kinks
    # Sums, differences and interpolations err by a few units of the power reached so far.
    rounding = 1e-11 + 64 * UNIT * len(levels)
    q, gained = np.diff(levels), np.maximum(np.diff(powers), 0.0) * (1 + rounding)
    return _pair(gained, q, 4 * UNIT, float(powers[0]) * (1 + rounding), Side.UPPER)


def _power_of_test(inner: Measure) -> tuple[Array, Array]:
    """Levels and powers at the kinks of the best test, both ends included."""
    order = np.argsort(-inner.losses)
    p = inner.p[order] * (1 + inner.error + 1e-12)
    level = np.concatenate(([0.0], np.cumsum(inner.q[order])))
    power = np.minimum(np.concatenate(([0.0], np.cumsum(p))) + inner.infinite, 1.0)
    inside = level < 1.0
    return np.append(level[inside], 1.0), np.append(power[inside], 1.0)


def lower_hull(x: Array, y: Array) -> Indices:
    """The corners of the largest convex function below the points, x increasing."""
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return np.array(kept, dtype=np.int64)


def _pair(p: Array, q: Array, error: float, rest: float, side: Side) -> AtomicPair:
    kept = (p > FAINTEST) & ((q > FAINTEST) | (q == 0))
    if not kept.any():
        raise CannotCertify(
            "no outcome of a finite loss is left: all that is known is that neighbours may be told apart."
        )
    if side is Side.UPPER:
        rest += float(np.sum(p[~kept])) * (1 + 1e-12) + FAINTEST
    return AtomicPair(Atoms(p[kept], q[kept], error), rest=rest)
