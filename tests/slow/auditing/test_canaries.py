"""One-run audits of a user's training function, from the decorator to the exit code."""

from __future__ import annotations

import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import beta, binom, norm

import dpcheck
from dpcheck.auditing.auditors.canaries import CanaryTraining
from dpcheck.auditing.claims import AuditedClaim, audited_claim
from dpcheck.auditing.mechanism import declaration
from dpcheck.cli.main import main
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import BadOutput, InvalidParameter, UnsupportedAdjacency
from dpcheck.execution.runner import Runner
from dpcheck.session.claims import read_claim

PURE = AuditedClaim(1.0, 0.0, Adjacency.ADD_REMOVE)
MANY = 1000


def randomized_response(included, rng):
    kept = rng.random(len(included)) < math.e / (1 + math.e)
    return np.where(kept, included, ~included) + 1e-9 * rng.random(len(included))


def gaussian(sigma):
    return lambda included, rng: included + rng.normal(scale=sigma, size=len(included))


def trial(function, claim=PURE, alpha=1e-3, seed=0, guesses=MANY // 4):
    return CanaryTraining(function, claim, MANY, guesses).run(alpha, Runner(seed=seed))


def test_a_training_that_is_tight_is_seldom_refuted():
    alarms = sum(
        trial(randomized_response, alpha=0.1, seed=seed).witness is not None for seed in range(120)
    )
    assert alarms <= binom.ppf(0.999, 120, 0.1)


def test_a_training_that_leaks_is_refuted_with_its_counts():
    found = trial(gaussian(0.05))
    assert found.observed.epsilon > 3
    assert found.witness is not None
    assert found.witness["correct"] == found.witness["guessed"] == 250
    # All 250 right: the binomial bound by hand, each of two bounds having half of alpha.
    r = (1e-3 / 2) ** (1 / 250)
    assert found.observed.epsilon == pytest.approx(math.log(r / (1 - r)), abs=1e-3)


def test_a_curve_is_refuted_as_a_whole_and_the_right_noise_is_not():
    stated = read_claim(dpcheck.Gaussian(1.0), "add-remove", "test")
    claim = audited_claim(stated)
    for seed in range(3):
        assert trial(gaussian(1.0), claim, 0.05, seed).witness is None
        found = trial(gaussian(0.4), claim, 0.05, seed)
        assert found.witness is not None
        assert found.witness["lower"]["f-DP"] > claim.epsilon


def test_a_curve_that_is_not_refuted_still_reports_what_is_proved():
    claim = audited_claim(read_claim(dpcheck.Gaussian(1.0), "add-remove", "test"))
    seen = trial(gaussian(1.0), claim, 0.05, guesses=MANY // 10)
    assert 1.0 < seen.observed.epsilon < claim.epsilon
    assert "largest Gaussian curve" in seen.note


def independent(sigma, seed, trainings=1, canaries=MANY, alpha=0.05, noise=1.0):
    claim = audited_claim(read_claim(dpcheck.Gaussian(noise), "add-remove", "test"))
    training = CanaryTraining(
        gaussian(sigma), claim, canaries, canaries // 10, None, trainings, "independent"
    )
    return training.run(alpha, Runner(seed=seed))


def test_independent_scores_prove_more_and_say_what_they_suppose():
    found = independent(1.0, 0, noise=1.4)
    assert found.witness is not None
    assert "independent given their coins" in found.note
    assert found.observed.method == "one run, independent scores"
    # By hand: the Clopper-Pearson bound of the accuracy of a Gaussian guess.
    right = found.witness["correct"]
    accuracy = beta.ppf(0.05, right, MANY - right + 1)
    mu = 2 * norm.ppf(accuracy)
    exact = dpcheck.epsilon(dpcheck.Gaussian(1 / mu), delta=1e-5, adjacency="add-remove").upper
    assert found.observed.epsilon == pytest.approx(exact, rel=1e-4)


def test_independent_scores_of_a_tight_training_are_seldom_refuted():
    alarms = sum(independent(1.0, seed).witness is not None for seed in range(60))
    assert alarms <= binom.ppf(0.999, 60, 0.05)


def test_several_trainings_prove_what_one_of_as_many_canaries_does():
    together = [independent(1.0, seed, 5, 200).observed.epsilon for seed in range(9)]
    alone = [independent(1.0, seed, 1, 1000).observed.epsilon for seed in range(9)]
    assert np.median(together) == pytest.approx(np.median(alone), rel=0.1)


def test_trainings_whose_scores_have_other_scales_are_comparable():
    shifts = iter([0.0, 1000.0, -5.0])

    def shifted(included, rng):
        return 7.0 * (included + rng.normal(scale=0.05, size=len(included))) + next(shifts)

    seen = CanaryTraining(shifted, PURE, 200, 200, None, 3).run(0.05, Runner())
    assert seen.witness["guessed"] == 600
    assert seen.witness["correct"] > 570  # the coins of a training are not half and half


def test_detectable_is_the_epsilon_that_is_caught_nine_times_in_ten():
    wanted = trial(randomized_response).observed.detectable
    accuracy = 1 / (1 + math.exp(-wanted))

    def leaky(included, rng):
        kept = rng.random(len(included)) < accuracy
        return np.where(kept, included, ~included) + 1e-9 * rng.random(len(included))

    caught = sum(trial(leaky, seed=seed).witness is not None for seed in range(50))
    assert 38 <= caught <= 50
    assert CanaryTraining(leaky, PURE, 20, 6).run(1e-3, Runner()).observed.detectable == math.inf


def test_one_score_per_canary_or_a_clear_error():
    with pytest.raises(BadOutput, match="1000 numbers, not 3"):
        trial(lambda included, rng: np.zeros(3))
    with pytest.raises(BadOutput, match="NaN"):
        trial(lambda included, rng: np.full(MANY, np.nan))


def test_the_decorator_wants_neighbours_or_canaries():
    with pytest.raises(InvalidParameter, match="canaries=m"):
        dpcheck.audited(claim=1.0, adjacency="add-remove")
    with pytest.raises(InvalidParameter, match="canaries=m"):
        dpcheck.audited(claim=1.0, adjacency="add-remove", canaries=5, neighbours=[(0, 1)])
    with pytest.raises(InvalidParameter, match="guesses"):
        dpcheck.audited(claim=1.0, adjacency="add-remove", canaries=5, guesses=6)
    with pytest.raises(InvalidParameter, match="independent"):
        dpcheck.audited(claim=1.0, adjacency="add-remove", canaries=5, scores="all")
    marked = dpcheck.audited(claim=1.0, adjacency="add-remove", canaries=5)(lambda i, rng: i)
    assert declaration(marked).canaries == 5


TRAINING = """
import dpcheck, numpy as np

def train(noise):
    def training(included, rng):
        with open("trained", "a") as log:
            log.write("once ")
        return included + rng.normal(scale=noise, size=len(included))
    return training

leaks = dpcheck.audited(claim=1.0, adjacency="add-remove", canaries=400)(train(0.01))
loud = dpcheck.audited(claim=1.0, adjacency="add-remove", canaries=400)(train(100.0))
other = dpcheck.audited(claim=1.0, adjacency="replace-one", canaries=400)(train(1.0))
"""


def audit(*arguments):
    return CliRunner().invoke(main, ["audit", *arguments, "--jobs", "1"])


def without_time(output):
    return [line for line in output.splitlines() if not line.startswith("made at")]


def test_from_the_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAINING)
    seen = audit("train.py:leaks", "--store", "kept")
    assert seen.exit_code == 1, seen.output
    assert "one training with 400 canaries" in seen.output
    again = audit("train.py:leaks", "--store", "kept", "--resume")
    assert without_time(again.output) == without_time(seen.output)
    assert (tmp_path / "trained").read_text() == "once "  # resumed: not trained again
    undecided = audit("train.py:loud")
    assert undecided.exit_code == 3  # 400 canaries cannot tell 1 from 1.25
    assert "more canaries or more trainings" in undecided.output
    assert "--max-runs" not in undecided.output  # which a single training does not have
    assert "runs a side" not in undecided.output
    refused = audit("train.py:other").exception
    assert isinstance(refused, UnsupportedAdjacency)
