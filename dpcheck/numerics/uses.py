"""What so many uses of several losses add up to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import mul

import numpy as np

from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import TINY, UNIT


def total(counts: Iterable[int], each: Iterable[float]) -> float:
    """The products, each rounded, added up exactly."""
    return math.fsum(map(mul, counts, each))


class InfiniteMass:
    """P-mass of at least one infinite loss, prod (m + i)^n - prod m^n with finite mass m and infinite mass i.

    Evaluated as prod (m + i)^n (1 - e^-R), R = sum n log(1 + i/m): either power alone may underflow where the
    difference is 1.
    """

    def __init__(self, losses: Sequence[LatticeLoss]) -> None:
        finite = [float(np.sum(loss.masses)) for loss in losses]
        infinite = [loss.infinite for loss in losses]
        totals = [m + i for m, i in zip(finite, infinite, strict=True)]
        # No infinite loss, or a measure that keeps nothing at all.
        self.none = not any(infinite) or min(totals) <= 0.0
        self.logs = [] if self.none else [math.log(mass) for mass in totals]
        self.sizes = [abs(log) for log in self.logs]
        pairs = zip(finite, infinite, strict=True)
        self.ratios = [math.log1p(i / m) if m > 0 else math.inf for m, i in pairs]

    def bound(self, counts: Sequence[int], *, above: bool) -> float:
        """The mass at so many uses of each loss, rounded up or down."""
        if self.none:
            return 0.0
        log = total(counts, self.logs)
        if log > 700.0:  # a lattice too coarse for so many uses proves nothing
            return 1.0 if above else 0.0
        value = math.exp(log) * -math.expm1(-total(counts, self.ratios))
        # A sum of masses errs by 65 units, a logarithm by 10 of itself, the functions of both by 16.
        slip = UNIT * (256 * sum(counts) + 16 * total(counts, self.sizes))
        return value * (1 + slip) + TINY if above else value * max(1 - slip, 0.0)
