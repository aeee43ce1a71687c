"""Audit other libraries' mechanisms and write what was found into docs/howto/libraries.md.

    .venv-integrations/bin/python benchmarks/board/audit_libraries.py opendp opacus
    .venv-diffprivlib/bin/python benchmarks/board/audit_libraries.py diffprivlib

Each library runs where it is installed (`make test-integrations` makes both environments); results
are kept in benchmarks/results/libraries.json, row by row. Without names the table is written from
that file; delete it to start afresh.
"""

import importlib.util
import json
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from dpcheck.auditing.mechanism import declaration
from dpcheck.session.assertion import audit_function

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results/libraries.json"
PAGE = ROOT / "docs/howto/libraries.md"
START, END = "<!-- table: python benchmarks/board/audit_libraries.py -->", "<!-- end of table -->"
SEED, CONFIDENCE = 0, 0.9999


def audit_library(name: str, results: dict) -> None:
    """Audit what is not in the results yet for these versions; a killed run loses one row."""
    path = ROOT / f"examples/libraries/{name}_targets.py"
    spec = importlib.util.spec_from_file_location(f"{name}_targets", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    versions = {package: version(package) for package in module.PACKAGES}
    if results.get(name, {}).get("versions") != versions:
        results[name] = {"versions": versions, "rows": []}
    found = results[name]
    found |= {
        "seed": SEED,
        "confidence": CONFIDENCE,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
    rows = found["rows"]
    for target, (mechanism, words) in module.TARGETS.items():
        if any(row["target"] == target for row in rows):
            continue
        said = declaration(mechanism)
        begun = time.perf_counter()
        entry = audit_function(
            mechanism,
            claim=said.claim,
            neighbours=said.neighbours,
            adjacency=said.adjacency,
            confidence=CONFIDENCE,
            seed=SEED,
            **module.OPTIONS,
        )
        rows.append(
            {
                "target": target,
                "mechanism": words,
                "adjacency": str(said.adjacency),
                "claim": [entry.claim.budget.epsilon, entry.claim.budget.delta],
                "curve": entry.claim.event is not None,
                "observed": [entry.observed.epsilon, entry.observed.delta],
                "runs": entry.observed.runs,
                "verdict": str(entry.verdict),
                "detectable": entry.observed.detectable,
                "seconds": round(time.perf_counter() - begun, 1),
            }
        )
        print(name, rows[-1], flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def table(results: dict) -> str:
    lines = [
        "| library | mechanism | adjacency | claim | proved: at least | verdict | runs a side |",
        "|---|---|---|---|---|---|---|",
    ]
    for found in (results[name] for name in sorted(results)):
        label = ", ".join(f"{package} {number}" for package, number in found["versions"].items())
        for row in found["rows"]:
            epsilon, delta = row["claim"]
            claim = f"{epsilon:.3g}" if not delta else f"({epsilon:.3g}, {delta:.0e})"
            claim += ", whole curve" if row["curve"] else ""
            seen, at = row["observed"]
            proved = f"{seen:.2f}" + (f" at delta {at:.2g}" if at else "")
            lines.append(
                f"| {label} | {row['mechanism']} | {row['adjacency']} | {claim} | {proved} | "
                f"**{row['verdict']}** | {row['runs']:,} |"
                if row["verdict"] == "violated"
                else f"| {label} | {row['mechanism']} | {row['adjacency']} | {claim} | {proved} | "
                f"{row['verdict']} | {row['runs']:,} |"
            )
    made = sorted({f"{f['date']}, {f['machine']}" for f in results.values()})
    lines += ["", f"Seed {SEED}, confidence {CONFIDENCE} a row; {'; '.join(made)}."]
    return "\n".join(lines)


def write_page(results: dict) -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{START}\n\n{table(results)}\n\n{END}{tail}", encoding="utf-8")


def main(names: list[str]) -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names:
        audit_library(name, results)
    write_page(results)


if __name__ == "__main__":
    main(sys.argv[1:])
