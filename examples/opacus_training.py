"""Train with Opacus, let dpcheck say what was spent, on both sides.

pip install 'dpcheck[opacus]' && python examples/opacus_training.py
"""

import warnings

import torch
from opacus import PrivacyEngine

import dpcheck.integrations.opacus  # noqa: F401 - registers accountant="dpcheck"
from dpcheck.accounting.risk import attack_risk

DELTA = 1e-3


def main() -> None:
    """Two epochs of a small classifier on made-up data."""
    warnings.filterwarnings("ignore", "Secure RNG turned off")
    warnings.filterwarnings("ignore", "Full backward hook is firing")
    torch.manual_seed(0)
    rows = torch.randn(256, 5)
    labels = (rows[:, 0] > 0).long()
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(rows, labels), batch_size=32
    )
    model = torch.nn.Linear(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    engine = PrivacyEngine(accountant="dpcheck")
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0,
        max_grad_norm=1.0,
    )  # fmt: skip
    for epoch in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        spent = engine.accountant.bound(DELTA)
        print(
            f"epoch {epoch}: epsilon in [{spent.lower:.3f}, {spent.upper:.3f}] at delta {DELTA:g}"
        )
    right = (model(rows).argmax(1) == labels).float().mean()
    print(f"accuracy {right:.2f}; what an attacker can gain:")
    print(attack_risk(engine.accountant.event(), adjacency="add-remove"))


if __name__ == "__main__":
    main()
