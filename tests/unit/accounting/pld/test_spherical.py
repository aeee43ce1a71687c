"""Noise of density exp(-|b|): its curve beside integrals and runs that know nothing of the formulas."""

import math

import mpmath
import numpy as np
import pytest
from scipy.special import roots_jacobi, roots_legendre

import dpcheck
from dpcheck.accounting.losses import FiniteLoss, ObjectiveLoss, SphericalLoss
from dpcheck.accounting.pld.pairs.spherical import (
    _removed,
    _replaced,
    _tests,
    deltas,
    exceeds,
)
from dpcheck.mechanisms import PLR, Labelled, exact_loss, flip
from dpcheck.mechanisms.output.noise import spherical_noise
from dpcheck.numerics.side import Side


def gauss(dimension, ratio, epsilon):
    """delta by a product rule over radius and cosine: the definition, and nothing else."""
    nodes, weights = roots_jacobi(4000, (dimension - 3) / 2, (dimension - 3) / 2)
    weights = weights / weights.sum()
    x, w = roots_legendre(4000)
    top = dimension + 40 * math.sqrt(dimension) + 60
    r = (x + 1) * top / 2
    density = np.exp((dimension - 1) * np.log(r) - r - math.lgamma(dimension)) * w * top / 2
    total = 0.0
    for radius, mass in zip(r, density, strict=True):
        if mass > 1e-18:
            loss = np.sqrt(radius**2 + 2 * radius * ratio * nodes + ratio**2) - radius
            total += mass * float(weights @ np.maximum(-np.expm1(epsilon - loss), 0.0))
    return total


@pytest.mark.parametrize(("dimension", "ratio"), [(2, 1.0), (3, 4.0), (20, 1.0), (60, 5.0)])
def test_delta_is_the_integral_over_radius_and_angle(dimension, ratio):
    for share in (0.0, 0.2, 0.5):
        low, high = deltas(SphericalLoss(ratio, dimension), np.array([share * ratio]))
        truth = gauss(dimension, ratio, share * ratio)
        if truth > 1e-9:
            assert low[0] <= truth * (1 + 1e-4)
            assert high[0] >= truth * (1 - 1e-4)
            assert high[0] - low[0] < 0.02 * truth
            # With few cells the sides are far apart, and still sides.
            low, high = deltas(SphericalLoss(ratio, dimension), np.array([share * ratio]), cells=24)
            assert low[0] < truth < high[0]


def test_both_errors_widen_delta():
    """delta = P - e^eps Q: what is not known of either stands on both sides."""
    loss, epsilon = SphericalLoss(2.0, 8), np.array([0.5])
    p_low, p_high, q_low, q_high = _tests(loss, epsilon, 24)
    low, high = deltas(loss, epsilon, cells=24)
    assert low[0] == pytest.approx(p_low[0] - math.exp(0.5) * q_high[0])
    assert high[0] == pytest.approx(p_high[0] - math.exp(0.5) * q_low[0])
    assert p_low[0] < p_high[0]
    assert q_low[0] < q_high[0]


def test_tails_keep_their_digits():
    """P(L > l) at 60 digits, where floats might not do."""
    mpmath.mp.dps = 60
    dimension, ratio = 20, 1.0
    half = mpmath.mpf(dimension - 1) / 2
    for level in (0.3, 0.95, 0.999):
        start = (mpmath.mpf(ratio) - level) / 2

        def chance(r, level=level):
            cosine = mpmath.mpf(level) / ratio + (mpmath.mpf(level) ** 2 - ratio**2) / (
                2 * r * ratio
            )
            inside = mpmath.betainc(half, half, 0, (1 - cosine) / 2, regularized=True)
            return mpmath.re(
                r ** (dimension - 1) * mpmath.exp(-r) / mpmath.gamma(dimension) * inside
            )

        knots = [start + step for step in (0, 1, 3, 8, 15, 25, 40, 70, 120, 200)]
        truth = mpmath.re(mpmath.gammainc(dimension, 0, start, regularized=True))
        truth += mpmath.quad(chance, knots)
        low, high = exceeds(SphericalLoss(ratio, dimension), np.array([level]))
        assert low[0] <= truth <= high[0]
        assert high[0] / low[0] < 1.002


def curve(pair: FiniteLoss, epsilon):
    p, q = np.array(pair.p), np.array(pair.q)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("loss", [SphericalLoss(1.0, 3), SphericalLoss(6.0, 30)])
def test_tables_are_on_their_sides(loss):
    upper, lower = loss.table(Side.UPPER), loss.table(Side.LOWER)
    for epsilon in np.linspace(-1.0, 1.0, 41) * loss.ratio:
        low, high = (float(side[0]) for side in deltas(loss, np.array([epsilon])))
        assert curve(upper, epsilon) >= low - 1e-13
        assert curve(lower, epsilon) <= high + 1e-13
        assert curve(upper, epsilon) - curve(lower, epsilon) < 2e-3
    for pair in (upper, lower):
        assert math.fsum(pair.p) == pytest.approx(1, abs=1e-12)
        assert sorted(pair.p) == sorted(pair.q)


def test_a_longer_shift_costs_more_and_more_dimensions_less():
    at = np.linspace(0, 0.9, 10)
    short, long, wide = (
        deltas(SphericalLoss(ratio, dimension), at)
        for ratio, dimension in ((1.0, 5), (1.2, 5), (1.0, 10))
    )
    assert (long[0] > short[1]).all()
    assert (wide[1] < short[0]).all()


def test_events_without_a_dimension_are_what_they_were():
    bare = dpcheck.OutputPerturbation(5.0, 0.2)
    known = dpcheck.OutputPerturbation(5.0, 0.2, dimension=20)
    assert bare.dimension is None
    pure = [dpcheck.epsilon(event, delta=0, adjacency="replace-one") for event in (bare, known)]
    assert (pure[0].lower, pure[0].upper) == (pure[1].lower, pure[1].upper)
    assert dpcheck.epsilon(bare, delta=1e-5, adjacency="replace-one").upper > 0.999
    found = dpcheck.epsilon(known, delta=1e-5, adjacency="replace-one")
    assert 0.69 < found.lower <= found.upper < 0.70
    laplace = dpcheck.OutputPerturbation(5.0, 0.2, dimension=1)
    one = dpcheck.epsilon(laplace, delta=0.1, adjacency="replace-one")
    # Laplace: delta = 1 - e^((eps - 1)/2).
    assert one.lower <= 1 + 2 * math.log(0.9) <= one.upper
    with pytest.raises(dpcheck.DpcheckError, match="dimension"):
        dpcheck.OutputPerturbation(1.0, 1.0, dimension=0)


def test_composition_of_spherical_noise_covers_sums_of_runs():
    rng, dimension, times = np.random.default_rng(0), 10, 8
    event = dpcheck.OutputPerturbation(1.0, 1.0, dimension=dimension) * times
    total = np.zeros(200_000)
    for _ in range(times):
        noise = spherical_noise(1.0, dimension, len(total), rng)
        moved = noise.copy()
        moved[:, 0] += 1.0
        total += np.linalg.norm(moved, axis=1) - np.linalg.norm(noise, axis=1)
    for epsilon in (0.5, 1.5, 2.5):
        gains = np.maximum(-np.expm1(epsilon - total), 0.0)
        error = 6 * gains.std() / math.sqrt(len(gains))
        bound = dpcheck.delta(event, epsilon=epsilon, adjacency="replace-one")
        assert bound.lower <= gains.mean() + error
        assert bound.upper >= gains.mean() - error


def test_removal_is_never_below_a_slope_that_is_chosen_by_the_output():
    """The attacker who sees the noise picks the slope: what the bound is the supremum of."""
    rng = np.random.default_rng(1)
    for dimension, ratio, curvature in ((3, 0.5, 0.1), (10, 1.0, 5.0), (2, 0.2, 40.0)):
        loss = ObjectiveLoss(50.0, 0.0, ratio, curvature, dimension)
        noise = spherical_noise(1.0, dimension, 100_000, rng)
        shares = np.linspace(0, 1, 33)
        best = np.full(len(noise), -np.inf)
        for s in shares:
            moved = noise.copy()
            moved[:, 0] += s * ratio
            length = np.linalg.norm(moved, axis=1) - np.linalg.norm(noise, axis=1)
            best = np.maximum(best, length + math.log1p(curvature * s * (1 - s)))
        for epsilon in (0.0, 0.1, 0.3, 1.0):
            gains = np.maximum(-np.expm1(epsilon - best), 0.0)
            error = 6 * gains.std() / math.sqrt(len(gains))
            bound = float(_removed(loss, np.array([epsilon]))[0])
            assert bound >= gains.mean() - error
            assert bound <= gains.mean() + error + 0.01  # and not far above


def test_two_steps_cost_what_two_steps_cost():
    """P(S) <= e^e1 Q(S) + d1 and Q(S) <= e^e2 R(S) + d2 give e^(e1+e2) and d1 + e^e1 d2, no less."""
    loss = ObjectiveLoss(3.0, 0.0, 1.0, 0.3, 12)
    epsilons = np.array([0.2, 0.6, 1.2])
    for epsilon, found in zip(epsilons, _replaced(loss, epsilons), strict=True):
        first = np.linspace(0, epsilon, 129)  # with the splits that are tried, and finer
        removal = _removed(loss, first)
        addition = deltas(SphericalLoss(1.0, 12), epsilon - first)[0]
        naive = float(np.min(removal + np.exp(first) * addition))
        pure = (math.exp(3.0) - math.exp(epsilon)) / (1 + math.exp(3.0))
        assert min(naive, pure) * (1 - 1e-9) <= found < 1.2 * min(naive, pure)


@pytest.mark.parametrize(("dimension", "lam"), [(2, 0.05), (6, 0.002), (6, 0.5)])
def test_the_curve_of_objective_perturbation_covers_real_runs(dimension, lam):
    """Replaced rows in many positions, with and without flipped labels, by the model's own density."""
    rng, n = np.random.default_rng(2), 40
    model = PLR(1.0, lam)
    blank = Labelled(np.zeros((n, dimension)), np.ones(n))
    event = model.release_event("data", blank)
    assert event.dimension == dimension
    epsilons = [0.0, 0.1, 0.2, 0.4]
    bounds = dpcheck.delta(event, epsilon=epsilons, adjacency="replace-one")
    for trial in range(12):
        X = rng.standard_normal((n, dimension))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        if trial % 3 == 0:
            X[1:] = 0
        other, y, z = X.copy(), np.ones(n), np.ones(n)
        other[0] = -X[0] if trial % 2 else rng.standard_normal(dimension)
        other[0] /= np.linalg.norm(other[0])
        z[0] = -1.0 if trial % 4 == 1 else 1.0
        first, second = Labelled(X, y), Labelled(other, z)
        releases = model.sample_releases(first, 4000, rng)
        losses = np.asarray(exact_loss(model, first, second, releases))
        for epsilon, bound in zip(epsilons, bounds, strict=True):
            gains = np.maximum(-np.expm1(epsilon - losses), 0.0)
            error = 6 * gains.std() / math.sqrt(len(gains)) + 1e-4
            assert bound.upper >= gains.mean() - error


def test_a_flipped_label_is_the_lower_side_of_objective_perturbation():
    rng = np.random.default_rng(3)
    model = PLR(2.0, 0.1)
    blank = Labelled(np.zeros((30, 4)), np.ones(30))
    witness = flip(model, blank)
    releases = model.sample_releases(witness.data, 40_000, rng)
    losses = np.asarray(exact_loss(model, witness.data, witness.neighbour, releases))
    event = model.release_event("data", blank)
    for epsilon in (0.0, 0.3, 0.7):
        gains = np.maximum(-np.expm1(epsilon - losses), 0.0)
        error = 6 * gains.std() / math.sqrt(len(gains))
        exact = deltas(SphericalLoss(event.noise_epsilon / 2, 4), np.array([epsilon]))
        assert exact[0][0] - error <= gains.mean() <= exact[1][0] + error
        bound = dpcheck.delta(event, epsilon=epsilon, adjacency="replace-one")
        assert bound.lower == pytest.approx(exact[0][0], rel=0.02)
        assert bound.upper >= exact[0][0]
