"""Renyi divergences of pairs that are known exactly, from below.

`renyi_lower(loss, orders)` bounds D_a(P||Q) of the pair as it stands (`losses.reverse` gives the other
direction); 0 where the loss is only an upper bound on what a mechanism does.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from dpcheck.accounting import losses
from dpcheck.accounting.losses import Loss, Parts
from dpcheck.accounting.renyi.discrete import (
    discrete_gaussian_divergence,
    discrete_laplace_moment,
    finite_moment,
)
from dpcheck.accounting.renyi.divergence import LEAST_DIVERGENCE, renyi
from dpcheck.accounting.renyi.moments import (
    Floats,
    laplace_log_moment,
    mixture_log_moments,
)
from dpcheck.numerics.side import Side

# Closed forms, and the quotients of moments that come with their own error, err by less than this.
_ROUND_DOWN = 1 - 1e-11


@singledispatch
def renyi_lower(loss: Loss, orders: Floats) -> Floats:  # noqa: ARG001
    """Lower bounds on D_a(P||Q) per order; 0 where no exact pair is known.

    Guarantee: never above the divergence.
    """
    return np.zeros_like(orders)


@renyi_lower.register(losses.GaussianLoss)
@renyi_lower.register(losses.LaplaceLoss)
def _closed_form(loss: Loss, orders: Floats) -> Floats:
    return renyi(loss, orders) * _ROUND_DOWN


@renyi_lower.register
def _(loss: losses.ResponseLoss, orders: Floats) -> Floats:
    if loss.delta > 0:
        return np.full_like(orders, math.inf)
    return renyi(loss, orders) * _ROUND_DOWN


@renyi_lower.register
def _(loss: losses.DiscreteGaussianLoss, orders: Floats) -> Floats:
    return discrete_gaussian_divergence(loss, orders, Side.LOWER)


@renyi_lower.register
def _(loss: losses.DiscreteLaplaceLoss, orders: Floats) -> Floats:
    moment, rounding = discrete_laplace_moment(loss, orders)
    return np.maximum((moment - rounding) / (orders - 1), 0.0)


@renyi_lower.register
def _(loss: losses.FiniteLoss, orders: Floats) -> Floats:
    if loss.one_sided:
        # Mass of P where Q has none; in the other direction nothing is claimed.
        unmatched = any(a > 0 and b == 0 for a, b in zip(loss.p, loss.q, strict=True))
        return np.full_like(orders, math.inf if unmatched else 0.0)
    moment, rounding = finite_moment(loss, orders)
    return np.maximum((moment - rounding) / (orders - 1), 0.0)


@renyi_lower.register
def _(loss: losses.GaussianMixtureLoss, orders: Floats) -> Floats:
    exponents = 1 - orders if loss.backwards else orders
    moments, errors = mixture_log_moments(loss.shifts, loss.weights, tuple(exponents.tolist()))
    known = np.isfinite(moments) & np.isfinite(errors)
    least = np.where(known, moments, 0.0) - np.where(known, errors, 0.0)
    return np.maximum(least / (orders - 1) * _ROUND_DOWN, 0.0)


@renyi_lower.register
def _(loss: losses.SampledLaplaceLoss, orders: Floats) -> Floats:
    result = np.zeros_like(orders)
    for i, a in enumerate(orders):
        if a * loss.ratio < 1000:
            exponent = 1 - a if loss.backwards else a
            moment, error = laplace_log_moment(loss.ratio, loss.rate, exponent)
            result[i] = max((moment - error) / (a - 1) * _ROUND_DOWN, 0.0)
    return result


@renyi_lower.register
def _(loss: losses.UnboundedLoss, orders: Floats) -> Floats:  # noqa: ARG001
    return np.full_like(orders, math.inf)


def composed_renyi_lower(parts: Parts, orders: Floats) -> Floats:
    """Lower bounds on the divergence of a composition in its worse direction.

    Guarantee: never above it: divergences of independent pairs add in each direction.
    """
    backwards = losses.reverse_parts(parts)
    totals = []
    for way in (parts, backwards):
        total = np.zeros_like(orders)
        for loss, times in way:
            found = renyi_lower(loss, orders)
            # Below, digits may be lost to underflow.
            total += times * np.where(found < LEAST_DIVERGENCE, 0.0, found)
        totals.append(total * (1 - 1e-14 * len(parts)))
    return np.maximum(*totals)
