"""The reversed divergence by moments: above the enumerated truth, and not far above where it is used."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dpcheck.numerics.lattice import Lattice, LatticeLoss
from dpcheck.numerics.opposite import Parabola, opposite_divergence, opposite_noise


def _reversed_divergence(parts: list[tuple[LatticeLoss, int]], epsilon: float) -> mpmath.mpf:
    """1 - y + y F(1/y) of the composed measure, by enumeration of all sums."""
    law = {(0, mpmath.mpf(0)): mpmath.mpf(1)}
    finite = total = mpmath.mpf(1)
    for loss, count in parts:
        masses = [mpmath.mpf(float(mass)) for mass in loss.masses]
        finite *= mpmath.fsum(masses) ** count
        total *= (mpmath.fsum(masses) + mpmath.mpf(loss.infinite)) ** count
        for _ in range(count):
            sums: dict = {}
            for (k, offset), mass in law.items():
                for i, more in enumerate(masses):
                    key = k + loss.first + i, offset + mpmath.mpf(loss.lattice.offset)
                    sums[key] = sums.get(key, 0) + mass * more
            law = sums
    step, y = mpmath.mpf(parts[0][0].lattice.step), mpmath.e ** mpmath.mpf(epsilon)
    levels = ((offset + k * step, mass) for (k, offset), mass in law.items())
    curve = mpmath.fsum(mass * max(0, 1 - mpmath.e**-level / y) for level, mass in levels)
    return 1 - y + y * (curve + total - finite)


def _random_loss(rng: np.random.Generator, step: float) -> LatticeLoss:
    masses = rng.random(int(rng.integers(2, 6)))
    lattice = Lattice(step, float(rng.uniform(-0.2, 0.2)))
    infinite = float(rng.choice([0.0, 1e-3]))
    return LatticeLoss(lattice, -int(rng.integers(0, 4)), masses / masses.sum(), infinite)


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_is_above_what_enumeration_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    step = float(rng.uniform(0.01, 0.5))
    parts = [(_random_loss(rng, step), int(rng.integers(1, 4))) for _ in range(1 + seed % 2)]
    epsilon = float(rng.uniform(0.0, 2.0))
    parabola = Parabola(float(np.exp(rng.uniform(-1, 4))), float(np.exp(rng.uniform(-4, 4))))
    with mpmath.workdps(50):
        truth = _reversed_divergence(parts, epsilon)
        assert min(truth, 1) <= opposite_divergence(parts, epsilon, parabola)


@pytest.mark.parametrize("slope", [1e-3, 0.3, 5.0, 400.0])
@pytest.mark.parametrize("width", [1e-4, 0.02, 1.0, 50.0])
def test_the_parabola_is_a_majorant_that_touches(slope: float, width: float) -> None:
    shift, log_height = Parabola(slope, width).terms()
    with mpmath.workdps(50):
        touch = mpmath.log1p(1 / (mpmath.mpf(slope) + 2 / mpmath.mpf(width)))

        def excess(x: mpmath.mpf) -> mpmath.mpf:
            """log of (1 - e^-x) e^(-s x) over a (x + b)^2."""
            left = mpmath.log(-mpmath.expm1(-x)) - slope * x
            return left - log_height - 2 * mpmath.log(x + shift)

        for factor in np.geomspace(1e-6, 1e6, 241).tolist():
            assert excess(touch * factor) <= 0
        assert excess(touch) > -1e-9 * (1 + abs(log_height))


def test_it_is_close_for_a_composition_of_many():
    """A thousand coins of a small bias, close to a normal sum: Chernoff's bound is 4.0 times the truth."""
    bias, count = 0.02, 1000
    up = 1 / (1 + math.exp(-bias))
    loss = LatticeLoss(Lattice(2 * bias, -bias), 0, np.array([1 - up, up]))
    with mpmath.workdps(50):
        y = mpmath.e ** mpmath.mpf(2.4)
        truth = mpmath.fsum(
            mpmath.binomial(count, k)
            * mpmath.mpf(up) ** (count - k)
            * mpmath.mpf(1 - up) ** k
            * max(0, mpmath.e ** (mpmath.mpf(bias) * (2 * k - count)) - y)
            for k in range(count + 1)
        )
    bounds = [
        opposite_divergence([(loss, count)], 2.4, Parabola(slope, width))
        for slope in np.linspace(3.0, 9.0, 13).tolist()
        for width in np.geomspace(0.2, 5.0, 15).tolist()
    ]
    assert truth <= min(bounds) <= 3.6 * truth


def test_rounding_of_many_uses_is_never_below_what_is_said():
    loss = LatticeLoss(Lattice(0.5), 0, np.array([1.0, 1e-12]))
    for count in (10, 10**6, 10**9):
        bound = opposite_divergence([(loss, count)], 40.0, Parabola(3.0, 1.0))
        assert opposite_noise([count]) <= bound


def test_losses_that_are_too_steep_prove_nothing():
    loss = LatticeLoss(Lattice(100.0), -3, np.full(7, 1 / 7))
    assert opposite_divergence([(loss, 1)], 1.0, Parabola(5.0, 1.0)) == 1.0
