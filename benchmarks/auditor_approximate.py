"""The auditor on (epsilon, delta) and whole-curve claims: what is caught, what must not be.

    python benchmarks/auditor_approximate.py --seeds 20

Zero-out pair (0, 1), confidence 0.999. sigma = 3.7307 makes the Gaussian (1, 1e-5)-private.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import dpcheck
from dpcheck.audits.assertion import audit_function
from dpcheck.core.verdict import Verdict

SIGMA = 3.7307
PAIR = [(np.zeros(1), np.ones(1))]


@dpcheck.batched
def correct(data, size, rng):
    return data[0] + rng.normal(scale=SIGMA, size=size)


@dpcheck.batched
def too_little(data, size, rng):
    return data[0] + rng.normal(scale=0.8 * SIGMA, size=size)


@dpcheck.batched
def laplace(data, size, rng):
    return data[0] + rng.laplace(scale=1.0, size=size)


CURVE, POINT = dpcheck.Gaussian(SIGMA), dpcheck.Budget(1.0, 1e-5)
CASES = [
    # name, mechanism, claim, most runs a side (learning included), is it violated, seeds at most
    ("Gaussian -20%, claimed as its curve", too_little, CURVE, 100_000, True, 20),
    ("Gaussian, claimed as its curve", correct, CURVE, 100_000, False, 20),
    ("Gaussian -20%, claimed (1, 1e-5)", too_little, POINT, 20_000_000, True, 3),
    ("Laplace(1), claimed (1, 1e-5)", laplace, POINT, 1_000_000, False, 20),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    print(f"{'case':38} {'as it should':>12} {'median runs a side':>19} {'seconds':>8}")
    for name, mechanism, claim, most, broken, seeds in CASES:
        right, runs, began = 0, [], time.perf_counter()
        number = min(options.seeds, seeds)
        for seed in range(number):
            # A quarter of the runs is for learning (an eighth to learn, an eighth to choose).
            entry = audit_function(
                mechanism, claim=claim, neighbours=PAIR, adjacency="zero-out", seed=seed,
                max_runs=int(most * 0.75), name=name,
            )  # fmt: skip
            right += (entry.verdict is Verdict.VIOLATED) == broken
            runs.append(entry.observed.runs + entry.observed.learning_runs)
        seconds = (time.perf_counter() - began) / number
        print(f"{name:38} {right:>6}/{number:<5} {int(np.median(runs)):>19,} {seconds:8.1f}",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
