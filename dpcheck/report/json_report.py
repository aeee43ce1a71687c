"""The report a program reads; the schema is `dpcheck.report/1`."""

from __future__ import annotations

import json

from dpcheck.core.audit_result import AuditReport
from dpcheck.report.page import topics


def render(report: AuditReport) -> str:
    """One JSON object; infinity is the string "inf", NaN is impossible."""
    summary = [{"heading": t.heading, "sentences": list(t.sentences)} for t in topics(report)]
    return json.dumps(report.to_dict() | {"summary": summary}, indent=2, allow_nan=False)
