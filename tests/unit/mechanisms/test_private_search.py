"""Tuning within the budget: what a run costs, how many there are, who is in which part."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, laplace, logser
from sklearn.base import clone
from sklearn.datasets import load_digits

import dpcheck
from dpcheck.core.errors import BudgetExceeded, InvalidParameter
from dpcheck.mechanisms import PLR, PSTF, PrivateSearch
from dpcheck.mechanisms.private_search import _number_of_runs

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (200, 3))
Y = (X[:, 0] > 0).astype(int)


class Spy(PLR):
    """Notes what it is trained and scored on; the larger `regularization`, the more rows are right."""

    seen: list = []  # noqa: RUF012 - shared on purpose: clones are trained

    def fit(self, X, y, **how):
        Spy.seen.append(("fit", self.epsilon, self.regularization, np.array(X)))
        self.classes_ = np.array([0, 1])
        self.truth = {row.tobytes(): label for row, label in zip(np.array(X), y, strict=True)}
        return self

    def predict(self, X):
        Spy.seen.append(("score", self.epsilon, self.regularization, np.array(X)))
        right = (np.asarray(X)[:, 0] > 0).astype(int)
        share = int(self.regularization * len(right))
        return np.concatenate([right[:share], 1 - right[share:]])


@pytest.fixture
def seen():
    Spy.seen = []
    return Spy.seen


def test_a_run_has_half_of_the_budget_and_all_of_them_the_whole() -> None:
    search = PrivateSearch(epsilon=3.0, runs=4, random_state=1).fit(X, Y)
    bound = dpcheck.epsilon(search.release_event(), delta=0, adjacency="replace-one")
    assert bound.upper <= 3.0
    assert bound.upper == pytest.approx(3.0, rel=1e-9)
    assert search.model_.epsilon == pytest.approx(1.5)
    assert search.claimed_epsilon() == 3.0


def test_training_and_scoring_share_no_row(seen) -> None:
    PrivateSearch(Spy(), {"regularization": [0.5]}, epsilon=2.0, random_state=3, runs=5).fit(X, Y)
    trained = [
        rows for what, epsilon, _, rows in seen if what == "fit" and math.isclose(epsilon, 1)
    ]
    scored = [rows for what, _, _, rows in seen if what == "score"]
    assert len(trained) == len(scored) > 0
    for rows, other in zip(trained, scored, strict=True):
        assert len(rows) + len(other) == len(X)
        together = np.unique(np.concatenate([rows, other]), axis=0)
        assert len(together) == len(X)


def test_the_score_has_the_noise_of_a_count() -> None:
    """One run; 25 of 50 rows are right. A scale wrong by 20% is told by the same 2,000 draws."""
    rng = np.random.default_rng(5)
    search = PrivateSearch(Spy(), {"regularization": [0.5]}, epsilon=2.0, runs=1.000001)
    noise = [50 * clone(search).fit(X, Y, rng=rng).best_score_ - 25 for _ in range(2000)]
    assert kstest(noise, laplace(scale=1.0).cdf).pvalue > 1e-4
    assert kstest(noise, laplace(scale=0.8).cdf).pvalue < 1e-4


@pytest.mark.parametrize("mean", [1.5, 10.0])
def test_the_number_of_runs_follows_the_law_that_is_accounted(mean) -> None:
    search = PrivateSearch(runs=mean)
    stop = search._stop()
    assert search._event().stop == stop
    assert search._event().shape == 0
    assert logser(1 - stop).mean() == pytest.approx(mean, rel=1e-6)
    rng = np.random.default_rng(0)
    drawn = np.array([_number_of_runs(stop, rng) for _ in range(20_000)])
    for k in (1, 2, 5):
        expected = (1 - stop) ** k / (k * math.log(1 / stop))
        assert (drawn == k).mean() == pytest.approx(expected, abs=4 * math.sqrt(expected / 20_000))


def test_the_best_run_is_released(seen) -> None:
    search = PrivateSearch(Spy(), {"regularization": [0.1, 0.9]}, epsilon=200.0, runs=30)
    search.fit(X, Y, rng=np.random.default_rng(2))
    assert {chosen for what, _, chosen, _ in seen if what == "fit"} == {0.1, 0.9}
    assert search.best_params_ == {"regularization": 0.9}
    assert search.model_.regularization == 0.9


def test_a_ledger_pays_before_anything_is_trained(seen) -> None:
    with dpcheck.Ledger(dpcheck.Budget(1.0), "replace-one") as ledger:
        people = ledger.dataset("people")
        with pytest.raises(BudgetExceeded):
            PrivateSearch(Spy(), epsilon=1.5).fit(X, Y, ledger=ledger, dataset=people)
        assert seen == []
        with pytest.raises(InvalidParameter, match="dataset"):
            PrivateSearch(Spy(), epsilon=0.5).fit(X, Y, ledger=ledger)
        PrivateSearch(epsilon=0.9).fit(X, Y, ledger=ledger, dataset=people)
        with pytest.raises(BudgetExceeded):
            PrivateSearch(epsilon=0.2).fit(X, Y, ledger=ledger, dataset=people)


@pytest.mark.parametrize(
    "wrong", [{"runs": 1}, {"runs": math.inf}, {"held_share": 1.0}, {"held_share": 0.0}]
)
def test_what_makes_no_search_is_refused(wrong) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(wrong))):
        PrivateSearch(**wrong).fit(X, Y)


def test_digits_are_learned_with_what_was_chosen() -> None:
    images, digits = load_digits(return_X_y=True)
    mine = np.isin(digits, (0, 8))
    images, digits = images[mine] / 16 / 8, digits[mine]
    grid = {"regularization": (1e-4, 1e-2, 1.0), "groups": (2, 4)}
    search = PrivateSearch(PSTF(), grid, epsilon=40.0, runs=8, random_state=0)
    search.fit(images[::2], digits[::2])
    assert (search.predict(images[1::2]) == digits[1::2]).mean() > 0.9
