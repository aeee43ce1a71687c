"""The first page of a report: the same facts in every format, worded where they were reached."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditEntry, AuditReport, Observed, Proved
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.events.noise import Gaussian
from dpcheck.core.made import Made
from dpcheck.core.method import Method
from dpcheck.core.verdict import Verdict
from dpcheck.report.formats import render
from dpcheck.report.page import topics
from dpcheck.report.words import attack_accuracy, finding, for_a_person

MADE = Made("2026-11-17T10:00:00Z", "A. Uthor", "c0ffee", True, "d1", "d2")
COMMAND = "dpcheck audit mean.py:private_mean --seed 4"


def entry(verdict=Verdict.HOLDS, **changes):
    made = AuditEntry(
        name="private_mean",
        variant="as given",
        part="data",
        claim=Claim(Budget(1.0), Adjacency.ADD_REMOVE, "declared by private_mean"),
        proved=Proved(0.9, 0.0, "pure", ("the number of rows is public",)),
        observed=Observed(0.8, 0.0, 0.999, Method.DISTINGUISHER, 1000, 1.1, 500, 1.0),
        verdict=verdict,
        conformance="its noise is 1.000 times the stated scale",
    )
    return replace(made, **changes)


def report(*entries, **changes):
    made = AuditReport(4, entries or (entry(),), 0.999, {"dpcheck": "0.1.0"}, command=COMMAND)
    return replace(made, made=MADE, **changes)


def page(given):
    return {topic.heading: " ".join(topic.sentences) for topic in topics(given)}


@pytest.mark.parametrize("name", ["text", "json", "markdown", "github", "sarif", "junit", "html"])
def test_every_format_says_who_when_and_from_what(name):
    text = render(report(entry(Verdict.VIOLATED)), name)
    for fact in (MADE.when, MADE.who, MADE.commit, MADE.code, MADE.data, COMMAND, "0.1.0"):
        assert fact in text.replace("%3A", ":"), fact


@pytest.mark.parametrize("name", ["text", "json", "markdown", "github", "sarif", "junit", "html"])
def test_every_format_says_what_was_found(name):
    found = entry(Verdict.VIOLATED)
    text = render(report(found), name)
    assert finding(found) in text
    assert "breaks that promise" in text


def test_an_attacker_is_right_as_often_as_randomized_response_lets_him():
    """Randomized response is the worst (epsilon, 0)-private mechanism: it tells the truth this often."""
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        assert attack_accuracy(epsilon, 0.0) == pytest.approx(
            math.exp(epsilon) / (1 + math.exp(epsilon))
        )
    assert attack_accuracy(0.0, 0.1) == pytest.approx(0.55)  # total variation distance 0.1


def test_a_person_is_told_the_proved_risk_and_never_less():
    told = for_a_person(entry())
    assert "starts at even odds" in told
    assert "at most 71.1%" in told  # e^0.9/(1 + e^0.9) = 0.71095, rounded up
    assert "whether a person is in the data" in told


def test_nothing_is_promised_that_was_not_proved():
    told = for_a_person(entry(Verdict.CONSISTENT, proved=None))
    assert told.startswith("If the claim is true")
    assert "did not prove" in told
    assert (
        "No upper bound"
        in page(report(entry(Verdict.CONSISTENT, proved=None)))["Finding: what is proved"]
    )


def test_what_was_not_looked_at_names_assumptions_and_floats():
    left_out = page(report())["Not shown"]
    assert "floating-point" in left_out
    conditions = page(report())["Conditions: what this depends on"]
    assert "the number of rows is public" in conditions
    assert "the number of rows is public" not in left_out
    looked = report(entry(), entry(floating_point=True))
    assert "--floating-point" not in page(looked)["Not shown"]


def test_a_curve_is_worded_at_the_point_where_it_fails():
    curve = Claim(Budget(0.369, 1e-5), Adjacency.ZERO_OUT, "declared", event=Gaussian(12.0))
    seen = Observed(0.0573, 0.01, 0.999, Method.DISTINGUISHER, 1000, 0.1, 0, 0.021)
    told = finding(entry(Verdict.VIOLATED, claim=curve, observed=seen, proved=None))
    assert told == (
        "At delta 0.01 the claimed curve allows epsilon 0.021, and an attack on the code proves at "
        "least 0.0573."
    )
    assert "0.369" not in told


def test_a_gate_leads_with_what_changed():
    found = topics(report(changes=("ages/data: violated; it was consistent.",)))
    assert found[0].heading == "What changed"
    text = render(report(changes=("ages/data: violated; it was consistent.",)), "markdown")
    assert text.index("it was consistent") < text.index("Scope: what was claimed")


def test_what_is_unknown_is_null_in_json_and_absent_in_words():
    given = replace(report(), made=Made(when="2026-11-17T10:00:00Z"))
    made = json.loads(render(given, "json"))["made"]
    assert made["commit"] is None
    assert "commit" not in render(given, "text")


def test_junit_counts_cases_not_properties():
    root = ElementTree.fromstring(render(report(entry(), entry()), "junit"))
    assert root.get("tests") == "2"


def test_sarif_rules_help():
    rules = json.loads(render(report(), "sarif"))["runs"][0]["tool"]["driver"]["rules"]
    assert all(len(rule["help"]["text"]) > 60 for rule in rules)
