"""JUnit XML in a parser that is not ours."""

import junitparser

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditEntry, AuditReport, BudgetEntry, Location, Observed
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.verdict import Verdict
from dpcheck.report import github, junit


def entry(verdict, *, name="noisy", accepted=None, location=None):
    claim = Claim(Budget(1.0, 1e-5), Adjacency.ADD_REMOVE, "declared")
    observed = Observed(1.2, 1e-5, 0.999, "distinguisher", 65536, 1.3)
    witness = {"kind": "event", "first": [0.0], "second": [1.0], "hits_first": 31353}
    return AuditEntry(
        name,
        "as given",
        "data",
        claim,
        None,
        observed,
        verdict,
        witness if verdict is Verdict.VIOLATED else None,
        accepted=accepted,
        location=location,
    )


def suite_of(*entries, **report):
    text = junit.render(AuditReport(0, entries, **report))
    (suite,) = junitparser.JUnitXml.fromstring(text.encode())
    return suite


def test_verdicts_become_outcomes():
    suite = suite_of(
        entry(Verdict.VIOLATED),
        entry(Verdict.UNDECIDED),
        entry(Verdict.HOLDS),
        entry(Verdict.VIOLATED, accepted="known (until 2030-01-01)"),
        budgets=(BudgetEntry("people", Budget(1), Adjacency.ADD_REMOVE, 2.0, 2.0, "pure", ("a",)),),
        complaints=("x is accepted but no longer found",),
    )
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (6, 3, 1, 1)
    kinds = [[type(r).__name__ for r in case.result] for case in suite]
    assert kinds == [["Failure"], ["Error"], [], ["Skipped"], ["Failure"], ["Failure"]]
    violated = next(iter(suite)).result[0]
    assert violated.type == "violated"
    assert "31353" in violated.text


def test_what_xml_cannot_carry_is_replaced():
    suite = suite_of(entry(Verdict.VIOLATED, name="a\x00\x1b[31m<&>\"'\ufffe\ud800"))
    (case,) = suite
    assert case.classname == "dpcheck.a\ufffd\ufffd[31m<&>\"'\ufffd\ufffd"


def decode(line):
    """A workflow command as GitHub's runner reads it: split first, unescape then."""
    head, _, message = line.removeprefix("::").partition("::")
    level, _, listed = head.partition(" ")

    def plain(text, codes):
        for code, sign in codes:
            text = text.replace(code, sign)
        return text

    data = [("%0D", "\r"), ("%0A", "\n")]
    both = [*data, ("%3A", ":"), ("%2C", ",")]
    properties = dict(item.split("=", 1) for item in listed.split(","))
    return (
        level,
        {k: plain(v, [*both, ("%25", "%")]) for k, v in properties.items()},
        plain(message, [*data, ("%25", "%")]),
    )


def test_annotations_survive_the_runner():
    name = "a,b:c=d%0A\n::error::x"
    found = entry(Verdict.VIOLATED, name=name, location=Location("src/a,b:c.py", 3))
    text = github.render(AuditReport(0, (found,)))
    assert text.count("\n") == 1  # the finding, and how it was made
    level, properties, message = decode(text.splitlines()[0])
    assert level == "error"
    assert properties["file"] == "src/a,b:c.py"
    assert properties["line"] == "3"
    assert properties["title"] == f"dpcheck {name}/data (as given): violated"
    assert "hits_first: 31353" in message


def test_accepted_findings_are_no_errors():
    text = github.render(AuditReport(0, (entry(Verdict.VIOLATED, accepted="known"),)))
    assert text.startswith("::notice ")
