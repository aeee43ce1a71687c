"""Flower's LocalDpMod adds the noise of another theorem: 1.287 is spent where 1 was asked for.

    pip install flwr
    python benchmarks/findings/flower_local_dp_mod.py

The noise sqrt(2 log(1.25 / delta)) / epsilon is proved for one record of norm 1 and epsilon below 1;
two clipped updates of clients differ by twice the clipping norm. Runs the library's own clipping and
noise on two opposite updates, with a sensitivity equal to the clipping norm, and prints what replay
saw and the exact epsilon of two Gaussians that far apart. Exits 1 when the budget is overspent.
"""

import sys
from importlib.metadata import version

import numpy as np
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.supercore.differential_privacy import (
    add_localdp_gaussian_noise_to_params,
    compute_clip_model_update,
)
from scipy.optimize import brentq
from scipy.stats import norm

import dpcheck
from dpcheck.core.budget import Budget
from dpcheck.replay import examine

EPSILON, DELTA, CLIP, SENSITIVITY = 1.0, 0.01, 1.0, 1.0
SERVER = [np.zeros(4)]
PAIR = (np.array([2.0, 0.0, 0.0, 0.0]), np.array([-2.0, 0.0, 0.0, 0.0]))


def client(update, rng):  # noqa: ARG001 - it draws from np.random
    """What the mod does to one client's parameters."""
    return noised(update, SENSITIVITY)


def noised(update, sensitivity):
    """The library's own clipping and noise."""
    parameters = [SERVER[0] + update]
    compute_clip_model_update(parameters, SERVER, CLIP)
    packed = ndarrays_to_parameters(parameters)
    noisy = add_localdp_gaussian_noise_to_params(packed, sensitivity, EPSILON, DELTA)
    return parameters_to_ndarrays(noisy)


def exact(sensitivity: float) -> float:
    """epsilon of N(0, s^2) against N(2 C, s^2) at DELTA, from the closed form of its delta."""
    mu = 2 * CLIP * EPSILON / (sensitivity * np.sqrt(2 * np.log(1.25 / DELTA)))

    def excess(e: float) -> float:
        return float(norm.cdf(mu / 2 - e / mu) - np.exp(e) * norm.cdf(-mu / 2 - e / mu) - DELTA)

    return float(brentq(excess, 0.0, 50.0))


def main() -> int:
    print(f"flwr {version('flwr')}, dpcheck {dpcheck.__version__}, seed 0")
    print(f"asked for: epsilon {EPSILON:g} at delta {DELTA:g}; sensitivity {SENSITIVITY:g}")
    finding = examine(client, PAIR, Budget(EPSILON, DELTA), "replace-one", seed=0)
    print(f"replay, {finding.calls} calls, {finding.kind}:")
    for hint in finding.hints:
        print(f"  {hint}")
    spent = exact(SENSITIVITY)
    print(f"exact for Gaussians 2 apart with that noise: {spent:.6f}")
    return int(spent > EPSILON)


if __name__ == "__main__":
    sys.exit(main())
