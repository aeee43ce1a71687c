"""The audit of DPDA: it passes on the real step and training, and catches what goes wrong in them."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpcheck import Budget, epsilon
from dpcheck.auditing.auditors.likelihood import delta_lower
from dpcheck.auditing.statistics.guesses import guess
from dpcheck.core.errors import CannotReplay, DpcheckError
from dpcheck.core.events.training import SampledGaussian
from dpcheck.core.verdict import Verdict
from dpcheck.core.witness import Witness
from dpcheck.execution.runner import Runner
from dpcheck.families.adaptation import step as canary_module
from dpcheck.families.adaptation import transcripts as _dpda_transcripts
from dpcheck.families.adaptation.one_run import RealTraining
from dpcheck.families.adaptation.step import CanaryStep
from dpcheck.mechanisms import DPDA, GDPDA
from dpcheck.mechanisms.adaptation import step as _dpda_step
from dpcheck.mechanisms.adaptation.noisy_steps import NoisyGradient, noisy_gradient
from dpcheck.session import run as session


def _canary(variant="corrected"):
    return CanaryStep(noisy_gradient(variant, 6.0, 3.0, 8), 60)


@pytest.mark.parametrize("variant", ["corrected", "blocks-apart", "noise-in-sum"])
def test_canary_passes_on_the_real_step(variant):
    canary = _canary(variant)
    length = np.linalg.norm(canary.canary_gradient())
    assert length == pytest.approx(3.0 if variant == "corrected" else 3 * np.sqrt(2), rel=1e-5)
    assert min(canary.check(np.random.default_rng(0)).values()) > 1e-6


def _leaky_signals(honest):
    def signals(layers, X, labels):
        centred = X - X.mean(axis=0)  # as a batch norm would: every row sees every other
        return honest(layers, centred, labels)

    return signals


def test_a_leak_between_examples_is_caught(monkeypatch):
    monkeypatch.setattr(_dpda_step, "signals", _leaky_signals(_dpda_step.signals))
    with pytest.raises(DpcheckError, match="does not do what its event says"):
        _canary().check(np.random.default_rng(0))


def test_clipping_after_averaging_is_caught(monkeypatch):
    honest = _dpda_step.release

    def averaged(layers, features, batch, rule, key):
        unclipped = NoisyGradient(rule.noise * rule.clip / 1e9, 1e9, rule.batch)
        low, high = honest(layers, features, batch, unclipped, key)
        size = jnp.maximum(1.0, batch.mask.sum())
        norm = jnp.sqrt(sum(jnp.sum((leaf / size) ** 2) for leaf in jax.tree.leaves((low, high))))
        factor = 1 / jnp.maximum(1.0, norm / rule.clip) / size
        return jax.tree.map(lambda leaf: leaf * factor, (low, high))

    monkeypatch.setattr(_dpda_step, "release", averaged)
    with pytest.raises(DpcheckError, match="does not do what its event says"):
        _canary().check(np.random.default_rng(0))


def _audit(**changes):
    request = session.AuditRequest(
        "dpda",
        delta=1e-5,
        **{
            "epsilon": 1.0,
            "max_runs": 5000,
            "settings": ("rows=60", "batch=8", "epochs=2", "noise=6", "canaries=0"),
            **changes,
        },
    )
    (entry,) = session.run_request(request).entries
    return entry


def test_noise_by_the_wrong_divisor_is_caught(monkeypatch):
    honest = _dpda_step._noised
    monkeypatch.setattr(_dpda_step, "_noised", lambda s, spread, k: honest(s, spread / 8, k))
    # The sums' means are right, so the canary's pair is; the noise is not, and the tie breaks. The
    # distinguisher then runs on the step itself.
    monkeypatch.setattr(canary_module.CanaryStep, "check", lambda self, rng: {})
    entry = _audit()
    assert entry.verdict is not Verdict.HOLDS
    assert "is NOT what the description says" in entry.conformance
    assert entry.verdict in (Verdict.VIOLATED, Verdict.UNDECIDED)


def test_the_real_check_catches_the_wrong_divisor_too(monkeypatch):
    honest = _dpda_step._noised
    monkeypatch.setattr(_dpda_step, "_noised", lambda s, spread, k: honest(s, spread * 8, k))
    with pytest.raises(DpcheckError, match="does not do what its event says"):
        _canary().check(np.random.default_rng(0))


def test_printed_equations_are_refuted_at_the_papers_settings(monkeypatch):
    monkeypatch.setattr(_dpda_transcripts, "TRANSCRIPTS", 2000)
    request = session.AuditRequest(
        "dpda", epsilon=4.0, delta=1e-5, variant="blocks-apart", settings=("canaries=0",)
    )
    (entry,) = session.run_request(request).entries
    assert entry.witness["steps"] == 5946  # 353 epochs
    assert entry.verdict is Verdict.VIOLATED
    assert entry.observed.epsilon == pytest.approx(4.88, abs=0.005)
    # The saved witness proves the same again, from its settings alone.
    saved = json.loads(json.dumps(dict(entry.witness)))
    assert Witness.from_json(saved).replay() == pytest.approx(entry.observed.epsilon, rel=1e-12)
    for name, value in (("steps", 9000), ("claim", 1.0), ("settings", {"rows": 3})):
        with pytest.raises(CannotReplay):
            Witness.from_json({**saved, name: value}).replay()


def test_corrected_holds_for_both_parts_of_g_dpda(monkeypatch):
    monkeypatch.setattr(_dpda_transcripts, "TRANSCRIPTS", 2000)
    request = session.AuditRequest(
        "g_dpda",
        epsilon=2.0,
        delta=1e-5,
        settings=("rows=200", "source_rows=300", "batch=8", "epochs=2", "canaries=200"),
    )
    entries = {entry.part: entry for entry in session.run_request(request).entries}
    assert {e.verdict for e in entries.values()} == {Verdict.HOLDS}
    assert entries["source"].claim.budget == Budget(2.0, 1e-5)
    assert entries["target"].claim.budget == Budget(1.0, 5e-6)
    assert all("agrees with its event" in entry.notes[0] for entry in entries.values())


def test_transcript_losses_agree_with_the_certified_curve():
    step, steps = SampledGaussian(3.0, 0.1), 200
    losses = _dpda_transcripts.transcript_losses(
        step, steps, 40_000, True, np.random.default_rng(0)
    )
    exact = epsilon(step * steps, delta=1e-2, adjacency="add-remove")
    gains = np.maximum(0, -np.expm1(np.minimum(0, exact.upper - losses)))
    assert gains.mean() == pytest.approx(1e-2, abs=5 * gains.std() / 200)
    assert delta_lower(losses, exact.upper, 1e-3) <= 1e-2
    other = _dpda_transcripts.transcript_losses(
        step, steps, 40_000, False, np.random.default_rng(1)
    )
    # E_Q[e^{-L}] = 1 where L is the loss of the data without the canary.
    assert np.mean(np.exp(-losses)) == pytest.approx(1, abs=0.05)
    assert np.mean(np.exp(-other)) == pytest.approx(1, abs=0.05)


def test_batch_size_table_against_simulation():
    pair = _dpda_transcripts.batch_size_pair(21, 0.2, 40)
    rng = np.random.default_rng(0)
    sizes = rng.binomial(21, 0.2, 200_000)
    energy = sizes * rng.chisquare(40, 200_000)
    guess = np.clip(np.floor(energy / 40 + 0.5), 0, len(pair.p) - 1).astype(int)
    seen = np.bincount(guess, minlength=len(pair.p)) / 200_000
    np.testing.assert_allclose(seen, pair.p, atol=0.006)


def test_noise_in_sum_holds_and_says_what_it_would_have_caught():
    entry = _audit(variant="noise-in-sum")
    assert entry.verdict is Verdict.HOLDS
    assert not entry.notes  # canaries=0 leaves the one-run audit out
    assert 0 < entry.observed.epsilon <= entry.proved.epsilon <= 1
    searched = _dpda_transcripts.TranscriptSearch(
        _canary("noise-in-sum"), SampledGaussian(1.0, 0.1), 1, 4.0, 1e-5, {}, 100, 4.6
    )
    assert searched.detectable == 4.6  # above the claim up to the proved bound, it could miss it


# One run -----------------------------------------------------------------------------------------


def _trial(kind=DPDA, part="target", noise=1.0, canaries=300, **settings):
    model = kind(4.0, 1e-5, noise=noise, batch=20, epochs=6, hidden=(16,), **settings)
    rows = {"source": 200, "target": 200}
    event = model.release_event(part, rows)
    claim = epsilon(event, delta=1e-5, adjacency="add-remove").upper
    return RealTraining(model, part, rows, event, claim, 1e-5, canaries)


@pytest.mark.parametrize(
    ("kind", "part", "variant"),
    [
        (DPDA, "target", "corrected"),
        (GDPDA, "source", "corrected"),
        (DPDA, "target", "noise-in-sum"),
    ],
)
def test_a_real_training_agrees_with_its_event(kind, part, variant):
    trial = _trial(kind, part, variant=variant)
    found = trial.run(1e-3, Runner(seed=1))
    assert found.agrees
    assert found.observed.epsilon <= trial.claim
    assert found.witness is None


def test_the_attack_comes_near_the_best_there_is():
    # Any attacker on a step's pair guesses a coin with accuracy (1 + delta(0)) / 2 at most.
    trial = _trial(noise=0.5)
    rng = np.random.default_rng(3)
    included = rng.random(trial.canaries) < 0.5
    seen = guess(trial.scores(included, rng), included, trial.canaries)
    best = trial._best_accuracy()
    assert best > 0.85
    assert seen.correct / seen.guessed > 0.8 * best


def test_target_gradients_without_noise_in_the_training_loop_are_caught(monkeypatch):
    # `release` itself is right, so that no test of it can see this.
    monkeypatch.setattr(
        _dpda_step,
        "_gradients",
        lambda layers, f, batch, rule, key: _dpda_step._plain(layers, f, batch),
    )
    entry = _audit(settings=("rows=200", "batch=20", "epochs=6", "noise=12", "canaries=400"))
    assert entry.verdict is Verdict.VIOLATED
    assert entry.observed.method.startswith("one run")
    assert "as it should be" in entry.conformance
    assert entry.witness["correct"] > 0.97 * entry.witness["guessed"]
    assert entry.observed.epsilon > 1


def test_too_little_noise_in_the_training_loop_takes_the_proof_away(monkeypatch):
    honest = _dpda_step._gradients

    def quieter(layers, features, batch, rule, key):
        if rule is None:
            return honest(layers, features, batch, rule, key)
        less = NoisyGradient(rule.noise / 4, rule.clip, rule.batch, rule.joint)
        return honest(layers, features, batch, less, key)

    monkeypatch.setattr(_dpda_step, "_gradients", quieter)
    entry = _audit(
        settings=("rows=200", "batch=20", "epochs=6", "noise=4", "canaries=400"), epsilon=4.0
    )
    assert "LEAKS MORE" in entry.notes[0]
    assert entry.verdict is not Verdict.HOLDS
