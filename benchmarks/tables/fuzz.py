"""docs/benchmarks/accounting-fuzz.md: what the fuzz of the accountant has covered so far."""

from __future__ import annotations

from collections import Counter

from records import read

from tables.common import made_with, table

RECORD = "accounting_fuzz.jsonl"
GOAL = 100_000
MEANINGS = {
    "truth, upper": "the upper bound is not below a closed form or an enumeration in balls",
    "truth, lower": "the lower bound is not above it",
    "bounds": "0 <= lower <= upper, no number that is none",
    "delta at epsilon": "deltas at and around the proved epsilon: in order, on the right side of delta",
    "delta, upper": "such a delta is not below a closed form or an enumeration in balls",
    "delta, lower": "nor is its lower bound above it",
    "curve": "a larger epsilon never provably needs a larger delta",
    "curve and point": "a delta asked alone is not provably above the same one of a curve",
    "point and curve": "nor below it",
    "order": "a composition in another order has the same answer",
    "more parts": "one more part never provably costs less",
    "steps": "twice as many steps never provably cost less",
    "noise and rate": "more noise at a smaller rate never provably costs more",
    "delta": "a larger delta never provably costs more",
    "adjacency": "leaving a contribution out never provably costs more than replacing it",
    "refused": "ended in a documented refusal",
}


def render() -> dict[str, str]:
    records = read(RECORD)
    if not records:
        return {}
    checks: Counter[str] = Counter()
    for record in records:
        checks.update(record["checks"])
    cases = sum(record["to"] - record["from"] for record in records)
    violations = [violation for record in records for violation in record["violations"]]
    seconds = sum(record["cpu_seconds"] for record in records)
    commits: Counter[str] = Counter()
    for record in records:
        commits[record["commit"]] += record["to"] - record["from"]
    code = ", ".join(f"{count:,} at {commit}" for commit, count in commits.most_common())
    slowest = max(records, key=lambda record: record["slowest"]["seconds"])["slowest"]
    left = (
        f"; {GOAL - cases:,} of the {GOAL:,} that are planned have not been run"
        if cases < GOAL
        else ""
    )
    lines = [
        "# The accountant on random cases",
        "Single mechanisms, repetitions, compositions and wrapped events over the whole range of their "
        "parameters, under every adjacency, with delta from 1e-1 to 1e-100 and 0; from case 100,000 on "
        "compositions of 12 to 200 different mechanisms. What each case is and how "
        "it is checked is in `benchmarks/fuzz/`. The truth comes from the definitions, in ball arithmetic, "
        "without any code of the accountants.",
        f"**{cases:,} cases, {len(violations)} with a violation**{left}. {seconds:,.0f} CPU seconds, "
        f"{seconds / cases:.3f} a case; the slowest (case {slowest['case']}) took {slowest['seconds']:.1f}. "
        f"Commits of the code they ran on: {code}.",
        table(
            ("checked", "times", "what"),
            [(name, f"{count:,}", MEANINGS.get(name, "")) for name, count in checks.most_common()],
        ),
    ]
    if violations:
        rows = [(v["case"], "; ".join(v["what"]), f"`{v['asked']}`") for v in violations]
        lines.append(table(("case", "what", "asked"), rows))
    commits = Counter(record["commit"] for record in records)
    runs = ", ".join(f"{commit} ({count})" for commit, count in commits.items())
    lines += [
        f"Batches by commit: {runs}. What they found is a test in "
        "`tests/unit/accounting`, and its batch was run again, unless it is listed above.",
        made_with(records, "python benchmarks/fuzz/accounting.py").replace(" and `make bench`", ""),
    ]
    return {"accounting-fuzz.md": "\n\n".join(lines) + "\n"}
