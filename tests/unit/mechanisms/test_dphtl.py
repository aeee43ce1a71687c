"""DPHTL and its parts against naive twins, scikit-learn, quadrature and the theory's numbers."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from dpcheck import Budget, Ledger, epsilon
from dpcheck.core.errors import BudgetExceeded, InvalidParameter
from dpcheck.mechanisms import (
    DPHTL,
    DPIW,
    OutputLogistic,
    SignedRows,
    Source,
    SourcesData,
    TwoSamples,
    exact_loss,
)
from dpcheck.mechanisms.output.baselines import (
    average_weights,
    best_source,
    logistic_weights,
    soft_weights,
)
from dpcheck.mechanisms.output.noise import spherical_log_density, spherical_noise


@pytest.fixture
def rng():
    return np.random.default_rng(6)


# The noise ---------------------------------------------------------------------------------------


def test_noise_density_integrates_to_one_in_three_dimensions():
    def shell(r):
        density = math.exp(spherical_log_density(np.array([[r, 0.0, 0.0]]), 1.7)[0])
        return 4 * math.pi * r**2 * density

    assert quad(shell, 0, 60)[0] == pytest.approx(1, abs=1e-9)


def test_noise_has_gamma_lengths_and_no_direction(rng):
    noise = spherical_noise(2.0, 5, 40_000, rng)
    assert 2 * np.linalg.norm(noise, axis=1).mean() == pytest.approx(5, abs=0.06)  # 5 sd
    assert np.abs(noise.mean(axis=0)).max() < 5 * math.sqrt(6 / 4 / 40_000)  # E b_j^2 = (d+1)/r^2


# Source models -----------------------------------------------------------------------------------


def test_label_flip_costs_what_the_theory_says():
    X, y = np.ones((50, 1)), np.ones(50)
    flipped = y.copy()
    flipped[0] = -1
    model = OutputLogistic(1.0, 0.1)
    data, neighbour = SignedRows(X, y), SignedRows(X, flipped)
    for shift in (0.0, 3.0):  # from the minimiser on, away from the other one
        at = model.blocks(data)[0].center + shift
        assert exact_loss(model, data, neighbour, at) == pytest.approx(0.207883, abs=5e-7)


def test_source_model_is_scikit_learns_minimiser(rng):
    X = rng.normal(size=(80, 4)) / 4
    y = rng.choice([-1.0, 1.0], 80)
    peer = LogisticRegression(C=1 / (80 * 0.05), fit_intercept=False, tol=1e-12, max_iter=10_000)
    mine = OutputLogistic(1.0, 0.05).blocks(SignedRows(X, y))[0].center
    np.testing.assert_allclose(mine, peer.fit(X, y).coef_[0], atol=1e-6)


def test_rows_are_clipped_so_no_pair_costs_more_than_epsilon(rng):
    model = OutputLogistic(0.7, 0.02)
    for _ in range(30):
        X = rng.normal(size=(20, 3)) * rng.choice([0.1, 1, 100])
        y = rng.choice([-1.0, 1.0], 20)
        other, flipped = X.copy(), y.copy()
        other[0], flipped[0] = rng.normal(size=3) * 50, -y[0]
        a, b = SignedRows(X, y), SignedRows(other, flipped)
        loss = exact_loss(model, a, b, model.blocks(a)[0].center)
        assert 0 <= loss <= 0.7


def test_certified_epsilon_never_exceeds_the_budget():
    for eps, rows, lam in product((0.1, 1 / 3, 1.0, 7.7), (1, 7, 1000), (1e-4, 0.3)):
        data = SignedRows(np.zeros((rows, 2)), np.ones(rows))
        event = OutputLogistic(eps, lam).release_event("data", data)
        assert eps * (1 - 1e-8) < epsilon(event).upper <= eps


# Importance weights ------------------------------------------------------------------------------


def _box_pair():
    X = np.zeros((1000, 4))
    first, second = X.copy(), X.copy()
    first[0], second[0] = 1.0, [1, 0, 0, 0]
    public = np.tile([1.0, 0, 0, 0], (3, 1))
    return TwoSamples(first, public), TwoSamples(second, public)


def test_box_pair_costs_what_the_theory_says():
    model = DPIW(1.0, 0.01)
    data, neighbour = _box_pair()
    loss = exact_loss(model, data, neighbour, model.blocks(data)[0].center)
    assert loss == pytest.approx(0.826887, abs=1e-6)


def _signed_pair(turn, reach=2**0.5):
    X = np.zeros((10_000, 2))
    first, second = X.copy(), X.copy()
    first[0] = reach * np.array([-math.sin(turn), math.cos(turn)])
    second[0] = reach * np.array([-math.sin(turn), -math.cos(turn)])
    public = np.array([[-math.sqrt(2), 0.0]])
    return TwoSamples(first, public), TwoSamples(second, public)


def test_signed_rows_double_the_printed_loss():
    model = DPIW(1.0, 1e-3, variant="signed")
    losses = []
    for turn in (0.2, 0.35, 0.45, 0.6):
        data, neighbour = _signed_pair(turn)
        losses.append(exact_loss(model, data, neighbour, model.blocks(data)[0].center))
    assert 1.6 < max(losses) < 2
    data, _ = _signed_pair(0.4)
    assert epsilon(model.release_event("data", data)).upper == pytest.approx(2, rel=1e-8)


def test_without_a_bound_the_loss_grows_with_the_row():
    model = DPIW(1.0, 1e-3, variant="printed")
    losses = []
    for reach in (1.0, 3.0, 10.0, 30.0):
        data, neighbour = _signed_pair(0.3, reach)
        losses.append(exact_loss(model, data, neighbour, model.blocks(data)[0].center))
    assert (np.diff(losses) > 0).all()
    assert losses[-1] > 10
    # What still bounds it: 4 N sqrt(lam log 2 / d).
    upper = epsilon(model.release_event("data", data)).upper
    assert upper == pytest.approx(4 * 10_000 * math.sqrt(1e-3 * math.log(2) / 2), rel=1e-8)
    assert losses[-1] < upper


@pytest.mark.parametrize("bound", ["box", "ball", "positive-ball"])
def test_every_bound_keeps_random_pairs_within_epsilon(bound, rng):
    model = DPIW(0.5, 0.02, bound=bound)
    for _ in range(20):
        X = rng.normal(size=(15, 3)) * rng.choice([0.5, 5, 500])
        public = rng.normal(size=(4, 3)) * rng.choice([0.5, 5])
        other = X.copy()
        other[0] = rng.normal(size=3) * 1000
        a, b = TwoSamples(X, public), TwoSamples(other, public)
        assert 0 <= exact_loss(model, a, b, model.blocks(a)[0].center) <= 0.5


def test_weight_model_minimises_the_printed_objective(rng):
    X, public = rng.random((12, 3)), rng.random((9, 3))

    def objective(beta):  # equation (4), read from the page
        return (
            -np.log(1 - expit(public @ beta)).mean()
            - np.log(expit(X @ beta)).mean()
            + 0.05 / 2 * beta @ beta
        )

    naive = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x
    mine = DPIW(1.0, 0.05).blocks(TwoSamples(X, public))[0].center
    np.testing.assert_allclose(mine, naive, atol=1e-6)


def test_weights_are_those_of_the_released_vector(rng):
    X, public = rng.random((30, 3)), rng.random((7, 3))
    model = DPIW(5.0, 0.1).fit(X, public, rng=rng)
    raw = np.exp(public @ model.release_)
    np.testing.assert_allclose(model.weights_, raw * 7 / raw.sum(), rtol=1e-12)


def test_sparse_and_dense_agree_without_densifying(rng, monkeypatch):
    dense = np.where(rng.random((40, 700)) < 0.02, rng.random((40, 700)), 0.0)
    public = np.where(rng.random((30, 700)) < 0.02, rng.random((30, 700)), 0.0)
    wanted = DPIW(1.0, 0.01).blocks(TwoSamples(dense, public))[0].center
    sparse_data = TwoSamples(sparse.csr_matrix(dense), sparse.csr_matrix(public))

    def refuse(*_args, **_kwargs):
        raise AssertionError("the matrix was made dense")

    monkeypatch.setattr(sparse.csr_matrix, "toarray", refuse)
    monkeypatch.setattr(sparse.csr_matrix, "todense", refuse)
    found = DPIW(1.0, 0.01).blocks(sparse_data)[0].center
    np.testing.assert_allclose(found, wanted, atol=1e-6)


# DPHTL -------------------------------------------------------------------------------------------


def _domains(rng, rows=300, sparse_rows=False):
    """Three domains with their own features and one shared sign rule per domain."""
    made = []
    for k in range(3):
        X = rng.random((2 * rows, 9)) * 0.1
        X[:, 3 * k : 3 * k + 3] += rng.random((2 * rows, 3)) * 0.4
        y = np.where(X[:, 3 * k] > X[:, 3 * k + 1], "yes", "no")
        keep = sparse.csr_matrix if sparse_rows else np.asarray
        made.append((keep(X), y))
    return made


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_dphtl_finds_the_right_source_and_learns(rng, sparse_rows):
    made = _domains(rng, sparse_rows=sparse_rows)
    sources = [Source(X[:300], y[:300], X[300:]) for X, y in made]
    public = np.vstack([np.asarray(X[:40].todense() if sparse_rows else X[:40]) for X, _ in made])
    X, y = _domains(rng, sparse_rows=sparse_rows)[1]
    model = DPHTL(1e6, 1e-3, 1e-3, bound="box")
    model.fit(X[:10], y[:10], sources=sources, public=public, unlabelled=X[10:300], rng=rng)
    assert np.argmax(model.hypothesis_weights_) == 1
    assert model.hypothesis_weights_[1] > 0.9
    assert (model.predict(X[300:]) == y[300:]).mean() > 0.85
    chances = model.predict_proba(X[300:])
    assert ((chances > 0) & (chances < 1)).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert clone(model).get_params() == model.get_params()


def test_release_is_independent_of_the_target_and_spends_in_parallel(rng):
    made = _domains(rng, rows=100)
    data = SourcesData(
        tuple(Source(X[:100], np.where(y[:100] == "yes", 1, -1), X[100:]) for X, y in made),
        np.full((5, 9), 0.2),
    )
    model = DPHTL(0.8)
    assert epsilon(model.release_event("source", data)).upper <= 0.8
    releases = model.sample_releases(data, 3, rng)
    assert releases.shape == (3, 3 * 2 * 9)
    one_by_one = sum(
        spherical_log_density(releases[:, 9 * i : 9 * i + 9] - b.center, b.scale.rate)
        for i, b in enumerate(model.blocks(data))
    )
    np.testing.assert_allclose(model.log_density(data, releases), one_by_one)


def test_ledger_is_charged_before_anything_is_released(rng):
    made = _domains(rng, rows=60)
    sources = [Source(X[:60], y[:60], X[60:]) for X, y in made]
    ledger = Ledger(budget=Budget(1.0), adjacency="replace-one")
    datasets = [
        (ledger.dataset(f"labelled {k}", rows=60), ledger.dataset(f"other {k}", rows=60))
        for k in range(3)
    ]
    X, y = made[0]
    given = {"sources": sources, "public": np.full((4, 9), 0.2), "ledger": ledger}
    model = DPHTL(0.6).fit(X[:20], y[:20], datasets=datasets, **given)
    assert ledger.epsilon(delta=0).upper <= 0.6
    del model.release_
    with pytest.raises(BudgetExceeded):
        model.fit(X[:20], y[:20], datasets=datasets, **given)
    assert not hasattr(model, "release_")


def test_baselines(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    good, bad = np.array([5.0, 0.0]), np.array([-5.0, 0.1])
    assert best_source(np.array([bad, good]), X, y).tolist() == good.tolist()
    peer = LogisticRegression(C=1 / (60 * 0.1), fit_intercept=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(logistic_weights(X, (y + 1) / 2, 0.1), peer.coef_[0], atol=1e-5)
    # Two models that agree everywhere: soft labels are hard labels of the good model.
    both = np.array([good, 2 * good])
    soft = soft_weights(both, X[:5], y[:5], X[5:], 0.1)
    np.testing.assert_allclose(soft, logistic_weights(X, (y + 1) / 2, 0.1), atol=1e-6)
    # Equal weights: the mean of the two models is the prior's mean.
    flat = average_weights(both, np.zeros((3, 2)), np.ones(3))
    np.testing.assert_allclose(flat, both.mean(axis=0), atol=1e-9)


# Bad input ---------------------------------------------------------------------------------------


def _fit(rng, **changed):
    made = _domains(rng, rows=20)
    X, y = made[0]
    given = {
        "sources": [Source(X[:20], y[:20], X[20:]) for X, y in made],
        "public": np.full((4, 9), 0.2),
        "unlabelled": None,
        **changed,
    }
    return DPHTL(1.0).fit(X[:10], y[:10], **given)


def test_bad_input_is_named(rng):
    good = _domains(rng, rows=20)
    X, y = good[0]
    with pytest.raises(InvalidParameter, match="no public data"):
        _fit(rng, public=np.zeros((0, 9)))
    with pytest.raises(InvalidParameter, match="no public data"):
        _fit(rng, public=None)
    with pytest.raises(InvalidParameter, match="8 features where 9"):
        _fit(rng, public=np.zeros((3, 8)))
    with pytest.raises(InvalidParameter, match="source 2 has only one class"):
        _fit(rng, sources=[Source(X, y, X), Source(X, np.full(40, "no"), X)])
    with pytest.raises(InvalidParameter, match="8 features where 9"):
        _fit(rng, sources=[Source(X, y, X), Source(X[:, :8], y, X)])
    with pytest.raises(InvalidParameter, match="at least two sources"):
        _fit(rng, sources=[Source(X, y, X)])
    with pytest.raises(InvalidParameter, match="NaN"):
        _fit(rng, unlabelled=np.full((2, 9), np.nan))
    for wrong in ({"epsilon": 0}, {"regularization": -1}, {"variant": "x"}, {"bound": "cube"}):
        with pytest.raises(InvalidParameter):
            DPHTL(**wrong).fit(
                X, y, sources=[Source(X, y, X)] * 2, public=np.full((2, 9), 0.1), rng=rng
            )
