"""Laws added up before they are transformed, against exact sums."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from dpcheck.numerics import merging
from dpcheck.numerics.lattice import Lattice, LatticeLoss
from dpcheck.numerics.merging import FEW_USES, merge
from dpcheck.numerics.series import Window
from dpcheck.numerics.side import Side
from dpcheck.numerics.spectrum import spectrum
from dpcheck.numerics.tilted import Convolution, compose


def _convolved(laws: list[list[Fraction]]) -> list[Fraction]:
    found = [Fraction(1)]
    for law in laws:
        longer = [Fraction(0)] * (len(found) + len(law) - 1)
        for i, a in enumerate(found):
            for j, b in enumerate(law):
                longer[i + j] += a * b
        found = longer
    return found


def _laws(count: int, seed: int = 3) -> list[tuple[np.ndarray, int]]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, count)
    return [(rng.dirichlet(np.full(n, 0.4)), int(rng.integers(-9, 9))) for n in sizes]


def test_a_sum_is_the_exact_one_within_its_drift() -> None:
    laws, counts = _laws(7), [1, 2, 1, 1, 3, 1, 1]
    (one,) = merge(laws, counts, 10_000)
    uses = [i for i, n in enumerate(counts) for _ in range(n)]
    exact = _convolved([[Fraction(float(m)) for m in laws[i][0]] for i in uses])
    assert sorted(one.members) == list(range(7))
    assert (one.count, one.first) == (1, sum(laws[i][1] for i in uses))
    assert len(one.x) == len(exact)
    for found, true in zip(one.x, exact, strict=True):
        # What underflows is counted elsewhere.
        assert abs(Fraction(float(found)) - true) <= true * Fraction(one.drift) + Fraction(1e-300)
    assert one.drift < 1e-14


def test_laws_that_are_used_often_or_long_stay_alone() -> None:
    laws, counts = _laws(4), [1, FEW_USES + 1, 1, 1]
    found = merge(laws, counts, 10_000)
    assert [(one.members, one.count, one.drift) for one in found if 1 in one.members] == [
        ((1,), FEW_USES + 1, 0.0)
    ]
    long = [(np.full(3000, 1 / 3000), 0)] * 3
    assert [one.members for one in merge(long, [1, 1, 1], 1000)] == [(0,), (1,), (2,)]


def _losses(count: int) -> list[tuple[LatticeLoss, int]]:
    found = []
    for i, (masses, first) in enumerate(_laws(count, seed=11)):
        found.append((LatticeLoss(Lattice(0.05, 0.002 * i), first, masses), 1 + i % 3))
    return found


@pytest.mark.parametrize("side", list(Side))
def test_answers_enclose_the_exact_ones_whether_laws_are_added_up_or_not(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = _losses(9)
    uses = [loss for loss, count in parts for _ in range(count)]
    exact = _convolved([[Fraction(float(m)) for m in loss.masses] for loss in uses])
    first = sum(loss.first for loss in uses)
    origin = math.fsum(loss.lattice.offset for loss in uses)
    window = Window(1.5, first - 1, 400, 10.0, 10.0)
    together = compose(parts, window, side)
    monkeypatch.setattr(merging, "FEW_USES", 0)
    apart = compose(parts, window, side)
    assert together is not None
    assert apart is not None
    assert (len(together.terms.factors), len(apart.terms.factors)) == (1, 9)
    levels = [origin + (first + k) * 0.05 for k in range(len(exact))]
    mean = math.fsum(float(mass) * at for mass, at in zip(exact, levels, strict=True))
    for epsilon in (mean - 0.31, mean, mean + 0.22, mean + 0.6):
        true = math.fsum(
            float(mass) * -math.expm1(epsilon - at)
            for mass, at in zip(exact, levels, strict=True)
            if at > epsilon
        )
        for one in (together, apart):
            value, noise = (float(found[0]) for found in one.delta(np.array([epsilon])))
            assert noise < 1e-6
            assert value == pytest.approx(true, rel=1e-6)
            # The sums here round too.
            wrong = true - value if side is Side.UPPER else value - true
            assert wrong <= 1e-13 * true


def test_laws_that_were_added_up_cannot_be_used_more_often() -> None:
    parts = _losses(5)
    terms = spectrum(parts, Window(1.0, -50, 200, 10.0, 10.0))
    assert terms is not None
    counts = [count for _, count in parts]
    assert Convolution(terms, counts, Side.UPPER).product.drift > 0
    with pytest.raises(ValueError, match="as often as planned"):
        Convolution(terms, [count + 1 for count in counts], Side.UPPER)


def test_the_widest_factor_leaves_the_others_few_frequencies() -> None:
    """All frequencies of every factor took a gibibyte: found by the fuzz."""
    narrow = np.array([1e-3, 0.999])
    parts = [(LatticeLoss(Lattice(0.01), -k, narrow), 21 + k) for k in range(12)]
    masses = np.zeros(3001)
    masses[[0, 7, 3000]] = 0.3, 0.4, 0.3
    parts.append((LatticeLoss(Lattice(0.01), -1500, masses), 5000))
    size = 2**18
    tracemalloc.start()
    terms = spectrum(parts, Window(0.01, -(2**17), size, 5.0, 5.0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert terms is not None
    assert [len(factor.turn) for factor in terms.factors] == [len(terms.active)] * 13
    assert len(terms.active) < size // 20
    # Modulus, angle and error of every factor at every frequency alone are more.
    assert peak < 13 * 3 * 8 * (size // 2) / 2
    assert sorted(terms.members) == [(k,) for k in range(13)]
