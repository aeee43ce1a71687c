"""`dpcheck prove` as a newcomer runs it, and proofs in `dpcheck audit` and `dpcheck check`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dpcheck.cli.main import main

SOURCE = """
import dpcheck
import numpy as np

PEOPLE = dpcheck.records(age=dpcheck.number(0, 120), rows=1000)


def declared(claim):
    return dpcheck.audited(claim=claim, adjacency="replace-one", records=PEOPLE, form="array")


@declared(1.0)
def within(age, rng):
    return age.mean() + rng.laplace(scale=0.12)


@declared(0.5)
def above(age, rng):
    return age.mean() + rng.laplace(scale=0.12)


@declared(1.0)
def branch(age, rng):
    if age.mean() > 40:
        return 1.0
    return age.mean() + rng.laplace(scale=0.12)
"""


ENDS = """

@declared(1.0)
def ends(age, rng):
    raise RAISED
"""


@pytest.mark.parametrize("raised", ["SystemExit(0)", "KeyboardInterrupt", "GeneratorExit"])
def test_code_that_ends_the_program_is_not_proved(folder, raised):
    (folder / "survey.py").write_text(SOURCE + ENDS.replace("RAISED", raised))
    done = CliRunner().invoke(main, ["prove", "survey.py:ends", "--format", "json"])
    assert done.exit_code == 3
    assert json.loads(done.stdout)["proved"] is False
    assert raised.removesuffix("(0)") in json.loads(done.stdout)["message"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "survey.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, [*arguments])


@pytest.mark.parametrize(("name", "code"), [("within", 0), ("above", 3), ("branch", 3)])
def test_exit_codes(folder, name, code):
    assert run("prove", f"survey.py:{name}").exit_code == code


def test_a_refusal_names_line_and_remedy(folder):
    found = json.loads(run("prove", "survey.py:branch", "--format", "json").stdout)
    line = SOURCE.splitlines().index("    if age.mean() > 40:") + 1
    assert found["line"] == f"survey.py:{line}"
    assert found["kind"] == "private-control"
    assert "np.where" in found["remedy"]
    assert found["code"] == "DPC440"


def test_json_of_a_proof(folder):
    found = json.loads(run("prove", "survey.py:within", "--format", "json").stdout)
    assert found["epsilon"] == 1.0
    assert found["within_claim"] is True
    assert found["releases"][0]["sensitivity"] == pytest.approx(0.12)
    assert found["event"] == {"kind": "Laplace", "noise_multiplier": 2.0}


def test_another_adjacency_has_no_claim(folder):
    result = run("prove", "survey.py:within", "--adjacency", "add-remove")
    assert result.exit_code == 3
    assert "private number of records" in result.output


def test_bad_input(folder):
    result = run("prove", "survey.py:nobody")
    assert result.exit_code != 0
    assert result.exit_code != 3


def test_an_audited_function_holds_by_its_proof(folder):
    result = run(
        "audit", "survey.py:within", "--max-runs", "20000", "--require-proof", "--format", "json"
    )
    entry = json.loads(result.stdout)["audits"][0]
    assert entry["verdict"] == "holds"
    assert entry["proved"]["epsilon"] == 1.0
    assert "the code itself was read" in entry["tie"]


def test_a_check_counts_the_traced_event(folder):
    (folder / "dpcheck.toml").write_text(
        '[[audits]]\ntarget = "survey.py:within"\ndataset = "people"\nmax-runs = 20000\n'
        '[budgets.people]\nepsilon = 1.0\nadjacency = "replace-one"\n'
    )
    found = json.loads(run("check", "--format", "json", "--no-cache").stdout)
    budget = found["budgets"][0]
    assert "proved" in budget["releases"][0]
    assert budget["spent"]["upper"] == pytest.approx(1.0)


def test_a_certificate_is_written_checked_and_refused_when_its_source_changes(folder):
    run = CliRunner().invoke
    assert run(main, ["prove", "survey.py:within", "--certificate", "proof.json"]).exit_code == 0
    checked = run(main, ["verify", "proof.json", "--source", "survey.py"])
    assert checked.exit_code == 0
    assert "epsilon 1 at delta 0" in checked.stdout
    assert "source: survey.py is the file that was read" in checked.stdout
    (folder / "survey.py").write_text(SOURCE + "\n")
    other = run(main, ["verify", "proof.json", "--source", "survey.py"])
    assert other.stdout.startswith("refused: survey.py is not the source")
    report = json.loads((folder / "proof.json").read_text())
    kept = {
        "schema": "dpcheck.report/1",
        "audits": [{"name": "within", "proved": {"certificate": report}}],
    }
    (folder / "report.json").write_text(json.dumps(kept))
    again = run(main, ["verify", "report.json", "--format", "json"])
    assert again.exit_code == 0
    assert any("within: the program spends" in word for word in json.loads(again.stdout)["words"])
    report["claim"]["event"]["noise_multiplier"] *= 2
    (folder / "report.json").write_text(json.dumps(kept))
    assert run(main, ["verify", "report.json"]).stdout.startswith("refused: ")


def test_the_report_of_an_audit_keeps_the_certificate(folder):
    done = CliRunner().invoke(
        main, ["audit", "survey.py:within", "--max-runs", "300", "--format", "json"]
    )
    kept = [each["proved"]["certificate"] for each in json.loads(done.stdout)["audits"]]
    assert kept
    assert all(each["schema"] == "dpcheck.proved/1" for each in kept)
