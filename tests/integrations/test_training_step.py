"""A real Opacus training on the digits: the right one is consistent, each wrong one refused by name."""

import copy

import pytest
import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer
from sklearn.datasets import load_digits

from dpcheck.core.errors import NotCovered
from dpcheck.integrations.opacus_step import opacus_step
from dpcheck.testing import check_step

pytestmark = pytest.mark.filterwarnings("ignore")
NOISE, CLIP, ROWS, BATCH = 1.2, 0.5, 600, 60


@pytest.fixture(scope="module")
def digits():
    found = load_digits()
    rows = torch.tensor(found.data[:ROWS] / 16, dtype=torch.float32)
    return torch.utils.data.TensorDataset(rows, torch.tensor(found.target[:ROWS]))


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10))


def made(digits, noise=NOISE, clip=CLIP, batch=BATCH, model=None, **options):
    model = network() if model is None else model
    return PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(digits, batch_size=batch),
        noise_multiplier=noise,
        max_grad_norm=clip,
        **options,
    )


def checked(model, optimizer, loader):
    """Against what was accounted, whatever was made."""
    step = opacus_step(
        model, optimizer, loader, torch.nn.functional.cross_entropy,
        noise_multiplier=NOISE, max_grad_norm=CLIP, sampling_rate=BATCH / ROWS,
    )  # fmt: skip
    return check_step(step)


def test_a_right_training_is_consistent_and_stays_as_it_was(digits):
    model, optimizer, loader = made(digits)
    before = copy.deepcopy(model.state_dict())
    report = checked(model, optimizer, loader)
    assert report.verdict == "consistent", str(report)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_quarter_of_the_noise_is_named(digits):
    assert "noise" in checked(*made(digits, noise=NOISE / 4)).wrong


def test_a_forgotten_clip_is_named(digits):
    """A bound nobody reaches, with the noise of the accounted one."""
    assert "clipping" in checked(*made(digits, noise=NOISE * CLIP / 1e4, clip=1e4)).wrong


def test_another_rate_of_the_loader_is_named(digits):
    model, optimizer, _ = made(digits)
    _, _, loader = made(digits, batch=2 * BATCH)
    assert "sampling rate" in checked(model, optimizer, loader).wrong


def test_shuffled_batches_are_named(digits):
    model, optimizer, _ = made(digits)
    loader = torch.utils.data.DataLoader(digits, batch_size=BATCH, shuffle=True)
    assert "Poisson sampling" in checked(model, optimizer, loader).wrong


def test_batch_norm_is_refused(digits):
    _, optimizer, loader = made(digits)
    mixing = torch.nn.Sequential(torch.nn.Linear(64, 4), torch.nn.BatchNorm1d(4))
    with pytest.raises(NotCovered, match="BatchNorm1d"):
        opacus_step(
            mixing, optimizer, loader, torch.nn.functional.cross_entropy,
            noise_multiplier=NOISE, max_grad_norm=CLIP, sampling_rate=BATCH / ROWS,
        )  # fmt: skip


class ClipsTheBatch(DPOptimizer):
    def clip_and_accumulate(self):
        sums = [p.grad_sample.sum(dim=0) for p in self.params]
        norm = torch.cat([one.reshape(-1) for one in sums]).norm()
        for p, one in zip(self.params, sums, strict=True):
            p.summed_grad = one * min(1.0, self.max_grad_norm / float(norm))


class TwoNoises(DPOptimizer):
    """Half of the noise twice, accounted as one of the whole."""

    def add_noise(self):
        for p in self.params:
            half = self.noise_multiplier * self.max_grad_norm / 2
            first, second = (
                torch.normal(0.0, half, p.shape, generator=self.generator) for _ in range(2)
            )
            p.grad = (p.summed_grad + first + second).view_as(p)


@pytest.mark.parametrize(
    ("kind", "name"), [(ClipsTheBatch, "layers and batches"), (TwoNoises, "noise")]
)
def test_an_optimiser_that_errs_is_named(digits, kind, name):
    model, right, loader = made(digits)
    optimizer = kind(
        right.original_optimizer, noise_multiplier=NOISE, max_grad_norm=CLIP,
        expected_batch_size=BATCH,
    )  # fmt: skip
    assert name in checked(model, optimizer, loader).wrong
