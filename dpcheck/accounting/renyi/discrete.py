"""Renyi divergences and moments of integer noise and of tables, with bounds on their rounding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.accounting.renyi.moments import Floats, log_sum_exp
from dpcheck.numerics.side import Side

if TYPE_CHECKING:
    from dpcheck.accounting.pairs.known.finite import FiniteLoss
    from dpcheck.accounting.pairs.noise.discrete_gaussian import DiscreteGaussianLoss
    from dpcheck.accounting.pairs.noise.discrete_laplace import DiscreteLaplaceLoss

# From this scale on the masses of shifted noise add up to the same number within e^-78.
_SMOOTH_SCALE = 2.0


def discrete_gaussian_divergence(loss: DiscreteGaussianLoss, orders: Floats, side: Side) -> Floats:
    """a s^2/(2 scale^2) + log(theta(a s)/theta(0))/(a-1), theta(c) = sum_x e^{-(x-c)^2/(2 scale^2)}.

    Completing the square; theta(c) <= theta(0), equal for whole c, is [Canonne2020] Proposition 5. By
    Poisson summation theta(c)/theta(0) >= 1 - 5 e^{-2 pi^2 scale^2}, which is 1 for large scales.

    >>> from dpcheck.accounting.losses import DiscreteGaussianLoss
    >>> wide = DiscreteGaussianLoss(0.4, 1)
    >>> round(float(discrete_gaussian_divergence(wide, np.array([1.5]), Side.UPPER)[0]), 6)
    4.346687
    """
    gaussian = orders * (loss.shift / loss.scale) ** 2 / 2
    sign = 1.0 if side is Side.UPPER else -1.0
    if loss.scale >= _SMOOTH_SCALE or loss.shift == 0:
        return np.asarray(gaussian * (1 + sign * 1e-14))
    fraction = np.remainder(orders * loss.shift, 1.0)
    reach = math.ceil(10 * loss.scale) + 2
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    inverse = 1 / (2 * loss.scale**2)
    moved = log_sum_exp(-((x - fraction[:, None]) ** 2) * inverse)
    ratio = np.minimum(moved - log_sum_exp(-(x**2) * inverse), 0.0)
    # Exponents up to the size of the ratio err by a few units of it, the fraction by one of a s.
    rounding = 1e-14 * (1 + np.abs(ratio) + (1 + orders * loss.shift) * inverse)
    total = gaussian * (1 + sign * 1e-14)
    if side is Side.UPPER:
        return np.minimum(total, total + (ratio + rounding) / (orders - 1))
    return np.maximum(total + (ratio - rounding) / (orders - 1), 0.0)


def discrete_laplace_moment(loss: DiscreteLaplaceLoss, orders: Floats) -> tuple[Floats, Floats]:
    """(log E_Q (P/Q)^a, bound on its error); the pair is its own mirror image."""
    # The loss is (2x - s)/scale between the two supports' centres, constant outside; between them the
    # terms d^x e^{a (2x - s)/scale} are a geometric series with ratio e^k.
    a, s, scale = orders, loss.shift, loss.scale
    k = (2 * a - 1) / scale
    share = np.log1p(math.exp(-1 / scale))
    ends = [(a - 1) * s / scale - share, -a * s / scale - share]
    if s > 1:
        inner = s * k + np.log(-np.expm1((1 - s) * k)) - k - np.log(-np.expm1(-k))
        centre = math.log(-math.expm1(-1 / scale)) - math.log1p(math.exp(-1 / scale))
        ends.append(inner - a * s / scale + centre)
    moment = log_sum_exp(np.stack(ends, axis=-1))
    # Exponents err by 10 units of themselves, logarithms, of 1/scale or more, by 8.
    return moment, 1e-14 * (16 + abs(math.log(scale)) + orders * s / scale)


def finite_moment(loss: FiniteLoss, orders: Floats) -> tuple[Floats, Floats]:
    """(log E_Q (P/Q)^a, bound on its error) of two tables with the same support."""
    p, q = np.asarray(loss.p), np.asarray(loss.q)
    p, q = p[p > 0], q[p > 0]
    # Right within 20 units of itself, however small the masses: p - q is exact where they are close.
    with np.errstate(over="ignore", under="ignore"):
        quotient = p / q
    close = (quotient > 0.5) & (quotient < 2.0)
    far = ~close & (quotient > 1e-300) & np.isfinite(quotient)
    ratio = np.log(p) - np.log(q)
    ratio[close] = np.log1p((p[close] - q[close]) / q[close])
    ratio[far] = np.log(quotient[far])
    moment = log_sum_exp(orders[:, None] * ratio + np.log(q))
    return moment, 1e-13 * (1 + np.abs(ratio).max() * orders)
