"""scikit-learn conventions: its own checks, pipelines, grid search, doctests."""

from __future__ import annotations

import doctest
import pickle
import warnings
from importlib import import_module

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import _num_samples

import dpcheck
from dpcheck import mechanisms
from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms import (
    PLR,
    PLRFS,
    PPTLFS,
    PSTF,
    PSTH,
    PSTS,
    Direct,
    GaussianPLR,
    MajorityVote,
    OutputLogistic,
    PrivateOneVsRest,
    PrivateSearch,
    SimComb,
    SourceD,
    WeightedVote,
)

ONE_DATA_SET = [
    PLR(),
    GaussianPLR(),
    PLRFS(),
    PSTS(),
    PSTF(),
    MajorityVote(),
    WeightedVote(),
    OutputLogistic(),
    PrivateOneVsRest(),
    PrivateSearch(),
]


class Alternating:
    """Every other row of the one table that sklearn's checks pass is of the source."""

    def fit(self, X, y=None, **how):
        domain = np.where(np.arange(_num_samples(X)) % 2, -1, 1)
        return super().fit(X, y, sample_domain=domain, **how)


class TwoPPTLFS(Alternating, PPTLFS):
    pass


class TwoPSTH(Alternating, PSTH):
    pass


class TwoSimComb(Alternating, SimComb):
    pass


class TwoSourceD(Alternating, SourceD):
    pass


class TwoDirect(Alternating, Direct):
    pass


TWO_DATA_SETS = [TwoPPTLFS(), TwoPSTH(), TwoSimComb(), TwoSourceD(), TwoDirect()]


@pytest.mark.parametrize(
    "model", ONE_DATA_SET + TWO_DATA_SETS, ids=lambda model: type(model).__name__
)
def test_check_estimator_passes_and_nothing_is_excused(model) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
    assert sum(r["status"] == "passed" for r in results) > 40


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16 / 8, y  # 64 pixels from 0 to 16: rows of norm at most 1


def test_a_seed_repeats_a_fit_and_is_not_saved() -> None:
    X, y = digits()
    X, y = X[y < 2], y[y < 2]
    for kind in (PLR, PLRFS, PSTF, PSTS, OutputLogistic, PrivateOneVsRest):
        first, second = (kind(random_state=3).fit(X, y) for _ in range(2))
        assert (first.decision_function(X) == second.decision_function(X)).all()
        assert (first.decision_function(X) != kind().fit(X, y).decision_function(X)).any()
        again = pickle.loads(pickle.dumps(first))
        assert again.random_state is None
        assert pickle.loads(pickle.dumps(kind(random_state=3))).random_state == 3
    with pytest.raises(InvalidParameter, match="random_state"):
        PLR(random_state="lucky").fit(X, y)
    assert any(
        "random_state" in text for text in PLR(random_state=1).fit(X, y).releases_[0].assumes
    )


def test_weights_are_refused_by_name() -> None:
    X, y = digits()
    X, y = X[y < 2], y[y < 2]
    for model in (PLR(), PSTF(), OutputLogistic(), PrivateOneVsRest()):
        with pytest.raises(InvalidParameter, match="sample_weight"):
            model.fit(X, y, sample_weight=np.ones(len(y)))
        model.fit(X, y, sample_weight=None)
        with pytest.raises(TypeError, match="epochs"):
            model.fit(X, y, epochs=3)
    with pytest.raises(InvalidParameter, match="sample_weight"):
        SimComb().fit(X, y, X, y, sample_weight=np.ones(len(y)))


def test_sparse_rows_give_the_model_of_dense_ones() -> None:
    X, y = digits()
    X, y = X[y < 2], y[y < 2]
    for kind in (PLR, PLRFS, PSTF, PSTS, MajorityVote):
        dense = kind(random_state=0).fit(X, y)
        thin = kind(random_state=0).fit(csr_matrix(X), y)
        assert (dense.decision_function(X) == thin.decision_function(csr_matrix(X))).all()


def test_ten_digits_in_a_pipeline_within_one_budget() -> None:
    X, y = digits()
    model = make_pipeline(
        FunctionTransformer(), PrivateOneVsRest(PLR(regularization=1e-3), 200.0, random_state=0)
    )
    model.fit(X[::2], y[::2])
    assert (model.predict(X[1::2]) == y[1::2]).mean() > 0.8
    released = model[-1].release_event()
    bound = dpcheck.epsilon(released, delta=0, adjacency="replace-one")
    assert 100 < bound.upper <= 200.0  # what ten full budgets would have cost: 2,000
    with pytest.raises(InvalidParameter, match="not among classes"):
        PrivateOneVsRest(classes=(0, 1)).fit(X, y)


@pytest.mark.parametrize("kind", [PPTLFS, PSTH, SimComb])
def test_transfer_models_are_searched_in_a_pipeline(kind) -> None:
    """One table of both domains, as scikit-learn's tools pass it on."""
    X, y = digits()
    kept = np.isin(y, (0, 8))
    X, y = X[kept], (y[kept] == 8).astype(int)
    domain = np.where(np.arange(len(y)) % 3 == 0, -2, 1)
    pipe = Pipeline([("same", FunctionTransformer()), ("model", kind(20.0, 20.0, random_state=0))])
    search = GridSearchCV(
        pipe, {"model__regularization_target": [0.001, 1.0]}, cv=3, scoring="roc_auc"
    )
    search.fit(X, y, model__sample_domain=domain)
    assert search.best_score_ > 0.8
    apart = kind(20.0, 20.0, random_state=0).fit(
        X[domain > 0], y[domain > 0], X[domain < 0], y[domain < 0]
    )
    whole = kind(20.0, 20.0, random_state=0).fit(X, y, sample_domain=domain)
    assert (apart.release_ == whole.release_).all()
    for sparse in (csr_matrix(X), csr_matrix(X).tocoo()):
        thin = kind(20.0, 20.0, random_state=0).fit(sparse, y, sample_domain=domain)
        assert (thin.release_ == whole.release_).all()
    for wrong in (None, np.ones(len(y)), np.zeros(len(y)), domain[:-1]):
        with pytest.raises(InvalidParameter, match="sample_domain"):
            kind().fit(X, y, sample_domain=wrong)


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


@pytest.mark.parametrize("name", ["plr", "plr_gaussian", "plr_fs", "pst_f", "common.regularizers"])
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
