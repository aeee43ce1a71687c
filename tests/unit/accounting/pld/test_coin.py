"""A coin over pairs: as high as the weighted sum of their curves, and as cheap as one pair if it can be."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dpcheck.accounting.batches import worst_case
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.pairs import symmetric
from dpcheck.accounting.pld.pairs.coin import CoinPair, SymmetricCoin
from dpcheck.accounting.pld.pairs.symmetric import WithoutReplacementPair
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.training import RealisedBatchGaussian
from dpcheck.numerics.side import Side


def _tails(level: float, mu: float, rate: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """P(L > level) and Q(L > level) of (1-rate) N(0, 1) + rate N(mu, 1) against N(0, 1)."""
    y = 1 + mpmath.expm1(level) / mpmath.mpf(rate)
    x = mpmath.log(y) / mu + mpmath.mpf(mu) / 2
    drawn, other = mpmath.ncdf(mu - x), mpmath.ncdf(-x)
    return (1 - mpmath.mpf(rate)) * other + rate * drawn, other


def _curve(epsilon: float, mu: float, rate: float) -> mpmath.mpf:
    """The divergence at e^epsilon; below 0 by symmetry."""
    if epsilon < 0:
        return -mpmath.expm1(epsilon) + mpmath.exp(epsilon) * _curve(-epsilon, mu, rate)
    p, q = _tails(epsilon, mu, rate)
    return p - mpmath.exp(epsilon) * q


@pytest.mark.parametrize(("mu", "rate"), [(500.0, 0.01), (90.0, 0.3), (3.0, 1e-6), (2000.0, 1e-10)])
def test_tails_of_fixed_batches_match_mpmath_where_they_are_flat_and_where_they_change(mu, rate):
    middle, width = mu * mu / 2, 50 * mu
    levels = np.unique(np.maximum(np.linspace(middle - width, middle + width, 41), 0.0))
    levels = np.unique(np.concatenate(([0.0, 1.0, 5.0, 700.0], levels)))
    a, a_error, b, b_error = WithoutReplacementPair((mu,), (rate,)).tails(levels)
    with mpmath.workdps(60):
        for i, level in enumerate(levels.tolist()):
            p, q = _tails(level, mu, rate)
            assert abs(p - a[i]) <= a_error[i] <= 1e-9 * rate + 1e-299
            assert abs(q - b[i]) <= b_error[i] <= 1e-9 * b[i] + 1e-15


def test_symmetric_options_are_one_pair_above_the_sum_of_their_curves():
    options = [(0.2, 1.5, 0.02), (0.5, 1.5, 0.03), (0.2999, 1.5, 0.05)]
    coin = CoinPair(
        [(share, WithoutReplacementPair((mu,), (rate,))) for share, mu, rate in options]
    )
    assert [type(pair) for _, pair in coin.options] == [SymmetricCoin]
    loss = coin.upper(1e-3, -1.0, 12.0)
    for epsilon in (-0.5, -0.02, 0.0, 0.01, 0.1, 1.0, 4.0):
        found = loss.infinite + math.fsum(
            (loss.masses * np.maximum(-np.expm1(epsilon - loss.levels), 0.0)).tolist()
        )
        truth = float(sum(share * _curve(epsilon, mu, rate) for share, mu, rate in options))
        # Shares of 0.9999 in all leave the curve that much room below 0.
        assert truth <= found <= truth * (1 + 1e-4) + 2e-4


def test_the_sizes_of_a_steep_batch_are_not_all_evaluated_everywhere(monkeypatch):
    # 65 options of two million points each: half a minute, though a steep law is flat nearly everywhere.
    event = RealisedBatchGaussian(1e-2, 0.01, 10_000)
    pair = build(worst_case(event, Adjacency.REPLACE_ONE).upper, Side.UPPER)
    seen = []

    def counted(z):
        seen.append(len(z))
        return plain(z)

    plain = symmetric.normal_tail
    monkeypatch.setattr(symmetric, "normal_tail", counted)
    step, high = 2.0, 30_000.0
    pair.upper(step, -30.0, high)
    assert 0 < sum(seen) < 65 * 2 * (high / step)
