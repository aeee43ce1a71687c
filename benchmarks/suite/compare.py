"""dpcheck on the suites of StatDP, DP-Sniper, DP-Auditorium, dp-recorder and Delta-Siege, with their pairs.

    python benchmarks/suite/compare.py                # continues results/suites.jsonl
    python benchmarks/suite/compare.py --suite StatDP
    python benchmarks/suite/compare.py --summary

Each line of the data file is one audit: verdict, lower bound, calls, CPU seconds. Seed 1, confidence 0.999,
one process; the default limits, but 20 million runs a side for DP-Sniper's suite, whose authors used 10.7
million a phase and pair and 200 million at the end. What others find is quoted as published.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpcheck.auditing.auditors.floating_point import BitReader
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, as_pairs
from dpcheck.auditing.part import audit_part
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.audit_result import AuditEntry
from dpcheck.core.budget import Budget
from dpcheck.execution.parallel import Workers
from dpcheck.execution.runner import Runner
from dpcheck.session.assertion import audit_function
from dpcheck.session.claims import read_claim

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from records import append, missing, read, stamp  # noqa: E402

from suite.published import Published, published  # noqa: E402

FILE = "suites.jsonl"
MOST = {"DP-Sniper": 20_000_000}  # runs a side


class Counted:
    """A mechanism that counts its runs."""

    def __init__(self, function: Callable[..., Any], batched: bool) -> None:
        self.function, self.batched, self.runs = function, batched, 0
        self.__wrapped__ = function

    def __call__(self, data: Any, *rest: Any) -> Any:
        """One call, of one run or of many."""
        self.runs += rest[0] if self.batched else 1
        return self.function(data, *rest)


def audited(row: Published, mechanism: Mechanism, seed: int) -> AuditEntry:
    """As `dpcheck.audit` does it; a fault in the bits is looked for there."""
    budget = Budget(row.epsilon, row.delta)
    if not row.bits:
        given = (
            {"records": row.records, "form": "array"} if row.records else {"neighbours": row.pairs}
        )
        return audit_function(
            mechanism,
            claim=budget,
            adjacency=row.adjacency,
            seed=seed,
            max_runs=MOST.get(row.suite),
            **given,
        )
    claim = read_claim(budget, row.adjacency, "the suite")
    bits = Mechanism(BitReader(mechanism), True)
    plan = PartPlan(row.name, row.suite, claim, bits, as_pairs(row.pairs), floating_point=True)
    return audit_part(plan, Limits(alpha=1e-3), Runner(seed=seed, workers=Workers(jobs=1)))


def measure(row: Published, seed: int) -> dict[str, object]:
    """One audit."""
    counted = Counted(row.function, row.batched)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entry = audited(row, Mechanism(counted, row.batched), seed)
    return {
        "suite": row.suite,
        "case": row.name,
        "seed": seed,
        "claim": row.epsilon,
        "delta": row.delta,
        "caught": row.caught,
        "theirs": row.theirs,
        "verdict": str(entry.verdict),
        "epsilon": min(entry.observed.epsilon, 1e308),
        "method": str(entry.observed.method),
        "calls": counted.runs,
        "cpu": round(time.process_time() - began, 2),
        **stamp(),
    }


def summary() -> None:
    """Suite by suite: of what its authors catch, how much is caught; and what else is called violated."""
    found = read(FILE)
    for suite in dict.fromkeys(row["suite"] for row in found):
        rows = [row for row in found if row["suite"] == suite]
        wrong = [row for row in rows if row["caught"]]
        missed = [row["case"] for row in wrong if row["verdict"] != "violated"]
        accused = [
            row["case"] for row in rows if not row["caught"] and row["verdict"] == "violated"
        ]
        seconds = sum(row["cpu"] for row in rows)
        print(
            f"{suite}: {len(wrong) - len(missed)} of {len(wrong)} caught, {seconds:.0f} CPU s; missed "
            f"{missed}; {len(accused)} of {len(rows) - len(wrong)} others violated {accused}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--suite", action="append")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.summary:
        summary()
        return
    rows = {(row.suite, row.name): row for row in published()}
    wanted = [
        (suite, name, options.seed)
        for suite, name in rows
        if not options.suite or suite in options.suite
    ]
    for suite, name, seed in missing(FILE, wanted, ("suite", "case", "seed")):
        line = measure(rows[suite, name], seed)
        append(FILE, line)
        word = "" if (line["verdict"] == "violated") == line["caught"] else "  <--"
        print(
            f"{suite}: {name}: {line['verdict']} >= {line['epsilon']:.4g} of {line['claim']:g} by "
            f"{line['method']}, {line['calls']:,} calls, {line['cpu']} s{word}",
            flush=True,
        )


if __name__ == "__main__":
    main()
