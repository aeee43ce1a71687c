"""Every claim of the five papers, what is true, and the proof: the board in docs/verdicts.md.

    python benchmarks/verdict_board.py                # audit what is missing, then write the page
    python benchmarks/verdict_board.py --only pst_h   # audit this one anew

The registry says what to show (`Audit.exhibits`); the figures come from running the audits. Results are
kept in docs/verdicts.json, so a run that is interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import shlex
import subprocess
import sys
from pathlib import Path

import dpcheck
from dpcheck.session import registry

DOCS = Path(__file__).parents[1] / "docs"
DATA, PAGE = DOCS / "verdicts.json", DOCS / "verdicts.md"
SEED = 2018
WORDS = {
    "holds": "holds",
    "consistent": "not refuted",
    "violated": "**violated**",
    "undecided": "?",
}


def command(name: str, exhibit: registry.Exhibit) -> list[str]:
    return ["audit", name, "--variant", exhibit.variant, *shlex.split(exhibit.arguments)]


def run(arguments: list[str]) -> dict[str, object]:
    program = [sys.executable, "-c", "from dpcheck.cli.main import run; run()"]
    options = ["--seed", str(SEED), "--format", "json"]
    done = subprocess.run([*program, *arguments, *options], capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"dpcheck {shlex.join(arguments)} failed:\n{done.stderr}")
    entries = json.loads(done.stdout)["audits"]
    kept = ("part", "claim", "proved", "observed", "verdict")
    return {
        "command": "dpcheck " + shlex.join(arguments),
        "date": str(datetime.date.today()),
        "dpcheck": dpcheck.__version__,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "parts": [{key: entry[key] for key in kept} for entry in entries],
    }


def short(value: object) -> str:
    return str(value) if isinstance(value, str) else f"{value:.6g}"


def page(results: dict[str, dict]) -> str:
    lines = [
        "# Verdicts on the papers",
        "",
        "Made by `python benchmarks/verdict_board.py` from the registry and from runs of the audits, seed "
        f"{SEED}; do not edit. *proved* bounds what the described algorithm spends from above, *observed* "
        "what the code leaks from below. A violated claim has a counterexample that the command prints.",
    ]
    by_paper: dict[str, list[registry.Audit]] = {}
    for name in registry.names():
        audit = registry.get(name)
        if audit.exhibits:
            by_paper.setdefault(audit.paper, []).append(audit)
    for paper, audits in sorted(by_paper.items()):
        lines += ["", f"## [{paper}]", ""]
        lines += [
            "| algorithm | variant | claim | proved | observed | verdict |",
            "|---|---|---|---|---|---|",
        ]
        notes = []
        for audit in audits:
            for exhibit in audit.exhibits:
                result = results["dpcheck " + shlex.join(command(audit.name, exhibit))]
                for part in result["parts"]:
                    lines.append(_row(audit.name, exhibit.variant, part))
                notes += _note(audit.name, exhibit, result)
        lines += ["", *notes[:-1]]
    return "\n".join(lines).rstrip() + "\n"


def _row(name: str, variant: str, part: dict) -> str:
    claim, proved, observed = part["claim"], part["proved"], part["observed"]
    at = f", {claim['delta']:g}" if claim["delta"] else ""
    above = f"≤\u00a0{short(proved['epsilon'])}" if proved else "nothing"
    return (
        f"| {name}: {part['part']} | {variant} | {short(claim['epsilon'])}{at} | {above} "
        f"| ≥\u00a0{short(observed['epsilon'])} | {WORDS[part['verdict']]} |"
    )


def _note(name: str, exhibit: registry.Exhibit, result: dict) -> list[str]:
    sources = dict.fromkeys(part["claim"]["source"] for part in result["parts"])
    methods = dict.fromkeys(part["observed"]["method"] for part in result["parts"])
    return [
        f"**{name}, {exhibit.variant}.** {exhibit.finding} Claimed in {'; '.join(sources)}. "
        f"Observed by {', '.join(methods)} ({result['date']}, {result['machine']}).",
        "",
        f"    {result['command']}",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="audit these anew")
    options = parser.parse_args()
    results = json.loads(DATA.read_text()) if DATA.exists() else {}
    wanted = {}
    for name in registry.names():
        for exhibit in registry.get(name).exhibits:
            wanted["dpcheck " + shlex.join(command(name, exhibit))] = command(name, exhibit)
    results = {key: value for key, value in results.items() if key in wanted}
    for key, arguments in wanted.items():
        if key not in results or arguments[1] in options.only:
            print(key, file=sys.stderr, flush=True)
            results[key] = run(arguments)
            DATA.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(results))
    print(f"{len(results)} audits in docs/verdicts.md")


if __name__ == "__main__":
    main()
