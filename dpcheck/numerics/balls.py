"""From ball arithmetic to floats, on a chosen side.

python-flint's `arb` carries a rigorous error radius; these two turn a ball into a float that is
certainly above, or certainly below, the number the ball encloses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from flint import arb, ctx


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work at `bits` bits inside the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


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
