"""An epsilon taken apart: winners, shares and how it moves, against the accountants asked directly."""

from __future__ import annotations

import math
import pickle

import pytest

import dpcheck
from dpcheck.accounting.explain import explain_epsilon, loss_law, turn
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.errors import InvalidParameter

MIXED = dpcheck.Gaussian(2.0) * 4 + dpcheck.PureDP(0.1) + dpcheck.Gaussian(2.0)


def test_methods_are_what_each_accountant_says_when_asked_by_name():
    why = explain_epsilon(dpcheck.Gaussian(2.0), 1e-5, Adjacency.ADD_REMOVE)
    assert {name for name, _, _ in why.methods} >= {"gdp", "rdp-optimal", "rdp-classic", "pld"}
    for name, value, _ in why.methods:
        asked = dpcheck.epsilon(dpcheck.Gaussian(2.0), delta=1e-5, method=name)
        assert value == asked.upper
    assert why.bound.method == "gdp"
    assert min(value for _, value, _ in why.methods) == why.bound.upper


def test_shares_are_drops_of_the_whole():
    why = explain_epsilon(MIXED, 1e-5, Adjacency.ADD_REMOVE)
    noise, pure = why.shares
    assert noise.part.endswith("x 5")
    assert sum(one.share for one in why.shares) == pytest.approx(1.0)
    # Without the pure part five Gaussians are left, whose closed form is that of one.
    five = dpcheck.epsilon(dpcheck.Gaussian(2.0 / math.sqrt(5)), delta=1e-5).upper
    assert pure.without == pytest.approx(five, rel=1e-9)
    assert noise.without == pytest.approx(0.1, rel=1e-3)
    assert pure.alone == pytest.approx(0.1, rel=1e-3)


def test_moves_are_the_answers_to_the_changed_question():
    step = dpcheck.SampledGaussian(1.0, 0.02)
    why = explain_epsilon(step * 100, 1e-5, Adjacency.ADD_REMOVE)
    moves = dict(why.moves)
    assert list(moves) == ["noise", "sampling rate", "steps", "delta"]
    double = dpcheck.epsilon(dpcheck.SampledGaussian(2.0, 0.02) * 100, delta=1e-5).upper
    assert moves["noise"][3] == pytest.approx(double, rel=1e-9)
    assert moves["steps"][3] == pytest.approx(
        dpcheck.epsilon(step * 200, delta=1e-5).upper, rel=1e-9
    )
    assert moves["delta"][0] > why.bound.upper > moves["delta"][3]
    assert "epsilon if this is" in str(why)
    assert why.to_dict()["moves"]["delta"]["2"] == moves["delta"][3]


def test_a_turned_event_stays_an_event():
    assert turn(dpcheck.SampledGaussian(1.0, 0.9), ("sampling_rate",), 2.0).sampling_rate == 1.0
    assert turn(dpcheck.PureDP(1.0) * 3, ("times",), 0.1).times == 1
    assert turn(dpcheck.PureDP(1.0), ("sampling_rate",), 2.0) == dpcheck.PureDP(1.0)


def test_the_drawn_loss_is_the_law_of_the_gaussian():
    losses, density = loss_law(dpcheck.Gaussian(1.0), Adjacency.ADD_REMOVE)
    step = losses[1] - losses[0]
    mean = float((losses * density).sum() * step)
    assert float(density.sum() * step) == pytest.approx(1.0, rel=1e-3)
    assert mean == pytest.approx(0.5, abs=0.02)  # of N(mu^2/2, mu^2)
    assert loss_law(dpcheck.ZCDP(0.1), Adjacency.ADD_REMOVE) is None


def test_answers_explain_themselves_and_other_bounds_say_that_they_cannot():
    answer = dpcheck.epsilon(dpcheck.PureDP(0.5) * 2, delta=1e-6)
    assert "pure" in str(answer.explain())
    assert pickle.loads(pickle.dumps(answer)) == answer
    with pytest.raises(InvalidParameter, match="ask it about the event"):
        Bound(0.0, 1.0, "somewhere").explain()


def test_what_has_no_finite_epsilon_is_said_so():
    why = str(dpcheck.epsilon(dpcheck.SampledGaussian(1.0, 0.01), delta=0.0).explain())
    assert "no finite epsilon holds" in why
    assert "proved by" not in why


def test_no_steps_stay_none_however_they_are_multiplied():
    why = dpcheck.epsilon(dpcheck.PureDP(1.0) * 0, delta=0.0).explain()
    assert all(name != "steps" for name, _ in why.moves)
