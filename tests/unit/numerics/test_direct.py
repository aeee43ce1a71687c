"""Low frequencies alone: which ones may matter, and their sums, against the full transform and by hand."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from dpcheck.numerics.direct import (
    MANY,
    direct_error,
    heavy_frequencies,
    low_coefficients,
    low_frequencies,
)

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


def _logs(laws: list[tuple[np.ndarray, int]], size: int) -> np.ndarray:
    """The logarithm of the product at every frequency, by full transforms."""
    total = np.zeros(size // 2 + 1)
    for x, count in laws:
        circle = np.bincount(np.arange(len(x)) % size, weights=x, minlength=size)
        total += count * np.log(np.maximum(np.abs(np.fft.rfft(circle)), 1e-300))
    return total


@pytest.mark.parametrize("longest", [300, 5000])
def test_pairs_of_heavy_masses_bound_every_frequency(longest: int) -> None:
    """Two atoms far apart and little between them, no distance twice; some longer than the window."""
    rng, size, laws = np.random.default_rng(longest), 4096, []
    for _ in range(900):
        x = np.full(int(rng.integers(longest // 2, longest)), 1e-7)
        x[0], x[-1] = rng.uniform(0.3, 0.6), 0.4
        laws.append((x / x.sum(), int(rng.integers(1, 3))))
    assert low_frequencies(laws, size, FLAT) is None
    few = heavy_frequencies(laws, size, FLAT)
    assert few is not None
    assert few < 100
    assert (_logs(laws, size)[few:] <= -FLAT).all()


def test_heavy_masses_say_nothing_where_nothing_is_flat() -> None:
    """On every other point the highest frequency is as large as the lowest; few laws are not looked at."""
    x = np.zeros(41)
    x[[0, 40]] = 0.5
    assert heavy_frequencies([(x, 50)] * MANY, 1024, FLAT) == 1024 // 2 + 1
    assert heavy_frequencies([(x, 10**6)] * (MANY - 1), 1024, FLAT) is None
    assert heavy_frequencies([(x, 1)] * MANY, 1024, FLAT) is None


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
