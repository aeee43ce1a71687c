"""The report as markdown, for summaries and pull requests."""

from __future__ import annotations

from dpcheck.core.audit_result import AuditReport
from dpcheck.report.text import row


def render(report: AuditReport) -> str:
    """One table, then the notes."""
    headers = ["audit", "variant", "part", "claimed eps", "proved", "observed", "verdict"]
    lines = ["| " + " | ".join(headers) + " |", "|" + "---|" * len(headers)]
    for entry in report.entries:
        cells = [entry.name, entry.variant, *row(entry)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines.append("")
    for entry in report.entries:
        seen = entry.observed
        lines.append(
            f"- **{entry.name}/{entry.part}**: {entry.verdict}; observed by {seen.method} at "
            f"confidence {seen.confidence:.6g}"
            + (f", {seen.runs:,} runs a side" if seen.runs else "")
        )
        if entry.witness is not None and isinstance(entry.witness.get("python"), str):
            lines += ["", "```python", str(entry.witness["python"]).rstrip(), "```", ""]
    return "\n".join(lines)
