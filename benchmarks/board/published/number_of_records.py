"""Opacus 1.6.0, make_private: the number of records is in the scale of a step."""

import warnings

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

import dpcheck

warnings.simplefilter("ignore")


@dpcheck.audited(
    claim=dpcheck.Gaussian(4.0),
    adjacency="add-remove",
    neighbours=[([[0.0], [0.0]], [[0.0]])],
)
def target(rows, rng):
    torch.manual_seed(int(rng.integers(1 << 31)))
    module = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(module.weight)
    module, optimizer, loader = PrivacyEngine().make_private(
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=1.0),
        data_loader=DataLoader(TensorDataset(torch.tensor(rows)), batch_size=len(rows)),
        noise_multiplier=4.0,
        max_grad_norm=1.0,
    )
    for (batch,) in loader:
        module(batch).mean().backward()
        optimizer.step()
    return float(next(module.parameters()))
