"""Compositions whose bounds were once doubted, against convolutions written out here."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpcheck


def _noise_sums(scale: float, times: int, *, gaussian: bool) -> tuple[np.ndarray, np.ndarray]:
    """(losses, masses) of the sum of `times` integer noises moved by 1, from their definitions."""
    reach = 40
    x = np.arange(-reach, reach + 2)
    weight = np.exp(-(x**2) / (2 * scale**2)) if gaussian else np.exp(-np.abs(x) / scale)
    moved = np.exp(-((x - 1) ** 2) / (2 * scale**2)) if gaussian else np.exp(-np.abs(x - 1) / scale)
    table = moved / weight.sum()
    if gaussian:
        total = np.ones(1)
        for _ in range(times):
            total = np.convolve(total, table)
        sums = np.arange(len(total)) - times * reach
        return (2 * sums - times) / (2 * scale**2), total
    # Only two losses: 1/scale at x >= 1, -1/scale below.
    above = float(table[x >= 1].sum())
    hits = np.arange(times + 1)
    masses = np.array([math.comb(times, k) * above**k * (1 - above) ** (times - k) for k in hits])
    return (2 * hits - times) / scale, masses


@pytest.mark.parametrize("delta", [0.98, 0.5, 1e-5])
def test_integer_noises_composed_at_large_and_small_delta(delta: float) -> None:
    """28 discrete Gaussians of scale 0.843 and 4 discrete Laplace answers: the interval holds the truth."""
    event = dpcheck.DiscreteGaussian(0.843) * 28 + dpcheck.DiscreteLaplace(2.0) * 4
    bound = dpcheck.epsilon(event, delta=delta, adjacency="add-remove")
    first, p = _noise_sums(0.843, 28, gaussian=True)
    second, q = _noise_sums(2.0, 4, gaussian=False)
    losses, masses = np.add.outer(first, second).ravel(), np.multiply.outer(p, q).ravel()

    def divergence(epsilon: float) -> float:
        return float(masses @ np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0))

    assert divergence(bound.upper) <= delta * (1 + 1e-9)
    assert bound.lower == 0 or divergence(bound.lower) >= delta * (1 - 1e-9)
    assert bound.upper - bound.lower <= 1e-2 * bound.upper
