"""Compositions of many different mechanisms, against enumeration and against a naive lattice."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.pld import composed
from dpcheck.core.events.event import Event, Sequential


def _enumerated(epsilons: list[float], at: float) -> mp.mpf:
    """delta of answers with losses +-e, all that can be answered one by one."""
    with mp.workdps(30):
        chances = [1 / (1 + mp.exp(-mp.mpf(e))) for e in epsilons]
        total = mp.mpf(0)
        for signs in itertools.product((1, -1), repeat=len(epsilons)):
            loss = mp.fsum(s * mp.mpf(e) for s, e in zip(signs, epsilons, strict=True))
            if loss > at:
                mass = mp.fprod(c if s > 0 else 1 - c for s, c in zip(signs, chances, strict=True))
                total += mass * (1 - mp.exp(at - loss))
        return total


@pytest.mark.parametrize(("scale", "delta"), [(0.02, 1e-3), (0.5, 1e-5)])
def test_twelve_pure_guarantees_against_enumeration(scale: float, delta: float) -> None:
    epsilons = [scale * (1 + 0.1 * k**0.9) for k in range(12)]
    event = Sequential(tuple(dpcheck.PureDP(e) for e in epsilons))
    bound = dpcheck.epsilon(event, delta=delta)
    assert bound.method == "pld"
    assert _enumerated(epsilons, bound.upper) <= delta
    assert _enumerated(epsilons, bound.lower) >= delta
    assert bound.gap <= 0.01 * bound.upper


def _naive(laws: list[tuple[np.ndarray, np.ndarray]], step: float, delta: float) -> float:
    """epsilon of losses rounded to the next point, in plain floats; laws are (losses, masses)."""
    arrays, first = [], 0
    for losses, masses in laws:
        index = np.round(losses / step).astype(int)
        arrays.append(np.bincount(index - index.min(), weights=masses))
        first += int(index.min())
    size = 1 << sum(len(a) for a in arrays).bit_length()
    product = np.ones(size // 2 + 1, dtype=complex)
    for a in arrays:
        product *= np.fft.rfft(a, size)
    law = np.fft.irfft(product, size)
    levels = (first + np.arange(size)) * step
    low, high = 0.0, float(levels[-1])
    for _ in range(60):
        middle = (low + high) / 2
        seen = levels > middle
        over = float(law[seen] @ -np.expm1(middle - levels[seen])) > delta
        low, high = (middle, high) if over else (low, middle)
    return high


def _laplace(ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Two atoms at the ends, and what lies between in 400 pieces."""
    edges = np.linspace(0, ratio, 401)
    between = (np.exp(edges[1:] - ratio) - np.exp(edges[:-1] - ratio)) / 2
    losses = np.concatenate(([-ratio], edges[1:] + edges[:-1] - ratio, [ratio]))
    return losses, np.concatenate(([math.exp(-ratio) / 2], between, [0.5]))


def _answer(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    keep = 1 / (1 + math.exp(-epsilon))
    return np.array([epsilon, -epsilon]), np.array([keep, 1 - keep])


@pytest.mark.parametrize(
    ("kind", "number", "scale", "step"),
    [
        ("laplace", 60, 0.1, 2e-4),
        ("laplace", 150, 0.01, 4e-5),
        ("pure", 60, 0.1, 2e-4),
        ("pure", 300, 0.02, 2e-4),
        ("both", 80, 0.05, 1e-4),
    ],
)
def test_many_against_a_naive_lattice(kind: str, number: int, scale: float, step: float) -> None:
    """Rounding of each loss by half a step at most moves a sum of them by a few roots of their number."""
    delta, parts, laws = 1e-5, [], []
    for k in range(number):
        ratio = scale * (1 + k / number)
        laplace = kind == "laplace" or (kind == "both" and k % 2)
        parts.append(dpcheck.Laplace(1 / ratio) if laplace else dpcheck.PureDP(ratio))
        laws.append(_laplace(ratio) if laplace else _answer(ratio))
    bound = dpcheck.epsilon(Sequential(tuple(parts)), delta=delta)
    naive = _naive(laws, step, delta)
    room = 4 * step * math.sqrt(number)
    assert bound.lower - room <= naive <= bound.upper + room
    assert bound.gap <= 5e-3 * bound.upper


@pytest.mark.parametrize(
    "event",
    [
        Sequential(tuple(dpcheck.Laplace(20 + k) for k in range(30))),
        Sequential(
            tuple(dpcheck.SampledGaussian(1 + k / 30, 0.02) * (1 + k % 3) for k in range(30))
        ),
        Sequential(tuple(dpcheck.DiscreteLaplace(9 + k, 2) for k in range(40))),
    ],
    ids=["laplace", "sampled", "discrete"],
)
def test_adding_laws_up_changes_nothing_that_can_be_seen(
    event: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpcheck.numerics import merging

    together = dpcheck.epsilon(event, delta=1e-6), dpcheck.delta(event, epsilon=0.7)
    monkeypatch.setattr(merging, "FEW_USES", 0)
    composed.SPECTRA.clear()
    composed._solved.cache_clear()
    apart = dpcheck.epsilon(event, delta=1e-6), dpcheck.delta(event, epsilon=0.7)
    for one, other in zip(together, apart, strict=True):
        assert one.upper == pytest.approx(other.upper, rel=1e-8)
        assert one.lower == pytest.approx(other.lower, rel=1e-8)


def test_the_order_of_many_does_not_matter() -> None:
    parts = [dpcheck.Laplace(30 + k) for k in range(25)]
    one = dpcheck.epsilon(Sequential(tuple(parts)), delta=1e-6)
    two = dpcheck.epsilon(Sequential(tuple(reversed(parts))), delta=1e-6)
    assert (one.lower, one.upper) == (two.lower, two.upper)


def test_verification_knows_each_of_many() -> None:
    """The second proof takes the measures one by one."""
    event = Sequential(tuple(dpcheck.Laplace(10 + k) for k in range(14)))
    from dpcheck.accounting.api import verify_epsilon

    found, known = verify_epsilon(event, delta=1e-4), dpcheck.epsilon(event, delta=1e-4)
    assert found.upper == pytest.approx(known.upper, rel=1e-3)


def test_a_hundred_replaced_samples_are_integrated_once_each() -> None:
    """Their moments fell out of the cache before they were asked for again: a minute, found by the fuzz."""
    from dpcheck.accounting.losses import GaussianLoss, ReplacedSampleLoss
    from dpcheck.accounting.renyi.divergence import composed_renyi
    from dpcheck.accounting.renyi.moments import _excess_table

    parts = tuple((ReplacedSampleLoss(GaussianLoss(0.01 + k / 9999), 0.01), 1) for k in range(100))
    first = composed_renyi(parts, np.array([8.0]))
    before = _excess_table.cache_info().misses
    again = composed_renyi(parts, np.array([7.0, 8.0]))
    assert again[1] == first[0]
    assert _excess_table.cache_info().misses == before


@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-60])
def test_a_direction_of_which_nothing_is_worth_a_lattice(delta: float) -> None:
    """Outcomes of 1e-200 are all that tells: one direction was left without any part, a raw ValueError."""
    tables = [((1e-200, 1.0), (1e-220 * (k + 1), 1.0)) for k in range(20)]
    bound = dpcheck.epsilon(Sequential(tuple(dpcheck.FinitePair(*t) for t in tables)), delta=delta)
    # Each is within 1e-200 of nothing in total variation.
    assert bound.lower == 0
    assert bound.upper <= 1e-3
