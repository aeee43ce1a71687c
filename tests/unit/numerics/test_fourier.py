"""The transform against ball arithmetic, its operations against the counted ones, its twiddle factors."""

from __future__ import annotations

import math
import platform

import described_transform
import numpy as np
import pytest
import scipy.fft
from flint import acb, arb

from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.balls import precision
from dpcheck.numerics.fourier import (
    STAGE_UNITS,
    TWIDDLE_UNITS,
    backward,
    fast_size,
    forward,
    transform_error,
)
from dpcheck.numerics.twiddles import twiddle_units


def _worst(values: np.ndarray, exact: list[acb]) -> float:
    pairs = zip(values.tolist(), exact, strict=False)
    return max(float(abs(acb(v.real, v.imag) - e).upper()) for v, e in pairs)


def _real_spectrum(rng: np.random.Generator, size: int) -> np.ndarray:
    spectrum = rng.normal(size=size // 2 + 1) + 1j * rng.normal(size=size // 2 + 1)
    spectrum[0] = spectrum[0].real
    if size % 2 == 0:
        spectrum[-1] = spectrum[-1].real
    return spectrum


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
    spectrum = _real_spectrum(rng, size)
    whole = np.concatenate((spectrum, np.conj(spectrum[1 : (size + 1) // 2][::-1])))
    with precision(120):
        exact = acb.dft([acb(v.real, v.imag) for v in whole.tolist()], inverse=True)
        values = backward(spectrum.copy(), size)
        wrong = [(arb(float(v)) - e.real) ** 2 for v, e in zip(values, exact, strict=True)]
        norm = sum((e.real**2 for e in exact), arb(0)).sqrt()
        assert sum(wrong, arb(0)).sqrt() <= transform_error(size) * norm


# All sizes up to 300, and larger ones of every mixture of radices.
SIZES = sorted(
    {fast_size(n) for n in range(2, 300)} | {729, 625, 1000, 1024, 2160, 3645, 5000, 8192}
)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="fused operations round less often")
def test_the_counted_operations_are_the_ones_carried_out() -> None:
    for size in SIZES:
        rng = np.random.default_rng(size)
        x = rng.normal(size=size)
        assert (forward(x) == described_transform.forward(x)).all(), size
        spectrum = _real_spectrum(rng, size)
        expected = described_transform.backward(spectrum, size)
        assert (backward(spectrum.copy(), size) == expected).all(), size


# The smallest window, powers of each radix, mixtures, and windows as large as a composition takes.
@pytest.mark.parametrize(
    "size", [128, 625, 1024, 2187, 3125, 4320, 10_368, 65_536, 98_415, 100_000]
)
def test_every_twiddle_factor_is_proved_to_be_as_accurate_as_assumed(size: int) -> None:
    assert twiddle_units(size) <= TWIDDLE_UNITS / 2


def test_a_wrong_table_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def worse(x: np.ndarray) -> np.ndarray:
        turned = forward(x)
        turned[3] *= 1 + 1e-14
        return turned

    monkeypatch.setattr("dpcheck.numerics.twiddles.forward", worse)
    assert twiddle_units(1000) > 80


def test_what_a_stage_adds_is_what_its_operations_add() -> None:
    """The shares of the butterflies from their constants, against the table."""
    twisted = TWIDDLE_UNITS + math.sqrt(5)
    sine, cosines, sines = math.sqrt(0.75), (0.3091, 0.8091), (0.9511, 0.5878)
    three = 1 + 0.5 + 0.5 + (2 * sine + 0.5)
    # s (c), constant, product, two sums; difference, constant, product, sum; the last sum.
    outer = [2 * c + 0.5 * (c > 0.5) + 0.25 * (c < 0.5) for c in cosines]
    turned = [3 * s + 0.5 for s in sines]
    near = [outer[k] + 2 * cosines[k] + turned[k] + 1 for k in (0, 1)]
    far = [outer[1 - k] + cosines[1 - k] + turned[1 - k] + 1 for k in (0, 1)]
    forwards = {2: 1.0, 4: 2.0, 3: three, 5: max(near + far)}
    squares = sum(2 * (9 + 2 * a**2 + 2 * b**2) for a, b in zip(near, far, strict=True))
    backwards = {
        2: 1.0,
        4: 2.0,
        3: math.sqrt((2 * (4 + 2 * three**2) + 9) / 3),
        5: math.sqrt((squares + 4 + 18 + 8) / 5),
    }
    for radix, allowed in STAGE_UNITS.items():
        assert twisted + max(forwards[radix], backwards[radix]) <= allowed
    assert forwards[3] <= 4.3
    assert forwards[5] <= 7.1
    assert backwards[3] <= 5.5
    assert backwards[5] <= 11.7


def test_sizes_the_proof_does_not_cover_are_refused() -> None:
    with pytest.raises(CannotCertify):
        transform_error(7 * 128)


def test_sizes_have_no_factor_above_five() -> None:
    for least in (2, 97, 1021, 65_537, 1_000_003):
        size = fast_size(least)
        assert size >= least
        for factor in (2, 3, 5):
            while size % factor == 0:
                size //= factor
        assert size == 1


class _Wrong:
    """A backend for scipy that answers anything with zeros."""

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(_method, args, _kwargs):
        return np.zeros(len(args[0]))


@pytest.mark.parametrize("only", [False, True])
def test_no_other_backend_is_asked(only):
    """Others may be set for the whole process; the bound on the error is one on scipy's own transform."""
    x = np.arange(12.0)
    truth = np.fft.rfft(x)
    with scipy.fft.set_backend(_Wrong, only=only):
        assert not np.allclose(scipy.fft.rfft(x)[:3], truth[:3])
        assert np.allclose(forward(x), truth)
        assert np.allclose(backward(forward(x), 12), x)
    scipy.fft.set_global_backend(_Wrong, only=only)
    try:
        assert np.allclose(forward(x), truth)
        assert np.allclose(backward(forward(x), 12), x)
    finally:
        scipy.fft.set_global_backend("scipy")


def test_a_scipy_with_another_transform_certifies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.__version__", "1.18.1")
    with pytest.raises(CannotCertify, match=r"scipy<1\.18"):
        transform_error.__wrapped__(1024)
