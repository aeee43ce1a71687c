"""How close the black-box auditor comes to the truth, on the auditors' standard benchmark.

    python benchmarks/auditor_power.py --seeds 20 --resume      # the table; minutes a case
    python benchmarks/auditor_power.py --case SVT6 --seeds 1 --full

Events are learned; the bound is the anytime-valid lower bound at 99% confidence from at most 2e7
test runs a side. It may be looked at any time, so a seed stops once it has reached its target
("stopped"); with --full it uses all runs and shows how far it comes. Learning runs are counted
apart. A case passes if 90% of its seeds reach the target. Results go to a file, seed by seed;
--resume continues from it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from results_file import RESULTS, load, provenance, save
from suite.cases import CASES, Case

from dpcheck.auditing.auditors.distinction import distinguish
from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.core.adjacency import Adjacency
from dpcheck.execution.parallel import Workers
from dpcheck.execution.runner import Runner

MOST_RUNS = 20_000_000


def audit(case: Case, seed: int, full: bool) -> dict[str, object]:
    claim = AuditedClaim(0.1, 0.0, Adjacency.REPLACE_ONE)
    mechanism = Mechanism(case.function, batched=True)
    pairs = [Pair(a, b, f"pattern {i}") for i, (a, b) in enumerate(case.pairs)]
    limits = Limits(
        alpha=0.01,
        max_runs=MOST_RUNS,
        learning_runs=case.learning,
        sharpening_runs=case.sharpening,
        stop_early=False,
        reach=None if full else case.target,
    )
    wall, cpu = time.perf_counter(), time.process_time()
    found = distinguish(mechanism, pairs, claim, limits, Runner(seed=seed, workers=Workers(1)))
    best = found.candidates[found.best]
    return {
        "case": case.name,
        "seed": seed,
        "target": case.target,
        "bound": round(found.lower, 5),
        "test_runs": found.runs,
        "learning_runs": found.learning_runs,
        "stopped": not full and found.lower >= case.target,
        "pair": pairs[best.pair].label,
        "event": best.event.describe(),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "seconds": round(time.perf_counter() - wall, 1),
        **provenance(),
    }


def show(case: Case, rows: list[dict[str, object]]) -> None:
    bounds = [row["bound"] for row in rows]
    reached = sum(bound >= case.target for bound in bounds)
    stopped = sum(bool(row["stopped"]) for row in rows)
    print(
        f"{case.name:20} {case.target:8.4f} {np.median(bounds):9.4f} {min(bounds):9.4f} "
        f"{reached:>4}/{len(bounds):<4} {stopped:>7} "
        f"{int(np.median([row['learning_runs'] for row in rows])):>11,} "
        f"{int(np.median([row['test_runs'] for row in rows])):>11,} "
        f"{np.mean([row['cpu_seconds'] for row in rows]):8.1f}  {rows[-1]['event']}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--full", action="store_true", help="use all runs; results are not kept")
    parser.add_argument("--case", action="append")
    parser.add_argument("--results", type=Path, default=RESULTS / "auditor_power.json")
    parser.add_argument("--resume", action="store_true", help="keep what the results file has")
    parser.add_argument("--show", action="store_true", help="only print the results file")
    options = parser.parse_args()
    known = load(options.results) if options.resume or options.show else []
    print(
        f"{'mechanism':20} {'target':>8} {'median':>9} {'lowest':>9} {'reached':>9} {'stopped':>7} "
        f"{'learning':>11} {'test runs':>11} {'CPU s':>8}  event of the last seed"
    )
    for case in CASES:
        if options.case and case.name not in options.case:
            continue
        seeds = range(options.first_seed, options.first_seed + options.seeds)
        rows = [row for row in known if row["case"] == case.name and row["seed"] in seeds]
        for seed in seeds:
            if options.show or any(row["seed"] == seed for row in rows):
                continue
            rows.append(audit(case, seed, options.full))
            if not options.full:
                known.append(rows[-1])
                save(options.results, known)
        if rows:
            show(case, rows)


if __name__ == "__main__":
    main()
