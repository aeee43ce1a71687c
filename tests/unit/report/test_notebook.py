"""What results look like in a notebook."""

import math
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditEntry, AuditReport, Observed, Proved
from dpcheck.core.card import Card, Meter
from dpcheck.core.claim import Claim
from dpcheck.core.verdict import Verdict
from dpcheck.report.notebook import ACCENTS, PLAIN, html
from dpcheck.report.palette import contrast

EVIL = '<img src=x onerror="alert(1)">'


def entry(verdict=Verdict.CONSISTENT, **changes):
    made = AuditEntry(
        "mine",
        "as given",
        "data",
        Claim(dpcheck.Budget(1.0, 1e-5), Adjacency.ZERO_OUT, "me"),
        Proved(0.9, 1e-5, "gdp"),
        Observed(0.8, 1e-5, 0.999, "distinguisher", 10, 1.2),
        verdict,
    )
    return replace(made, **changes)


class Words(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.words, self.tags = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words.append(data)


def words(value):
    return Words(value._repr_html_()).words


def test_an_audit_shows_its_verdict_and_numbers():
    seen = words(entry())
    assert seen[0] == "mine (as given): ≈ consistent"
    for text in ("1 (δ = 1e-05)", "≤ 0.9 (δ = 1e-05)", "≥ 0.8 (δ = 1e-05)", "distinguisher"):
        assert text in seen
    assert "on the output sets tried, would have caught ε ≥ 1.2" in seen


def test_a_report_shows_every_entry():
    lost = entry(Verdict.VIOLATED, observed=Observed(math.inf, 0.0, 1.0, "exact", 0, 1.0))
    html = AuditReport(0, (entry(), lost))._repr_html_()
    assert html.count("<table") == 2
    assert "≥ ∞" in html


def test_bounds_and_ledgers():
    bound = dpcheck.epsilon(dpcheck.PureDP(0.5) * 3)
    assert {"1.5", "pure"} <= set(words(bound))
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(3.0, 1e-5), adjacency="replace-one")
    patients = ledger.dataset("patients <i>", rows=100)
    ledger.spend(patients, dpcheck.PureDP(0.75))
    html = ledger._repr_html_()
    assert {"patients <i>", "0.75 of 3"} <= set(Words(html).words)
    assert "width:25.0%" in html
    assert "<i>" not in html


@pytest.mark.parametrize("field", ["name", "variant", "part", "conformance"])
def test_hostile_texts_are_escaped(field):
    html = entry(**{field: EVIL})._repr_html_()
    assert "<img" not in html
    assert "img" not in Words(html).tags


def test_bars_stay_inside():
    for share, width in ((-1.0, "width:0.0%"), (7.0, "width:100.0%")):
        assert width in html([Card("t", ["h"], [[Meter("x", share)]])])


def test_accents_are_seen_on_light_and_dark_notebooks():
    for name, colour in (*ACCENTS.items(), ("plain", PLAIN)):
        for ground in ("#ffffff", "#111111", "#1e1e1e"):
            assert contrast(colour, ground) >= 3.0, (name, ground)
    assert set(Verdict) == ACCENTS.keys()
