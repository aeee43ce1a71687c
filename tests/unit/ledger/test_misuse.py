"""Bad input: a one-line error, and nothing changes."""

import copy
import math
import pickle

import pytest

from dpcheck import (
    Budget,
    Ledger,
    PureDP,
)
from dpcheck.core.errors import (
    DpcheckError,
    InvalidParameter,
    LedgerMisuse,
    UnknownName,
)

WIDE = Budget(1000.0)


def pure_ledger(adjacency="replace-one", budget=WIDE):
    return Ledger(budget=budget, adjacency=adjacency)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda ledger, d: Ledger(budget=1.0, adjacency="add-remove"), InvalidParameter),
        (lambda ledger, d: Ledger(budget=Budget(1.0), adjacency="add-move"), UnknownName),
        (lambda ledger, d: Ledger(Budget(1.0), "add-remove", block=0), InvalidParameter),
        (lambda ledger, d: Ledger(Budget(1.0), "add-remove", reserve=1.0), InvalidParameter),
        (lambda ledger, d: ledger.spend("d", PureDP(0.1)), LedgerMisuse),
        (lambda ledger, d: ledger.spend(pure_ledger().dataset("d"), PureDP(0.1)), LedgerMisuse),
        (lambda ledger, d: ledger.spend(d, 0.1), InvalidParameter),
        (lambda ledger, d: ledger.spend(d, PureDP), InvalidParameter),
        (lambda ledger, d: ledger.spend(d, PureDP(0.1), times=0), InvalidParameter),
        (lambda ledger, d: ledger.spend(d, PureDP(0.1), times=1.5), InvalidParameter),
        (lambda ledger, d: ledger.spend(d, PureDP(0.1), times=True), InvalidParameter),
        (lambda ledger, d: ledger.dataset("d", rows=11), LedgerMisuse),
        (lambda ledger, d: ledger.dataset("a/b"), InvalidParameter),
        (lambda ledger, d: ledger.dataset("x", rows=0), InvalidParameter),
        (lambda ledger, d: ledger.dataset("x", budget=0.1), InvalidParameter),
        (lambda ledger, d: ledger.dataset("x", max_rows_per_unit=0), InvalidParameter),
        (lambda ledger, d: d.split_rows(11), InvalidParameter),
        (lambda ledger, d: d.split_rows([4, 5]), InvalidParameter),
        (lambda ledger, d: d.split_rows(0), InvalidParameter),
        (lambda ledger, d: d.split_columns(["a", "a"]), InvalidParameter),
        (lambda ledger, d: d.split_by("", 2), InvalidParameter),
        (lambda ledger, d: ledger.epsilon(delta=1.0), InvalidParameter),
        (lambda ledger, d: ledger.epsilon(delta=math.nan), InvalidParameter),
        (lambda ledger, d: ledger.plan(d, PureDP(0.1) * 0), InvalidParameter),
        (lambda ledger, d: ledger.plan(d, PureDP(0.1), delta=2.0), InvalidParameter),
        (lambda ledger, d: ledger.plan(d, "a plan"), InvalidParameter),
        (lambda ledger, d: pure_ledger().remaining(), LedgerMisuse),
        (lambda ledger, d: pickle.dumps(ledger), LedgerMisuse),
        (lambda ledger, d: copy.deepcopy(ledger), LedgerMisuse),
    ],
)
def test_bad_input_is_a_one_line_error_and_changes_nothing(call, kind):
    ledger = pure_ledger()
    data = ledger.dataset("d", rows=10)
    ledger.spend(data, PureDP(0.5))
    with pytest.raises(kind) as caught:
        call(ledger, data)
    assert isinstance(caught.value, DpcheckError)
    assert "\n" not in str(caught.value)
    assert ledger.epsilon().upper == 0.5


def test_a_closed_ledger_says_so():
    with pure_ledger() as ledger:
        data = ledger.dataset("d")
        ledger.spend(data, PureDP(0.1), times=3)
    with pytest.raises(LedgerMisuse, match="closed"):
        ledger.spend(data, PureDP(0.1))
    ledger.close()


def test_plans_of_very_many_parts_by_key_cost_no_less_than_the_two_worst():
    ledger = Ledger(Budget(50.0, 1e-5), "replace-one")
    for number, part in enumerate(ledger.dataset("d").split_by("city", 40)):
        ledger.plan(part, PureDP(0.1 + number * 0.01))
    bound = ledger.epsilon()
    assert 0.48 + 0.49 <= bound.upper <= 2 * 0.49 + 1e-12
