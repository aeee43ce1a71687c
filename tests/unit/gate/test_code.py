"""What a kept result depends on: the target, whatever of one's own it imports, and data."""

import sys
from dataclasses import replace

import pytest

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditEntry, Location, Observed, Proved
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.errors import InvalidProject, StoreBroken
from dpcheck.core.events.noise import Gaussian
from dpcheck.core.evidence import Histogram, RunEvidence, Spent, TradeoffBand
from dpcheck.core.method import Method
from dpcheck.core.verdict import Verdict
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution import code
from dpcheck.gate.codec import decode, encode
from dpcheck.gate.results import Kept, Results


@pytest.fixture
def tree(tmp_path, monkeypatch):
    files = {
        "mech.py": "import json, numpy, helpers\nimport pack.deep.inner\n",
        "helpers.py": "def f():\n    from lazy import thing\n    import mech\n",
        "lazy.py": "thing = 1\n",
        "unrelated.py": "import mech\n",
        "pack/__init__.py": "",
        "pack/deep/__init__.py": "from . import sibling\n",
        "pack/deep/sibling.py": "from ..other import name\n",
        "pack/deep/inner.py": "not python at all(",
        "pack/other.py": "name = 1\n",
        "pack/unused.py": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return tmp_path


def test_every_own_file_that_is_imported_counts_and_no_other(tree):
    found = code.sources(tree / "mech.py", tree)
    assert set(found) == {
        "mech.py",
        "helpers.py",
        "lazy.py",
        "pack/__init__.py",
        "pack/deep/__init__.py",
        "pack/deep/sibling.py",
        "pack/deep/inner.py",
        "pack/other.py",
    }


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("lazy.py", True),
        ("pack/other.py", True),
        ("unrelated.py", False),
        ("pack/unused.py", False),
    ],
)
def test_a_change_is_seen_where_it_matters(tree, name, matters):
    before = code.sources(tree / "mech.py", tree)
    (tree / name).write_text((tree / name).read_text() + "# changed\n")
    assert (code.sources(tree / "mech.py", tree) != before) is matters


def test_nothing_is_imported_to_find_out(tree):
    code.sources(tree / "mech.py", tree)
    assert not {"mech", "helpers", "lazy", "pack"} & set(sys.modules)


def test_inputs_are_files_or_folders(tree):
    (tree / "data").mkdir()
    (tree / "data/a.csv").write_text("1")
    before = code.inputs(tree, ("data", "lazy.py"))
    assert set(before) == {"data/a.csv", "lazy.py"}
    (tree / "data/a.csv").write_text("2")
    assert code.inputs(tree, ("data", "lazy.py")) != before
    with pytest.raises(InvalidProject, match="there is no nowhere"):
        code.inputs(tree, ("nowhere",))


def full_entry():
    histogram = Histogram("loss", (0.0, 1.0), (3,), (4,), (1, 2))
    band = TradeoffBand(((0.0, 1.0),), ((0.0, 0.9),), ((0.1, 1.0),), 0.99, "DKW", 7)
    evidence = RunEvidence("pair 0", True, "sum", False, 10, 20, histogram, band, threshold=0.5)
    claim = Claim(Budget(1.0, 1e-5), Adjacency.ZERO_OUT, "paper", "source", Gaussian(2.0))
    return AuditEntry(
        "f",
        "printed",
        "source",
        claim,
        Proved(float("inf"), 1e-5, "pld", ("honest",)),
        Observed(1.2, 1e-5, 0.999, Method.DISTINGUISHER, 10, float("inf"), 5),
        Verdict.VIOLATED,
        Witness(WitnessKind.EVENT, {"first": [1.0, [2]], "note": None}),
        ("a", "b"),
        "tied",
        Location("f.py", 3),
        spending=(Spent(Method.DISTINGUISHER, 0.001, ("event",)),),
        evidence=evidence,
    )


def test_results_come_back_as_they_were(tmp_path):
    kept = Kept((full_entry(), replace(full_entry(), evidence=None, proved=None)), 5e-4, 2, True)
    assert decode(Kept, encode(kept)) == kept
    results = Results(tmp_path / "new")
    results.put("key", kept)
    results.close()
    again = Results(tmp_path / "new")
    assert again.get("key") == kept
    assert again.get("other") is None
    again.close()
    assert (tmp_path / "new/.gitignore").read_text().endswith("*\n")


def test_only_so_many_results_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("dpcheck.gate.results.MOST_KEPT", 3)
    clock = iter(range(100))
    monkeypatch.setattr("time.time", lambda: next(clock))
    results = Results(tmp_path)
    for name in "abcd":
        results.put(name, Kept((), 0.1))
    assert [name for name in "abcd" if results.get(name) is not None] == ["b", "c", "d"]
    results.close()


@pytest.mark.parametrize("payload", ["{", "[]", '{"entries": 3}', '{"alpha": 1, "x": 2}'])
def test_a_damaged_result_is_said_to_be_one(tmp_path, payload):
    results = Results(tmp_path)
    with results._connection as connection:
        connection.execute("INSERT INTO results VALUES ('key', ?, 0)", (payload,))
    with pytest.raises(StoreBroken, match="delete it"):
        results.get("key")
    results.close()
    (tmp_path / "gate.sqlite").write_text("this is no database, " * 100)
    with pytest.raises(StoreBroken, match="delete it"):
        Results(tmp_path)
