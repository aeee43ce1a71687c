"""A guard that goes on after a restart counts what was made before it."""

from __future__ import annotations

import json

import pytest

import dpcheck
from dpcheck.integrations.guards.budget import BudgetGuard

BUDGET = dpcheck.Budget(1.0)


def eighths(event=None, budget=BUDGET, adjacency="add-remove"):
    """Eight steps fit."""
    return BudgetGuard(event or dpcheck.PureDP(0.125), budget, adjacency=adjacency)


def spend(guard, steps):
    for _ in range(steps):
        guard.step()


def test_a_checkpoint_keeps_the_steps():
    first = eighths()
    spend(first, 5)
    kept = json.loads(json.dumps(first.state_dict()))  # as a checkpoint keeps it
    later = eighths()
    later.load_state_dict(kept)
    assert later.left == 3
    assert later.epsilon().upper == pytest.approx(0.625)
    spend(later, 3)
    with pytest.raises(dpcheck.BudgetExceeded):
        later.step()


def test_an_older_checkpoint_gives_nothing_back():
    guard = eighths()
    spend(guard, 2)
    old = guard.state_dict()
    spend(guard, 5)
    guard.load_state_dict(old)
    guard.resume(3)
    assert guard.steps == 7


def test_more_steps_than_allowed_leave_nothing():
    guard = eighths()
    guard.resume(12)
    assert guard.left <= 0
    with pytest.raises(dpcheck.BudgetExceeded):
        guard.step()


@pytest.mark.parametrize(
    "other",
    [
        {"event": dpcheck.PureDP(0.2)},
        {"budget": dpcheck.Budget(2.0)},
        {"adjacency": "replace-one"},
    ],
)
def test_steps_of_another_kind_are_refused(other):
    guard = eighths()
    with pytest.raises(dpcheck.DpcheckError, match="were counted for"):
        guard.load_state_dict(eighths(**other).state_dict())
    assert guard.steps == 0


@pytest.mark.parametrize("state", [{}, {"steps": "7"}, {"steps": -1}, {"steps": None}])
def test_what_is_no_state_is_refused(state):
    guard = eighths()
    with pytest.raises(dpcheck.DpcheckError):
        guard.load_state_dict(guard.state_dict() | state if state else state)
    assert guard.steps == 0
