"""Steep ends of lower lattices, against the normal law in high precision."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dpcheck.accounting.losses import GaussianMixtureLoss
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.pairs.pair import SmoothPair
from dpcheck.accounting.pld.pairs.steep import find_end
from dpcheck.numerics.side import Side

CASES = [
    (0.559, 0.01, 5e-4),
    (1.0, 0.003, 1e-3),
    (2.0, 1e-6, 2e-4),
    (0.3, 0.2, 3e-3),
    (1.0, 1e-8, 5e-9),
]


def _pair(shift: float, rate: float, *, backwards: bool) -> SmoothPair:
    pair = build(GaussianMixtureLoss((shift,), (rate,), backwards), Side.LOWER)
    assert isinstance(pair, SmoothPair)
    return pair


def _range(pair: SmoothPair, shift: float, *, backwards: bool) -> tuple[float, float]:
    far = float(pair.loss(np.array([-6.0 - shift if backwards else 6.0 + shift]))[0][0])
    flat = float(pair.loss(np.array([12.0 if backwards else -12.0]))[0][0])
    return min(far, flat), max(far, flat)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(("shift", "rate", "step"), CASES)
def test_an_end_merges_to_its_level(
    shift: float, rate: float, step: float, backwards: bool
) -> None:
    pair = _pair(shift, rate, backwards=backwards)
    end = find_end(pair, step, *_range(pair, shift, backwards=backwards))
    assert end is not None
    assert end.sign == (-1 if backwards else 1)
    # The mixture lies on the other side of 0 in the reversed pair, mirrored: its tail is the same.
    with mpmath.workdps(50):
        stop = mpmath.mpf(-end.stop if backwards else end.stop)
        plain = mpmath.ncdf(stop)
        mixed = (1 - mpmath.mpf(rate)) * plain + mpmath.mpf(rate) * mpmath.ncdf(stop - shift)
        p, q = (plain, mixed) if backwards else (mixed, plain)
        # All that is merged, chained cells included, comes from the outcomes up to the cut.
        assert mpmath.fsum(end.p.tolist()) <= p
        assert mpmath.fsum(end.q.tolist()) >= q * (1 - mpmath.mpf(10) ** -20)
        assert mpmath.fsum(end.p.tolist()) == pytest.approx(p, rel=1e-12)
        assert mpmath.fsum(end.q.tolist()) == pytest.approx(q, rel=1e-12)
        # A little above its point, by less than the lattice takes for rounding.
        above = mpmath.log(end.p[-1]) - mpmath.log(end.q[-1]) - mpmath.mpf(end.level)
    assert 0 <= above <= 2e-7 * step + 128 * 2.0**-53


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(("shift", "rate", "step"), CASES)
def test_no_outcome_counts_twice(shift: float, rate: float, step: float, backwards: bool) -> None:
    pair = _pair(shift, rate, backwards=backwards)
    lower = pair.lower(step, *_range(pair, shift, backwards=backwards))
    assert math.fsum(lower.masses.tolist()) <= 1.0
    # Nor does one that matters get lost.
    assert math.fsum(lower.masses.tolist()) >= 1 - 1e-8


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("shift", "rate", "step"), CASES)
def test_what_an_end_merges_to_is_known_by_a_formula(
    shift: float, rate: float, step: float, sign: int, backwards: bool
) -> None:
    pair = _pair(shift, rate, backwards=backwards)
    low, high = _range(pair, shift, backwards=backwards)
    for share in (1e-3, 0.1, 0.5, 0.9):
        level = low + share * (high - low) + step * 1e-3
        merged = pair.merged_to(level, sign)
        assert merged is not None
        with mpmath.workdps(50):
            # log((1 - r) + r e^a) = level where a = shift x - shift^2 / 2; mirrored if backwards.
            wanted = mpmath.mpf(-level if backwards else level)
            a = mpmath.log(1 + mpmath.expm1(wanted) / mpmath.mpf(rate))
            x = a / shift + mpmath.mpf(shift) / 2
            from_below = (sign > 0) is not backwards
            tail = mpmath.ncdf if from_below else lambda z: mpmath.ncdf(-z)
            mixed = 1 + mpmath.mpf(rate) * (tail(x - shift) / tail(x) - 1)
            expected = float(-mpmath.log(mixed) if backwards else mpmath.log(mixed))
        # Digits are lost where the loss is next to its end: e^loss - 1 over the rate is next to -1.
        assert merged == pytest.approx(expected, rel=1e-4, abs=1e-14)


def test_beyond_its_ends_nothing_merges_or_all_there_is() -> None:
    forward, back = (_pair(1.0, 0.1, backwards=backwards) for backwards in (False, True))
    assert math.isnan(forward.merged_to(-0.2, 1) or 0.0)
    assert forward.merged_to(-0.2, -1) == 0.0
    assert math.isnan(back.merged_to(0.2, -1) or 0.0)
    assert back.merged_to(0.2, 1) == 0.0
    # e^level leaves the range of floats there.
    assert forward.merged_to(700.0, 1) is None


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(("shift", "rate", "step"), CASES)
def test_the_formula_finds_the_level_that_many_levels_show(
    shift: float, rate: float, step: float, backwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = _pair(shift, rate, backwards=backwards)
    low, high = _range(pair, shift, backwards=backwards)
    quick = find_end(pair, step, low, high)
    monkeypatch.setattr(type(pair), "merged_to", lambda *_: None)
    slow = find_end(pair, step, low, high)
    assert quick is not None
    assert slow is not None
    assert (quick.sign, quick.chain) == (slow.sign, slow.chain)
    assert quick.level == pytest.approx(slow.level, abs=1e-6 * step + 1e-13)
