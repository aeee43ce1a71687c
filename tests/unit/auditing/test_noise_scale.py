"""The noise-scale test: false alarms at the stated level, power as stated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chi2

from dpcheck.auditing.auditors.noise_scale import judge, noise_scale_test
from dpcheck.auditing.mechanism import Mechanism
from dpcheck.auditing.plan import Pivot
from dpcheck.execution.runner import Runner


def test_p_value_is_the_chi_square_one():
    # 2 sum |x - f| / b is chi-square with 2n degrees of freedom for Laplace noise.
    total, runs = 230.0, 200
    lower = chi2.cdf(2 * total, 2 * runs)
    assert judge(total, runs, 1.0, 1e-3).p_value == pytest.approx(2 * min(lower, 1 - lower))


@pytest.mark.parametrize("shape", [0.5, 1.0, 7.0])
def test_level_and_power_are_as_stated(shape):
    rng = np.random.default_rng(3)
    runs, repeats, level = 400, 800, 0.02
    totals = rng.gamma(runs * shape, size=repeats)
    alarms = sum(not judge(t, runs, shape, level).passed for t in totals)
    assert binom.ppf(1e-4, repeats, level) <= alarms <= binom.ppf(1 - 1e-4, repeats, level)
    stated = judge(runs * shape, runs, shape, level).power
    caught = sum(not judge(0.8 * t, runs, shape, level).passed for t in totals)
    assert caught == pytest.approx(stated * repeats, abs=5 * np.sqrt(repeats * 0.25))


def laplace(scale):
    return Mechanism(lambda data, size, rng: data.sum() + rng.laplace(scale=scale, size=size), True)


def test_correct_code_passes_and_wrong_scales_fail():
    pivot = Pivot(lambda data, outputs: np.abs(outputs[:, 0] - data.sum()), 1.0)
    for scale, passes in ((1.0, True), (0.8, False), (1.25, False)):
        tie = noise_scale_test(laplace(scale), pivot, np.ones(3), Runner(seed=2))
        assert tie.passed is passes
        assert tie.power > 0.999
        assert tie.ratio == pytest.approx(scale, rel=0.1)
