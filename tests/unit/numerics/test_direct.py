"""Low frequencies alone: which ones may matter, and their sums, against the full transform and by hand."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from dpcheck.numerics.direct import direct_error, low_coefficients, low_frequencies

FLAT = 80.0


def _laws() -> list[tuple[str, np.ndarray, int]]:
    rng = np.random.default_rng(0)
    k = np.arange(-60, 61)
    bell = np.exp(-(k**2) / 200.0)
    skew = np.exp(-0.05 * np.arange(300.0))
    ragged = rng.random(97) ** 6
    lonely = np.concatenate(([50.0], np.exp(-0.01 * np.arange(400.0)) * 0.05))
    return [
        ("bell", bell, 2000),
        ("skew", skew, 500),
        ("ragged", ragged, 900),
        ("atom and tail", lonely, 100_000),
    ]


@pytest.mark.parametrize(
    ("name", "masses", "count"), _laws(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_every_frequency_beyond_is_flat(name: str, masses: np.ndarray, count: int) -> None:
    """The bound of pairs holds against all coefficients of a full transform."""
    x = masses / masses.sum()
    size = 8192
    few = low_frequencies([(x, count)], size, FLAT)
    assert few is not None, name
    assert few < size // 4
    circle = np.zeros(size)
    circle[: len(x)] = x
    logs = count * np.log(np.maximum(np.abs(np.fft.rfft(circle)), 1e-300))
    assert (logs[few:] <= -FLAT).all()


def test_two_laws_count_together() -> None:
    """Neither is flat alone, both are."""
    x = np.full(64, 1 / 64)
    alone, together = [(x, 100)], [(x, 100), (x, 100)]
    assert low_frequencies(together, 4096, FLAT) is not None
    first, both = low_frequencies(alone, 4096, FLAT), low_frequencies(together, 4096, FLAT)
    assert both is not None
    assert first is None or both <= first


def test_a_law_on_every_other_point_is_not_flat_at_the_highest_frequency() -> None:
    """Its spectrum has modulus 1 there: nothing may be left out."""
    x = np.zeros(101)
    x[::2] = 1 / 51
    assert low_frequencies([(x, 10_000)], 4096, FLAT) is None


def test_few_steps_have_no_flat_frequencies() -> None:
    """Three steps leave no frequency below e^-50."""
    assert low_frequencies([(np.full(8, 1 / 8), 3)], 1024, FLAT) is None


@pytest.mark.parametrize("length", [1, 2, 63, 64, 65, 500])
def test_the_sums_are_those_of_the_definition(length: int) -> None:
    """Against mpmath, within the proved error."""
    rng = np.random.default_rng(length)
    x, size, origin = rng.random(length), 5000, length // 3
    found = low_coefficients(x, origin, size, 7)
    with mp.workdps(40):
        for k in (0, 1, 6):
            exact = mp.fsum(
                mp.mpf(float(v)) * mp.expjpi(mp.mpf(-2 * k * (j - origin)) / size)
                for j, v in enumerate(x)
            )
            off = abs(mp.mpc(complex(found[k])) - exact)
            assert off <= direct_error(length) * math.fsum(x)
