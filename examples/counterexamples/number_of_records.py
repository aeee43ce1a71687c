"""Opacus 1.6.0: make_private divides by the number of records. Exits 1 if its noise says so.

All gradients are 0, so that a step leaves the noise alone: its deviation is noise_multiplier / n.
"""

import math
import sys
import warnings

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

MULTIPLIER, CALLS, WIDTH = 4.0, 20, 500
warnings.simplefilter("ignore")


def deviation(records):
    """Of the weights after one step on that many records, all of them in the batch."""
    squares = 0.0
    for _ in range(CALLS):
        module = torch.nn.Linear(WIDTH, 1, bias=False)
        torch.nn.init.zeros_(module.weight)
        module, optimizer, loader = PrivacyEngine().make_private(
            module=module,
            optimizer=torch.optim.SGD(module.parameters(), lr=1.0),
            data_loader=DataLoader(TensorDataset(torch.zeros(records, WIDTH)), batch_size=records),
            noise_multiplier=MULTIPLIER,
            max_grad_norm=1.0,
        )
        for (batch,) in loader:
            module(batch).mean().backward()
            optimizer.step()
        squares += float((next(module.parameters()) ** 2).sum())
    return math.sqrt(squares / (CALLS * WIDTH))


def below(x):
    """P(|N(0, 1)| < x)."""
    return math.erf(x / math.sqrt(2))


two, one = deviation(2), deviation(1)
apart = math.sqrt(2 * math.log(2) / 3)  # where the two densities, of deviation 1 and 2, cross
exact = below(2 * apart) - below(apart)
claimed = below(1 / (2 * MULTIPLIER))
print(
    f"deviation of the weights: {two:.3f} with 2 records, {one:.3f} with 1: a ratio of {one / two:.3f}"
)
print(
    f"delta at epsilon 0: {exact:.4f} for every noise multiplier; claimed {claimed:.4f} for {MULTIPLIER}"
)
sys.exit(int(abs(one / two - 2) < 0.1 and exact > claimed))
