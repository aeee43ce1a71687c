"""How few calls a gross leak takes, on every way there is to ask.

`max_runs` bounds all calls a side, so a violation with at most 50 a side was proved within 100 calls.
"""

from __future__ import annotations

import json

import pytest

import dpcheck
from dpcheck.core.verdict import Verdict
from dpcheck.execution.references import parse

TARGETS = """
import hashlib, json
import dpcheck


def audited(function):
    declared = dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[(0.0, 1.0)])
    return declared(function)


def draw(rng):
    '''A draw that cannot be followed.'''
    return int.from_bytes(hashlib.sha256(rng.bytes(8)).digest()[:6], "big") / 2**48


@audited
def no_noise(data, rng):
    return data


@audited
def no_noise_beside_noise(data, rng):
    return {"mean": data, "noise": draw(rng)}


@audited
def no_noise_in_text(data, rng):
    return json.dumps({"mean": data, "drawn": round(draw(rng), 3)})


@audited
def laplace_of_four(data, rng):
    return data + 0.25 * rng.laplace()


@audited
def response_of_four(data, rng):
    return data if draw(rng) < 0.9821 else 1 - data
"""
WITHOUT_NOISE = ["no_noise", "no_noise_beside_noise", "no_noise_in_text"]
GROSS = ["laplace_of_four", "response_of_four"]
MOST_A_SIDE = dict.fromkeys(WITHOUT_NOISE, 50) | dict.fromkeys(GROSS, 150)


@pytest.fixture
def project(here, tmp_path):
    """The command in a folder with these functions and a gate for all of them."""
    (tmp_path / "mech.py").write_text(TARGETS)
    audits = "".join(
        f'[[audits]]\ntarget = "mech.py:{name}"\nmax-runs = {most}\n'
        for name, most in MOST_A_SIDE.items()
    )
    (tmp_path / "dpcheck.toml").write_text(audits)
    return here


def verdicts(done) -> dict[str, str]:
    return {each["name"]: each["verdict"] for each in json.loads(done.stdout)["audits"]}


@pytest.mark.parametrize("name", MOST_A_SIDE)
def test_audit_needs_few_calls(project, name):
    done = project(
        "audit", f"mech.py:{name}", "--max-runs", str(MOST_A_SIDE[name]), "--format", "json"
    )
    assert done.returncode == 1, (done.stdout, done.stderr)


def test_check_needs_few_calls(project):
    """Five audits share the error rate of the check, so each has a fifth of it."""
    assert set(verdicts(project("check", "--format", "json")).values()) == {"violated"}


@pytest.mark.parametrize("name", MOST_A_SIDE)
def test_the_functions_need_few_calls(project, tmp_path, name):
    function = parse(f"{tmp_path / 'mech.py'}:{name}").load()
    calls = 0

    def counted(data, rng):
        nonlocal calls
        calls += 1
        return function(data, rng)

    options = {
        "neighbours": [(0.0, 1.0)],
        "adjacency": "replace-one",
        "max_runs": MOST_A_SIDE[name],
    }
    with pytest.raises(AssertionError, match="is not \\(1, 0\\)-private"):
        dpcheck.assert_private(counted, epsilon=1.0, **options)
    assert calls <= 2 * MOST_A_SIDE[name]
    (entry,) = dpcheck.audit(counted, epsilon=1.0, **options).entries
    assert entry.verdict is Verdict.VIOLATED
