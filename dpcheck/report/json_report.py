"""The report a program reads; the schema is `dpcheck.report/1`."""

from __future__ import annotations

import json

from dpcheck.core.audit_result import AuditReport


def render(report: AuditReport) -> str:
    """One JSON object; infinity is the string "inf", NaN is impossible."""
    return json.dumps(report.to_dict(), indent=2, allow_nan=False)
