"""A torch loop of one's own on the digits: consistent as it should be, each fault named with its line."""

import inspect

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from dpcheck.core.errors import NotCovered
from dpcheck.integrations.torch_step import torch_step
from dpcheck.testing import check_step

ROWS, RATE, NOISE, CLIP = 300, 0.1, 1.2, 0.5
DIVISOR = ROWS * RATE
DIGITS = load_digits()
DATA = torch.utils.data.TensorDataset(
    torch.tensor(DIGITS.data[:ROWS] / 16, dtype=torch.float32), torch.tensor(DIGITS.target[:ROWS])
)
torch.manual_seed(0)
MODEL = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Linear(8, 10))
LOSS = torch.nn.functional.cross_entropy


def poisson(rng):
    return np.flatnonzero(rng.random(ROWS) < RATE)


def clipped_sum(inputs, targets, clip):
    parameters = list(MODEL.parameters())
    total = [torch.zeros_like(p) for p in parameters]
    for x, y in zip(inputs, targets, strict=True):
        own = torch.autograd.grad(LOSS(MODEL(x[None]), y[None]), parameters)
        norm = torch.cat([g.reshape(-1) for g in own]).norm()
        for t, g in zip(total, own, strict=True):
            t += g * min(1.0, clip / float(norm))
    return total


def private_backward(inputs, targets, noise=NOISE, clip=CLIP):
    for p, total in zip(MODEL.parameters(), clipped_sum(inputs, targets, clip), strict=True):
        p.grad = (total + noise * CLIP * torch.randn(p.shape)) / DIVISOR


def report(backward, sample=poisson):
    accounted = {"noise_multiplier": NOISE, "clip": CLIP, "sampling_rate": RATE}
    return check_step(torch_step(MODEL, LOSS, DATA, backward, sample, divisor=DIVISOR, **accounted))


def test_a_right_loop_is_consistent_and_leaves_everything_as_it_was():
    before, state = [p.detach().clone() for p in MODEL.parameters()], torch.get_rng_state()
    found = report(private_backward)
    assert found.verdict == "consistent", str(found)
    assert all(torch.equal(p, q) for p, q in zip(MODEL.parameters(), before, strict=True))
    assert torch.equal(state, torch.get_rng_state())


def line_with(words):
    lines, start = inspect.getsourcelines(private_backward)
    return f"{__file__.rsplit('/', 1)[-1]}:{start + next(i for i, x in enumerate(lines) if words in x)}"


def test_too_little_noise_is_named_with_the_line_that_draws_it():
    found = report(lambda x, y: private_backward(x, y, noise=NOISE / 4))
    assert found.wrong == ("noise",), str(found)
    (noise,) = (one for one in found.checks if one.name == "noise")
    assert noise.where == line_with("torch.randn")


def test_a_forgotten_clip_is_named_with_its_function():
    found = report(lambda x, y: private_backward(x, y, clip=1e9))
    (clipping,) = (one for one in found.checks if one.name == "clipping")
    assert clipping.outcome == "violated"
    assert clipping.where.startswith("private_backward, test_torch_step.py:")


def test_batches_of_one_size_are_named_with_the_sampler():
    def shuffled(rng):
        return rng.choice(ROWS, int(DIVISOR), replace=False)

    found = report(private_backward, shuffled)
    (sampler,) = (one for one in found.checks if one.outcome == "violated")
    assert (sampler.name, sampler.where.split(",")[0]) == ("Poisson sampling", "shuffled")


def test_batch_norm_is_refused_by_name():
    mixing = torch.nn.Sequential(torch.nn.Linear(64, 4), torch.nn.BatchNorm1d(4))
    with pytest.raises(NotCovered, match="BatchNorm1d"):
        torch_step(
            mixing, LOSS, DATA, private_backward, poisson,
            noise_multiplier=NOISE, clip=CLIP, sampling_rate=RATE, divisor=DIVISOR,
        )  # fmt: skip
