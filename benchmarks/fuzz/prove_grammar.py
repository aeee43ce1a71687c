"""Random programs, proved and attacked: figures for docs/benchmarks/proofs.md.

    python benchmarks/fuzz/prove_grammar.py --programs 20000

Continues where it was: every 500 programs are one line of benchmarks/results/prove_grammar.jsonl.
Exits 1 and prints the program if an attack gets above a proof.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.prove.grammar.judge import ADJACENCIES, few_objects, judge
from tests.prove.grammar.programs import write

RESULTS = Path(__file__).parents[1] / "results" / "prove_grammar.jsonl"
CHUNK = 500


def chunk(start: int) -> tuple[dict, list[str]]:
    """Judge the programs of one chunk under both adjacencies."""
    counts: Counter[str] = Counter()
    tight: list[float] = []
    broken: list[str] = []
    began = time.process_time()
    for seed in range(start, start + CHUNK):
        program = write(seed)
        for adjacency in ADJACENCIES:
            one = judge(program, adjacency, count=24, replay=seed % 4 == 0, runs=seed % 100 == 0)
            kind = "sampled" if program.latent else "planted" if program.planted else "plain"
            counts[f"{adjacency} {kind} {one.verdict}"] += 1
            if one.verdict == "broken":
                broken.append(str(one))
            if one.verdict == "held" and 0 < one.proved < float("inf") and not program.latent:
                tight.append(one.attacked / one.proved)
                if one.replayed:
                    counts[f"replay {one.replayed}"] += 1
    found = {
        "start": start,
        "programs": CHUNK,
        "counts": dict(counts),
        "within_1_percent": sum(t > 0.99 for t in tight),
        "within_half": sum(t > 0.5 for t in tight),
        "compared": len(tight),
        "cpu_seconds": round(time.process_time() - began, 1),
    }
    return found, broken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--start", type=int, default=0, help="several processes may share the work")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    chosen = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    known = (
        [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    )
    done = {one["start"] for one in known}
    end = time.monotonic() + 60 * chosen.minutes
    failed = False
    for start in range(chosen.start, chosen.programs, CHUNK):
        if start in done or time.monotonic() > end:
            continue
        with few_objects():
            found, broken = chunk(start)
        for text in broken:
            print(text, "\n")
        if broken:  # not kept: it is run again once the rule is mended
            failed = True
            continue
        with RESULTS.open("a") as file:
            file.write(json.dumps(found) + "\n")
        known.append(found)
        print(f"{start + CHUNK} programs, {found['cpu_seconds']} s", flush=True)
    total: Counter[str] = Counter()
    for one in known:
        total.update(one["counts"])
    for name in sorted(total):
        print(f"{name:40} {total[name]}")
    compared = sum(one["compared"] for one in known)
    for name in ("within_1_percent", "within_half"):
        print(f"{name:40} {sum(one[name] for one in known)} of {compared}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
