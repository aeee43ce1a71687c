"""The report as JUnit XML, which every CI service reads: a part is a test case."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from dpcheck.core.audit_result import AuditEntry, AuditReport, BudgetEntry, Standing
from dpcheck.core.verdict import Verdict
from dpcheck.report.page import made_lines
from dpcheck.report.text import details
from dpcheck.report.words import budget, claim, figure, finding

# What XML 1.0 cannot carry, however it is escaped.
_UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Violated is a failure. Undecided is an error: nothing was found out, and it must not look green.
_OUTCOME = {Verdict.VIOLATED: "failure", Verdict.UNDECIDED: "error"}


def render(report: AuditReport) -> str:
    """One suite."""
    suite = ElementTree.Element("testsuite", name="dpcheck")
    facts = ElementTree.SubElement(suite, "properties")
    for line in (*made_lines(report), *(f"changed: {text}" for text in report.changes)):
        name, _, value = line.partition(": ")
        ElementTree.SubElement(facts, "property", name=clean(name), value=clean(value))
    for entry in report.entries:
        _audit(suite, entry)
    for account in report.budgets:
        _budget(suite, account)
    for number, text in enumerate(report.complaints):
        case = _case(suite, "dpcheck.baseline", f"entry {number}")
        _add(case, "failure", "baseline", text, text)
    counts = {
        kind: len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error", "skipped")
    }
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    suite.set("skipped", str(counts["skipped"]))
    suite.set("time", f"{sum(entry.seconds for entry in report.entries):.3f}")
    suites = ElementTree.Element("testsuites", dict(suite.attrib))
    suites.append(suite)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _audit(suite: ElementTree.Element, entry: AuditEntry) -> None:
    case = _case(suite, f"dpcheck.{entry.name}", f"{entry.part} ({entry.variant})")
    if entry.location is not None:
        case.set("file", clean(entry.location.path))
        case.set("line", str(entry.location.line))
    case.set("time", f"{entry.seconds:.3f}")
    kind = _OUTCOME.get(entry.verdict)
    if kind is not None:
        short = f"{entry.verdict}: claimed {claim(entry)}. {finding(entry)}"
        _outcome(case, kind, str(entry.verdict), short, details(entry), entry.accepted)
    elif entry.verdict is Verdict.CONSISTENT:
        ElementTree.SubElement(case, "system-out").text = clean(details(entry))


def _budget(suite: ElementTree.Element, entry: BudgetEntry) -> None:
    case = _case(suite, "dpcheck.budgets", entry.dataset)
    if entry.standing is not Standing.WITHIN:
        allowed = budget(entry.budget.epsilon, entry.budget.delta)
        text = (
            f"{entry.standing}: spends {figure(entry.upper)} of {allowed} under {entry.adjacency}"
        )
        full = "\n".join([text, entry.basis, *entry.releases])
        kind = "error" if entry.standing is Standing.UNDECIDED else "failure"
        _outcome(case, kind, "budget", text, full, entry.accepted)


def _outcome(
    case: ElementTree.Element, kind: str, reason: str, short: str, full: str, accepted: str | None
) -> None:
    if accepted is not None:
        _add(case, "skipped", "accepted", f"{short}; {accepted}", full)
    else:
        _add(case, kind, reason, short, full)


def _case(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=clean(group), name=clean(name))


def _add(case: ElementTree.Element, tag: str, kind: str, short: str, full: str) -> None:
    child = ElementTree.SubElement(case, tag, type=kind, message=clean(short))
    child.text = clean(full)


def clean(text: str) -> str:
    """Text with what XML cannot carry replaced."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
