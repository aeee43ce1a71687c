"""The certified privacy-loss distribution as an accountant: the worse of the two directions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.certify.bound import Plan
from dpcheck.accounting.certify.lattice import Law, in_both_directions
from dpcheck.accounting.certify.many import dominated
from dpcheck.accounting.certify.theorem import Curve, Theorem, ways
from dpcheck.accounting.losses import GaussianLoss, Loss, Parts
from dpcheck.accounting.pld.distribution import (
    ComposedLoss,
    finer_worse_epsilon,
    likely_worse,
    pld_tradeoff,
    worse_deltas,
    worse_epsilon,
)
from dpcheck.accounting.pld.distribution import compose as compose_pld
from dpcheck.accounting.sides import OneSide
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.search import saddle
from dpcheck.numerics.side import Side

# Losses below this are not worth a lattice.
NEGLIGIBLE = 1e-10
# Larger epsilons over the step of a lattice leave the range of floats.
FARTHEST = 1e150


@dataclass(frozen=True, slots=True)
class OneLaw:
    """The lattice of one direction at one delta; it also proves other deltas, and the other direction's.

    `negligible` is the epsilon of what was left out, in either direction.
    """

    law: Law
    negligible: float

    def about(self, epsilon: float) -> float:
        """delta of this direction; for searching only."""
        return float(self.law.sums.delta(np.array([epsilon]))[0][0])

    def slope(self, epsilon: float) -> float:
        """About the derivative of the logarithm of it."""
        return saddle(self.law.sums).log_divergence(epsilon)[1]

    def deltas(self, epsilons: Array) -> tuple[Array, Array]:
        """Deltas of the worse direction from above, and which share of them is allowance for error."""
        curve, noises = self.curve(epsilons)
        return curve.deltas, noises

    def curve(self, epsilons: Array) -> tuple[Curve, Array]:
        """The same as a theorem."""
        points = epsilons
        if self.negligible:
            points = np.nextafter(epsilons - self.negligible, -math.inf)
        found = in_both_directions(self.law, points)
        assert found is not None
        return found


class DistributionAccountant(Accountant):
    """Certified on both sides; says nothing where no lattice fits into memory.

    Epsilons may cost a `share` of themselves, where that is more than what they cost anyway.
    """

    method = AccountingMethod.DISTRIBUTION

    def __init__(self, share: float = 0.0) -> None:
        self.share = share

    def plan_above(self, parts: Parts, delta: float) -> Plan:
        """The least certified epsilon; none at delta 0."""
        if delta <= 0:
            return Plan()
        kept = without_negligible(parts)[0]
        return _both_ways(kept, Side.UPPER, partial(self._ask, delta=delta))

    def _ask(self, ways: list[Parts], side: Side, delta: float) -> Sequence[Theorem]:
        return worse_epsilon(ways, delta, side, self.share)

    def curve_above(self, parts: Parts, epsilons: Array) -> Plan:
        """The least certified delta at each epsilon."""
        kept, negligible = without_negligible(parts)
        points = np.minimum(epsilons, FARTHEST)  # what is proved there holds further on
        points = np.nextafter(points - negligible, -math.inf) if negligible else points
        return _both_ways(kept, Side.UPPER, lambda ways, side: worse_deltas(ways, points, side))

    def one_law(self, parts: Parts, delta: float) -> OneLaw | None:
        """The lattice that answers at `delta`, of the direction that is likely worse; None without any."""
        kept, negligible = without_negligible(parts)
        kept = tuple(_without_choices(kept))
        if not kept or not all(loss.on_lattice(Side.UPPER) for loss, _ in kept):
            return None
        try:
            law = likely_worse(list(ways(kept)), delta, Side.UPPER).solve(delta, self.share).law
        except CannotCertify:
            return None
        return None if law is None else OneLaw(law, negligible)

    def plan_below(self, parts: Parts, delta: float) -> Plan:
        """The largest certified epsilon of the parts that have a lower lattice."""
        known = _with_lower_lattice(parts)
        if delta <= 0 or not known:
            return Plan()
        return _both_ways(known, Side.LOWER, partial(self._ask, delta=delta))

    def curve_below(self, parts: Parts, epsilons: Array) -> Plan:
        """The largest certified delta of the parts that have a lower lattice, at each epsilon."""
        known = _with_lower_lattice(parts)
        near = epsilons[epsilons <= FARTHEST]
        if not len(near):
            return Plan()
        return _both_ways(known, Side.LOWER, lambda ways, side: worse_deltas(ways, near, side))

    def explain(self, parts: Parts, delta: float) -> None:
        """Raise why no distribution could be certified; silent where the answer is infinite."""
        kept = tuple(_without_choices(without_negligible(parts)[0]))
        if kept and delta > 0:
            compose_pld(kept, Side.UPPER).epsilon(delta)


class FinerAccountant(DistributionAccountant):
    """The same on lattices that cost about a `share` of epsilon, however many points that takes."""

    def _ask(self, ways: list[Parts], side: Side, delta: float) -> Sequence[Theorem]:
        return finer_worse_epsilon(ways, delta, side, self.share)


def has_lattice(parts: Parts) -> bool:
    """Whether every loss that matters can be put on a lattice from above."""
    kept = _without_choices(without_negligible(parts)[0])
    return all(loss.on_lattice(Side.UPPER) for loss, _ in kept)


def lower_composition(parts: Parts, delta: float) -> ComposedLoss | None:
    """What has a lower lattice, in the direction that is likely worse at `delta`; None without any."""
    known = _with_lower_lattice(parts)
    return likely_worse(list(ways(known)), delta, Side.LOWER).lean(delta)[0] if known else None


def drawn_loss(parts: Parts) -> tuple[Array, Array] | None:
    """(losses, density) of the direction with the larger losses, for drawing only."""
    kept = tuple(_without_choices(without_negligible(parts)[0]))
    if not kept or not all(loss.on_lattice(Side.UPPER) for loss, _ in kept):
        return None
    try:
        laws = [compose_pld(way, Side.UPPER).drawn() for way in ways(kept)]
    except CannotCertify:
        return None
    known = [law for law in laws if law is not None]
    return max(known, key=lambda law: float(law[0] @ law[1]), default=None)


def tradeoff_by_pld(side: OneSide, false_positives: float, bound: Side) -> float | None:
    """The trade-off function of the worse direction; None where no distribution can be certified."""
    lattice = Side.UPPER if bound is Side.LOWER else Side.LOWER
    usable = all(loss.on_lattice(lattice) for loss, _ in side.parts)
    if side.leak or side.failure or not side.parts or not usable:
        return None
    try:
        return min(
            float(pld_tradeoff(way, [false_positives], bound)[0]) for way in ways(side.parts)
        )
    except CannotCertify:
        return None


def _both_ways(
    parts: Parts, side: Side, ask: Callable[[list[Parts], Side], Sequence[Theorem]]
) -> Plan:
    """What is proved of both directions; nothing where no distribution can be certified."""
    parts = tuple(_without_choices(parts)) if side is Side.UPPER else parts
    if not all(loss.on_lattice(side) for loss, _ in parts):
        return Plan()
    try:
        return Plan(*ask(list(ways(parts)), side))
    except CannotCertify:
        return Plan()


def without_negligible(parts: Parts) -> tuple[Parts, float]:
    """The parts worth a lattice, and the epsilon of pure ones too small for it, which just adds.

    Gaussians that are too small together are raised to the smallest that is worth one, and pure guarantees
    that are too many for a lattice are the Gaussian above them.
    """
    kept: list[tuple[Loss, int]] = []
    negligible = 0.0
    for loss, times in dominated(parts):
        largest = times * loss.largest()[1]
        shift = loss.normal_shift
        if shift is not None and math.sqrt(times) * shift < NEGLIGIBLE:
            kept.append((GaussianLoss(NEGLIGIBLE), 1))
        elif largest > NEGLIGIBLE:
            kept.append((loss, times))
        elif largest > 0:
            # `times` as a float, the product and the sum: three roundings, two steps.
            negligible = math.nextafter(negligible + math.nextafter(largest, math.inf), math.inf)
    return tuple(kept), negligible


def _without_choices(parts: Parts) -> Iterable[tuple[Loss, int]]:
    """Every option of a choice that has no pair of its own at once: costs more, but is one composition."""
    for loss, times in parts:
        if not loss.on_lattice(Side.UPPER) and (options := loss.choices()):
            for option in options:
                yield from ((inner, count * times) for inner, count in _without_choices(option))
        else:
            yield loss, times


def _with_lower_lattice(parts: Parts) -> Parts:
    """The parts a lower lattice exists for; none where the closed form is exact already."""
    if all(loss.normal_shift is not None for loss, _ in parts):
        return ()
    # Negligible parts are dropped, raised Gaussians are not among the parts.
    kept = set(without_negligible(parts)[0])
    return tuple(part for part in parts if part in kept and part[0].on_lattice(Side.LOWER))
