"""Whatever a parameter of an event is given as, the answer is a number or a dpcheck error."""

import math

import pytest

import dpcheck
from dpcheck.core.errors import DpcheckError, InvalidParameter

GOOD = {
    dpcheck.FinitePair: ((0.5, 0.5), (0.4, 0.6)),
    dpcheck.LossDistribution: (0.1, 0, (0.5, 0.5)),
    dpcheck.MatrixMechanism: (1.0, ((1.0, 0.0), (0.5, 1.0))),
    dpcheck.MixtureGaussian: (1.0, (0.0, 1.0), (0.5, 0.5)),
    dpcheck.RandomAllocationGaussian: (1.0, 4),
    dpcheck.RandomizedResponse: (0.5,),
    dpcheck.Sampled: (dpcheck.Gaussian(1.0), 0.1),
    dpcheck.SampledGaussian: (1.0, 0.1),
    dpcheck.ShuffledReports: (1.0, 20),
    dpcheck.TruncatedPoissonGaussian: (1.0, 0.1, 100, 20),
    dpcheck.WithReplacementGaussian: (1.0, 100, 10),
}
STRANGE = ("1", None, math.nan, math.inf, -1, [], True, (1,), 10**400, b"1", 1 + 0j)


@pytest.mark.parametrize("kind", GOOD, ids=lambda kind: kind.__name__)
def test_strange_values_are_refused_by_name(kind):
    for place in range(len(GOOD[kind])):
        for value in STRANGE:
            given = [*GOOD[kind][:place], value, *GOOD[kind][place + 1 :]]
            try:
                bound = dpcheck.epsilon(kind(*given), delta=1e-6)
            except DpcheckError:
                continue
            assert 0 <= bound.lower <= bound.upper, given


@pytest.mark.parametrize("times", [-1, 10**400, True])
def test_counts_that_are_none(times):
    with pytest.raises(InvalidParameter):
        dpcheck.Gaussian(1.0) * times


def test_no_steps_cost_nothing():
    assert dpcheck.epsilon(dpcheck.Gaussian(1.0) * 0, delta=1e-5).upper == 0
