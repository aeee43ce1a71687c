"""Train with Opacus: dpcheck proves what it spends, follows what is spent, and takes a step apart.

pip install '.[opacus]' && python examples/opacus_training.py
"""

import warnings

import torch
from opacus import PrivacyEngine

import dpcheck
import dpcheck.integrations.opacus
from dpcheck.accounting.risk import attack_risk
from dpcheck.auditing.training.step import StepReport
from dpcheck.integrations.opacus_step import opacus_step
from dpcheck.testing import check_step

DELTA, NOISE, CLIP = 1e-3, 1.0, 1.0


def main(noise: float = NOISE) -> StepReport:
    """Two epochs of a small classifier on made-up data; `noise` is the code's, NOISE is accounted."""
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
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=noise,
        max_grad_norm=CLIP,
    )  # fmt: skip
    proof = dpcheck.prove_training(
        model=model, optimizer=optimizer, loader=loader, epochs=2,
        loss=torch.nn.functional.cross_entropy,
    )  # fmt: skip
    print(f"proved: {proof.event}")
    print(f"proved: epsilon is at most {proof.epsilon(DELTA).upper:.3f} at delta {DELTA:g}")
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
    # The step as it was trained with, against the numbers that are accounted.
    step = opacus_step(
        model, optimizer, loader, torch.nn.functional.cross_entropy,
        noise_multiplier=NOISE, max_grad_norm=CLIP, sampling_rate=32 / 256,
    )  # fmt: skip
    report = check_step(step)
    print(report)
    return report


if __name__ == "__main__":
    main()
