"""The auditor on (epsilon, delta) and whole-curve claims: what is caught, what must not be.

    python benchmarks/auditor_approximate.py --seeds 20 --resume
    python benchmarks/auditor_approximate.py --show

Zero-out pair (0, 1), confidence 0.999. sigma = 3.7307 makes the Gaussian (1, 1e-5)-private. Results go to
a file, seed by seed; --resume continues from it. With 1e5 runs the correct Gaussian raises no alarm, but
the runs could not have caught an epsilon 1.25 times too large, so its verdict is undecided.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from results_file import RESULTS, load, provenance, save

import dpcheck
from dpcheck.session.assertion import audit_function

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
CAUGHT, SILENT, SURE = {"violated"}, {"consistent", "undecided"}, {"consistent"}
CASES = [
    # name, mechanism, claim, most runs a side (learning included), wanted verdicts, seeds at most
    ("Gaussian -20%, claimed as its curve", too_little, CURVE, 100_000, CAUGHT, 20),
    ("Gaussian, claimed as its curve", correct, CURVE, 100_000, SILENT, 20),
    ("Gaussian, its curve, enough runs", correct, CURVE, 2_000_000, SURE, 20),
    ("Gaussian -20%, claimed (1, 1e-5)", too_little, POINT, 20_000_000, CAUGHT, 3),
    ("Laplace(1), claimed (1, 1e-5)", laplace, POINT, 1_000_000, SURE, 20),
]


def audit(name, mechanism, claim, most, wanted, seed):
    began = time.process_time()
    # A quarter of the runs is for learning: an eighth to learn from, an eighth to choose on.
    entry = audit_function(
        mechanism,
        claim=claim,
        neighbours=PAIR,
        adjacency="zero-out",
        seed=seed,
        max_runs=int(most * 0.75),
        name=name,
    )
    return {
        "case": name,
        "seed": seed,
        "verdict": entry.verdict.value,
        "as_it_should": entry.verdict.value in wanted,
        "test_runs": entry.observed.runs,
        "learning_runs": entry.observed.learning_runs,
        "cpu_seconds": round(time.process_time() - began, 1),
        **provenance(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--results", type=Path, default=RESULTS / "auditor_approximate.json")
    parser.add_argument("--resume", action="store_true", help="keep what the results file has")
    parser.add_argument("--show", action="store_true", help="only print the results file")
    options = parser.parse_args()
    known = load(options.results) if options.resume or options.show else []
    print(f"{'case':38} {'as it should':>12} {'most runs a side':>17} {'CPU s':>7}  verdicts")
    for name, mechanism, claim, most, wanted, seeds in CASES:
        for seed in range(0 if options.show else min(options.seeds, seeds)):
            if not any((row["case"], row["seed"]) == (name, seed) for row in known):
                known.append(audit(name, mechanism, claim, most, wanted, seed))
                save(options.results, known)
        rows = [row for row in known if row["case"] == name]
        if rows:
            right = sum(row["as_it_should"] for row in rows)
            runs = max(row["test_runs"] + row["learning_runs"] for row in rows)
            seconds = np.mean([row["cpu_seconds"] for row in rows])
            verdicts = ", ".join(sorted({row["verdict"] for row in rows}))
            print(
                f"{name:38} {right:>6}/{len(rows):<5} {runs:>17,} {seconds:7.1f}  {verdicts}",
                flush=True,
            )


if __name__ == "__main__":
    main()
