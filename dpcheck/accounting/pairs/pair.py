"""What can be asked of a worst-case pair, with answers that are true of every pair.

A pair (P, Q) is what an event is bounded by: privacy losses are log P/Q. Adjacency is resolved before a
pair exists (`worst_case`), so accountants need not know it. P is the output with the record, Q without it;
`reversed` swaps them where that matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from dpcheck.core.data import Plain
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.enclose import enclose, enclose_product
from dpcheck.numerics.rounding import TINY, Array
from dpcheck.numerics.side import Side

if TYPE_CHECKING:
    from dpcheck.accounting.pairs.combined.selected import SelectingLoss
    from dpcheck.accounting.pld.pairs.pair import LossPair
    from dpcheck.accounting.pld.verify.curves import Curve, Outcomes
    from dpcheck.accounting.renyi.moments import Floats

# Products and sums below err by a few units each; this is 9,000 of them.
_ROUND_UP = 1 + 1e-12
# Sides on which a pair may have a lattice.
ABOVE, BOTH = (Side.UPPER,), (Side.UPPER, Side.LOWER)
# Losses have no bound, and are known to have none.
ENDLESS = (math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Loss:
    """A pair (P, Q), or what is known about it."""

    #: The sides on which its losses have a lattice, unless `on_lattice` says more.
    lattice_sides: ClassVar[tuple[Side, ...]] = ()
    #: Whether its losses are known to have no bound.
    endless: ClassVar[bool] = False
    #: Whether the lattice of the pair is the same on both sides.
    sideless: ClassVar[bool] = False
    #: Whether rounding its numbers to ten digits leaves the same picture, on either side.
    smooth: ClassVar[bool] = False
    #: Whether the pair may have so few outcomes that combinations of them are listed.
    few_outcomes: ClassVar[bool] = False
    #: Whether it is known by its Renyi divergences only.
    by_curve: ClassVar[bool] = False
    #: Whether all outcomes are listed but for what no float can hold, alike under P and Q.
    listed: ClassVar[bool] = False
    #: Whether `dpcheck.verify` computes its Renyi divergences.
    moments_checked: ClassVar[bool] = False
    #: Whether its Renyi divergences are bounded so loosely that its lattice is never improved upon by them.
    loose_renyi: ClassVar[bool] = False

    def reversed(self) -> Loss:
        """The pair with P and Q swapped; itself where it is symmetric."""
        return self

    def largest(self) -> tuple[float, float]:
        """(lower, upper) around sup |log P/Q|; infinite where the loss has no bound.

        Guarantee: encloses the supremum.
        """
        return ENDLESS if self.endless else (0.0, math.inf)

    def variation(self) -> float:
        """A bound on the total variation distance, at most 1.

        Guarantee: never below it. With no loss above eps it is at most tanh(eps/2) <= eps/2, attained by
        randomized response [Kairouz2017, Theorem 3.1].
        """
        return min(self.largest()[1] / 2 * _ROUND_UP, 1.0)

    def renyi(self, orders: Floats) -> Floats:
        """Upper bounds on the Renyi divergence in both directions, per order (all above 1).

        Guarantee: never below the divergence; infinite where none is finite.
        """
        return np.full_like(orders, math.inf)

    def renyi_lower(self, orders: Floats) -> Floats:
        """Lower bounds on D_a(P||Q) of the pair as it stands; 0 where it only bounds a mechanism from above.

        Guarantee: never above the divergence.
        """
        return np.zeros_like(orders)

    @property
    def steepness(self) -> float:
        """The largest shift in units of the noise; 0 where there is none."""
        return 0.0

    def on_lattice(self, side: Side) -> bool:
        """Whether the losses can be put on a lattice that bounds them from that side."""
        return side in self.lattice_sides

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """What such a lattice is built from; asked through `pld.built.build`."""
        raise CannotCertify(f"{type(self).__name__} has no lattice.")

    @property
    def leak(self) -> float:
        """The probability that everything is revealed, which is taken out before the rest is accounted."""
        return 0.0

    def without_leak(self) -> Loss:
        """What is left where nothing was."""
        return self

    @property
    def objection(self) -> str | None:
        """Why nothing is private at all; None for what is."""
        return None

    def two_losses(self) -> float | None:
        """epsilon, rounded down, where the loss is epsilon or -epsilon and nothing else; None elsewhere."""
        return None

    @property
    def normal_shift(self) -> float | None:
        """mu, where the pair is N(mu, 1) against N(0, 1); None elsewhere."""
        return None

    @property
    def laplace_ratio(self) -> float | None:
        """r, where the pair is Laplace(r, 1) against Laplace(0, 1); None elsewhere."""
        return None

    def linear_renyi(self) -> tuple[float, float] | None:
        """(rho, offset) where offset + rho * order is all that is used of its divergences."""
        return None

    def concentration(self) -> float:
        """The rho of its zero-concentrated DP: eps^2/2 for losses of up to eps [Bun2016, Proposition 3.3]."""
        return self.largest()[1] ** 2 / 2

    def one_run(self, times: int) -> Parts:
        """What so many uses contain with one run for each selection, where there always is one."""
        return ((self, times),)

    @property
    def selection(self) -> SelectingLoss | None:
        """The pair itself, where it is the best of a random number of runs; None elsewhere."""
        return None

    def choices(self) -> tuple[Parts, ...]:
        """The compositions it is the worst of; none where it is one pair."""
        return ()

    def flat(self) -> Parts:
        """The composition whose combinations of outcomes it lists; itself where it lists its own."""
        return ((self, 1),)

    def no_worse(self, other: Loss) -> bool:
        """Whether `other`, of the same kind, dominates it; false where that is not known."""
        return self == other

    def parameters(self) -> tuple[float, ...]:
        """Numbers above 0 that order pairs of this kind: with smaller ones it is what a channel leaves of it.

        Empty where no such numbers are known; see `rounded`.
        """
        return ()

    def with_parameters(self, values: Sequence[float]) -> Loss:  # noqa: ARG002
        """The pair of this kind with other parameters."""
        return self

    def stated(self) -> dict[str, Plain] | None:
        """The pair in the words of `dpcheck.verify`; None where they have none for it."""
        return None

    def ball_curve(self, side: Side) -> Curve | None:  # noqa: ARG002
        """Its curve in ball arithmetic, from its definition; None where it is a mixture."""
        return None

    def outcomes(self) -> Outcomes | None:
        """Its outcomes in ball arithmetic; None where they are not listed."""
        return None

    def drawn(self, size: int, rng: np.random.Generator) -> Array | None:  # noqa: ARG002
        """Random losses under P; None where nobody needs them."""
        return None

    @property
    def revealed(self) -> float:
        """A lower bound on the P-mass of outcomes that Q never has."""
        return 0.0

    def shrunk(self, share: float) -> Loss:  # noqa: ARG002
        """A pair it contains with room for relative errors of its numbers; itself where none is needed."""
        return self


# A composition: independent losses, each so many times.
Parts: TypeAlias = tuple[tuple[Loss, int], ...]


def reverse_parts(parts: Parts) -> Parts:
    """A composition with P and Q swapped in every part."""
    return tuple((loss.reversed(), times) for loss, times in parts)


def one_run(parts: Iterable[tuple[Loss, int]]) -> Parts:
    """What a composition contains with one run for each selection, where there always is one.

    Where all runs score alike the first is released, an ordinary run.
    """
    return tuple(part for loss, times in parts for part in loss.one_run(times))


def numbers_at_most(a: Loss, b: Loss) -> bool:
    """Whether no number of `a` is larger than that of `b`; where they are not numbers, they are equal."""
    names = [field.name for field in fields(a)]
    return all(_at_most(getattr(a, name), getattr(b, name)) for name in names)


def _at_most(x: object, y: object) -> bool:
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(_at_most(a, b) for a, b in zip(x, y, strict=True))
    if isinstance(x, bool) or isinstance(y, bool):
        return x == y
    return isinstance(x, float) and isinstance(y, float) and x <= y


def rounded_sum(terms: Iterable[float]) -> float:
    """A sum of probabilities, rounded up, at most 1."""
    # TINY: a product may have underflowed, and at delta = 0 that would say that nothing is spent.
    return min(math.fsum(terms) * _ROUND_UP + TINY, 1.0)


def composed_variation(parts: Parts) -> float:
    """A bound on the distance of a composition: distances of independent outputs add at most up."""
    if len(parts) == 1 and parts[0][1] == 1:  # nothing is added, and nothing rounded
        return parts[0][0].variation()
    return rounded_sum(times * loss.variation() for loss, times in parts)


@lru_cache(maxsize=512)
def composed_largest_loss(parts: Parts) -> tuple[float, float]:
    """Suprema of independent losses add, so basic composition is exact at delta = 0: rounded once."""
    ends = [(*loss.largest(), times) for loss, times in parts]
    for lower, upper, _ in ends:
        if math.isinf(upper):
            return ENDLESS if math.isinf(lower) else (lower, math.inf)
    if len(ends) == 1:
        ((lower, upper, times),) = ends
        return enclose_product(lower, times)[0], enclose_product(upper, times)[1]
    low = sum((Fraction(lower) * times for lower, _, times in ends), Fraction(0))
    high = sum((Fraction(upper) * times for _, upper, times in ends), Fraction(0))
    return enclose(low)[0], enclose(high)[1]
