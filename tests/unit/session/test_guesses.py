"""A guess never becomes a guarantee, and what is proved and attained needs no further search."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from dpcheck.auditing.verdicts import Evidence, decide
from dpcheck.cli.prove import command
from dpcheck.core.records import Number, records
from dpcheck.core.verdict import Verdict
from dpcheck.session.run import AuditRequest, run_request

CODE = """
import dpcheck, numpy as np

@dpcheck.audited(
    claim={claim}, adjacency="replace-one", form="array",
    records=dpcheck.records(income=dpcheck.number(0, 500_000, confirmed={said}), rows=50),
)
def mean_income(incomes, rng):
    return incomes.mean() + rng.laplace(scale=500_000 / 50)
"""


@pytest.fixture
def target(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(said, claim=1):
        (tmp_path / "mean.py").write_text(CODE.format(said=said, claim=claim))
        return "mean.py:mean_income"

    return write


@pytest.mark.parametrize(
    ("said", "verdict"),
    [(False, Verdict.CONSISTENT), (True, Verdict.HOLDS), (None, Verdict.HOLDS)],
)
def test_holds_waits_for_the_confirmation(target, said, verdict):
    (entry,) = run_request(AuditRequest(target(said))).entries
    assert entry.verdict is verdict
    assert ("if the guesses about income are right" in entry.why) == (said is False)
    assert entry.proved.epsilon == 1.0


@pytest.mark.parametrize(("said", "code"), [(False, 3), (True, 0), (None, 0)])
def test_prove_says_that_it_rests_on_a_guess(target, said, code):
    done = CliRunner().invoke(command, [target(said)])
    assert done.exit_code == code
    assert ("guessed: income." in done.output) == (said is False)


CLIPPED = """
import dpcheck, numpy as np

@dpcheck.audited(
    claim=1, adjacency="replace-one", form="array",
    records=dpcheck.records(income=dpcheck.number(0, 70_000, confirmed=False), rows=50),
)
def mean_income(incomes, rng):
    return {body}.mean() + rng.laplace(scale=80_000 / 50)
"""


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        # The clip is enough, whatever the incomes are.
        ("np.clip(np.nan_to_num(incomes), 0, 80_000)", 0, "epsilon at most 1 at delta 0"),
        # It lets NaN through, so that somebody has to know that there is none.
        ("np.clip(incomes, 0, 80_000)", 3, "(pure), if income misses no value (a guess)"),
        ("incomes", 3, "(pure), if income is between 0 and 70,000 (a guess)"),
    ],
)
def test_the_proof_that_needs_the_fewest_guesses_comes_first(
    tmp_path, monkeypatch, body, code, said
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clipped.py").write_text(CLIPPED.format(body=body))
    done = CliRunner().invoke(command, ["clipped.py:mean_income"])
    assert said in done.output.splitlines()[0]
    assert done.exit_code == code
    assert ("0.875 if income is between 0 and 70,000 (a guess)" in done.output) == (
        body != "incomes"
    )
    (entry,) = run_request(AuditRequest("clipped.py:mean_income", max_runs=2000)).entries
    assert entry.verdict is (Verdict.HOLDS if code == 0 else Verdict.CONSISTENT)


def test_an_audit_of_a_proved_function_ends_where_the_proof_is_attained(target):
    (entry,) = run_request(AuditRequest(target(True))).entries
    assert entry.observed.epsilon == pytest.approx(1.0)
    assert entry.observed.runs <= 50  # none of the 20,000 that tests of many runs make


def test_one_that_is_not_attained_is_searched_on(target):
    (entry,) = run_request(AuditRequest(target(True, claim=0.5), max_runs=2000)).entries
    assert entry.verdict is Verdict.VIOLATED


def test_a_guess_decides_no_violation_and_no_open_proof():
    common = {"epsilon": 1.0, "detectable": 1.1, "tied": True, "guessed": ("age",)}
    assert decide(Evidence(observed=1.2, proved=0.9, **common)).verdict is Verdict.VIOLATED
    assert decide(Evidence(observed=0.5, proved=1.5, **common)).verdict is Verdict.UNDECIDED
    assert decide(Evidence(observed=0.5, proved=0.9, **common)).verdict is Verdict.CONSISTENT


def test_a_guess_is_written_as_one():
    described = records(age=Number(0, 120, confirmed=False))
    assert str(described).count("confirmed=False") == 1
    assert described.guessed == ("age",)
