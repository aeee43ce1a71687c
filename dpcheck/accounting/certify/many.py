"""Very many pure guarantees are a Gaussian, from above and from below.

Let f be the trade-off function of BLOCK randomized responses of one epsilon: it is straight between the
corners (Q(B >= i), P(B < i)), B the number of answers that point to P, binomial on either side.

*Above.* G_mu, the trade-off function of N(mu, 1) against N(0, 1), is convex. So it lies below f everywhere
if it does at the corners (and at (0, 1) and (1, 0), where both are the same): the Gaussian pair then
dominates the block. At a corner (a, b) that is mu >= Phi^-1(1 - a) - Phi^-1(b). The largest of these is
about epsilon sqrt(BLOCK) (1 + 1/(4 BLOCK)). Dominating pairs compose, and k Gaussians are one of mu
sqrt(k).

*Below.* Let the Gaussian pair be seen through a glass that shows x > c and x < -c as one outcome each. Its
losses stay within some L, so beyond y = e^L the divergence H of what is seen is that of equal laws, max(0,
1 - y). H is convex and at most that of the Gaussian, while the divergence of the block is straight between
its kinks at y = e^l, l = (2 i - BLOCK) epsilon. So if the Gaussian's is at most the block's at the kinks
within L, the glass shows no more than the block does. Of k blocks it shows all of the Gaussian of mu
sqrt(k) unless some x was beyond c, which under P has probability at most k t, t that of one block: delta >=
delta_Gauss(epsilon) - k t.

Reference: [Dong2022] Theorem 3.2 (domination composes) and Proposition 2.12 (trade-off and divergence).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flint import arb

from dpcheck.accounting.losses import GaussianLoss, Loss, Parts
from dpcheck.numerics.balls import above, precision
from dpcheck.numerics.enclose import enclose_root

# So many are put together; fewer have a lattice.
MANY = 2**33
# Responses of more than this are not: what is composed of so many tells everything.
LARGEST = 1e-4
# Sizes of a block above and below, and how many deviations the glass shows; only tightness rests on them.
BLOCK_ABOVE, BLOCK_BELOW, GLASS = 256, 8192, 12
# Shares by which the Gaussian below is smaller; the first that is proved is taken.
SMALLER = (0.002, 0.005, 0.02, 0.1)
_BITS = 256


class Within(NamedTuple):
    """A Gaussian that a block shows, but for a probability t."""

    mu: float
    hidden: float


def is_many(loss: Loss, times: int) -> bool:
    """Whether these are pure guarantees that may be put together."""
    return times >= MANY and 0 < _response(loss) <= LARGEST


def _response(loss: Loss) -> float:
    """epsilon, where the losses are exactly it and -epsilon; 0 elsewhere."""
    epsilon = loss.two_losses()
    return epsilon if epsilon is not None and loss.largest() == (epsilon, epsilon) else 0.0


def dominated(parts: Parts) -> Parts:
    """The parts, very many pure guarantees as a Gaussian that dominates them."""
    return tuple(_above(*part) if is_many(*part) else part for part in parts)


def shown(parts: Parts) -> tuple[Parts, float]:
    """The Gaussians among the parts and in them, and a probability that hides some of what they show."""
    found: list[tuple[Loss, int]] = []
    hidden = 0.0
    for loss, times in parts:
        if loss.normal_shift is not None:
            found.append((loss, times))
        elif is_many(loss, times):
            block, count = _block_below(_response(loss)), times // BLOCK_BELOW
            if block.mu > 0:
                found.append((GaussianLoss(_scaled(block.mu, count)[0]), 1))
                hidden += count * block.hidden * (1 + 1e-12)
    return tuple(found), hidden


def _above(loss: Loss, times: int) -> tuple[Loss, int]:
    mu = _scaled(_block_above(_response(loss)), -(-times // BLOCK_ABOVE))[1]
    return GaussianLoss(mu), 1


def _scaled(mu: float, count: int) -> tuple[float, float]:
    """Floats around mu sqrt(count)."""
    return enclose_root(Fraction(mu) ** 2 * count)


def _tails(epsilon: float, block: int) -> tuple[list[arb], list[arb]]:
    """P(B < i) and P(B >= i) for i = 0 .. block; Q has them mirrored."""
    likely = 1 / (1 + (-arb(epsilon)).exp())
    mass, masses = (1 - likely) ** block, []
    for i in range(block + 1):
        masses.append(mass)
        mass = mass * arb(epsilon).exp() * (block - i) / (i + 1)
    under, over = [arb(0)], [arb(0)]
    for i in range(block + 1):
        under.append(under[-1] + masses[i])
        over.append(over[-1] + masses[block - i])
    return under, over[::-1]


@lru_cache(maxsize=64)
def _block_above(epsilon: float) -> float:
    """The least mu whose Gaussian dominates a block."""
    with precision(_BITS + BLOCK_ABOVE):
        under, over = _tails(epsilon, BLOCK_ABOVE)
        corners = [
            # a = Q(B >= i) = P(B <= block - i), b = P(B < i): each quantile from its smaller tail.
            _quantile(over[BLOCK_ABOVE - i + 1], under[BLOCK_ABOVE - i + 1])
            - _quantile(under[i], over[i])
            for i in range(1, BLOCK_ABOVE + 1)
        ]
        return max(above(mu) for mu in corners)


def _quantile(below_: arb, above_: arb) -> arb:
    """x with Phi(x) = below_, whose complement is above_."""
    if below_ < above_:
        return -(2 * below_).erfcinv() * arb(2).sqrt()
    return (2 * above_).erfcinv() * arb(2).sqrt()


@lru_cache(maxsize=64)
def _block_below(epsilon: float) -> Within:
    """A Gaussian that a block shows; mu 0 where none is proved."""
    with precision(_BITS):
        under, over = _tails(epsilon, BLOCK_BELOW)
        for share in SMALLER:
            mu = epsilon * math.sqrt(BLOCK_BELOW) * (1 - share)
            hidden = _normal(arb(mu) - GLASS) + _normal(-arb(mu) - GLASS)
            # The larger of the two: log Phi is concave. Both curves are symmetric, so l >= 0 is enough.
            most = (_normal(-arb(GLASS)) / _normal(-arb(mu) - GLASS)).log()
            first = BLOCK_BELOW // 2
            for i in range(first, BLOCK_BELOW + 1):
                loss = (2 * i - BLOCK_BELOW) * arb(epsilon)
                if loss > most:
                    return Within(mu, above(hidden))
                # What lies above the kink: P(B > i) - e^l Q(B > i), and Q(B > i) = P(B < block - i).
                block = over[i + 1] - loss.exp() * under[BLOCK_BELOW - i]
                if not _gaussian(mu, loss) <= block:
                    break
    return Within(0.0, 0.0)


def _gaussian(mu: float, loss: arb) -> arb:
    near, far = arb(mu) / 2 - loss / arb(mu), -arb(mu) / 2 - loss / arb(mu)
    return _normal(near) - loss.exp() * _normal(far)


def _normal(x: arb) -> arb:
    return (-x * arb(0.5).sqrt()).erfc() / 2
