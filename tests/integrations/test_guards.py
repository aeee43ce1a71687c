"""Guards in the libraries people train with: each stops at its budget, its epsilon the accountant's."""

import runpy
from pathlib import Path

import pytest
import torch
from opacus import PrivacyEngine

import dpcheck
import dpcheck.integrations.opacus
from dpcheck.accounting.calibrate import calibrate_steps
from dpcheck.core.errors import BudgetExceeded, NotCovered
from dpcheck.integrations.guards.budget import BudgetGuard
from dpcheck.integrations.guards.logs import NAME, tensorboard
from dpcheck.integrations.guards.logs import mlflow as mlflow_log
from dpcheck.integrations.guards.opacus import check_layers, guard_training, sampling_rate

EXAMPLES = Path(__file__).parents[2] / "examples" / "guards"
pytestmark = pytest.mark.filterwarnings("ignore")
BUDGET = dpcheck.Budget(2.0, 1e-5)


@pytest.mark.parametrize(
    "name", ["opacus_loop", "lightning_loop", "trainer_lora", "flower_rounds", "nvflare_filter"]
)
def test_an_example_stops_at_its_budget_and_agrees_with_the_accountant(name):
    guard, spent, accounted = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]()
    assert guard.left == 0
    assert spent == accounted
    # A ledger's loop: at least 0.95 of what a schedule fixed in advance may have.
    most = calibrate_steps(guard.event, guard.budget, adjacency="add-remove").value
    assert spent <= guard.budget.epsilon
    assert 0.95 * most - 1 <= guard.steps <= most
    with pytest.raises(BudgetExceeded):
        guard.step()


def private(noise=2.0, model=None, sampler=None, **options):
    torch.manual_seed(0)
    table = torch.utils.data.TensorDataset(torch.randn(64, 3), torch.randint(0, 2, (64,)))
    model = torch.nn.Linear(3, 2) if model is None else model
    loader = torch.utils.data.DataLoader(table, batch_size=16, sampler=sampler)
    return PrivacyEngine(accountant=options.pop("accountant", "dpcheck")).make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=loader,
        noise_multiplier=noise,
        max_grad_norm=1.0,
        **options,
    )


def test_the_accountant_refuses_batches_that_are_not_sampled():
    with pytest.raises(NotCovered, match="poisson_sampling=False"):
        private(poisson_sampling=False)
    model, optimizer, loader = private(poisson_sampling=False, accountant="rdp")
    with pytest.raises(NotCovered, match="in order"):
        guard_training(optimizer, loader, model, BUDGET)


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        (torch.utils.data.WeightedRandomSampler([1.0] * 63 + [9.0], 64), "more often"),
        (torch.utils.data.RandomSampler(range(64)), "one batch of each epoch"),
        (torch.utils.data.SequentialSampler(range(64)), "in order"),
    ],
)
def test_a_loader_that_is_not_poisson_is_refused_by_name(sampler, words):
    table = torch.utils.data.TensorDataset(torch.randn(64, 3))
    loader = torch.utils.data.DataLoader(table, batch_size=16, sampler=sampler)
    with pytest.raises(NotCovered, match=words):
        sampling_rate(loader)
    model, optimizer, _ = private()
    with pytest.raises(NotCovered, match=words):
        guard_training(optimizer, loader, model, BUDGET)


def test_layers_that_mix_examples_are_refused_by_name():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    with pytest.raises(NotCovered, match="layer 1 is BatchNorm1d"):
        check_layers(model)
    check_layers(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GroupNorm(2, 4)))


def test_a_step_beyond_the_budget_changes_no_parameter():
    model, optimizer, loader = private(noise=2.0)
    seen = []

    class Writer:
        def add_scalar(self, name, value, step):
            seen.append((name, value, step))

    guard = guard_training(
        optimizer, loader, model, BUDGET, log=[tensorboard(Writer())], log_every=1
    )

    def train():
        for inputs, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()

    def train_on():
        while True:
            train()

    with pytest.raises(BudgetExceeded):
        train_on()
    assert len(seen) == guard.steps == guard.allowed
    assert seen[-1] == (NAME, guard.epsilon().upper, guard.steps)
    before = [p.detach().clone() for p in model.parameters()]
    with pytest.raises(BudgetExceeded):
        train()
    for one, other in zip(before, model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_mlflow_gets_epsilon_at_every_step(tmp_path, monkeypatch):
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database would need more packages
    mlflow.set_tracking_uri(tmp_path.as_uri())
    budget = dpcheck.Budget(1.0)
    with mlflow.start_run(experiment_id=mlflow.create_experiment("training")) as run:
        guard = BudgetGuard(
            dpcheck.PureDP(0.3), budget, adjacency="add-remove", log=[mlflow_log()], log_every=1
        )
        while guard.left:
            guard.step()
    later = BudgetGuard(
        dpcheck.PureDP(0.5), budget, adjacency="add-remove", log=[mlflow_log(run)], log_every=1
    )
    later.step()  # no run is active: to the one that was given
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, NAME)
    seen = sorted((one.step, one.value) for one in history)
    assert seen == [(1, 0.3), (1, 0.5), (2, 0.6), (3, pytest.approx(0.9))]


def test_a_step_with_other_noise_is_refused():
    model, optimizer, loader = private()
    guard_training(optimizer, loader, model, BUDGET)
    optimizer.noise_multiplier = 0.5
    inputs, labels = next(iter(loader))
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()
    with pytest.raises(NotCovered, match=r"noise multiplier 0\.5"):
        optimizer.step()


def test_what_the_accountant_assumes_is_said():
    engine = PrivacyEngine(accountant="dpcheck")
    engine.accountant.step(noise_multiplier=1.0, sample_rate=0.25)
    assumes = " ".join(engine.accountant.bound(1e-5).assumes)
    assert "Poisson sampling" in assumes
    assert "divisor" in assumes


def _count_in_lightning(guard, folder, steps, checkpoint=None):
    """A few steps on made-up rows, without noise: only the counting is looked at."""
    import lightning.pytorch as pl

    from dpcheck.integrations.guards.lightning import BudgetCallback

    class Line(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def training_step(self, batch, _):
            return self.layer(batch[0]).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.randn(8, 2)), batch_size=1
    )
    trainer = pl.Trainer(
        max_steps=steps, accelerator="cpu", logger=False, default_root_dir=folder,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[BudgetCallback(guard)],
    )  # fmt: skip
    trainer.fit(Line(), loader, ckpt_path=checkpoint)
    return trainer


def eighths():
    """Eight steps fit."""
    return BudgetGuard(dpcheck.PureDP(0.125), dpcheck.Budget(1.0), adjacency="add-remove")


def test_lightning_goes_on_with_the_steps_of_its_checkpoint(tmp_path):
    trainer = _count_in_lightning(eighths(), tmp_path, 5)
    trainer.save_checkpoint(tmp_path / "kept.ckpt")
    guard = eighths()
    again = _count_in_lightning(guard, tmp_path, 50, tmp_path / "kept.ckpt")
    assert (guard.steps, again.global_step) == (8, 8)  # three more, not eight
    other = BudgetGuard(dpcheck.PureDP(0.2), dpcheck.Budget(1.0), adjacency="add-remove")
    with pytest.raises(dpcheck.DpcheckError, match="counted for"):
        _count_in_lightning(other, tmp_path, 50, tmp_path / "kept.ckpt")


def test_the_trainer_goes_on_with_the_steps_of_its_checkpoint(tmp_path):
    from transformers import Trainer, TrainingArguments

    from dpcheck.integrations.guards.huggingface import BudgetCallback

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, rows):
            return {"loss": self.layer(rows).mean()}

    table = [{"rows": torch.randn(2)} for _ in range(8)]

    def train(guard, steps, resume):
        options = TrainingArguments(
            str(tmp_path), max_steps=steps, save_steps=5, per_device_train_batch_size=1,
            report_to=[], use_cpu=True, disable_tqdm=True, remove_unused_columns=False,
        )  # fmt: skip
        Trainer(Line(), options, train_dataset=table, callbacks=[BudgetCallback(guard)]).train(
            resume_from_checkpoint=resume
        )

    train(eighths(), 5, resume=False)
    guard = eighths()
    train(guard, 50, resume=True)
    assert guard.steps == 8
