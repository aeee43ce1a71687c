"""Exactly private functions with a seed in their file: not called violated, for any number of jobs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from dpcheck.auditing.mechanism import Mechanism
from dpcheck.execution import imports
from dpcheck.execution.parallel import Workers
from dpcheck.execution.references import parse
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator

NAMES = ("respond_numpy", "respond_python", "respond_kept")


BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def cases(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    imports.forget_all()
    yield import_module("false_alarms")
    imports.forget_all()


@pytest.mark.parametrize("name", NAMES)
def test_alarms_are_rare(cases, name):
    audit = cases.CASES[f"{name}, 1 job"]()
    # At a nominal 5%, five or more of 12 have probability 2e-4.
    assert sum(audit(seed) for seed in range(12)) < 5


def raw(mechanism, seed):
    return {"x": mechanism.sample(0.0, 64, generator(seed))}


def test_no_two_batches_are_alike_and_four_jobs_draw_what_one_draws():
    target = parse(f"{BENCHMARKS / 'suite/targets_global.py'}:respond_numpy")

    def drawn(jobs):
        runner = Runner(seed=3, workers=Workers(jobs))
        return [b["x"] for b in runner.batches("s", range(16), raw, Mechanism(target, True))]

    one = drawn(1)
    assert len({tuple(each[:, 0]) for each in one}) == 16
    assert np.array_equal(one, drawn(4))
