"""docs/benchmarks/suite.md and false-alarms.md: the auditors' standard benchmark, and the null."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

from records import RESULTS

from .common import Record, made_with, number, rate, table

PUBLISHED = Path(__file__).parents[1] / "published" / "auditor_suite.json"


_SEARCHED = """The standard pair of RAPPOR differs in six bits, which allows 0.3 and, one-time, 0.6, no more.
Here the mechanism gets values and hashes them itself, and the audit tries 24 pairs of values
(`dpcheck.value_pairs`) on learning runs; the worst differ in eight bits."""

FILES = {"suite.md": "auditor_power.json", "false-alarms.md": "false_alarms.json"}


def _read(name: str, first: int | None) -> list[Record]:
    path = RESULTS / name
    return json.loads(path.read_text(encoding="utf-8"))[:first] if path.exists() else []


def _made_from(rows: list[Record], name: str) -> str:
    return f"<!-- made from the first {len(rows)} records of {name} -->\n"


def records_of(page: Path) -> int | None:
    """How many records a page was made from: these benchmarks run for hours, and append."""
    found = re.search(r"made from the first (\d+) records", page.read_text(encoding="utf-8"))
    return int(found[1]) if found else None


def render(made: Path | None = None) -> dict[str, str]:
    """The pages; with `made`, from as many records as the pages in that folder were."""
    pages = {}
    for page, file in FILES.items():
        old = made / page if made is not None else None
        rows = _read(file, records_of(old) if old is not None and old.exists() else None)
        if rows:
            text = _suite(rows) if page == "suite.md" else _false_alarms(rows)
            pages[page] = text + _made_from(rows, file)
    return pages


def _false_alarms(rows: list[Record]) -> str:
    def rates(kind: str) -> str:
        names = list(dict.fromkeys(r["name"] for r in rows if r["kind"] == kind))
        cells = []
        for name in names:
            mine = [r for r in rows if (r["kind"], r["name"]) == (kind, name)]
            total, hits = (sum(r[key] for r in mine) for key in ("audits", "alarms"))
            cells.append((name, rate(hits, total)))
        return table(["audit", "alarms/audits = rate [95% interval]"], cells)

    since = min(row["date"] for row in rows if row["kind"] == "tight null")
    return f"""# False alarms

How often something private is called violated, at a nominal 5%; the intervals are exact.

## Mechanisms exactly as private as they claim

Looked at after every batch, games and whole audits after every call. Everything in this table was measured
on {since} or later; `benchmarks/results/false_alarms.json` has the commits.

{rates("tight null")}

## The same on earlier code

Not added to the table above, which does not have as many audits yet.

{rates("earlier code")}

## Scores that are pure noise: any epsilon above 0 is a false alarm

{rates("pure noise")}

{made_with(rows, "python benchmarks/false_alarms.py --resume")}
"""


def _suite(measured: list[Record]) -> str:
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    rows = []
    for case in published["rows"]:
        mine = [r for r in measured if r["case"] == case["case"]]
        cells = ["–"] * 5
        if mine:
            reached = sum(r["bound"] >= case["target"] for r in mine)
            tests = int(statistics.median(r["test_runs"] for r in mine))
            cells = [
                number(statistics.median(r["bound"] for r in mine), 4),
                f"{reached}/{len(mine)}",
                f"{tests:,}",
                f"{int(statistics.median(r['learning_runs'] for r in mine)):,}",
                f"{published['dp_sniper_test_runs'] / tests:.0f}x",
            ]
        rows.append(
            [
                case["case"],
                number(case["true"], 4),
                number(case["patterns"], 4),
                number(case["dp_sniper"], 4),
                number(case["statdp"], 4),
                number(case["target"], 4),
                *cells,
            ]
        )
    others = sorted({r["case"] for r in measured} - {c["case"] for c in published["rows"]})
    extra = ""
    if others:
        listed = table(
            ["mechanism", "target", "dpcheck ≥ (median)", "reached", "test runs", "learning runs"],
            [_beyond(name, [r for r in measured if r["case"] == name]) for name in others],
        )
        extra = f"\n## Beyond the published patterns\n\n{_SEARCHED}\n\n{listed}\n"
    header = [
        "mechanism",
        "true ε",
        "exact on patterns",
        "DP-Sniper (published)",
        "StatDP (published)",
        "target",
        "dpcheck ≥ (median)",
        "reached",
        "test runs a side",
        "learning runs a side",
        "fewer test runs",
    ]
    return f"""# The auditors' standard benchmark

The mechanisms StatDP, DP-Finder and DP-Sniper are judged on, at claimed epsilon 0.1. Columns marked
*published* are other people's figures and were not measured here: {published["source"]}.
dpcheck's are measured: 99% anytime-valid lower bounds, events learned. A seed may stop once it has
reached its target, so a median just above the target says that it stopped there, not how far it comes.
*Fewer test runs* compares the median with DP-Sniper's 200 million final runs.

{table(header, rows)}
{extra}
{made_with(measured, "python benchmarks/auditor_power.py --resume")}
"""


def _beyond(name: str, rows: list[Record]) -> list[str]:
    target = rows[0]["target"]
    return [
        name,
        number(target, 4),
        number(statistics.median(r["bound"] for r in rows), 4),
        rate(sum(r["bound"] >= target for r in rows), len(rows)),
        f"{int(statistics.median(r['test_runs'] for r in rows)):,}",
        f"{int(statistics.median(r['learning_runs'] for r in rows)):,}",
    ]
