"""Whole trainings with Opacus: right ones at their price, wrong ones never below theirs."""
# ruff: noqa: PT017 - a proof is as good as a refusal, if its price is right

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

import dpcheck  # noqa: E402
from dpcheck.core.errors import NotProvable  # noqa: E402

from .trainings import BATCH, NOISE, RIGHT, ROWS, WRONG, mlp, private  # noqa: E402


def prove(made, **given):
    return dpcheck.prove_training(**made, **{"epochs": 2, **given})


@pytest.mark.parametrize("name", RIGHT)
def test_right_trainings_are_proved_at_their_price(name):
    make, multiplier, event, given = RIGHT[name]
    proof = prove(make(), **given)
    one = getattr(proof.event, "event", proof.event)
    assert type(one).__name__ == event
    assert one.noise_multiplier == pytest.approx(multiplier, rel=1e-6)
    if event == "SampledGaussian":
        assert one.sampling_rate == BATCH / ROWS
        assert proof.event.times == 2 * ROWS // BATCH
    assert any("the loop is" in each for each in proof.assumes)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_trainings_are_never_proved_below_their_cost(name):
    make, multiplier, given = WRONG[name]
    try:
        proof = prove(make(), **given)
    except NotProvable as refused:
        assert refused.remedy
    else:
        one = getattr(proof.event, "event", proof.event)
        assert one.noise_multiplier <= multiplier * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_a_training_is_left_as_it_was():
    made = private(mlp(), make=lambda p: torch.optim.Adam(p, lr=0.1))
    before = copy.deepcopy(made["model"].state_dict())
    state = torch.random.get_rng_state()
    prove(made, epochs=None, steps=3)
    assert all(torch.equal(v, before[k]) for k, v in made["model"].state_dict().items())
    assert torch.equal(torch.random.get_rng_state(), state)
    assert not made["optimizer"].state
    assert all(p.grad is None for p in made["model"].parameters())
    for x, y in made["loader"]:
        made["optimizer"].zero_grad()
        made["loss"](made["model"](x), y).backward()
        made["optimizer"].step()


def test_steps_are_noisy_steps():
    assert prove(private(mlp()), epochs=None, steps=7).event.times == 7


def test_beside_what_opacus_reports():
    proof = prove(private(mlp()))
    assert any(f"noise_multiplier={NOISE}" in each for each in proof.assumes)
