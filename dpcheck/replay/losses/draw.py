"""Losses drawn from the laws that replay found."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpcheck.replay.losses.parts import Part

Array = NDArray[np.float64]


def drawn_losses(
    parts: Sequence[Part], backwards: bool, size: int, rng: np.random.Generator
) -> Array:
    """`size` losses of the release on D (on D' where `backwards`); none where a part has no such law."""
    total = np.zeros(size)
    for part in parts:
        loss = part.loss.reversed() if part.loss and backwards else part.loss
        found = None if loss is None else loss.drawn(size, rng)
        if found is None:
            return np.zeros(0)
        total += found
    return total


def exact_deltas(parts: Sequence[Part], epsilons: Sequence[float]) -> list[float] | None:
    """delta at every epsilon >= 0, the same in both directions; None where it has no closed form here.

    Normal parts add up to one with mu^2 the sum of theirs [Dong2022, Corollary 3.3]; delta is Phi(mu/2 -
    eps/mu) - e^eps Phi(-mu/2 - eps/mu). One Laplace part of ratio r has 1 - e^((eps - r)/2) up to r.
    """
    losses = [part.loss for part in parts]
    shifts = [loss.normal_shift for loss in losses if loss]
    known = [shift for shift in shifts if shift is not None]
    if len(known) == len(losses):
        mu = math.hypot(*known)
        return [_normal_delta(mu, epsilon) for epsilon in epsilons]
    alone = losses[0] if len(losses) == 1 else None
    if alone and (ratio := alone.laplace_ratio) is not None:
        return [max(0.0, -math.expm1((epsilon - ratio) / 2)) for epsilon in epsilons]
    return None


def _normal_delta(mu: float, epsilon: float) -> float:
    if mu == 0:
        return 0.0
    from scipy.special import log_ndtr

    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return max(0.0, -math.exp(first) * math.expm1(min(0.0, second - first)))
