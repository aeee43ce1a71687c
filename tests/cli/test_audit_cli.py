"""`dpcheck audit` and `dpcheck list` as a shell sees them."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from dpcheck.cli.main import main

MECHANISMS = """
import time
import numpy as np
import dpcheck

D, D2 = np.zeros(3), np.array([1.0, 0, 0])
promise = dpcheck.audited(claim=dpcheck.PureDP(1.0), adjacency="replace-one", neighbours=[(D, D2)])


@promise
@dpcheck.batched
def good(data, size, rng):
    return data.sum() + rng.laplace(scale=1.0, size=size)


@promise
@dpcheck.batched
def bad(data, size, rng):
    return data.sum() + rng.laplace(scale=0.8, size=size)


@promise
def raises(data, rng):
    raise ValueError("no such column")


@promise
def returns_code(data, rng):
    return print


@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[([0, 0, 7], [1, 1, 7])])
def two_people(data, rng):
    return sum(data)


@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[([0, 7], [0, 7])])
def nobody_changes(data, rng):
    return sum(data)


@promise
def mutates(data, rng):
    data += 1
    return 0.0


@promise
def hangs(data, rng):
    time.sleep(60)


def undeclared(data, rng):
    return 0.0
"""


@pytest.fixture
def shell(tmp_path, monkeypatch):
    (tmp_path / "mech.py").write_text(MECHANISMS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPCHECK_MAX_RUNS", "60000")

    def run(*arguments):
        result = CliRunner().invoke(main, [*arguments, "--jobs", "1"])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


def test_your_own_file_passes_and_fails(shell):
    good = shell("audit", "mech.py:good")
    assert good.exit_code == 0
    assert "consistent" in good.stdout
    bad = shell("audit", "mech.py:bad")
    assert bad.exit_code == 1
    assert "violated" in bad.stdout
    assert "second: [1.0, 0.0, 0.0]" in bad.stdout
    assert f"Laplace noise moved by {1 / 0.8:g} of its scale" in bad.stdout


def test_json_is_the_contract(shell):
    result = shell("audit", "mech.py:bad", "--format", "json", "--seed", "5")
    report = json.loads(result.stdout)
    assert report["schema"] == "dpcheck.report/1"
    assert report["seed"] == 5
    (entry,) = report["audits"]
    assert {"name", "variant", "part", "claim", "proved", "observed", "witness", "verdict"} <= set(
        entry
    )
    assert set(entry["claim"]) == {"epsilon", "delta", "adjacency", "source"}
    assert {"epsilon", "delta", "confidence", "method", "runs", "detectable"} <= set(
        entry["observed"]
    )
    assert entry["claim"]["epsilon"] == 1.0
    assert entry["observed"]["epsilon"] > 1.0
    assert entry["verdict"] == "violated"
    assert entry["proved"] is None


def test_other_formats_say_the_same(shell):
    markdown = shell("audit", "mech.py:bad", "--format", "markdown").stdout
    assert "| bad | as given | data | 1 | - |" in markdown
    github = shell("audit", "mech.py:bad", "--format", "github").stdout
    assert github.startswith("::error file=mech.py,line=")
    assert "title=dpcheck bad/data (as given)%3A violated::" in github
    assert shell("audit", "mech.py:good", "--format", "github").stdout.startswith("::notice")


def test_gate_flags(shell):
    assert shell("audit", "mech.py:good", "--require-proof").exit_code == 3
    assert shell("audit", "mech.py:good", "--max-runs", "40").exit_code == 3
    assert shell("audit", "mech.py:good", "--max-runs", "40", "--allow-undecided").exit_code == 0
    assert shell("audit", "mech.py:bad", "--eps", "1.4").exit_code == 0


def test_dry_run_runs_nothing(shell):
    result = shell("audit", "mech.py:raises", "--dry-run")
    assert result.exit_code == 0
    assert "distinguisher" in result.stdout


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("mech.py:raises", "DPC401 the mechanism raised ValueError: no such column"),
        ("mech.py:returns_code", "DPC420 the mechanism returned"),
        ("mech.py:two_people", "DPC421 pair 0 is no pair of replace-one neighbours: 2 rows differ"),
        ("mech.py:nobody_changes", "DPC421 pair 0: both datasets have the same rows"),
        ("mech.py:mutates", "DPC403 the mechanism changed the data"),
        ("mech.py:hangs", "DPC404 a run did not finish within 2 s"),
        ("mech.py:undeclared", "DPC405 this function has no claim yet"),
        ("mech.py:missing", "DPC405"),
        ("nofile.py:f", "DPC405 there is no file"),
        ("no.such.module:f", "DPC405 cannot import"),
        ("pplt_fs", "DPC102 no audit is called 'pplt_fs'; did you mean 'pptl_fs'?"),
    ],
)
def test_what_goes_wrong_is_one_line_and_exit_2(tmp_path, here, target, words):
    (tmp_path / "mech.py").write_text(MECHANISMS)
    is_one_line_and_exit_2(here("audit", target, "--timeout", "2"), words)


def is_one_line_and_exit_2(result, words):
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_what_goes_wrong_is_one_line_in_a_process_of_its_own(tmp_path):
    (tmp_path / "mech.py").write_text(MECHANISMS)
    words = [sys.executable, "-m", "dpcheck", "audit", "mech.py:raises", "--jobs", "1"]
    result = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    is_one_line_and_exit_2(result, "DPC401 the mechanism raised ValueError: no such column")


def test_usage_errors(shell):
    assert shell("audit").exit_code == 2
    assert shell("audit", "mech.py:good", "--resume").exit_code == 2
    assert shell("audit", "mech.py:good", "--backend", "dask").exit_code == 2
    assert shell("audit", "mech.py:good", "--format", "xml").exit_code == 2


def test_project_file_and_environment_set_defaults(shell, monkeypatch):
    with open("pyproject.toml", "w") as file:
        file.write("[tool.dpcheck]\nseed = 11\n")
    first = json.loads(shell("audit", "mech.py:good", "--format", "json").stdout)
    assert first["seed"] == 11
    monkeypatch.setenv("DPCHECK_SEED", "12")
    assert json.loads(shell("audit", "mech.py:good", "--format", "json").stdout)["seed"] == 12
    flagged = shell("audit", "mech.py:good", "--format", "json", "--seed", "13").stdout
    assert json.loads(flagged)["seed"] == 13


def test_list_names_every_audit():
    result = CliRunner().invoke(main, ["list", "--format", "json"])
    names = {entry["name"] for entry in json.loads(result.stdout)}
    assert {"plr", "simcomb", "plr_fs", "pptl_fs", "pst_s", "pst_f", "pst_h"} <= names
    assert "pptl_fs" in CliRunner().invoke(main, ["list", "--parameters"]).stdout


SMALL = ("--set", "rows=200", "--set", "regularization=0.0015")


def test_printed_pptl_fs_is_violated_and_its_witness_replays(shell, tmp_path):
    result = shell("audit", "pptl_fs", "--variant", "printed", "--format", "json", *SMALL)
    assert result.exit_code == 1
    source, target = json.loads(result.stdout)["audits"]
    assert (source["part"], target["part"]) == ("source", "target")
    assert target["verdict"] == "violated"
    # theory section 2: n=100, K=5, lam=.0015 with a free centre has the supremum 1.122446.
    assert 1.1213 <= target["observed"]["epsilon"] <= 1.122446
    assert target["observed"]["confidence"] == 1.0
    assert 1.0 < target["witness"]["loss"] <= target["observed"]["epsilon"]
    path = tmp_path / ".dpcheck" / "witness-pptl_fs-printed-target.json"
    again = shell("audit", "--replay", str(path))
    assert again.exit_code == 1
    assert "violated" in again.stdout
    code = subprocess.run(
        [sys.executable, "-c", target["witness"]["python"]],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert float(code.stdout) == pytest.approx(target["witness"]["loss"], abs=1e-9)
    path.write_text(path.read_text().replace('"changed"', '"chonged"'))
    with pytest.raises(Exception, match="DPC406"):
        shell("audit", "--replay", str(path))


def test_corrected_pptl_fs_holds(shell):
    result = shell("audit", "pptl_fs", "--format", "json", *SMALL)
    assert result.exit_code == 0
    for entry in json.loads(result.stdout)["audits"]:
        assert entry["verdict"] == "holds"
        assert entry["observed"]["epsilon"] <= entry["proved"]["epsilon"] <= 1.0
        assert re.search(r"is \S+ times the stated scale, as it should be", entry["tie"])


def test_printed_pst_h_reports_nearly_k_times_its_claim(shell):
    result = shell("audit", "pst_h", "--variant", "printed", "--format", "json")
    source = json.loads(result.stdout)["audits"][0]
    assert source["verdict"] == "violated"
    assert 4.5 <= source["observed"]["epsilon"] <= source["proved"]["epsilon"]


@pytest.mark.parametrize("name", ["plr", "simcomb", "plr_fs", "pst_s", "pst_f", "pst_h"])
def test_every_corrected_algorithm_holds(shell, name):
    result = shell("audit", name, "--format", "json", "--set", "rows=400")
    assert result.exit_code == 0
    assert {e["verdict"] for e in json.loads(result.stdout)["audits"]} == {"holds"}


def test_unknown_settings_and_variants_are_explained(shell):
    with pytest.raises(Exception, match=r"Did you mean"):
        shell("audit", "plr", "--set", "row=3")
    with pytest.raises(Exception, match="has no variant"):
        shell("audit", "plr", "--variant", "fixed")
    with pytest.raises(Exception, match="free, zero"):
        shell("audit", "plr", "--set", "center=one")
    with pytest.raises(Exception, match="takes no delta"):
        shell("audit", "plr", "--delta", "1e-5")
    with pytest.raises(Exception, match="replace-one"):
        shell("audit", "plr", "--adjacency", "add-remove")
