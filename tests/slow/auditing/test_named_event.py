"""The event that replay names, tested on fresh calls: gross leaks convict, what keeps its claim does not."""

from __future__ import annotations

import numpy as np

from dpcheck.auditing.auditors.replay import Replay
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.method import Method
from dpcheck.execution.runner import Runner

PAIR = Pair(np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0]))


def with_scale(scale):
    """Laplace noise as a difference of gamma draws, which replay does not follow."""

    def release(data, rng):
        return data.sum() + scale * (rng.gamma(1.0) - rng.gamma(1.0))

    return release


def replayed(function, alpha, seed=0):
    claim = Claim(Budget(1.0, 0.0), Adjacency.REPLACE_ONE, "data")
    plan = PartPlan("f", "as given", claim, Mechanism(function), [PAIR])
    return plan, Replay().run(plan, alpha, Runner(seed))


def test_a_gross_leak_is_convicted_at_its_share_of_the_error_rate():
    plan, finding = replayed(with_scale(0.1), 1e-4)
    assert finding.refutes(plan)
    assert finding.method is Method.NAMED_EVENT
    assert finding.spent.share == 1e-4
    assert finding.observed.confidence == 1 - 1e-4
    assert finding.observed.runs <= 200
    assert finding.observed.epsilon <= 10.0  # the truth, by the scale


def test_what_spends_exactly_its_claim_is_not():
    """At alpha 0.05 three of twelve games are wrong with probability below 0.02; the seeds are fixed."""
    wrong = 0
    for seed in range(12):
        plan, finding = replayed(with_scale(1.0), 0.05, seed)
        wrong += finding.refutes(plan)
    assert wrong <= 2


def test_a_mechanism_that_always_fails_tells_nothing():
    def failing(data, rng):
        rng.gamma(1.0)
        raise ValueError("no")

    plan, finding = replayed(failing, 0.05)
    assert not finding.refutes(plan)
