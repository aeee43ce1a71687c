"""The tilted FFT against exact convolution, and its transform against ball arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb
from scipy.fft import rfft

from dpcheck.numerics.balls import precision
from dpcheck.numerics.lattice import Lattice, LatticeLoss
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side
from dpcheck.numerics.tilted import FFT_UNITS, Window, compose


@pytest.mark.parametrize("size", [128, 1000, 2048, 3645])
def test_transform_errs_a_tenth_of_what_is_assumed(size: int) -> None:
    rng = np.random.default_rng(size)
    x = rng.exponential(size=size) * np.exp(-rng.uniform(0, 20, size))
    x /= x.sum()
    values = rfft(x)
    with precision(120):
        exact = acb.dft([acb(float(v)) for v in x])
        worst = max(
            float(abs(acb(float(v.real), float(v.imag)) - e))
            for v, e in zip(values, exact, strict=False)
        )
    assert worst <= 0.1 * FFT_UNITS * math.log2(size) * UNIT


def _exact(loss: LatticeLoss, count: int, epsilon: Fraction) -> float:
    """delta by repeated exact convolution, e^.. in floats of high relative accuracy."""
    masses = [Fraction(float(m)) for m in loss.masses]
    law = [Fraction(1)]
    for _ in range(count):
        new = [Fraction(0)] * (len(law) + len(masses) - 1)
        for i, a in enumerate(law):
            for j, b in enumerate(masses):
                new[i + j] += a * b
        law = new
    total = 0.0
    for k, mass in enumerate(law):
        level = count * loss.lattice.offset + (count * loss.first + k) * loss.lattice.step
        if level > epsilon:
            total += float(mass) * -math.expm1(float(epsilon) - level)
    return total


@pytest.mark.parametrize("tilt", [0.5, 3.0, 12.0])
@pytest.mark.parametrize("side", list(Side))
def test_profile_encloses_exact_convolution(tilt: float, side: Side) -> None:
    rng = np.random.default_rng(5)
    masses = rng.dirichlet(np.ones(6))
    loss = LatticeLoss(Lattice(0.1, 0.03), -3, masses, infinite=0.0)
    window = Window(tilt, -40, 128, 20.0, 20.0)
    profile = compose([(loss, 12)], window, side)
    for epsilon in (-0.5, 0.0, 0.77, 1.5, 2.4):
        true = _exact(loss, 12, Fraction(epsilon))
        value = float(profile.delta(np.array([epsilon]))[0])
        if side is Side.UPPER:
            assert true * (1 - 1e-13) <= value
        else:
            assert value <= true * (1 + 1e-13)
        if profile.noise_at(np.array([epsilon]))[0] < 1e-3:
            assert value == pytest.approx(true, rel=2e-3)


def test_infinite_losses_compose_exactly() -> None:
    loss = LatticeLoss(Lattice(1.0), 0, np.array([0.9]), infinite=0.1)
    window = Window(1.0, -8, 64, 1.0, 1.0)
    expected = 1 - 0.9**5
    upper = compose([(loss, 5)], window, Side.UPPER).deltas[-1]
    lower = compose([(loss, 5)], window, Side.LOWER).deltas[-1]
    assert lower <= expected <= upper
    assert upper == pytest.approx(expected, rel=1e-12)
    assert lower == pytest.approx(expected, rel=1e-12)


def test_mass_outside_the_window_is_never_lost_from_an_upper_bound() -> None:
    loss = LatticeLoss(Lattice(0.1), -5, np.full(11, 1 / 11))
    narrow = Window(0.5, 0, 32, 3.0, 3.0)
    wide = Window(0.5, -300, 1024, 3.0, 3.0)
    epsilons = np.array([0.5, 1.0, 2.0])
    true = compose([(loss, 40)], wide, Side.LOWER).delta(epsilons)
    assert (compose([(loss, 40)], narrow, Side.UPPER).delta(epsilons) >= true).all()
    assert (compose([(loss, 40)], narrow, Side.LOWER).delta(epsilons) <= true).all()
