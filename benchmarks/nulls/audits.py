"""Whole audits of functions whose epsilon is known exactly: false alarms, and bounds above the truth.

    python benchmarks/nulls/audits.py --rounds 22      # continues results/null_audits.jsonl
    python benchmarks/nulls/audits.py --above 1000     # continues results/known_epsilon.jsonl
    python benchmarks/nulls/audits.py --summary

Each round audits 70 shapes that keep their claim exactly (suite/exact.py) at a nominal 5%; every fourth
round has a time limit, which ends audits anywhere. `--above` audits functions of random epsilons against half
of it, at confidence 0.999, so that bounds come close to the truth, and counts bounds above it.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.special import betaincinv

from dpcheck.core.audit_result import AuditEntry
from dpcheck.core.budget import Budget
from dpcheck.session.assertion import audit_function

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from records import append, missing, read, stamp  # noqa: E402
from suite.exact import SHAPES, Exact, shape  # noqa: E402

NULL, KNOWN = "null_audits.jsonl", "known_epsilon.jsonl"
ALPHA, LIMIT, ROUNDING = 0.05, 1.0, 1e-9


def audited(
    row: Exact, claim: float, confidence: float, seed: int, limit: float | None
) -> AuditEntry:
    """As `dpcheck.audit` does it, with few runs, where luck counts most, and without reading the code."""
    given = {"records": row.records, "form": "array"} if row.records else {"neighbours": row.pairs}
    return audit_function(
        row.function,
        claim=Budget(claim, row.delta),
        adjacency=row.adjacency,
        confidence=confidence,
        seed=seed,
        max_runs=600,
        time_limit=limit,
        reads_code=False,
        **given,
    )


def measure(name: str, row: Exact, claim: float, confidence: float, seed: int, limit: float | None):
    """One audit."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entry = audited(row, claim, confidence, seed, limit)
    return {
        "case": name,
        "seed": seed,
        "true": row.epsilon,
        "verdict": str(entry.verdict),
        "epsilon": min(entry.observed.epsilon, 1e308),
        "method": str(entry.observed.method),
        "above": bool(entry.observed.epsilon > row.epsilon * (1 + ROUNDING)),
        "limit": limit,
        "cpu": round(time.process_time() - began, 2),
        **stamp(),
    }


def null(rounds: int) -> None:
    """Every shape, round by round."""
    wanted = [(f"{made}, {way}", seed) for seed in range(rounds) for made, way in SHAPES]
    named = {f"{made}, {way}": (made, way) for made, way in SHAPES}
    for name, seed in missing(NULL, wanted, ("case", "seed")):
        limit = LIMIT if seed % 4 == 3 else None
        append(NULL, measure(name, shape(*named[name], 1.0), 1.0, 1 - ALPHA, seed, limit))


def known(number: int) -> None:
    """Shapes at an epsilon of their own."""
    wanted = [(f"function {index}", index) for index in range(number)]
    for name, index in missing(KNOWN, wanted, ("case", "seed")):
        rng = np.random.default_rng([index, 35])
        made, way = SHAPES[int(rng.integers(len(SHAPES)))]
        row = shape(made, way, float(np.exp(rng.uniform(np.log(0.2), np.log(4.0)))))
        line = measure(name, row, row.epsilon / 2, 0.999, index, None)
        append(KNOWN, line | {"shape": row.name})


def summary() -> None:
    """By method, which is the path a conviction took."""
    rows = read(NULL)
    methods = Counter(row["method"] for row in rows if row["verdict"] == "violated")
    for name, alarms in [("all paths", methods.total()), *sorted(methods.items())]:
        limit = float(betaincinv(alarms + 1, max(1, len(rows) - alarms), 0.95))
        print(f"{name:24} {alarms} of {len(rows)}, at most {limit:.4f} at 95%")
    print(f"{sum(bool(row['limit']) for row in rows)} of them with a time limit")
    rows = read(KNOWN)
    above = [(row["shape"], row["true"], row["epsilon"]) for row in rows if row["above"]]
    caught = sum(row["verdict"] == "violated" for row in rows)
    print(f"{len(above)} of {len(rows)} bounds above the truth {above}; {caught} refute half of it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--above", type=int, default=0)
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    null(options.rounds)
    known(options.above)
    summary()


if __name__ == "__main__":
    main()
