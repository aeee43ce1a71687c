"""Federated transfer learning within a budget for both parties: the estimator."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dpcheck.accounting.calibrate import calibrate_noise
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.events.noise import Gaussian, RandomizedResponse
from dpcheck.core.spending import Planner, Schedule
from dpcheck.core.validate import count, finite, open_probability, positive
from dpcheck.mechanisms.federated.protocol.autoencoder import (
    Array,
    forward,
    initial_network,
)
from dpcheck.mechanisms.federated.protocol.model import Objective, check_labels
from dpcheck.mechanisms.federated.protocol.private import (
    FromB,
    NoisySum,
    PrivateA,
    PrivateB,
    Rules,
    read_from_a,
    read_from_b,
)
from dpcheck.mechanisms.ftl import Federation, state_without_rows

Part = Literal["a", "b"]


class PrivateFederatedTransfer(BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Two parties train together; neither learns more of a row of the other than the budget allows.

    `iterations` releases of each party are fixed in advance, and their noise is calibrated to the
    budget by the certified accountant. `label_share` of A's epsilon pays for the labels B is sent.
    B predicts alone, with the mean of the last quarter of the translators it was sent.

    Networks start at random: no row is used but through the noisy sums.

    Guarantee: all messages of A are (epsilon, delta)-DP for replacing one row of A (features and
    label), all messages of B for replacing one row of B. Predictions and the final networks of one
    party are functions of its own rows and of those messages. A person who is in both datasets is
    protected against B by A's budget and against A by B's; someone who sees both needs the sum.
    Reference: what was fixed: [Liu2018] Algorithm 1; T Gaussian releases: [Dong2022] Corollary 3.3.
    Assumes: numbers of rows, which rows are common, clips and noise are public; float noise.
    """

    parts: ClassVar[tuple[Part, ...]] = ("a", "b")

    def __init__(
        self,
        epsilon: float = 8.0,
        delta: float = 1e-5,
        *,
        hidden: tuple[int, ...] = (16,),
        alignment_weight: float = 0.05,
        regularization: float = 0.005,
        rate: float = 0.05,
        iterations: int = 20,
        clip: float = 1.0,
        gradient_weight: float = 4.0,
        label_share: float = 0.5,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.hidden = hidden
        self.alignment_weight = alignment_weight
        self.regularization = regularization
        self.rate = rate
        self.iterations = iterations
        self.clip = clip
        self.gradient_weight = gradient_weight
        self.label_share = label_share

    def __getstate__(self) -> dict[str, object]:
        return state_without_rows(self)

    # What is released ----------------------------------------------------------------------------

    def budget(self) -> Budget:
        """The budget of each party."""
        return Budget(positive("epsilon", self.epsilon), open_probability("delta", self.delta))

    def label_event(self) -> RandomizedResponse:
        """A's labels: each kept with probability 1 - noise/2."""
        share = finite("label_share", self.label_share)
        if not 0 < share < 1:
            raise InvalidParameter(
                f"label_share must be between 0 and 1, got {share}.", name="label_share"
            )
        # Keeping has odds e^epsilon to 1; the last digits are rounded towards more noise.
        return RandomizedResponse(2 / (1 + math.exp(share * self.budget().epsilon)) * (1 + 1e-12))

    def _schedule(self, part: Part, noise: float) -> Event:
        sums = Gaussian(noise) * count("iterations", self.iterations)
        return self.label_event() + sums if part == "a" else sums

    def noise(self, part: Part) -> float:
        """Deviation of a sum's noise over the clip, so that the schedule is within the budget."""
        self._check_part(part)
        return calibrate_noise(
            lambda noise: self._schedule(part, noise),
            self.budget(),
            adjacency=Adjacency.REPLACE_ONE,
        ).value

    def release_event(self, part: Part, data: object = None) -> Event:  # noqa: ARG002 - any data
        """Everything a party sends, for the noise it really uses; replace-one neighbours."""
        return self._schedule(part, self.noise(part))

    def rules(self) -> Rules:
        """The public rules of a training."""
        objective = Objective(self.alignment_weight, self.regularization)
        sums = [NoisySum(self.clip, self.noise(part)) for part in self.parts]
        weight = positive("gradient_weight", self.gradient_weight)
        return Rules(objective, positive("rate", self.rate), sums[0], sums[1], weight)

    def _check_part(self, part: str) -> None:
        if part not in self.parts:
            raise InvalidParameter(f'part must be "a" or "b", got {part!r}.', name="part")

    # Training ------------------------------------------------------------------------------------

    def parties(
        self, data: Federation, rules: Rules, rng: np.random.Generator
    ) -> tuple[PrivateA, PrivateB]:
        """Both parties before anything was sent; B's labels are still blank."""
        rng_a, rng_b = rng.spawn(2)
        known = slice(None, data.labelled)
        X_a, X_b = np.asarray(data.X_a, float), np.asarray(data.X_b, float)
        a = PrivateA(
            rules,
            X_a,
            check_labels(data.y_a),
            np.asarray(data.common_a)[known],
            initial_network([X_a.shape[1], *self.hidden], rng_a),
        )
        labelled = np.asarray(data.common_b)[known]
        b = PrivateB(
            rules,
            X_b,
            labelled,
            np.zeros(len(labelled)),
            initial_network([X_b.shape[1], *self.hidden], rng_b),
        )
        return a, b

    def fit(
        self,
        data: Federation,
        *,
        rng: np.random.Generator | None = None,
        ledger: Planner | None = None,
        a: object = None,
        b: object = None,
    ) -> PrivateFederatedTransfer:
        """Train. With a `ledger` both schedules are planned on its datasets `a` and `b` first."""
        generator = np.random.default_rng() if rng is None else rng
        rules = self.rules()
        plans = self._plans(ledger, {"a": a, "b": b})
        party_a, party_b = self.parties(data, rules, generator)
        label_event, events = self.label_event(), self._events(rules)
        _take(plans, "a", label_event)
        party_b.labels = party_a.told_labels(label_event.noise / 2, generator)
        self.messages_: dict[Part, list[Array]] = {"a": [], "b": []}
        translators, self.losses_ = [], []
        # Before B has said anything A knows of it what is public: u is in (0, 1).
        read = FromB(np.zeros(self.hidden[-1]), np.full((2, self.hidden[-1]), 0.5), math.inf)
        for _ in range(self.iterations):
            _take(plans, "a", events["a"])
            sent = party_a.learn(rules.of_a.draw(party_a.vectors(read), generator))
            told = read_from_a(sent, len(party_a.y))
            _take(plans, "b", events["b"])
            answer = party_b.learn(rules.of_b.draw(party_b.vectors(told), generator))
            read = read_from_b(answer, party_b.labels, told, rules.objective)
            self.messages_["a"].append(sent)
            self.messages_["b"].append(answer)
            translators.append(told.phi)
            self.losses_.append(read.loss)
        self.translator_ = np.mean(translators[-max(1, self.iterations // 4) :], axis=0)
        self.parties_ = party_a, party_b
        return self

    def _events(self, rules: Rules) -> dict[Part, Gaussian]:
        return {"a": Gaussian(rules.of_a.noise), "b": Gaussian(rules.of_b.noise)}

    def _plans(
        self, ledger: Planner | None, datasets: dict[Part, object]
    ) -> dict[Part, Schedule] | None:
        if ledger is None:
            return None
        for part, dataset in datasets.items():
            if dataset is None:
                raise InvalidParameter(
                    f"a ledger needs to know which of its datasets is party {part}'s; pass {part}=.",
                    name=part,
                )
        return {part: ledger.plan(datasets[part], self.release_event(part)) for part in self.parts}

    # Predicting ----------------------------------------------------------------------------------

    def decision_function(self, rows_of_b: Array) -> Array:
        """Scores of rows with B's features; B computes them alone."""
        check_is_fitted(self, "translator_")
        hidden = forward(self.parties_[1].network, np.asarray(rows_of_b, float)).hidden
        scores: Array = hidden @ self.translator_
        return scores

    def predict(self, rows_of_b: Array) -> Array:
        """+1 where the score is at least 0, else -1."""
        return np.where(self.decision_function(rows_of_b) >= 0, 1, -1)


def _take(plans: dict[Part, Schedule] | None, part: Part, event: Event) -> None:
    if plans is not None:
        plans[part].step(event=event)
