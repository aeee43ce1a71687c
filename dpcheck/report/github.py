"""The report as GitHub workflow commands: an annotation per entry, beside the code it is about."""

from __future__ import annotations

from dpcheck.core.audit_result import AuditEntry, AuditReport, Standing
from dpcheck.core.verdict import Verdict
from dpcheck.report.page import made_lines
from dpcheck.report.text import witness_lines
from dpcheck.report.words import budget, claim, figure, finding, for_a_person

_LEVEL = {
    Verdict.HOLDS: "notice",
    Verdict.CONSISTENT: "notice",
    Verdict.UNDECIDED: "warning",
    Verdict.VIOLATED: "error",
}
_BUDGET_LEVEL = {
    Standing.WITHIN: "notice",
    Standing.OVERSPENT: "error",
    Standing.VIOLATED: "error",
    Standing.UNDECIDED: "warning",
}


def render(report: AuditReport) -> str:
    """One line per entry; text is escaped as workflow commands want it."""
    lines = [_command("notice", "dpcheck: changed", text) for text in report.changes]
    lines += [_audit(entry) for entry in report.entries]
    for account in report.budgets:
        allowed = budget(account.budget.epsilon, account.budget.delta)
        text = f"releases spend at most {figure(account.upper)} of {allowed}"
        if not account.is_proved:
            text += ", if the claims are true"
        text += f". {account.basis}"
        level = "notice" if account.accepted else _BUDGET_LEVEL[account.standing]
        title = f"dpcheck budget {account.dataset}: {account.standing}"
        lines.append(_command(level, title, text))
    lines += [_command("error", "dpcheck baseline", text) for text in report.complaints]
    lines.append(_command("notice", "dpcheck: how this was made", "\n".join(made_lines(report))))
    return "\n".join(lines)


def _audit(entry: AuditEntry) -> str:
    message = (
        f"claimed {claim(entry)}. {finding(entry)} (confidence "
        f"{entry.observed.confidence:.6g}) {for_a_person(entry)}"
    )
    if entry.verdict is Verdict.VIOLATED:
        message = "\n".join([message, *witness_lines(entry)])
    message = "\n".join([message, *(f"note: {note}" for note in entry.notes)])
    title = f"dpcheck {entry.name}/{entry.part} ({entry.variant}): {entry.verdict}"
    level = "notice" if entry.accepted is not None else _LEVEL[entry.verdict]
    where = {}
    if entry.location is not None:
        where = {"file": entry.location.path, "line": str(entry.location.line)}
    return _command(level, title, message, **where)


def _command(level: str, title: str, message: str, **properties: str) -> str:
    listed = ",".join(
        f"{name}={escape_property(value)}"
        for name, value in (*properties.items(), ("title", title))
    )
    return f"::{level} {listed}::{escape(message)}"


def escape(text: str) -> str:
    """The data of a workflow command, as GitHub's runner decodes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """A property of a workflow command."""
    return escape(text).replace(":", "%3A").replace(",", "%2C")
