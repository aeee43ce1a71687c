"""Factors made of a row's norm r, so that g * min(1, C / |g|) is known to have norm at most C.

A factor s(r) >= 0 is known by `above`, monomials a r^p that are all at least s, and `below`, monomials
that are all at most s. Then |g s(|g|)| <= sup_r min_i a_i r^(p_i + 1), which is a_i where p_i = -1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

Monomials = tuple[tuple[float, float], ...]  # (a, p) for a r^p


@dataclass(frozen=True, slots=True)
class NormTag:
    """What is known of a factor s(r) of the norm, of order `order`, of the rows `source`.

    `bound` is a bound of r s(r) that was found otherwise.
    """

    source: object
    order: float
    above: Monomials
    below: Monomials
    bound: float = math.inf

    def scaled(self, factor: float) -> Self | None:
        """factor * s."""
        if not (factor > 0 and math.isfinite(factor)):
            return None
        return replace(
            self,
            above=tuple((a * factor, p) for a, p in self.above),
            below=tuple((a * factor, p) for a, p in self.below),
            bound=self.bound * factor,
        )

    def raised(self, exponent: float) -> NormTag | None:
        """s to a power."""
        if exponent == 0 or not math.isfinite(exponent):
            return None
        powers = [
            tuple((a**exponent, p * exponent) for a, p in side if a > 0)
            for side in (self.above, self.below)
        ]
        above, below = powers if exponent > 0 else reversed(powers)
        return replace(self, above=above, below=below, bound=math.inf)

    def at_most(self, limit: float) -> Self:
        """min(s, limit)."""
        return replace(self, above=(*self.above, (limit, 0.0)), below=())

    def at_least(self, limit: float) -> Self:
        """max(s, limit)."""
        return replace(self, above=(), below=(*self.below, (limit, 0.0)), bound=math.inf)

    def product_bound(self, low: float = 0.0, high: float = math.inf) -> float:
        """sup of r s(r) over low <= r <= high."""
        return min([self.bound, *(_highest(a, p + 1, low, high) for a, p in self.above)])


def _highest(a: float, p: float, low: float, high: float) -> float:
    """sup of a r^p on an interval of r >= 0."""
    if p == 0:
        return a
    end = high if p > 0 else low
    if end == 0:
        return 0.0 if p > 0 else math.inf
    return math.inf if math.isinf(end) and p > 0 else a * end**p


def norm_of(source: object, order: float) -> NormTag:
    """r itself."""
    return NormTag(source, order, ((1.0, 1.0),), ((1.0, 1.0),))


def constant(tag: NormTag, value: float) -> NormTag:
    """A constant beside another factor."""
    return replace(tag, above=((value, 0.0),), below=((value, 0.0),), bound=math.inf)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A comparison r > limit (or >=) of a norm, as a column of truth values."""

    tag: NormTag
    limit: float
    greater: bool

    def select(self, inside: NormTag, outside: NormTag) -> NormTag:
        """np.where(r > limit, inside, outside) as a factor."""
        if not self.greater:
            inside, outside = outside, inside
        bound = max(
            inside.product_bound(self.limit, math.inf), outside.product_bound(0.0, self.limit)
        )
        return replace(self.tag, above=(), below=(), bound=bound)
