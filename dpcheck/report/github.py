"""The report as GitHub workflow commands: an annotation per entry."""

from __future__ import annotations

from dpcheck.core.audit_result import AuditReport
from dpcheck.core.verdict import Verdict
from dpcheck.report.text import budget

_LEVEL = {
    Verdict.HOLDS: "notice",
    Verdict.CONSISTENT: "notice",
    Verdict.UNDECIDED: "warning",
    Verdict.VIOLATED: "error",
}


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def render(report: AuditReport) -> str:
    """One line per entry; text is escaped as workflow commands want it."""
    lines = []
    for entry in report.entries:
        claim, seen = entry.claim.budget, entry.observed
        message = (
            f"claimed epsilon {budget(claim.epsilon, claim.delta)}, observed at least "
            f"{budget(seen.epsilon, seen.delta)} (confidence {seen.confidence:.6g})"
        )
        title = f"dpcheck {entry.name}/{entry.part} ({entry.variant}): {entry.verdict}"
        title = _escape(title).replace(":", "%3A").replace(",", "%2C")
        lines.append(f"::{_LEVEL[entry.verdict]} title={title}::{_escape(message)}")
    return "\n".join(lines)
