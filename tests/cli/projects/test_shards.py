"""`dpcheck check` in shards on several machines, and their results put together."""

from __future__ import annotations

import pytest
from project_folder import ONE

from dpcheck.core.errors import StoreBroken
from dpcheck.gate.results import Results

TWO = ONE + '[[audits]]\ntarget = "mech.py:other"\ndataset = "people"\n'
BUDGET = """
[budgets.people]
adjacency = "replace-one"
epsilon = 2
events = [{ kind = "PureDP", epsilon = 0.5 }]
"""
FEW = ("--max-runs", "2000", "--allow-undecided")


def test_shards_are_merged_into_what_one_check_says(folder):
    folder.config(TWO + BUDGET)
    whole = folder.json(*FEW, "--store", "whole")
    parts = [folder.json(*FEW, "--shard", f"{i}/2", "--store", f"part{i}") for i in (1, 2)]
    assert [[audit["name"] for audit in part["audits"]] for part in parts] == [
        [audit["name"]] for audit in whole["audits"]
    ]
    assert all(part["budgets"] == [] for part in parts)
    merged = folder.json(*FEW, "--merge", "part1", "--merge", "part2", "--store", "all")
    assert {audit["origin"] for audit in merged["audits"]} == {"cached"}
    for one, two in zip(whole["audits"], merged["audits"], strict=True):
        assert (one["verdict"], one["observed"]) == (two["verdict"], two["observed"])
    assert merged["budgets"] == whole["budgets"]
    # The error rate of an audit is the same in a shard: an n-th of the whole.
    shares = [sum(line["share"] for line in audit["spending"]) for audit in whole["audits"]]
    assert shares == pytest.approx([0.0005, 0.0005])
    (budget,) = whole["budgets"]
    assert budget["apart"] == {"claimed": 1.0, "stated": 0.5}
    assert budget["spent"]["upper"] == 1.5


def test_what_others_find_is_not_stale_in_a_shard(folder):
    folder.config(TWO + BUDGET)
    folder.break_noise(0.3)
    assert folder("check", *FEW) == 1
    accept = ("baseline", "add", "mech.py:noisy/data", "--reason", "mended in the next release")
    assert folder(*accept, "--expires", "9d") == 0
    assert folder("check", "--shard", "2/2", *FEW) == 0
    assert "no longer found" not in folder.out
    assert folder("check", *FEW) == 0
    assert "Nothing changed since the last check" in folder.out  # which was not the shard


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2"])
def test_shards_that_are_none(folder, shard):
    folder.config(ONE)
    assert folder("check", "--shard", shard) == 2


def test_folders_without_results(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    results = Results(tmp_path / "own")
    with pytest.raises(StoreBroken, match="no results of a shard"):
        results.take(tmp_path / "empty")
    (tmp_path / "empty" / "gate.sqlite").write_text("no database")
    with pytest.raises(StoreBroken):
        results.take(tmp_path / "empty")
    results.close()


def test_a_cluster_needs_its_address(folder):
    folder.config(ONE)
    assert folder("check", "--backend", "dask") == 2
    assert "--scheduler" in folder.err
