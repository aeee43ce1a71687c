"""Opacus: DP-SGD for PyTorch, one step of its optimizers."""

from __future__ import annotations

import warnings
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


def _engine(rows: Any, rng: Any) -> Any:
    """One step through make_private, every record in the batch: the weight it leaves."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(int(rng.integers(1 << 31)))
    module = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(module.weight)
    records = TensorDataset(torch.tensor(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, optimizer, loader = PrivacyEngine().make_private(
            module=module,
            optimizer=torch.optim.SGD(module.parameters(), lr=1.0),
            data_loader=DataLoader(records, batch_size=len(rows)),
            noise_multiplier=_MULTIPLIER,
            max_grad_norm=1.0,
        )
        for (batch,) in loader:
            module(batch).mean().backward()
            optimizer.step()
    return [float(weight) for weight in next(module.parameters()).flatten()]


_MULTIPLIER = 4.0
LIBRARY.target(
    "make_private_one_record_less",
    claim={"Gaussian": _MULTIPLIER},
    adjacency="add-remove",
    neighbours=[([[0.0], [0.0]], [[0.0]])],
    reading="That one step with every record in the batch has the privacy curve of the Gaussian "
    "mechanism with that ratio, one record more or less, is ours.",
    note="not a violation if the number of records is public",
)(_engine)
