"""The certified privacy-loss distribution as an accountant: the worse of the two directions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.accountants.many import dominated
from dpcheck.accounting.losses import GaussianLoss, Loss, Parts, reverse_parts
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
from dpcheck.numerics.rounding import TINY, UNIT, Array
from dpcheck.numerics.side import Side
from dpcheck.numerics.tilted import Convolution

_Answer = TypeVar("_Answer", float, Array)

# Losses below this are not worth a lattice.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True, slots=True)
class OneLaw:
    """The lattice of one direction at one delta; it also proves other deltas, and the other direction's.

    (q - y p)+ = q - y p + y (p - q/y)+, so the reversed pair has the divergence 1 - y + y F(1/y) at
    y = e^eps, F that of this one. `negligible` is the epsilon of what was left out, in either direction.
    """

    law: Convolution
    negligible: float
    symmetric: bool

    def about(self, epsilon: float) -> float:
        """delta of this direction; for searching only."""
        return float(self.law.delta(np.array([epsilon]))[0][0])

    def slope(self, epsilon: float) -> float:
        """About the derivative of the logarithm of it."""
        return self.law.saddle.log_divergence(epsilon)[1]

    def deltas(self, epsilons: Array) -> tuple[Array, Array]:
        """Deltas of the worse direction from above, and which share of them is allowance for error."""
        points = epsilons
        if self.negligible:
            points = np.nextafter(epsilons - self.negligible, -math.inf)
        if self.symmetric:
            return self.law.delta(points)
        values, noises = self.law.delta(np.concatenate((points, -points)))
        (forward, back), (noise, noise_back) = np.split(values, 2), np.split(noises, 2)
        with np.errstate(over="ignore", invalid="ignore"):
            # e^x errs by 8 units, the difference and the products by one each, the last sums by 2 of 1.
            y = np.exp(points) * (1 - 16 * UNIT)
            known = (back < 1) & (points < 700)
            backward = np.where(known, 1 - y * (1 - back) + 4 * UNIT, 1.0)
            noise_back = y * back * noise_back / np.maximum(backward, TINY)
        worse = np.minimum(np.maximum(forward, backward), 1.0)
        return worse, np.where(forward >= backward, noise, np.where(known, noise_back, 1.0))


class DistributionAccountant(Accountant):
    """Certified on both sides; says nothing where no lattice fits into memory.

    Epsilons may cost a `share` of themselves, where that is more than what they cost anyway.
    """

    method = AccountingMethod.DISTRIBUTION

    def __init__(self, share: float = 0.0) -> None:
        self.share = share

    def supports(self, parts: Parts) -> bool:
        """Whether every loss that matters can be put on a lattice from above."""
        kept = _without_choices(without_negligible(parts)[0])
        return all(loss.on_lattice(Side.UPPER) for loss, _ in kept)

    def epsilon(self, parts: Parts, delta: float) -> float:
        """The least certified epsilon; none at delta 0."""
        if delta <= 0:
            return math.inf
        kept, negligible = without_negligible(parts)
        found = _worse_direction(
            kept,
            Side.UPPER,
            lambda ways, side: worse_epsilon(ways, delta, side, self.share),
            math.inf,
        )
        return math.nextafter(negligible + found, math.inf) if negligible else found

    def delta(self, parts: Parts, epsilon: float) -> float:
        """The least certified delta."""
        return float(self.deltas(parts, np.array([epsilon]))[0])

    def deltas(self, parts: Parts, epsilons: Array) -> Array:
        """The least certified delta at each epsilon."""
        kept, negligible = without_negligible(parts)
        points = np.nextafter(epsilons - negligible, -math.inf) if negligible else epsilons
        return _worse_direction(
            kept,
            Side.UPPER,
            lambda ways, side: worse_deltas(ways, points, side),
            np.ones(len(points)),
        )

    def one_law(self, parts: Parts, delta: float) -> OneLaw | None:
        """The lattice that answers at `delta`, of the direction that is likely worse; None without any."""
        kept, negligible = without_negligible(parts)
        kept = tuple(_without_choices(kept))
        if not kept or not all(loss.on_lattice(Side.UPPER) for loss, _ in kept):
            return None
        try:
            ways = list(_ways(kept))
            law = likely_worse(ways, delta, Side.UPPER).solve(delta, self.share).law
        except CannotCertify:
            return None
        return None if law is None else OneLaw(law, negligible, symmetric=len(ways) == 1)

    def epsilon_lower(self, parts: Parts, delta: float) -> float:
        """The largest certified epsilon of the parts that have a lower lattice."""
        known = _with_lower_lattice(parts)
        if delta <= 0 or not known:
            return 0.0
        return _worse_direction(
            known, Side.LOWER, lambda ways, side: worse_epsilon(ways, delta, side, self.share), 0.0
        )

    def delta_lower(self, parts: Parts, epsilon: float) -> float:
        """The largest certified delta of the parts that have a lower lattice."""
        return float(self.deltas_lower(parts, np.array([epsilon]))[0])

    def deltas_lower(self, parts: Parts, epsilons: Array) -> Array:
        """The same at each epsilon."""
        return _worse_direction(
            _with_lower_lattice(parts),
            Side.LOWER,
            lambda ways, side: worse_deltas(ways, epsilons, side),
            np.zeros(len(epsilons)),
        )

    def explain(self, parts: Parts, delta: float) -> None:
        """Raise why no distribution could be certified; silent where the answer is infinite."""
        kept = tuple(_without_choices(without_negligible(parts)[0]))
        if kept and delta > 0:
            compose_pld(kept, Side.UPPER).epsilon(delta)


class FinerAccountant(DistributionAccountant):
    """The same on lattices that cost about a `share` of epsilon, however many points that takes."""

    def epsilon(self, parts: Parts, delta: float) -> float:
        """The least certified epsilon; none at delta 0."""
        if delta <= 0:
            return math.inf
        kept, negligible = without_negligible(parts)
        found = _worse_direction(
            kept,
            Side.UPPER,
            lambda ways, side: finer_worse_epsilon(ways, delta, side, self.share),
            math.inf,
        )
        return math.nextafter(negligible + found, math.inf) if negligible else found

    def epsilon_lower(self, parts: Parts, delta: float) -> float:
        """The largest certified epsilon of the parts that have a lower lattice."""
        known = _with_lower_lattice(parts)
        if delta <= 0 or not known:
            return 0.0
        return _worse_direction(
            known,
            Side.LOWER,
            lambda ways, side: finer_worse_epsilon(ways, delta, side, self.share),
            0.0,
        )


def lower_composition(parts: Parts, delta: float) -> ComposedLoss | None:
    """What has a lower lattice, in the direction that is likely worse at `delta`; None without any."""
    known = _with_lower_lattice(parts)
    return likely_worse(list(_ways(known)), delta, Side.LOWER).lean(delta)[0] if known else None


def drawn_loss(parts: Parts) -> tuple[Array, Array] | None:
    """(losses, density) of the direction with the larger losses, for drawing only."""
    kept = tuple(_without_choices(without_negligible(parts)[0]))
    if not kept or not all(loss.on_lattice(Side.UPPER) for loss, _ in kept):
        return None
    try:
        laws = [compose_pld(way, Side.UPPER).drawn() for way in _ways(kept)]
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
            float(pld_tradeoff(way, [false_positives], bound)[0]) for way in _ways(side.parts)
        )
    except CannotCertify:
        return None


def _worse_direction(
    parts: Parts, side: Side, ask: Callable[[list[Parts], Side], _Answer], otherwise: _Answer
) -> _Answer:
    """The answer of the worse direction, or `otherwise` where no distribution can be certified."""
    parts = tuple(_without_choices(parts)) if side is Side.UPPER else parts
    if not all(loss.on_lattice(side) for loss, _ in parts):
        return otherwise
    try:
        return ask(list(_ways(parts)), side)
    except CannotCertify:
        return otherwise


def _ways(parts: Parts) -> Iterable[Parts]:
    """The composition in both directions; one where they are the same."""
    back = reverse_parts(parts)
    return (parts,) if back == parts else (parts, back)


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
