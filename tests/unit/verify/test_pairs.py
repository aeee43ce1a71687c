"""Curves and moments of the pairs against integrals and sums of mpmath, from the definition."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest

from dpcheck.verify.intervals import Interval, number
from dpcheck.verify.lattice import Measure, check_domination
from dpcheck.verify.pairs import (
    ConcentratedPair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    FixedBatchPair,
    GaussianPair,
    LaplacePair,
    OppositeGaussianPair,
    Pair,
    ResponsePair,
)
from dpcheck.verify.result import Refused


def normal(x, at=0):
    return mpmath.exp(-((x - at) ** 2) / 2) / mpmath.sqrt(2 * mpmath.pi)


def laplace(x, at=0):
    return mpmath.exp(-abs(x - at)) / 2


@pytest.fixture(autouse=True)
def _many_digits():
    with mpmath.workdps(40):
        yield


def exact(x):
    return mpmath.mpf(x.numerator) / x.denominator


def excess(p, q, level, knots):
    """The integral of (p - e^level q)+, cut where the ratio crosses."""
    y = mpmath.exp(exact(level))

    def gap(x):
        return p(x) - y * q(x)

    cuts = list(knots)
    fine = [mpmath.mpf(knots[0]) + (knots[-1] - knots[0]) * k / 1000 for k in range(1001)]
    for a, b in pairwise(fine):
        if (gap(a) > 0) != (gap(b) > 0):
            cuts.append(mpmath.findroot(gap, (a, b), solver="anderson", tol=1e-60))
    cuts = sorted(set(cuts))
    total = mpmath.mpf(0)
    for a, b in pairwise(cuts):
        if gap((a + b) / 2) > 0:
            total += mpmath.quad(gap, mpmath.linspace(a, b, 9))
    return total


M, Q = Fraction(3, 4), Fraction(1, 4)
m, q = mpmath.mpf("0.75"), mpmath.mpf("0.25")
NORMAL_ENDS, LAPLACE_ENDS = (-14, 15), (-60, 0, float(M), 60)


def mixture(law, shift):
    return lambda x: (1 - q) * law(x) + q * law(x, shift)


ON_THE_LINE = {
    "gaussian": (GaussianPair(M, Fraction(1)), lambda x: normal(x, m), normal, NORMAL_ENDS),
    "sampled gaussian": (GaussianPair(M, Q), mixture(normal, m), normal, NORMAL_ENDS),
    "added gaussian": (GaussianPair(M, Q).reversed(), normal, mixture(normal, m), NORMAL_ENDS),
    "replaced gaussian": (
        OppositeGaussianPair(M, Q),
        mixture(normal, m),
        mixture(normal, -m),
        NORMAL_ENDS,
    ),
    "laplace": (LaplacePair(M, Fraction(1)), lambda x: laplace(x, m), laplace, LAPLACE_ENDS),
    "sampled laplace": (LaplacePair(M, Q), mixture(laplace, m), laplace, LAPLACE_ENDS),
    "added laplace": (LaplacePair(M, Q).reversed(), laplace, mixture(laplace, m), LAPLACE_ENDS),
}
LEVELS = [Fraction(k, 40) for k in (-60, -25, -9, -8, -3, 0, 1, 4, 9, 20, 35, 70)]


@pytest.mark.parametrize("name", ON_THE_LINE)
def test_curves_on_the_line_are_the_integrals(name):
    pair, p, q_, ends = ON_THE_LINE[name]
    for level in LEVELS:
        truth = excess(p, q_, level, ends)
        found = mpmath.mpf(str(pair.curve(level)))
        assert truth - mpmath.mpf(10) ** -18 <= found <= truth + mpmath.mpf(10) ** -17, level


def test_a_fixed_batch_is_the_amplified_gaussian():
    plain, sampled = GaussianPair(M, Fraction(1)), FixedBatchPair(M, Q)
    for level in (Fraction(0), Fraction(1, 10), Fraction(1)):
        inner = math.log(1 + (math.exp(level) - 1) / float(Q))
        want = float(Q) * float(plain.curve(Fraction(inner)))
        assert float(sampled.curve(level)) == pytest.approx(want, rel=1e-12)
        y = math.exp(-level)
        assert float(sampled.curve(-level)) == pytest.approx(1 - y + y * want, rel=1e-12)


def discrete(weight, shift, reach):
    total = mpmath.fsum(weight(x) for x in range(-reach, reach + 1))
    places = range(-reach, reach + shift + 1)
    return [(weight(x - shift) / total, weight(x) / total) for x in places]


TABLES = {
    "discrete laplace": (
        DiscreteLaplacePair(Fraction(5, 2), 3),
        discrete(lambda x: mpmath.exp(-abs(x) / mpmath.mpf("2.5")), 3, 260),
    ),
    "discrete gaussian": (
        DiscreteGaussianPair(Fraction(5, 4), 2),
        discrete(
            lambda x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf("1.25") ** 2)), 2, 40
        ),
    ),
    "response": (
        ResponsePair(Fraction(7, 10), Fraction(1, 4)),
        [
            (
                mpmath.mpf("0.75") / (1 + mpmath.exp(-0.7 * s)),
                mpmath.mpf("0.75") / (1 + mpmath.exp(0.7 * s)),
            )
            for s in (1, -1)
        ]
        + [(mpmath.mpf("0.25"), mpmath.mpf("0.25"))],
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_curves_of_tables_are_the_sums(name):
    pair, outcomes = TABLES[name]
    for level in LEVELS:
        y = mpmath.exp(mpmath.mpf(float(level)))
        truth = mpmath.fsum(max(p - y * q_, 0) for p, q_ in outcomes)
        assert abs(mpmath.mpf(str(pair.curve(level))) - truth) <= mpmath.mpf(10) ** -15


@pytest.mark.parametrize(
    ("pair", "p", "q_", "ends"),
    [
        (GaussianPair(M, Fraction(1)), lambda x: normal(x, m), normal, (-20, 20)),
        (LaplacePair(M, Fraction(1)), lambda x: laplace(x, m), laplace, LAPLACE_ENDS),
    ],
)
def test_moments_on_the_line_are_the_integrals(pair, p, q_, ends):
    cells = mpmath.linspace(*ends, 40) if len(ends) == 2 else ends
    for order in (1.25, 2.0, 7.5):
        truth = mpmath.quad(lambda x, a=order: q_(x) * (p(x) / q_(x)) ** a, cells)
        found = pair.log_moment(number(order))
        assert float(found.high) == pytest.approx(float(mpmath.log(truth)), rel=1e-9)


@pytest.mark.parametrize("name", ["discrete laplace", "discrete gaussian", "response"])
def test_moments_of_tables_are_the_sums(name):
    pair, outcomes = TABLES[name]
    for order in (1.25, 2.0, 7.5):
        truth = mpmath.log(mpmath.fsum(b * (a / b) ** order for a, b in outcomes))
        assert float(pair.log_moment(number(order)).high) == pytest.approx(float(truth), rel=1e-9)


def test_moments_of_zcdp_are_its_definition():
    found = ConcentratedPair(Fraction(1, 10), Fraction(1, 100)).log_moment(number(3))
    assert float(found.high) == pytest.approx(2 * (0.01 + 0.3))


def test_what_is_not_known_of_a_pair_has_a_true_answer():
    assert Pair().curve(Fraction(5)) == 1
    assert Pair().largest() is None
    assert Pair().log_moment(number(2)) is None
    assert GaussianPair(M, Q).log_moment(number(2)) is None


def test_largest_losses():
    assert float(LaplacePair(M, Fraction(1)).largest()) == pytest.approx(0.75)
    want = math.log1p(0.25 * math.expm1(0.75))
    assert float(LaplacePair(M, Q).largest()) == pytest.approx(want)
    assert float(DiscreteLaplacePair(Fraction(5, 2), 3).largest()) == pytest.approx(1.2)


def test_a_measure_below_its_pair_is_refused_wherever_that_is():
    pair, step = LaplacePair(Fraction(1), Fraction(1)), Fraction(1, 4)
    levels = [k * step for k in range(-4, 5)]
    curve = [Fraction(pair.curve(level)) for level in levels]
    # Connect the dots: masses from the slopes of the curve, from the right.
    ends = [Fraction(math.exp(level)) for level in levels]
    masses, scaled = [], Fraction(0)
    for k in range(len(levels) - 1, 0, -1):
        slope = (curve[k - 1] - curve[k]) / (ends[k] - ends[k - 1])
        masses.append((slope - scaled) * ends[k])
        scaled = slope
    masses.append(1 - sum(masses))
    points = tuple(
        (k, max(mass, Fraction(0)) * (1 + Fraction(1, 10**9)))
        for k, mass in zip(range(-4, 5), reversed(masses), strict=True)
    )
    check_domination(Measure(Fraction(0), points, Fraction(0)), pair, step)
    for i, (k, mass) in enumerate(points):
        fewer = (*points[:i], (k, mass * (1 - Fraction(1, 10**6))), *points[i + 1 :])
        with pytest.raises(Refused):
            check_domination(Measure(Fraction(0), fewer, Fraction(0)), pair, step)
    for i in range(1, len(points)):  # all of the mass, but a little of it one point further down
        (low, less), (high, more) = points[i - 1], points[i]
        slip = more / 10**6
        moved = (*points[: i - 1], (low, less + slip), (high, more - slip), *points[i + 1 :])
        with pytest.raises(Refused, match="lies below its pair"):
            check_domination(Measure(Fraction(0), moved, Fraction(0)), pair, step)
    with pytest.raises(Refused):  # the same masses at smaller losses
        check_domination(Measure(Fraction(-1, 100), points, Fraction(0)), pair, step)


def test_masses_beyond_an_interval_hold_those_beyond_its_ends():
    wide = Interval(Decimal(-1), Decimal(2))
    for pair in (LaplacePair(M, Q), GaussianPair(M, Q)):
        found = pair._beyond(wide)
        for end in (wide.low, wide.high):
            one = pair._beyond(Interval(end, end))
            assert found.low <= one.low
            assert one.high <= found.high
        assert found.low < found.high


def test_no_curve_is_below_those_of_nothing_and_everything():
    for pair in (GaussianPair(M, Q), LaplacePair(M, Q).reversed(), OppositeGaussianPair(M, Q)):
        for level in (Fraction(-9), Fraction(-1, 3), Fraction(9)):
            assert pair.curve(level) >= max(0, 1 - math.exp(level) - 1e-15)
