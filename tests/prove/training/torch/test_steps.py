"""Steps on dicts of torch tensors: right ones at their price, wrong ones never below theirs."""
# ruff: noqa: PT017 - a proof is as good as a refusal, if its price is right

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import dpcheck  # noqa: E402
from dpcheck.core.errors import NotProvable  # noqa: E402

from .base import batch, params  # noqa: E402
from .right import RIGHT, arguments  # noqa: E402
from .wrong import WRONG  # noqa: E402


@pytest.mark.parametrize("name", RIGHT)
def test_right_steps_are_proved_at_their_multiplier(name):
    function, multiplier, given = RIGHT[name]
    proof = dpcheck.prove(function, params=arguments(name), batch=batch(), **given)
    assert proof.event.noise_multiplier == pytest.approx(multiplier, rel=1e-6)
    assert proof.releases
    assert all("right.py" in each.line or "base.py" in each.line for each in proof.releases)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_steps_are_never_proved_below_their_cost(name):
    function, multiplier, given = WRONG[name]
    try:
        proof = dpcheck.prove(function, params=params(), batch=batch(), **given)
    except NotProvable as refused:
        assert refused.remedy
        assert refused.line != "?"
    else:
        assert proof.event.noise_multiplier <= multiplier * (1 + 1e-6)
