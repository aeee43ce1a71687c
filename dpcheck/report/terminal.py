"""The format `text`: the details of one audit, or the table of a project."""

from __future__ import annotations

from dpcheck.core.audit_result import AuditReport, Scope
from dpcheck.report import summary, text

_RENDER = {Scope.AUDIT: text.render, Scope.PROJECT: summary.render}


def render(report: AuditReport) -> str:
    """The whole report."""
    return _RENDER[report.scope](report)
