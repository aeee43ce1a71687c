"""A busy machine: fifty audits without time limits one after the other, then eight at once, on two cores.

    python benchmarks/busy.py                # results/busy.jsonl, anew
    python benchmarks/busy.py --summary

Each audit is `dpcheck audit benchmarks/busy.py:NAME`, in one process or in eight side by side: functions as
people write them (tests/power/everyday), half of them with their fault. Verdicts, exit codes and all figures
are compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from click.testing import CliRunner

HERE = Path(__file__)
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

from records import RESULTS, append, read, stamp  # noqa: E402

import dpcheck  # noqa: E402
from dpcheck.cli.audit import command  # noqa: E402
from tests.power.everyday import CORPUS  # noqa: E402

FILE = "busy.jsonl"
AUDITS, AT_ONCE, RUNS, SEED = 50, 8, 2_000, 7
COMPARED = ("verdict", "claim", "proved", "observed", "why", "spending", "witness", "notes")


def targets() -> dict[str, Any]:
    """Fifty functions of the corpus, by a name that Python takes."""
    found: dict[str, Any] = {}
    for place, row in enumerate(CORPUS.values()):
        if len(found) == AUDITS:
            break
        function = row.corrected if place % 2 else row.broken
        claim = dpcheck.Budget(row.epsilon, row.delta)
        name = re.sub(r"\W+", "_", f"{row.name}_{place}")
        found[name] = dpcheck.audited(claim=claim, adjacency=row.adjacency, neighbours=row.pairs)(
            function
        )
    return found


globals().update(targets())


def audit(name: str) -> dict[str, Any]:
    """One command; what it ended with, and all that a verdict rests on."""
    began = time.perf_counter()
    options = {"--format": "json", "--seed": SEED, "--max-runs": RUNS, "--jobs": 1}
    words = [f"{HERE}:{name}", *(str(each) for option in options.items() for each in option)]
    done = CliRunner().invoke(command, words)
    entries = json.loads(done.stdout)["audits"] if done.stdout else [{"verdict": repr(done)}]
    return {
        "case": name,
        "exit": done.exit_code,
        "verdict": entries[0]["verdict"],
        "entry": {key: _digest(entries[0].get(key)) for key in COMPARED},
        "seconds": round(time.perf_counter() - began, 1),
    }


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def measure() -> None:
    """Both ways, to the file."""
    (RESULTS / FILE).unlink(missing_ok=True)
    for at_once in (1, AT_ONCE):
        began = time.perf_counter()
        with get_context("spawn").Pool(at_once) as pool:
            for line in pool.imap(audit, targets()):
                append(FILE, {**line, "at once": at_once, **stamp()})
        print(f"{at_once} at once: {time.perf_counter() - began:.0f} s", flush=True)


def compared() -> tuple[list[str], list[str]]:
    """The audits whose verdict or exit code differs, and those of which anything else does."""
    sides: dict[int, dict[str, Any]] = {1: {}, AT_ONCE: {}}
    for row in read(FILE):
        sides[row["at once"]][row["case"]] = row
    both = sides[1].keys() & sides[AT_ONCE].keys()
    pairs = {name: (sides[1][name], sides[AT_ONCE][name]) for name in sorted(both)}
    differ = [
        name
        for name, (one, two) in pairs.items()
        if (one["verdict"], one["exit"]) != (two["verdict"], two["exit"])
    ]
    figures = [name for name, (one, two) in pairs.items() if one["entry"] != two["entry"]]
    return differ, figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--summary", action="store_true")
    if not parser.parse_args().summary:
        measure()
    differ, figures = compared()
    print(f"{len(differ)} differ in verdict or exit code {differ}; in any figure {figures}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
