"""polars, and torch and jax where they are installed."""

from __future__ import annotations

import importlib.util

from .base import NUMBERS, PEOPLE, REPLACED, Everyday

PAIR = [NUMBERS]


def _polars() -> list[Everyday]:
    import polars as pl

    tables = [tuple(pl.DataFrame(side.to_dict("list")) for side in REPLACED[0])]

    def group_means(df, rng):
        return df.group_by("city").agg(pl.col("income").mean()).sort("city")

    def noisy_counts(df, rng):
        found = [df.filter(pl.col("city") == c).height for c in ("Berlin", "Ulm")]
        return pl.DataFrame({"n": [n + rng.laplace(scale=2.0) for n in found]})

    def largest(df, rng):
        return df["income"].sort().tail(1)

    def noisy_mean(df, rng):
        mean = df["income"].clip(0, 90_000).mean()
        return pl.Series("income", [mean + rng.laplace(scale=90_000 / len(PEOPLE))])

    return [
        Everyday("polars frame", group_means, noisy_counts, tables),
        Everyday("polars series", largest, noisy_mean, tables),
    ]


def _torch() -> list[Everyday]:
    import torch

    def weights(x, rng):
        return {"linear.weight": torch.tensor(x).reshape(1, -1), "linear.bias": torch.zeros(1)}

    def noisy_weights(x, rng):
        noisy = torch.tensor(x + rng.laplace(scale=1.0, size=len(x)))
        return {"linear.weight": noisy.reshape(1, -1), "linear.bias": torch.zeros(1)}

    def torch_noise_too_small(x):
        return torch.tensor(x).sum() + 0.01 * torch.randn(())

    def torch_noise(x):
        return torch.tensor(x).sum() + torch.distributions.Laplace(0.0, 1.0).sample()

    return [
        Everyday("torch state dict", weights, noisy_weights, PAIR),
        Everyday("torch generator", torch_noise_too_small, torch_noise, PAIR),
    ]


def _jax() -> list[Everyday]:
    import jax.numpy as jnp

    def tree(x, rng):
        return {"dense": {"w": jnp.asarray(x), "b": jnp.zeros(1)}}

    def noisy_tree(x, rng):
        noisy = jnp.asarray(x + rng.laplace(scale=1.0, size=len(x)))
        return {"dense": {"w": noisy, "b": jnp.zeros(1)}}

    return [Everyday("jax tree", tree, noisy_tree, PAIR)]


_MAKERS = {"polars": _polars, "torch": _torch, "jax": _jax}
ROWS: list[Everyday] = [
    row
    for package, make in _MAKERS.items()
    if importlib.util.find_spec(package) is not None
    for row in make()
]
