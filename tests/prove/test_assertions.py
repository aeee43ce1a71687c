"""`assert_private` announces no proof: a prover that is wrong passes nothing there."""

from __future__ import annotations

import pytest

import dpcheck
from dpcheck.core.errors import ProofsContradict
from dpcheck.session import proving

UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=20)


def total(x, rng):
    return x.sum() + rng.laplace()


@pytest.fixture
def wrong(monkeypatch):
    """The prover says half of what is true."""
    right = proving.proof_of

    def half(*args, **kwargs):
        found = right(*args, **kwargs)
        return type(found)(dpcheck.PureDP(0.5), found.releases, found.adjacency, found.assumes)

    monkeypatch.setattr(proving, "proof_of", half)


def test_a_claim_that_only_a_wrong_proof_supports_fails(wrong):
    given = {"records": UNIT, "form": "array", "adjacency": "replace-one", "max_runs": 2000}
    with pytest.raises((AssertionError, ProofsContradict)) as caught:
        dpcheck.assert_private(total, epsilon=0.5, **given)
    assert "0.99999" in str(caught.value) or "epsilon >= 1" in str(caught.value)


def test_nothing_is_said_to_be_proved():
    given = {"records": UNIT, "form": "array", "adjacency": "replace-one"}
    entry = dpcheck.assert_private(total, epsilon=2.0, max_runs=20_000, **given)
    assert entry.proved is None
    assert entry.verdict is dpcheck.Verdict.CONSISTENT
