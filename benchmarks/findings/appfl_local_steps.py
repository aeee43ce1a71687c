"""APPFL perturbs the outcome of many local steps with the noise of one: epsilon 10 for a claim of 1.

    pip install appfl torch
    python benchmarks/findings/appfl_local_steps.py

Its trainers set the sensitivity to 2 * clip_value * lr, how far one step moves; after ten steps the
weights are ten times as far apart. Runs the library's own Laplace mechanism after ten clipped steps
of torch's SGD on two opposite records. Exits 1 when more is spent than asked for.
"""

import importlib.util
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

import dpcheck
from dpcheck.core.budget import Budget
from dpcheck.replay import examine

CLIP, RATE, STEPS, EPSILON = 1.0, 0.1, 10, 1.0
PAIR = (np.array([5.0]), np.array([-5.0]))


def library():
    """appfl/privacy/dp.py alone: the package itself imports Opacus and wandb."""
    found = importlib.util.find_spec("appfl")
    if found is None or not found.submodule_search_locations:
        sys.exit("appfl is not installed: pip install appfl")
    path = Path(found.submodule_search_locations[0]) / "privacy" / "dp.py"
    made = importlib.util.spec_from_file_location("appfl_privacy_dp", path)
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


DP = library()


def train(record, rng):  # noqa: ARG001 - it draws from torch
    """Local steps as in appfl's VanillaTrainer with clipping by norm, then its perturbation."""
    model = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.zero_()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        (model.weight * float(record[0])).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
    return DP.laplace_mechanism_output_perturb(model, 2.0 * CLIP * RATE, EPSILON)


def main() -> int:
    print(f"appfl {version('appfl')}, torch {torch.__version__}, dpcheck {dpcheck.__version__}")
    finding = examine(train, PAIR, Budget(EPSILON, 0.0), "replace-one", seed=0)
    print(f"asked for: epsilon {EPSILON:g}. replay, {finding.calls} calls, {finding.kind}:")
    for hint in finding.hints:
        print(f"  {hint}")
    moved = 2 * CLIP * RATE * STEPS
    spent = moved / (2.0 * CLIP * RATE / EPSILON)
    print(f"exact: the weights are {moved:g} apart under Laplace noise of scale 0.2: {spent:g}")
    return int(spent > EPSILON)


if __name__ == "__main__":
    sys.exit(main())
