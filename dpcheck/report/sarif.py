"""The report as SARIF 2.1.0, which code-scanning services show beside the code.

Every part is a result: a pass says so, an accepted finding is suppressed with its reason.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from dpcheck.core.audit_result import AuditEntry, AuditReport, BudgetEntry
from dpcheck.core.verdict import Verdict
from dpcheck.report.text import MEANING, budget, figure, witness_lines

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_RULES = {
    "privacy-claim": "The code must not leak more than it claims.",
    "dataset-budget": "All releases from a dataset together must stay within its budget.",
    "baseline": "Accepted findings must still be found, and must not have expired.",
}
_LEVEL = {Verdict.VIOLATED: "error", Verdict.UNDECIDED: "warning"}
_KIND = {Verdict.VIOLATED: "fail", Verdict.UNDECIDED: "review"}


def render(report: AuditReport) -> str:
    """One SARIF log with one run."""
    results = [_audit(entry) for entry in report.entries]
    results += [_budget(entry) for entry in report.budgets]
    results += [
        _result("baseline", f"baseline/{n}", text) for n, text in enumerate(report.complaints)
    ]
    driver = {
        "name": "dpcheck",
        "semanticVersion": version("dpcheck"),
        "rules": [
            {"id": name, "name": name, "shortDescription": {"text": text}}
            for name, text in _RULES.items()
        ],
    }
    run = {
        "tool": {"driver": driver},
        "results": results,
        "columnKind": "unicodeCodePoints",
        "properties": {"seed": report.seed, "confidence": report.confidence},
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False)


def _audit(entry: AuditEntry) -> dict[str, Any]:
    claim, seen = entry.claim.budget, entry.observed
    text = (
        f"{entry.name}/{entry.part} ({entry.variant}): {entry.verdict}, {MEANING[entry.verdict]}. "
        f"Claimed epsilon {budget(claim.epsilon, claim.delta)} under {entry.claim.adjacency}, "
        f"observed at least {budget(seen.epsilon, seen.delta)} by {seen.method} "
        f"(confidence {seen.confidence:.6g})."
    )
    if entry.verdict is Verdict.VIOLATED:
        text = "\n".join([text, *witness_lines(entry)])
    result = _result(
        "privacy-claim", f"{entry.name}/{entry.variant}/{entry.part}", text,
        level=_LEVEL.get(entry.verdict, "none"), kind=_KIND.get(entry.verdict, "pass"),
        accepted=entry.accepted,
    )  # fmt: skip
    where = entry.location
    if where is not None:
        physical = {
            "artifactLocation": {"uri": _uri(where.path), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": where.line},
        }
        result["locations"] = [{"physicalLocation": physical}]
    result["properties"] = {
        key: value for key, value in entry.to_dict().items()
        if key in ("claim", "proved", "observed", "witness", "origin")
    }  # fmt: skip
    return result


def _budget(entry: BudgetEntry) -> dict[str, Any]:
    text = (
        f"{entry.dataset}: its releases spend at most {figure(entry.upper)} of "
        f"{budget(entry.budget.epsilon, entry.budget.delta)} under {entry.adjacency}."
    )
    level, kind = ("none", "pass") if entry.within else ("error", "fail")
    return _result(
        "dataset-budget", f"budgets/{entry.dataset}", text,
        level=level, kind=kind, accepted=entry.accepted,
    )  # fmt: skip


def _result(
    rule: str, key: str, text: str, *, level: str = "error", kind: str = "fail",
    accepted: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": list(_RULES).index(rule),
        "level": level,
        "kind": kind,
        "message": {"text": text},
        "partialFingerprints": {"dpcheck/finding/v1": key},
    }
    if accepted is not None and kind == "fail":
        result["suppressions"] = [{"kind": "external", "justification": accepted}]
    return result


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path)
