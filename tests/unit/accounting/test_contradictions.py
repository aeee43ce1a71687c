"""Two proofs that contradict each other are refused, not reconciled."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck
from dpcheck.accounting import tradeoff
from dpcheck.accounting.accountants.distribution import DistributionAccountant
from dpcheck.accounting.accountants.pure import PureAccountant
from dpcheck.accounting.certify import closed
from dpcheck.accounting.certify.bound import Plan
from dpcheck.accounting.certify.theorem import Curve, Spends
from dpcheck.accounting.pairs.pair import rounded_sum
from dpcheck.core.errors import ProofsContradict
from dpcheck.numerics.side import Side


def reaching(epsilon):
    """A plan with a theorem that says so."""
    return lambda _, parts, delta: Plan(Spends(parts, Side.LOWER, epsilon, delta, both=True))


def test_a_lower_side_above_the_upper_one_is_refused(monkeypatch):
    true = dpcheck.epsilon(dpcheck.SampledGaussian(1.0, 0.01) * 100, delta=1e-5)
    monkeypatch.setattr(DistributionAccountant, "plan_below", reaching(true.upper * (1 + 1e-6)))
    with pytest.raises(ProofsContradict, match=r"contradict each other.*by pld.*report"):
        dpcheck.epsilon(dpcheck.SampledGaussian(1.0, 0.01) * 100, delta=1e-5)


def test_an_answer_of_nothing_is_held_against_a_lower_bound_too(monkeypatch):
    """Distances of a composition that are not added up: 0 was the answer to whatever one step hides."""
    event = dpcheck.SampledGaussian(1.0, 1e-6) * 1000
    assert dpcheck.epsilon(event, delta=1e-5).lower > 0

    def forgetful(parts):
        return rounded_sum(loss.variation() for loss, _ in parts)

    monkeypatch.setattr(closed, "composed_variation", forgetful)
    with pytest.raises(ProofsContradict, match="by pld, at most 0 by variation"):
        dpcheck.epsilon(event, delta=1e-5)


def test_a_delta_of_nothing_is_too(monkeypatch):
    event = dpcheck.Laplace(1.0) * 3
    assert dpcheck.delta(event, epsilon=2.0).lower > 0
    monkeypatch.setattr(
        PureAccountant,
        "curve_above",
        lambda _, parts, epsilons: Plan(Spends(parts, Side.UPPER, 0.0, 0.0, both=True)),
    )
    with pytest.raises(ProofsContradict, match="by pld, at most 0 by pure"):
        dpcheck.delta(event, epsilon=2.0)


def test_the_same_of_a_delta(monkeypatch):
    def wrong(_, parts, epsilons):
        return Plan(Curve(parts, Side.LOWER, epsilons, np.array([0.9]), both=True))

    monkeypatch.setattr(DistributionAccountant, "curve_below", wrong)
    with pytest.raises(ProofsContradict, match=r"contradict each other: at least 0\.9"):
        dpcheck.delta(dpcheck.SampledGaussian(1.0, 0.01), epsilon=1.0)


def test_the_same_of_a_trade_off(monkeypatch):
    monkeypatch.setattr(
        tradeoff, "tradeoff_by_pld", lambda _side, _rate, bound: 0.9 if bound is Side.LOWER else 0.8
    )
    with pytest.raises(ProofsContradict, match="contradict each other"):
        dpcheck.tradeoff(dpcheck.SampledGaussian(1.0, 0.01), 0.05)


def test_sides_that_cross_by_their_last_digits_are_one_number(monkeypatch):
    exact = dpcheck.epsilon(dpcheck.PureDP(0.5) * 3).upper
    monkeypatch.setattr(DistributionAccountant, "plan_below", reaching(exact * (1 + 1e-12)))
    found = dpcheck.epsilon(dpcheck.PureDP(0.5) * 3, delta=1e-300)
    assert found.lower <= found.upper
