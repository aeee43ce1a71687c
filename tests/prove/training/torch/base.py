"""Parameters, batches and pieces that the corpus of steps is written with."""

from __future__ import annotations

import torch
from torch.func import functional_call, grad, vmap
from torch.nn import functional

C, SIGMA, RATE, EXPECTED = 1.0, 1.5, 0.1, 8.0


def params():
    generator = torch.Generator().manual_seed(1)
    return {
        "w1": torch.randn(4, 5, generator=generator),
        "b1": torch.zeros(5),
        "w2": torch.randn(5, 3, generator=generator),
    }


def batch(n=6):
    generator = torch.Generator().manual_seed(2)
    return {
        "x": torch.randn(n, 4, generator=generator),
        "y": torch.arange(n) % 3,
    }


def loss(p, x, y):
    hidden = torch.tanh(x @ p["w1"] + p["b1"])
    return functional.cross_entropy((hidden @ p["w2"]).unsqueeze(0), y.unsqueeze(0))


def gradients(p, data, function=loss):
    return vmap(grad(function), in_dims=(None, 0, 0))(p, data["x"], data["y"])


def norms(g):
    return torch.sqrt(sum(v.reshape(len(v), -1).pow(2).sum(1) for v in g.values()))


def factors(n, bound=C):
    return torch.clamp(bound / (n + 1e-6), max=1.0)


def clipped_sum(g, s):
    return {k: torch.einsum("n,n...->...", s, v) for k, v in g.items()}


def noisy(total, sigma=SIGMA * C):
    return {k: v + sigma * torch.randn_like(v) for k, v in total.items()}


def update(p, direction, divisor=EXPECTED):
    return {k: p[k] - RATE * direction[k] / divisor for k in p}


__all__ = [
    "EXPECTED",
    "RATE",
    "SIGMA",
    "C",
    "batch",
    "clipped_sum",
    "factors",
    "functional",
    "functional_call",
    "grad",
    "gradients",
    "loss",
    "noisy",
    "norms",
    "params",
    "torch",
    "update",
    "vmap",
]  # fmt: skip
