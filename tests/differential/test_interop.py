"""Every kind of event of the installed dp-accounting, its accountants, and its loss distributions."""

from __future__ import annotations

import inspect
import math
from types import SimpleNamespace

import dp_accounting
import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import privacy_loss_distribution as peer
from dp_accounting.rdp import RdpAccountant

import dpcheck
from dpcheck.core.errors import CannotCertify, InvalidEvent, InvalidParameter
from dpcheck.integrations.dp_accountant import DpcheckAccountant
from dpcheck.integrations.dp_accounting import from_dp_event, to_dp_event
from dpcheck.integrations.loss_distributions import from_pld, to_pld

GAUSSIAN = dp_event.GaussianDpEvent(2.0)
COMPOSED = dp_event.ComposedDpEvent([GAUSSIAN, dp_event.LaplaceDpEvent(3.0)])

# Every kind in, what it becomes, and whether it comes out as it was.
KINDS = {
    "NoOpDpEvent": (dp_event.NoOpDpEvent(), dpcheck.Sequential(()), False),
    "NonPrivateDpEvent": (
        dp_event.NonPrivateDpEvent(),
        dpcheck.NotPrivate("declared NonPrivateDpEvent"),
        True,
    ),
    "UnsupportedDpEvent": (
        dp_event.UnsupportedDpEvent(),
        dpcheck.NotPrivate("declared UnsupportedDpEvent: nothing is known about it"),
        False,
    ),
    "RandomizedResponseDpEvent": (
        dp_event.RandomizedResponseDpEvent(0.3, 4),
        dpcheck.RandomizedResponse(0.3, 4),
        True,
    ),
    "GaussianDpEvent": (GAUSSIAN, dpcheck.Gaussian(2.0), True),
    "LaplaceDpEvent": (dp_event.LaplaceDpEvent(2.0), dpcheck.Laplace(2.0), True),
    "DiscreteLaplaceDpEvent": (
        dp_event.DiscreteLaplaceDpEvent(0.5, 3),
        dpcheck.DiscreteLaplace(2.0, 3),
        True,
    ),
    "SelfComposedDpEvent": (
        dp_event.SelfComposedDpEvent(GAUSSIAN, 5),
        dpcheck.Gaussian(2.0) * 5,
        True,
    ),
    "ComposedDpEvent": (COMPOSED, dpcheck.Gaussian(2.0) + dpcheck.Laplace(3.0), True),
    "PoissonSampledDpEvent": (
        dp_event.PoissonSampledDpEvent(0.1, COMPOSED),
        dpcheck.Sampled(dpcheck.Gaussian(2.0) + dpcheck.Laplace(3.0), 0.1),
        True,
    ),
    "SampledWithReplacementDpEvent": (
        dp_event.SampledWithReplacementDpEvent(1000, 10, GAUSSIAN),
        dpcheck.WithReplacementGaussian(2.0, 1000, 10),
        True,
    ),
    "SampledWithoutReplacementDpEvent": (
        dp_event.SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN),
        dpcheck.FixedBatchGaussian(2.0, 1000, 10),
        True,
    ),
    "SingleEpochTreeAggregationDpEvent": (
        dp_event.SingleEpochTreeAggregationDpEvent(2.0, [8, 16]),
        dpcheck.TreeAggregation(2.0, 8, completed_only=True)
        | dpcheck.TreeAggregation(2.0, 16, completed_only=True),
        True,
    ),
    "RepeatAndSelectDpEvent": (
        dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 10.0, 1.0),
        dpcheck.RandomStopping(dpcheck.Gaussian(2.0), 1.0, 0.1),
        False,
    ),
    "MixtureOfGaussiansDpEvent": (
        dp_event.MixtureOfGaussiansDpEvent(2.0, [1.0, 2.0, 0.0], [0.25, 0.25, 0.5]),
        dpcheck.MixtureGaussian(2.0, (1.0, 2.0, 0.0), (0.25, 0.25, 0.5)),
        False,
    ),
    "ZCDpEvent": (dp_event.ZCDpEvent(0.1, 0.02), dpcheck.ZCDP(0.1, xi=0.02), True),
    "TruncatedSubsampledGaussianDpEvent": (
        dp_event.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 20, 2.0),
        dpcheck.TruncatedPoissonGaussian(2.0, 0.01, 1000, 20),
        True,
    ),
}


def test_every_kind_the_package_has_is_listed() -> None:
    """A release with a new kind fails here until it is read."""
    found = {
        name
        for name, kind in vars(dp_event).items()
        if inspect.isclass(kind)
        and issubclass(kind, dp_event.DpEvent)
        and kind is not dp_event.DpEvent
    }
    assert found == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_in_and_out(name: str) -> None:
    foreign, event, same = KINDS[name]
    found = from_dp_event(foreign)
    if name == "RepeatAndSelectDpEvent":
        assert (found.event, found.shape) == (event.event, event.shape)
        assert found.stop == pytest.approx(event.stop)
    else:
        assert found == event
    back = to_dp_event(found)
    if same:
        assert back == foreign
    assert from_dp_event(back) == found or name in (
        "UnsupportedDpEvent",
        "MixtureOfGaussiansDpEvent",
        "RepeatAndSelectDpEvent",
    )


def test_selection_keeps_its_mean_for_every_shape() -> None:
    for shape in (-0.5, 0.0, 0.5, 1.0, 3.0):
        back = to_dp_event(from_dp_event(dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 20.0, shape)))
        assert back.mean == pytest.approx(20.0)
    poisson = dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 20.0, math.inf)
    assert from_dp_event(poisson) == dpcheck.PoissonStopping(from_dp_event(GAUSSIAN), 20.0)
    assert to_dp_event(from_dp_event(poisson)) == poisson


def test_trees_that_are_not_full_keep_their_nodes() -> None:
    """dp-accounting counts the complete nodes above a leaf, dpcheck those of the whole tree."""
    for steps in (1, 2, 3, 5, 7, 8, 1000, 1024):
        complete = sum(1 for level in range(12) if 2**level <= steps)
        given = from_dp_event(dp_event.SingleEpochTreeAggregationDpEvent(1.0, steps))
        found = dpcheck.rdp(given, order=2.0, adjacency="zero-out")
        assert found.upper == pytest.approx(complete)
        assert given == dpcheck.TreeAggregation(1.0, steps, completed_only=True)
        assert to_dp_event(given) == dp_event.SingleEpochTreeAggregationDpEvent(1.0, steps)
        whole = dpcheck.TreeAggregation(1.0, steps)
        accountant = RdpAccountant([2.0], NeighboringRelation.REPLACE_SPECIAL)
        accountant.compose(to_dp_event(whole))
        ours = dpcheck.rdp(whole, order=2.0, adjacency="zero-out").upper
        assert accountant.rdp[0] == pytest.approx(ours)


def test_newer_kinds_are_known_by_name() -> None:
    def made(name: str, **fields: float) -> object:
        return type(name, (SimpleNamespace,), {})(**fields)

    assert from_dp_event(made("EpsilonDeltaDpEvent", epsilon=1.0, delta=1e-6)) == dpcheck.ApproxDP(
        1.0, 1e-6
    )
    assert from_dp_event(made("ExponentialMechanismDpEvent", epsilon=1.0)) == (
        dpcheck.ExponentialMechanism(1.0)
    )
    assert from_dp_event(made("PermuteAndFlipDpEvent", epsilon=1.0)) == dpcheck.PermuteAndFlip(1.0)
    with pytest.raises(InvalidEvent, match="no event for OtherDpEvent"):
        from_dp_event(made("OtherDpEvent"))


def test_mixtures_and_sampled_compositions_are_no_looser_than_the_peer() -> None:
    mixture = dp_event.MixtureOfGaussiansDpEvent(2.0, [1.0, 2.0, 0.0], [0.25, 0.25, 0.5])
    for event in (mixture, dp_event.PoissonSampledDpEvent(0.05, dp_event.GaussianDpEvent(1.0))):
        theirs = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-2)
        theirs.compose(event, 20)
        ours = DpcheckAccountant()
        ours.compose(event, 20)
        bound = ours.bound(1e-6)
        assert bound.lower <= theirs.get_epsilon(1e-6)
        assert ours.get_epsilon(1e-6) == bound.upper <= theirs.get_epsilon(1e-6) * (1 + 1e-4)
        assert bound.upper <= bound.lower * 1.001
        assert ours.get_delta(bound.upper) <= 1e-6 * (1 + 1e-3)


def test_zcdp_with_an_offset_is_the_peers_divergence() -> None:
    event = dp_event.ZCDpEvent(0.1, 0.02)
    theirs = dp_accounting.rdp.RdpAccountant()
    theirs.compose(event, 3)
    found = dpcheck.epsilon(from_dp_event(event) * 3, delta=1e-5, adjacency="add-remove")
    assert found.upper <= theirs.get_epsilon(1e-5) * (1 + 1e-3)
    assert dpcheck.rdp(from_dp_event(event), order=4).upper == pytest.approx(0.42)
    without = dpcheck.epsilon(dpcheck.ZCDP(0.1) * 3, delta=1e-5).upper
    assert without + 0.05 <= found.upper <= without + 0.06 + 1e-9  # the offset is paid in full
    pair = dpcheck.rdp(dpcheck.Grouped(from_dp_event(event), 2), order=4).upper
    assert pair == pytest.approx(4 * 0.4 + 2 * 1.5 * 0.02)


def test_the_accountant_serves_the_peers_calibration() -> None:
    def event(noise: float) -> dp_event.DpEvent:
        step = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(noise))
        return dp_event.SelfComposedDpEvent(step, 500)

    noise = dp_accounting.calibrate_dp_mechanism(DpcheckAccountant, event, 1.0, 1e-6, tol=1e-3)
    spent = dpcheck.epsilon(from_dp_event(event(noise)), delta=1e-6)
    assert 0.99 <= spent.upper <= 1.0
    accountant = DpcheckAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    assert accountant.supports(event(1.0))
    assert not accountant.supports(dp_event.PoissonSampledDpEvent(0.1, dp_event.ZCDpEvent(0.1)))
    with pytest.raises(dp_accounting.UnsupportedEventError, match="add-remove"):
        accountant.compose(dp_event.PoissonSampledDpEvent(0.1, dp_event.ZCDpEvent(0.1)))


def test_a_peers_distribution_composes_here() -> None:
    pld = peer.from_gaussian_mechanism(1.5, sampling_prob=0.1, value_discretization_interval=1e-3)
    event = from_pld(pld)
    assert event.added is not None  # removal and addition differ
    for count in (1, 10):
        found = dpcheck.epsilon(event * count, delta=1e-5)
        assert found.lower == 0.0  # an upper bound was given
        assert found.upper == pytest.approx(
            pld.self_compose(count).get_epsilon_for_delta(1e-5), rel=2e-3
        )
        truth = dpcheck.epsilon(dpcheck.SampledGaussian(1.5, 0.1) * count, delta=1e-5)
        assert truth.lower <= found.upper
    with pytest.raises(InvalidParameter, match="PrivacyLossDistribution"):
        from_pld(object())


def test_a_distribution_for_the_peer_and_for_riskcal() -> None:
    riskcal = pytest.importorskip("riskcal.analysis")
    event = dpcheck.SampledGaussian(1.0, 0.05) * 50
    pld = to_pld(event, adjacency="add-remove", step=2e-3)
    known = dpcheck.epsilon(event, delta=1e-6)
    assert known.lower <= pld.get_epsilon_for_delta(1e-6) <= known.upper * 1.001
    assert pld.get_delta_for_epsilon(1.0) >= dpcheck.delta(event, epsilon=1.0).lower
    missed = riskcal.get_beta_from_pld(pld, alpha=0.05)
    assert float(missed) == pytest.approx(dpcheck.tradeoff(event, 0.05).lower, abs=2e-3)
    back = dpcheck.epsilon(from_pld(pld), delta=1e-6)
    assert back.upper == pytest.approx(known.upper, rel=2e-3)
    leaky = to_pld(dpcheck.ApproxDP(0.5, 1e-3), adjacency="add-remove")
    assert leaky.get_delta_for_epsilon(0.5) == pytest.approx(1e-3, rel=1e-6)
    with pytest.raises(CannotCertify, match="Renyi divergence only"):
        to_pld(dpcheck.ZCDP(0.1), adjacency="add-remove")


def test_integer_noise_that_never_decays_is_refused():
    for rate in (0, 0.0, -1.0, math.nan):
        with pytest.raises(InvalidEvent, match="noise_parameter above 0"):
            from_dp_event(dp_event.DiscreteLaplaceDpEvent(rate, 1))
