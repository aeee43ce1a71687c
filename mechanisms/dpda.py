"""DPDA: adversarial domain adaptation that protects the target's rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpcheck.core.budget import Budget
from dpcheck.core.errors import BudgetExceeded, InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.spending import Spender
from dpcheck.core.validate import count, finite, open_probability, positive
from dpcheck.mechanisms.adaptation.lazy_jax import Tensor
from dpcheck.mechanisms.adaptation.noisy_steps import (
    NoisyGradient,
    epochs_for,
    epochs_to_steps,
    noisy_gradient,
    nu_schedule,
    read_variant,
)
from dpcheck.mechanisms.adaptation.sampling import joined, poisson_batches
from dpcheck.mechanisms.common.data import Labels

if TYPE_CHECKING:
    from dpcheck.mechanisms.adaptation.step import StepRules, Weights

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """The steps of a training and what each part pays: public facts only."""

    epochs: int
    steps: int
    per_epoch: int
    claimed: Mapping[str, Event]  # per step, as the paper accounts it
    true: Mapping[str, Event]  # per step, as it is


class Observer(Protocol):
    """Somebody who sees what every step adds to the weights."""

    def watch(self, shown: Tensor) -> Tensor:
        """What to keep of a step's `Updates`, computed in jax."""

    def collect(self, seen: Tensor) -> None:
        """What was kept of the steps of an epoch, stacked."""


class DPDA(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """A classifier for an unlabelled target, trained on a labelled public source.

    Phase 1 trains extractor and label predictor on the source; phase 2 trains a domain classifier on
    both domains and the extractor against it (gradient reversal). Target gradients are clipped,
    summed over a Poisson-sampled batch and noised; `epochs` None stands for as many as the budget
    allows, by the paper's accountant (exact RDP, classic conversion) in the printed variants and by
    the certified one in "corrected".

    Guarantee ("corrected"): all noisy gradients together are (epsilon, delta)-DP for adding or
    removing one target row. "blocks-apart" clips two blocks apart and accounts one: its true
    noise is sigma / sqrt(2). "printed-algorithm" does not train the extractor on the target.
    "noise-in-sum" draws noise per example, as (14) is printed.
    Reference: [Wang2020] Algorithm 1, (9)-(18); [Ganin2016].
    Assumes: the source is public; rows, batch, clip and noise are public; noise is drawn in float32.
    Needs jax: pip install 'dpcheck[deep]'.
    """

    parts: ClassVar[tuple[str, ...]] = ("target",)

    def __init__(
        self,
        epsilon: float = 4.0,
        delta: float = 1e-5,
        *,
        noise: float = 6.0,
        clip: float = 3.0,
        batch: int = 32,
        epochs: int | None = None,
        hidden: Sequence[int] = (50,),
        domain_hidden: Sequence[int] = (),
        label_rate: float = 0.05,
        domain_rate: float = 1e-3,
        nu: float | None = None,
        separate_heads: bool = False,
        variant: str = "corrected",
        classes: Sequence[object] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.clip = clip
        self.batch = batch
        self.epochs = epochs
        self.hidden = hidden
        self.domain_hidden = domain_hidden
        self.label_rate = label_rate
        self.domain_rate = domain_rate
        self.nu = nu
        self.separate_heads = separate_heads
        self.variant = variant
        self.classes = classes

    # What is released ----------------------------------------------------------------------------

    def budget(self, part: str) -> Budget:
        """The budget of a part."""
        self._check_part(part)
        return Budget(positive("epsilon", self.epsilon), open_probability("delta", self.delta))

    def gradient_rules(self) -> dict[str, NoisyGradient]:
        """How the gradients of every protected part are released."""
        return {"target": self._rule()}

    def _rule(self) -> NoisyGradient:
        return noisy_gradient(self.variant, self.noise, self.clip, self.batch)

    def phases(self, part: str) -> int:
        """In how many batches per step a part takes part."""
        self._check_part(part)
        return 1

    def training_plan(self, rows: Mapping[str, int]) -> TrainingPlan:
        """Steps and events for so many rows of every part."""
        variant, rules = read_variant(self.variant), self.gradient_rules()
        for part in self.parts:
            self.budget(part)  # a budget that is none is refused, whatever sets the epochs
        claimed = {part: rules[part].claimed_step(rows[part]) for part in self.parts}
        true = {part: rules[part].true_step(rows[part]) for part in self.parts}
        epochs = self.epochs
        if epochs is None:
            epochs = min(self._epochs(part, rows, claimed, true, variant) for part in self.parts)
        # An epoch is one over the target; all parts take the same steps.
        steps = epochs_to_steps(epochs, rows["target"], self.batch)
        return TrainingPlan(epochs, steps, max(1, rows["target"] // self.batch), claimed, true)

    def _epochs(
        self,
        part: str,
        rows: Mapping[str, int],
        claimed: Mapping[str, Event],
        true: Mapping[str, Event],
        variant: str,
    ) -> int:
        per_epoch = rows["target"] / self.batch
        if variant == "corrected":
            phases = self.phases(part)
            step = true[part] if phases == 1 else true[part] * phases
            return epochs_for(step, per_epoch, self.budget(part), "best")
        return epochs_for(claimed[part], per_epoch, self._phase_budget(part), "rdp-classic")

    def _phase_budget(self, part: str) -> Budget:
        """What the paper's accounting gives each phase."""
        whole, phases = self.budget(part), self.phases(part)
        return Budget(whole.epsilon / phases, whole.delta / phases)

    def release_event(self, part: str = "target", rows: Mapping[str, int] | None = None) -> Event:
        """Everything released about a part: by the fitted model, or on data of this shape."""
        self._check_part(part)
        if rows is None:
            check_is_fitted(self, "plan_")
            return self.plan_.true[part] * (self.steps_ * self.phases(part))
        plan = self.training_plan(rows)
        return plan.true[part] * (plan.steps * self.phases(part))

    def _check_part(self, part: str) -> None:
        if part not in self.parts:
            raise InvalidParameter(
                f"part must be one of {', '.join(self.parts)}, got {part!r}.", name="part"
            )

    # Training ------------------------------------------------------------------------------------

    def step_rules(self, **changes: bool) -> StepRules:
        """The rules of a training step."""
        from dpcheck.mechanisms.adaptation.step import StepRules

        rules = self.gradient_rules()
        return StepRules(
            rules["target"], rules.get("source"), self.label_rate, self.domain_rate, **changes
        )

    def nus(self, done: int, steps: int, total: int) -> Floats:
        """The adaptation parameter of the next steps: fixed, or the schedule from 0 to 1."""
        if self.nu is not None:
            value = finite("nu", self.nu)
            if not 0 <= value <= 1:
                raise InvalidParameter(f"nu must be in [0, 1], got {value:g}.", name="nu")
            return np.full(steps, value, dtype=np.float32)
        share = [nu_schedule((done + i) / total) for i in range(steps)]
        return np.asarray(share, dtype=np.float32)

    def initial_weights(self, features: int, classes: int, rng: np.random.Generator) -> Weights:
        """Random weights."""
        from dpcheck.mechanisms.adaptation.network import initial_layers
        from dpcheck.mechanisms.adaptation.step import Weights

        widths = [count("hidden", width) for width in self.hidden]
        top = widths[-1]
        domain = [top, *self.domain_hidden, 2]
        return Weights(
            initial_layers([features, *widths], rng),
            initial_layers([top, classes], rng),
            initial_layers(domain, rng),
            initial_layers(domain, rng) if self.separate_heads else None,
        )

    def fit(
        self,
        X_source: ArrayLike,
        y_source: ArrayLike,
        X_target: ArrayLike,
        *,
        rng: np.random.Generator | None = None,
        ledger: Spender | None = None,
        source: object = None,
        target: object = None,
        after_epoch: Callable[[int, DPDA], None] | None = None,
        rules: StepRules | None = None,
        public_rows: Mapping[str, int] | None = None,
        observer: Observer | None = None,
    ) -> DPDA:
        """Train. `rules` other than `step_rules()` are for baselines that are not private.

        Sampling rates and epochs follow from `public_rows`, by default the rows there are: give it
        where not even their number may be known. An `observer` sees every step's updates.
        With a `ledger` every epoch is spent on its datasets before it is run, at its true cost, and
        training stops at the budget; `steps_` says how far it came.
        """
        from dpcheck.mechanisms.adaptation.lazy_jax import jax
        from dpcheck.mechanisms.adaptation.step import Data, check_widths, jitted_watched_run

        labels, rows = (
            np.asarray(y_source),
            [_read(X_source, "X_source"), _read(X_target, "X_target")],
        )
        self.classes_ = np.unique(labels) if self.classes is None else np.asarray(self.classes)
        if len(self.classes_) < 2:
            raise InvalidParameter("the source has only one class.", name="y_source")
        if labels.shape != (len(rows[0]),) or not np.isin(labels, self.classes_).all():
            raise InvalidParameter("y_source must hold one known class per row.", name="y_source")
        data = Data(rows[0], np.searchsorted(self.classes_, labels).astype(np.int32), rows[1])
        check_widths(data)
        sizes = {"source": len(rows[0]), "target": len(rows[1])}
        public = sizes if public_rows is None else public_rows
        plan = self.training_plan(public)
        generator = np.random.default_rng() if rng is None else rng
        self.n_features_in_ = rows[0].shape[1]
        self.weights_ = self.initial_weights(self.n_features_in_, len(self.classes_), generator)
        self.plan_, self.steps_, self.stopped_ = plan, 0, False
        datasets = {"source": source, "target": target}
        data = jax.tree.map(jax.numpy.asarray, data)
        rules = self.step_rules() if rules is None else rules
        while self.steps_ < plan.steps:
            size = min(plan.per_epoch, plan.steps - self.steps_)
            if not self._spend(ledger, datasets, plan, size):
                self.stopped_ = True
                break
            chosen = self.sample_rows(sizes, size, generator, public)
            nus = self.nus(self.steps_, size, plan.steps)
            key = jax.random.key(int(generator.integers(2**63)))
            watch = None if observer is None else observer.watch
            self.weights_, seen = jitted_watched_run(
                rules, watch, self.weights_, data, chosen, nus, key
            )
            if observer is not None:
                observer.collect(seen)
            self.steps_ += size
            if after_epoch is not None:
                after_epoch(self.steps_, self)
        return self

    def sample_rows(
        self,
        sizes: Mapping[str, int],
        steps: int,
        rng: np.random.Generator,
        public: Mapping[str, int] | None = None,
    ) -> NDArray[np.int32]:
        """Poisson samples of so many steps: label, source and target batches."""
        s, t = sizes["source"], sizes["target"]
        known = sizes if public is None else public
        rates = [self._rule().sampling_rate(known[part]) for part in ("source", "target")]
        tables = [
            poisson_batches(n, q, steps, rng)
            for n, q in ((s, rates[0]), (s, rates[0]), (t, rates[1]))
        ]
        return joined(*tables, rows=(s, s, t))

    def _spend(
        self, ledger: Spender | None, datasets: Mapping[str, object], plan: TrainingPlan, size: int
    ) -> bool:
        if ledger is None:
            return True
        for part in self.parts:
            if datasets[part] is None:
                raise InvalidParameter(
                    f"a ledger needs to know which of its datasets is the {part}; pass it.",
                    name=part,
                )
            try:
                ledger.spend(datasets[part], plan.true[part] * (size * self.phases(part)))
            except BudgetExceeded:
                return False
        return True

    # Predicting ----------------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> Floats:
        """The score of every class."""
        check_is_fitted(self, "weights_")
        from dpcheck.mechanisms.adaptation.network import apply

        rows = _read(X, "X")
        if rows.shape[1] != self.n_features_in_:
            raise InvalidParameter(
                f"X has {rows.shape[1]} features where {self.n_features_in_} are expected.",
                name="X",
            )
        return np.asarray(apply(self.weights_.features + self.weights_.label, rows)[0], dtype=float)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of every class."""
        scores = self.decision_function(X)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> Labels:
        """The likeliest class of each row."""
        return np.asarray(self.classes_[np.argmax(self.decision_function(X), axis=1)])


def _read(X: ArrayLike, name: str) -> NDArray[np.float32]:
    rows = np.asarray(X, dtype=np.float32)
    if rows.ndim != 2 or not rows.size:
        raise InvalidParameter(f"{name} must be a table of at least one row.", name=name)
    if not np.isfinite(rows).all():
        raise InvalidParameter(f"{name} holds NaN or infinity.", name=name)
    return rows
