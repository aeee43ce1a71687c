"""DPHTL: hypothesis transfer from several private sources to a target with few labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.spending import Spender
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.data import Labels, read_classes, refuse_data_scaling, to_signs
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.dpiw import (
    RowBound,
    TwoSamples,
    log_importance_weights,
    variant_bound,
    weight_model,
    weight_scale,
)
from dpcheck.mechanisms.output.bayes import bayesian_logistic, informative_prior
from dpcheck.mechanisms.output.hypothesis_weights import hypothesis_weights
from dpcheck.mechanisms.output.model import OutputModel
from dpcheck.mechanisms.output.noise import SOLVER_SHARE, OutputBlock, Scale
from dpcheck.mechanisms.output.private_logistic import SignedRows, source_block, source_scale
from dpcheck.mechanisms.output.rows import Rows, RowShape, clip_box, clip_norm, read_rows, stack


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One source: labelled rows X, y and other people's unlabelled rows."""

    X: Rows
    y: Floats
    unlabelled: Rows


@dataclass(frozen=True, slots=True, eq=False)
class SourcesData:
    """What is released about: sources with labels in {-1, +1}, and the public rows."""

    sources: tuple[Source, ...]
    public: Rows

    def __post_init__(self) -> None:
        if not self.sources:
            raise InvalidParameter("there is no source.", name="sources")
        checked, width = [], None
        for number, source in enumerate(self.sources, 1):
            labelled = SignedRows(source.X, source.y)
            width = labelled.X.shape[1] if width is None else width
            read_rows(labelled.X, f"X of source {number}", width)
            unlabelled = read_rows(source.unlabelled, f"unlabelled of source {number}", width)
            checked.append(Source(labelled.X, labelled.y, unlabelled))
        both = TwoSamples(checked[0].unlabelled, self.public)
        object.__setattr__(self, "sources", tuple(checked))
        object.__setattr__(self, "public", both.public)


class DPHTL(ClassifierMixin, OutputModel[SourcesData]):  # type: ignore[misc]  # sklearn is untyped
    """A target model around a prior made of private source models and private importance weights.

    Every source releases an output-perturbed model of its labelled rows and importance weights of
    the public rows from its unlabelled ones; the target finds the mixture of sources it looks like
    (KL projection), makes it a Gaussian prior, and trains on its few labels.

    Guarantee: replacing one record of a source, labelled or unlabelled, changes the log density of
    all that the source releases by at most `epsilon`.
    Reference: [Wang2018] Algorithm 1 and Theorem 1.
    Assumes: nobody is in both parts of a source (parallel composition), nor in two sources or the
    public rows; row counts, classes and bounds are public. The target is not protected.

    `variant`, `bound` and `weight_norm_bound` are those of DPIW. Labelled rows are clipped to norm
    `norm_bound` (labelled_bound="ball"), which the printed rate n lam eps/2 needs, or into the box
    [0, 1]^d ("box"), where it is short by a factor of up to sqrt(d). The prior's deviation is 0
    where all sources agree: see `informative_prior`.
    """

    parts: ClassVar[tuple[str, ...]] = ("source",)

    def __init__(
        self,
        epsilon: float = 1.0,
        regularization: float = 0.003,
        weight_regularization: float = 0.001,
        *,
        norm_bound: float = 1.0,
        bound: str = "box",
        labelled_bound: str = "ball",
        weight_norm_bound: float | None = None,
        deviation_floor: float = 0.0,
        variant: str = "corrected",
        classes: Sequence[object] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.regularization = regularization
        self.weight_regularization = weight_regularization
        self.norm_bound = norm_bound
        self.bound = bound
        self.labelled_bound = labelled_bound
        self.weight_norm_bound = weight_norm_bound
        self.deviation_floor = deviation_floor
        self.variant = variant
        self.classes = classes

    # The release ---------------------------------------------------------------------------------

    def claimed_epsilon(self, part: str = "source") -> float:  # noqa: ARG002 - one part only
        """The whole budget, for each of the two disjoint parts of a source."""
        return positive("epsilon", self.epsilon)

    def release_event(self, part: str = "source", data: SourcesData | None = None) -> Event:
        """What is released about the source that is worst off."""
        return super().release_event(part, data)

    def row_bound(self, width: int) -> RowBound:
        """The bound on rows that importance weights are computed from."""
        return variant_bound(self.variant, self.bound, self.weight_norm_bound, width)

    def _source_scale(self, source: Source) -> Scale:
        shape = source.X.shape
        return source_scale(
            self.epsilon,
            shape,
            self.regularization,
            longest=math.sqrt(shape[1]) if self._boxed() else 1.0,
            printed_rate=self.variant != "corrected",
        )

    def _boxed(self) -> bool:
        if self.labelled_bound not in (RowShape.BALL, RowShape.BOX):
            raise InvalidParameter(
                f"labelled_bound must be 'ball' or 'box', got {self.labelled_bound!r}.",
                name="labelled_bound",
            )
        return self.labelled_bound == RowShape.BOX

    def _weight_scale(self, source: Source) -> Scale:
        shape = source.unlabelled.shape
        return weight_scale(
            self.epsilon,
            shape,
            self.weight_regularization,
            self.row_bound(shape[1]),
            printed_rate=self.variant != "corrected",
        )

    def source_events(self, source: Source) -> tuple[Event, Event]:
        """What one source releases about its labelled and about its unlabelled rows."""
        return self._source_scale(source).event, self._weight_scale(source).event

    def _event(self, data: SourcesData) -> Event:
        # Sources, and the two parts of each, are other people: parallel composition.
        events = dict.fromkeys(e for source in data.sources for e in self.source_events(source))
        return reduce(or_, events)

    def _blocks(self, data: SourcesData) -> list[OutputBlock]:
        bound = self.row_bound(data.public.shape[1])
        blocks = []
        for number, source in enumerate(data.sources, 1):
            scale = self._source_scale(source)
            name = f"hypothesis {number}"
            X = self._scaled(source.X)
            blocks.append(source_block(name, X, source.y, scale, self.regularization))
            scale = self._weight_scale(source)
            found = weight_model(
                TwoSamples(source.unlabelled, data.public),
                self.weight_regularization,
                bound,
                scale.distance,
            )
            blocks.append(OutputBlock(f"weights {number}", found.point, scale))
        return blocks

    # Fitting -------------------------------------------------------------------------------------

    def fit(
        self,
        X: Rows,
        y: ArrayLike,
        *,
        sources: Sequence[Source],
        public: Rows,
        unlabelled: Rows = None,
        rng: np.random.Generator | None = None,
        ledger: Spender | None = None,
        datasets: Sequence[tuple[object, object]] | None = None,
    ) -> DPHTL:
        """Train on the target's labelled rows X, y and its `unlabelled` ones, helped by `sources`.

        With a `ledger`, `datasets` are its (labelled, unlabelled) datasets of every source, and
        everything is spent on them before any noise is drawn.
        """
        rows = read_rows(X, "X")
        labels = [np.asarray(y), *(np.asarray(source.y) for source in sources)]
        for number, given in enumerate(labels[1:], 1):
            if self.classes is None and len(np.unique(given)) < 2:
                raise InvalidParameter(
                    f"source {number} has only one class; leave it out, or pass classes=(negative, "
                    "positive) if that is how its data is.",
                    name="sources",
                )
        self.classes_ = read_classes(self.classes, *labels)
        data = SourcesData(
            tuple(Source(s.X, to_signs(s.y, self.classes_), s.unlabelled) for s in sources), public
        )
        width = data.public.shape[1]
        read_rows(rows, "X", width)
        everything = rows
        if unlabelled is not None:
            everything = stack(rows, read_rows(unlabelled, "unlabelled", width))
        self._spend(data, ledger, datasets)
        self._release(data, rng, None, None)
        self.n_features_in_ = width
        self._adapt(data, rows, to_signs(y, self.classes_), everything)
        return self

    def _spend(
        self,
        data: SourcesData,
        ledger: Spender | None,
        datasets: Sequence[tuple[object, object]] | None,
    ) -> None:
        if ledger is None:
            return
        if datasets is None or len(datasets) != len(data.sources):
            raise InvalidParameter(
                "a ledger needs datasets=[(labelled, unlabelled), ...], one pair per source.",
                name="datasets",
            )
        for source, pair in zip(data.sources, datasets, strict=True):
            for dataset, event in zip(pair, self.source_events(source), strict=True):
                ledger.spend(dataset, event)

    def _adapt(self, data: SourcesData, rows: Rows, signs: Floats, everything: Rows) -> None:
        """Steps 3 to 6: post-processing of the release, and the target's own data."""
        width, bound = data.public.shape[1], self.row_bound(data.public.shape[1])
        vectors = self.release_.reshape(len(data.sources), 2, width)
        self.hypotheses_ = vectors[:, 0]
        public = bound.apply(data.public)
        self.log_weights_ = np.array([log_importance_weights(b, public) for b in vectors[:, 1]])
        # The target is not protected: its weights carry no noise.
        close = SOLVER_SHARE / (everything.shape[0] * self.weight_regularization)
        own = weight_model(
            TwoSamples(everything, data.public), self.weight_regularization, bound, close
        )
        target = log_importance_weights(own.point, public)
        self.projection_ = hypothesis_weights(target, self.log_weights_)
        self.hypothesis_weights_ = self.projection_.weights
        prior = informative_prior(
            self.hypotheses_, self.hypothesis_weights_, deviation_floor=self.deviation_floor
        )
        self.posterior_ = bayesian_logistic(self._scaled(rows), signs, prior)

    def _scaled(self, X: Rows) -> Rows:
        if self._boxed():
            return clip_box(X)
        refuse_data_scaling(self.norm_bound)
        limit = positive("norm_bound", self.norm_bound)
        return clip_norm(X, limit) / limit

    # Predicting ----------------------------------------------------------------------------------

    @property
    def coef_(self) -> Floats:
        """The posterior mode, for rows as they were clipped and scaled; shape (1, features)."""
        return self.posterior_.mode[None, :]

    def decision_function(self, X: Rows) -> Floats:
        """Scores above 0 for the positive class."""
        check_is_fitted(self, "posterior_")
        return self.posterior_.scores(self._scaled(read_rows(X, "X", self.n_features_in_)))

    def predict_proba(self, X: Rows) -> Floats:
        """Probabilities of both classes, averaged over the Laplace posterior."""
        check_is_fitted(self, "posterior_")
        rows = self._scaled(read_rows(X, "X", self.n_features_in_))
        share = self.posterior_.probabilities(rows)
        return np.column_stack([1 - share, share])

    def predict(self, X: Rows) -> Labels:
        """The likelier class of each row."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])
