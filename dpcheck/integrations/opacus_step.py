"""One step of Opacus taken apart: its optimiser, its loader and a naive gradient of each example."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np

from dpcheck.auditing.training.step import Indices, Step, Vector
from dpcheck.integrations.foreign import Foreign
from dpcheck.integrations.guards.opacus import check_layers
from dpcheck.integrations.torch_step import batch_of, flat, import_torch


def opacus_step(
    model: Foreign,
    optimizer: Foreign,
    data_loader: Foreign,
    loss: Callable[[Foreign, Foreign], Foreign],
    *,
    noise_multiplier: float,
    max_grad_norm: float,
    sampling_rate: float,
) -> Step:
    """The step of what `make_private` returned, to be checked against what is accounted.

    `loss(outputs, targets)` is the mean over the batch. The parameters are not changed; the noise
    generator of the optimiser is replaced while a step is looked at.
    """
    torch = import_torch("opacus is not installed; run: pip install 'dpcheck[opacus]'")
    check_layers(model)
    data = data_loader.dataset
    plain = model._module if hasattr(model, "_module") else model
    parameters = [p for p in plain.parameters() if p.requires_grad]
    warnings.filterwarnings("ignore", "Full backward hook is firing")

    def update(indices: Indices, rng: np.random.Generator) -> Vector:
        chosen, hook = optimizer.generator, optimizer.step_hook
        optimizer.generator = torch.Generator().manual_seed(int(rng.integers(1 << 62)))
        optimizer.step_hook = None  # a look at a step is not a release
        _forget_activations(model)
        try:
            optimizer.zero_grad()
            inputs, targets = batch_of(data, indices)
            loss(model(inputs), targets).backward()
            optimizer.pre_step()
            return flat([p.grad for p in parameters])
        finally:
            optimizer.generator, optimizer.step_hook = chosen, hook
            optimizer.zero_grad()

    def gradient(index: int) -> Vector:
        inputs, targets = batch_of(data, np.array([index]))
        if hasattr(model, "disable_hooks"):
            model.disable_hooks()  # the naive gradient is not to be Opacus's
        try:
            return flat(torch.autograd.grad(loss(plain(inputs), targets), parameters))
        finally:
            if hasattr(model, "enable_hooks"):
                model.enable_hooks()

    def batches() -> Iterator[list[int]]:
        while True:
            yield from data_loader.batch_sampler

    drawn = batches()
    return Step(
        update,
        gradient,
        lambda _: np.asarray(next(drawn), dtype=np.int64),
        len(data),
        noise_multiplier,
        max_grad_norm,
        sampling_rate,
        float(optimizer.expected_batch_size),
    )


def _forget_activations(model: Foreign) -> None:
    """Of forward passes nobody went back from; Opacus would wait for their gradients."""
    for layer in model.modules():
        if isinstance(getattr(layer, "activations", None), list):
            layer.activations.clear()
    for parameter in model.parameters():
        if hasattr(parameter, "_forward_counter"):
            parameter._forward_counter = 0
