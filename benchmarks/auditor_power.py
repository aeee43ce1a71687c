"""How close the black-box auditor comes to the truth, on the auditors' standard benchmark.

    python benchmarks/auditor_power.py --seeds 20            # all of it, about two minutes a case and seed
    python benchmarks/auditor_power.py --case SVT6 --seeds 3

Events are learned; the bound is the anytime-valid lower bound at 99% confidence from at most 2e7
test runs a side. Learning runs are printed. A case passes if 90% of its seeds reach the target.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from auditor_suite import CASES, Case

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.distinguisher import Limits, distinguish
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.core.adjacency import Adjacency
from dpcheck.execution.parallel import Workers
from dpcheck.execution.runner import Runner


def audit(case: Case, seed: int, runs: int, jobs: int):
    claim = AuditedClaim(0.1, 0.0, Adjacency.REPLACE_ONE)
    mechanism = Mechanism(case.function, batched=True)
    pairs = [Pair(a, b, f"pattern {i}") for i, (a, b) in enumerate(case.pairs)]
    limits = Limits(
        alpha=0.01,
        max_runs=runs,
        learning_runs=case.learning,
        sharpening_runs=case.sharpening,
        stop_early=False,
    )
    return distinguish(mechanism, pairs, claim, limits, Runner(seed=seed, workers=Workers(jobs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=20_000_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--case", action="append")
    options = parser.parse_args()
    print(
        f"{'mechanism':20} {'target':>8} {'median':>9} {'lowest':>9} {'reached':>9} "
        f"{'learning':>10} {'test runs':>10} {'seconds':>8}  event of the last seed"
    )
    for case in CASES:
        if options.case and case.name not in options.case:
            continue
        bounds, began, found = [], time.perf_counter(), None
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            found = audit(case, seed, options.runs, options.jobs)
            bounds.append(found.lower)
        seconds = (time.perf_counter() - began) / options.seeds
        reached = sum(bound >= case.target for bound in bounds)
        event = found.candidates[found.best].event.describe()
        print(
            f"{case.name:20} {case.target:8.4f} {np.median(bounds):9.4f} {min(bounds):9.4f} "
            f"{reached:>4}/{len(bounds):<4} {found.learning_runs:10,} {found.runs:10,} "
            f"{seconds:8.1f}  {event}",
            flush=True,
        )


if __name__ == "__main__":
    main()
