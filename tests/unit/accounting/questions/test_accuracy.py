"""Both sides of epsilon as close as asked, many deltas at once, and bounds as values."""

from __future__ import annotations

import json
import math

import mpmath
import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.accountants import accuracy as refinement
from dpcheck.accounting.accountants.distribution import FinerAccountant
from dpcheck.accounting.certify.bound import Plan
from dpcheck.accounting.certify.theorem import Spends
from dpcheck.core.bound import Bound
from dpcheck.core.errors import CannotCertify, InvalidParameter, NotOneNumber, ProofsContradict
from dpcheck.numerics.side import Side


def laplace_epsilon(ratio: float, delta: float) -> mpmath.mpf:
    """One Laplace answer of this ratio: delta = 1 - e^((eps - ratio)/2)."""
    with mpmath.workdps(40):
        return mpmath.mpf(ratio) + 2 * mpmath.log1p(-mpmath.mpf(delta))


def sampled_gaussian_delta(noise: float, rate: float, epsilon: float) -> mpmath.mpf:
    """One sampled Gaussian step, a record removed: E over N(0, 1) of (1 - q + q e^{..} - e^eps)+."""
    with mpmath.workdps(40):
        q, y, mu = mpmath.mpf(rate), mpmath.e ** mpmath.mpf(epsilon), 1 / mpmath.mpf(noise)
        cut = mpmath.log((y - 1 + q) / q) / mu + mu / 2  # where the ratio of densities is y
        return q * mpmath.ncdf(mu - cut) - (y - 1 + q) * mpmath.ncdf(-cut)


@pytest.mark.parametrize("accuracy", [1e-4, 1e-6, 1e-8])
def test_one_sampled_step_to_the_digits_that_are_asked_for(accuracy):
    event, delta = dpcheck.SampledGaussian(0.8, 0.05), 1e-4
    found = dpcheck.epsilon(event, delta=delta, accuracy=accuracy)
    assert found.gap <= accuracy * found.upper
    assert sampled_gaussian_delta(0.8, 0.05, found.upper) <= delta
    assert sampled_gaussian_delta(0.8, 0.05, found.lower) >= delta


@pytest.mark.parametrize(
    ("event", "delta"),
    [
        (dpcheck.SampledGaussian(1.1, 256 / 60000) * 14063, 1e-5),
        (dpcheck.SampledLaplace(1.0, 0.01) * 1000, 1e-6),
        (dpcheck.Laplace(20.0) * 300 + dpcheck.SampledGaussian(1.0, 0.01) * 100, 1e-6),
        (dpcheck.SampledGaussian(1.0, 0.01) * 100 + dpcheck.ApproxDP(0.1, 1e-7), 1e-5),
    ],
)
def test_finer_sides_lie_within_coarse_ones(event, delta):
    usual = dpcheck.epsilon(event, delta=delta)
    finer = dpcheck.epsilon(event, delta=delta, accuracy=1e-6)
    assert usual.lower <= finer.lower <= finer.upper <= usual.upper
    assert finer.gap <= 1e-6 * finer.upper < usual.gap
    # A delta that is a little larger or smaller: its own bounds, by a lattice of its own, agree.
    assert dpcheck.epsilon(event, delta=delta * 1.001).lower <= finer.upper
    assert dpcheck.epsilon(event, delta=delta / 1.001).upper >= finer.lower


def test_an_accuracy_that_is_had_already_changes_nothing():
    for event in (dpcheck.PureDP(0.5) * 3, dpcheck.Gaussian(1.0), dpcheck.NotPrivate("said so")):
        assert dpcheck.epsilon(event, delta=1e-6, accuracy=1e-9) == dpcheck.epsilon(
            event, delta=1e-6
        )


def test_what_cannot_be_had_is_refused_with_what_is_proved():
    event = dpcheck.AboveThreshold(2.0, 4.0)  # no mechanism that needs all of it is known
    with pytest.raises(CannotCertify, match=r"proved to lie in \[0, 1\].*less accuracy") as caught:
        dpcheck.epsilon(event, accuracy=1e-3)
    assert caught.value.data == {"lower": 0.0, "upper": 1.0, "accuracy": 1e-3}
    with pytest.raises(InvalidParameter, match="above 0"):
        dpcheck.epsilon(event, accuracy=0.0)
    with pytest.raises(InvalidParameter, match="leave out method"):
        dpcheck.epsilon(event, accuracy=0.1, method="rdp")


def test_a_choice_is_refined_where_it_may_be_the_worst():
    event = dpcheck.SampledGaussian(1.0, 0.01) * 500 | dpcheck.SampledLaplace(1.0, 0.01) * 300
    found = dpcheck.epsilon(event, delta=1e-6, accuracy=1e-6)
    each = [dpcheck.epsilon(part, delta=1e-6, accuracy=1e-6) for part in event.events]
    assert found.upper == max(bound.upper for bound in each)
    assert found.gap <= 1e-6 * found.upper


def test_finer_sides_that_cross_are_refused(monkeypatch):
    def wrong(_, parts, delta):
        return Plan(Spends(parts, Side.LOWER, 2.5, delta, both=False))

    monkeypatch.setattr(FinerAccountant, "plan_below", wrong)
    with pytest.raises(ProofsContradict):
        dpcheck.epsilon(dpcheck.SampledGaussian(1.0, 0.01) * 1000, delta=1e-5, accuracy=1e-6)


def test_within_looks_at_the_worst_of_all():
    near, far = Bound(1.0, 1.01, "a"), Bound(0.0, 0.9, "b")
    assert refinement.within([near, far], 0.01)
    assert not refinement.within([near, far], 0.009)
    assert refinement.within([Bound(math.inf, math.inf, "a")], 1e-9)
    assert refinement.within([], 1e-9)


def test_many_deltas_are_answered_by_a_list():
    event = dpcheck.Laplace(2.0)
    deltas = [0.0, 1e-9, 1e-3, 0.1, 1.0]
    for given in (deltas, tuple(deltas), np.array(deltas)):
        found = dpcheck.epsilon(event, delta=given)
        assert found == [dpcheck.epsilon(event, delta=delta) for delta in deltas]
    for bound, delta in zip(found, deltas[:-1], strict=False):
        assert bound.lower <= laplace_epsilon(0.5, delta) + mpmath.mpf("1e-15")
        assert laplace_epsilon(0.5, delta) <= bound.upper + mpmath.mpf("1e-15")
    assert found[-1].upper == 0.0
    assert dpcheck.epsilon(event, delta=[]) == []
    with pytest.raises(InvalidParameter, match="delta must be in"):
        dpcheck.epsilon(event, delta=[0.1, 1.1])
    with pytest.raises(InvalidParameter, match="must be a number"):
        dpcheck.epsilon(event, delta="1e-5")


def test_events_are_summed():
    parts = [dpcheck.PureDP(0.25)] * 4
    assert dpcheck.epsilon(sum(parts)).upper == 1.0
    assert dpcheck.epsilon(sum([dpcheck.PureDP(0.5)] * 3000)).upper == 1500.0
    for wrong in (1, 0.5, "0"):
        with pytest.raises(TypeError):
            wrong + parts[0]


def test_a_bound_is_no_number():
    bound = dpcheck.epsilon(dpcheck.PureDP(1.0))
    for convert in (float, np.float64, lambda b: f"{float(b):g}"):
        with pytest.raises(NotOneNumber, match=r"\.upper.*\.lower"):
            convert(bound)
    with pytest.raises(TypeError):
        bound <= 1.0  # noqa: B015 - the comparison is what is tested


def test_a_bound_as_json():
    data = json.loads(dpcheck.epsilon(dpcheck.Gaussian(1.0), delta=1e-5).to_json())
    assert data["lower"] == pytest.approx(4.37717809)
    assert data["method"] == "gdp"
    assert data["adjacency"] == "add-remove"
    assert data["assumes"]
    assert json.loads(dpcheck.epsilon(dpcheck.Gaussian(1.0)).to_json())["upper"] == "inf"
    assert json.loads(Bound(0.0, 1.0, "m").to_json())["adjacency"] is None
