"""The mechanisms StatDP, DP-Finder and DP-Sniper are judged on, as batched functions.

Definitions: Ding et al. (CCS 2018) for noisy max and histograms, Lyu, Su and Li (VLDB 2017) for the
sparse vector technique, Balcer and Vadhan (2018) for the truncated geometric, Erlingsson et al.
(CCS 2014) for RAPPOR, Wang et al. (PLDI 2019) for the prefix sum. Claimed epsilon 0.1.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import dpcheck

EPS = 0.1


@dataclass(frozen=True)
class Case:
    """A mechanism, its pairs of inputs, and the bound to reach."""

    name: str
    function: Callable[..., np.ndarray]
    pairs: list[tuple[np.ndarray, np.ndarray]]
    target: float
    learning: int = 1 << 17
    sharpening: int = 1 << 21
    exact: float | None = None  # on these patterns, where a density gives it


def patterns(size: int, component_wise: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """StatDP's standard pairs of query answers."""
    one = np.ones(size)
    first = np.eye(1, size)[0]
    pairs = [(one, one - first), (one, one + first)]
    if component_wise and size > 1:
        half = np.r_[np.ones(size // 2), np.zeros(size - size // 2)]
        pairs += [
            (one, 2 * first),
            (one, 2 - 2 * first),
            (one, 2 * half),
            (one, 2 * one),
            (one, 0 * one),
            (half, 1 - half),
        ]
    return pairs


def laplace(data, size, rng):
    return data[0] + rng.laplace(scale=1 / EPS, size=size)


def laplace_parallel(data, size, rng):
    return data[0] + rng.laplace(scale=1 / 0.005, size=(size, 20))


def noisy_hist_1(data, size, rng):
    return data + rng.laplace(scale=1 / EPS, size=(size, len(data)))


def noisy_hist_2(data, size, rng):
    return data + rng.laplace(scale=EPS, size=(size, len(data)))


def noisy_max_1(data, size, rng):
    return np.argmax(data + rng.laplace(scale=2 / EPS, size=(size, len(data))), axis=1)


def noisy_max_2(data, size, rng):
    return np.argmax(data + rng.exponential(scale=2 / EPS, size=(size, len(data))), axis=1)


def noisy_max_3(data, size, rng):
    return np.max(data + rng.laplace(scale=2 / EPS, size=(size, len(data))), axis=1)


def noisy_max_4(data, size, rng):
    return np.max(data + rng.exponential(scale=2 / EPS, size=(size, len(data))), axis=1)


def prefix_sum(data, size, rng):
    return np.cumsum(data + rng.laplace(scale=1 / EPS, size=(size, len(data))), axis=1)


def truncated_geometric(data, size, rng, n=5):
    k = math.ceil(math.log(2 / EPS))
    base, d = 2**k + 1, (2 ** (k + 1) + 1) * (2**k + 1) ** (n - 1)
    c = int(data[0])
    f = [2 ** (k * (c - z)) * base ** (n - (c - z)) for z in range(c)]
    f += [d - 2 ** (k * (z - c + 1)) * base ** (n - 1 - (z - c)) for z in range(c, n)]
    u = rng.integers(1, d + 1, size=size)
    return np.searchsorted(np.array([*f, d]), u, side="left").astype(float)


def _first_stop(above, values):
    """Answers up to the first TRUE; -1 after it."""
    stopped = np.cumsum(above, axis=1) - above > 0
    return np.where(stopped, -1.0, values)


def svt_1(data, size, rng):
    rho = rng.laplace(scale=2 / EPS, size=(size, 1))
    above = data + rng.laplace(scale=4 / EPS, size=(size, len(data))) >= rho + 0.5
    return _first_stop(above, above.astype(float))


def svt_2(data, size, rng):
    rho = rng.laplace(scale=2 / EPS, size=(size, 1))
    above = data + rng.laplace(scale=4 / EPS, size=(size, len(data))) >= rho + 1
    return _first_stop(above, above.astype(float))


def svt_3(data, size, rng):
    rho = rng.laplace(scale=2 / EPS, size=(size, 1))
    noisy = data + rng.laplace(scale=2 / EPS, size=(size, len(data)))
    above = noisy >= rho + 1
    stopped = np.cumsum(above, axis=1) - above > 0
    return np.where(stopped, -2000.0, np.where(above, noisy, -1000.0))


def svt_4(data, size, rng):
    rho = rng.laplace(scale=4 / EPS, size=(size, 1))
    above = data + rng.laplace(scale=4 / (3 * EPS), size=(size, len(data))) >= rho + 1
    return _first_stop(above, above.astype(float))


def svt_5(data, size, rng):
    return (data >= rng.laplace(scale=2 / EPS, size=(size, 1)) + 1).astype(float)


def svt_6(data, size, rng):
    rho = rng.laplace(scale=2 / EPS, size=(size, 1))
    noisy = data + rng.laplace(scale=2 / EPS, size=(size, len(data)))
    return (noisy >= rho + 1).astype(float)


def rappor(data, size, rng, f=0.75, p=0.45, q=0.55):
    permanent = one_time_rappor(data, size, rng, f)
    return (rng.random(permanent.shape) < np.where(permanent == 1, q, p)).astype(float)


def one_time_rappor(data, size, rng, f=0.95):
    coin = rng.random((size, len(data)))
    return np.where(coin < f / 2, 1.0, np.where(coin < f, 0.0, data))


def _filter_of(value: int) -> np.ndarray:
    """The 20-bit Bloom filter of a value, by 4 hashes."""
    digest = hashlib.sha256(str(value).encode()).digest()
    return _bloom(*(byte % 20 for byte in digest[:4]))


def rappor_of_value(data, size, rng):
    return rappor(_filter_of(data[0]), size, rng)


def one_time_rappor_of_value(data, size, rng):
    return one_time_rappor(_filter_of(data[0]), size, rng)


def _bloom(*bits: int) -> np.ndarray:
    filled = np.zeros(20)
    filled[list(bits)] = 1
    return filled


# Two values whose Bloom filters (4 hashes, 20 bits) differ in six bits, as on the standard inputs.
_FILTERS = [(_bloom(0, 1, 2, 3), _bloom(3, 4, 5, 6))]
# Nobody says which values differ in all eight bits; 24 pairs of 40 values are tried.
_VALUES = [(pair.first, pair.second) for pair in dpcheck.value_pairs(range(40))]
_WHOLE = [(np.array([float(a)]), np.array([float(b)])) for a, b in ((1, 0), (1, 2))]

CASES = [
    Case("Laplace", laplace, patterns(1, False), 0.095, exact=0.1),
    Case("TruncatedGeometric", truncated_geometric, _WHOLE, 0.112),
    Case("NoisyHist1", noisy_hist_1, patterns(5, False), 0.095, exact=0.1),
    Case("NoisyHist2", noisy_hist_2, patterns(5, False), 9.5, exact=10.0),
    Case("NoisyMax1", noisy_max_1, patterns(5, True), 0.0875, exact=0.0946),
    Case("NoisyMax2", noisy_max_2, patterns(5, True), 0.095, exact=0.1),
    Case("NoisyMax3", noisy_max_3, patterns(5, True), 0.235, exact=0.25),
    Case("NoisyMax4", noisy_max_4, patterns(5, True), 1.0, exact=math.inf),
    Case("SVT1", svt_1, patterns(10, True), 0.070, exact=0.0885),
    Case("SVT2", svt_2, patterns(10, True), 0.070, exact=0.0882),
    Case("SVT3", svt_3, patterns(10, True), 0.172),
    Case("SVT4", svt_4, patterns(10, True), 0.150, exact=0.1725),
    Case("SVT5", svt_5, patterns(10, True), 5.0, exact=math.inf),
    Case("SVT6", svt_6, patterns(10, True), 0.30, exact=0.42),
    Case("RAPPOR", rappor, _FILTERS, 0.285, exact=0.3),
    Case("OneTimeRAPPOR", one_time_rappor, _FILTERS, 0.585, exact=0.6),
    Case("LaplaceParallel", laplace_parallel, patterns(1, False), 0.036, exact=0.1),
    Case("RAPPOR, pairs searched", rappor_of_value, _VALUES, 0.36, exact=0.4),
    Case("OneTimeRAPPOR, pairs searched", one_time_rappor_of_value, _VALUES, 0.74, exact=0.801),
    Case("PrefixSum", prefix_sum, patterns(10, True), 0.92, exact=1.0),
]
