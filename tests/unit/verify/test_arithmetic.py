"""Intervals, the normal law and the sums of lattice laws against mpmath and naive twins."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest

from dpcheck.verify.composition import Composer, Law, divergence
from dpcheck.verify.intervals import Interval, number
from dpcheck.verify.lattice import Measure
from dpcheck.verify.normal import NEAR, tail
from dpcheck.verify.result import Refused


@pytest.fixture(autouse=True)
def _many_digits():
    with mpmath.workdps(90):
        yield


def exact(value: Decimal) -> mpmath.mpf:
    return mpmath.mpf(str(value))


def encloses(found: Interval, truth: mpmath.mpf, digits: int = 38) -> bool:
    low, high = exact(found.low), exact(found.high)
    return bool(low <= truth <= high and high - low <= mpmath.mpf(10) ** -digits * abs(truth))


def fraction(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def test_every_operation_encloses_the_truth():
    draw = random.Random(1)
    for _ in range(300):
        a, b = (Fraction(draw.randint(-(10**9), 10**9), draw.randint(1, 10**7)) for _ in range(2))
        x, y = number(a), number(b)
        assert x.low <= a <= x.high
        for found, truth in ((x + y, a + b), (x - y, a - b), (x * y, a * b), (-x, -a)):
            assert Fraction(found.low) <= truth <= Fraction(found.high)
        if b > 0:
            quotient = x / y
            assert Fraction(quotient.low) <= a / b <= Fraction(quotient.high)
            assert encloses(y.ln(), mpmath.log(fraction(b)))
            assert encloses(y.sqrt(), mpmath.sqrt(fraction(b)))
            assert encloses(y.power(7), fraction(b) ** 7)
        small = number(a / 10**6)
        assert encloses(small.exp(), mpmath.exp(fraction(a / 10**6)))


def test_products_of_wide_intervals():
    wide = Interval(Decimal(-2), Decimal(3))
    assert wide * wide == Interval(Decimal(-6), Decimal(9))
    assert wide / number(2) == Interval(Decimal(-1), Decimal("1.5"))


def test_what_has_no_value_is_an_error():
    straddling = Interval(Decimal(-1), Decimal(1))
    with pytest.raises(ZeroDivisionError):
        number(1) / straddling
    with pytest.raises(ZeroDivisionError):
        straddling.ln()


@pytest.mark.parametrize(
    "x", [0.0, 1e-9, 0.3, 1.0, 2.5, 5.999, float(NEAR), 6.001, 9.0, 37.0, 150.0, -0.7, -6.5, -12.0]
)
def test_the_normal_tail_is_enclosed(x):
    assert encloses(tail(number(x)), mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2)


def test_the_tail_of_an_interval_holds_the_tails_of_its_ends():
    found = tail(Interval(Decimal(-1), Decimal(2)))
    assert found.low <= tail(number(2)).low
    assert found.high >= tail(number(-1)).high


def naive(parts: list[tuple[Measure, int]]) -> tuple[dict[int, Fraction], Fraction]:
    """Outcome by outcome, in fractions."""
    law, infinite = {0: Fraction(1)}, Fraction(0)
    for measure, times in parts:
        for _ in range(times):
            total, more = sum(law.values()), sum(m for _, m in measure.points)
            infinite = infinite * (more + measure.infinite) + total * measure.infinite
            found: dict[int, Fraction] = {}
            for k, mass in law.items():
                for j, other in measure.points:
                    found[k + j] = found.get(k + j, Fraction(0)) + mass * other
            law = found
    return law, infinite


def random_measure(draw: random.Random) -> Measure:
    places = sorted(draw.sample(range(-6, 9), draw.randint(1, 6)))
    weights = [draw.randint(1, 10**6) for _ in places]
    scale = Fraction(draw.choice([1, 1, 3]), 1) * sum(weights)
    points = tuple((k, w / scale) for k, w in zip(places, weights, strict=True))
    return Measure(Fraction(draw.randint(-5, 5), 7), points, Fraction(draw.randint(0, 5), 10**4))


@pytest.mark.parametrize("seed", range(12))
def test_sums_are_those_of_the_naive_twin_from_above_and_hardly_more(seed):
    draw = random.Random(seed)
    parts = [(random_measure(draw), draw.choice([1, 2, 5, 13])) for _ in range(draw.randint(1, 3))]
    step, epsilon = Fraction(1, 9), Fraction(draw.randint(0, 30), 11)
    origin = sum((m.offset * n for m, n in parts), Fraction(0))
    law, infinite = naive(parts)
    truth = infinite + sum(
        mass * (1 - Fraction(math.exp(min(epsilon - origin - k * step, 0))))
        for k, mass in law.items()
        if origin + k * step > epsilon
    )
    for digits, tails, near in ((30, Fraction(0), 1e-12), (30, Fraction(1, 10**6), 1e-5)):
        composer = Composer(digits, tails)
        total = composer.composed(parts)
        found = divergence(total, composer.scale, origin, step, epsilon)
        assert float(truth) * (1 - 1e-12) <= float(found) <= float(truth) + near
    # The masses themselves, without any window, are at most a few of the last digit too large.
    composer = Composer(30, Fraction(0))
    total = composer.composed(parts)
    for i, mass in enumerate(total.masses):
        true = law.get(total.first + i, Fraction(0)) * composer.scale
        assert true <= mass <= true + 10**6
    assert total.infinite >= infinite * composer.scale


def test_what_a_window_leaves_out_is_counted():
    measure = Measure(
        Fraction(0),
        ((-3, Fraction(1, 10)), (0, Fraction(8, 10)), (4, Fraction(1, 10))),
        Fraction(0),
    )
    law = Composer(12, Fraction(64, 10)).composed([(measure, 1)])
    assert law.infinite >= 10**11
    assert law.first == 0
    assert law.masses[0] >= 9 * 10**11


def test_slots_narrower_than_the_digits_that_are_dropped():
    tiny = Measure(Fraction(0), ((0, Fraction(1, 10**9)), (1, Fraction(1, 10**9))), Fraction(0))
    law = Composer(10, Fraction(0)).composed([(tiny, 3)])
    assert all(mass >= 1 for mass in law.masses)


def test_a_law_without_finite_losses_is_refused():
    nothing = Measure(Fraction(0), ((0, Fraction(0)),), Fraction(1))
    with pytest.raises(Refused):
        Composer(10, Fraction(0)).composed([(nothing, 2)])


def test_divergence_beyond_the_law_is_the_infinite_mass():
    law = Law(0, [5, 5], 3)
    assert divergence(law, 10, Fraction(0), Fraction(1), Fraction(50)) == Decimal("0.3")
