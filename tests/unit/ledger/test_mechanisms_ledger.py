"""Fits that spend from a ledger: what a model releases is what the ledger charges."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck
from dpcheck.core.errors import BudgetExceeded, InvalidParameter
from dpcheck.mechanisms import PLR, PLRFS, PPTLFS, PSTF, PSTH, PSTS, SimComb

# Tight noise spends the whole 0.5; the papers' formula may leave room for a second fit.
MODELS = [
    PLR(0.5, 0.1, calibration="tight"),
    PLRFS(0.5, 0.01, groups=3, calibration="tight"),
    PSTS(0.5, 0.1, calibration="tight"),
    PSTF(0.5, 0.01, groups=3, calibration="tight"),
]


def rows(number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((number, 6)), np.arange(number) % 2


@pytest.mark.parametrize("model", MODELS)
def test_a_fit_is_charged_once_and_the_second_that_overspends_releases_nothing(model) -> None:
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(0.6, 0.0), adjacency="replace-one")
    patients = ledger.dataset("patients", rows=40)
    X, y = rows(40)
    model.fit(X, y, ledger=ledger, dataset=patients)
    spent = ledger.epsilon(delta=0).upper
    alone = dpcheck.epsilon(model.release_event(), delta=0, adjacency="replace-one").upper
    assert alone <= spent <= 0.5 + 1e-9
    first = model.release_.copy()
    with pytest.raises(BudgetExceeded):
        model.fit(X, y, ledger=ledger, dataset=patients)
    np.testing.assert_array_equal(model.release_, first)
    assert ledger.epsilon(delta=0).upper == spent


@pytest.mark.parametrize("kind", [SimComb, PPTLFS, PSTH])
def test_a_transfer_charges_each_part_to_its_own_data_set(kind) -> None:
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(2.0, 0.0), adjacency="replace-one")
    main, branch = ledger.dataset("main", rows=40), ledger.dataset("branch", rows=30)
    model = kind(1.0, 0.5, 0.1, 0.1)
    model.fit(*rows(40), *rows(30), ledger=ledger, source=main, target=branch)
    assert {release.part for release in model.releases_} == {"source", "target"}
    with pytest.raises(InvalidParameter, match="target"):
        SimComb().fit(*rows(40), *rows(30), ledger=ledger, source=main)
