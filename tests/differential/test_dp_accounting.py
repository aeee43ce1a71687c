"""Against Google's dp-accounting: the same events, the same meaning, never looser."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import dpcheck
from dpcheck.core.errors import InvalidEvent
from dpcheck.integrations.dp_accounting import from_dp_event, to_dp_event

REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE

ROUND_TRIPS = [
    dpcheck.Gaussian(1.1),
    dpcheck.Laplace(2.0) * 5,
    dpcheck.DiscreteLaplace(4.0, 2),
    dpcheck.RandomizedResponse(0.5, 3),
    dpcheck.ZCDP(0.3),
    dpcheck.SampledGaussian(1.1, 0.01) * 100 + dpcheck.Gaussian(3.0),
    dpcheck.SampledLaplace(1.1, 0.01),
    dpcheck.FixedBatchGaussian(2.0, 1000, 10),
    dpcheck.TruncatedPoissonGaussian(2.0, 0.01, 1000, 30),
    dpcheck.TreeAggregation(5.0, 64, completed_only=True),
]


@pytest.mark.parametrize("event", ROUND_TRIPS, ids=str)
def test_round_trip(event):
    assert from_dp_event(to_dp_event(event)) == event


def test_what_has_no_counterpart_is_refused():
    with pytest.raises(InvalidEvent, match="ObjectivePerturbation"):
        to_dp_event(dpcheck.ObjectivePerturbation(0.9, 100, 0.1))
    # Nothing is known about it, so nothing is promised.
    assert isinstance(from_dp_event(dp_event.UnsupportedDpEvent()), dpcheck.NotPrivate)
    assert isinstance(from_dp_event(dp_event.GaussianDpEvent(0)), dpcheck.NotPrivate)


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta"),
    [
        (1.1, 256 / 60000, 14063, 1e-5),
        (1.0, 0.01, 1000, 1e-5),
        (0.8, 0.01, 10_000, 1e-6),
        (6.0, 32 / 795, 8770, 1e-5),
        (50.0, 1.0, 1000, 1e-5),
        (0.6, 0.001, 10_000, 1e-8),
        (2.0, 0.3, 50, 1e-2),
    ],
)
def test_rdp_is_never_looser(noise, rate, steps, delta):
    peer = RdpAccountant()
    peer.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise)), steps)
    ours = dpcheck.epsilon(
        dpcheck.SampledGaussian(noise, rate) * steps,
        delta=delta,
        adjacency="add-remove",
        method="rdp-optimal",
    ).upper
    theirs = peer.get_epsilon(delta)
    assert ours <= theirs * (1 + 1e-9)
    assert ours > 0.8 * theirs  # the same quantity, not another


def test_divergences_agree_order_by_order():
    orders = np.array([1.5, 2.0, 3.7, 8.0, 32.0, 63.5])
    peer = RdpAccountant(orders=list(orders))
    peer.compose(dp_event.PoissonSampledDpEvent(0.02, dp_event.GaussianDpEvent(0.9)))
    ours = [dpcheck.rdp(dpcheck.SampledGaussian(0.9, 0.02), order=a).upper for a in orders]
    whole = orders == np.floor(orders)
    np.testing.assert_allclose(np.array(ours)[whole], peer._rdp[whole], rtol=1e-8)
    # Between whole orders dp-accounting's answer is an upper bound.
    assert (np.array(ours) <= peer._rdp * (1 + 1e-8)).all()


def test_without_replacement_agrees_at_the_same_sensitivity():
    # dp-accounting's RDP takes the replace-one sensitivity to be C, dpcheck 2C: half the noise there.
    orders = [2, 3, 5, 16]
    peer = RdpAccountant(orders=orders, neighboring_relation=REPLACE)
    peer.compose(dp_event.SampledWithoutReplacementDpEvent(1000, 10, dp_event.GaussianDpEvent(2.0)))
    ours = [dpcheck.rdp(dpcheck.FixedBatchGaussian(4.0, 1000, 10), order=a).upper for a in orders]
    # Tighter by the positive part of the ternary divergence, but the same quantity.
    assert (np.array(ours) <= np.array(peer._rdp) * (1 + 1e-9)).all()
    assert (np.array(ours) >= np.array(peer._rdp) / 2).all()


def test_one_meaning_of_the_replace_one_gaussian():
    """dp-accounting disagrees with itself; dpcheck always means sensitivity 2C."""
    pld, rdp = PLDAccountant(REPLACE), RdpAccountant(neighboring_relation=REPLACE)
    pld.compose(dp_event.GaussianDpEvent(2.0), 5)
    rdp.compose(dp_event.GaussianDpEvent(2.0), 5)
    assert pld.get_epsilon(1e-5) == pytest.approx(11.48, abs=0.01)
    assert rdp.get_epsilon(1e-5) == pytest.approx(5.38, abs=0.01)
    event = dpcheck.Gaussian(2.0) * 5
    ours = dpcheck.epsilon(event, delta=1e-5, adjacency="replace-one")
    assert ours.upper == pytest.approx(11.48, abs=0.01)
    assert (
        ours.lower
        <= dpcheck.epsilon(event, delta=1e-5, adjacency="replace-one", method="rdp-optimal").upper
    )
    add_remove = dpcheck.epsilon(dpcheck.Gaussian(1.0) * 5, delta=1e-5, adjacency="add-remove")
    assert add_remove.upper == pytest.approx(ours.upper, rel=1e-12)


def test_randomized_response_counts_its_repetitions():
    # dp-accounting 0.6.0 answers 1.0987 for ten repetitions composed at once.
    ours = dpcheck.epsilon(from_dp_event(dp_event.RandomizedResponseDpEvent(0.5, 2)) * 10)
    assert ours.upper == pytest.approx(10 * math.log(3), rel=1e-12)
    assert ours.lower == pytest.approx(10 * math.log(3), rel=1e-12)
