"""scikit-learn conventions: its own checks, pipelines, grid search, doctests."""

from __future__ import annotations

import doctest
import warnings
from importlib import import_module

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from dpcheck import mechanisms
from dpcheck.mechanisms import PLR, PLRFS, PPTLFS, PSTF, PSTH, PSTS, MajorityVote, SimComb

# Three checks compare two fits on the same data, whose noise differs by design.
NOISE = "two fits draw different noise"
DIFFERENT_FITS = {
    "check_classifier_data_not_an_array": NOISE,
    "check_supervised_y_2d": NOISE,
    "check_fit_idempotent": NOISE,
}


class Repeatable:
    """The same noise in every fit, so that not one check has to be excused."""

    def fit(self, X, y):
        return super().fit(X, y, rng=np.random.default_rng(0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags


class RepeatablePLR(Repeatable, PLR):
    pass


class RepeatablePLRFS(Repeatable, PLRFS):
    pass


class RepeatablePSTS(Repeatable, PSTS):
    pass


class RepeatablePSTF(Repeatable, PSTF):
    pass


class RepeatableVote(Repeatable, MajorityVote):
    pass


@pytest.mark.parametrize(
    "model",
    [
        RepeatablePLR(),
        RepeatablePLRFS(groups=1),
        RepeatablePSTS(partitions=2),
        RepeatablePSTF(groups=1),
        RepeatableVote(groups=1),
    ],
)
def test_check_estimator_passes_with_the_noise_fixed(model) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
    assert sum(r["status"] == "passed" for r in results) > 40


def test_check_estimator_passes_as_it_is_but_for_checks_that_compare_two_fits() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(PLR(), expected_failed_checks=DIFFERENT_FITS, on_fail=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


@pytest.mark.parametrize("kind", [PPTLFS, PSTH, SimComb])
def test_transfer_models_clone_and_keep_their_parameters(kind) -> None:
    model = kind(epsilon_source=0.7, regularization_target=0.3)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(epsilon_target=2.0).claimed_epsilon("target") == 2.0


def test_pipeline_and_grid_search() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = X / np.abs(X).max(axis=0) / np.sqrt(X.shape[1])
    pipe = make_pipeline(FunctionTransformer(), PSTF(epsilon=8.0, groups=3))
    search = GridSearchCV(pipe, {"pstf__regularization": [0.001, 0.1]}, cv=2, scoring="roc_auc")
    search.fit(X, y)
    assert set(search.best_params_) == {"pstf__regularization"}
    assert search.predict_proba(X).shape == (len(X), 2)


def test_models_learn_on_bundled_data() -> None:
    """With a generous budget every algorithm separates the classes; AUC by scikit-learn."""
    from sklearn.metrics import roc_auc_score

    X, y = load_breast_cancer(return_X_y=True)
    low, high = X.min(axis=0), X.max(axis=0)
    X = (2 * (X - low) / (high - low) - 1) / np.sqrt(X.shape[1])
    rng = np.random.default_rng(0)
    for model in (
        PLR(50.0, 0.001),
        PSTS(50.0, 0.001, partitions=2),
        PSTF(50.0, 0.001, groups=3),
        PLRFS(50.0, 0.001, groups=3),
    ):
        model.fit(X[::2], y[::2], rng=rng)
        assert roc_auc_score(y[1::2], model.decision_function(X[1::2])) > 0.9
    for model in (
        SimComb(50.0, 50.0, 0.001, 0.001),
        PPTLFS(50.0, 50.0, 0.001, 0.001, groups=3),
        PSTH(50.0, 50.0, 0.001, 0.001, groups=3),
    ):
        model.fit(X[::3], y[::3], X[1::3], y[1::3], rng=rng)
        assert roc_auc_score(y[2::3], model.decision_function(X[2::3])) > 0.9


@pytest.mark.parametrize("name", ["plr", "plr_fs", "pst_f", "common.regularizers"])
def test_doctests(name: str) -> None:
    """pytest does not enter dpcheck/mechanisms, which is a link; run the examples from here."""
    result = doctest.testmod(import_module(f"dpcheck.mechanisms.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_names_of_this_family_can_be_imported() -> None:
    for name in mechanisms.__all__:
        assert name in mechanisms._HOME
    assert mechanisms.PSTF is PSTF
    with pytest.raises(AttributeError, match="has no attribute"):
        mechanisms.nothing_of_the_kind  # noqa: B018
