"""Given the density: the exact loss on the standard patterns, found by the likelihood auditor.

    python benchmarks/suite/known_density.py

The auditor samples outputs, computes their exact loss, and climbs from the best to outputs too rare
to be sampled. `known` is the "on patterns" column of the standard benchmark, to its printed digits.
SVT3 has no entry there: its loss grows with the number of queries.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from dpcheck.auditing.auditors.likelihood import sample_losses
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.execution.runner import Runner

sys.path.insert(0, str(Path(__file__).parents[1]))

from suite.cases import CASES
from suite.densities import DENSITIES


def largest_loss(case, density, seed, runs):
    mechanism = Mechanism(case.function, batched=True, log_density=density)
    samples = [
        (sample_losses(mechanism, Pair(a, b, f"pattern {i}"), runs, Runner(seed=seed)), i)
        for i, (a, b) in enumerate(case.pairs)
    ]
    return max(samples, key=lambda item: item[0].best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=4096, help="outputs a direction and pair")
    parser.add_argument("--case", action="append")
    options = parser.parse_args()
    print(f"{'mechanism':20} {'known':>8} {'exact loss':>14} {'pattern':>8} {'seconds':>8}  output")
    for case in CASES:
        if case.name not in DENSITIES or (options.case and case.name not in options.case):
            continue
        began = time.perf_counter()
        found, pattern = largest_loss(case, DENSITIES[case.name], options.seed, options.runs)
        output = " ".join(f"{value:.4g}" for value in found.output)
        known = "" if case.exact is None else f"{case.exact:g}"
        print(
            f"{case.name:20} {known:>8} {found.best:14.9f} {pattern:>8} "
            f"{time.perf_counter() - began:8.1f}  {output[:60]}",
            flush=True,
        )


if __name__ == "__main__":
    main()
