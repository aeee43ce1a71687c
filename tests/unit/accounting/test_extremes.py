"""Parameters at the ends of their ranges get an answer with lower <= upper or a dpcheck error."""

import math
import tracemalloc
import warnings

import mpmath
import numpy as np
import pytest
from mpmath import mp

import dpcheck
from dpcheck.accounting.pld.pairs.coin import CoinPair
from dpcheck.accounting.pld.pairs.mixtures import Mixture, NormalPair
from dpcheck.accounting.pld.pairs.symmetric import WithoutReplacementPair
from dpcheck.accounting.renyi.moments import mixture_log_moments
from dpcheck.core.errors import CannotCertify, DpcheckError
from dpcheck.numerics.enclose import LARGEST
from dpcheck.numerics.lattice import Lattice

EXTREMES = {
    "zero mass on both sides": (dpcheck.FinitePair((0.5, 0.5, 0.0), (0.5, 0.5, 0.0)), 0.0, 1e-12),
    "zero mass on one side": (
        dpcheck.FinitePair((0.5, 0.5, 0.0), (0.5, 0.25, 0.25)),
        math.inf,
        math.inf,
    ),
    # log(0.5/0.5) and log(1/(1 - 2r)) with r = 1000: the top loss less what delta buys.
    "tiny Laplace noise": (dpcheck.Laplace(0.001), 0.0, 1000.0),
    "tiny sampled Gaussian noise": (dpcheck.SampledGaussian(0.05, 0.01), 256.0, 257.0),
    "large pure steps": (dpcheck.PureDP(50.0) * 100, 4999.0, 5000.0),
    "tiny discrete Gaussian noise": (dpcheck.DiscreteGaussian(0.01), 4999.0, 5000.1),
    "tiny discrete Laplace noise": (dpcheck.DiscreteLaplace(0.001, 3) * 5, 14999.0, 15000.1),
    "tiny sampled Laplace noise": (dpcheck.SampledLaplace(0.001, 0.01), 600.0, 995.4),
    "noise below the smallest square": (dpcheck.Gaussian(1e-308), LARGEST, math.inf),
    "a mu without a square": (dpcheck.GDP(1e300), LARGEST, math.inf),
    "a huge pure step": (dpcheck.PureDP(1e300) * 10, 9e300, 1.1e301),
    "many tiny-noise steps": (dpcheck.Gaussian(0.001) * 10**8, 4.9e13, 5.1e13),
    "selection over a group": (
        dpcheck.RandomStopping(dpcheck.Grouped(dpcheck.SampledGaussian(0.1, 0.1), 4), 1.0, 0.01),
        0.0,
        math.inf,
    ),
    "wide integer noise": (dpcheck.DiscreteLaplace(1e7, 10**7), 0.0, 1.0),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_parameters_have_an_answer(name):
    event, low, high = EXTREMES[name]
    bound = dpcheck.epsilon(event, delta=1e-5)
    assert low <= bound.lower <= bound.upper <= high, bound
    leak = dpcheck.delta(event, epsilon=1.0)
    assert 0 <= leak.lower <= leak.upper <= 1
    curve = dpcheck.tradeoff(event, 0.05)
    assert 0 <= curve.lower <= curve.upper <= 0.95
    divergence = dpcheck.rdp(event, 2.0)
    assert 0 <= divergence.lower <= divergence.upper


@pytest.mark.parametrize("steps", [3, 100, 1000, 5000])
def test_an_outcome_that_tells_all_is_never_lost_in_many_steps(steps):
    """With probability 1 - 0.4^n some step shows an outcome that the neighbour never has."""
    event = dpcheck.FinitePair((0.4, 0.6), (1.0, 0.0)) * steps
    assert dpcheck.epsilon(event, delta=0.9).lower == math.inf
    leak = dpcheck.delta(event, epsilon=3.0)
    assert leak.lower <= 1 - 0.4**steps <= leak.upper
    assert leak.lower == pytest.approx(leak.upper, rel=1e-9)


@pytest.mark.parametrize("noise", [-1.0, math.nan, math.inf])
def test_impossible_noise_is_refused(noise):
    with pytest.raises(DpcheckError):
        dpcheck.Gaussian(noise)


@pytest.mark.parametrize(
    ("noise", "rate", "delta"),
    [
        # Found by benchmarks/fuzz: e^751 left the range of floats; an atom far off the lattice took 13 GiB.
        (0.0013307442719921025, 0.00011120483246451854, 1.9031470373094548e-12),
        (0.005285474952689035, 8.482215937615369e-07, 2.1361907677311457e-41),
    ],
)
def test_sampled_laplace_of_tiny_noise(noise, rate, delta):
    # delta = q (1 - e^((y - r)/2)) with e^y = 1 + (e^eps - 1)/q, solved for eps.
    with mpmath.workdps(400):
        r, q = 1 / mpmath.mpf(noise), mpmath.mpf(rate)
        y = r + 2 * mpmath.log1p(-mpmath.mpf(delta) / q)
        true = mpmath.log1p(q * mpmath.expm1(y))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = dpcheck.epsilon(
                dpcheck.SampledLaplace(noise, rate), delta=delta, adjacency="zero-out"
            )
        assert found.lower <= true <= found.upper
        assert found.upper <= true * (1 + mpmath.mpf("1e-3"))


def test_coins_with_an_option_of_unknown_divergence_do_not_warn():
    # Found by benchmarks/fuzz: infinity minus infinity in the sum over a truncated batch's options.
    event = dpcheck.TruncatedPoissonGaussian(9647.707933102178, 1.0673664105817873e-09, 32, 1) * 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dpcheck.epsilon(event, delta=8.195421993189483e-12, adjacency="replace-one")
        whole = dpcheck.epsilon(
            dpcheck.SampledGaussian(9647.707933102178, 1.0673664105817873e-09) * 10,
            delta=8.195421993189483e-12,
            adjacency="replace-one",
        )
    assert found.lower <= found.upper < math.inf
    assert found.upper >= whole.lower


def test_nothing_but_infinite_losses():
    # Found by benchmarks/fuzz: disjoint supports beside another mechanism divided by zero.
    event = dpcheck.FinitePair((0.0, 1.0), (1.0, 0.0)) * 97 + dpcheck.TreeAggregation(5.3, 19, 2, 2)
    found = dpcheck.epsilon(event, delta=2e-19, adjacency="zero-out")
    assert (found.lower, found.upper) == (math.inf, math.inf)
    assert dpcheck.delta(event, epsilon=3.0, adjacency="zero-out").upper == 1.0


def test_steep_mixtures_without_an_unshifted_part_do_not_warn():
    # Found by benchmarks/fuzz: log(1 - 1) where the weights add up to 1.
    from dpcheck.accounting.renyi.moments import mixture_log_moments

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, _ = mixture_log_moments((60.0,), (1.0,), (2.0,))
    assert found[0] == pytest.approx(3600.0, rel=1e-10)  # t (t - 1) s^2 / 2


def test_huge_shifts_are_not_undercut():
    """mu^2/2 beyond 2^53 mu: its rounding alone is more than the rest of epsilon."""
    mp.dps, before = 150, mp.dps
    try:
        rng = np.random.default_rng(3)
        for _ in range(40):
            mu, delta = 10 ** rng.uniform(5, 60), 10 ** rng.uniform(-20, -0.4)
            bound = dpcheck.epsilon(dpcheck.GDP(mu), delta=delta)
            for end, sign in ((bound.lower, 1), (bound.upper, -1)):
                near, far = (mp.mpf(mu) / 2 - x for x in (end / mp.mpf(mu), -end / mp.mpf(mu)))
                # The tail at -far is its density over far but for 1/far^2, e^eps times that the one at near.
                reached = mp.ncdf(near) - mp.npdf(near) / far
                assert sign * (reached - delta) >= -1e-9 * delta
    finally:
        mp.dps = before


@pytest.mark.parametrize(("epsilon", "people"), [(1e-6, 1000), (1e-9, 50), (40.0, 2), (50.0, 1000)])
def test_shuffled_reports_of_extreme_epsilons_have_an_answer(epsilon, people):
    event = dpcheck.ShuffledReports(epsilon, people)
    found = dpcheck.epsilon(event, delta=1e-12)
    assert 0 <= found.lower <= found.upper <= epsilon * (1 + 1e-9)
    leak = dpcheck.delta(event * 10, epsilon=1.0)
    assert 0 <= leak.lower <= leak.upper <= 1


def test_a_group_of_approximate_guarantees_with_exploding_delta_is_unbounded():
    """e^800 times 1e-320 is far above 1: no finite epsilon follows."""
    event = dpcheck.Grouped(dpcheck.ApproxDP(400.0, 1e-320), 3)
    assert dpcheck.epsilon(event, delta=1e-3).upper == math.inf
    assert dpcheck.epsilon(dpcheck.Grouped(dpcheck.PureDP(400.0), 3)).upper == 1200.0


def test_a_delta_above_the_sampling_rate_costs_nothing():
    # Found by benchmarks/fuzz: a quotient that is not used overflowed.
    event = dpcheck.SampledLaplace(0.00783234554311636, 4.2460625364973773e-08)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dpcheck.epsilon(event, delta=0.08385724155714702)
    assert (found.lower, found.upper) == (0.0, 0.0)


def test_wide_integer_noise_many_times_is_as_tight_as_a_gaussian():
    # Found by benchmarks/fuzz: its picture was drawn at the wrong place, and nothing was proved below.
    scale, shift, times, delta = 3566.3192312956467, 12, 939768, 1.5663542727886e-54
    found = dpcheck.epsilon(dpcheck.DiscreteGaussian(scale, shift) * times, delta=delta)
    with mpmath.workdps(80):
        # At this scale the sum is a Gaussian but for e^(-2 pi^2 scale^2).
        mu = mpmath.sqrt(times) * shift / mpmath.mpf(scale)

        def excess(e):
            return mpmath.log(
                mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
            ) - mpmath.log(mpmath.mpf(delta))

        true = mpmath.findroot(excess, (55.0, 56.0), solver="anderson")
    assert found.lower <= true <= found.upper
    assert found.upper - found.lower <= 1e-2 * found.upper


def test_a_small_pure_part_beside_a_large_gaussian_one_is_added():
    # Found by benchmarks/fuzz: 1.3 million points for a part of 2e-4 beside an epsilon of 3555.
    small, noise, delta = 0.00018727085077102453, 0.014165905638908785, 1.1282432977006235e-51
    alone = dpcheck.epsilon(dpcheck.Gaussian(noise), delta=delta, adjacency="zero-out")
    both = dpcheck.epsilon(
        dpcheck.PureDP(small) + dpcheck.Gaussian(noise), delta=delta, adjacency="zero-out"
    )
    # The Gaussian alone is exact; a pure part adds at most its epsilon.
    assert both.lower >= alone.lower * (1 - 1e-12)
    assert alone.lower <= both.upper <= alone.upper * (1 + 1e-4)
    few = dpcheck.epsilon(dpcheck.PureDP(small) * 50, delta=1e-5, adjacency="zero-out")
    assert 0 < few.lower <= few.upper <= 50 * small * (1 + 1e-12)


def test_a_loss_far_from_0_next_to_integer_noise_takes_little_memory():
    # Found by benchmarks/fuzz: all losses from 0 on were laid on the lattice of the integers.
    steps = dpcheck.DiscreteGaussian(50.10095317403506, 8) * 14
    event = dpcheck.FixedBatchGaussian(0.00909204959083336, 4557769, 3597) + steps
    tracemalloc.start()
    bound = dpcheck.epsilon(event, delta=1.2e-6, adjacency="replace-one")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 256 * 2**20
    # The batch alone has delta rate F(y), y = 1 + (e^eps - 1)/rate, F the curve of N(mu, 1), mu = 2/sigma.
    rate, mu = mp.mpf(3597) / 4557769, 2 / mp.mpf(0.00909204959083336)
    y = 1 + mp.expm1(mp.mpf(bound.upper)) / rate
    far = mp.log(y) / mu + mu / 2
    assert rate * (mp.ncdf(mu - far) - y * mp.ncdf(-far)) <= 1.2e-6
    assert bound.upper < mu**2 / 2 + 6 * mu


@pytest.mark.parametrize(
    ("p", "q", "size", "delta"),
    [
        ((0.164, 0.836), (1.0, 0.0), 9, 7e-98),
        ((0.53, 0.0, 0.221, 0.15, 0.099), (0.08, 0.876, 0.041, 0.003, 0.0), 3, 0.0028),
    ],
)
def test_a_group_that_is_told_apart_for_certain_is_unbounded(p, q, size, delta):
    # Found by benchmarks/fuzz. An outcome that the neighbour never has is likelier than delta.
    group = dpcheck.Grouped(dpcheck.FinitePair(p, q), size)
    assert dpcheck.epsilon(group, delta=delta, adjacency="zero-out").upper == math.inf


def test_a_sample_of_everybody_has_the_moments_of_the_whole():
    # Found by benchmarks/fuzz: far left of the mean 1 + v underflowed, log1p(-1).
    shift, orders = 4.003891377540587, (1.002, 1.0335, 2.0, 30.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, _ = mixture_log_moments((shift,), (1.0,), orders)
        back, _ = mixture_log_moments((shift,), (1.0,), (-0.002, -1.0, -29.0))
    for order, value in zip(orders, found, strict=True):  # log E e^(t (s x - s^2/2))
        assert value == pytest.approx(order * (order - 1) * shift**2 / 2, rel=1e-10)
    for order, value in zip((-0.002, -1.0, -29.0), back, strict=True):
        assert value == pytest.approx(order * (order - 1) * shift**2 / 2, rel=1e-10)


def test_a_largest_loss_far_beyond_the_rest_takes_little_memory():
    # Found by benchmarks/fuzz: 200 million points up to a loss of 1e-3 among losses of 2e-8.
    event = dpcheck.Grouped(dpcheck.TruncatedPoissonGaussian(729720.8, 0.00104, 495, 1), 5)
    bound = dpcheck.epsilon(event, delta=2.6e-10, adjacency="add-remove")
    # Five steps of at most mu = 1/sigma each, sampled or not: less than N(5 mu, 1).
    whole = dpcheck.epsilon(dpcheck.GDP(5 / 729720.8), delta=2.6e-10).upper
    assert 0 <= bound.lower <= bound.upper <= whole
    with pytest.raises(CannotCertify, match="lattice points"):
        Lattice(1e-12).covering(0.0, 1.0)


def test_a_negative_moment_that_underflows_says_nothing_rather_than_too_little():
    # t (t - 1) s^2 / 2 for a whole Gaussian; where e^(t s^2) leaves the range of floats, infinite.
    for shift, order in ((6.0, -29.0), (30.0, -2.0), (20.0, -1.5)):
        (found,), _ = mixture_log_moments((shift,), (1.0,), (order,))
        assert found >= order * (order - 1) * shift**2 / 2 * (1 - 1e-10)


@pytest.mark.parametrize("epsilon", [50.0, 744.0, 800.0, 3000.0])
@pytest.mark.parametrize("order", [1.01, 2.0, 30.0])
def test_a_wide_range_of_losses_has_its_divergence(epsilon, order):
    # Found by benchmarks/fuzz: beyond 745 e^-t underflowed, and the divergence of 800 at order 2 was 1e-290.
    # Losses t and t - epsilon with E_Q e^L = 1, the worst t by search, at 60 digits.
    found = dpcheck.rdp(dpcheck.ExponentialMechanism(epsilon), order=order).upper
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(order)

        def divergence(t):
            share = (1 - mpmath.exp(t - e)) / (mpmath.exp(t) - mpmath.exp(t - e))
            moment = share * mpmath.exp(a * t) + (1 - share) * mpmath.exp(a * (t - e))
            return mpmath.log(moment) / (a - 1)

        truth = max(divergence(e - gap) for gap in mpmath.linspace("0.001", 10, 400))
    assert truth <= found <= float(truth) * (1 + 1e-3) + 1e-3


def test_many_shifts_and_options_take_turns_in_memory():
    # Found by benchmarks/fuzz: the tails of all shifts, and the measures of all options, were kept at once.
    levels = np.linspace(0.0, 5.0, 50_000)
    shifts = tuple(0.1 * k for k in range(1, 61))
    many = WithoutReplacementPair(shifts, (1e-3,) * len(shifts))
    coin = CoinPair([(1 / 60, NormalPair(Mixture((0.5,), (0.1,)), Mixture()))] * 60)
    for work, arrays in (
        (lambda: many.tails(levels), 40),
        (lambda: coin.upper(1e-4, 0.0, 5.0), 80),
    ):
        tracemalloc.start()
        work()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < arrays * levels.nbytes
