"""Random programs of the whole language, read and run: figures for docs/benchmarks/proofs.md.

    python benchmarks/fuzz/prove_language.py --programs 20000

Continues where it was: every 500 programs are one line of benchmarks/results/prove_language.jsonl. Exits 1
and prints the program where what was read does not do what Python does, or a release moves by more than was
proved of it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from dpcheck.core.adjacency import Adjacency
from tests.prove.language.judge import judge

RESULTS = Path(__file__).parents[1] / "results" / "prove_language.jsonl"
CHUNK = 500
ADJACENCIES = (Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE, Adjacency.ZERO_OUT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    chosen = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    known = [json.loads(line) for line in lines]
    done = {one["start"] for one in known}
    ends, failed = time.monotonic() + 60 * chosen.minutes, False
    for start in range(0, chosen.programs, CHUNK):
        if start in done or time.monotonic() > ends:
            continue
        began, counts, wrong = time.process_time(), Counter[str](), []
        for seed in range(start, start + CHUNK):
            adjacency = ADJACENCIES[seed % 3]
            one = judge(seed, adjacency)
            counts[f"{adjacency} {one.verdict}"] += 1
            if one.verdict in ("different", "fails"):
                wrong.append(str(one))
        for text in wrong:
            print(text, "\n", flush=True)
        failed |= bool(wrong)
        if wrong:  # not kept: it is run again once the cause is mended
            continue
        seconds = round(time.process_time() - began, 1)
        found = {"start": start, "programs": CHUNK, "counts": dict(counts), "cpu_seconds": seconds}
        with RESULTS.open("a") as file:
            file.write(json.dumps(found) + "\n")
        known.append(found)
    total: Counter[str] = Counter()
    for one in known:
        total.update(one["counts"])
    for name in sorted(total):
        print(f"{name:30} {total[name]}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
