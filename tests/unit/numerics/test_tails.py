"""The error bounds of the tails, against ball arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb

from dpcheck.numerics.balls import precision
from dpcheck.numerics.normal import DEGREE, coefficients, normal_tail
from dpcheck.numerics.rounding import ELEMENTARY, UNIT
from dpcheck.numerics.tails import laplace_masses, normal_masses


def _normal_tail(z: float) -> arb:
    return (arb(-z) / arb(2).sqrt()).erfc() / 2


def test_normal_tails_are_within_their_proved_error() -> None:
    rng = np.random.default_rng(1)
    points = np.concatenate((np.linspace(0, 37.5, 4_000), rng.uniform(0, 6, 4_000), [1 / 16, 38.4]))
    values, errors = normal_tail(points)
    with precision(120):
        for z, value, error in zip(points.tolist(), values.tolist(), errors.tolist(), strict=True):
            assert abs(arb(value) - _normal_tail(-z)) <= error, z
    assert errors[points < 6].max() < 40 * UNIT


def test_a_tail_beyond_the_table_counts_as_underflow() -> None:
    values, errors = normal_tail(np.array([39.9, 41.0, math.inf]))
    assert (values <= 1e-300).all()
    assert (errors >= 1e-300).all()


def test_the_terms_of_the_polynomial_are_as_small_as_the_proof_needs() -> None:
    table = np.abs(coefficients())
    powers = 16.0 ** -np.arange(1, DEGREE + 1)[:, None]
    assert (np.sum(table[1:] * powers, axis=0) <= 0.06 * table[0]).all()
    assert table[0].min() >= 0.024
    assert 2**5.5 * math.gamma(6.5) / math.factorial(12) * 16.0**-12 < 1e-19


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (np.exp, lambda x: x.exp()),
        (np.expm1, lambda x: x.expm1()),
        (np.log1p, lambda x: (1 + x).log()),
        (np.log, lambda x: x.log()),
    ],
)
def test_elementary_functions_err_less_than_half_of_what_is_assumed(function, exact) -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate((10.0 ** rng.uniform(-12, 2, 3000), rng.uniform(0.5, 2.0, 1000)))
    if function in (np.exp, np.expm1):
        x = np.concatenate((x, -x))
    with precision(160):
        for point, value in zip(x.tolist(), function(x).tolist(), strict=True):
            true = exact(arb(point))
            assert abs(arb(value) - true) <= ELEMENTARY / 2 * abs(true) + 1e-300, point


def test_functions_of_angles_err_less_than_half_of_what_is_assumed() -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate(
        (rng.uniform(-2 * np.pi, 2 * np.pi, 3000), 10.0 ** rng.uniform(-12, 0, 1000))
    )
    y = rng.normal(size=len(x)) * 10.0 ** rng.uniform(-6, 6, len(x))
    z = x + 1j * y
    allowed = ELEMENTARY / 2
    turns, sizes, angles = np.exp(1j * x), np.abs(z), np.angle(z)
    with precision(160):
        for k in range(len(x)):
            a, b = arb(float(x[k])), arb(float(y[k]))
            for found, true in (
                (np.sin(x[k]), a.sin()),
                (np.cos(x[k]), a.cos()),
                (turns[k].real, a.cos()),
                (turns[k].imag, a.sin()),
                (sizes[k], (a * a + b * b).sqrt()),
                (angles[k], arb.atan2(b, a)),
            ):
                assert abs(arb(float(found)) - true) <= allowed * abs(true), (x[k], y[k])


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_masses_enclose_the_truth(law: str) -> None:
    rng = np.random.default_rng(3)
    masses = normal_masses if law == "normal" else laplace_masses

    def tail(z: arb) -> arb:
        if law == "normal":
            return (z / arb(2).sqrt()).erfc() / 2
        return (-z).exp() / 2 if z > 0 else 1 - z.exp() / 2

    for mean in (0.0, 0.3, 7.0):
        cuts = np.sort(np.concatenate((rng.normal(mean, 8, 200), mean + rng.normal(0, 1e-6, 50))))
        mass, error = masses(cuts, mean)
        with precision(2500):
            tails = [tail(arb(c) - arb(mean)) for c in cuts.tolist()]
            for i in range(len(mass)):
                true = tails[i] - tails[i + 1]
                assert arb(mass[i]) - arb(error[i]) <= true <= arb(mass[i]) + arb(error[i])
    ends, _ = masses(np.array([-np.inf, 0.5, np.inf]), 0.5)
    assert ends == pytest.approx([0.5, 0.5])
