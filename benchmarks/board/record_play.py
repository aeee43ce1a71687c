"""What Re:cord-play published, and which of it `dpcheck audit` finds; writes docs/benchmarks/record-play.md.

    python benchmarks/board/record_play.py [--environments .venv-libraries] [NAME ...]

Each finding in reach is a file of benchmarks/board/published/, audited in the environment of its library by
`dpcheck audit --python`. smartnoise-synth 1.0.5 needs one of its own, smartnoise-synth-1.0.5. Results are
kept in benchmarks/results/record_play.json; without names only the page is written.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGETS = ROOT / "benchmarks/board/published"
RESULTS = ROOT / "benchmarks/results/record_play.json"
PAGE, HEAD = ROOT / "docs/benchmarks/record-play.md", ROOT / "benchmarks/board/record_play.md"
# Per finding: the environment and what the file is about, for those in reach.
ENVIRONMENTS = {
    "linear_regression": "diffprivlib",
    "label_set": "diffprivlib",
    "covariance": "smartnoise-synth-1.0.5",
    "domain": "dpmm",
    "number_of_records": "opacus",
}


def glue(name: str) -> int:
    """Lines with code, as a reader counts them: no blank lines, no docstring, no comments."""
    tree = ast.parse((TARGETS / f"{name}.py").read_text())
    lines: set[int] = set()
    for node in tree.body[1:]:  # the first is the docstring
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        lines |= set(range(first, (node.end_lineno or first) + 1))
    return len(lines)


def audit(name: str, environments: Path) -> dict[str, object]:
    """One run as a user would start it."""
    python = environments / ENVIRONMENTS[name] / "bin/python"
    words = [sys.executable, "-m", "dpcheck", "audit", f"{TARGETS / name}.py:target"]
    words += ["--python", str(python), "--format", "json", "--seed", "0", "--time-limit", "300"]
    begun = time.perf_counter()
    done = subprocess.run([*words, "--jobs", "1"], capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{name}: {done.stderr[-500:]}")
    entry = json.loads(done.stdout)["audits"][0]
    observed = entry["observed"]
    return {
        "verdict": entry["verdict"],
        "claim": [entry["claim"]["epsilon"], entry["claim"]["delta"]],
        "observed": [observed["epsilon"], observed["delta"]],
        "calls": 2 * (observed["runs"] + observed.get("learning_runs", 0)),
        "seconds": round(time.perf_counter() - begun, 1),
        "date": str(datetime.date.today()),
    }


def table(results: dict[str, dict]) -> str:
    """The findings in reach."""
    lines = [
        "| finding | verdict | claim | proved: at least | calls | lines of glue |",
        "|---|---|---|---|---|---|",
    ]
    for name in ENVIRONMENTS:
        about = ast.get_docstring(ast.parse((TARGETS / f"{name}.py").read_text())) or ""
        row = results.get(name)
        if row is None:
            lines.append(f"| {about} | not run | | | | {glue(name)} |")
            continue
        epsilon, delta = row["claim"]
        least, at = row["observed"]
        claim = f"({epsilon:.3g}, {delta:.3g})" if delta else f"{epsilon:.3g}"
        seen = f"{float(least):.3g}" + (f" at delta {at:.2g}" if at else "")
        lines.append(
            f"| {about} | {row['verdict']} | {claim} | {seen} | {row['calls']:,} | {glue(name)} |"
        )
    dates = sorted({row["date"] for row in results.values()})
    lines += [
        "",
        f"{', '.join(dates)}, two-core x86_64 shared with other work, seed 0, confidence 0.999.",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*ENVIRONMENTS, []])
    parser.add_argument("--environments", type=Path, default=ROOT / ".venv-libraries")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in options.names:
        results[name] = audit(name, options.environments)
        print(name, results[name], flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(HEAD.read_text().replace("TABLE", table(results)), encoding="utf-8")
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
