"""Lightning that stops when its privacy budget is used up.

pip install '.[lightning]' && python examples/guards/lightning_loop.py
"""

import logging
import warnings

import lightning.pytorch as pl
import torch
from opacus import PrivacyEngine

import dpcheck
import dpcheck.integrations.opacus  # registers accountant="dpcheck"
from dpcheck.integrations.guards.lightning import BudgetCallback
from dpcheck.integrations.guards.opacus import guard_training

BUDGET = dpcheck.Budget(1.0, 1e-5)


class Classifier(pl.LightningModule):
    """Two classes, trained by the optimiser and on the loader that Opacus made."""

    def __init__(self, module, optimizer):
        super().__init__()
        self.module, self.made = module, optimizer

    def training_step(self, batch, _):
        inputs, labels = batch
        return torch.nn.functional.cross_entropy(self.module(inputs), labels)

    def configure_optimizers(self):
        return self.made


def main():
    """Train until the budget is used up; returns what the guard and the accountant say was spent."""
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.manual_seed(0)
    rows = torch.randn(256, 4)
    table = torch.utils.data.TensorDataset(rows, (rows[:, 0] > 0).long())
    module = torch.nn.Linear(4, 2)
    engine = PrivacyEngine(accountant="dpcheck")
    module, optimizer, loader = engine.make_private(
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=0.5),
        data_loader=torch.utils.data.DataLoader(table, batch_size=32),
        noise_multiplier=3.0,
        max_grad_norm=1.0,
    )
    guard = guard_training(optimizer, loader, module, BUDGET)
    trainer = pl.Trainer(
        max_epochs=-1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        callbacks=[BudgetCallback(guard, counts=False)],
    )
    trainer.fit(Classifier(module, optimizer), loader)
    spent, accounted = guard.epsilon().upper, engine.get_epsilon(BUDGET.delta)
    print(f"{guard.steps} steps, epsilon {spent:.4f} of {BUDGET.epsilon:g} at {BUDGET.delta:g}")
    return guard, spent, accounted


if __name__ == "__main__":
    main()
