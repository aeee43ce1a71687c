"""Every registered audit and variant before and after a change: the same verdicts and figures?

    python benchmarks/same_verdicts.py collect before.json
    python benchmarks/same_verdicts.py compare before.json after.json

`collect` runs `dpcheck audit NAME --variant V --format json --seed 7` for each and keeps the entries;
it continues a file that is there. `compare` exits 1 if a verdict, a claim, a bound or a witness differs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

# An audit that needs a budget of its own; all others are asked for epsilon 1.
BUDGETS = {
    "dpda": ["--eps", "4", "--delta", "1e-5"],
    "g_dpda": ["--eps", "4", "--delta", "1e-5"],
    ("ftl", "private"): ["--eps", "8", "--delta", "1e-5"],
}
COMPARED = ("claim", "proved", "observed", "witness", "verdict", "notes", "spending", "tie")
# Python code and names of modules inside a witness may change with the layout.
NOT_FIGURES = {"python", "command"}


def listed() -> list[tuple[str, str]]:
    """(audit, variant) of everything `dpcheck list` knows."""
    done = _dpcheck("list", "--format", "json")
    audits = json.loads(done.stdout)
    return [(audit["name"], variant) for audit in audits for variant in audit["variants"]]


def _dpcheck(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "dpcheck", *words], capture_output=True, text=True)


def collect(path: Path) -> None:
    found = json.loads(path.read_text()) if path.exists() else {}
    for name, variant in listed():
        key = f"{name} {variant}"
        if key in found:
            continue
        budget = BUDGETS.get((name, variant)) or BUDGETS.get(name) or ["--eps", "1"]
        words = ["audit", name, "--variant", variant, *budget, "--format", "json", "--seed", "7"]
        done = _dpcheck(*words, "--jobs", "1")
        report = json.loads(done.stdout) if done.stdout.strip() else {}
        found[key] = {"exit": done.returncode, "audits": report.get("audits", done.stderr)}
        print(f"{key}: exit {done.returncode}", flush=True)
        path.write_text(json.dumps(found, indent=1, sort_keys=True))


def _figures(value: object) -> object:
    if isinstance(value, dict):
        return {k: _figures(v) for k, v in value.items() if k not in NOT_FIGURES}
    if isinstance(value, list):
        return [_figures(item) for item in value]
    return value


def compare(before: Path, after: Path) -> int:
    old, new = (json.loads(path.read_text()) for path in (before, after))
    differing = 0
    for key in sorted(old.keys() | new.keys()):
        if key not in old or key not in new:
            print(f"{key}: only in {before if key in old else after}")
            differing += 1
            continue
        sides = [_entries(file[key]) for file in (old, new)]
        if sides[0] != sides[1]:
            print(f"{key}: differs")
            for first, second in zip(*sides, strict=False):
                if first != second:
                    print(
                        f"  before {json.dumps(first)[:2000]}\n  after  {json.dumps(second)[:2000]}"
                    )
            differing += 1
    print(f"{len(old)} audits compared, {differing} differ")
    return 1 if differing else 0


def _entries(kept: dict[str, object]) -> list[object]:
    audits = kept["audits"]
    if not isinstance(audits, list):
        return [kept["exit"], audits]
    entries = [{name: _figures(entry.get(name)) for name in COMPARED} for entry in audits]
    return [kept["exit"], *entries]


def main() -> int:
    if len(sys.argv) == 3 and sys.argv[1] == "collect":
        collect(Path(sys.argv[2]))
        return 0
    if len(sys.argv) == 4 and sys.argv[1] == "compare":
        return compare(Path(sys.argv[2]), Path(sys.argv[3]))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
