"""Nights of one e-process: the same evidence as one long test, and no error spent twice."""

import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import as_mechanism, as_pairs
from dpcheck.auditing.part import audit_part
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.verdict import Verdict
from dpcheck.execution import imports
from dpcheck.execution.progress import Progress
from dpcheck.execution.runner import Runner
from dpcheck.execution.store import SqliteStore
from dpcheck.gate.project import AuditSpec, Project
from dpcheck.gate.results import Results
from dpcheck.gate.running import CheckSettings, night_limits, run_audit
from dpcheck.session import run as session
from dpcheck.session.claims import read_claim

SOURCE = """
import dpcheck

@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[([0.0], [1.0])])
def noisy(data, rng):
    # A Laplace as a difference that replay does not follow: these tests are about runs.
    return data[0] + {scale} * (rng.standard_gamma(1.0) - rng.standard_gamma(1.0))
"""
ALPHA = 0.02


@pytest.fixture
def night(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = AuditSpec("noise", "mech.py:noisy")
    results = Results(tmp_path / "kept")

    def night(*, scale=1.0, nightly=True, alpha=ALPHA):
        (tmp_path / "mech.py").write_text(SOURCE.format(scale=scale))
        imports.forget_all()
        request = session.AuditRequest("mech.py:noisy", max_runs=3000, seed=5)
        settings = CheckSettings(alpha, tmp_path / "kept", nightly=nightly)
        project = Project(tmp_path, None)
        (entry,), _ = run_audit(spec, request, settings, project, results, Progress(quiet=True))
        return entry

    yield night
    results.close()


def test_three_nights_are_one_long_test(night):
    nights = [night() for _ in range(3)]
    assert [entry.origin for entry in nights] == ["run", "continued", "continued"]
    # 3000 wanted runs: batches of 16, 32, ..., 256, then five of 512.
    assert [entry.observed.runs for entry in nights] == [3056, 6128, 9200]
    assert len({entry.observed.learning_runs for entry in nights}) == 1
    assert len({entry.observed.confidence for entry in nights}) == 1
    assert len({entry.spending for entry in nights}) == 1  # the same events, at the same share

    def noisy(data, rng):
        return data[0] + 1.0 * (rng.standard_gamma(1.0) - rng.standard_gamma(1.0))

    claim = read_claim(1.0, "replace-one", "x")
    plan = PartPlan(
        "noise",
        "as given",
        claim,
        as_mechanism(noisy),
        as_pairs([([0.0], [1.0])]),
    )
    base = Limits(alpha=ALPHA, max_runs=3000)
    long = replace(night_limits(base, plan, 0), max_runs=9216)
    whole = audit_part(plan, long, Runner(seed=5, prefix="noise").within("data"))
    assert nights[-1].observed == whole.observed
    assert nights[-1].observed.detectable < nights[0].observed.detectable


def test_an_ordinary_check_between_nights_uses_their_runs(night):
    night(), night()
    entry = night(nightly=False)
    assert (entry.origin, entry.observed.runs) == ("cached", 6128)
    assert night().observed.runs == 9200


def test_changed_code_starts_another_process_and_drops_the_old_runs(night, tmp_path):
    night(), night()
    entry = night(scale=1.01)
    assert (entry.origin, entry.observed.runs) == ("run", 3056)
    file = sqlite3.connect(tmp_path / "kept/batches.sqlite")
    assert file.execute("SELECT COUNT(DISTINCT audit) FROM batches").fetchone() == (1,)
    file.close()


def test_what_was_found_stays_found_and_costs_no_more_runs(night):
    first = night(scale=0.5)
    assert first.verdict is Verdict.VIOLATED
    again = night(scale=0.5)
    assert (again.origin, again.observed) == ("cached", first.observed)
    # With less error to give, the finding has to be made again, from the same runs and more.
    stricter = night(scale=0.5, alpha=1e-6)
    assert (stricter.origin, stricter.observed.runs) == ("continued", 6128)
    assert stricter.observed.confidence == pytest.approx(1 - 1e-6)


def test_a_part_without_an_e_process_is_not_run_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = AuditSpec("plr", "plr", settings=("rows=400",))
    request = session.AuditRequest("plr", settings=spec.settings)
    settings, results = CheckSettings(ALPHA, tmp_path, nightly=True), Results(tmp_path)
    project, quiet = Project(tmp_path, None), Progress(quiet=True)
    (first,), _ = run_audit(spec, request, settings, project, results, quiet)
    (again,), _ = run_audit(spec, request, settings, project, results, quiet)
    results.close()
    assert first.spending[0].test == "exact witness"
    assert (first.origin, again.origin) == ("run", "cached")


def test_fresh_runs_are_not_the_old_ones(night, tmp_path):
    night(), night()
    file = sqlite3.connect(tmp_path / "kept/batches.sqlite")
    rows = file.execute("SELECT audit, name FROM batches WHERE name LIKE 'noise/data/test/%'")
    names = sorted(rows.fetchall(), key=lambda row: int(row[1].rsplit("/", 1)[1]))
    file.close()
    assert [int(name.rsplit("/", 1)[1]) for _, name in names] == list(range(16))
    store = SqliteStore(tmp_path / "kept", names[0][0], resume=True)
    counts = [store.get(name)["counts"] for _, name in names]
    store.close()
    assert len({np.asarray(c).tobytes() for c in counts}) > 6  # a repeated night would give 6
