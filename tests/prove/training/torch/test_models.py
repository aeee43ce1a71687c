"""Small models of torch.nn under torch.func, and whether a step still is the one that was proved."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import dpcheck  # noqa: E402
from dpcheck.core.errors import InvalidParameter  # noqa: E402

from .base import (  # noqa: E402
    SIGMA,
    batch,
    clipped_sum,
    factors,
    functional,
    functional_call,
    grad,
    gradients,
    noisy,
    norms,
    params,
    update,
    vmap,
)

nn = torch.nn


class Transformer(nn.Module):
    """One block over six tokens out of eleven."""

    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(11, 8), nn.Parameter(torch.randn(6, 8) * 0.1)
        self.norm, self.mixed, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 11)

    def forward(self, tokens):
        hidden = self.table(tokens) + self.places
        query, key, value = self.mixed(self.norm(hidden)).chunk(3, -1)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(hidden + mixed)


def convolutions():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16, 3),
    )  # fmt: skip


def of_model(model, loss):
    start = {name: each.detach().clone() for name, each in model.named_parameters()}

    def step(p, data):
        g = vmap(grad(lambda q, *row: loss(functional_call(model, q, row[0][None]), *row)), (None, 0, 0))(
            p, data["x"], data["y"]
        )  # fmt: skip
        return update(p, noisy(clipped_sum(g, factors(norms(g)))))

    return step, start


def label(logits, _x, y):
    return functional.cross_entropy(logits, y[None])


def next_token(logits, _x, y):
    return functional.cross_entropy(logits[0], y)


def lora(p, data):
    """Adapters alone learn; the weights they adapt are params that come back."""

    def loss(adapter, x, y):
        weights = p["w"] + adapter["a"] @ adapter["b"]
        return functional.cross_entropy((torch.tanh(x @ weights) @ p["h"])[None], y[None])

    adapter = {"a": p["a"], "b": p["b"]}
    g = vmap(grad(loss), (None, 0, 0))(adapter, data["x"], data["y"])
    return {**p, **update(adapter, noisy(clipped_sum(g, factors(norms(g)))))}


def test_convolutions_embeddings_and_adapters_are_proved_at_their_multiplier():
    torch.manual_seed(4)
    images = {"x": torch.randn(4, 1, 4, 4), "y": torch.randint(0, 3, (4,))}
    tokens = {"x": torch.randint(0, 11, (4, 6)), "y": torch.randint(0, 11, (4, 6))}
    adapted = {"w": torch.randn(4, 5), "h": torch.randn(5, 3)}
    adapted |= {"a": torch.randn(4, 2), "b": torch.zeros(2, 5)}
    cases = [
        (*of_model(convolutions(), label), images),
        (*of_model(Transformer(), next_token), tokens),
        (lora, adapted, batch()),
    ]
    for step, start, data in cases:
        proof = dpcheck.prove(step, params=start, batch=data)
        assert proof.event.noise_multiplier == pytest.approx(SIGMA, rel=1e-6)


def textbook(p, data):
    g = gradients(p, data)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


def other_noise(p, data):
    g = gradients(p, data)
    return update(p, noisy(clipped_sum(g, factors(norms(g))), SIGMA / 2))


def swapped(p, data):
    found = textbook(p, data)
    return {"w1": found["w1"], "b1": p["b1"], "w2": found["w2"]}


def test_a_proof_says_whether_a_step_still_is_the_one_that_was_proved():
    given = {"params": params(), "batch": batch()}
    proof = dpcheck.prove(textbook, **given)
    assert proof.check(textbook, **given)
    assert proof.check(lambda p, data: textbook(p, data), **given)
    assert not proof.check(other_noise, **given)
    assert not proof.check(swapped, **given)


def test_declared_ranges_are_checked_and_listed():
    given = {"params": params(), "batch": batch()}
    proof = dpcheck.prove(textbook, records={"y": (0, 2)}, **given)
    assert "records lie in the declared ranges: y in [0, 2]" in proof.assumes
    with pytest.raises(InvalidParameter, match="no leaf of the batch"):
        dpcheck.prove(textbook, records={"labels": (0, 2)}, **given)
