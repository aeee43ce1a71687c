"""Functions that leak only where people are of several kinds; neighbours are left to dpcheck.

    python benchmarks/neighbours/kinds.py                 # continues results/kinds.jsonl
    python benchmarks/neighbours/kinds.py --summary

Each line of the data file is one audit of a broken function or of its right twin: verdict, bound, method,
pairs tried, CPU seconds. One process, at most `--max-runs` runs a side.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from records import append, missing, read, stamp  # noqa: E402

import dpcheck  # noqa: E402
from tests.power.kinds import CORPUS, FURTHER  # noqa: E402
from tests.power.kinds.base import Kinds  # noqa: E402

FILE = "kinds.jsonl"
SIDES = ("broken", "right")
ALL = CORPUS | {f"further, {name}": row for name, row in FURTHER.items()}


def measure(row: Kinds, name: str, side: str, seed: int, most: int) -> dict[str, object]:
    """One audit."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = dpcheck.audit(
            getattr(row, side),
            epsilon=1.0,
            records=row.records,
            form=row.form,
            adjacency=row.adjacency,
            seed=seed,
            max_runs=most,
        )
    (entry,) = report.entries
    return {
        "case": name,
        "side": side,
        "seed": seed,
        "verdict": str(entry.verdict),
        "epsilon": min(entry.observed.epsilon, 1e308),
        "method": str(entry.observed.method),
        "why": entry.why,
        "cpu": round(time.process_time() - began, 2),
        **stamp(),
    }


def summary() -> None:
    """A line for the documentation."""
    found = read(FILE)
    for side in SIDES:
        rows = [row for row in found if row["side"] == side]
        violated = [row for row in rows if row["verdict"] == "violated"]
        slowest = max((row["cpu"] for row in rows), default=0.0)
        median = sorted(row["cpu"] for row in rows)[len(rows) // 2] if rows else 0.0
        print(
            f"{side}: {len(violated)} of {len(rows)} violated, median {median:.1f} CPU s, at most "
            f"{slowest:.1f}"
        )
        if side == "broken":
            print("missed:", [row["case"] for row in rows if row not in violated])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--max-runs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.summary:
        summary()
        return
    cases = [(name, side, options.seed) for name in ALL for side in SIDES]
    for name, side, seed in missing(FILE, cases, ("case", "side", "seed")):
        line = measure(ALL[name], name, side, seed, options.max_runs)
        append(FILE, line)
        print(
            f"{name} ({side}): {line['verdict']}, {line['epsilon']:.3f}, {line['cpu']} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
