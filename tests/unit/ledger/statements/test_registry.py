"""Records for the registry of DP deployments: fields and values as its schema has them, nothing made up."""

from __future__ import annotations

import json

import pytest
import yaml

import dpcheck
from dpcheck.core.errors import InvalidParameter
from dpcheck.ledger.statements.fields import ASKED, FILLED, STATUSES, TIERS, VARIANTS
from dpcheck.ledger.statements.nist import summary
from dpcheck.ledger.statements.registry import Verdicts, questions, read_answers, record

# The registry's schema in our own words: table -> its fields. Checked against the published one by hand.
TABLES = {
    "basic": {
        "name",
        "data_curators",
        "intended_use",
        "data_product_type",
        "data_product_region",
        "description",
        "publication_date",
        "data_product_sector",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit",
        "privacy_unit_details",
        "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name",
        "model_name_details",
        "actors",
        "release_type",
        "release_type_details",
        "data_source_type",
        "data_source_type_details",
        "access_type",
        "access_type_details",
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {
        "preprocessing_and_hyperparameter_tuning",
        "mechanisms",
        "justification",
    },
    "administrative": {"sources", "notes", "registry_authors"},
}
ANSWERS = {
    "basic.name": "Visits, by month",
    "basic.data_curators": ["A clinic"],
    "basic.intended_use": "planning",
    "basic.data_product_type": "Summary statistics",
    "basic.data_product_region": "Berlin",
    "basic.description": "Counts of visits.",
    "basic.publication_date": "2026-11-16",
    "administrative.registry_authors": ["Somebody"],
}
UNITS = {"patients": ("person", 1)}


def a_query():
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(1.0), adjacency="add-remove")
    ledger.spend(ledger.dataset("patients", rows=900), dpcheck.PureDP(0.5))
    return ledger.report()


def a_training():
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(3.0, 1e-5), adjacency="add-remove")
    patients = ledger.dataset("patients", rows=60_000)
    ledger.spend(patients, dpcheck.SampledGaussian(4.0, 0.01))
    return ledger.report()


def a_mixed_one():
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(3.0, 1e-5), adjacency="replace-one")
    patients = ledger.dataset("patients", rows=900)
    low, _ = patients.split_rows(2)
    ledger.spend(low, dpcheck.PureDP(0.2))
    ledger.spend(patients, dpcheck.Gaussian(30.0))
    return ledger.report()


@pytest.mark.parametrize("report", [a_query, a_training, a_mixed_one])
def test_fields_and_values_are_those_of_the_registry(report):
    found = record(report(), UNITS, ANSWERS, Verdicts((("noisy_count", "holds"),)))
    assert found.complete
    content = json.loads(found.to_json())
    assert yaml.safe_load(found.to_yaml()) == content
    assert set(content) == {"url_slug", "status", "tier", "deployment"}
    assert content["url_slug"] == "visits-by-month"
    assert content["status"] in STATUSES
    assert content["tier"] in TIERS
    deployment = content["deployment"]
    for table, fields in deployment.items():
        assert set(fields) <= TABLES[table], table
    assert deployment["dp_variant"]["variant_name"] in VARIANTS
    assert deployment["privacy_loss"]["privacy_parameters"]["epsilon"] > 0
    assert "noisy_count: holds" in deployment["administrative"]["notes"]


def test_the_numbers_are_the_ledgers():
    pure = record(a_query(), UNITS, ANSWERS).content["deployment"]
    assert pure["dp_variant"]["variant_name"] == "Pure DP"
    assert pure["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert "so far epsilon 0.5 is proved" in pure["privacy_loss"]["privacy_parameters_details"]
    both = record(a_training(), UNITS, ANSWERS).content["deployment"]
    assert both["dp_variant"]["variant_name"] == "Approximate DP"
    assert both["privacy_loss"]["privacy_parameters"] == {"epsilon": 3.0, "delta": 1e-5}


def test_nothing_that_was_not_said_is_in_the_record():
    """The field that would have to be invented is listed, and nowhere in the record."""
    for left_out in ANSWERS:
        given = {place: value for place, value in ANSWERS.items() if place != left_out}
        found = record(a_query(), UNITS, given)
        assert [each.place for each in found.missing] == [left_out]
        assert not found.complete
        table, _, name = left_out.partition(".")
        assert name not in found.content["deployment"].get(table, {})
    nothing = record(a_query(), UNITS)
    assert {each.place for each in nothing.missing} == set(ANSWERS)
    assert "basic" not in nothing.content["deployment"]
    assert "administrative" not in nothing.content["deployment"]


def test_every_field_of_the_registry_is_asked_for_or_filled_in():
    ours = {each.place for each in ASKED} | set(FILLED)
    assert ours == {f"{table}.{name}" for table, names in TABLES.items() for name in names}


def test_the_file_of_questions_reads_back_once_filled_in(tmp_path):
    path = tmp_path / "answers.toml"
    path.write_text(questions())
    assert read_answers(path) == {}
    text = questions().replace('# name = ""', 'name = "Visits"')
    path.write_text(text.replace("# data_curators = []", 'data_curators = ["A", "B"]'))
    assert read_answers(path) == {"basic.name": "Visits", "basic.data_curators": ["A", "B"]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[basic]\nnam = 'x'", "has no field basic.nam"),
        ("[basic]\ndata_product_type = 'Table'", "must be one of Summary statistics"),
        ("[basic]\nname = ' '", "must not be empty"),
        ("name = 'x'", "stands outside a table"),
        ("[privacy_loss]\nprivacy_unit = 'me'", "is filled in from the ledger"),
        ("[basic", "cannot be read"),
    ],
)
def test_bad_answers_are_refused_with_the_reason(tmp_path, text, says):
    path = tmp_path / "answers.toml"
    path.write_text(text)
    with pytest.raises(InvalidParameter, match=says):
        read_answers(path)


def test_the_summary_for_reviewers_leaves_open_what_is_not_known():
    text = summary(a_query(), UNITS)
    assert text.count("The ledger does not know this") == 3
    assert "so far epsilon 0.5 is proved to be spent" in text
    said = summary(a_query(), UNITS, {"deployment_model.actors": "The clinic sees all."})
    assert "The clinic sees all." in said
    assert said.count("The ledger does not know this") == 2


def test_a_ledger_writes_its_record_or_lists_what_it_was_not_told():
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(1.0), adjacency="add-remove")
    ledger.spend(ledger.dataset("patients", rows=900), dpcheck.PureDP(0.5))
    with pytest.raises(InvalidParameter, match=r"basic.name, basic.data_curators") as refused:
        ledger.statement("registry", answers={"basic.description": "Counts."})
    assert "basic.description" not in str(refused.value)
    told = ledger.statement("registry", answers=ANSWERS, audits=[("count/data", "consistent")])
    assert json.loads(told)["deployment"]["basic"]["name"] == ANSWERS["basic.name"]
    assert "count/data: consistent" in told
    again = ledger.statement(
        "registry-yaml", answers=ANSWERS, audits=[("count/data", "consistent")]
    )
    assert yaml.safe_load(again) == json.loads(told)
    assert "The ledger does not know this" in ledger.statement("nist")
    with pytest.raises(dpcheck.DpcheckError, match="unknown format"):
        ledger.statement("pdf")
