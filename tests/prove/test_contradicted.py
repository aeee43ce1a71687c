"""A proof that the function contradicts is exit code 2 with the case, in every command that proves.

The prover is made wrong on purpose: it says half of what its trace found.
"""

from __future__ import annotations

import sys

import pytest

import dpcheck
from dpcheck.cli.main import run
from dpcheck.core.errors import ProofsContradict
from dpcheck.session import proving

SOURCE = """
import dpcheck


@dpcheck.audited(
    claim=0.5,
    adjacency="replace-one",
    records=dpcheck.records(x=dpcheck.number(0, 1), rows=20),
    form="array",
)
def total(x, rng):
    return x.sum() + rng.laplace()
"""
PROJECT = '[[audits]]\ntarget = "sums.py:total"\nmax-runs = 200\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "sums.py").write_text(SOURCE)
    (tmp_path / "dpcheck.toml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    right = proving.proof_of

    def wrong(*args, **kwargs):
        found = right(*args, **kwargs)
        return type(found)(dpcheck.PureDP(0.5), found.releases, found.adjacency, found.assumes)

    monkeypatch.setattr(proving, "proof_of", wrong)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("prove", "sums.py:total"),
        ("audit", "sums.py:total", "--max-runs", "200"),
        ("check", "--no-cache"),
    ],
    ids=lambda command: command[0],
)
def test_exit_two_with_the_case(folder, monkeypatch, capsys, command):
    monkeypatch.setattr(sys, "argv", ["dpcheck", *command])
    with pytest.raises(SystemExit) as ended:
        run()
    told = capsys.readouterr()
    assert ended.value.code == 2
    assert "DPC205" in told.err
    assert "The case: " in told.err
    assert "0.5 was proved" in told.err
    assert "proved:" not in told.out
    assert "holds" not in told.out


def test_in_python(folder):
    def total(x, rng):
        return x.sum() + rng.laplace()

    with pytest.raises(ProofsContradict):
        dpcheck.prove(total, dpcheck.records(x=dpcheck.number(0, 1), rows=20))
