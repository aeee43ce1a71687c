"""Somebody who chooses noise and moment by what was released, against the filter that is in force."""

from __future__ import annotations

import math

import numpy as np

from dpcheck import Budget, BudgetExceeded, Gaussian, Ledger


def test_an_adversary_who_watches_the_outputs_gains_nothing_over_the_budget():
    """Noise and stopping follow the outputs; delta at the budget's epsilon stays within it."""
    budget, runs = Budget(0.5, 0.2), 1000
    rng = np.random.default_rng(11)
    excess, releases = np.zeros(runs), []
    for run in range(runs):
        ledger = Ledger(budget, "add-remove", order=3.0, reserve=0.0)
        data = ledger.dataset("d")
        loss, made = 0.0, 0
        while loss < budget.epsilon + 0.5 and made < 40:  # stop while ahead
            # A loss just below epsilon is worth a loud release, anything else a quiet one.
            noise = 1.6 if 0.2 < loss < budget.epsilon else 5.0
            try:
                ledger.spend(data, Gaussian(noise))
            except BudgetExceeded:
                break
            made += 1
            # With the record the output is N(1, noise^2), without it N(0, noise^2).
            output = rng.normal(1.0, noise)
            loss += (2 * output - 1) / (2 * noise**2)
        releases.append(made)
        excess[run] = max(0.0, -math.expm1(budget.epsilon - loss))
    assert len(set(releases)) > 3  # stopping did depend on the outputs
    assert excess.mean() <= budget.delta + 4 * excess.std() / math.sqrt(runs)
    assert excess.mean() > budget.delta / 25  # and the attack is not idle
