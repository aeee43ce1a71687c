"""torch under replay: draws are recorded and repeat, tensors are not followed, hooks are removed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dpcheck.core.budget import Budget
from dpcheck.replay import FindingKind, HintKind, examine

PAIR = (np.array([0.0, 1.0]), np.array([1.0, 1.0]))


def functional(data, rng):
    return torch.tensor(data) + 0.25 * torch.randn(2)


def normal(data, rng):
    return torch.tensor(data) + torch.normal(0.0, 0.25, size=(2,))


def in_place(data, rng):
    return torch.tensor(data) + torch.empty(2).normal_(0.0, 0.25)


def distribution(data, rng):
    return torch.tensor(data) + torch.distributions.Laplace(torch.zeros(2), 0.25).sample()


@pytest.mark.parametrize("function", [functional, normal, in_place, distribution])
def test_additive_noise_is_named_and_not_proved(function):
    finding = examine(function, PAIR, Budget(1.0, 1e-5 if function is not distribution else 0.0))
    assert finding.kind is FindingKind.HINT
    kinds = [hint.kind for hint in finding.hints]
    assert HintKind.ADDITIVE in kinds
    assert HintKind.NOT_FOLLOWED in kinds
    assert not finding.exceeds(0.0)


def test_hooks_and_the_generator_are_put_back():
    before = torch.randn, torch.normal, torch.Tensor.normal_, torch.distributions.Laplace.sample
    state = torch.random.get_rng_state()

    def raising(data, rng):
        torch.randn(3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        examine(raising, PAIR)
    assert before == (
        torch.randn,
        torch.normal,
        torch.Tensor.normal_,
        torch.distributions.Laplace.sample,
    )
    assert torch.equal(state, torch.random.get_rng_state())
