"""dpcheck on every planted bug and its corrected twin, at the default settings of `dpcheck audit`.

    python benchmarks/corpus.py --seeds 3            # continues results/corpus.jsonl
    python benchmarks/corpus.py --row "SVT 6" --fresh

Each line of the data file is one audit: verdict, lower bound, runs, seconds, CPU seconds, versions.
One process (`--jobs 1`), so seconds are an upper limit for two cores. Tables: make_tables.py.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

from records import append, forget, missing, stamp

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.power.planted import CORPUS, THEMES
from tests.power.planted.run import audit_row, worst

FILE = "corpus.jsonl"
SIDES = ("broken", "corrected")


def _number(value: float | None) -> float | str | None:
    return "inf" if value is not None and math.isinf(value) else value


def measure(name: str, side: str, seed: int, jobs: int) -> dict:
    row = next(row for row in CORPUS if row.name == name)
    wall, cpu = time.perf_counter(), time.process_time()
    entries = audit_row(row, side, seed, jobs)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    entry = worst(entries)
    seen = entry.observed
    return {
        "mechanism": name,
        "side": side,
        "seed": seed,
        "theme": next(theme for theme, rows in THEMES.items() if row in rows),
        "claim": entry.claim.budget.epsilon,
        "delta": entry.claim.budget.delta,
        "adjacency": str(entry.claim.adjacency),
        "curve": entry.claim.event is not None,
        "part": entry.part,
        "verdict": str(entry.verdict),
        "exact": _number(row.exact),
        "lower": _number(seen.epsilon),
        "lower_delta": seen.delta,
        "method": seen.method,
        "detectable": _number(seen.detectable),
        "runs": seen.runs,
        "learning_runs": seen.learning_runs,
        "event": (entry.witness or {}).get("event"),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "provenance": row.provenance,
        **stamp("scikit-learn"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--row", action="append", help="part of a name; repeat as needed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after this long")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    options = parser.parse_args()
    names = [
        row.name for row in CORPUS if not options.row or any(w in row.name for w in options.row)
    ]
    wanted = [
        (name, side, seed) for seed in range(options.seeds) for name in names for side in SIDES
    ]
    if options.fresh:
        forget(FILE, lambda record: record["mechanism"] in names)
    deadline = time.monotonic() + 60 * options.minutes
    for name, side, seed in list(missing(FILE, wanted, ("mechanism", "side", "seed"))):
        if time.monotonic() > deadline:
            break
        record = measure(name, side, seed, options.jobs)
        append(FILE, record)
        print(
            f"{name:52} {side:10} seed {seed} {record['verdict']:10} >= {record['lower']!s:.6} "
            f"{record['runs']:>9,} runs {record['cpu_seconds']:6.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
