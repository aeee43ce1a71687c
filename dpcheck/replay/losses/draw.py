"""Losses drawn from the laws that replay found."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from dpcheck.accounting.losses import FiniteLoss, GaussianLoss, LaplaceLoss
from dpcheck.replay.losses.parts import Part

Array = NDArray[np.float64]


def drawn_losses(
    parts: Sequence[Part], backwards: bool, size: int, rng: np.random.Generator
) -> Array:
    """`size` losses of the release on D (on D' where `backwards`); none where a part has no such law."""
    total = np.zeros(size)
    for part in parts:
        loss = part.loss
        if isinstance(loss, GaussianLoss):
            total += loss.mu**2 / 2 + loss.mu * rng.standard_normal(size)
        elif isinstance(loss, LaplaceLoss):
            noise = rng.laplace(size=size)
            total += np.abs(noise + loss.ratio) - np.abs(noise)
        elif isinstance(loss, FiniteLoss):
            p, q = (loss.q, loss.p) if backwards else (loss.p, loss.q)
            ratios = np.array(
                [
                    math.inf if b == 0 else math.log(a / b) if a > 0 else 0.0
                    for a, b in zip(p, q, strict=True)
                ]
            )
            total += ratios[rng.choice(len(p), size, p=np.array(p) / math.fsum(p))]
        else:
            return np.zeros(0)
    return total


def exact_deltas(parts: Sequence[Part], epsilons: Sequence[float]) -> list[float] | None:
    """delta at every epsilon >= 0, the same in both directions; None where it has no closed form here.

    Normal parts add up to one with mu^2 the sum of theirs [Dong2022, Corollary 3.3]; delta is Phi(mu/2 -
    eps/mu) - e^eps Phi(-mu/2 - eps/mu). One Laplace part of ratio r has 1 - e^((eps - r)/2) up to r.
    """
    losses = [part.loss for part in parts]
    if all(isinstance(loss, GaussianLoss) for loss in losses):
        mu = math.hypot(*(loss.mu for loss in losses if isinstance(loss, GaussianLoss)))
        return [_normal_delta(mu, epsilon) for epsilon in epsilons]
    if len(losses) == 1 and isinstance(losses[0], LaplaceLoss):
        ratio = losses[0].ratio
        return [max(0.0, -math.expm1((epsilon - ratio) / 2)) for epsilon in epsilons]
    return None


def _normal_delta(mu: float, epsilon: float) -> float:
    if mu == 0:
        return 0.0
    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return max(0.0, -math.exp(first) * math.expm1(min(0.0, second - first)))
