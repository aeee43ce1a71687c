"""Closed forms: compositions of Gaussian noise, and the theorem on sampled Gaussian steps."""

from __future__ import annotations

import math

from dpcheck.accounting.pairs.pair import Parts
from dpcheck.core.errors import TheoremConditionViolated
from dpcheck.numerics.rounding import FAINTEST


def concentration(parts: Parts) -> tuple[float, float] | None:
    """(rho, offset) of a composition of divergence offset + rho * order, rounded up; None for any other.

    >>> from dpcheck.accounting.losses import ConcentratedLoss, GaussianLoss
    >>> rho, offset = concentration(((GaussianLoss(1.0), 4), (ConcentratedLoss(0.5), 2)))
    >>> round(rho, 9), offset
    (3.0, 0.0)
    """
    rho = offset = 0.0
    for loss, times in parts:
        if (linear := loss.linear_renyi()) is None:
            return None
        rho, offset = rho + times * linear[0], offset + times * linear[1]
    rho, offset = (total * (1 + 1e-14 * (2 + len(parts))) for total in (rho, offset))
    if rho < FAINTEST and any(loss.largest()[1] > 0 for loss, _ in parts):
        rho = FAINTEST
    return (rho, offset) if rho and math.isfinite(rho + offset) else None


def sampled_gaussian_theorem(noise_multiplier: float, sampling_rate: float, order: float) -> float:
    """The closed-form bound 2 q^2 a / sigma^2 on one Poisson-sampled Gaussian step, sensitivity 1.

    Guarantee: never below the divergence; refuses parameters outside its conditions.
    Reference: [Mironov2019] Theorem 11.

    >>> round(sampled_gaussian_theorem(6.0, 32 / 539, 8.0), 8)
    0.00156653
    """
    q, sigma = sampling_rate, noise_multiplier
    spread = math.log1p(1 / (q * (order - 1))) if order > 1 else math.nan
    conditions = {
        "q <= 1/5": q <= 0.2,
        "sigma >= 4": sigma >= 4,
        "order > 1": order > 1,
        "order <= sigma^2 L/2 - 2 ln(sigma)": order <= sigma**2 * spread / 2 - 2 * math.log(sigma),
        "order <= (sigma^2 L^2/2 - ln 5 - 2 ln(sigma)) / (L + ln(q order) + 1/(2 sigma^2))": order
        * (spread + math.log(q * order) + 1 / (2 * sigma**2))
        <= sigma**2 * spread**2 / 2 - math.log(5) - 2 * math.log(sigma),
    }
    for condition, holds in conditions.items():
        if not holds:
            raise TheoremConditionViolated(
                f"the sampled-Gaussian theorem needs {condition}; here q={q:g}, sigma={sigma:g}, "
                f"order={order:g}. Use the exact RDP bound instead, which has no such condition.",
                condition=condition,
            )
    return 2 * q**2 * order / sigma**2
