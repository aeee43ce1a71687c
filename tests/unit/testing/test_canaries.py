"""Canaries made for the user: an audit with them catches a wrong training and passes a right one."""

import numpy as np
import pytest

import dpcheck
from dpcheck.auditing.auditors.canaries import CanaryTraining
from dpcheck.auditing.claims import audited_claim
from dpcheck.core.errors import BadOutput, InvalidParameter
from dpcheck.execution.runner import Runner
from dpcheck.session.claims import read_claim
from dpcheck.testing.canaries import (
    DiracCanaries,
    image_canaries,
    loss_scores,
    table_canaries,
    text_canaries,
)

STEPS, NOISE, MANY, WIDE = 10, 3.0, 600, 700
CANARIES = DiracCanaries(MANY, dimension=WIDE, norm=1.0)


def training(noise):
    """Full-batch DP-SGD; other people's gradients are the same whoever else is in."""
    others = np.random.default_rng(5).normal(size=WIDE)

    def train(included, rng):
        updates = [
            CANARIES.total(included) + others + rng.normal(scale=noise, size=WIDE)
            for _ in range(STEPS)
        ]
        return CANARIES.scores(np.array(updates) - others)

    return train


def verdicts(noise, seeds):
    claim = audited_claim(read_claim(dpcheck.Gaussian(NOISE) * STEPS, "add-remove", "test"))
    for seed in range(seeds):
        audit = CanaryTraining(training(noise), claim, MANY, 60, None, 1, "independent")
        yield audit.run(0.01, Runner(seed=seed)).witness is not None


def test_white_box_scores_tell_half_of_the_noise_and_pass_all_of_it():
    assert all(verdicts(NOISE / 2, 3))
    assert not any(verdicts(NOISE * 1.05, 3))


def test_scores_are_what_each_canary_finds_in_the_updates():
    updates = np.random.default_rng(0).normal(size=(4, WIDE))
    directions = np.eye(WIDE)[:MANY]
    assert CANARIES.scores(updates) == pytest.approx(directions @ updates.sum(axis=0))
    assert CANARIES.scores(list(updates), -1.0) == pytest.approx(-CANARIES.scores(updates))


def test_wrong_sizes_are_refused():
    with pytest.raises(InvalidParameter, match="as many coordinates"):
        DiracCanaries(5, 4, 1.0)
    with pytest.raises(BadOutput, match="3 coordinates, not 700"):
        CANARIES.scores([np.zeros(3)])
    with pytest.raises(BadOutput, match="same canaries"):
        loss_scores([1.0], [1.0, 2.0])
    with pytest.raises(InvalidParameter, match="table"):
        table_canaries(3, [], 2, np.random.default_rng(0))


def test_inputs_are_valid_and_new():
    rng = np.random.default_rng(1)
    images, labels = image_canaries(50, (3, 8, 8), 10, rng)
    assert 0 <= images.min() <= images.max() <= 1
    assert set(labels) <= set(range(10))
    table = np.arange(40.0).reshape(10, 4)
    rows, _ = table_canaries(200, table, 2, rng)
    assert all(set(rows[:, i]) <= set(table[:, i]) for i in range(4))
    assert not any((row == table).all(axis=1).any() for row in rows[:5])
    tokens = text_canaries(1000, 500, 12, rng)
    assert 0 <= tokens.min() <= tokens.max() < 500
    assert len({tuple(one) for one in tokens}) == 1000
