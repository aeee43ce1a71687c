"""The report as SARIF 2.1.0, which code-scanning services show beside the code.

Results are what needs somebody: violations, undecided parts, overspent budgets, a baseline that is out
of date. What passed is left out, as services show whatever they are given. An accepted finding is
suppressed with its reason. Services want a place for everything: without one it is the project file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from urllib.parse import quote

from dpcheck.core.audit_result import AuditEntry, AuditReport, BudgetEntry, Location, Standing
from dpcheck.core.data import Plain
from dpcheck.core.verdict import Verdict
from dpcheck.report.text import witness_lines
from dpcheck.report.words import MEANING, budget, claim, figure, finding, for_a_person

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


@dataclass(frozen=True, slots=True)
class Rule:
    """What is demanded, and what somebody who broke it can do."""

    text: str
    help: str


_RULES = {
    "privacy-claim": Rule(
        "The code must not leak more than it claims.",
        "violated: the message holds a counterexample; run it, then add the noise that is missing, "
        "bound what one person contributes, or claim less. undecided: allow more runs (--max-runs) or "
        "give neighbours that differ more. A finding can be accepted for a while with `dpcheck baseline "
        "add`. `dpcheck explain violated` says what the word means.",
    ),
    "dataset-budget": Rule(
        "All releases from a dataset together must stay within its budget.",
        "Release less, claim less for a release, or raise the budget of the dataset in the project "
        "file; an audit that is violated or undecided leaves the sum unproved, whatever it is.",
    ),
    "baseline": Rule(
        "Accepted findings must still be found, and must not have expired.",
        "Remove the entry from the baseline if the finding is gone (`dpcheck baseline prune`), or "
        "accept it again with a reason and a new date.",
    ),
}
_LEVEL = {Verdict.VIOLATED: "error", Verdict.UNDECIDED: "warning"}
_KIND = {Verdict.VIOLATED: "fail", Verdict.UNDECIDED: "review"}


def render(report: AuditReport) -> str:
    """One SARIF log with one run."""
    results = [_audit(entry) for entry in report.entries if entry.verdict in _LEVEL]
    results += [_budget(entry) for entry in report.budgets if entry.standing is not Standing.WITHIN]
    results += [
        _result("baseline", f"baseline/{n}", text) for n, text in enumerate(report.complaints)
    ]
    for result in results:
        if report.file and "locations" not in result:
            result["locations"] = _at(Location(report.file))
    driver = {
        "name": "dpcheck",
        "semanticVersion": version("dpcheck"),
        "rules": [
            {
                "id": name,
                "name": name,
                "shortDescription": {"text": rule.text},
                "fullDescription": {"text": rule.text},
                "help": {"text": rule.help},
            }
            for name, rule in _RULES.items()
        ],
    }
    run = {
        "tool": {"driver": driver},
        "results": results,
        "columnKind": "unicodeCodePoints",
        "properties": {
            "seed": report.seed,
            "confidence": report.confidence,
            "command": report.command,
            "versions": dict(report.versions),
            "made": None if report.made is None else report.made.to_dict(),
            "changes": list(report.changes),
        },
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False)


def _audit(entry: AuditEntry) -> dict[str, Plain]:
    seen = entry.observed
    text = (
        f"{entry.name}/{entry.part} ({entry.variant}): {entry.verdict}, {MEANING[entry.verdict]}. "
        f"Claimed {claim(entry)} under {entry.claim.adjacency}. {finding(entry)} Observed by "
        f"{seen.method} (confidence {seen.confidence:.6g}). {for_a_person(entry)}"
    )
    if entry.verdict is Verdict.VIOLATED:
        text = "\n".join([text, *witness_lines(entry)])
    text = "\n".join([text, *(f"note: {note}" for note in entry.notes)])
    result = _result(
        "privacy-claim",
        f"{entry.name}/{entry.variant}/{entry.part}",
        text,
        level=_LEVEL[entry.verdict],
        kind=_KIND[entry.verdict],
        accepted=entry.accepted,
    )
    if entry.location is not None:
        result["locations"] = _at(entry.location)
    result["properties"] = {
        key: value
        for key, value in entry.to_dict().items()
        if key in ("claim", "proved", "observed", "witness", "origin")
    }
    if result["properties"]["proved"] is not None:
        del result["properties"]["proved"]["certificate"]  # long, and in the JSON report
    return result


def _budget(entry: BudgetEntry) -> dict[str, Plain]:
    text = (
        f"{entry.dataset}: its releases spend at most {figure(entry.upper)} of "
        f"{budget(entry.budget.epsilon, entry.budget.delta)} under {entry.adjacency}: "
        f"{entry.standing}. {entry.basis}."
    )
    undecided = entry.standing is Standing.UNDECIDED
    return _result(
        "dataset-budget",
        f"budgets/{entry.dataset}",
        text,
        level="warning" if undecided else "error",
        kind="review" if undecided else "fail",
        accepted=entry.accepted,
    )


def _result(
    rule: str,
    key: str,
    text: str,
    *,
    level: str = "error",
    kind: str = "fail",
    accepted: str | None = None,
) -> dict[str, Plain]:
    result: dict[str, Plain] = {
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


def _at(where: Location) -> list[dict[str, Plain]]:
    place = {"uri": quote(where.path), "uriBaseId": "%SRCROOT%"}
    region = {"startLine": where.line}
    return [{"physicalLocation": {"artifactLocation": place, "region": region}}]
