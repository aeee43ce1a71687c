"""dpcheck inside Opacus, and Opacus under audit."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from opacus import PrivacyEngine
from opacus.accountants import create_accountant
from opacus.accountants.utils import get_noise_multiplier

import dpcheck
import dpcheck.integrations.opacus

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
    pytest.mark.filterwarnings("ignore:Optimal order is the"),
]


def train(engine, epochs=2, rows=64, batch=16, noise=1.1):
    torch.manual_seed(0)
    table = torch.utils.data.TensorDataset(torch.randn(rows, 3), torch.randint(0, 2, (rows,)))
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        noise_multiplier=noise,
        max_grad_norm=1.0,
        data_loader=torch.utils.data.DataLoader(table, batch_size=batch),
    )
    steps = 0
    for _ in range(epochs):
        for inputs, targets in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            steps += 1
    return model, optimizer, loader, steps


def test_real_training_is_accounted():
    engine = PrivacyEngine(accountant="dpcheck")
    *_, steps = train(engine)
    assert engine.accountant.history == [(1.1, 0.25, steps)]
    event = dpcheck.SampledGaussian(1.1, 0.25) * steps
    expected = dpcheck.epsilon(event, delta=1e-5, adjacency="add-remove")
    assert engine.get_epsilon(1e-5) == expected.upper
    assert engine.accountant.bound(1e-5).lower == expected.lower
    replaced = engine.accountant.get_epsilon(1e-5, adjacency="replace-one")
    assert replaced > expected.upper
    # Opacus's own accountants on the same history: RDP is looser, PRV agrees within its error.
    for name, looser in (("rdp", 1.0), ("prv", 0.97)):
        peer = create_accountant(name)
        peer.history = list(engine.accountant.history)
        theirs = peer.get_epsilon(1e-5)
        assert expected.lower <= theirs * 1.02
        assert looser * expected.upper <= theirs * 1.0001


def test_state_survives_a_checkpoint(tmp_path):
    engine = PrivacyEngine(accountant="dpcheck")
    model, optimizer, *_ = train(engine)
    engine.save_checkpoint(path=tmp_path / "c.pt", module=model, optimizer=optimizer)
    fresh = PrivacyEngine(accountant="dpcheck")
    again, optimizer2, *_ = train(fresh, epochs=0)
    fresh.load_checkpoint(path=tmp_path / "c.pt", module=again, optimizer=optimizer2)
    assert fresh.accountant.history == engine.accountant.history
    assert fresh.get_epsilon(1e-5) == engine.get_epsilon(1e-5)
    state = engine.accountant.state_dict()
    assert state["mechanism"] == "dpcheck"
    with pytest.raises(ValueError, match="cannot be loaded"):
        create_accountant("rdp").load_state_dict(state)


def test_changed_settings_add_up_and_no_noise_is_infinite():
    accountant = create_accountant("dpcheck")
    assert accountant.get_epsilon(1e-5) == 0.0
    for noise in (1.0, 1.0, 2.0):
        accountant.step(noise_multiplier=noise, sample_rate=0.1)
    assert len(accountant) == 2
    both = dpcheck.SampledGaussian(1.0, 0.1) * 2 + dpcheck.SampledGaussian(2.0, 0.1)
    assert accountant.get_epsilon(1e-5) == dpcheck.epsilon(both, delta=1e-5).upper
    accountant.step(noise_multiplier=0.0, sample_rate=0.1)
    assert accountant.get_epsilon(1e-5) == np.inf


def test_noise_is_calibrated_through_opacus():
    noise = get_noise_multiplier(
        target_epsilon=2.0, target_delta=1e-5, sample_rate=0.05, steps=100, accountant="dpcheck"
    )
    event = dpcheck.SampledGaussian(noise, 0.05) * 100
    assert 1.9 < dpcheck.epsilon(event, delta=1e-5).upper <= 2.0
    rdp = get_noise_multiplier(
        target_epsilon=2.0, target_delta=1e-5, sample_rate=0.05, steps=100, accountant="rdp"
    )
    assert noise < rdp  # the same promise for less noise


@pytest.fixture(scope="module")
def targets(load):
    return load("opacus_targets")


def test_a_step_does_what_its_event_says(targets):
    """Clipped to 1, divided by the batch of 8, noise 1/8: closed form, six standard errors."""
    rng = np.random.default_rng(5)
    found = np.array(
        [targets.full_batch_step((targets.WITH, targets.LABELS), rng) for _ in range(400)]
    )
    assert abs(found[:, 0].mean() - 1 / 8) < 6 / 8 / 20
    assert abs(found.std() * 8 - 1) < 6 / np.sqrt(2 * found.size) + 0.05


def test_a_quarter_of_the_noise_is_caught(targets, audit):
    assert audit(targets.under_noised_step, max_runs=1000).verdict == "violated"


def test_the_number_of_rows_shows_in_the_noise(targets, audit):
    """Under add-remove as such; with public n a step follows the law of its event (above)."""
    entry = audit(targets.number_of_rows, max_runs=2000)
    assert entry.verdict == "violated"


def test_the_example_says_what_was_spent_and_that_its_step_is_what_is_accounted(capsys):
    main = runpy.run_path(str(EXAMPLES / "opacus_training.py"))["main"]
    assert main().verdict == "consistent"
    assert "epsilon in [" in capsys.readouterr().out
    assert main(noise=0.25).wrong == ("noise",)


def test_the_example_runs(capsys):
    runpy.run_path(str(EXAMPLES / "opacus_training.py"), run_name="__main__")
    told = (EXAMPLES.parent / "docs/tutorials/newcomer-opacus.md").read_text(encoding="utf-8")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("proved: ")
    missing = [line for line in lines if line not in told and not line.startswith("accuracy")]
    assert not missing, "python benchmarks/tutorials.py newcomer-opacus --torch PYTHON shows it now"
