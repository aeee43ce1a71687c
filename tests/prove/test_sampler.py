"""Many runs of a program that was read: with one run the function's own output, with many its law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dpcheck
from dpcheck.auditing.mechanism import Mechanism, declaration
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.many import NotTogether, Sampler
from dpcheck.session.many_runs import ManyRuns, many_runs

NUMBER = dpcheck.number(0, 1)
COLUMN = dpcheck.records(x=NUMBER)
TABLE = dpcheck.records(a=NUMBER, b=NUMBER, c=NUMBER)
ONE = np.random.default_rng(3).random(40)
THREE = np.random.default_rng(4).random((40, 3))


def mean(x, rng):
    return np.clip(x, 0, 1).mean() + rng.laplace(scale=0.1)


def located(x, rng):
    return rng.normal(x.sum(), 2.0)


def noisy_max(x, rng):
    counts = np.histogram(x, bins=[0, 0.2, 0.4, 0.6, 0.8, 1.0])[0]
    return np.argmax(counts + rng.gumbel(scale=2.0, size=5))


def named(x, rng):
    counts = np.histogram(x, bins=[0, 0.25, 0.5, 1.0])[0] + rng.normal(scale=2.0, size=3)
    total = x.sum() + rng.normal(scale=3.0)
    return {
        "mean": np.maximum(total / len(x), 0),
        "shares": counts / np.maximum(counts.sum(), 1),
        "last": [counts[-1], counts[:2]],
    }


def vector(x, rng):
    return x.sum(axis=0) + rng.normal(0, [1.0, 2.0, 3.0], size=3)


def in_place(x, rng):
    total = x.sum(axis=0)
    total += rng.normal(size=3)
    total /= 2
    return total


def sampled(x, rng):
    taken = rng.random(len(x)) < 0.3
    return (x * taken).sum() + rng.normal(scale=2.0)


def batch(x, rng):
    return x[rng.choice(len(x), 10, replace=False)].sum() + rng.normal(scale=2.0)


def answers(x, rng):
    return np.where(rng.random(len(x)) < 0.5, x > 0.5, rng.random(len(x)) < 0.5)


def steps(x, rng):
    weight = np.zeros(3)
    for _ in range(4):
        gradient = np.clip(x - weight, -1, 1).sum(axis=0)
        weight = weight + 0.1 * (gradient + rng.normal(scale=3.0, size=3))
    return weight


CASES = [
    *((f, ONE, COLUMN) for f in (mean, located, noisy_max, named, sampled, batch, answers)),
    *((f, THREE, TABLE) for f in (vector, in_place, steps)),
]


def parts(output):
    """Nested outputs as one list of numbers."""
    if isinstance(output, dict):
        return [number for value in output.values() for number in parts(value)]
    if isinstance(output, list):
        return [number for value in output for number in parts(value)]
    return np.ravel(output).astype(float).tolist()


@pytest.mark.parametrize(("function", "data", "records"), CASES)
def test_one_run_is_the_functions_own(function, data, records):
    sampler = Sampler(function, Adjacency.REPLACE_ONE, records)
    for seed in range(5):
        (ours,) = sampler(data, 1, np.random.default_rng(seed))
        theirs = function(data, np.random.default_rng(seed))
        assert parts(ours) == pytest.approx(parts(theirs), rel=1e-12)


@pytest.mark.parametrize(("function", "data", "records"), CASES)
def test_many_runs_have_the_law_of_calls(function, data, records):
    """Two samples of each number of the output, by a test that knows nothing of either."""
    sampler = Sampler(function, Adjacency.REPLACE_ONE, records)
    rng = np.random.default_rng(1)
    ours = np.array([parts(output) for output in sampler(data, 1000, np.random.default_rng(0))])
    theirs = np.array([parts(function(data, rng)) for _ in range(1000)])
    assert ours.shape == theirs.shape
    for column in range(min(8, ours.shape[1])):
        assert stats.ks_2samp(ours[:, column], theirs[:, column], method="asymp").pvalue > 1e-6
    assert len(np.unique(ours, axis=0)) == pytest.approx(len(np.unique(theirs, axis=0)), rel=0.1)


def test_densities_are_those_of_scipy():
    outputs = np.array([0.3, 0.5, 4.0])
    found = Sampler(mean, Adjacency.REPLACE_ONE, COLUMN).log_density(ONE, outputs)
    assert found == pytest.approx(stats.laplace(ONE.mean(), 0.1).logpdf(outputs))
    rows = np.arange(6.0).reshape(2, 3)
    found = Sampler(vector, Adjacency.REPLACE_ONE, TABLE).log_density(THREE, rows)
    expected = stats.norm(THREE.sum(axis=0), [1.0, 2.0, 3.0]).logpdf(rows).sum(axis=1)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("function", [noisy_max, named, sampled])
def test_no_density_is_made_up(function):
    with pytest.raises(NotTogether):
        Sampler(function, Adjacency.REPLACE_ONE, COLUMN).log_density(ONE, np.zeros(2))


def test_a_branch_that_a_release_decides_is_sampled_too():
    def lucky(x, rng):
        return 1.0 if x.sum() + rng.laplace() > 20 else 0.0

    outputs = ManyRuns(lucky, Adjacency.REPLACE_ONE, COLUMN)(ONE, 2000, np.random.default_rng(0))
    chance = stats.laplace(ONE.sum()).sf(20)
    assert set(np.asarray(outputs).tolist()) == {0.0, 1.0}
    assert np.mean(outputs) == pytest.approx(chance, abs=6 * np.sqrt(chance * (1 - chance) / 2000))


def test_a_function_that_cannot_be_read_is_called_instead():
    def caught(x, rng):
        try:
            return x.sum() + rng.laplace()
        except ValueError:
            return 0.0

    with pytest.raises(NotTogether):
        Sampler(caught, Adjacency.REPLACE_ONE, COLUMN)(ONE, 3, np.random.default_rng(0))
    outputs = ManyRuns(caught, Adjacency.REPLACE_ONE, COLUMN)(ONE, 20, np.random.default_rng(0))
    assert len(set(outputs)) == 20


def test_a_function_that_keeps_state_is_not_sampled():
    calls = []

    @dpcheck.audited(claim=1.0, adjacency="replace-one", records=COLUMN, form="array")
    def drifting(x, rng):
        calls.append(1)
        return x.sum() + len(calls) + rng.laplace()

    find = many_runs(Mechanism(drifting), drifting, declaration(drifting), Adjacency.REPLACE_ONE)
    assert find([ONE]) is None


def test_a_density_is_used_only_if_every_dataset_has_one():
    @dpcheck.audited(claim=1.0, adjacency="replace-one", records=COLUMN, form="array")
    def total(x, rng):
        return x.sum() + rng.laplace()

    find = many_runs(Mechanism(total), total, declaration(total), Adjacency.REPLACE_ONE)
    assert find([ONE, ONE[::-1]]).log_density is not None
    assert find([ONE, THREE]).log_density is None  # not the data that are described


def test_draws_that_would_fill_the_memory_are_made_in_parts():
    """A coin for each of 40 records and 400,000 runs are 16 million numbers."""
    many = ManyRuns(sampled, Adjacency.REPLACE_ONE, COLUMN)
    outputs = many(ONE, 400_000, np.random.default_rng(0))
    assert len(outputs) == 400_000
    expected, spread = 0.3 * ONE.sum(), np.hypot(2.0, np.sqrt(0.21 * (ONE**2).sum()))
    assert abs(outputs.mean() - expected) < 6 * spread / np.sqrt(len(outputs))
    assert outputs.std() == pytest.approx(spread, rel=0.01)
