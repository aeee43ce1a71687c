"""Mechanisms that misbehave get a diagnosis; outputs of every kind are encoded."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from dpcheck.auditing.learning.encodings import encode_array, encode_list

from dpcheck.auditing.guard import guarded
from dpcheck.core.errors import BadOutput, InputMutated, MechanismFailed, RunTimedOut

DATA = np.zeros(3)


def run(function, *, batched=False, size=4, timeout=None):
    rng = np.random.default_rng(0)
    return guarded(function, DATA, size, rng, batched=batched, timeout=timeout)


def test_one_that_raises_is_named():
    def broken(data, rng):
        raise KeyError("age")

    with pytest.raises(MechanismFailed, match=r"KeyError.*age"):
        run(broken)


def test_nan_and_infinity_are_refused():
    with pytest.raises(BadOutput, match="NaN"):
        run(lambda data, rng: float("nan"))
    with pytest.raises(BadOutput, match="infinite"):
        run(lambda data, size, rng: np.full(size, np.inf), batched=True)


def test_arrays_must_keep_their_shape_but_lists_may_vary():
    with pytest.raises(BadOutput, match="shape"):
        run(lambda data, rng: np.zeros(rng.integers(1, 9)), size=20)
    rows = run(lambda data, rng: [1] * int(rng.integers(1, 4)), size=20)
    assert rows.shape[0] == 20
    assert set(rows[:, 0]) == {1.0, 2.0, 3.0}
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
    def sleepy(data, rng):
        time.sleep(30)

    began = time.monotonic()
    with pytest.raises(RunTimedOut, match=r"0\.2 s"):
        run(sleepy, timeout=0.2)
    assert time.monotonic() - began < 5


def test_numbers_categories_and_transcripts():
    assert encode_list([1, 2.5, True]).tolist() == [[1.0], [2.5], [1.0]]
    words = encode_list(["yes", "no", "yes"])
    assert words[0] == words[2] != words[1]
    mixed = encode_list([None, "a", None])
    assert mixed[0] == mixed[2] != mixed[1]
    transcripts = encode_list([(1, 2), (1, 2, 3), (1, 2)])
    assert (transcripts[0] == transcripts[2]).all()
    assert (transcripts[0] != transcripts[1]).any()
    assert encode_array(np.zeros((5, 2, 3)), 5).shape == (5, 6)
    assert encode_array(np.full(5, 1 + 2j), 5).tolist()[0] == [1.0, 2.0]


def test_a_mixture_of_arrays_and_numbers_is_refused():
    with pytest.raises(BadOutput, match="arrays in some runs"):
        encode_list([np.zeros(2), 1.0])


def test_in_a_thread_one_that_took_too_long_is_reported_when_it_returns():
    def slow(data, rng):
        time.sleep(0.05)
        return 0.0

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(RunTimedOut, match=r"within 0\.01 s"):
            pool.submit(run, slow, timeout=0.01).result()
        assert pool.submit(run, slow, timeout=5.0).result().shape == (4, 1)


def test_transcripts_that_fit_are_told_apart_by_their_values_alone():
    short = encode_list([[None, 1.5], [None, 2.5], [None], [None, 1.5]])
    assert not short[:, 1].any()
    assert len(np.unique(short, axis=0)) == 3
    long = encode_list([[0.0] * 40, [0.0] * 39 + [1.0]])
    assert long[0, 1] != long[1, 1]
