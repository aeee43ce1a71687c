"""Exact losses against closed forms, mpmath and a second program."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpcheck.accounting.losses import FiniteLoss
from dpcheck.core.budget import Budget
from dpcheck.replay import FindingKind, examine
from dpcheck.replay.draws import Atom, Family
from dpcheck.replay.losses.families import ABOVE, BELOW, between
from dpcheck.replay.losses.parts import RELATIVE, Part, epsilon_of, finite_part
from dpcheck.replay.losses.shifts import shifted
from dpcheck.replay.losses.stars import probability
from dpcheck.replay.recorder import Constraint

ZERO, ONE = np.array([0.0, 0.0]), np.array([1.0, 0.0])
SCIPY = {
    Family.LAPLACE: stats.laplace,
    Family.NORMAL: stats.norm,
    Family.UNIFORM: stats.uniform,
    Family.EXPONENTIAL: stats.expon,
    Family.GUMBEL: stats.gumbel_r,
    Family.LOGISTIC: stats.logistic,
    Family.CAUCHY: stats.cauchy,
}


@pytest.mark.parametrize("family", SCIPY)
def test_distribution_functions(family):
    x = np.linspace(-6, 9, 61)
    np.testing.assert_allclose(BELOW[family](x), SCIPY[family].cdf(x), rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(ABOVE[family](x), SCIPY[family].sf(x), rtol=1e-11, atol=1e-300)
    mass = between(family, x[:-1], x[1:])
    assert abs(mass.sum() - (SCIPY[family].cdf(9) - SCIPY[family].cdf(-6))) < 1e-12


@pytest.mark.parametrize("family", [Family.LAPLACE, Family.LOGISTIC, Family.CAUCHY])
@pytest.mark.parametrize("shift", [0.3, 1.0, 2.5])
def test_largest_loss_of_a_shift(family, shift):
    """Against the largest log ratio of scipy's densities on a dense grid."""
    x = np.linspace(-60, 60, 2_400_001)
    law = SCIPY[family]
    ratio = law.logpdf(x) - law.logpdf(x - shift)
    forward, backward, _ = shifted(Atom(family, 0), shift)
    assert ratio.max() <= forward + 1e-9
    assert ratio.max() >= forward * (1 - 1e-6)
    assert backward == forward


@pytest.mark.parametrize("shift", [0.4, -0.4])
def test_one_sided_laws(shift):
    """Exponential: log p(z)/p(z - s) is infinite on one side and s on the other."""
    forward, backward, loss = shifted(Atom(Family.EXPONENTIAL, 0), shift)
    finite = min(forward, backward)
    assert finite == pytest.approx(0.4)
    assert max(forward, backward) == math.inf
    seen = 1 - math.exp(-0.4)
    assert max(abs(a - b) for a, b in zip(loss.p, loss.q, strict=True)) == pytest.approx(seen)


def test_discrete_noise_moved_by_a_fraction_is_told_apart():
    assert shifted(Atom(Family.DISCRETE_LAPLACE, 0, 2.0), 0.5)[0] == math.inf
    assert shifted(Atom(Family.DISCRETE_LAPLACE, 0, 2.0), 3.0)[0] == 1.5


def gaussian(mu: float, delta: float) -> float:
    """epsilon by bisection on mpmath's distribution function at 50 digits."""
    with mpmath.workdps(50):
        low, high = mpmath.mpf(0), mpmath.mpf(60)
        for _ in range(120):
            e = (low + high) / 2
            value = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
            low, high = (e, high) if value > delta else (low, e)
        return float(low)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_gaussian_curve(sigma):
    def noisy(data, rng):
        return data.sum() + rng.normal(0, sigma)

    finding = examine(noisy, (ZERO, ONE))
    assert finding.kind is FindingKind.EXACT
    lower = finding.epsilon(1e-5).lower
    true = gaussian(1 / sigma, 1e-5)
    assert true * (1 - 1e-6) <= lower <= true


def test_sums_of_gaussians_are_one():
    def noisy(data, rng):
        z = rng.normal(size=8)
        return [data.sum() + z[:4].sum(), 2 * data.sum() + z[2:].sum()]

    lower = examine(noisy, (ZERO, ONE)).epsilon(1e-5).lower
    a = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1, 1]], dtype=float)
    s = np.array([1.0, 2.0])
    mu = math.sqrt(s @ np.linalg.inv(a @ a.T) @ s)
    assert lower == pytest.approx(gaussian(mu, 1e-5), rel=1e-6)


def test_sums_of_laplaces_cost_a_linear_program():
    """Two noises in each of two outputs, one shared: the dual optimum by hand.

    y = (f + z0 + z1, g + z1 + z2) with scales 1, 2, 1 and shift (1, 1): moving z1 alone costs 1/2.
    """

    def noisy(data, rng):
        z = rng.laplace(scale=np.array([1.0, 2.0, 1.0]))
        return data.sum() + z[0] + z[1], data.sum() + z[1] + z[2]

    assert examine(noisy, (ZERO, ONE)).epsilon().lower == pytest.approx(0.5, rel=1e-6)


def test_sum_of_two_laplaces_against_the_density():
    """sup of the loss of z0 + z1 shifted by 1 is 1/max scale, approached in the tail."""

    def noisy(data, rng):
        return data.sum() + rng.laplace(scale=1.0) + rng.laplace(scale=0.5)

    lower = examine(noisy, (ZERO, ONE)).epsilon().lower

    def density(x):  # of Laplace(1) + Laplace(1/2), by partial fractions
        return (mpmath.exp(-abs(x)) - mpmath.exp(-2 * abs(x)) / 2) * 2 / 3

    with mpmath.workdps(40):
        far = [float(mpmath.log(density(x) / density(x + 1))) for x in (1, 5, 20, 60)]
    assert lower == pytest.approx(1.0, rel=1e-8)
    assert far[-1] == pytest.approx(1.0, abs=1e-9)
    assert max(far) <= 1.0 + 1e-12


def test_mixed_noise_at_a_delta():
    """Laplace and Gaussian outputs together, against a numerical convolution of the two losses."""

    def noisy(data, rng):
        return data.sum() + rng.laplace(scale=1.0), data.sum() + rng.normal(scale=1.0)

    lower = examine(noisy, (ZERO, ONE)).epsilon(1e-3).lower
    z = np.linspace(-30, 30, 20_001)
    loss = np.abs(z + 1) - np.abs(z)  # of Laplace noise z moved by -1
    weight = stats.laplace.pdf(z) * (z[1] - z[0])

    def delta(e):
        x = e - loss
        return float(weight @ (stats.norm.sf(x - 0.5) - np.exp(x) * stats.norm.sf(x + 0.5)))

    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > 1e-3 else (low, middle)
    assert lower == pytest.approx(low, rel=2e-3)
    assert lower <= low * (1 + 1e-3)


def test_scale_that_depends_on_the_data_at_a_delta():
    """N(0, 1) against N(0, 4): delta(eps) by integrating the densities."""

    def noisy(data, rng):
        return rng.normal(scale=1.0 + data[0])

    finding = examine(noisy, (ZERO, ONE))
    assert finding.epsilon().lower == math.inf
    lower = finding.epsilon(0.01).lower
    x = np.linspace(-40, 40, 400_001)
    p, q = stats.norm.pdf(x, scale=2.0), stats.norm.pdf(x)
    step = x[1] - x[0]

    def delta(e):
        return max(
            np.maximum(p - np.exp(e) * q, 0).sum() * step,
            np.maximum(q - np.exp(e) * p, 0).sum() * step,
        )

    low, high = 0.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > 0.01 else (low, middle)
    assert 0.9 * low <= lower <= low * (1 + 1e-6)


def test_one_threshold_and_two_gaussians():
    atoms = [Atom(Family.NORMAL, 0), Atom(Family.NORMAL, 0)]
    low, high = probability([Constraint(((0, 1.0), (1, -2.0)), 0.3)], atoms)
    true = stats.norm.cdf(0.3 / math.sqrt(5))
    assert low <= true <= high
    assert high - low < 1e-9


@pytest.mark.parametrize(
    "family", [Family.LAPLACE, Family.EXPONENTIAL, Family.NORMAL, Family.GUMBEL]
)
def test_argmax_probabilities_enclose_a_quadrature(family):
    """P(first wins) by scipy's quad on the density of the winner."""
    from scipy.integrate import quad

    law = SCIPY[family]
    bases = (0.7, 0.0, -0.4)
    atoms = [Atom(family, 0)] * 3
    constraints = [Constraint(((0, 1.0), (k, -1.0)), bases[0] - bases[k]) for k in (1, 2)]
    low, high = probability(constraints, atoms)
    start = 0.0 if family is Family.EXPONENTIAL else -6.0
    parts = [start, 0.0, 3.0, 12.0, 60.0]  # below -6 no law here has 1e-8 left that could win
    true = sum(
        quad(lambda z: law.pdf(z) * law.cdf(z + 0.7) * law.cdf(z + 1.1), a, b, limit=400)[0]
        for a, b in itertools.pairwise(parts)
    )
    assert low <= true * (1 + 1e-7)
    assert high >= true * (1 - 1e-7)
    assert high - low < 3e-4


def test_sparse_vector_path_encloses_a_quadrature():
    """Two queries below a noisy threshold, the third above."""
    from scipy.integrate import quad

    atoms = [Atom(Family.LAPLACE, 0)] * 4
    scale = 2.0  # of the threshold; queries have twice that
    constraints = [
        Constraint(((0, scale), (1, -2 * scale)), 0.5 - 0.0),
        Constraint(((0, scale), (2, -2 * scale)), 0.5 - 1.0),
        Constraint(((0, -scale), (3, 2 * scale)), 2.0 - 0.5),
    ]
    low, high = probability(constraints, atoms)
    cdf, sf, pdf = stats.laplace.cdf, stats.laplace.sf, stats.laplace.pdf
    true = quad(
        lambda z: (
            pdf(z)
            * cdf((0.5 + scale * z) / 4)
            * cdf((-0.5 + scale * z) / 4)
            * sf((-1.5 + scale * z) / 4)
        ),
        -np.inf,
        np.inf,
        limit=400,
    )[0]
    assert low <= true <= high
    assert high - low < 3e-4


def test_contradictions_have_no_chance():
    atoms = [Atom(Family.LAPLACE, 0)]
    both = [Constraint(((0, 1.0),), -1.0), Constraint(((0, -1.0),), 0.5)]
    assert probability(both, atoms) == (0.0, 0.0)


def test_directions_are_not_mixed():
    """One part leaks forward, another backward: their worst cases do not add."""
    one = finite_part([0.9, 0.1], [0.5, 0.5], ["a"], frozenset(), "")
    other = finite_part([0.5, 0.5], [0.9, 0.1], ["b"], frozenset(), "")
    exact = max(
        abs(math.log(a * c / (b * d)))
        for a, b in ((0.9, 0.5), (0.1, 0.5))
        for c, d in ((0.5, 0.9), (0.5, 0.1))
    )
    assert epsilon_of([one, other], 0.0) == pytest.approx(exact, rel=1e-8)


def test_rounding_does_not_convict():
    """A sum of thousandths is off by rounding; the noise is exactly enough."""
    data = np.full(1000, 0.001)
    other = data.copy()
    other[0] = 1.001

    def noisy(values, rng):
        return values.sum() + rng.laplace(scale=1.0)

    finding = examine(noisy, (data, other), Budget(1.0))
    assert not finding.exceeds(1.0)
    assert finding.epsilon().lower == pytest.approx(1.0, rel=1e-6)


def test_float32_noise_does_not_convict():
    def noisy(values, rng):
        return (values.sum() * np.float32(1.0) + rng.laplace(scale=1.0)).astype(np.float32)

    assert not examine(noisy, (ZERO, ONE)).exceeds(1.0)


@pytest.mark.parametrize("draw", ["geometric", "poisson", "gamma"])
def test_draws_without_a_law_here_are_hints(draw):
    def noisy(values, rng):
        return values.sum() + getattr(rng, draw)(0.5)

    assert examine(noisy, (ZERO, ONE)).kind is FindingKind.HINT


def hockey_stick(p, q, epsilon):
    return math.fsum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("number", range(60))
def test_a_narrowed_table_is_below_every_table_around_it(number):
    """Both directions, at every epsilon, against tables anywhere within the doubt about masses."""
    rng = np.random.default_rng(number)
    size = int(rng.integers(2, 7))
    p, q = (rng.dirichlet(np.full(size, 0.5)) for _ in range(2))
    for masses in (p, q):
        masses[rng.random(size) < 0.25] = 0.0
    if p.sum() == 0 or q.sum() == 0:
        return
    p, q = p / p.sum(), q / q.sum()
    narrow = FiniteLoss(tuple(p), tuple(q)).shrunk(RELATIVE)
    assert math.fsum(narrow.p) == pytest.approx(1, abs=1e-15)
    assert math.fsum(narrow.q) == pytest.approx(1, abs=1e-15)
    for _ in range(20):
        # A little less than all of the doubt, for the rounding of the sums below.
        doubt = 0.99 * RELATIVE * rng.choice([-1.0, 1.0], (2, size))
        one, two = p * (1 + doubt[0]), q * (1 + doubt[1])
        for epsilon in (0.0, 0.1, 0.7, 1.5, 4.0, 20.0):
            assert hockey_stick(narrow.p, narrow.q, epsilon) <= hockey_stick(one, two, epsilon)
            assert hockey_stick(narrow.q, narrow.p, epsilon) <= hockey_stick(two, one, epsilon)
            seen = hockey_stick(narrow.p, narrow.q, epsilon)
            assert seen >= hockey_stick(p, q, epsilon) - 1e-7


@pytest.mark.parametrize("chance", [0.01, 0.1, 1 / 3, 0.7])
def test_data_released_with_probability_delta(chance):
    """With probability p the data, else Laplace noise: exactly (1, p), and infinite below that delta."""

    def mixture(data, rng):
        if rng.random() < chance:
            return data[0]
        return data[0] + rng.laplace(scale=1.0)

    finding = examine(mixture, ([0.0], [1.0]), Budget(1.0, chance))
    assert finding.epsilon(chance).lower <= 1.0
    assert finding.epsilon(chance * (1 - 1e-6)).lower == math.inf


@pytest.mark.parametrize("family", [Family.UNIFORM, Family.EXPONENTIAL])
def test_noise_with_ends_at_exactly_its_delta(family):
    """The mass that only one side has is delta itself: no epsilon is refuted at it."""
    _, _, loss = shifted(Atom(family, 0), 0.25)
    alone = 0.25 if family is Family.UNIFORM else -math.expm1(-0.25)
    part = Part(math.inf, math.inf, loss, ("",), frozenset((0,)), "")
    assert epsilon_of([part], alone) < math.inf
    assert epsilon_of([part], alone * (1 - 1e-6)) == math.inf
