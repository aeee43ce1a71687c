"""`dpcheck init`: files that work as written, nothing overwritten, nothing asked that was told."""

from __future__ import annotations

import json
import sys

import pytest
import yaml

from dpcheck.cli.main import run
from dpcheck.core.records import Number, Text
from dpcheck.gate import project
from dpcheck.gate.describing import described_by
from dpcheck.gate.workflow import dpcheck_source, own_needs, workflow
from dpcheck.session.run import AuditRequest, plan

CITIES = ("Oslo", "Rome")
CSV = "age,city,zip code\n" + "".join(f"{20 + i},{CITIES[i % 2]},{100 + i}\n" for i in range(40))
CODE = """
import numpy as np

def mean_age(people):
    return people["age"].clip(0, 100).sum() / 1000 + np.random.laplace(scale=0.1)
"""
FLAGS = ("--eps", "1", "--adjacency", "replace-one", "--data", "people.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "mean.py").write_text(CODE)
    (tmp_path / "people.csv").write_text(CSV)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def init(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpcheck", "init", *arguments])
        with pytest.raises(SystemExit) as end:
            run()
        found = capsys.readouterr()
        return end.value.code, found.out, found.err

    return call


def test_what_it_writes_can_be_audited_and_checked(folder, init):
    code, out, _ = init("mean.py:mean_age", *FLAGS)
    assert code == 0
    assert "next: dpcheck audit dpcheck_mean_age.py:mean_age" in out
    plans, _ = plan(AuditRequest("dpcheck_mean_age.py:mean_age"))
    assert plans[0].claim.budget.epsilon == 1.0
    assert plans[0].pair_search.description.names == ("age", "city", "zip code")
    loaded = project.load(folder / "dpcheck.toml")
    assert loaded.audits[0].target == "dpcheck_mean_age.py:mean_age"
    assert loaded.budgets[0].budget.epsilon == 1.0
    assert "dpcheck check" in (folder / ".github/workflows/privacy.yml").read_text()


def test_nothing_that_exists_is_overwritten(folder, init):
    (folder / "dpcheck.toml").write_text("# mine\n")
    init("mean.py:mean_age", *FLAGS)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, out, _ = init("mean.py:mean_age", "--eps", "9", *FLAGS[2:])
    assert code == 0
    assert out.count("kept") == 3
    assert '[[audits]]\ntarget = "dpcheck_mean_age.py:mean_age"' in out  # what to add by hand
    assert before == {path: path.read_bytes() for path in before}


def test_without_a_terminal_it_names_what_it_was_not_told(folder, init):
    code, _, err = init("mean.py:mean_age", "--eps", "1")
    assert code == 2
    assert "--adjacency, --data" in err
    assert not (folder / "dpcheck.toml").exists()


@pytest.mark.parametrize("target", ["mean.py", "nowhere.py:f", "mean.py:not a name"])
def test_targets_that_cannot_be_imported_are_refused(folder, init, target):
    assert init(target, *FLAGS)[0] == 2
    assert not (folder / "dpcheck.toml").exists()


def test_records_are_guessed_from_a_csv(folder):
    described = described_by("people.csv").records
    assert described.column("age") == Number(20, 60, integer=True, confirmed=False)
    assert described.column("city") == Text(confirmed=False)


@pytest.mark.parametrize("text", ["", "age\n", "a,a\n1,2\n", "rows\n1\n2\n"])
def test_tables_one_cannot_guess_from_are_refused(folder, init, text):
    (folder / "people.csv").write_text(text)
    code, _, err = init("mean.py:mean_age", *FLAGS)
    assert code == 2
    assert "DPC" in err


def test_a_function_that_is_not_there_is_refused_with_what_is(folder, init):
    code, _, err = init("mean.py:mean_aeg", *FLAGS)
    assert code == 2
    assert "it has mean_age" in err
    assert "Did you mean 'mean_age'?" in err
    assert not (folder / "dpcheck.toml").exists()


@pytest.mark.parametrize("code", ["mean_age = lambda people: 0", "from other import mean_age"])
def test_a_function_may_be_bound_in_any_way(folder, init, code):
    (folder / "mean.py").write_text(code)
    assert init("mean.py:mean_age", *FLAGS)[0] == 0


def test_a_file_that_is_no_python_is_refused(folder, init):
    (folder / "mean.py").write_text("def mean_age(:")
    code, _, err = init("mean.py:mean_age", *FLAGS)
    assert code == 2
    assert "cannot read mean.py as Python" in err


def test_no_value_of_a_text_is_written_and_no_guess_is_confirmed(folder, init):
    code, out, _ = init("mean.py:mean_age", *FLAGS)
    written = "".join(p.read_text() for p in folder.rglob("*") if p.suffix in (".toml", ".yml"))
    claim = (folder / "dpcheck_mean_age.py").read_text()
    assert code == 0
    assert not [city for city in CITIES if city in written + claim + out]
    assert claim.partition("RECORDS")[2].count("confirmed=False") == 3
    assert "Nobody has confirmed them" in claim
    plans, _ = plan(AuditRequest("dpcheck_mean_age.py:mean_age"))
    assert plans[0].pair_search.description.guessed == ("age", "city", "zip code")


def test_the_workflow_installs_the_dpcheck_that_wrote_it(folder, init, monkeypatch):
    class Installed:
        version = "0.2.0"
        record = None

        def read_text(self, name):
            return {"direct_url.json": self.record, "INSTALLER": "pip\n"}[name]

    installed = Installed()
    monkeypatch.setattr("dpcheck.gate.workflow.distribution", lambda _name: installed)
    assert dpcheck_source() == "dpcheck==0.2.0"  # from an index
    installed.record = json.dumps(
        {"url": "https://example.org/d.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
    )
    assert dpcheck_source() == "dpcheck @ git+https://example.org/d.git@abc"
    assert "next: say in" not in init("mean.py:mean_age", *FLAGS)[1]
    mine = {"url": "file:///home/me/dpcheck", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
    installed.record = json.dumps(mine)
    assert "/home/me" not in dpcheck_source()
    installed.record = json.dumps({"url": "file:///home/me/dpcheck", "dir_info": {}})
    (folder / ".github/workflows/privacy.yml").unlink()
    code, out, _ = init("mean.py:mean_age", *FLAGS)
    assert code == 0
    assert "not on PyPI yet" in out
    assert "/home/me" not in (folder / ".github/workflows/privacy.yml").read_text()


@pytest.mark.parametrize(
    ("name", "content", "needs"),
    [
        ("requirements.txt", "scipy\n", "-r requirements.txt pandas"),
        ("pyproject.toml", "[project]\nname = 'x'\n", ". pandas"),
        ("pyproject.toml", "[tool.ruff]\n", "pandas"),
        ("pyproject.toml", "not toml", "pandas"),
    ],
)
def test_the_workflow_installs_what_the_project_needs(folder, name, content, needs):
    (folder / name).write_text(content)
    assert own_needs(folder) == needs
    found = yaml.safe_load(workflow(folder))
    assert {"run": f"python -m pip install {needs}"} in found["jobs"]["gate"]["steps"]
