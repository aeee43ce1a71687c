"""SARIF against the published schema, and what it says about each kind of result."""

import json
from pathlib import Path

import jsonschema
import pytest

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import (
    AuditEntry,
    AuditReport,
    BudgetEntry,
    Location,
    Observed,
    Proved,
)
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.verdict import Verdict
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.report import sarif

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas/sarif-2.1.0.json").read_text())
INFINITE = float("inf")


def entry(verdict, *, name="mech.py:noisy", location=None, accepted=None, witness=None):
    claim = Claim(Budget(1.0), Adjacency.REPLACE_ONE, "declared")
    observed = Observed(1.2, 0.0, 0.999, "distinguisher", 65536, INFINITE)
    proved = Proved(INFINITE, 0.0, "pure") if verdict is Verdict.HOLDS else None
    return AuditEntry(
        name,
        "as given",
        "data",
        claim,
        proved,
        observed,
        verdict,
        witness,
        location=location,
        accepted=accepted,
    )


def log_of(*entries, **report):
    log = json.loads(sarif.render(AuditReport(0, entries, **report)))
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(log)
    return log


def test_the_schema_can_fail():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": "2.1.0", "runs": [{"results": []}]}, SCHEMA)


@pytest.mark.parametrize(
    ("verdict", "level", "kind"),
    [(Verdict.VIOLATED, "error", "fail"), (Verdict.UNDECIDED, "warning", "review")],
)
def test_what_needs_somebody_has_a_level(verdict, level, kind):
    (result,) = log_of(entry(verdict))["runs"][0]["results"]
    assert (result["level"], result["kind"]) == (level, kind)
    assert "suppressions" not in result


def test_what_passed_is_no_result():
    log = log_of(entry(Verdict.CONSISTENT), entry(Verdict.HOLDS))
    assert log["runs"][0]["results"] == []


def test_everything_has_a_place():
    log = log_of(entry(Verdict.VIOLATED), complaints=("stale",), file="sub/dpcheck.toml")
    for result in log["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place["uri"] == "sub/dpcheck.toml"


def test_a_violation_shows_its_witness_at_its_line():
    figures = {"first": [0.0], "second": [1.0], "hits_first": 31353}
    witness = Witness(WitnessKind.EVENT, figures)
    found = entry(Verdict.VIOLATED, location=Location("src/my mech.py", 7), witness=witness)
    (result,) = log_of(found)["runs"][0]["results"]
    assert "31353" in result["message"]["text"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/my%20mech.py"
    assert place["region"]["startLine"] == 7


def test_accepted_findings_are_suppressed_with_their_reason():
    found = entry(Verdict.VIOLATED, accepted="known since May (until 2030-01-01)")
    (result,) = log_of(found)["runs"][0]["results"]
    assert result["suppressions"][0]["justification"].startswith("known since May")


def test_budgets_and_stale_baselines_are_results_too():
    def bill(upper):
        return BudgetEntry(
            "people", Budget(1.0), Adjacency.ADD_REMOVE, 0.0, upper, "pure", ("PureDP",)
        )

    log = log_of(budgets=(bill(0.5), bill(INFINITE)), complaints=("x is stale",))
    results = log["runs"][0]["results"]
    assert [r["ruleId"] for r in results] == ["dataset-budget", "baseline"]
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in results)


def test_names_are_somebody_elses_text():
    log = log_of(entry(Verdict.VIOLATED, name='"\\\n\x00\u2028<script>'))
    assert "<script>" in log["runs"][0]["results"][0]["message"]["text"]


def github_complaints(log):
    """What code scanning refuses or hides, by its documentation, beyond the schema."""
    run = log["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    found = [] if len(run["results"]) <= 25_000 else ["too many results"]
    for result in run["results"]:
        places = result.get("locations", [])
        if not places:
            found.append("no location")
        for place in places:
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            if uri.startswith("/") or "://" in uri or ".." in uri.split("/"):
                found.append(f"not relative to the checkout: {uri}")
            if place["physicalLocation"]["region"]["startLine"] < 1:
                found.append("no line")
        if result["ruleId"] not in rules or rules[result["ruleIndex"]] != result["ruleId"]:
            found.append("an unknown rule")
        if not result["message"]["text"].strip() or not result["partialFingerprints"]:
            found.append("no message or fingerprint")
    return found


def test_github_takes_what_a_registered_audit_found():
    from dpcheck.session.locations import locate

    place = locate("pst_h", Path("/nowhere"))
    log = log_of(entry(Verdict.VIOLATED, name="pst_h", location=place))
    assert github_complaints(log) == []
    without = log_of(entry(Verdict.VIOLATED))
    assert github_complaints(without) == ["no location"]  # the probe can fail
