"""The largest batch within a budget: one row more does not fit."""

import pytest

import dpcheck
from dpcheck import Budget, PureDP, SampledGaussian


@pytest.mark.parametrize(
    ("noise", "rows", "steps", "budget"),
    [(1.0, 6000, 100, Budget(1.0, 1e-5)), (4.0, 500, 200, Budget(2.0, 1e-6))],
)
def test_one_row_more_does_not_fit(noise, rows, steps, budget):
    def training(size):
        return SampledGaussian(noise, size / rows) * steps

    found = dpcheck.calibrate_batch_size(training, rows, budget)
    assert found.spent.upper <= budget.epsilon
    beyond = dpcheck.epsilon(training(found.value + 1), delta=budget.delta)
    assert beyond.upper > budget.epsilon


def test_everybody_and_nobody():
    everybody = dpcheck.calibrate_batch_size(lambda size: PureDP(size / 100), 40, Budget(1.0))
    assert (everybody.value, everybody.spent.upper) == (40, 0.4)
    nobody = dpcheck.calibrate_batch_size(lambda size: PureDP(float(size)), 40, Budget(0.5))
    assert (nobody.value, nobody.spent.upper) == (0, 0.0)


def test_schedules_are_calibrated_by_one_noise():
    """Two phases, the second with twice the noise: independent of the order they are written in."""

    def schedule(noise):
        return SampledGaussian(noise, 0.01) * 50 + SampledGaussian(2 * noise, 0.02) * 10

    found = dpcheck.calibrate(schedule, Budget(1.0, 1e-5))
    assert found.spent.upper <= 1.0
    less = dpcheck.epsilon(schedule(0.99 * found.value), delta=1e-5)
    assert less.lower > 0.99
