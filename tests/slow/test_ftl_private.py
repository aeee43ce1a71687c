"""The private variant: its sums against a loop, its budget against the ledger, faults that are caught."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import dpcheck
from dpcheck.auditing.auditors.noise_scale import noise_scale_test
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.part import audit_part
from dpcheck.audits.ftl.audit import AUDIT, private_plan
from dpcheck.core.errors import BudgetExceeded, InvalidParameter
from dpcheck.core.verdict import Verdict
from dpcheck.execution.runner import Runner
from dpcheck.mechanisms.federated.protocol import autoencoder as nets
from dpcheck.mechanisms.federated.protocol import model as maths
from dpcheck.mechanisms.federated.protocol import private
from dpcheck.mechanisms.ftl import Federation
from dpcheck.mechanisms.private_ftl import PrivateFederatedTransfer
from dpcheck.session.registry import AuditSetup


def federation(rows: int = 600, seed: int = 0) -> Federation:
    """Both parties see the class; half of the rows are common and labelled."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], rows)
    X_a = rng.normal(size=(rows, 4)) + 0.8 * y[:, None] * np.array([1.0, -1.0, 1.0, 0.0])
    X_b = rng.normal(size=(rows, 3)) + 0.8 * y[:, None] * np.array([1.0, 1.0, -1.0])
    common = np.arange(rows // 2)
    return Federation(X_a, y, X_b, common, common)


def rules(clip: float = 1e9, noise: float = 1e-20, **objective: Any) -> private.Rules:
    one = private.NoisySum(clip, noise)
    return private.Rules(maths.Objective(0.3, 0.01, **objective), 0.1, one, one, 3.0)


def parties(given: private.Rules) -> tuple[private.PrivateA, private.PrivateB]:
    rng = np.random.default_rng(4)
    a = private.PrivateA(
        given,
        rng.normal(size=(9, 3)),
        rng.choice([-1.0, 1.0], 9),
        np.arange(5),
        nets.initial_network([3, 4, 2], rng),
    )
    b = private.PrivateB(
        given,
        rng.normal(size=(7, 4)),
        np.arange(5),
        rng.choice([-1.0, 1.0], 5),
        nets.initial_network([4, 2], rng),
    )
    return a, b


def test_without_clip_and_noise_the_sums_are_the_models_own() -> None:
    """Phi, class means, dL/dPhi and the loss, against the functions of the protocol."""
    a, b = parties(rules())
    silent = np.random.default_rng(0)
    u_a, u_b = nets.forward(a.network, a.X).hidden, nets.forward(b.network, b.X[:5]).hidden
    blank = private.FromB(np.zeros(2), np.full((2, 2), 0.5), 0.0)
    size_a = nets.flatten(a.network).size
    sent = a.rules.of_a.draw(a.vectors(blank), silent)[:-size_a]
    told = private.read_from_a(sent, 9)
    np.testing.assert_allclose(told.phi, maths.translator(u_a, a.y), atol=1e-9)
    for place, label in enumerate((1.0, -1.0)):
        np.testing.assert_allclose(told.means[place], u_a[a.y == label].mean(axis=0), atol=1e-9)
    size_b = nets.flatten(b.network).size
    answer = b.rules.of_b.draw(b.vectors(told), silent)[:-size_b]
    read = private.read_from_b(answer, b.labels, told, a.rules.objective)
    score = u_b @ told.phi
    slope = ((score / 4 - b.labels / 2)[:, None] * u_b).sum(axis=0)
    loss = (np.log(2) - b.labels * score / 2 + score**2 / 8).sum()
    np.testing.assert_allclose(read.slope, slope, atol=1e-9)
    assert read.loss == pytest.approx(loss, abs=1e-9)


def test_record_gradients_add_up_to_the_gradient() -> None:
    rng = np.random.default_rng(1)
    network = nets.initial_network([5, 4, 3], rng)
    trace = nets.forward(network, rng.normal(size=(6, 5)))
    signal = rng.normal(size=(6, 3))
    each = private.record_gradients(network, trace, signal)
    for row in range(6):
        one = nets.backward(network, trace.rows(np.array([row])), signal[[row]])
        np.testing.assert_allclose(each[row], nets.flatten(one), rtol=1e-12, atol=1e-15)


def test_a_record_moves_the_sum_by_at_most_twice_the_clip() -> None:
    rng = np.random.default_rng(2)
    release = private.NoisySum(0.7, 1.0)
    for _ in range(200):
        rows = rng.normal(size=(4, 6)) * 10.0 ** rng.uniform(-3, 6)
        other = rows.copy()
        other[2] = rng.normal(size=6) * 10.0 ** rng.uniform(-3, 6)
        moved = np.linalg.norm(release.clipped(rows) - release.clipped(other))
        assert moved <= 1.4 * (1 + 1e-12)
        naive = sum(row * min(1.0, 0.7 / math.sqrt(sum(v * v for v in row))) for row in rows)
        np.testing.assert_allclose(release.clipped(rows), naive, rtol=1e-12)


def test_a_record_changes_no_other_records_vector_given_the_releases() -> None:
    """Networks move by releases only: after the same ones, other rows' vectors are the same."""
    for number in range(2):
        original, changed = parties(rules(1.0, 2.0))[number], parties(rules(1.0, 2.0))[number]
        changed.X = changed.X.copy()
        changed.X[0] += 5.0
        message: Any = (
            private.FromB(np.array([3.0, -2.0]), np.full((2, 2), 0.4), 1.0)
            if number == 0
            else private.FromA(np.array([0.5, -0.5]), np.full((2, 2), 0.4))
        )
        rng = np.random.default_rng(3)
        for _ in range(3):
            release = original.rules.of_a.draw(original.vectors(message), rng)
            original.learn(release)
            changed.learn(release)
            mine, theirs = original.vectors(message), changed.vectors(message)
            assert np.abs(mine[0] - theirs[0]).max() > 1e-3
            np.testing.assert_array_equal(mine[1:], theirs[1:])


def test_noise_is_that_of_one_gaussian_of_all_iterations() -> None:
    """[Dong2022]: T releases of shift 2/sigma are one of mu = 2 sqrt(T)/sigma; its delta is closed."""
    model = PrivateFederatedTransfer(1.0, 1e-5, iterations=100)
    noise = model.noise("b")
    # The figure of the theory, noise over sensitivity 37.306, by its own closed form too.
    assert noise / 2 == pytest.approx(37.306, abs=2e-3)
    mu, phi = 2 * math.sqrt(100) / noise, NormalDist().cdf
    delta = phi(-1 / mu + mu / 2) - math.e * phi(-1 / mu - mu / 2)
    assert delta == pytest.approx(1e-5, rel=1e-3)
    assert delta <= 1e-5


def test_labels_are_turned_as_often_as_their_event_says() -> None:
    model = PrivateFederatedTransfer(4.0, 1e-5, label_share=0.25)
    flip = model.label_event().noise / 2
    assert math.log((1 - flip) / flip) == pytest.approx(1.0, abs=1e-9)
    data = federation(4000)
    a, _ = model.parties(data, rules(), np.random.default_rng(0))
    told = a.told_labels(flip, np.random.default_rng(1))
    turned = int((told != data.y_a[:2000]).sum())
    assert abs(turned - 2000 * flip) < 5 * math.sqrt(2000 * flip * (1 - flip))


def test_both_schedules_are_planned_before_anything_is_released() -> None:
    model, data = PrivateFederatedTransfer(3.0, 1e-5, iterations=4), federation(60)
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(3.0, 1e-5), adjacency="replace-one")
    bank, shop = ledger.dataset("bank", rows=60), ledger.dataset("shop", rows=60)
    model.fit(data, rng=np.random.default_rng(0), ledger=ledger, a=bank, b=shop)
    for part, dataset in (("a", bank), ("b", shop)):
        spent = ledger.epsilon(delta=1e-5, dataset=dataset).upper
        alone = dpcheck.epsilon(
            model.release_event(part),
            delta=1e-5,
            adjacency="replace-one",  # type: ignore[arg-type]
        )
        assert alone.lower <= spent <= 3.0
        assert spent > 2.99
    before = [message.copy() for message in model.messages_["a"]]
    with pytest.raises(BudgetExceeded):
        model.fit(data, ledger=ledger, a=bank, b=shop)
    np.testing.assert_array_equal(model.messages_["a"], before)
    with pytest.raises(InvalidParameter, match="party b"):
        model.fit(data, ledger=ledger, a=bank)


def test_it_learns_within_the_budget() -> None:
    data = federation()
    model = PrivateFederatedTransfer(8.0, 1e-5, hidden=(6,), rate=0.2, gradient_weight=16.0)
    model.fit(data, rng=np.random.default_rng(5))
    unseen = federation(seed=9)
    assert (model.predict(unseen.X_b) == unseen.y_a).mean() > 0.8
    assert len(model.losses_) == 20


# --- the audit -----------------------------------------------------------------------------------


def verdict(model: Any, part: Any, epsilon: float = 8.0) -> Any:
    settings = AUDIT.settings(["iterations=5", "rows_a=10"])
    request = AuditSetup(epsilon, 1e-5, "private", settings=settings)
    plan = replace(private_plan(model, part, request), loss_runs=40)
    return audit_part(plan, Limits(alpha=1e-3, max_runs=400), Runner(seed=1))


class HalfTheNoise(PrivateFederatedTransfer):
    """A plausible mistake: noise for sensitivity C, that of add-remove neighbours."""

    def noise(self, part: Any) -> float:
        return super().noise(part) / 2


@dataclass(frozen=True, slots=True)
class LossBesideTheClip(private.NoisySum):
    """Another: the loss is released next to the clipped gradient, not as part of it."""

    place: int = 12

    def clipped(self, vectors: np.ndarray) -> np.ndarray:
        loss = vectors[:, self.place].sum()
        rest = np.delete(vectors, self.place, axis=1)
        lengths = np.linalg.norm(rest, axis=1, keepdims=True)
        total = (rest / np.maximum(1.0, lengths / self.clip)).sum(axis=0)
        return np.insert(total, self.place, loss)


class UnclippedLoss(PrivateFederatedTransfer):
    def rules(self) -> private.Rules:
        good = super().rules()
        return private.Rules(
            good.objective,
            good.rate,
            good.of_a,
            LossBesideTheClip(good.of_b.clip, good.of_b.noise),
            good.gradient_weight,
        )


@dataclass(frozen=True, slots=True)
class QuietNoise(private.NoisySum):
    """Draws less noise than it says."""

    def draw(self, vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        exact = self.clipped(vectors)
        return exact + 0.7 * self.deviation * rng.standard_normal(exact.shape)


class Quiet(PrivateFederatedTransfer):
    def rules(self) -> private.Rules:
        good = super().rules()
        of_b = QuietNoise(good.of_b.clip, good.of_b.noise)
        return private.Rules(good.objective, good.rate, good.of_a, of_b, good.gradient_weight)


SETTINGS: dict[str, Any] = {"hidden": (4,), "iterations": 5, "rate": 2.0}


@pytest.mark.parametrize("part", ["a", "b"])
def test_the_right_code_holds_and_the_attack_comes_close(part: str) -> None:
    entry = verdict(PrivateFederatedTransfer(8.0, 1e-5, **SETTINGS), part)
    assert entry.verdict is Verdict.HOLDS
    assert 6.5 < entry.observed.epsilon <= entry.proved.epsilon <= 8.0
    assert "times the stated scale, as it should be (p = " in entry.conformance


@pytest.mark.parametrize(
    ("kind", "part"), [(HalfTheNoise, "a"), (HalfTheNoise, "b"), (UnclippedLoss, "b")]
)
def test_planted_faults_are_caught(kind: Any, part: str) -> None:
    entry = verdict(kind(8.0, 1e-5, **SETTINGS), part)
    assert entry.verdict is Verdict.VIOLATED
    assert entry.observed.epsilon > 8.2


def test_less_noise_than_stated_loses_the_tie() -> None:
    request = AuditSetup(8.0, 1e-5, "private", settings=AUDIT.settings(["iterations=5"]))
    for kind, passes in ((PrivateFederatedTransfer, True), (Quiet, False)):
        plan = private_plan(kind(8.0, 1e-5, **SETTINGS), "b", request)
        assert plan.mechanism is not None
        assert plan.pivot is not None
        tie = noise_scale_test(plan.mechanism, plan.pivot, plan.pairs[0].first, Runner(seed=1))
        assert tie.passed is passes
        assert tie.power > 0.999


def test_the_private_audit_needs_a_delta() -> None:
    with pytest.raises(InvalidParameter, match="delta above 0"):
        AUDIT.build(AuditSetup(8.0, 0.0, "private", settings=AUDIT.settings([])))
