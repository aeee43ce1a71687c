"""Objective perturbation with either noise: upper curves beside the exact delta of bad pairs of datasets.

The exact delta is an integral over the noise of the definition: the minimiser is solved for, and its two
densities follow from the noise behind it and the Jacobian. Nothing of the bounds is used.
"""

import math

import mpmath
import numpy as np
import pytest
from scipy.special import expit, roots_legendre
from scipy.stats import norm

import dpcheck
from dpcheck.accounting.certify.gaussian import gdp_delta
from dpcheck.accounting.losses import FiniteLoss, GaussianObjectiveLoss
from dpcheck.accounting.pld.pairs.objective import _at_once, deltas_above

EPSILONS = [0.0, 0.05, 0.2, 0.5, 1.0, 2.0]


class Rows:
    """Rows times labels, modulus and centre of a ridge: noise and Jacobian at many outputs."""

    def __init__(self, rows, modulus, centre):
        self.rows, self.modulus = np.atleast_2d(np.array(rows, dtype=float)), modulus
        self.centre = np.array(centre, dtype=float)

    def noise(self, w):
        return expit(-w @ self.rows.T) @ self.rows - self.modulus * (w - self.centre)

    def jacobian(self, w):
        s = expit(w @ self.rows.T)
        curved = np.einsum("wn,ni,nj->wij", s * (1 - s), self.rows, self.rows)
        return curved + self.modulus * np.eye(self.rows.shape[1])

    def minimiser(self, noise):
        """Newton, halved where it goes too far."""
        w = self.centre - noise / self.modulus
        for _ in range(200):
            left = noise - self.noise(w)
            if np.abs(left).max() < 1e-10 * (1 + np.abs(noise).max()):
                return w
            step = np.linalg.solve(self.jacobian(w), left[:, :, None])[:, :, 0]
            share = np.ones((len(w), 1))
            for _ in range(40):
                after = np.linalg.norm(noise - self.noise(w - share * step), axis=1)
                bad = after > np.linalg.norm(left, axis=1)
                share[bad] /= 2
                if not bad.any():
                    break
            w = w - share * step
        raise AssertionError("the minimiser was not found")


def normal_grid(dimension, scale):
    """Nodes and probabilities of the noise N(0, scale^2 I)."""
    x = np.linspace(-8, 8, 8001 if dimension == 1 else 141)
    mass = norm.pdf(x) * (x[1] - x[0])
    axes = np.meshgrid(*[x] * dimension, indexing="ij")
    weights = np.prod(np.meshgrid(*[mass] * dimension, indexing="ij"), axis=0).ravel()
    return scale * np.stack([a.ravel() for a in axes], axis=1), weights


def exact_losses(first, second, noise, log_density):
    w = first.minimiser(noise)
    dets = [np.linalg.slogdet(side.jacobian(w))[1] for side in (first, second)]
    return log_density(noise) - log_density(second.noise(w)) + dets[0] - dets[1]


def deltas(losses, weights, epsilons):
    return np.array([weights @ np.maximum(-np.expm1(e - losses), 0.0) for e in epsilons])


# name: (changed row, what it becomes, the others, centre), the norm bound being 1. Far centres make slopes
# next to 1, bad at large epsilons; a flipped label is bad at small ones; others are for their determinants.
PAIRS = {
    "removed": ([1.0], [0.0], [], [-6.0]),
    "removed, determinants": ([1.0], [0.0], [], [0.5]),
    "added": ([0.0], [1.0], [], [-3.0]),
    "flipped": ([1.0], [-1.0], [[1.0]], [0.0]),
    "shrunk": ([1.0], [0.2], [[-1.0]], [1.0]),
    "fork": ([-0.3, 0.954], [-0.3, -0.954], [], [20.0, 0.0]),
    "fork, determinants": ([-0.6, 0.8], [-0.6, -0.8], [], [2.0, 0.0]),
    "turned": ([1.0, 0.0], [0.0, 1.0], [[-0.7, 0.7]], [-1.0, 0.0]),
    "removed beside others": ([1.0, 0.0], [0.0, 0.0], [[0.6, 0.8]], [-2.0, 1.0]),
}
SETTINGS = [(0.7, 0.5), (2.0, 0.2), (4.0, 3.0)]  # noise multiplier, modulus


def sides(pair, modulus, width=None):
    changed, replaced, others, centre = PAIRS[pair]
    width = width or len(changed)
    wide = [np.pad(row, (0, width - len(row))) for row in (changed, replaced, centre, *others)]
    return [Rows([row, *wide[3:]], modulus, wide[2]) for row in wide[:2]]


def observed(pair, noise_multiplier, modulus):
    first, second = sides(pair, modulus)
    grid, weights = normal_grid(first.rows.shape[1], noise_multiplier)

    def log_density(noise):
        return -0.5 * (noise**2).sum(axis=1) / noise_multiplier**2

    return deltas(exact_losses(first, second, grid, log_density), weights, EPSILONS)


def event(noise_multiplier, modulus):
    return dpcheck.GaussianObjectivePerturbation(noise_multiplier, 2, modulus / 2)


@pytest.mark.parametrize(("noise", "modulus"), SETTINGS)
@pytest.mark.parametrize("pair", PAIRS)
def test_gaussian_noise_covers_the_exact_delta(pair, noise, modulus):
    found = observed(pair, noise, modulus)
    null = not any(PAIRS[pair][0]) or not any(PAIRS[pair][1])
    for adjacency in ("replace-one", "zero-out") if null else ("replace-one",):
        bounds = dpcheck.delta(event(noise, modulus), epsilon=EPSILONS, adjacency=adjacency)
        for exact, bound in zip(found, bounds, strict=True):
            assert exact <= bound.upper * (1 + 1e-3) + 1e-9


def spherical_grid(dimension, scale):
    """Nodes and probabilities of noise of density exp(-|b|/scale) in the plane."""
    assert dimension == 2
    x, w = roots_legendre(160)
    r, share = 20 * (x + 1), 20 * w
    angle = np.arange(96) * 2 * math.pi / 96
    r, angle = (axis.ravel() for axis in np.meshgrid(r, angle, indexing="ij"))
    weights = np.repeat(share, 96) * r * np.exp(-r) / 96
    return scale * np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1), weights


@pytest.mark.parametrize(("noise_epsilon", "modulus"), [(1.0, 2.0), (2.0, 0.2), (0.5, 0.05)])
@pytest.mark.parametrize("pair", PAIRS)
def test_spherical_noise_covers_the_exact_delta(pair, noise_epsilon, modulus):
    """The last setting has determinants of up to a factor of 6."""
    first, second = sides(pair, modulus, width=2)
    grid, weights = spherical_grid(2, 2 / noise_epsilon)
    assert weights.sum() == pytest.approx(1, abs=1e-9)
    losses = exact_losses(
        first, second, grid, lambda b: -noise_epsilon / 2 * np.linalg.norm(b, axis=1)
    )
    claimed = dpcheck.ObjectivePerturbation(noise_epsilon, 2, modulus / 2, dimension=2)
    assert losses.max() <= dpcheck.epsilon(claimed, delta=0, adjacency="replace-one").upper
    bounds = dpcheck.delta(claimed, epsilon=EPSILONS, adjacency="replace-one")
    for exact, bound in zip(deltas(losses, weights, EPSILONS), bounds, strict=True):
        assert exact <= bound.upper * (1 + 5e-3) + 1e-9


def test_the_lower_side_is_approached():
    """A centre far away makes every slope 1: the minimiser is the Gaussian answer it is bounded by."""
    first, second = (
        Rows([[-0.05, 0.99875]], 3.0, [900.0, 0.0]),
        Rows([[-0.05, -0.99875]], 3.0, [900.0, 0.0]),
    )
    grid, weights = normal_grid(2, 1.5)
    losses = exact_losses(first, second, grid, lambda b: -0.5 * (b**2).sum(axis=1) / 1.5**2)
    for epsilon in (0.5, 1.0, 2.0):
        bound = dpcheck.delta(event(1.5, 3.0), epsilon=epsilon, adjacency="replace-one")
        exact = deltas(losses, weights, [epsilon])[0]
        assert bound.lower * 0.98 <= exact <= bound.upper
    first, second = Rows([[1.0]], 3.0, [-40.0]), Rows([[0.0]], 3.0, [-40.0])
    grid, weights = normal_grid(1, 1.5)
    losses = exact_losses(first, second, grid, lambda b: -0.5 * (b**2).sum(axis=1) / 1.5**2)
    bound = dpcheck.delta(event(1.5, 3.0), epsilon=0.5, adjacency="zero-out")
    assert bound.lower == pytest.approx(deltas(losses, weights, [0.5])[0], rel=1e-4)


def worst_by_the_noise(loss, epsilons):
    """What step 3 bounds, for every angle, by brute force: who sees the noise chooses the slopes."""
    x = np.linspace(-7, 7, 201)
    z1, z2 = (axis.ravel() for axis in np.meshgrid(x, x))
    weights = norm.pdf(z1) * norm.pdf(z2) * (x[1] - x[0]) ** 2
    worst = np.zeros(len(epsilons))
    slopes = np.linspace(0, 1, 15)
    for angle in np.linspace(0, math.pi, 9):
        best = np.full(len(z1), -np.inf)
        for s in slopes:
            for other in slopes if loss.replaced else (0.0,):
                x1 = loss.shift * (s + other * math.cos(angle))
                x2 = loss.shift * other * math.sin(angle)
                found = z1 * x1 + z2 * x2 + (x1**2 + x2**2) / 2
                best = np.maximum(best, found + math.log1p(loss.curvature * s * (1 - s)))
        worst = np.maximum(worst, deltas(best, weights, epsilons))
    return worst


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(("shift", "curvature"), [(0.3, 0.1), (1.0, 2.0), (0.5, 0.0)])
def test_the_curve_covers_slopes_that_are_chosen_by_the_noise(shift, curvature, replaced):
    loss = GaussianObjectiveLoss(shift, curvature, replaced)
    epsilons = np.array([0.0, 0.05, 0.1, 0.3, 0.6, 1.0, 1.5, 2.5, 4.0])
    truth = worst_by_the_noise(loss, epsilons)
    found = deltas_above(loss, epsilons)
    assert (found >= truth * (1 - 1e-2) - 1e-9).all()
    # And it is not far above: twice, until the tail, where replacing is one Gaussian answer.
    assert (found <= 2.2 * truth + 0.15).all()


def gaussian(epsilon, shift):
    return mpmath.ncdf(shift / 2 - epsilon / shift) - mpmath.exp(epsilon) * mpmath.ncdf(
        -shift / 2 - epsilon / shift
    )


@pytest.mark.parametrize(("shift", "curvature"), [(0.3, 0.1), (1.0, 2.0), (0.2, 30.0)])
def test_the_bounds_are_those_of_the_proof(shift, curvature):
    """Steps 4 to 8 word by word, at 40 digits: which of them is least, nobody has to know."""
    c, k = mpmath.log(1 + mpmath.mpf(curvature) / 4), mpmath.mpf(curvature)

    def after(start, epsilon, curve):
        if epsilon >= start:
            return curve(epsilon - start)
        return 1 - mpmath.exp(epsilon - start) * (1 - min(curve(mpmath.mpf(0)), 1))

    def removed(epsilon):
        late = after(c, epsilon, lambda e: gaussian(e, shift))
        return min(late, gaussian(epsilon, shift)) if epsilon >= c + k else late

    def at_once(epsilon):
        late = after(c, epsilon, lambda e: gaussian(e, 2 * shift) + 2 * gaussian(e, shift))
        if epsilon < c + k:
            return late
        parts = (
            gaussian(epsilon, 2 * shift),
            gaussian(epsilon, shift),
            gaussian(epsilon - c - k, shift),
        )
        return min(late, sum(parts))

    def in_turn(epsilon):
        firsts = [epsilon * i / 32 for i in range(33)]
        return min(removed(e) + mpmath.exp(e) * gaussian(epsilon - e, shift) for e in firsts)

    epsilons = [
        0.0,
        0.5 * float(c),
        float(c) + 0.07,
        float(c + k) * 1.001,
        float(c + k) + 3 * shift,
    ]
    with mpmath.workdps(40):
        for epsilon in epsilons:
            alone = deltas_above(
                GaussianObjectiveLoss(shift, curvature, False), np.array([epsilon])
            )
            assert alone[0] == pytest.approx(float(min(removed(epsilon), 1)), rel=1e-6)
            one = GaussianObjectiveLoss(shift, curvature, True)
            both = deltas_above(one, np.array([epsilon]))
            truth = min(in_turn(epsilon), at_once(epsilon), 1)
            assert both[0] == pytest.approx(float(truth), rel=1e-6)
            separate = _at_once(one, shift, np.array([epsilon]))
            assert min(separate[0], 1) == pytest.approx(float(min(at_once(epsilon), 1)), rel=1e-6)


@pytest.mark.parametrize("replaced", [False, True])
def test_the_table_is_above_what_it_bounds(replaced):
    """It is the hull of the curve, and above the Gaussian answer that the mechanism may be."""
    for shift, curvature in ((1e-5, 0.3), (0.3, 0.1), (2.0, 0.5), (0.2, 50.0)):
        loss = GaussianObjectiveLoss(shift, curvature, replaced)
        table = loss.table()
        assert isinstance(table, FiniteLoss)
        p, q = np.array(table.p), np.array(table.q)
        assert sorted(table.p) == sorted(table.q)
        assert math.fsum(p) == pytest.approx(1, abs=1e-12)
        at = np.linspace(0, 0.9 * (loss.bend + loss.curvature + 12 * loss.steepness), 57)
        for epsilon, above in zip(at.tolist(), deltas_above(loss, at), strict=True):
            curve = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
            assert (
                gdp_delta(loss.steepness, epsilon)[0] * (1 - 1e-9) <= curve <= 1.3 * above + 1e-60
            )


def test_renyi_divergences_cover_slopes_that_are_chosen_by_the_noise():
    for replaced in (False, True):
        loss = GaussianObjectiveLoss(0.8, 1.0, replaced)
        orders = np.array([1.5, 2.0, 4.0])
        x = np.linspace(-9, 9, 4001)
        weights = norm.pdf(x) * (x[1] - x[0])
        best = np.full(len(x), -np.inf)
        for s in np.linspace(0, 1, 41):
            for other in (0.0, 1.0) if replaced else (0.0,):
                y = loss.shift * (s + other)
                best = np.maximum(
                    best, x * y + y * y / 2 + math.log1p(loss.curvature * s * (1 - s))
                )
        for order, bound in zip(orders, loss.renyi(orders), strict=True):
            truth = math.log(weights @ np.exp((order - 1) * best)) / (order - 1)
            assert truth <= bound < truth + 2.5


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_never_above_the_theorem_of_kifer_smith_and_thakurta(epsilon, delta):
    """[Kifer2012] Theorem 2: sigma^2 = q^2 (8 log(2/delta) + 4 eps)/eps^2 and a modulus of 2 (q^2/4)/eps are
    enough where a record comes or goes and the regulariser stays."""
    noise = math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon
    spent = dpcheck.epsilon(event(noise, 0.5 / epsilon), delta=delta, adjacency="zero-out")
    assert spent.upper < 0.95 * epsilon


def test_what_it_costs():
    plain = event(3.7, 20.0)
    for delta in (1e-3, 1e-6, 1e-30):
        bound = dpcheck.epsilon(plain, delta=delta, adjacency="replace-one")
        assert (
            bound.lower
            == dpcheck.epsilon(dpcheck.Gaussian(3.7), delta=delta, adjacency="replace-one").lower
        )
        assert bound.upper < bound.lower * 1.002
    assert dpcheck.epsilon(plain, delta=1e-6, adjacency="add-remove").lower == math.inf
    assert dpcheck.epsilon(plain, delta=0, adjacency="replace-one").lower == math.inf
    grouped = dpcheck.epsilon(dpcheck.Grouped(plain, 2), delta=1e-6, adjacency="replace-one")
    assert grouped.lower > 2 * bound.lower / 8
    assert math.isfinite(grouped.upper)
    many = dpcheck.epsilon(plain * 20, delta=1e-6, adjacency="replace-one")
    gaussian = dpcheck.epsilon(dpcheck.Gaussian(3.7) * 20, delta=1e-6, adjacency="replace-one")
    assert gaussian.upper <= many.upper < 1.02 * gaussian.upper
    with pytest.raises(dpcheck.InvalidParameter, match="regularization"):
        dpcheck.GaussianObjectivePerturbation(1.0, 10, 0.0)
