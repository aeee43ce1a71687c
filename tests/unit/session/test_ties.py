"""What is exactly the claim is within it, whatever the rounding of the numbers that make it up."""

from __future__ import annotations

import pytest

import dpcheck
from dpcheck.core.verdict import Verdict

CODE = """
import dpcheck

@dpcheck.audited(
    claim={claim}, adjacency="replace-one", form="array",
    records=dpcheck.records(x=dpcheck.number(0, 1), rows=30),
)
def f(x, rng):
    return {released}
"""
# Each is exactly the claim by hand; rounded upward step by step, some end one digit above it.
TIES = {
    "a tenth": (10.0, "x.sum() + rng.laplace(scale=0.1)"),
    "a third": (1.0, "x.sum() / 3 + rng.laplace(scale=1 / 3)"),
    "ten tenths": (1.0, "[x.sum() + rng.laplace(scale=10) for _ in range(10)]"),
    "three thirds": (1.0, "[x.sum() + rng.laplace(scale=3) for _ in range(3)]"),
}


def verdict(tmp_path, monkeypatch, claim, released):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tie.py").write_text(CODE.format(claim=claim, released=released))
    (entry,) = dpcheck.audit("tie.py:f", max_runs=2000).entries
    return entry


@pytest.mark.parametrize("name", TIES)
def test_a_tie_holds(tmp_path, monkeypatch, name):
    claim, released = TIES[name]
    entry = verdict(tmp_path, monkeypatch, claim, released)
    assert entry.verdict is Verdict.HOLDS
    assert entry.proved.epsilon <= claim


def test_a_proof_ends_at_the_claim_and_not_one_digit_above():
    def f(x, rng):
        return x.sum() + rng.laplace(scale=0.1)

    people = dpcheck.records(x=dpcheck.number(0, 1), rows=30)
    assert dpcheck.prove(f, people, "replace-one").epsilon(delta=0.0).upper == 10.0


def test_a_little_more_than_rounding_is_no_tie(tmp_path, monkeypatch):
    entry = verdict(tmp_path, monkeypatch, 10.0, "x.sum() * (1 + 1e-9) + rng.laplace(scale=0.1)")
    assert entry.verdict is not Verdict.HOLDS
    assert entry.proved.epsilon > 10.0
