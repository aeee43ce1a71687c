"""Enforced runs: what is released is what numpy gives, and it is paid for before."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpcheck

TABLE = dpcheck.records(a=dpcheck.number(0, 1), b=dpcheck.number(-1, 1), rows=1)
X = np.random.default_rng(1).random((50, 2))


def enforced(function, epsilon=10.0, delta=0.0):
    return dpcheck.enforced(budget=dpcheck.Budget(epsilon, delta), records=TABLE)(function)


def test_the_same_numbers_as_without():
    def both(t, rng):
        total = np.clip(t, 0, 0.5).sum(axis=0) + rng.laplace(scale=4.0, size=2)
        count = np.histogram(t[:, 0], bins=[0, 0.5, 1])[0] + rng.laplace(scale=4.0, size=2)
        return total, {"count": count}, rng.normal(t[:, 0].mean(), 1.0)

    got = enforced(both, 20.0, 1e-5)(X, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    want = both(X, rng)
    np.testing.assert_allclose(got[0], want[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(got[1]["count"], want[1]["count"], rtol=0, atol=1e-12)
    assert got[2] == pytest.approx(want[2], abs=1e-12)
    assert type(got[0]) is np.ndarray


def test_a_release_may_decide_what_comes_next():
    @dpcheck.enforced(budget=dpcheck.Budget(1.0), records=TABLE)
    def adaptive(t, rng):
        noisy = t[:, 0].sum() + rng.laplace(scale=4.0)
        if noisy > -1e9:
            return noisy, np.clip(t[:, 1], 0, abs(noisy)).sum() + rng.laplace(scale=4.0)
        return noisy

    adaptive(X, np.random.default_rng(0))
    assert adaptive.ledger.epsilon().upper == pytest.approx(0.5)


def test_overspending_is_refused_before_the_release():
    @dpcheck.enforced(budget=dpcheck.Budget(1.0), records=TABLE)
    def greedy(t, rng):
        released = []
        for _ in range(9):
            released.append(t[:, 0].sum() + rng.laplace(scale=2.5))
        return released

    with pytest.raises(dpcheck.BudgetExceeded):
        greedy(X)
    assert greedy.ledger.epsilon().upper == pytest.approx(0.8)  # two of them; the third is refused


def test_nothing_is_kept_outside_of_the_call():
    """What outlives the call could hold private values, so that it is not written."""
    kept = []

    @dpcheck.enforced(budget=dpcheck.Budget(1.0), records=TABLE)
    def keeps(t, rng):
        kept.append(t[:, 0].sum())
        return t[:, 0].sum() + rng.laplace(scale=2.5)

    with pytest.raises(dpcheck.NotProvable, match="outlives"):
        keeps(X)
    assert kept == []


def test_tables_are_enforced_too():
    frame = pd.DataFrame(X, columns=["a", "b"])

    @dpcheck.enforced(budget=dpcheck.Budget(1.0), records=TABLE)
    def total(df, rng):
        noisy = df[df["a"] > 0.5]["a"].sum() + rng.laplace(scale=4.0)
        return "many" if noisy > 5 else "few"

    assert total(frame, np.random.default_rng(0)) in ("many", "few")
    assert total.ledger.epsilon().upper == pytest.approx(0.25)


@pytest.mark.parametrize(
    "function",
    [
        lambda t, rng: t.sum(),
        lambda t, rng: 1 if t.sum() > 0 else rng.laplace(),
        lambda t, rng: t.sum() + rng.laplace(scale=t.std()),
        lambda t, rng: t.sum(axis=0) + rng.laplace(),
        lambda t, rng: np.median(t / t),
    ],
)
def test_what_private_data_would_decide_is_refused(function):
    run = enforced(function)
    with pytest.raises(dpcheck.NotProvable):
        run(X)
    assert run.ledger.epsilon().upper == 0


def test_coins_of_an_amplified_release_cannot_be_used_again():
    def twice(t, rng):
        mask = rng.random(len(t)) < 0.1
        first = t[mask].sum(axis=0) + rng.normal(scale=4.0, size=2)
        return first, (t[mask] > 0.5).sum(axis=0) + rng.normal(scale=4.0, size=2)

    with pytest.raises(dpcheck.NotProvable, match="random choice of rows"):
        enforced(twice, 10.0, 1e-5)(X)


def test_a_shared_ledger_counts_all_functions():
    ledger = dpcheck.Ledger(dpcheck.Budget(1.0), "replace-one")
    people = ledger.dataset("people")

    @dpcheck.enforced(ledger=ledger, dataset=people, records=TABLE)
    def one(t, rng):
        return t[:, 0].sum() + rng.laplace(scale=2.0)

    @dpcheck.enforced(ledger=ledger, dataset=people, records=TABLE)
    def other(t, rng):
        return (t[:, 0] > 0.5).sum() + rng.laplace(scale=2.0)

    one(X)
    other(X)
    with pytest.raises(dpcheck.BudgetExceeded):
        one(X)
    with pytest.raises(dpcheck.InvalidParameter):
        dpcheck.enforced(ledger=ledger)
    with pytest.raises(dpcheck.InvalidParameter):
        dpcheck.enforced()


def sparse(t, rng):
    threshold = 20 + rng.laplace(scale=2.0)
    for i in range(2):
        noisy = t[:, i].sum() + rng.laplace(scale=8.0)
        if noisy >= threshold:
            return i, noisy - threshold
    return None


def sparse_and_the_number(t, rng):
    threshold = 20 + rng.laplace(scale=2.0)
    noisy = t[:, 0].sum() + rng.laplace(scale=8.0)
    return noisy >= threshold, noisy


def test_sparse_vector_is_paid_for_before_each_answer():
    """1/2 for the threshold and 1/4 for a hit, of sensitivity 1; the gap comes with the hit."""
    run = enforced(sparse)
    got, want = run(X, np.random.default_rng(5)), sparse(X, np.random.default_rng(5))
    assert got == pytest.approx(want)
    assert run.ledger.epsilon().upper == pytest.approx(0.75)
    with pytest.raises(dpcheck.NotProvable, match="seen by itself"):
        enforced(sparse_and_the_number)(X)
