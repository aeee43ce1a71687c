"""Certificates of every proof of the corpora, made false: figures for docs/benchmarks/proofs.md.

    python benchmarks/fuzz/mutated_certificates.py

Exits 1 and prints the mutant if the kernel accepts a false statement.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.prove.corpus import everyday, habits, normal, numbers, sums, tables
from tests.prove.grammar.judge import few_objects
from tests.prove.mutants import accepted, base_of, mutants
from tests.prove.published import checkdp, statdp

CASES = [
    *sums.CASES.cases,
    *normal.CASES.cases,
    *tables.CASES.cases,
    *everyday.CASES.cases,
    *numbers.WRONG.cases,
    *habits.CASES.cases,
    *checkdp.PAPER.programs,
    *statdp.PAPER.programs,
]


def kind(what: str) -> str:
    """A mutant's kind, for the table."""
    about = what.split(": ", 1)[1]
    if about.startswith("several"):
        return "several releases as one"
    if about.startswith("choice"):
        return "choices and answers"
    if about.startswith(("release", "the ")):
        return "event or releases"
    return "fact, later facts fitted" if about.endswith("follows") else "fact"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=24)
    options = parser.parse_args()
    began, rng = time.process_time(), np.random.default_rng(0)
    counts: Counter[str] = Counter()
    believed = []
    for case in CASES:
        base = base_of(case, options.pairs)
        counts["functions" if base is None else "certificates"] += 1
        for mutant in mutants(base, rng) if base is not None else ():
            counts[kind(mutant.what)] += 1
            if accepted(mutant):
                believed.append(mutant.what)
    total = sum(counts[name] for name in counts if name not in ("functions", "certificates"))
    print(
        dict(counts),
        f"{total} false mutants, {len(believed)} accepted, {time.process_time() - began:.0f} CPU s",
    )
    print("\n".join(believed[:40]))
    sys.exit(1 if believed else 0)


if __name__ == "__main__":
    with few_objects():
        main()
