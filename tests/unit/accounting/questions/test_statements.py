"""Under which relation a guarantee was proved, and which side of a pair has the record."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditEntry, Method, Observed
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.errors import BudgetExceeded, InvalidParameter, InvalidProject
from dpcheck.core.verdict import Verdict
from dpcheck.gate.budgets import check_budget
from dpcheck.gate.project import AuditSpec, BudgetSpec

# What costs 1 under the relation its scores were compared under, and 2 for a removal and an addition.
STATED = {
    "permute-and-flip": dpcheck.PermuteAndFlip(1.0),
    "exponential": dpcheck.ExponentialMechanism(1.0),
    "noisy max": dpcheck.ReportNoisyMax(2.0),
    "noisy max, gumbel": dpcheck.ReportNoisyMax(2.0, "gumbel"),
    "noisy max of counts": dpcheck.ReportNoisyMax(1.0, "exponential", monotone=True),
    "above threshold": dpcheck.AboveThreshold(2.0, 4.0),
    "above threshold of counts": dpcheck.AboveThreshold(2.0, 4.0, 2, monotone=True),
    "pure": dpcheck.PureDP(1.0),
}


@pytest.mark.parametrize("name", STATED)
def test_what_is_stated_under_add_remove_costs_a_removal_and_an_addition(name):
    stated = dpcheck.Under("add-remove", STATED[name])
    assert dpcheck.epsilon(stated, adjacency="add-remove").upper == 1.0
    for event in (stated, stated | stated, dpcheck.Under("add-remove", STATED[name] * 1)):
        assert dpcheck.epsilon(event, adjacency="replace-one").upper == 2.0
    assert dpcheck.epsilon(stated * 3 + stated, adjacency="replace-one").upper == 8.0


@pytest.mark.parametrize("name", STATED)
def test_a_ledger_does_not_let_it_through_for_half(name):
    stated = dpcheck.Under("add-remove", STATED[name])
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(1.5), adjacency="replace-one")
    with pytest.raises(BudgetExceeded):
        ledger.spend(ledger.dataset("people", rows=10), stated)


@pytest.mark.parametrize("name", STATED)
def test_nor_does_the_gate(name):
    claim = Claim(Budget(1.0), Adjacency.ADD_REMOVE, "test")
    observed = Observed(0.0, 0.0, 0.999, Method.REPLAY, 1, 1.0)
    entry = AuditEntry("a", "as given", "data", claim, None, observed, Verdict.HOLDS)
    entry = replace(entry, event=STATED[name])
    spec = BudgetSpec("people", Budget(3.0), Adjacency.REPLACE_ONE)
    found = check_budget(spec, [(AuditSpec("a", "a.py:f"), entry)])
    assert found.upper == 2.0
    other = replace(entry, event=dpcheck.PureDP(1.0, "zero-out"))
    with pytest.raises(
        InvalidProject, match=r"budgets.people: data: PureDP states .* under zero-out"
    ):
        check_budget(spec, [(AuditSpec("a", "a.py:f"), other)])


@pytest.mark.parametrize(
    "event",
    [
        dpcheck.OutputPerturbation(5.0, 0.2),
        dpcheck.PureDP(1.0, "zero-out"),
        dpcheck.Gaussian(1.0) + dpcheck.PermuteAndFlip(1.0, "replace-one") * 3,
        dpcheck.Under("replace-one", dpcheck.Gaussian(1.0)),
        dpcheck.Sampled(dpcheck.OutputPerturbation(5.0, 0.2), 0.5),
    ],
)
def test_two_statements_that_contradict_each_other_are_refused(event):
    with pytest.raises(InvalidParameter, match="Under says add-remove: one of the two is wrong"):
        dpcheck.Under("add-remove", event)


def test_the_same_statement_twice_is_one():
    inner = dpcheck.OutputPerturbation(5.0, 0.2)
    stated = dpcheck.Under("replace-one", dpcheck.Under("replace-one", inner))
    assert dpcheck.epsilon(stated) == dpcheck.epsilon(inner)


def test_monotone_scores_say_nothing_of_a_replacement():
    """Two counts of a record that is replaced: one falls, the other rises, each by the sensitivity 1."""
    event = dpcheck.ReportNoisyMax(2.0, "exponential", monotone=True, adjacency="replace-one")
    # Permute-and-flip of two equal counts, then two apart: the loser with e^{-2/2}/2.
    lead = math.log(0.5 / (0.5 * math.exp(-2 / 2.0)))
    assert lead == pytest.approx(1.0)
    assert dpcheck.epsilon(event, adjacency="replace-one").upper >= lead - 1e-12
    queries = dpcheck.AboveThreshold(2.0, 4.0, 1, monotone=True, adjacency="replace-one")
    assert dpcheck.epsilon(queries, adjacency="replace-one").upper == 1.0


P, Q = (0.5, 0.3, 0.2), (0.05, 0.6, 0.35)


def hockey_stick(p, q, epsilon):
    return float(np.maximum(np.array(p) - math.exp(epsilon) * np.array(q), 0).sum())


def sampled(with_record, without, rate):
    """Tables of a sampled step, drawn with the record and without."""
    both = zip(with_record, without, strict=True)
    return tuple((1 - rate) * b + rate * a for a, b in both), without


def times(table, steps):
    return tuple(math.prod(masses) for masses in product(table, repeat=steps))


def worse(p, q, epsilon):
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


@pytest.mark.parametrize(("p", "q"), [(P, Q), (Q, P)])
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("side", [None, "p", "q"])
def test_a_sampled_table_costs_the_worse_side_or_the_one_that_has_the_record(p, q, steps, side):
    event = dpcheck.Sampled(dpcheck.FinitePair(p, q, with_record=side) * steps, 0.3)
    a, b = times(p, steps), times(q, steps)
    for epsilon in (0.0, 0.1, 0.4, 0.9):
        truths = {
            "p": worse(*sampled(a, b, 0.3), epsilon),
            "q": worse(*sampled(b, a, 0.3), epsilon),
        }
        truth = truths[side] if side else max(truths.values())
        found = dpcheck.delta(event, epsilon=epsilon)
        assert found.lower <= truth * (1 + 1e-9) + 1e-15
        assert truth * (1 - 1e-9) <= found.upper <= truth * (1 + 1e-2) + 1e-9
    ways = {"p": sampled(a, b, 0.3), "q": sampled(b, a, 0.3)}
    tables = [ways[side]] if side else list(ways.values())
    largest = max(abs(math.log(x / y)) for one in tables for x, y in zip(*one, strict=True))
    found = dpcheck.epsilon(event)
    assert found.lower * (1 - 1e-9) <= largest <= found.upper * (1 + 1e-9)


@pytest.mark.parametrize("side", [None, "p", "q"])
def test_beside_a_pair_with_sides_a_table_costs_the_worse_one(side):
    """Two tables with a side given, so that all outcomes can be listed."""
    table = dpcheck.FinitePair(P, Q, with_record=side)
    given = dpcheck.Sampled(dpcheck.FinitePair(Q, P, with_record="p"), 0.5)
    mixed = sampled(Q, P, 0.5)
    for epsilon in (0.0, 0.3, 1.0, 1.6):
        truths = {}
        for name, (a, b) in {"p": (P, Q), "q": (Q, P)}.items():
            both = [tuple(np.outer(x, y).ravel()) for x, y in zip((a, b), mixed, strict=True)]
            truths[name] = worse(*both, epsilon)
        truth = truths[side] if side else max(truths.values())
        found = dpcheck.delta(table + given, epsilon=epsilon)
        assert found.lower <= truth * (1 + 1e-9) + 1e-15
        assert truth * (1 - 1e-9) <= found.upper <= truth * (1 + 1e-2) + 1e-9


def test_many_choices_keep_both_sides():
    """More ways than are accounted one by one: the worst of all holds the tables either way."""
    one, other = (
        dpcheck.FinitePair((0.6, 0.4), (0.3, 0.7)),
        dpcheck.FinitePair((0.2, 0.8), (0.5, 0.5)),
    )
    given = dpcheck.Sampled(dpcheck.FinitePair((0.9, 0.1), (0.5, 0.5), with_record="p"), 0.5)
    event = (one | other) * 40 + given
    for tables in (((0.6, 0.4), (0.3, 0.7)), ((0.3, 0.7), (0.6, 0.4))):
        fixed = dpcheck.FinitePair(*tables, with_record="p") * 40 + given
        for delta in (1e-2, 1e-6):
            least = dpcheck.epsilon(fixed, delta=delta, adjacency="add-remove").lower
            assert dpcheck.epsilon(event, delta=delta, adjacency="add-remove").upper >= least


def test_a_side_is_one_of_two():
    with pytest.raises(InvalidParameter, match="'p', 'q' or None"):
        dpcheck.FinitePair(P, Q, with_record="left")
