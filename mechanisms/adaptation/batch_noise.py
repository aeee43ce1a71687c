"""What a Poisson-sampled sum tells when every row of the batch brings its own noise.

Equation (14) of [Wang2020], read literally: a batch of b rows gets noise of variance b sigma^2 C^2, so
its spread tells b. Give the attacker b. With the row in question there are n + 1 rows and b is
Binomial(n + 1, q), without it Binomial(n, q); given b, the batch is a uniform subset of that size, which
has the row with probability b / (n + 1). A batch T + row against T + another row, both uniform, are
two normal laws at most 2 R apart, R the bound on one row's contribution. By joint convexity of the
hockey-stick divergence the step is bounded by the pair
    P: b ~ Bin(n + 1, q), x ~ (1 - b/(n+1)) N(0, 1) + b/(n+1) N(2 R / (sqrt(b) sigma C), 1)
    Q: b ~ Bin(n, q),     x ~ N(0, 1),
in both directions and whatever was released before. Known b only helps the attacker.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from flint import arb

from dpcheck.core.events.noise import FinitePair
from dpcheck.numerics.balls import below, precision

REACH, CELL = 10, 8  # cells of 1/8 standard deviation, out to 10
_NEGLIGIBLE = 1e-17  # batch sizes less likely than this under P are simply told


@cache
def batch_noise_pair(others: int, rate: float, noise: float, distance: float) -> FinitePair:
    """A finite pair that dominates one step, `others` rows besides the one in question.

    `noise` is sigma, `distance` the largest distance of two rows' contributions, over C.

    Guarantee: never less informative than the step. Every cell of x is spread to the losses at its
    ends, keeping its masses under P and Q; masses are rounded down and what they lack is told.
    Reference: [Doroshenko2022] section 4 for the spreading.
    """
    if rate == 1:
        # The batch is everybody: its size tells all.
        return FinitePair((1.0, 0.0), (0.0, 1.0), with_record="p")
    p: list[float] = []
    q: list[float] = []
    with precision(128):
        share = arb(rate)
        odds = share / (1 - share)
        with_row = (1 - share) ** (others + 1)  # P(b = 0) of n + 1 rows
        for size in range(others + 1):
            without = with_row * (others + 1 - size) / (others + 1) / (1 - share)
            if float(with_row) > _NEGLIGIBLE:
                for one, other in _cells(size, others, noise, distance):
                    p.append(max(0.0, below(with_row * one)))
                    q.append(max(0.0, below(without * other)))
            with_row = with_row * odds * (others + 1 - size) / (size + 1)
    lack = [max(0.0, 1 - math.fsum(masses)) + 1e-15 for masses in (p, q)]
    return FinitePair((*p, lack[0], 0.0), (*q, 0.0, lack[1]), with_record="p")


def _cells(size: int, others: int, noise: float, distance: float) -> Iterator[tuple[arb, arb]]:
    """Masses of x under P and Q, given the batch size, at the ends of every cell."""
    if size == 0:
        yield arb(1), arb(1)
        return
    drawn = arb(size) / (others + 1)
    shift = arb(distance) / (arb(size).sqrt() * arb(noise))
    root = arb(2).sqrt()
    cuts = [
        arb(k) / CELL for k in range(-REACH * CELL, (REACH + math.ceil(float(shift))) * CELL + 1)
    ]
    # Q/P at the left end of every cell: what the loss is, as a ratio that never overflows.
    ratios = [1 / (1 - drawn)]
    ratios += [1 / (1 - drawn + drawn * (shift * (x - shift / 2)).exp()) for x in cuts]
    above = [(x / root).erfc() / 2 for x in cuts]
    moved = [((x - shift) / root).erfc() / 2 for x in cuts]
    plain = [1 - above[0], *(a - b for a, b in pairwise(above))]
    shifted = [1 - moved[0], *(a - b for a, b in pairwise(moved))]
    at_p, at_q = [arb(0)] * len(ratios), [arb(0)] * len(ratios)
    for k, (mass, other) in enumerate(zip(plain, shifted, strict=True)):
        total = (1 - drawn) * mass + drawn * other
        upper = (total * ratios[k] - mass) / (ratios[k] - ratios[k + 1])
        for index, part in ((k, total - upper), (k + 1, upper)):
            at_p[index] += part
            at_q[index] += part * ratios[index]
    yield from zip(at_p, at_q, strict=True)  # beyond the last cut everything is told
