"""Ten local steps of APPFL under replay: epsilon 10 is spent where 1 was asked for."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("appfl", reason="APPFL has an environment of its own")

import dpcheck
from dpcheck.core.budget import Budget
from dpcheck.core.verdict import Verdict
from dpcheck.replay import HintKind, examine

FINDINGS = Path(__file__).parents[3] / "benchmarks" / "findings"


@pytest.fixture(scope="module")
def found():
    spec = importlib.util.spec_from_file_location(
        "appfl_local_steps", FINDINGS / "appfl_local_steps.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def named(finding):
    return [hint.words for hint in finding.hints if hint.kind is HintKind.ADDITIVE]


def test_ten_steps_are_named_at_ten(found):
    finding = examine(found.train, found.PAIR, Budget(found.EPSILON, 0.0), "replace-one")
    assert finding.calls <= 10
    (words,) = named(finding)
    epsilon = float(re.search(r"epsilon is ([0-9.]+) at delta 0", words).group(1))
    assert epsilon == pytest.approx(10 * (1 - 2e-3), rel=1e-4)  # less what it may be off


def test_one_step_keeps_its_claim(found, monkeypatch):
    monkeypatch.setattr(found, "STEPS", 1)
    finding = examine(found.train, found.PAIR, Budget(found.EPSILON * 1.001, 0.0), "replace-one")
    assert not named(finding)
    assert not finding.exceeds(found.EPSILON)


def test_fresh_calls_convict_within_two_hundred(found, audit):
    """The event that replay names, on the library's own code, at the audit's error rate."""
    target = dpcheck.audited(claim=found.EPSILON, adjacency="replace-one", neighbours=[found.PAIR])(
        found.train
    )
    entry = audit(target)
    assert entry.verdict is Verdict.VIOLATED
    assert entry.witness["calls"] <= 200  # what refutes; further calls say by how much
    assert 1.0 < entry.observed.epsilon <= 10.0
