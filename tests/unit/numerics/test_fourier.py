"""The transform against ball arithmetic: the proved bound in every coefficient, and its twiddle factors."""

from __future__ import annotations

import numpy as np
import pytest
from flint import acb, arb

from dpcheck.numerics.balls import precision
from dpcheck.numerics.fourier import backward, fast_size, forward, transform_error
from dpcheck.numerics.rounding import UNIT


def _worst(values: np.ndarray, exact: list[acb]) -> float:
    pairs = zip(values.tolist(), exact, strict=False)
    return max(float(abs(acb(v.real, v.imag) - e).upper()) for v, e in pairs)


# Powers of each radix, and products of all of them.
@pytest.mark.parametrize("size", [128, 256, 729, 625, 1024, 1000, 2160, 3645])
def test_every_coefficient_is_within_the_bound(size: int) -> None:
    rng = np.random.default_rng(size)
    laws = [
        rng.exponential(size=size) * np.exp(-rng.uniform(0, 20, size)),
        np.ones(size),
        np.where(np.arange(size) % 3 == 0, 1.0, 1e-9),
    ]
    for law in laws:
        x = law / law.sum()
        with precision(120):
            exact = acb.dft([acb(float(v)) for v in x])
            assert _worst(forward(x), exact) <= transform_error(size) * float(np.sum(x))


@pytest.mark.parametrize("size", [729, 625, 1024, 2160])
def test_the_inverse_is_within_the_bound_in_the_two_norm(size: int) -> None:
    rng = np.random.default_rng(size)
    spectrum = rng.normal(size=size // 2 + 1) + 1j * rng.normal(size=size // 2 + 1)
    spectrum[0] = spectrum[0].real
    if size % 2 == 0:
        spectrum[-1] = spectrum[-1].real
    whole = np.concatenate((spectrum, np.conj(spectrum[1 : (size + 1) // 2][::-1])))
    with precision(120):
        exact = acb.dft([acb(v.real, v.imag) for v in whole.tolist()], inverse=True)
        values = backward(spectrum.copy(), size)
        wrong = [(arb(float(v)) - e.real) ** 2 for v, e in zip(values, exact, strict=True)]
        norm = sum((e.real**2 for e in exact), arb(0)).sqrt()
        assert sum(wrong, arb(0)).sqrt() <= transform_error(size) * norm


@pytest.mark.parametrize("size", [1024, 2187, 3125, 4320])
def test_twiddle_factors_err_by_less_than_the_proof_allows(size: int) -> None:
    """An impulse at place j comes out as products of twiddle factors alone, one per stage."""
    stages = 12  # factors of 4, 2, 3, 5 in these sizes, at most
    for place in (1, 7, size // 3 + 1):
        impulse = np.zeros(size)
        impulse[place] = 1.0
        with precision(120):
            exact = [(acb(0, -2) * acb.pi() * place * k / size).exp() for k in range(size // 2 + 1)]
            assert _worst(forward(impulse), exact) <= stages * (8.3 + 5**0.5) * UNIT


def test_sizes_have_no_factor_above_five() -> None:
    for least in (2, 97, 1021, 65_537, 1_000_003):
        size = fast_size(least)
        assert size >= least
        for factor in (2, 3, 5):
            while size % factor == 0:
                size //= factor
        assert size == 1
