"""From ball arithmetic to floats, on a chosen side.

python-flint's `arb` carries a rigorous error radius; these two turn a ball into a float that is
certainly above, or certainly below, the number the ball encloses.
"""

from __future__ import annotations

import math

from flint import arb, ctx


class precision:  # noqa: N801 - reads as a function does
    """Work at `bits` bits inside the block."""

    __slots__ = ("before", "bits")

    def __init__(self, bits: int) -> None:
        self.bits, self.before = bits, ctx.prec

    def __enter__(self) -> None:
        self.before, ctx.prec = ctx.prec, self.bits

    def __exit__(self, *raised: object) -> None:
        ctx.prec = self.before


def above(ball: arb) -> float:
    """A float at or above every number in the ball.

    >>> above(arb(1) / 3) > 1 / 3 - 1e-17
    True
    """
    # float() rounds to nearest, at most one step below; one step up is then enough.
    return math.nextafter(float(ball.upper()), math.inf)


def below(ball: arb) -> float:
    """A float at or below every number in the ball."""
    return math.nextafter(float(ball.lower()), -math.inf)
