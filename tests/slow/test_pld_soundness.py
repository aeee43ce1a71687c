"""2,000 random cases with a closed form, in 50 digits: no upper bound below, no lower bound above.

Each random mechanism is asked at five epsilons at once (one vectorised call), down to delta 1e-30,
and at the delta of one of them for its epsilon.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

from dpcheck.accounting.losses import GaussianLoss, LaplaceLoss, Loss, ResponseLoss
from dpcheck.accounting.pld.distribution import pld_delta, pld_epsilon
from dpcheck.numerics.side import Side

Case = tuple[list[tuple[Loss, int]], Callable[[float], mp.mpf], np.ndarray]

MECHANISMS = 400
CHUNKS = 20


def _gaussian(rng: np.random.Generator) -> Case:
    count = int(10 ** rng.uniform(0, 7))
    total = 10 ** rng.uniform(-2.5, 0.8)
    mu = float(total / np.sqrt(count))
    exact_mu = mp.sqrt(count) * mp.mpf(mu)

    def delta(epsilon: float) -> mp.mpf:
        e = mp.mpf(epsilon)
        return mp.ncdf(exact_mu / 2 - e / exact_mu) - mp.exp(e) * mp.ncdf(
            -exact_mu / 2 - e / exact_mu
        )

    return [(GaussianLoss(mu), count)], delta, rng.uniform(0, total**2 / 2 + 11 * total, 5)


def _laplace(rng: np.random.Generator) -> Case:
    ratio = float(10 ** rng.uniform(-3, 1))

    def delta(epsilon: float) -> mp.mpf:
        return max(mp.mpf(0), 1 - mp.exp((mp.mpf(epsilon) - mp.mpf(ratio)) / 2))

    return [(LaplaceLoss(ratio), 1)], delta, ratio * (1 - 10 ** rng.uniform(-8, 0, 5))


def _response(rng: np.random.Generator) -> Case:
    count, epsilon_0 = int(rng.integers(1, 60)), float(10 ** rng.uniform(-2, 0.7))
    up = 1 / (1 + mp.exp(-mp.mpf(epsilon_0)))

    def delta(epsilon: float) -> mp.mpf:
        e, total = mp.mpf(epsilon), mp.mpf(0)
        for k in range(count, -1, -1):
            level = (2 * k - count) * mp.mpf(epsilon_0)
            if level <= e:
                break
            mass = mp.binomial(count, k) * up**k * (1 - up) ** (count - k)
            total += mass * (1 - mp.exp(e - level))
        return total

    return [(ResponseLoss(epsilon_0), count)], delta, rng.uniform(0, count * epsilon_0, 5)


def _cases(chunk: int) -> list[Case]:
    rng = np.random.default_rng([20261116, chunk])
    makers = (_gaussian, _laplace, _response)
    return [makers[int(rng.integers(3))](rng) for _ in range(MECHANISMS // CHUNKS)]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_closed_forms_are_enclosed(chunk: int) -> None:
    with mp.workdps(50):
        for parts, delta, epsilons in _cases(chunk):
            upper = pld_delta(parts, epsilons, Side.UPPER)
            lower = pld_delta(parts, epsilons, Side.LOWER)
            truths = [delta(float(e)) for e in epsilons]
            for epsilon, high, low, truth in zip(epsilons, upper, lower, truths, strict=True):
                assert mp.mpf(float(low)) <= truth <= mp.mpf(float(high)), (parts, epsilon)
            wanted = float(truths[0])
            if 1e-30 <= wanted < 0.5:
                above = pld_epsilon(parts, wanted, Side.UPPER)
                below = pld_epsilon(parts, wanted, Side.LOWER)
                assert delta(above) <= mp.mpf(wanted), (parts, wanted)
                assert below == 0 or delta(below) >= mp.mpf(wanted), (parts, wanted)
                assert above - below <= 2e-3 * above + 1e-6, (parts, wanted)


def test_the_check_can_fail() -> None:
    """A claim of 1% less noise than is there is caught by the same comparison."""
    epsilon = 3.0
    claimed = pld_delta([(GaussianLoss(0.99), 1)], [epsilon], Side.UPPER)[0]
    with mp.workdps(50):
        truth = mp.ncdf(mp.mpf(0.5) - epsilon) - mp.exp(epsilon) * mp.ncdf(-mp.mpf(0.5) - epsilon)
    assert mp.mpf(float(claimed)) < truth
