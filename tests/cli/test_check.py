"""`dpcheck check` and `dpcheck baseline` through their entry point, as a shell sees them."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote

import junitparser
import pytest
from project_folder import MECHANISM, ONE

from dpcheck.report.formats import FORMATS

TOMORROW = str(datetime.now(UTC).date() + timedelta(days=1))
YESTERDAY = str(datetime.now(UTC).date() - timedelta(days=1))


def test_a_promise_kept_then_broken_then_kept_again(folder):
    folder.config(ONE)
    assert folder("check") == 0
    assert "consistent" in folder.out
    assert "a word on" not in folder.out
    assert "a word on" in folder.err
    assert folder("check") == 0
    assert "cached" in folder.out
    folder.break_noise()
    assert folder("check") == 1
    assert "cached" not in folder.out
    assert "mech.py:noisy (as given)" in folder.out
    assert "first: [" in folder.out
    assert "at        mech.py:9" in folder.out
    folder.mend_noise()
    report = folder.json()
    assert folder.code == 0
    assert report["audits"][0]["origin"] == "cached"
    assert folder.json("--no-cache")["audits"][0]["origin"] == "run"
    assert folder.json("--seed", "7")["audits"][0]["origin"] == "run"


def test_the_report_carries_digests_of_code_and_of_the_data_description(folder):
    folder.config(ONE)
    first = folder.json("--max-runs", "5000")["made"]
    assert len(first["code"]) == len(first["data"]) == 64
    folder.break_noise(2.0)
    noise = folder.json("--max-runs", "5000")["made"]
    assert noise["code"] != first["code"]
    assert noise["data"] == first["data"]  # the same pair
    (folder.root / "mech.py").write_text(MECHANISM.replace("[1.0, 0, 0]", "[0.5, 0, 0]"))
    pair = folder.json("--max-runs", "5000")["made"]
    assert pair["data"] != first["data"]
    folder("check", "--max-runs", "5000")
    assert f"data description: sha256 {pair['data']}" in folder.out


def test_all_audits_share_one_error_rate(folder):
    folder.config(
        ONE + '[[audits]]\ntarget = "mech.py:other"\nfloating-point = true\nmax-runs = 40\n'
        '[[audits]]\ntarget = "plr"\nset = { rows = 400 }\n'
    )
    report = folder.json("--confidence", "0.99", "--max-runs", "5000")
    rates = {
        f"{e['name']}/{e['part']}": sum(line["share"] for line in e["spending"])
        for e in report["audits"]
    }
    # 1% over three audits; the second has two parts.
    assert rates["mech.py:noisy/data"] == pytest.approx(0.01 / 3)
    assert rates["mech.py:other/data"] == pytest.approx(0.01 / 6)
    assert rates["mech.py:other/floating-point"] == pytest.approx(0.01 / 6)
    assert rates["plr/data"] == pytest.approx(
        0.01 / 3
    )  # its witness is exact and leaves it unspent
    assert sum(rates.values()) <= 0.01 + 1e-12
    assert all(e["observed"]["runs"] != 40 for e in report["audits"])  # a flag wins


def test_a_cached_result_must_have_been_allowed_as_little_error(folder):
    folder.config(ONE)
    assert folder.json("--confidence", "0.99")["audits"][0]["origin"] == "run"
    assert folder.json("--confidence", "0.999")["audits"][0]["origin"] == "run"
    assert folder.json("--confidence", "0.99")["audits"][0]["origin"] == "cached"


def test_reports_and_summary(folder, monkeypatch):
    folder.config(ONE)
    folder.break_noise()
    summary = folder.root / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    files = "sarif=out/a.sarif,junit=out/b.xml"
    assert folder("check", "--format", "github", "--report", files) == 1
    assert folder.out.startswith("::error file=mech.py,line=9,title=dpcheck mech.py%3Anoisy/data")
    assert "second: [1.0, 0.0, 0.0]" in folder.out
    assert f"Laplace noise moved by {1 / 0.8:g} of its scale" in folder.out
    log = json.loads((folder.root / "out/a.sarif").read_text())
    assert log["runs"][0]["results"][0]["level"] == "error"
    (suite,) = junitparser.JUnitXml.fromfile(str(folder.root / "out/b.xml"))
    assert suite.failures == 1
    text = summary.read_text()
    assert text.startswith("before\n## dpcheck\n")
    assert "| mech.py:noisy | as given | data | 1 |" in text
    assert "second: [1.0, 0.0, 0.0]" in text
    assert f"Laplace noise moved by {1 / 0.8:g} of its scale" in text
    assert folder("check", "--format", "markdown") == 1
    assert "| violated | cached |" in folder.out


def test_audit_writes_the_same_reports(folder):
    folder.config("seed = 3")
    assert folder("audit", "mech.py:noisy", "--report", "junit=b.xml", "--format", "json") == 0
    assert json.loads(folder.out)["seed"] == 3
    (suite,) = junitparser.JUnitXml.fromfile("b.xml")
    assert (suite.tests, suite.failures) == (1, 0)


def test_every_format_is_the_same_on_screen_and_in_a_file(folder):
    folder.config(ONE)
    folder.break_noise(0.5)  # SARIF lists findings only
    assert folder("check") == 1  # the rest comes from the cache
    for name in FORMATS:
        assert folder("check", "--format", name, "--report", f"{name}=out") == 1, name
        assert Path("out").read_text().strip() == folder.out.strip()
        assert "mech.py:noisy" in unquote(folder.out)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pdf=a.pdf", "unknown format 'pdf'"),
        ("serif=a", "Did you mean 'sarif'?"),
        ("sarif", "FORMAT=PATH"),
        ("sarif=", "FORMAT=PATH"),
        ("sarif=mech.py/x", "cannot write"),
        ("sarif=.", "cannot write"),
    ],
)
def test_reports_that_cannot_be_written_are_refused_before_the_audit(folder, text, words):
    folder.config(ONE)
    assert folder("check", "--report", text) == 2
    assert words in folder.err
    assert "a word on" not in folder.err


def test_the_baseline_from_finding_to_prune(folder):
    folder.config(ONE)
    assert folder("baseline", "list") == 2
    assert "Run 'dpcheck check' first" in folder.err
    folder.break_noise()
    assert folder("check") == 1
    assert folder("baseline", "list") == 0
    assert "not accepted" in folder.out
    add = ("baseline", "add", "mech.py:noisy/data", "--reason", "mended by the next release")
    assert folder(*add) == 2
    assert "--expires" in folder.err
    assert (
        folder("baseline", "add", "mech.py:nosy/data", "--reason", "x" * 9, "--expires", TOMORROW)
        == 2
    )
    assert "did you mean 'mech.py:noisy/data'?" in folder.err
    assert folder(*add, "--expires", TOMORROW) == 0
    report = folder.json()
    assert folder.code == 0
    assert report["audits"][0]["verdict"] == "violated"
    assert "next release" in report["audits"][0]["accepted"]
    path = folder.root / "dpcheck-baseline.json"
    kept = path.read_text()

    path.write_text(kept.replace(TOMORROW, YESTERDAY))
    assert folder("check") == 1
    assert f"expired on {YESTERDAY}" in folder.out
    assert folder("baseline", "prune") == 0
    assert "removed mech.py:noisy/data: expired" in folder.out
    assert json.loads(path.read_text())["accepted"] == []

    path.write_text(kept)
    folder.break_noise(0.5)  # worse than what was accepted
    assert folder("check") == 1
    assert "now leaks at least" in folder.out

    folder.mend_noise()
    assert folder("check") == 2  # stale: nothing is violated, but the file is out of date
    assert "no longer found" in folder.out
    assert folder("baseline", "list") == 0
    assert "fails" in folder.out
    assert folder("baseline", "remove", "nothing/data") == 2
    assert folder("baseline", "prune") == 0
    assert folder("check") == 0


def test_budgets_add_up_claims_and_events(folder):
    text = (
        ONE + 'dataset = "people"\nreleases = 2\n[budgets.people]\nepsilon = {}\n'
        'adjacency = "replace-one"\nevents = [{{ kind = "PureDP", epsilon = 0.5 }}]\n'
    )
    folder.config(text.format(2.5))
    report = folder.json()
    assert folder.code == 0
    (bill,) = report["budgets"]
    assert bill["spent"]["upper"] == 2.5  # 2 x 1 + 0.5, exactly
    folder.config(text.format(2.49))
    assert folder("check") == 1
    assert "people: overspent" in folder.out
    assert "mech.py:noisy/data: claims (1, 0) x 2" in folder.out
    assert (
        folder(
            "baseline",
            "add",
            "budgets/people",
            "--reason",
            "agreed with the board",
            "--expires",
            TOMORROW,
        )
        == 0
    )
    assert folder("check") == 0


def test_an_add_remove_claim_costs_twice_under_replace_one(folder):
    source = MECHANISM.replace('adjacency="replace-one"', 'adjacency="add-remove"')
    source = source.replace(
        "np.zeros(3), np.array([1.0, 0, 0])", "np.zeros(2), np.array([1.0, 0, 0])"
    )
    (folder.root / "mech.py").write_text(source)
    folder.config(ONE + 'dataset = "p"\n[budgets.p]\nepsilon = 2\nadjacency = "replace-one"\n')
    assert folder.json()["budgets"][0]["spent"]["upper"] == 2.0


def test_a_budget_of_nothing_and_a_part_that_is_none_are_errors(folder):
    folder.config('[budgets.p]\nepsilon = 2\nadjacency = "replace-one"\n')
    assert folder("check") == 2
    assert "nothing is released" in folder.err
    folder.config(
        '[budgets.p]\nepsilon = 2\ndelta = 1e-5\nadjacency = "replace-one"\nevents = [{ kind = '
        '"Repeated", times = 4611686018427387904, event = { kind = "PureDP", epsilon = 0.5 } }]'
    )
    assert folder("check") in (1, 2)  # overspent, if that many can be accounted for at all
    assert "Traceback" not in folder.err
    folder.config(
        ONE + 'dataset = { source = "p" }\n[budgets.p]\nepsilon = 2\nadjacency = "replace-one"\n'
    )
    assert folder("check") == 2
    assert "has no part 'source'" in folder.err


def test_time_is_limited(folder, monkeypatch):
    slow = "import os, time\n" + MECHANISM.replace(
        'print("a word on standard output")', 'time.sleep(float(os.environ["CALLS_TAKE"]))'
    )
    (folder.root / "mech.py").write_text(slow)
    folder.config("time-limit = 2\n" + ONE)
    monkeypatch.setenv("CALLS_TAKE", "0.5")
    report = folder.json()
    assert folder.code == 3
    assert any("time limit" in note for note in report["audits"][0]["notes"])
    assert folder("check", "--allow-undecided") == 0
    folder.config("time-limit = 2\nallow-undecided = true\n" + ONE)
    assert folder("check", "--no-cache") == 0
    monkeypatch.setenv("CALLS_TAKE", "0")
    assert folder("check", "--time-limit", "500") == 0  # nothing of it was cached
    folder.config("time-limit = 500\n" + ONE)
    assert folder("check", "--require-proof") == 3


def test_a_time_limit_that_leaves_none_for_the_import_is_an_error(folder):
    folder.config("time-limit = 1e-6\n" + ONE)
    assert folder("check") == 2
    assert "time limit" in folder.err


def test_packages_are_found_where_the_file_says(folder, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    package = folder.root / "src/gate_sample"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "mech.py").write_text(
        "from gate_sample.half import SCALE\n" + MECHANISM.replace("SCALE = 1.0", "")
    )
    (package / "half.py").write_text("SCALE = 1.0\n")
    audit = '[[audits]]\ntarget = "gate_sample.mech:noisy"\n'
    folder.config(audit)
    assert folder("check") == 2
    assert 'pythonpath = ["."]' in folder.err
    folder.config('pythonpath = ["src"]\n' + audit)
    assert folder("check") == 0
    assert folder("audit", "gate_sample.mech:noisy") == 0
    (package / "half.py").write_text("SCALE = 1.1\n")
    assert folder.json()["audits"][0]["origin"] == "run"
    assert folder.json()["audits"][0]["location"]["path"] == "src/gate_sample/mech.py"


DIES_IN_A_WORKER = """
    import os, pathlib
    command = pathlib.Path("pid of the command")  # which calls it first, to follow its noise
    if not command.exists():
        command.write_text(str(os.getpid()))
    if command.read_text() != str(os.getpid()):
        os._exit(0)
    return data.sum() + rng.laplace()
"""


def test_a_worker_that_dies_is_no_verdict(folder):
    source = MECHANISM.replace("raise SystemExit(0)", DIES_IN_A_WORKER)
    (folder.root / "mech.py").write_text(source)
    folder.config('[[audits]]\ntarget = "mech.py:leaves"\n')
    assert folder("check", "--jobs", "2") == 2
    assert "a worker process died" in folder.err


def test_flags_win_over_the_environment_over_the_file(folder, monkeypatch):
    folder.config("seed = 5\nmax-runs = 7\n" + ONE + "max-runs = 900\n")
    assert folder.json()["seed"] == 5
    monkeypatch.setenv("DPCHECK_SEED", "6")
    assert folder.json()["seed"] == 6
    assert folder.json("--seed", "8")["seed"] == 8
    monkeypatch.delenv("DPCHECK_MAX_RUNS")
    few, more = (folder.json(*flags)["audits"][0] for flags in ((), ("--max-runs", "5000")))
    assert more["observed"]["detectable"] < few["observed"]["detectable"]


def test_another_file_is_read_from_its_own_folder(folder, tmp_path_factory, monkeypatch):
    folder.config(ONE, "gate.toml")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert (
        folder("check", "--config", str(folder.root / "gate.toml"), "--report", "junit=x.xml") == 0
    )
    assert Path("x.xml").exists()
    assert not Path(".dpcheck").exists()
