"""Every claim of the five papers, what is true, and the proof: the board in docs/verdicts.md.

    python benchmarks/verdict_board.py                # audit what is missing, then write the page
    python benchmarks/verdict_board.py --only pst_h   # audit this one anew

The registry says what to show (`Audit.judgement`); the figures come from running the audits. Results are
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
from dpcheck.session.judgement import Exhibit, Grade, Judgement

DOCS = Path(__file__).parents[1] / "docs"
DATA, PAGE = DOCS / "verdicts.json", DOCS / "verdicts.md"
SEED = 2018
BOLD = {"violated"}  # what a reader must not miss
UNCLAIMED = "no finite epsilon"  # of what claims none


def command(name: str, exhibit: Exhibit) -> list[str]:
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
        f"{SEED}; do not edit. Every claim is read twice: to the letter, and as favourably as the text "
        "allows. *proved* bounds from above what the described algorithm spends, *observed* bounds from "
        "below what its code leaks; a violated claim has a counterexample that the command prints. The "
        "grade is the worst that may fairly be said:",
        "",
        *(f"- **{grade}**: {grade.meaning}" for grade in Grade),
        "",
        "The noise of both stacking papers carries one misprint: the plus sign in its density "
        "([Guo2018] Algorithm 1 line 8 and Algorithm 3 line 10, [Yao2019] Algorithm 1 step 8 "
        "and Algorithm 3 step 11). It is graded once, under plr, and read as a minus everywhere else, as "
        "otherwise nothing could be run.",
    ]
    by_paper: dict[str, list[registry.Audit]] = {}
    for name in registry.names():
        audit = registry.get(name)
        if audit.judgement is not None:
            by_paper.setdefault(audit.paper, []).append(audit)
    for paper, audits in sorted(by_paper.items()):
        lines += ["", f"## [{paper}]", ""]
        lines += [
            "| algorithm | grade | to the letter | most favourable reading |",
            "|---|---|---|---|",
            *(_summary(audit, results) for audit in audits),
        ]
        for audit in audits:
            lines += ["", *_details(audit, results)]
    return "\n".join(lines).rstrip() + "\n"


def _result(audit: registry.Audit, exhibit: Exhibit, results: dict[str, dict]) -> dict:
    return results["dpcheck " + shlex.join(command(audit.name, exhibit))]


def _summary(audit: registry.Audit, results: dict[str, dict]) -> str:
    judged = audit.judgement
    cells = []
    for reading in (judged.literal, judged.favourable):
        if isinstance(reading, str):
            cells.append("cannot be run" if "nothing to run" in reading else "none")
            continue
        parts = _result(audit, reading, results)["parts"]
        verdicts = dict.fromkeys(part["verdict"] for part in parts)
        if judged.grade is Grade.NO_CLAIM:
            cells.append(UNCLAIMED if "violated" in verdicts else next(iter(verdicts)))
        elif len(verdicts) == 1 or len(parts) > 2:
            cells.append(_word(next(iter(verdicts))))
        else:
            cells.append(", ".join(f"{p['part']} {_word(p['verdict'])}" for p in parts))
    return f"| [{audit.name}](#{audit.name.replace('_', '-')}) | {judged.grade} | {cells[0]} | {cells[1]} |"


def _word(verdict: str) -> str:
    return f"**{verdict}**" if verdict in BOLD else verdict


def _details(audit: registry.Audit, results: dict[str, dict]) -> list[str]:
    judged = audit.judgement
    lines = [f"### {audit.name}", "", f"*{judged.grade}.* {judged.why}", ""]
    titles = {id(judged.literal): "To the letter", id(judged.favourable): "Most favourable reading"}
    for reading in (judged.literal, judged.favourable):
        if isinstance(reading, str):
            lines += [f"{titles[id(reading)]}: {reading}", ""]
    if judged.exhibits:
        lines += [
            "| reading | part | claim | proved | observed | verdict |",
            "|---|---|---|---|---|---|",
        ]
    for exhibit in judged.exhibits:
        for part in _result(audit, exhibit, results)["parts"]:
            lines.append(_row(exhibit.variant, part, judged.grade))
    lines.append("")
    for exhibit in judged.exhibits:
        lines += _note(_kind(judged, exhibit), exhibit, _result(audit, exhibit, results))
    lines += ["Supplied by us, because the paper does not say:", ""]
    lines += [f"- {text}" for text in judged.inferred]
    lines += ["", f"Looked up in: {'; '.join(judged.places)}."]
    return lines


def _kind(judged: Judgement, exhibit: Exhibit) -> str:
    kinds = []
    if exhibit == judged.literal:
        kinds.append("to the letter")
    if exhibit == judged.favourable:
        kinds.append("most favourable reading")
    return " and ".join(kinds) or "further"


def _row(variant: str, part: dict, grade: Grade) -> str:
    claim, proved, observed = part["claim"], part["proved"], part["observed"]
    at = f", {claim['delta']:g}" if claim["delta"] else ""
    if grade is Grade.NO_CLAIM and part["verdict"] == "violated":
        # An epsilon that nobody claimed is not broken: there is none.
        return f"| {variant} | {part['part']} | none | nothing | ≥\u00a0inf | {UNCLAIMED} |"
    above = f"≤\u00a0{short(proved['epsilon'])}" if proved else "nothing"
    return (
        f"| {variant} | {part['part']} | {short(claim['epsilon'])}{at} | {above} "
        f"| ≥\u00a0{short(observed['epsilon'])} | {_word(part['verdict'])} |"
    )


def _note(kind: str, exhibit: Exhibit, result: dict) -> list[str]:
    sources = dict.fromkeys(part["claim"]["source"] for part in result["parts"])
    methods = dict.fromkeys(part["observed"]["method"] for part in result["parts"])
    return [
        f"**{exhibit.variant}** ({kind}). {exhibit.finding} Tested: {'; '.join(sources)}. Observed by "
        f"{', '.join(methods)} ({result['date']}, {result['machine']}).",
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
        judged = registry.get(name).judgement
        for exhibit in judged.exhibits if judged else ():
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
