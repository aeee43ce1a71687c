"""The report as markdown, for summaries and pull requests."""

from __future__ import annotations

from dpcheck.core.audit_result import AuditEntry, AuditReport
from dpcheck.report.page import topics
from dpcheck.report.summary import BUDGET_HEADERS, budget_row, status
from dpcheck.report.text import row
from dpcheck.report.words import finding


def render(report: AuditReport) -> str:
    """The first page in words, tables, then the notes."""
    headers = ["audit", "variant", "part", "claimed eps", "proved", "observed", "verdict"]
    rows = [[entry.name, entry.variant, *row(entry)] for entry in report.entries]
    marks = [status(entry) for entry in report.entries]
    if any(marks):
        headers.append("note")
        rows = [[*cells, mark] for cells, mark in zip(rows, marks, strict=True)]
    lines = []
    for topic in topics(report):
        lines += [f"**{topic.heading}**", ""]
        lines += [*(f"- {_safe(text)}" for text in topic.sentences), ""]
    lines += _table(headers, rows) if rows else []
    for entry in report.entries:
        lines += _notes(entry)
    if report.budgets:
        lines += ["", *_table(BUDGET_HEADERS, [budget_row(entry) for entry in report.budgets])]
    if report.complaints:
        lines += ["", *(f"- baseline: {_safe(text)}" for text in report.complaints)]
    return "\n".join(lines)


def _notes(entry: AuditEntry) -> list[str]:
    seen = entry.observed
    lines = [
        f"- **{_safe(entry.name)}/{_safe(entry.part)}**: {entry.verdict}. "
        f"{_safe(finding(entry))} Observed by "
        f"{seen.method} at confidence {seen.confidence:.6g}"
        + (f", {seen.effort}" if seen.runs else "")
    ]
    if entry.accepted is not None:
        lines.append(f"  - accepted: {_safe(entry.accepted)}")
    lines += [f"  - note: {_safe(note)}" for note in entry.notes]
    witness = {k: v for k, v in (entry.witness or {}).items() if k not in ("python", "replay")}
    for key, value in witness.items():
        text = str(value)
        lines.append(f"  - {_safe(key)}: {_safe(text if len(text) <= 160 else text[:157] + '...')}")
    if entry.witness is not None and isinstance(entry.witness.get("python"), str):
        lines += ["", "```python", str(entry.witness["python"]).rstrip(), "```", ""]
    return lines


def _table(headers: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(headers) + " |", "|" + "---|" * len(headers)]
    lines += [
        "| " + " | ".join(_safe(cell).replace("|", "\\|") for cell in cells) + " |"
        for cells in rows
    ]
    return [*lines, ""]


def _safe(text: str) -> str:
    """Names and reasons are somebody's text: no markup, no line breaks."""
    text = " ".join(text.split())
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("`", "\\`")
