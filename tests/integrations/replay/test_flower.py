"""Flower's LocalDpMod under replay: 1.287 is spent where (1, 0.01) was asked for."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="Flower has an environment of its own")

from dpcheck.core.budget import Budget
from dpcheck.replay import HintKind, examine

FINDINGS = Path(__file__).parents[3] / "benchmarks" / "findings"


@pytest.fixture(scope="module")
def found():
    spec = importlib.util.spec_from_file_location(
        "flower_local_dp_mod", FINDINGS / "flower_local_dp_mod.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_what_replay_names_is_what_the_closed_form_gives(found):
    finding = examine(found.client, found.PAIR, Budget(found.EPSILON, found.DELTA), "replace-one")
    assert finding.calls <= 10
    (told,) = [hint for hint in finding.hints if hint.kind is HintKind.ADDITIVE]
    epsilon = float(re.search(r"epsilon is ([0-9.]+) at delta 0.01", told.words).group(1))
    exact = found.exact(found.SENSITIVITY)
    assert exact == pytest.approx(1.287, abs=1e-3)
    assert epsilon == pytest.approx(exact * (1 - 2e-3), rel=1e-3)  # less what it may be off


def test_a_mod_told_the_true_sensitivity_is_not_named(found):
    def client(update, rng):
        return found.noised(update, 2 * found.CLIP)

    finding = examine(client, found.PAIR, Budget(found.EPSILON, found.DELTA), "replace-one")
    assert HintKind.ADDITIVE not in [hint.kind for hint in finding.hints]
    assert not finding.exceeds(found.EPSILON, found.DELTA)
