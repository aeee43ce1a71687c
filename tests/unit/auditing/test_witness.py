"""Witness search without a recipe, certified losses against 50 digits, shrinking."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dpcheck.accounting.objective import objective_epsilon
from dpcheck.auditing.auditors.witness_search import PairPoint, PlaneDomain, search, shrink
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.training import ObjectivePerturbation
from dpcheck.families.objective.loss import certified_loss, certified_lower, fast_loss
from dpcheck.numerics.balls import precision

EVENT = ObjectivePerturbation(0.950615, 10_000, 0.001)
FORK = PairPoint((-0.6, 0.7), (-0.6, -0.7), (0.1, 0.2), (3.0, -2.0), (0.5, 0.25))


def slow_loss(event: ObjectivePerturbation, point: PairPoint) -> mpmath.mpf:
    """The loss by definition, row by row, in 50 digits."""

    def log_density(changed):
        rows = [changed] + [point.background] * (event.rows - 1)
        w = mpmath.matrix(point.output)
        pull, extra = event.rows * mpmath.mpf(event.regularization), event.extra_regularization
        b = -pull * (w - mpmath.matrix(point.center)) - event.rows * mpmath.mpf(extra) * w
        A = (pull + event.rows * mpmath.mpf(extra)) * mpmath.eye(2)
        for row in rows:
            x = mpmath.matrix(row)
            s = 1 / (1 + mpmath.exp((w.T * x)[0]))
            b += s * x
            A += s * (1 - s) * x * x.T
        return -mpmath.mpf(event.noise_epsilon) / 2 * mpmath.norm(b) + mpmath.log(mpmath.det(A))

    return log_density(point.changed) - log_density(point.replaced)


def test_fast_and_certified_losses_are_the_definition():
    event = ObjectivePerturbation(0.7, 12, 0.05, 0.02)
    with mpmath.workdps(50):
        expected = slow_loss(event, FORK)
        assert fast_loss(event)(FORK) == pytest.approx(float(expected), abs=1e-12)
        with precision(256):
            ball = certified_loss(event, FORK, 1.0, 1.0, 1.0)
            assert float(ball.rad()) < 1e-60
            assert (
                abs(mpmath.mpf(ball.mid().str(50, radius=False)) - expected) < mpmath.mpf(10) ** -40
            )
    assert certified_lower([(event, FORK, 1.0, 1.0, 1.0)]) < float(expected)


def test_a_row_beyond_the_norm_bound_is_refused():
    long = PairPoint((1.0, 0.1), (0.0, 0.0), (0.0, 0.0), (1.0, 1.0), (0.0, 0.0))
    with pytest.raises(ValueError, match="norm bound"):
        certified_lower([(EVENT, long, 1.0, 1.0, 1.0)])


def test_search_finds_the_loss_with_centre_zero():
    found = search(fast_loss(EVENT), PlaneDomain(1.0, 2), np.random.SeedSequence(11))
    assert certified_lower([(EVENT, found, 1.0, 1.0, 1.0)]) >= 0.93


def test_search_finds_the_supremum_with_a_free_centre_and_never_more():
    domain = PlaneDomain(1.0, 2, True, 1 / 10)
    found = search(fast_loss(EVENT), domain, np.random.SeedSequence(11))
    lower, upper = objective_epsilon(0.950615, 10.0, 1.0, Adjacency.REPLACE_ONE)
    assert 0.999 * lower <= certified_lower([(EVENT, found, 1.0, 1.0, 1.0)]) <= upper


def test_shrinking_keeps_the_finding_and_simplifies():
    rough = PairPoint(
        (-0.7088804340537904, 0.7053286682190861),
        (0.7052759304974393, -0.7089329036354367),
        (0.7052759304974393, -0.7089329036354367),
        (4051.54190208279, 4051.54190208279),
        (4055.179058265057, 4051.5090702349535),
    )
    loss = fast_loss(EVENT)

    def keeps(point: PairPoint) -> bool:
        rows = (point.changed, point.replaced, point.background)
        return all(sum(v * v for v in row) <= 1 for row in rows) and loss(point) > 0.9

    assert keeps(rough)
    small = shrink(rough, keeps)
    assert keeps(small)
    digits = lambda p: sum(len(repr(v)) for n in PairPoint.__slots__ for v in getattr(p, n))  # noqa: E731
    assert digits(small) < 0.5 * digits(rough)
    assert shrink(small, lambda point: False) == small
