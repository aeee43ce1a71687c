"""Hostile functions: no proof below what they spend, whoever proves; and what they spend is measured."""

from __future__ import annotations

import copy
import importlib
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import dpcheck
from dpcheck.core.adjacency import as_adjacency
from dpcheck.program.proof import proof_of, read

MODULES = (
    *("aliases", "containers", "control", "dtypes", "hashing", "iteration", "neighbours"),
    *("noise", "ordering", "paths", "state", "tables", "text", "types", "warned", "writes"),
    *("accumulated", "bindings", "written", "further.floats", "further.library"),
    *("further.language", "further.loops", "further.numbers", "further.arrays", "further.frames"),
    *("further.releases", "further.scalars", "further.python", "further.rounded"),
)
CASES = {
    case.name: case
    for module in MODULES
    for case in importlib.import_module(f".hostile.{module}", __package__).GROUP.cases
}


def run(case, side, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.function(copy.deepcopy(case.pair[side]), np.random.default_rng(seed))


@pytest.mark.parametrize("name", CASES)
def test_truth(name):
    """With one seed the outputs move by epsilon times the scale; or they tell for certain."""
    case = CASES[name]
    for seed in range(3):
        first, second = (run(case, side, seed) for side in (0, 1))
        if math.isinf(case.epsilon):
            assert case.leak(first) != case.leak(second)
            assert case.leak(first) == case.leak(run(case, 0, seed + 1))
        else:
            moved = np.abs(np.asarray(first, dtype=float) - np.asarray(second, dtype=float)).sum()
            assert moved == pytest.approx(case.epsilon * case.scale, rel=1e-6)


def proved(case):
    """What is proved, or None where it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = dpcheck.prove(
                case.function, data=case.data, adjacency=case.adjacency, form=case.form
            )
        except dpcheck.NotProvable:  # a contradiction would be a proof that was wrong
            return None
    return found.epsilon(delta=0.0).upper


def read_alone(case):
    """What the rules alone prove, before any attack; None where it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = read(case.function, case.data, as_adjacency(case.adjacency), form=case.form)
            return proof_of(program, case.data).epsilon(delta=0.0).upper
        except dpcheck.NotProvable:
            return None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.right])
def test_no_proof_is_below_the_truth(name):
    """The rules alone must not prove it: an attack that saves them may miss its twin."""
    case = CASES[name]
    found = read_alone(case)
    assert found is None or found >= case.epsilon * (1 - 1e-9)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.right])
def test_right_twins_are_proved(name):
    case = CASES[name]
    assert proved(case) == pytest.approx(case.epsilon, rel=1e-9)


def test_every_group_has_many_wrong_ones_and_a_right_one():
    for module in MODULES:
        cases = [case for case in CASES.values() if case.group == module.split(".")[-1]]
        assert sum(case.right for case in cases) >= 1
        assert sum(not case.right for case in cases) >= 10
    assert sum(not case.right for case in CASES.values()) >= 120


SOURCE = """
import dpcheck
from hostile.{module} import GROUP

CASE = next(case for case in GROUP.cases if case.function.__name__ == {function!r})
DATA = dict(records=CASE.data) if isinstance(CASE.data, dpcheck.core.records.Records) else {{}}
target = dpcheck.audited(
    claim=CASE.epsilon / 2 if CASE.epsilon < 1e9 else 1.0,
    adjacency=CASE.adjacency,
    form=CASE.form or "array",
    **DATA,
)(CASE.function)
"""
ONE_OF_EACH = {case.group: case for case in CASES.values() if not case.right}


@pytest.mark.parametrize("module", [each for each in MODULES if "." not in each])
def test_no_audit_says_that_it_holds(module, tmp_path, monkeypatch):
    """Half of what the function spends is claimed, so that *holds* would rest on a false proof."""
    case = ONE_OF_EACH[module]
    source = SOURCE.format(module=module, function=case.function.__name__)
    (tmp_path / "target.py").write_text(source)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = dpcheck.audit("target.py:target", max_runs=300)
    assert report.entries[0].verdict is not dpcheck.Verdict.HOLDS
