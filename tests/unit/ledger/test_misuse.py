"""Bad input: a one-line error, and nothing changes."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from dpcheck import (
    Budget,
    BudgetExceeded,
    Ledger,
    PureDP,
)
from dpcheck.core.errors import (
    DpcheckError,
    InvalidParameter,
    LedgerMisuse,
    UnknownName,
)
from dpcheck.ledger.provenance import SplitKind

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


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (None, "expected the path"),
        (3, "expected the path"),
        ("", "expected the path"),
        ("a\0b", "no ledger at"),
        ("x" * 300, "no ledger at"),
    ],
)
def test_where_there_can_be_no_ledger(path, words):
    with pytest.raises(DpcheckError, match=words) as caught:
        Ledger.open(path, Budget(1.0, 1e-6), "add-remove")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a\nb", "\0", "\ud800", "a\u2028b"])
def test_a_name_that_would_break_a_report(name):
    with pytest.raises(DpcheckError, match="line breaks"):
        Ledger(Budget(1.0), "add-remove").dataset(name)
    Ledger(Budget(1.0), "add-remove").dataset("患者 🧑‍⚕️")


def test_what_is_no_event_or_no_dataset_is_said_on_one_line():
    ledger = Ledger(Budget(1.0), "add-remove")
    data = ledger.dataset("d")
    deep = PureDP(1e-9)
    for _ in range(3000):
        deep = deep + PureDP(1e-9)
    for call, words in (
        (lambda: ledger.spend(data, [PureDP(0.1)]), "expected an event"),
        (lambda: ledger.spend(np.zeros((9, 9)), PureDP(0.1)), "a ndarray is not a dataset"),
        (lambda: ledger.spend(data, deep), "nested too deeply"),
        (lambda: ledger.dataset("p", unit="p", max_rows_per_unit=10**6), "at most 10000"),
        (lambda: Ledger(Budget(1.0, 1e-6), "add-remove", filter=["rdp"]), "unknown filter"),
    ):
        with pytest.raises(DpcheckError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert ledger.epsilon().upper == 0


@pytest.mark.filterwarnings("error")
def test_budgets_and_costs_beyond_all_exponents():
    for budget in (Budget(1e308, 1e-5), Budget(1.0, 5e-324), Budget(1e-300, 1e-300)):
        ledger = Ledger(budget, "add-remove", filter="rdp")
        data = ledger.dataset("d")
        ledger.spend(data, PureDP(budget.epsilon))
        assert ledger.epsilon(delta=budget.delta).upper == budget.epsilon
        with pytest.raises(BudgetExceeded):
            ledger.spend(data, PureDP(1e308), times=10)


def test_a_number_of_releases_that_could_not_be_read_back_is_refused(place):
    """What is written must be readable: a ledger that is not would be lost."""
    with Ledger.open(place, Budget(1.0), "add-remove") as ledger:
        data = ledger.dataset("d")
        for times in (2**63, 10**16):
            with pytest.raises(InvalidParameter, match="at most 1e"):
                ledger.spend(data, PureDP(1e-30), times)
        ledger.spend(data, PureDP(1e-30), 10**15)
        plan = ledger.plan(data, PureDP(0.0) * 10**15, name="plan")
        with pytest.raises(InvalidParameter, match="at most 1e"):
            plan.step(10**16)
        plan.step(10**15)
    with Ledger.open(place) as ledger:
        assert [e.times for e in ledger.history() if e.kind in ("release", "step")] == [10**15] * 2


def test_names_too_long_for_a_database_are_refused_with_words(place):
    """In both places alike; nested splits are where only a database knows its limit."""
    with Ledger.open(place, Budget(1.0), "add-remove") as ledger:
        with pytest.raises(InvalidParameter, match="at most 200 characters, got 5,000"):
            ledger.dataset("a" * 5000)
        with pytest.raises(InvalidParameter, match="at most 200"):
            ledger.spend(ledger.dataset("d"), PureDP(0.1), request_id="a" * 5000)
        rng = np.random.default_rng(0)

        def splits_of_splits():
            part = ledger.dataset("\U0001f600" * 200)
            for _ in range(20):
                name = "".join(chr(c) for c in rng.integers(0x4E00, 0x9FA5, 200))
                (part,) = part.split_by(name, ["x"])
                ledger.spend(part, PureDP(0.01))

        if place.startswith("postgresql"):
            with pytest.raises(LedgerMisuse, match="use shorter names"):
                splits_of_splits()
        else:
            splits_of_splits()
        ledger.spend(ledger.dataset("d"), PureDP(0.1))
    with Ledger.open(place) as ledger:
        ledger.report()


def test_what_handles_call_refuses_what_no_handle_passes(opened):
    """Their methods are public by name: none may write what could not be read back, or give back."""
    ledger, other = opened(), Ledger(Budget(1.0), "add-remove")
    data, elsewhere = ledger.dataset("d"), other.dataset("d")
    receipt = other.spend(elsewhere, PureDP(0.1), request_id="r")
    plan = other.plan(elsewhere, PureDP(0.1), name="p")
    for given in (None, "r", receipt, plan, data):
        for ask in (ledger.release, ledger.released, ledger.steps_left):
            with pytest.raises(LedgerMisuse, match="of this ledger"):
                ask(given)
        with pytest.raises(LedgerMisuse, match="of this ledger"):
            ledger.take_planned(given, PureDP(0.1), 1)
    for kind, labels, rows in (
        (None, ["a"], [None]),
        ("rows", ["a"], [None]),
        (SplitKind.ROWS, [], []),
        (SplitKind.ROWS, ["a", "a"], [None, None]),
        (SplitKind.ROWS, ["a"], [1, 2]),
    ):
        with pytest.raises(LedgerMisuse, match="split_rows, split_by or split_columns"):
            ledger.split(data, kind, "n", labels, rows)
    with pytest.raises(InvalidParameter, match="without /"):
        ledger.split(data, SplitKind.COLUMNS, "n", ["a]/n[b"], [None])
    with pytest.raises(UnknownName, match="unknown format"):
        ledger.statement(np.array(["text", "nist"]))
    with pytest.raises(InvalidParameter, match="head"):
        ledger.stood_at(np.array([1, 2]))
    assert not hasattr(ledger, "charge")  # with times=0 or -1 it would have been written
    assert [entry.kind for entry in ledger.history()] == ["dataset"]


def test_orders_of_other_number_types_are_kept_as_numbers(opened):
    """A ledger is read back as it was declared."""
    budget = Budget(1.0, 1e-6)
    for name, order in (("numpy", np.int64(3)), ("fraction", Fraction(5, 2))):
        opened().population(name, size=2, budget=budget, order=order)
        assert opened().population(name, size=2, budget=budget, order=float(order)).size == 2
    with pytest.raises(InvalidParameter, match=r"order must be above 1, got 0\.5"):
        Ledger(budget, "add-remove", order=Fraction(1, 2))
