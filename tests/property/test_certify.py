"""`certify` on random and on deliberately bad plans: never a bound on the wrong side of the truth."""

from __future__ import annotations

import itertools
import math
import os
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcheck.accounting.certify.bound import Plan, Question, certify, certify_each
from dpcheck.accounting.certify.closed import by_largest, by_largest_below, by_variation
from dpcheck.accounting.certify.gaussian import (
    by_gaussian,
    by_gaussian_below,
    false_negatives,
    gaussian_curve,
    gaussian_curve_below,
)
from dpcheck.accounting.certify.lattice import (
    at,
    at_one,
    by_top,
    in_both_directions,
    in_cell,
    law,
    on_lattices,
    once,
    transformed,
)
from dpcheck.accounting.certify.optimal import around_optimum, by_optimum, by_optimum_below
from dpcheck.accounting.certify.renyi import by_renyi, renyi_curve
from dpcheck.accounting.certify.theorem import Curve, Spends, contains, excess
from dpcheck.accounting.losses import (
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    ResponseLoss,
    WorstLoss,
    reverse_parts,
)
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.series import Window
from dpcheck.numerics.side import Side

# Digits of the truth, and room for its rounding.
DIGITS, ULP = 25, mpmath.mpf(10) ** -22
# Draws of each kind; more with CERTIFY_DRAWS=1000.
DRAWS = int(os.environ.get("CERTIFY_DRAWS", "20"))


# -- the truth, from definitions, in many digits -------------------------------------------------


def outcomes(loss):
    """(p, q) of each outcome of a pair that has few."""
    if isinstance(loss, ResponseLoss):
        more = 1 / (1 + mpmath.exp(-mpmath.mpf(loss.epsilon)))
        return [(more, 1 - more), (1 - more, more)]
    p, q = [mpmath.mpf(x) for x in loss.p], [mpmath.mpf(x) for x in loss.q]
    return list(zip(p, q, strict=True))


def truth(parts, epsilon):
    """delta of one direction of Gaussians and pairs of few outcomes, by enumeration."""
    epsilon = mpmath.mpf(epsilon)
    square = sum(
        mpmath.mpf(loss.mu) ** 2 * n for loss, n in parts if isinstance(loss, GaussianLoss)
    )
    mu = mpmath.sqrt(square)
    some = [
        outcomes(one) for one, n in parts if not isinstance(one, GaussianLoss) for _ in range(n)
    ]
    total = mpmath.mpf(0)
    for found in itertools.product(*some):
        p = mpmath.fprod(a for a, _ in found)
        q = mpmath.fprod(b for _, b in found)
        if not q:
            total += p
        elif p:
            total += p * normal(mu, epsilon + mpmath.log(q / p))
    return total


def normal(mu, epsilon):
    """The same of N(mu, 1) against N(0, 1), at any epsilon."""
    if not mu:
        return max(mpmath.mpf(0), 1 - mpmath.exp(epsilon))
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
        -mu / 2 - epsilon / mu
    )


def worse(parts, epsilon):
    return max(truth(parts, epsilon), truth(reverse_parts(parts), epsilon))


def holds(found, parts, delta, side):
    """Whether a bound on epsilon at delta is on its side, for the worse direction."""
    with mpmath.workdps(DIGITS):
        if side is Side.UPPER:
            return math.isinf(found) or worse(parts, found) <= delta + ULP
        return found <= 0 or worse(parts, found) >= delta - ULP


def one_way(theorem):
    """Whether a theorem is true of the composition it is about, as it stands and reversed if it says so."""
    ways = (theorem.parts, reverse_parts(theorem.parts)) if theorem.both else (theorem.parts,)
    pairs = (
        [(theorem.epsilon, theorem.delta)]
        if hasattr(theorem, "epsilon")
        else list(zip(theorem.epsilons.tolist(), theorem.deltas.tolist(), strict=True))
    )
    with mpmath.workdps(DIGITS):
        for way, (epsilon, delta) in itertools.product(ways, pairs):
            if math.isinf(epsilon):
                assert theorem.side is Side.UPPER
            elif theorem.side is Side.UPPER:
                assert truth(way, epsilon) <= delta + ULP, (theorem, epsilon, delta)
            elif delta > 0 and (epsilon > 0 or not hasattr(theorem, "epsilon")):
                assert truth(way, epsilon) >= delta - ULP, (theorem, epsilon, delta)


# -- random compositions, questions and plans --------------------------------------------------


def draw_number(rng, *likely):
    """Anything: near what is likely, far from it, and what no plan should say."""
    kind = rng.integers(6)
    if kind == 0:
        return float(rng.choice([0.0, -1.0, math.inf, -math.inf, math.nan, 1e-300, 1e300]))
    if kind == 1:
        return float(np.exp(rng.normal() * 8))
    base = likely[int(rng.integers(len(likely)))]
    return base * (1 + float(rng.normal()) * 10.0 ** -float(rng.integers(0, 17)))


def draw_pair(rng):
    kind = rng.integers(4)
    if kind == 0:
        return GaussianLoss(float(np.exp(rng.normal())))
    if kind == 1:
        # Such numbers add up to 1 without rounding.
        p, q = (rng.multinomial(2**14, rng.dirichlet(np.ones(3))) / 2**14 for _ in range(2))
        return FiniteLoss(tuple(p.tolist()), tuple(q.tolist()))
    return ResponseLoss(float(np.exp(rng.normal() - 0.5)))


def draw_parts(rng):
    found = {draw_pair(rng): int(rng.integers(1, 3)) for _ in range(int(rng.integers(1, 3)))}
    return tuple(found.items())


def draw_delta(rng):
    return float(rng.choice([1e-12, 1e-6, 1e-3, 0.05, 0.4]) * np.exp(rng.normal()))


@pytest.mark.parametrize("seed", range(DRAWS))
def test_gaussians_at_any_point(seed):
    rng = np.random.default_rng(seed)
    parts = ((GaussianLoss(float(np.exp(rng.normal()))), int(rng.integers(1, 9))),)
    delta = min(draw_delta(rng), 0.9)
    with mpmath.workdps(DIGITS):
        mu = parts[0][0].mu * math.sqrt(parts[0][1])
        near = mu * mu / 2 + mu * math.sqrt(-2 * math.log(delta))
    for _ in range(6):
        point = draw_number(rng, near, near * 0.9, near * 0.8, mu)
        for side, rule in ((Side.UPPER, by_gaussian), (Side.LOWER, by_gaussian_below)):
            found = certify(Plan(rule(parts, delta, point)), Question(parts, side, delta), "gdp")
            assert holds(found.upper if side is Side.UPPER else found.lower, parts, delta, side)
    epsilons = np.abs(rng.normal(size=5)) * 3
    one_way(gaussian_curve(parts, epsilons))
    one_way(gaussian_curve_below(parts, epsilons))
    rate = float(rng.uniform(1e-6, 1))
    x = draw_number(rng, float(mpmath.erfinv(1 - 2 * rate) * math.sqrt(2)))
    if math.isfinite(x):
        with mpmath.workdps(DIGITS):
            cut = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(rate))
            missed = mpmath.ncdf(cut - mpmath.mpf(parts[0][0].mu))
            low, high = false_negatives(parts[0][0].mu, rate, x)
            assert low <= missed + ULP
            assert missed <= high + ULP


@pytest.mark.parametrize("seed", range(DRAWS))
def test_responses_at_any_place(seed):
    rng = np.random.default_rng(10**6 + seed)
    times = int(rng.integers(1, 7))
    parts = ((ResponseLoss(float(np.exp(rng.normal() - 0.5))), times),)
    delta = min(draw_delta(rng), 0.9)
    for hits in (*range(-2, times + 2), 10**6):
        around = around_optimum(parts[0][0].epsilon, times, delta, hits)
        upper = certify(Plan(by_optimum(parts, around)), Question(parts, Side.UPPER, delta), "x")
        assert holds(upper.upper, parts, delta, Side.UPPER)
        for few in range(1, times + 2):
            fewer = around_optimum(parts[0][0].epsilon, few, delta, hits)
            plan = Plan(by_optimum_below(parts, fewer))
            lower = certify(plan, Question(parts, Side.LOWER, delta), "x")
            assert holds(lower.lower, parts, delta, Side.LOWER)


@pytest.mark.parametrize("seed", range(DRAWS))
def test_renyi_at_any_order_and_majorant(seed):
    rng = np.random.default_rng(2 * 10**6 + seed)
    parts, delta = draw_parts(rng), draw_delta(rng)
    for _ in range(5):
        order = 1 + abs(draw_number(rng, 3.0, 12.0, 0.1))
        u = draw_number(rng, -5.0, -20.0, 2.0)
        plan = Plan(by_renyi(parts, delta, order, u, classic=bool(rng.integers(2))))
        found = certify(plan, Question(parts, Side.UPPER, delta), "rdp").upper
        assert holds(found, parts, delta, Side.UPPER)
    epsilons = np.abs(rng.normal(size=3)) * 3
    one_way(renyi_curve(parts, epsilons, [draw_number(rng, 2.0, 9.0) for _ in epsilons]))


def laws(rng, parts, side):
    """Laws on random lattices in random windows: what can be laid, in a few tries."""
    losses, counts = [loss for loss, _ in parts], [count for _, count in parts]
    for _ in range(4):
        step = float(np.exp(rng.uniform(-7, 1.5)))
        ends = [sorted(rng.normal(size=2) * 6) for _ in losses]
        ends = [(low, max(high, low + step)) for low, high in ends]
        tilt = float(np.exp(rng.uniform(-4, 4)))
        start, size = int(rng.normal() * 5 / step), int(rng.choice([128, 256, 1024, 2048]))
        slopes = np.exp(rng.normal(size=2) * 2).tolist()
        planned = [max(1, count + int(rng.integers(0, 2))) for count in counts]
        try:
            laid = on_lattices(losses, side, step, ends)
            known = transformed(laid, planned, Window(tilt, start, size, *slopes))
            if known is not None:
                yield law(known, counts if len(counts) == 1 else planned)
        except (CannotCertify, OverflowError):
            continue


@pytest.mark.parametrize("seed", range(DRAWS))
def test_lattices_and_windows_anywhere(seed):
    rng = np.random.default_rng(3 * 10**6 + seed)
    parts, delta = draw_parts(rng), draw_delta(rng)
    for side in Side:
        for known in laws(rng, parts, side):
            window = known.sums.window
            for point in rng.integers(window.start - 2, window.start + window.size + 2, 6).tolist():
                found = in_cell(known, point, delta)
                if found:
                    one_way(found)
            epsilons = rng.normal(size=4) * 4
            one_way(at(known, epsilons)[0])
            if side is Side.LOWER:
                assert at_one(known, 1.0) is None
                continue
            one_way(at_one(known, float(epsilons[0])))
            one_way(in_both_directions(known, np.abs(epsilons))[0])


@pytest.mark.parametrize("seed", range(DRAWS))
def test_what_needs_no_numbers(seed):
    rng = np.random.default_rng(4 * 10**6 + seed)
    parts = draw_parts(rng)
    one_way(by_variation(parts))
    assert by_largest_below(parts).epsilon <= by_largest(parts).epsilon
    for theorem in (by_largest(parts), by_top(parts)):
        if math.isfinite(theorem.epsilon):
            one_way(theorem)
    for side in Side:
        found = once(parts[0][0], min(draw_delta(rng), 0.9), side)
        if found:
            one_way(found)


@pytest.mark.parametrize("seed", range(DRAWS))
def test_theorems_about_something_else(seed):
    """A plan of true theorems about other compositions: what of them counts is true of the question."""
    rng = np.random.default_rng(5 * 10**6 + seed)
    parts, delta = draw_parts(rng), draw_delta(rng)
    others = [parts, draw_parts(rng), tuple(part for part in parts if rng.random() < 0.6)]
    others.append(tuple((loss, max(1, n + int(rng.integers(-1, 2)))) for loss, n in parts))
    others.append((*parts, *draw_parts(rng)))
    theorems = []
    for about in others:
        pairs = tuple(about)
        if pairs:
            epsilon = float(abs(rng.normal())) * 3
            with mpmath.workdps(DIGITS):
                told = float(truth(pairs, epsilon))
            if told > 1e-200:
                above, below = told * (1 + 1e-12), told * (1 - 1e-12)
                theorems += [
                    Spends(pairs, Side.UPPER, epsilon, above, both=False),
                    Spends(pairs, Side.LOWER, epsilon, below, both=False),
                    Curve(pairs, Side.UPPER, np.array([epsilon]), np.array([above]), both=False),
                    Curve(pairs, Side.LOWER, np.array([epsilon]), np.array([below]), both=False),
                ]
    plan = Plan(*theorems)
    asked = [delta, *(one.delta for one in theorems if isinstance(one, Spends))]
    for at_ in asked:
        upper = certify(plan, Question(parts, Side.UPPER, at_), "x").upper
        assert holds(upper, parts, at_, Side.UPPER)
        lower = certify(plan, Question(parts, Side.LOWER, at_), "x").lower
        assert holds(lower, parts, at_, Side.LOWER)
    epsilons = np.abs(rng.normal(size=5)) * 4
    above = certify_each(plan, Question(parts, Side.UPPER, epsilons=epsilons), "x")
    below = certify_each(plan, Question(parts, Side.LOWER, epsilons=epsilons), "x")
    with mpmath.workdps(DIGITS):
        for epsilon, most, least in zip(epsilons.tolist(), above, below, strict=True):
            assert least.lower - ULP <= worse(parts, epsilon) <= most.upper + ULP


@pytest.mark.parametrize("seed", range(DRAWS))
def test_what_is_left_out_is_paid_for(seed):
    rng = np.random.default_rng(6 * 10**6 + seed)
    asked, known = draw_parts(rng), draw_parts(rng)
    if rng.random() < 0.5:
        known = tuple((loss, max(1, n - 1)) for loss, n in asked if rng.random() < 0.8)
    if rng.random() < 0.3:
        options = (asked[:1], known[:1]) if known else (asked[:1],)
        whole, more = ((WorstLoss(options), 1),), excess(((WorstLoss(options), 1),), known)
        assert excess(whole, whole) == 0.0
        choices = options
    else:
        choices, more = (asked,), excess(asked, known)
    epsilon = float(rng.normal() * 2)
    with mpmath.workdps(DIGITS):
        if math.isfinite(more):
            for option in choices:
                assert truth(option, epsilon + more) <= truth(known, epsilon) + ULP
        if contains(asked, known):
            assert truth(known, epsilon) <= truth(asked, epsilon) + ULP
        directed = excess(asked, known, directed=True)
        if math.isfinite(directed):
            assert truth(asked, epsilon + directed) <= truth(known, epsilon) + ULP


def test_an_empty_plan_proves_nothing():
    parts = ((LaplaceLoss(1.0), 3),)
    assert certify(Plan(), Question(parts, Side.UPPER, 1e-6), "x").upper == math.inf
    assert certify(Plan(), Question(parts, Side.LOWER, 1e-6), "x").lower == 0.0
    epsilons = np.array([0.0, 1.0])
    above = certify_each(Plan(), Question(parts, Side.UPPER, epsilons=epsilons), "x")
    below = certify_each(Plan(), Question(parts, Side.LOWER, epsilons=epsilons), "x")
    assert [one.upper for one in above] == [1.0, 1.0]
    assert [one.lower for one in below] == [0.0, 0.0]


# -- good plans are worth it -------------------------------------------------------------------


def test_good_numbers_give_tight_theorems():
    gauss, delta = ((GaussianLoss(1.0), 4),), 1e-5
    with mpmath.workdps(30):
        true = float(mpmath.findroot(lambda e: normal(mpmath.mpf(2), e) - delta, 10))
    assert by_gaussian(gauss, delta, true * (1 + 1e-13)).epsilon == true * (1 + 1e-13)
    assert by_gaussian_below(gauss, delta, true * (1 - 1e-13)).epsilon == true * (1 - 1e-13)
    assert by_gaussian(gauss, delta, 0.0).epsilon == pytest.approx(
        2 + 2 * math.sqrt(10 * math.log(10))
    )
    assert gaussian_curve(gauss, np.array([true])).deltas == pytest.approx([delta])
    assert gaussian_curve_below(gauss, np.array([true])).deltas == pytest.approx([delta])
    low, high = false_negatives(1.0, 0.05, 1.6448536269514722)
    assert max(low, 1 - high) == pytest.approx(0.740489 if low else 0.259511, abs=1e-6)
    around = [around_optimum(0.1, 100, 1e-5, hits) for hits in range(50)]
    (place,) = (one for one in around if one.further == 0)
    assert place.lower == pytest.approx(4.3067913726, rel=1e-9) == place.upper
    assert [one.further for one in around] == sorted((one.further for one in around), reverse=True)
    assert by_renyi(gauss, delta, 4.0, classic=True).epsilon == pytest.approx(8 + math.log(1e5) / 3)
    improved = 8 + math.log(3 / 4) + (math.log(1e5) - math.log(4)) / 3
    assert by_renyi(gauss, delta, 4.0).epsilon == pytest.approx(improved)
    small = ((GaussianLoss(0.1), 1),)
    best = by_renyi(small, 1e-2, 12.0, -3.0).epsilon
    assert best < by_renyi(small, 1e-2, 12.0).epsilon
    assert best == pytest.approx(majorant_epsilon_in_floats(12.0, 0.06, 1e-2, -3.0), rel=1e-9)
    told = renyi_curve(gauss, np.array([14.0]), [6.0]).deltas[0]
    assert told == pytest.approx(math.exp(5 * (12 - 14 + math.log(5 / 6)) - math.log(6)))
    assert by_largest(((LaplaceLoss(0.5), 3),)).epsilon == 1.5
    assert by_largest_below(((LaplaceLoss(0.5), 3),)).epsilon == 1.5


def majorant_epsilon_in_floats(a, divergence, delta, u):
    t = 1 / (1 + math.exp(u))
    room = math.exp((a - 1) * divergence) - t ** (a - 1) * (a - (a - 1) * t)
    y = (t ** (a - 1) + room / (a * delta)) ** (1 / (a - 1))
    return math.log(y * (1 - 1 / a) + delta / room * (a - 1) * t ** (a - 1) * (y - t))


def test_what_is_paid_is_no_more_than_needed():
    one, other, normal_ = LaplaceLoss(0.5), ResponseLoss(0.25), GaussianLoss(3.0)
    asked = ((one, 3), (other, 2), (normal_, 1))
    assert excess(asked, asked) == 0.0
    assert excess(asked, ((normal_, 1),)) == pytest.approx(2.0, rel=1e-14)
    assert excess(asked, ((one, 1), (other, 9), (GaussianLoss(4.0), 1))) == pytest.approx(1.0)
    assert excess(asked, ((one, 3), (other, 2), (GaussianLoss(2.9), 1))) == math.inf
    assert (
        excess(((GaussianLoss(3.0), 1), (GaussianLoss(4.0), 1)), ((GaussianLoss(5.0), 1),)) == 0.0
    )
    assert contains(asked, ((one, 2), (GaussianLoss(2.0), 2)))
    assert not contains(asked, ((one, 4),))
    assert not contains(asked, ((GaussianLoss(2.0), 3),))
    choice = ((WorstLoss((((one, 1),), ((other, 1),))), 2),)
    assert excess(choice, ((one, 2), (other, 2))) == pytest.approx(1.0)  # pure: the worst option
    # Beyond all floats they cost all their options at once.
    wide = ((WorstLoss((((normal_, 1),), ((other, 1),))), 2),)
    assert excess(wide, ((normal_, 2), (other, 2))) == 0.0
    assert excess(wide, ((normal_, 1), (other, 2))) == math.inf


def test_leaks_and_failures_are_taken_out_exactly():
    parts = ((LaplaceLoss(0.5), 2),)
    plan = Plan(by_largest(parts), by_variation(parts))
    leak = Fraction(1, 100)

    def upper(delta, **more):
        return certify(plan, Question(parts, Side.UPPER, delta, **more), "x").upper

    assert upper(0.0) == 1.0
    assert upper(0.01, leak=leak) == 1.0
    assert upper(0.0099, leak=leak) == math.inf
    failing = {"failure": 1e-3}
    assert upper((1 + math.e) * 1.0001e-3, at=1.0, **failing) == 1.0
    assert upper((1 + math.e) * 0.9999e-3, at=1.0, **failing) == math.inf
    assert upper(0.9, at=0.9, **failing) in (0.9, math.inf)
    assert upper(0.5, at=800.0, **failing) == math.inf
    asked = Question(parts, Side.UPPER, epsilons=np.array([1.0, 2.0]), leak=leak, failure=1e-3)
    found = [one.upper for one in certify_each(plan, asked, "x")]
    assert found == pytest.approx([0.01 + (1 + math.e) * 1e-3, 0.01 + (1 + math.e**2) * 1e-3])
    below = Plan(by_largest_below(parts))
    assert certify(below, Question(parts, Side.LOWER, 0.005, leak=leak), "x").lower == math.inf
    half = Fraction(1, 2)
    assert certify(below, Question(parts, Side.LOWER, 0.5, leak=half), "x").lower == 1.0
    lower = certify_each(
        Plan(), Question(parts, Side.LOWER, epsilons=np.array([1.0]), leak=leak), "x"
    )
    assert lower[0].lower == pytest.approx(0.01)
