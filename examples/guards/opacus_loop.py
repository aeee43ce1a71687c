"""An Opacus loop that ends by itself when its budget is used up.

pip install '.[opacus]' && python examples/guards/opacus_loop.py
"""

import warnings

import torch
from opacus import PrivacyEngine

import dpcheck
import dpcheck.integrations.opacus  # registers accountant="dpcheck"
from dpcheck.integrations.guards.opacus import guard_training

BUDGET = dpcheck.Budget(2.0, 1e-5)


def main():
    """Train until the guard says stop; returns what the guard and the accountant say was spent."""
    warnings.filterwarnings("ignore", "Secure RNG turned off|Full backward hook is firing")
    torch.manual_seed(0)
    rows = torch.randn(512, 5)
    table = torch.utils.data.TensorDataset(rows, (rows[:, 0] > 0).long())
    model = torch.nn.Linear(5, 2)
    engine = PrivacyEngine(accountant="dpcheck")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=torch.utils.data.DataLoader(table, batch_size=64),
        noise_multiplier=2.0,
        max_grad_norm=1.0,
    )
    guard = guard_training(optimizer, loader, model, BUDGET)
    while guard.left:
        for inputs, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            if not guard.left:
                break
    spent, accounted = guard.epsilon().upper, engine.get_epsilon(BUDGET.delta)
    print(f"{guard.steps} steps, epsilon {spent:.4f} of {BUDGET.epsilon:g} at {BUDGET.delta:g}")
    return guard, spent, accounted


if __name__ == "__main__":
    main()
