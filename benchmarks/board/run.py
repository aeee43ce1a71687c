"""Audit the catalogue's mechanisms, each library in its own environment; a stopped run goes on.

    python benchmarks/board/run.py [LIBRARY ...] [--environments DIR] [--seconds 30] [--runs 20000]

Results are kept in benchmarks/results/board/LIBRARY.json, a row for each mechanism, with versions,
date and machine; what is there for the installed version is not run again,
unless it was an error, or undecided after less time than is given now. Environments are made by
`make libraries`. The page is made by benchmarks/board/page.py.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import dpcheck
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.errors import DpcheckError, MechanismFailed
from dpcheck.libraries.catalogue import libraries
from dpcheck.libraries.entry import Library
from dpcheck.session.catalogue import ENVIRONMENTS
from dpcheck.session.external.plan import Outside
from dpcheck.session.external.program import end_programs
from dpcheck.session.run import AuditRequest, plan, run_plans

RESULTS = Path(__file__).parents[1] / "results/board"
SEED, CONFIDENCE, MAX_RUNS, TOLERANCE = 0, 0.9999, 20_000, 1.0
HANGS = 600.0  # seconds that one call may take: the first one starts what it calls
LEAST_RUNS = 1_500  # a side, however slow: every call is guessed then, none set aside to learn from
SHARE = 0.6  # of the time, for the calls; the rest is for reading them


def installed(python: Path, library: Library) -> str:
    words = f"from importlib.metadata import version; print(version({library.name!r}))"
    done = subprocess.run([python, "-c", words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{python} has no {library.name}: {done.stderr[-300:]}")
    return done.stdout.strip()


def check_answers(part: PartPlan) -> None:
    """A mechanism that only fails says nothing: an error on both sides is no result."""
    rng = np.random.default_rng(SEED)
    assert part.mechanism is not None
    for data in (part.pairs[0].first, part.pairs[0].second):
        (output,) = part.mechanism.function.runs(data, 1, rng, HANGS)
        if isinstance(output, BaseException):
            raise MechanismFailed(f"the call failed with {type(output).__name__}: {output}")


def affordable(part: PartPlan, seconds: float, most: int) -> int:
    """Runs a side that fit into the time, as fast as calls are now, once everything is loaded."""
    assert part.mechanism is not None
    rng, size, took = np.random.default_rng(SEED), 4, 0.0
    while took < 0.25 and size < 2048:
        size *= 2
        begun = time.perf_counter()
        part.mechanism.function.runs(part.pairs[0].first, size, rng, HANGS)
        took = time.perf_counter() - begun
    fitting = int(SHARE * seconds * size / took / 2)
    return min(most, max(LEAST_RUNS, fitting // 100 * 100))


def audit(
    library: Library, name: str, python: Path, seconds: float, runs: int
) -> dict[str, object]:
    """One row: what was found, or why nothing was."""
    request = AuditRequest(
        f"{library.name}:{name}",
        confidence=CONFIDENCE,
        seed=SEED,
        tolerance=TOLERANCE,
        timeout=HANGS,
        time_limit=seconds,
        outside=Outside(python=str(python)),
    )
    begun = time.perf_counter()
    row: dict[str, object] = {
        "date": str(datetime.date.today()),
        "limit": seconds,
        "tolerance": TOLERANCE,
    }
    try:
        plans, identity = plan(request)
        check_answers(plans[0])
        request = replace(request, max_runs=affordable(plans[0], seconds, runs))
        entry = run_plans(plans, request, identity).entries[0]
    except DpcheckError as error:
        return row | {"verdict": "error", "error": str(error)[:300]}
    finally:
        end_programs()
    observed = entry.observed
    return row | {
        "verdict": str(entry.verdict),
        "claim": [entry.claim.budget.epsilon, entry.claim.budget.delta],
        "whole_curve": entry.claim.event is not None,
        "adjacency": str(entry.claim.adjacency),
        "observed": [observed.epsilon, observed.delta],
        "method": str(observed.method),
        "detectable": observed.detectable,
        "calls": 2 * (observed.runs + observed.learning_runs),
        "max_runs": request.max_runs,
        "notes": [note for note in entry.notes if not note.startswith("pair ")],
        "seconds": round(time.perf_counter() - begun, 1),
    }


def is_final(row: dict[str, object], seconds: float) -> bool:
    """Whether a row stands: not an error, and not left undecided in less time than there is now."""
    verdict, limit = row["verdict"], float(str(row.get("limit", 0.0)))
    return verdict != "error" and not (verdict == "undecided" and limit < seconds)


def run_library(
    library: Library, environments: Path, seconds: float, runs: int, only: list[str]
) -> None:
    python = environments / library.name / "bin/python"
    if not python.exists():
        print(f"{library.name}: no environment, left out", flush=True)
        return
    path = RESULTS / f"{library.name}.json"
    version = installed(python, library)
    kept = json.loads(path.read_text()) if path.exists() else {}
    if kept.get("version") != version:
        kept = {"library": library.name, "version": version, "rows": {}}
    kept |= {
        "seed": SEED,
        "confidence": CONFIDENCE,
        "machine": f"two-core {platform.machine()}",
        "dpcheck": dpcheck.__version__,
    }
    rows = {name: row for name, row in kept["rows"].items() if name in library.targets}
    for name in only or library.targets:
        if name in rows and not only and is_final(rows[name], seconds):
            continue
        rows[name] = audit(library, name, python, seconds, runs)
        print(library.name, name, rows[name], flush=True)
        path.write_text(json.dumps(kept | {"rows": rows}, indent=1, default=str) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="libraries; all of them by default")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--seconds", type=float, default=30.0, help="for each mechanism")
    parser.add_argument("--runs", type=int, default=MAX_RUNS, help="a side, for each mechanism")
    parser.add_argument("--only", action="append", default=[], help="run these anew")
    options = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    known = libraries()
    for name in options.names or known:
        if name not in known:
            sys.exit(f"the catalogue has no library {name}; it has {', '.join(known)}")
        run_library(known[name], options.environments, options.seconds, options.runs, options.only)


if __name__ == "__main__":
    main()
