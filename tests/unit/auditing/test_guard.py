"""Mechanisms that misbehave get a diagnosis."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpcheck.auditing.guard import guarded
from dpcheck.auditing.mechanism import Mechanism
from dpcheck.auditing.outputs.encode import plain_rows
from dpcheck.core.errors import BadOutput, InputMutated, MechanismFailed, RunTimedOut

DATA = np.zeros(3)


def run(function, *, batched=False, size=4, timeout=None):
    rng = np.random.default_rng(0)
    return guarded(function, DATA, size, rng, batched=batched, timeout=timeout)


def test_a_run_that_raises_has_its_error_for_an_output():
    def broken(data, rng):
        raise KeyError("age")

    found = run(broken)
    assert found.raised == 4
    with pytest.raises(MechanismFailed, match=r"KeyError.*age"):
        plain_rows(found)


def test_a_batched_one_that_raises_is_named():
    def broken(data, size, rng):
        raise KeyError("age")

    with pytest.raises(MechanismFailed, match=r"KeyError.*age"):
        run(broken, batched=True)


def test_a_density_needs_finite_numbers_of_one_shape():
    with pytest.raises(BadOutput, match="NaN"):
        plain_rows(run(lambda data, rng: float("nan")))
    with pytest.raises(BadOutput, match="infinite"):
        plain_rows(run(lambda data, size, rng: np.full(size, np.inf), batched=True))
    with pytest.raises(BadOutput, match="one shape"):
        plain_rows(run(lambda data, rng: np.zeros(rng.integers(1, 9)), size=20))
    with pytest.raises(BadOutput, match="asked for 4"):
        run(lambda data, size, rng: np.zeros(size + 1), batched=True)


def test_one_that_changes_its_input_is_caught_and_the_caller_is_safe():
    def mutating(data, rng):
        data[0] += 1
        return 0.0

    with pytest.raises(InputMutated):
        run(mutating)
    assert DATA[0] == 0


def test_one_that_hangs_is_stopped():
    woken = []

    def sleepy(data, rng):
        time.sleep(600)
        woken.append(True)

    with pytest.raises(RunTimedOut, match=r"0\.2 s"):
        run(sleepy, timeout=0.2)
    assert not woken


def test_in_a_thread_one_that_took_too_long_is_reported_when_it_returns():
    def slow(data, rng):
        time.sleep(0.05)
        return 0.0

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(RunTimedOut, match=r"within 0\.01 s"):
            pool.submit(run, slow, timeout=0.01).result()
        assert pool.submit(run, slow, timeout=60.0).result().rows.shape == (4, 1)


class CountsItsRuns:
    """An object of somebody's, with a name that once meant a program outside."""

    runs = 0

    def __call__(self, data, rng):
        self.runs += 1
        return data + rng.normal()


def test_an_attribute_called_runs_means_nothing():
    mine = Mechanism(CountsItsRuns())
    assert not mine.is_outside
    assert mine.sample(0.0, 5, np.random.default_rng(0)).shape == (5, 1)
