"""`dpcheck account dpda` and `g_dpda`: the theory's numbers, and refusals."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dpcheck.cli.account import command
from dpcheck.core.errors import DpcheckError

PAPER = ["--noise", "6", "--batch", "32", "--rows", "539", "--epochs", "353", "--delta", "1e-5"]


def _parts(*arguments):
    result = CliRunner().invoke(command, [*arguments, "--format", "json"], catch_exceptions=False)
    assert result.exit_code == 0
    read = json.loads(result.output)
    return {p: {row["what"]: row for row in rows} for p, rows in read["parts"].items()}


def test_dpda_claims_4_and_costs_488():
    target = _parts("dpda", *PAPER)["target"]
    claimed = target["claimed: exact RDP, classic conversion"]["epsilon"]
    assert claimed == pytest.approx(4.0, abs=0.001)
    assert target["one block, tight"]["epsilon"] == pytest.approx(3.246, abs=0.001)
    truth = target["joint release, tight: what it costs"]
    assert claimed < truth["lower"] <= truth["epsilon"]
    assert truth["epsilon"] == pytest.approx(4.88, abs=0.005)


@pytest.mark.parametrize(
    ("blocks", "wanted"),
    [("one block, tight", 0.594498), ("joint release, tight: what it costs", 0.868423)],
)
def test_one_full_batch_step(blocks, wanted):
    given = ["--noise", "6", "--batch", "32", "--rows", "32", "--steps", "1", "--delta", "1e-5"]
    assert _parts("dpda", *given)["target"][blocks]["epsilon"] == pytest.approx(wanted, abs=5e-7)


def test_g_dpda_shows_both_parts_and_doubles_the_claim():
    parts = _parts("g_dpda", *PAPER)
    source = parts["source"]["claimed: (2 eps, 2 delta), two phases"]
    target = parts["target"]["claimed: exact RDP, classic conversion"]
    assert source["epsilon"] == 2 * target["epsilon"]
    assert source["delta"] == 2 * target["delta"]
    joint = parts["source"]["joint release, tight: what it costs"]
    classic = parts["source"]["joint release, RDP classic"]
    assert joint["epsilon"] <= classic["epsilon"]


def test_text_says_why():
    result = CliRunner().invoke(command, ["dpda", *PAPER], catch_exceptions=False)
    assert "sqrt(2)" in result.output
    assert "4.88" in result.output


@pytest.mark.parametrize(
    "wrong",
    [
        ["--rows", "20"],  # a rate above 1
        ["--noise", "0"],
        ["--delta", "0"],
        ["--steps", "5"],  # and epochs
        ["--adjacency", "replace-one"],
    ],
)
def test_bad_input_is_refused(wrong):
    result = CliRunner().invoke(command, ["dpda", *PAPER, *wrong])
    assert isinstance(result.exception, DpcheckError)
