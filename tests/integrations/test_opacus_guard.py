"""The Opacus guard fails closed: what it does not see is not released."""

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from opacus import PrivacyEngine

import dpcheck
import dpcheck.integrations.opacus
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import BudgetExceeded, InvalidParameter, NotCovered
from dpcheck.integrations.guards.opacus import guard_training

pytestmark = pytest.mark.filterwarnings("ignore")
BUDGET = dpcheck.Budget(2.0, 1e-5)


def private(noise=4.0, rows=64, batch=16):
    torch.manual_seed(0)
    table = torch.utils.data.TensorDataset(torch.randn(rows, 3), torch.randint(0, 2, (rows,)))
    model = torch.nn.Linear(3, 2)
    return PrivacyEngine(accountant="rdp").make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(table, batch_size=batch),
        noise_multiplier=noise,
        max_grad_norm=1.0,
    )


def backward(model, optimizer, batch):
    optimizer.zero_grad()
    inputs, labels = batch
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()


def epoch(model, optimizer, loader):
    for batch in loader:
        backward(model, optimizer, batch)
        optimizer.step()


def until_refused(model, optimizer, loader):
    while True:
        epoch(model, optimizer, loader)


def parameters(model):
    return [p.detach().clone() for p in model.parameters()]


def unchanged(model, before):
    return all(torch.equal(one, p) for one, p in zip(before, model.parameters(), strict=True))


def test_a_hook_that_is_attached_afterwards_does_not_replace_the_guard():
    model, optimizer, loader = private()
    guard = guard_training(optimizer, loader, model, BUDGET)
    seen = []
    optimizer.attach_step_hook(seen.append)
    with pytest.raises(BudgetExceeded):
        until_refused(model, optimizer, loader)
    assert len(seen) == guard.steps == guard.allowed > 20


def test_a_refused_step_leaves_no_gradient_behind():
    model, optimizer, loader = private()
    guard_training(optimizer, loader, model, BUDGET)
    with pytest.raises(BudgetExceeded):
        until_refused(model, optimizer, loader)
    before = parameters(model)
    for p in optimizer.params:
        assert (p.grad, p.summed_grad, p.grad_sample) == (None, None, None)
    with pytest.raises(BudgetExceeded):
        epoch(model, optimizer, loader)
    assert unchanged(model, before)


def test_an_update_around_the_guard_is_refused():
    model, optimizer, loader = private()
    guard = guard_training(optimizer, loader, model, BUDGET)
    before = parameters(model)
    backward(model, optimizer, next(iter(loader)))
    with pytest.raises(NotCovered, match="no noise of the guard"):
        optimizer.original_optimizer.step()
    assert unchanged(model, before)
    assert all(p.grad is None for p in optimizer.params)
    backward(model, optimizer, next(iter(loader)))
    optimizer.clip_and_accumulate()
    type(optimizer).add_noise(optimizer)  # noise that nobody has paid for
    with pytest.raises(NotCovered, match="no noise of the guard"):
        optimizer.original_optimizer.step()
    assert unchanged(model, before)
    assert guard.steps == 0


def test_another_loader_is_seen():
    """Batches of 32 of 64 where the guard was told 2 of 64: 0.96 would be reported for 7.05."""
    model, optimizer, loader = private(batch=2)
    guard = guard_training(optimizer, loader, model, BUDGET)
    _, _, other = private(batch=32)
    before = parameters(model)
    with pytest.raises(NotCovered, match="not drawn by the loader"):
        epoch(model, optimizer, other)
    assert unchanged(model, before)
    assert guard.steps == 0
    backward(model, optimizer, next(iter(loader)))
    optimizer.step()
    backward(model, optimizer, next(iter(other)))  # one batch of the loader is one step
    with pytest.raises(NotCovered, match="not drawn by the loader"):
        optimizer.step()


def test_a_sampler_with_another_rate_is_seen_at_the_next_epoch():
    model, optimizer, loader = private()
    guard_training(optimizer, loader, model, BUDGET)
    epoch(model, optimizer, loader)
    loader.batch_sampler.sample_rate = 0.9
    with pytest.raises(NotCovered, match=r"rate is 0\.9 now"):
        epoch(model, optimizer, loader)


def test_two_guards_on_the_same_rows_share_one_budget():
    model, optimizer, loader = private()
    first = guard_training(optimizer, loader, model, BUDGET)
    epoch(model, optimizer, loader)
    second = guard_training(*_second(loader.dataset), BUDGET)
    assert second.ledger is first.ledger
    assert second.left == first.left == first.allowed - first.steps
    with pytest.raises(InvalidParameter, match="would add to it"):
        guard_training(*_second(loader.dataset), dpcheck.Budget(9.0, 1e-5))


def _second(rows):
    model = torch.nn.Linear(3, 2)
    model, optimizer, loader = PrivacyEngine(accountant="rdp").make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(rows, batch_size=16),
        noise_multiplier=4.0,
        max_grad_norm=1.0,
    )
    return optimizer, loader, model


def test_a_kept_ledger_survives_the_process_and_its_checkpoint(tmp_path):
    path = tmp_path / "training.ledger"
    left, steps = [], []
    for _ in range(2):
        with dpcheck.Ledger.open(path, BUDGET, "add-remove") as ledger:
            model, optimizer, loader = private()
            guard = guard_training(
                optimizer, loader, model, BUDGET, dataset=ledger.dataset("train")
            )
            if steps:
                guard.resume(steps[0])  # as the checkpoint says; the ledger has counted them
                assert guard.left == left[0] - steps[0]
            left.append(guard.left)
            for _ in range(2):
                epoch(model, optimizer, loader)
            steps.append(guard.steps)
    with dpcheck.Ledger.open(path) as ledger:
        (line,) = ledger.report().lines
        assert line.times == 16
    other = dpcheck.Ledger(BUDGET, "replace-one").dataset("d")
    with pytest.raises(InvalidParameter, match="accounted under"):
        guard_training(optimizer, loader, model, BUDGET, dataset=other)


def test_a_proved_training_costs_what_was_proved():
    """The proof's event is spent; one of another loader, or of more noise, is refused."""
    model, optimizer, loader = private()
    loss = torch.nn.functional.cross_entropy
    proof = dpcheck.prove_training(
        model=model, optimizer=optimizer, loader=loader, loss=loss, steps=3
    )
    guard = guard_training(optimizer, loader, model, BUDGET, proof=proof)
    assert guard.event == dpcheck.SampledGaussian(4.0, 0.25)
    less = replace(proof, event=dpcheck.SampledGaussian(3.0, 0.25))
    model, optimizer, loader = private()
    guard = guard_training(optimizer, loader, model, BUDGET, proof=less)
    epoch(model, optimizer, loader)  # the optimiser's own noise is still 4
    (line,) = guard.ledger.report().lines
    assert line.event == dpcheck.SampledGaussian(3.0, 0.25)
    for other, words in (
        (replace(proof, event=dpcheck.SampledGaussian(4.5, 0.25)), "prove the training with this"),
        (replace(proof, event=dpcheck.SampledGaussian(4.0, 0.2) * 3), "samples at rate 0.25"),
        (replace(proof, event=dpcheck.Gaussian(4.0)), "samples at rate 0.25"),
        (replace(proof, adjacency=Adjacency.REPLACE_ONE), "under add-remove"),
    ):
        model, optimizer, loader = private()
        with pytest.raises(NotCovered, match=words):
            guard_training(optimizer, loader, model, BUDGET, proof=other)


@pytest.mark.parametrize(("size", "ranks"), [(32, 1), (16, 2), (8, 1)])
def test_a_divisor_of_another_batch_is_refused(size, ranks):
    """Of one batch of 16 on average: each of two ranks divides by 8, not by 16."""
    model, optimizer, loader = private()
    optimizer.expected_batch_size, optimizer.world_size = size, ranks
    with pytest.raises(NotCovered, match=r"divides by (32|8), the loader draws 16"):
        guard_training(optimizer, loader, model, BUDGET)
    optimizer.expected_batch_size, optimizer.world_size = 8, 2
    guard_training(optimizer, loader, model, BUDGET)


def test_two_ranks_are_counted_once():
    """Two gloo processes: rank 0 spends, both stop at the same step, with the same parameters."""
    script = Path(__file__).with_name("two_ranks.py")
    environment = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": _free_port(),
        "WORLD_SIZE": "2",
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script)],
            env={**environment, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [rank.communicate() for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    (first, mine), (second, yours) = (out.split("|") for out, _ in said)
    assert mine == yours  # parameters
    steps, counted, allowed = map(int, first.split())
    assert steps == counted == allowed > 20
    assert second.split()[:2] == [str(steps), "0"]


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])
