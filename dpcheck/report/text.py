"""The report a person reads in a terminal."""

from __future__ import annotations

import json

from dpcheck.core.audit_result import AuditEntry, AuditReport
from dpcheck.core.verdict import Verdict
from dpcheck.report.page import made_lines
from dpcheck.report.words import MEANING, accountant, budget, finding, for_a_person

_LONG = 12  # lines of a program; a longer one is named, not printed


def table(headers: list[str], rows: list[list[str]]) -> str:
    """Aligned columns."""
    widths = [max(len(row[i]) for row in [headers, *rows]) for i in range(len(headers))]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in [headers, ["-" * w for w in widths], *rows]
    ]
    return "\n".join(lines)


def row(entry: AuditEntry) -> list[str]:
    """The cells of one entry."""
    claim, proved, seen = entry.claim.budget, entry.proved, entry.observed
    return [
        entry.part,
        budget(claim.epsilon, claim.delta),
        "-" if proved is None else "<= " + budget(proved.epsilon, proved.delta),
        ">= " + budget(seen.epsilon, seen.delta),
        str(entry.verdict),
    ]


HEADERS = ["part", "claimed eps", "proved", "observed", "verdict"]


def render(report: AuditReport) -> str:
    """The whole report."""
    blocks = []
    groups: dict[tuple[str, str], list[AuditEntry]] = {}
    for entry in report.entries:
        groups.setdefault((entry.name, entry.variant), []).append(entry)
    for (name, variant), entries in groups.items():
        blocks.append(f"{name} ({variant})\n")
        blocks.append(table(HEADERS, [row(entry) for entry in entries]) + "\n")
        blocks += [details(entry) for entry in entries]
    blocks.append(
        f"proved: no attacker can do better. observed: what an attack on the real code achieves.\n"
        f"false alarms: at most {1 - report.confidence:.2g} for the whole command. "
        f"seed {report.seed}."
    )
    return "\n".join([*blocks, "", *made_lines(report)])


def details(entry: AuditEntry) -> str:
    """Everything known about one entry, over several lines."""
    seen = entry.observed
    lines = [f"{entry.part}: {entry.verdict}, {MEANING[entry.verdict]}."]
    lines.append(f"  finding   {finding(entry)}")
    lines.append(f"  means     {for_a_person(entry)}")
    lines.append(f"  claim     {entry.claim.source}, {entry.claim.adjacency} neighbours")
    if entry.proved is not None:
        lines.append(f"  proved    by {accountant(entry.proved.method)}")
        lines += [f"            assuming {text}" for text in entry.proved.assumes]
    if entry.conformance is not None:
        lines.append(f"  checked   {entry.conformance}")
    how = f"  observed  by {seen.method}, confidence {seen.confidence:.6g}"
    if seen.runs:
        how += f", {seen.effort}"
        how += f" after {seen.learning_runs:,} for learning" if seen.learning_runs else ""
    lines.append(how)
    if entry.verdict is Verdict.VIOLATED:
        lines += witness_lines(entry)
    lines += [f"  note      {note}" for note in entry.notes]
    return "\n".join(lines) + "\n"


def witness_lines(entry: AuditEntry) -> list[str]:
    """The witness, if there is one: what to look at, and how to see it again."""
    if entry.witness is None:
        return []
    lines = ["  witness"]
    for key, value in entry.witness.items():
        if key in ("python", "replay"):
            continue
        text = json.dumps(value)
        lines.append(f"    {key}: {text if len(text) <= 160 else text[:157] + '...'}")
    code = entry.witness.get("python")
    if isinstance(code, str):
        program = code.rstrip().splitlines()
        if len(program) > _LONG:
            lines.append(
                f"    as Python: a program of {len(program)} lines; dpcheck audit --witness FILE saves "
                "it, --replay FILE runs it"
            )
        else:
            lines += ["    as Python:", *("      " + line for line in program)]
    return lines
