"""Tilted draws of real code: weights that are exact, bands that cover, a small error of the noise seen."""

import math
from functools import cache

import numpy as np
import pytest

from dpcheck.accounting.losses import SphericalLoss
from dpcheck.accounting.pld.pairs.spherical import deltas
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plan import NoiseShift, PartPlan
from dpcheck.auditing.pld.bands import bernstein
from dpcheck.auditing.pld.measure import OTHER_NOISE, Situation, _exact
from dpcheck.auditing.pld.tilted import NotTilted, Tilt, TiltedGenerator
from dpcheck.core.evidence import CurvePoint, LossCurve, Source
from dpcheck.execution.runner import Runner
from dpcheck.mechanisms.output.noise import spherical_noise
from dpcheck.session.claims import read_claim

WIDTH, RATIO = 40, 5.0


class Noisy:
    """data[0] e_1 plus spherical noise of rate 1, drawn `shrunk` times as long."""

    def __init__(self, shrunk=1.0):
        self.shrunk = shrunk

    def __call__(self, data, size, rng):
        noise = spherical_noise(1 / self.shrunk, WIDTH, size, rng)
        noise[:, 0] += data[0]
        return noise

    def log_density(self, data, outputs):
        moved = np.array(outputs, dtype=float)
        moved[:, 0] -= data[0]
        return -np.linalg.norm(moved, axis=1)


def plan(noisy):
    direction = np.eye(WIDTH)[0]
    return PartPlan(
        "noisy",
        "as given",
        read_claim(RATIO, "replace-one", "a test"),
        Mechanism(noisy, True, None, noisy.log_density),
        [Pair([RATIO], [0.0], "moved")],
        shifts=lambda pair, backwards: [
            NoiseShift(WIDTH, -direction if backwards else direction, RATIO)
        ],
    )


def curve(noisy, runs, alpha, seed, backwards=False):
    the_plan = plan(noisy)
    one = Situation(the_plan.mechanism, the_plan.pairs[0], backwards)
    return _exact(the_plan, one, runs, alpha, Runner(seed=seed))


@cache
def truth(epsilons):
    return deltas(SphericalLoss(RATIO, WIDTH), np.array(epsilons))


def misses(found):
    low, high = truth(tuple(point.epsilon for point in found.curve))
    return any(
        point.observed[0] > high[i] * (1 + 1e-9) or point.observed[1] < low[i] * (1 - 1e-9)
        for i, point in enumerate(found.curve)
    )


@pytest.mark.parametrize("pieces", [(40_000,), (25_000, 15_000)])
def test_weights_are_a_change_of_measure(pieces):
    shifts = [NoiseShift(WIDTH, np.eye(WIDTH)[2], 1.0), NoiseShift(3, None, 0.0)]
    tilt = Tilt(shifts, 6.0)
    rng = TiltedGenerator(tilt, 40_000, np.random.SeedSequence(0))
    drawn = []
    for size in pieces:
        assert not rng.finished
        drawn.append(spherical_noise(0.5, WIDTH, size, rng))
        spherical_noise(2.0, 3, size, rng)
    first = np.concatenate(drawn)
    assert rng.finished
    weights = np.exp(rng.log_weights)
    # Mean 1, and the moments of the law that was asked for: lengths Gamma(40, 2), cosines symmetric.
    assert weights.mean() == pytest.approx(1, abs=0.1)
    lengths = np.linalg.norm(first, axis=1)
    assert (weights * lengths).mean() == pytest.approx(80, rel=0.05)
    assert (weights * first[:, 2] / lengths).mean() == pytest.approx(0, abs=0.1)
    # And tilted indeed: the shift's direction is where the draws are.
    assert (first[:, 2] / lengths).mean() > 0.1


def test_code_that_draws_otherwise_is_not_tilted():
    tilt = Tilt([NoiseShift(2, np.array([1.0, 0.0]), 1.0)], 1.0)
    rng = TiltedGenerator(tilt, 5, np.random.SeedSequence(0))
    with pytest.raises(NotTilted):
        rng.gamma(2, 1.0, 5)
    with pytest.raises(NotTilted):
        rng.standard_normal((5, 3))
    with pytest.raises(NotTilted):
        rng.standard_normal((6, 2))  # more runs than there are
    rng.standard_normal((5, 2))
    with pytest.raises(NotTilted):
        rng.gamma(3, 1.0, 5)


def test_a_block_is_drawn_for_the_runs_of_its_piece():
    tilt = Tilt([NoiseShift(2, None, 0.0), NoiseShift(3, None, 0.0)], 1.0)
    rng = TiltedGenerator(tilt, 5, np.random.SeedSequence(0))
    spherical_noise(1.0, 2, 3, rng)
    with pytest.raises(NotTilted):
        rng.standard_normal((2, 3))


def test_bands_cover_as_often_as_they_say():
    """200 curves at confidence 0.8, each of two dozen epsilons down to deltas of 1e-7."""
    trials, alpha = 200, 0.2
    missed = sum(
        misses(curve(Noisy(), 300, alpha, seed, backwards=bool(seed % 2))) for seed in range(trials)
    )
    assert missed <= alpha * trials


def test_the_tail_is_narrow_and_a_wider_one_would_be_seen():
    found = curve(Noisy(), 10_000, 1e-3, 0)
    widths = found.widths()
    assert set(widths) == {1e-2, 1e-4, 1e-6}
    assert max(widths.values()) < 0.2
    assert not misses(found)


@pytest.mark.parametrize("shrunk", [0.95, 1.05])
def test_five_per_cent_of_the_noise_are_seen(shrunk):
    found = curve(Noisy(shrunk), 40_000, 1e-3, 0)
    assert misses(found) or OTHER_NOISE in found.notes


def test_bernstein_covers_small_means():
    rng, missed = np.random.default_rng(0), 0
    for _ in range(400):
        values = 0.01 * (rng.random(500) < 0.02)
        low, high = bernstein(values, 0.01, 0.1)
        missed += not low <= 2e-4 <= high
    assert missed <= 40


def test_widths_are_those_of_the_nearest_delta():
    points = (CurvePoint(1.0, (0.009, 0.011), None), CurvePoint(2.0, (0.0, 0.5), None))
    found = LossCurve("data", "a pair", "D to D'", Source.DENSITY, (0.1, math.inf), points)
    assert found.widths() == {1e-2: pytest.approx(0.1)}
    assert found.to_dict()["losses"] == [0.1, "inf"]
