"""Opacus: DP-SGD for PyTorch, one step of its optimizers."""

from __future__ import annotations

from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "opacus",
    module="opacus",
    requires=("torch==2.13.0", "opacus"),
    tried="1.6.0",
    says="noise_multiplier: The ratio of the standard deviation of the Gaussian noise to the "
    "L2-sensitivity of the function to which the noise is added",
    place="docstring of opacus.PrivacyEngine.make_private",
    reading="That one step of the optimizer, all records in it, has the privacy curve of the Gaussian "
    "mechanism with that ratio is ours. Gradients are handed to the optimizer; nothing is sampled.",
)
__getattr__ = LIBRARY.find
_REMOVED = [([[3.0, 0.0], [0.0, 1.0]], [[0.0, 1.0]])]


def _step(name: str, kind: str, noise_multiplier: float, **given: Any) -> None:
    """One sum of clipped gradients with noise, as the optimizer leaves it in the weights."""

    def train(rows: Any, rng: Any) -> Any:
        import torch
        from opacus import optimizers

        torch.manual_seed(int(rng.integers(1 << 31)))
        weight = torch.nn.Parameter(torch.zeros(2))
        inner = torch.optim.SGD([weight], lr=1.0)
        made = getattr(optimizers, kind)(
            inner,
            noise_multiplier=noise_multiplier,
            expected_batch_size=1,
            loss_reduction="sum",
            **given,
        )
        weight.grad_sample = torch.tensor(rows)
        made.step()
        return weight.detach().tolist()

    LIBRARY.target(
        name,
        claim={"Gaussian": noise_multiplier},
        adjacency="add-remove",
        neighbours=_REMOVED,
    )(train)


_step("DPOptimizer", "DPOptimizer", 1.0, max_grad_norm=1.0)
_step("DPOptimizer_more_noise", "DPOptimizer", 2.0, max_grad_norm=1.0)
_step("DPPerLayerOptimizer", "DPPerLayerOptimizer", 1.0, max_grad_norm=[1.0])
