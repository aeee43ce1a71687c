"""Formats by name."""

from __future__ import annotations

from importlib import import_module

from dpcheck.core.audit_result import AuditReport
from dpcheck.core.errors import UnknownName

FORMATS = {
    "text": "dpcheck.report.text",
    "json": "dpcheck.report.json_report",
    "markdown": "dpcheck.report.markdown",
    "github": "dpcheck.report.github",
}


def render(report: AuditReport, name: str) -> str:
    """The report in a format."""
    if name not in FORMATS:
        raise UnknownName(f"unknown format {name!r}; use one of {', '.join(FORMATS)}.")
    text = import_module(FORMATS[name]).render(report)
    assert isinstance(text, str)
    return text
