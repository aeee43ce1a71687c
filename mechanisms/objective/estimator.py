"""What all estimators of the family share: fitting, predicting, and the auditors' interface."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dpcheck.core.errors import CannotCertify, InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.spending import Spender
from dpcheck.core.validate import count, positive
from dpcheck.mechanisms.common.data import (
    Data,
    Labelled,
    Labels,
    LogDensity,
    Transfer,
    read_classes,
    to_signs,
)
from dpcheck.mechanisms.common.given import (
    RandomState,
    by_domain,
    dense,
    read_random_state,
    refuse,
)
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.objective.design import ReleaseDesign


@dataclass(frozen=True, slots=True)
class Release:
    """What a fitted model released about one part of its data."""

    part: str
    event: Event
    claimed_epsilon: float
    assumes: tuple[str, ...]


class ObjectiveModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """A classifier whose release is made of objective-perturbed logistic regressions.

    A fitted model has `release_` (all weights, flattened), `design_` (public) and `releases_` (what
    was released about which part, as events), and nothing else that was computed from the data: it
    may be pickled and handed out. `snap` rounds the released weights to its multiples, which hides
    what the low bits of floats betray.
    """

    parts: ClassVar[tuple[str, ...]] = ("data",)
    random_state: RandomState = None

    # What an algorithm defines -------------------------------------------------------------------

    @abstractmethod
    def _design(self, rows: Mapping[str, int], features: int) -> ReleaseDesign:
        """The release for so many rows of each part; nothing else about the data may enter."""

    @abstractmethod
    def claimed_epsilon(self, part: str) -> float:
        """The epsilon the algorithm says it spends on a part."""

    @abstractmethod
    def _scores(self, X: Floats) -> Floats:
        """The decision function on checked rows."""

    # For auditors --------------------------------------------------------------------------------

    def design(self, data: Data) -> ReleaseDesign:
        """The blocks of the release on data of this shape; the split is public and fixed."""
        rows, features = _shape(data)
        self._check_parts(rows)
        return self._design(rows, features)

    def sample_releases(
        self, data: Data, size: int, rng: np.random.Generator | None = None
    ) -> Floats:
        """`size` independent releases on the same data, flattened: shape (size, width).

        One batched solve; blocks stand in the order of `design(data).slices()`.
        """
        size = count("size", size, at_least=0)
        generator = np.random.default_rng() if rng is None else rng
        return self._snapped(self.design(data).sample(data, size, generator, self._tolerance()))

    def log_density(self, data: Data, releases: ArrayLike) -> LogDensity:
        """The exact normalised log density of whole releases given the split.

        `releases` is one release (width,), answered by a float, or many (size, width).
        """
        design = self.design(data)
        if self._snap() is not None:
            raise CannotCertify("a rounded release has no density; use snap=None to audit it.")
        array = np.asarray(releases, dtype=float)
        if array.ndim not in (1, 2) or array.shape[-1] != design.width:
            raise InvalidParameter(
                f"releases must have {design.width} columns for this data, got shape {array.shape}.",
                name="releases",
            )
        if not np.isfinite(array).all():
            raise InvalidParameter("releases must be finite.", name="releases")
        values = design.log_density(data, np.atleast_2d(array))
        return float(values[0]) if array.ndim == 1 else values

    def release_event(self, part: str = "data", data: Data | None = None) -> Event:
        """What is released about a part: by the fitted model, or on data of this shape."""
        if part not in self.parts:
            raise InvalidParameter(
                f"part must be one of {', '.join(self.parts)}, got {part!r}.", name="part"
            )
        if data is not None:
            return self.design(data).event(part)
        check_is_fitted(self, "design_")
        return self.design_.event(part)

    # Fitting -------------------------------------------------------------------------------------

    def _release(
        self,
        data: Data,
        rng: np.random.Generator | None,
        ledger: Spender | None,
        datasets: Mapping[str, object],
    ) -> None:
        design = self.design(data)
        for part in self.parts if ledger is not None else ():
            if datasets.get(part) is None:
                raise InvalidParameter(
                    f"a ledger needs to know which of its datasets is the {part}; pass it.",
                    name="dataset",
                )
            # Spent before any noise is drawn: an overspending fit releases nothing.
            ledger.spend(datasets[part], design.event(part))  # type: ignore[union-attr]
        generator = self._generator() if rng is None else rng
        releases = design.sample(data, 1, generator, self._tolerance())
        self.design_ = design.without_rows()
        self.release_ = self._snapped(releases)[0]
        self.releases_ = tuple(
            Release(part, design.event(part), self.claimed_epsilon(part), self._assumptions(design))
            for part in self.parts
        )

    def _assumptions(self, design: ReleaseDesign) -> tuple[str, ...]:
        covered = all(block.cover is not None for block in design.blocks)
        minimiser = (
            "a gradient within what the output noise covers"
            if covered
            else "the exact minimiser, which the solver meets up to `tolerance` noise scales or rounding"
        )
        return (
            minimiser,
            "the number of rows, the classes, the norm bound, groups and importances are public",
            "the regulariser is twice continuously differentiable with Hessian >= I",
            "real arithmetic: noise is drawn in floating point",
            *(() if self.random_state is None else ("nobody else knows random_state",)),
        )

    def _generator(self) -> np.random.Generator:
        """Noise from OS entropy, or from `random_state`, whose holder can take it off again."""
        return read_random_state(getattr(self, "random_state", None))

    def __getstate__(self) -> dict[str, object]:
        """What a pickle holds: of a fitted model no seed, which would undo its noise."""
        state: dict[str, object] = super().__getstate__()
        return {**state, "random_state": None} if "release_" in state else state

    def _tolerance(self) -> float:
        return positive("tolerance", getattr(self, "tolerance", 1e-9))

    def _snap(self) -> float | None:
        snap = getattr(self, "snap", None)
        return None if snap is None else positive("snap", snap)

    def _snapped(self, releases: Floats) -> Floats:
        """Weights rounded to multiples of `snap`: post-processing, so free of charge.

        The low bits of a float betray how it was computed; a grid coarser than they are hides them.
        """
        snap = self._snap()
        return releases if snap is None else np.asarray(np.round(releases / snap) * snap)

    def _check_parts(self, rows: Mapping[str, int]) -> None:
        for part in self.parts:
            if part not in rows:
                kind = "Labelled(X, y)" if self.parts == ("data",) else "Transfer(...)"
                raise InvalidParameter(
                    f"{type(self).__name__} takes {kind} data; it lacks the part {part!r}.",
                    name="data",
                )

    def _weights(self, name: str) -> Floats:
        return np.asarray(self.release_[self.design_.slices()[name]])

    def _weight_map(self) -> dict[str, Floats]:
        return {name: self.release_[None, s] for name, s in self.design_.slices().items()}

    # Predicting ----------------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores above 0 for the positive class."""
        check_is_fitted(self, "design_")
        return self._scores(_checked_rows(self, X))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the negative and the positive class."""
        positive_share = expit(self.decision_function(X))
        return np.column_stack([1 - positive_share, positive_share])

    def predict(self, X: ArrayLike) -> Labels:
        """The likelier class of each row."""
        positive_side = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive_side.astype(int)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        tags.non_deterministic = self.random_state is None
        tags.input_tags.sparse = True
        return tags


class PrivateClassifier(ObjectiveModel):
    """A model of one dataset: `fit(X, y)`."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rng: np.random.Generator | None = None,
        ledger: Spender | None = None,
        dataset: object = None,
        **others: object,
    ) -> PrivateClassifier:
        """Train and release. Noise comes from OS entropy unless `rng` or `random_state` is given.

        With a `ledger` the release is spent on its `dataset` first. Sparse rows are made dense.
        """
        refuse(others)
        rows, labels = _checked_labelled(self, X, y)
        self.classes_ = read_classes(getattr(self, "classes", None), labels)
        data = Labelled(rows, to_signs(labels, self.classes_))
        self._release(data, rng, ledger, {"data": dataset})
        return self


class TransferClassifier(ObjectiveModel):
    """A model of a target dataset that is helped by a source: `fit(X_s, y_s, X_t, y_t)`."""

    parts: ClassVar[tuple[str, ...]] = ("source", "target")

    def fit(
        self,
        X_source: ArrayLike,
        y_source: ArrayLike,
        X_target: ArrayLike | None = None,
        y_target: ArrayLike | None = None,
        *,
        sample_domain: ArrayLike | None = None,
        rng: np.random.Generator | None = None,
        ledger: Spender | None = None,
        source: object = None,
        target: object = None,
        **others: object,
    ) -> TransferClassifier:
        """Train and release both parts. Noise comes from OS entropy unless `rng` is given.

        Inside pipelines and searches, which pass one table: fit(X, y, sample_domain=d) with d above 0
        for rows of the source and below 0 for those of the target, as in skada; who is in which part is
        public. With a `ledger` the releases are spent on its datasets `source` and `target` first.
        """
        refuse(others)
        if X_target is None or y_target is None:
            table = _checked_labelled(self, X_source, y_source)
            X_source, y_source, X_target, y_target = by_domain(*table, sample_domain)
        elif sample_domain is not None:
            raise InvalidParameter(
                "sample_domain belongs to one table of both domains; give four arrays or it, not both.",
                name="sample_domain",
            )
        X_s, y_s = _checked_part(X_source, y_source, "source")
        X_t, y_t = _checked_part(X_target, y_target, "target")
        self.classes_ = read_classes(getattr(self, "classes", None), y_s, y_t)
        signs = [to_signs(y, self.classes_) for y in (y_s, y_t)]
        data = Transfer(X_s, signs[0], X_t, signs[1])
        self.n_features_in_ = X_t.shape[1]
        self._release(data, rng, ledger, {"source": source, "target": target})
        return self


def _shape(data: Data) -> tuple[dict[str, int], int]:
    if isinstance(data, Labelled):
        return {"data": len(data.X)}, data.X.shape[1]
    if isinstance(data, Transfer):
        rows = {"source": len(data.X_source), "target": len(data.X_target)}
        return rows, data.X_source.shape[1]
    raise InvalidParameter(
        f"data must be Labelled(X, y) or Transfer(X_source, y_source, X_target, y_target), got "
        f"{type(data).__name__}.",
        name="data",
    )


def _checked_rows(model: ObjectiveModel, X: ArrayLike) -> Floats:
    """sklearn's own checks of rows to predict, with its words, as our error."""
    try:
        rows = validate_data(model, X, reset=False, dtype=np.float64, accept_sparse="csr")
    except ValueError as error:
        raise InvalidParameter(str(error), name="X") from None
    return dense(rows)


def _checked_labelled(model: ObjectiveModel, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Labels]:
    """The same of rows and labels to train on."""
    try:
        rows, labels = validate_data(model, X, y, reset=True, dtype=np.float64, accept_sparse="csr")
        check_classification_targets(labels)
    except ValueError as error:
        raise InvalidParameter(str(error), name="X") from None
    return dense(rows), labels


def _checked_part(X: ArrayLike, y: ArrayLike, part: str) -> tuple[Floats, Labels]:
    try:
        rows, labels = check_X_y(X, y, dtype=np.float64, accept_sparse="csr")
        check_classification_targets(labels)
    except ValueError as error:
        raise InvalidParameter(f"{part} data: {error}", name=f"X_{part}") from None
    return dense(rows), labels
