"""Opacus training steps as audit targets: PrivacyEngine, DPOptimizer and its sampler, as they come.

dpcheck audit examples/libraries/opacus_targets.py:full_batch_step --max-runs 1000
"""

import numpy as np
import torch

import dpcheck
from dpcheck.integrations.opacus_steps import audited_steps

ROWS, LABELS = np.zeros((8, 4)), np.zeros(8)
WITH = ROWS.copy()
WITH[0, 0] = 10.0  # its gradient is far longer than the norm bound: clipping must act


def linear(width: int = 4) -> torch.nn.Module:
    """Weights, all zero; a record's gradient is minus its row."""
    model = torch.nn.Linear(width, 1, bias=False)
    with torch.no_grad():
        model.weight.zero_()
    return model


def wide() -> torch.nn.Module:
    """Many weights: many looks at the scale of the noise."""
    return linear(32)


def minus_output(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    """A loss whose gradient is known."""
    return -outputs[:, 0].mean()


ZEROED = [((WITH, LABELS), (ROWS, LABELS))]
# One point of the accountant's curve for a step of noise 1: (1, 0.127). Few runs can test it.
POINT = dpcheck.ApproxDP(1.0, dpcheck.delta(dpcheck.Gaussian(1.0), epsilon=1.0).upper)
STEP = {"max_grad_norm": 1.0, "sampling_rate": 1.0, "noise_multiplier": 1.0}

full_batch_step = audited_steps(
    linear, minus_output, **STEP, adjacency="zero-out", neighbours=ZEROED
)
# The planted control: a quarter of the noise of the claim must be caught with the same number of runs.
under_noised_step = audited_steps(
    linear, minus_output, **(STEP | {"noise_multiplier": 0.25}), claim=POINT,
    adjacency="zero-out", neighbours=ZEROED,
)  # fmt: skip
# Opacus divides by the expected batch size, which it computes from the number of rows. If that number is
# private, as add-remove says, the scale of the noise gives it away.
NOTHING = np.zeros((3, 32))
number_of_rows = audited_steps(
    wide, minus_output, **STEP, claim=POINT, adjacency="add-remove",
    neighbours=[((NOTHING, LABELS[:3]), (NOTHING[:2], LABELS[:2]))],
)  # fmt: skip

TARGETS = {
    "number_of_rows": (number_of_rows, "one DP-SGD step, 3 against 2 rows"),
}
PACKAGES = ("opacus", "torch")
OPTIONS = {"max_runs": 1000, "tolerance": 1.0}
