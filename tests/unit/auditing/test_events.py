"""Learned events find what single tails would miss."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.auditing.claims import AuditedClaim, curve_lines
from dpcheck.auditing.learning.events import choose_events, learn_grids
from dpcheck.auditing.learning.scores import find_atoms
from dpcheck.auditing.statistics.intervals import hockey_stick_statistics
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import BadOutput

PURE = AuditedClaim(0.1, 0.0, Adjacency.REPLACE_ONE)
RUNS = 40_000


def best(sample, claim=PURE, runs=RUNS):
    """The best event between sample(True) and sample(False), judged on fresh runs of its own."""
    rng = np.random.default_rng(0)
    grids = learn_grids(sample(True, runs, rng), sample(False, runs, rng), claim, most=8)
    layout = grids[0].layout
    one, two = (layout.rounded(sample(side, runs, rng)) for side in (True, False))
    tallies = [np.stack([g.tally(one), g.tally(two)]) for g in grids]
    event = choose_events(grids, tallies, runs, claim, 1)[0]
    fresh = [layout.rounded(sample(side, runs, rng)) for side in (True, False)]
    hits = [event.hits(side).mean() for side in (fresh[::-1] if event.swapped else fresh)]
    return event, hits


def test_low_values_beside_an_atom():
    def sample(side, runs, rng):  # low continuous values are three times likelier on one side
        low = rng.random(runs) < (0.06 if side else 0.02)
        value = np.where(low, rng.uniform(0, 1, runs), rng.uniform(5, 6, runs))
        return np.where(rng.random(runs) < 0.5, -1000.0, value)[:, None] + np.zeros((1, 2))

    event, (p, q) = best(sample)
    assert math.log(p / q) == pytest.approx(math.log(3), abs=0.3)
    assert event.score.name != "sum"


def test_flags_and_a_number_are_read_together():
    """Where the number stands says which way it leans; place and number alone tell nothing."""

    def sample(side, runs, rng):
        at = rng.integers(0, 4, runs)
        shift = np.where(at % 2 == 0, 1.0, -1.0) * (1.0 if side else -1.0)
        rows = np.full((runs, 4), -1000.0)
        rows[np.arange(runs), at] = 100 + shift + rng.laplace(scale=2.0, size=runs)
        return rows

    event, (p, q) = best(sample)
    assert event.score.name in ("transcript cells", "gradient boosting")
    # The loss is 1 on more than a third of all outputs.
    assert math.log(p / q) > 0.9
    assert p > 0.3


def test_a_sum_cut_at_both_medians_is_the_loss_of_laplace_noise():
    def sample(side, runs, rng):
        noise = rng.laplace(scale=10.0, size=(runs, 10)) + (1.0 if side else 0.0)
        return np.cumsum(noise, axis=1)

    claim, runs = PURE, 200_000
    rng = np.random.default_rng(0)
    grids = learn_grids(sample(True, runs, rng), sample(False, runs, rng), claim, most=8)
    score = next(g.score for g in grids if g.score.name == "clipped sum of steps")
    outputs = sample(True, 1000, rng)
    steps = np.diff(outputs, axis=1, prepend=0.0)
    loss = (np.abs(steps) - np.abs(steps - 1)).sum(axis=1) / 10
    # loss = 0.1 * (2 score - 10) for medians 0 and 1; they are learned.
    assert np.corrcoef(score(outputs), loss)[0, 1] > 0.98


def test_an_interval_in_the_middle():
    def sample(side, runs, rng):
        middle = rng.random(runs) < (0.4 if side else 0.2)
        return np.where(
            middle, rng.uniform(-1, 1, runs), rng.choice([-1, 1], runs) * rng.uniform(1, 4, runs)
        )[:, None]

    _, (p, q) = best(sample)
    assert math.log(p / q) == pytest.approx(math.log(2), abs=0.2)


def test_differences_and_repeats():
    def steps(side, runs, rng):
        noise = rng.laplace(size=(runs, 6)) + (0.5 if side else 0.0)
        return np.cumsum(noise, axis=1)

    _, (p, q) = best(steps)
    assert math.log(p / q) > 1.2  # 3 in all; the sum of the last value alone gives less than 1

    def copies(side, runs, rng):
        values = rng.normal(size=(runs, 3))
        same = rng.random(runs) < (0.3 if side else 0.1)
        values[same, 2] = values[same, 0]
        return values

    _, (p, q) = best(copies)
    assert math.log(p / q) == pytest.approx(math.log(3), abs=0.2)


def test_outputs_of_another_width_are_named():
    rng = np.random.default_rng(1)
    grids = learn_grids(rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2)), PURE, most=2)
    with pytest.raises(BadOutput, match="changes the shape"):
        grids[0].layout.rounded(np.zeros((5, 3)))


def test_atoms_are_values_that_repeat_among_others_that_do_not():
    rng = np.random.default_rng(2)
    mixed = np.where(rng.random(5000) < 0.5, -1.0, rng.normal(size=5000))
    assert find_atoms(mixed).tolist() == [-1.0]
    assert find_atoms(rng.normal(size=5000)).size == 0
    assert find_atoms(rng.integers(0, 3, 5000).astype(float)).size == 0


def test_lines_of_a_curve_lie_on_it():
    lines = curve_lines(lambda epsilon: math.exp(-3 * epsilon) / 2, smallest=1e-6)
    assert lines[0] == (0.0, 0.5)
    assert all(delta == math.exp(-3 * epsilon) / 2 for epsilon, delta in lines)
    assert lines[-1][1] <= 1e-6


def test_few_hits_are_not_near_a_line_they_are_far_below():
    """45 against 17 hits are nowhere near a ratio of e^6.4, though e^6.4 P' is hardly known."""
    excess, _ = hockey_stick_statistics(
        np.array([45.0, 50_000.0]), np.array([17.0, 19_000.0]), 131_072, 6.4, 0.0
    )
    assert (excess < -10).all()
    # With many hits near the line it is the usual statistic, on both sides of it.
    hits, other = np.array([2700.0, 2800.0]), np.array([1000.0, 1000.0])
    excess, _ = hockey_stick_statistics(hits, other, 10**6, 1.0, 0.0)
    usual = (hits - math.e * other) / np.sqrt(hits + math.e**2 * other)
    np.testing.assert_allclose(excess, usual, atol=0.02)


def test_an_event_that_is_certain_has_no_room_to_show_more():
    _, more = hockey_stick_statistics(
        np.array([1000.0, 500.0]), np.array([900.0, 450.0]), 1000, 2.0, 0.0
    )
    assert more[0] == 0.0
    assert more[1] > 0.0
