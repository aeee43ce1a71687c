"""Tilted convolutions against exact ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpcheck.numerics import tilted
from dpcheck.numerics.balls import precision
from dpcheck.numerics.lattice import Lattice, LatticeLoss
from dpcheck.numerics.search import cell
from dpcheck.numerics.series import Window
from dpcheck.numerics.side import Side
from dpcheck.numerics.tilted import Convolution, compose
from dpcheck.numerics.uses import InfiniteMass


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


def _composed(loss: LatticeLoss, count: int, window: Window, side: Side) -> Convolution:
    found = compose([(loss, count)], window, side)
    assert found is not None
    return found


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("tilt", [0.5, 3.0, 12.0])
@pytest.mark.parametrize("side", list(Side))
def test_answers_enclose_the_exact_convolution(
    tilt: float, side: Side, dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dense:
        monkeypatch.setattr(tilted, "FEW_FREQUENCIES", -1)
        monkeypatch.setattr(tilted, "FEW_SHARE", 0.0)
    rng = np.random.default_rng(5)
    masses = rng.dirichlet(np.ones(6))
    loss = LatticeLoss(Lattice(0.1, 0.03), -3, masses, infinite=0.0)
    window = Window(tilt, -40, 128, 20.0, 20.0)
    composed = _composed(loss, 12, window, side)
    profile = composed.profile()
    for epsilon in (-0.5, 0.0, 0.77, 1.5, 2.4):
        true = _exact(loss, 12, Fraction(epsilon))
        values, noise = composed.delta(np.array([epsilon]))
        value = float(values[0])
        if side is Side.UPPER:
            assert true * (1 - 1e-13) <= value
        else:
            assert value <= true * (1 + 1e-13)
        if noise[0] < 1e-3:
            assert value == pytest.approx(true, rel=2e-3)
            place = cell(composed, true)
            found = composed.between(place.point, true) if place else math.nan
            assert found == pytest.approx(epsilon, abs=1e-2 / tilt)
            assert found >= epsilon - 1e-12 if side is Side.UPPER else found <= epsilon + 1e-12
            # The recursion over the whole window agrees with the single points.
            assert np.interp(epsilon, profile.epsilons, profile.deltas) == pytest.approx(
                true, rel=0.05
            )


def _two_losses(side: Side) -> Convolution:
    rng = np.random.default_rng(8)
    losses = [LatticeLoss(Lattice(0.1, at), -3, rng.dirichlet(np.ones(6))) for at in (0.0, 0.03)]
    found = compose([(losses[0], 9), (losses[1], 4)], Window(3.0, -40, 128, 20.0, 20.0), side)
    assert found is not None
    return found


@pytest.mark.parametrize("side", list(Side))
def test_neighbouring_points_are_what_they_are_one_by_one(side: Side) -> None:
    """Points next to each other share a turn, others have their own."""
    composed = _two_losses(side)
    points = np.arange(5, 9)
    values, noises = composed.at(points)
    for point, value, noise in zip(points, values, noises, strict=True):
        apart, _ = composed.at(np.array([point - 30, point, point + 11]))
        assert noise < 1e-10
        assert apart[1] == pytest.approx(value, rel=noise)


def test_errors_added_up_at_once_are_no_less_than_added_up_one_by_one() -> None:
    composed = _two_losses(Side.UPPER)
    few, terms = composed.few, composed.terms
    assert few is not None
    each = terms.missed(composed.counts, composed.product)
    for i, weights in enumerate(terms.series.sizes):
        assert float(weights @ each) <= few.error(i) <= 2 * float(weights @ each)


def test_infinite_losses_compose_exactly() -> None:
    loss = LatticeLoss(Lattice(1.0), 0, np.array([0.9]), infinite=0.1)
    window = Window(1.0, -8, 64, 1.0, 1.0)
    expected = 1 - 0.9**5
    upper = _composed(loss, 5, window, Side.UPPER).profile().deltas[-1]
    lower = _composed(loss, 5, window, Side.LOWER).profile().deltas[-1]
    assert lower <= expected <= upper
    assert upper == pytest.approx(expected, rel=1e-12)
    assert lower == pytest.approx(expected, rel=1e-12)


# Finite and infinite mass per use: where both powers underflow, and where only one of them does.
@pytest.mark.parametrize(
    ("finite", "infinite", "count"),
    [
        (0.4, 0.6, 1000),
        (0.4, 0.6, 10**6),
        (1e-200, 1.0, 3),
        (1e-300, 0.25, 7),
        (1 - 1e-12, 1e-12, 10**9),
    ],
)
def test_the_mass_of_infinite_losses_survives_underflow(finite, infinite, count) -> None:
    loss = LatticeLoss(Lattice(1.0), 0, np.array([finite]), infinite)
    with precision(200):
        true = (arb(finite) + arb(infinite)) ** count - arb(finite) ** count
        low = InfiniteMass([loss]).bound([count], above=False)
        high = InfiniteMass([loss]).bound([count], above=True)
        assert low <= true <= high
        assert high - low <= 1e-4 * true


def test_masses_near_the_smallest_float_are_tilted_without_overflow() -> None:
    """A steep tilt makes a mass of 1e-320 the heaviest; the bound is loose there, but a number."""
    loss = LatticeLoss(Lattice(1.0), 0, np.array([1.0, 1e-320]))
    composed = _composed(loss, 1, Window(800.0, -2, 16, 1.0, 1.0), Side.UPPER)
    value = float(composed.delta(np.array([0.5]))[0][0])
    assert 1e-320 * -math.expm1(-0.5) <= value <= 1


def test_mass_outside_the_window_is_never_lost_from_an_upper_bound() -> None:
    loss = LatticeLoss(Lattice(0.1), -5, np.full(11, 1 / 11))
    narrow = Window(0.5, 0, 32, 3.0, 3.0)
    wide = Window(0.5, -300, 1024, 3.0, 3.0)
    epsilons = np.array([0.5, 1.0, 2.0])
    true = _composed(loss, 40, wide, Side.LOWER).delta(epsilons)[0]
    assert (_composed(loss, 40, narrow, Side.UPPER).delta(epsilons)[0] >= true).all()
    assert (_composed(loss, 40, narrow, Side.LOWER).delta(epsilons)[0] <= true).all()
