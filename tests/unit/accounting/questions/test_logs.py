"""Long logs of steps that all differ: never on the wrong side of the same log step by step."""

from __future__ import annotations

import random

import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.losses import (
    FiniteLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    Loss,
    OppositeMixtureLoss,
    ResponseLoss,
    SampledLaplaceLoss,
)
from dpcheck.accounting.pairs import rounded as logs
from dpcheck.accounting.pld.distribution import pld_delta
from dpcheck.numerics.side import Side


def drawn(kind: str, n: int) -> list[Loss]:
    rng = random.Random(kind)
    made = {
        "mixture": lambda: GaussianMixtureLoss((rng.uniform(0.5, 2),), (rng.uniform(0.01, 0.3),)),
        "backwards": lambda: GaussianMixtureLoss(
            (rng.uniform(0.5, 2),), (rng.uniform(0.01, 0.3),), True
        ),
        "opposite": lambda: OppositeMixtureLoss((rng.uniform(0.3, 1),), (rng.uniform(0.01, 0.3),)),
        "sampled laplace": lambda: SampledLaplaceLoss(rng.uniform(0.5, 2), rng.uniform(0.01, 0.3)),
        "laplace": lambda: LaplaceLoss(rng.uniform(0.1, 1)),
        "response": lambda: ResponseLoss(rng.uniform(0.1, 1)),
    }[kind]
    return [made() for _ in range(n)]


KINDS = ("mixture", "backwards", "opposite", "sampled laplace", "laplace", "response")


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(logs, "MANY_KINDS", 10)
    monkeypatch.setattr(logs, "FEW_KINDS", 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("few")
def test_each_cell_is_above_and_below_those_in_it(kind):
    """Divergences of one step each, on a lattice fine enough to compare them."""
    parts = dict.fromkeys(drawn(kind, 24), 2)
    epsilons = np.array([-0.2, 0.0, 0.1, 0.4, 0.9])
    for side, sign in ((Side.UPPER, 1), (Side.LOWER, -1)):
        found = logs.rounded(parts, side)
        assert len(found) <= 4
        assert sum(found.values()) == 48
        for loss in parts:
            corner = min(
                (c for c in found if _beyond(c, loss, sign)),
                key=lambda c: sum(abs(a - b) for a, b in _both(c, loss)),
            )
            own = pld_delta(((loss, 1),), epsilons, Side.LOWER if sign > 0 else Side.UPPER)
            other = pld_delta(((corner, 1),), epsilons, Side.UPPER if sign > 0 else Side.LOWER)
            assert (sign * (other - own) >= -1e-6).all()


def _both(corner: Loss, loss: Loss):
    return zip(corner.parameters(), loss.parameters(), strict=True)


def _beyond(corner: Loss, loss: Loss, sign: int) -> bool:
    return all(sign * a >= sign * b for a, b in _both(corner, loss))


EVENTS = {
    "add-remove": [
        dpcheck.SampledGaussian(0.8 + 0.02 * i, 0.05 + 0.002 * (i % 7)) for i in range(30)
    ],
    "replace-one": [dpcheck.SampledGaussian(1.5 + 0.03 * i, 0.05) for i in range(30)],
    "zero-out": [dpcheck.Laplace(20 + 0.3 * i) for i in range(30)]
    + [dpcheck.SampledLaplace(1 + 0.02 * i, 0.1) for i in range(30)],
}


@pytest.mark.parametrize("adjacency", EVENTS)
def test_a_log_lies_within_its_rounded_self(adjacency, monkeypatch):
    event = dpcheck.Sequential(tuple(EVENTS[adjacency])) + dpcheck.FinitePair(
        (0.6, 0.4), (0.5, 0.5)
    )
    exact = dpcheck.epsilon(event, delta=1e-5, adjacency=adjacency)
    curve = dpcheck.delta(event, epsilon=1.0, adjacency=adjacency)
    monkeypatch.setattr(logs, "MANY_KINDS", 20)
    monkeypatch.setattr(logs, "FEW_KINDS", 12)
    found = dpcheck.epsilon(event, delta=1e-5, adjacency=adjacency)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.lower < found.upper
    assert found.upper <= exact.upper * 1.15
    rough = dpcheck.delta(event, epsilon=1.0, adjacency=adjacency)
    assert rough.lower <= curve.upper
    assert curve.lower <= rough.upper


def test_what_is_not_ordered_is_left_alone(few):
    table = FiniteLoss((0.6, 0.4), (0.5, 0.5))
    two = GaussianMixtureLoss((1.0, 2.0), (0.1, 0.1))
    answer = ResponseLoss(0.5, 0.0, 0.3)
    parts = dict.fromkeys([table, two, answer, *drawn("mixture", 12), *drawn("backwards", 12)], 1)
    found = logs.rounded(parts, Side.UPPER)
    assert {table, two, answer} <= set(found)
    assert {loss.backwards for loss in found if isinstance(loss, GaussianMixtureLoss)} == {
        True,
        False,
    }
    assert sum(found.values()) == 27


def test_short_logs_are_not_rounded():
    parts = dict.fromkeys(drawn("mixture", 50), 3)
    for side in Side:
        assert logs.rounded(parts, side) == parts


def test_a_log_of_thousands_of_steps():
    """Half of the kinds twice: what a finer noise schedule costs is known on both sides to a percent."""
    steps = 4000
    log = dpcheck.Sequential(
        tuple(dpcheck.SampledGaussian(1.5 - 0.7 * i / steps, 0.003) for i in range(steps))
    )
    found = dpcheck.epsilon(log, delta=1e-6)
    coarse = [
        sum(dpcheck.SampledGaussian(noise, 0.003) * (steps // 50) for noise in noises)
        for noises in (
            [1.5 - 0.7 * (k + 1) / 50 for k in range(50)],
            [1.5 - 0.7 * k / 50 for k in range(50)],
        )
    ]
    more, less = (dpcheck.epsilon(event, delta=1e-6) for event in coarse)
    assert less.lower <= found.upper
    assert found.lower <= more.upper
    assert found.gap <= 0.02 * found.upper
