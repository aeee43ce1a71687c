"""One step of a plain torch loop taken apart: its private gradient against naive ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import numpy as np

from dpcheck.auditing.training.step import Indices, Step, Vector
from dpcheck.core.errors import BadOutput, MissingExtra
from dpcheck.integrations.foreign import Foreign
from dpcheck.integrations.guards.opacus import check_layers


def torch_step(
    model: Foreign,
    loss: Callable[[Foreign, Foreign], Foreign],
    dataset: Foreign,
    private_backward: Callable[[Foreign, Foreign], object],
    sample: Callable[[np.random.Generator], Sequence[int] | Indices],
    *,
    noise_multiplier: float,
    clip: float,
    sampling_rate: float,
    divisor: float,
) -> Step:
    """The step of a loop of your own, to be checked with `check_step`.

    `private_backward(inputs, targets)` is the part of the loop between `zero_grad()` and
    `optimizer.step()`: it leaves in every `.grad` what the optimiser will be given. `loss(outputs,
    targets)` is of a batch of one here. `sample(rng)` are the indices of one batch. torch's own
    generator is seeded while a step is looked at, and set back; so are parameters and buffers.
    """
    torch = import_torch("torch is not installed; run: pip install torch")
    check_layers(model)
    parameters = [p for p in model.parameters() if p.requires_grad]

    def update(indices: Indices, rng: np.random.Generator) -> Vector:
        before = copy.deepcopy(model.state_dict())
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(1 << 62)))
            model.zero_grad()
            try:
                private_backward(*batch_of(dataset, indices))
                if any(p.grad is None for p in parameters):
                    raise BadOutput("private_backward left a parameter without .grad.")
                return flat([p.grad for p in parameters])
            finally:
                model.zero_grad()
                model.load_state_dict(before)

    def gradient(index: int) -> Vector:
        inputs, targets = batch_of(dataset, np.array([index]))
        return flat(torch.autograd.grad(loss(model(inputs), targets), parameters))

    return Step(
        update,
        gradient,
        sample,
        len(dataset),
        noise_multiplier,
        clip,
        sampling_rate,
        divisor,
        code=private_backward,
    )


def import_torch(missing: str) -> Foreign:
    """torch, or MissingExtra with what to install."""
    try:
        import torch
    except ImportError:
        raise MissingExtra(missing) from None
    return torch


def batch_of(dataset: Foreign, indices: Indices) -> tuple[Foreign, Foreign]:
    """(inputs, targets) of these examples."""
    import torch

    rows = [dataset[int(i)] for i in indices]
    targets = [torch.as_tensor(row[1]) for row in rows]
    return torch.stack([torch.as_tensor(row[0]) for row in rows]), torch.stack(targets)


def flat(parts: Sequence[Foreign]) -> Vector:
    """Gradients of all parameters as one vector."""
    import torch

    joined = torch.cat([part.detach().reshape(-1) for part in parts])
    values: Vector = joined.double().numpy().copy()
    return values
