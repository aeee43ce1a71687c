"""`audit --region`: given a claim and its hypotheses alone, where it holds and where it fails."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from dpcheck.cli.audit import command
from dpcheck.session import registry
from dpcheck.session.region import Hypotheses, Status, explore, explore_all


def regions(name):
    return {region.hypotheses.part: region for region in explore_all(registry.get(name), most=600)}


# The papers' steps, written anew: nothing of the enclosures is used.


def worst(noise, q, modulus):
    slopes = np.linspace(0.5, 1, 20_001)
    return noise * q / 2 + np.max(
        noise * q * slopes / 2 + np.log1p(slopes * (1 - slopes) * q * q / modulus)
    )


def left(epsilon, x, blocks):
    q = 1 / blocks
    return epsilon - blocks * math.log(1 + q * q / (2 * x) + q**4 / (16 * x * x))


def meant_delta(epsilon, x, q):
    return q * q / (4 * math.expm1(q * epsilon / 4)) - x


def plr_fs(point):
    epsilon, x, blocks = point["epsilon"], point["n_lambda"], point["groups"]
    if left(epsilon, x, blocks) > 0:
        return blocks * worst(epsilon, 1 / blocks, x) / epsilon
    extra = meant_delta(epsilon, x, 1 / blocks)
    return blocks * worst(epsilon / 2, 1 / blocks, x + extra) / epsilon


def pst_f(point):
    epsilon, x, blocks = point["epsilon"], point["n_lambda"], point["groups"]
    rest = left(epsilon, x, blocks)
    return blocks * worst(rest if rest > 0 else epsilon / 2, 1 / blocks, x) / epsilon


def pst_s(point):
    epsilon, x, modulus = point["epsilon"], point["n_lambda"], point["modulus"]
    rest = left(epsilon, x, 1)
    if rest > 0:
        return worst(rest, 1.0, modulus * x) / epsilon
    return worst(epsilon / 2, 1.0, modulus * x + meant_delta(epsilon, x, 1.0)) / epsilon


@pytest.mark.parametrize(
    ("name", "part", "twin"),
    [
        ("plr_fs", "data", plr_fs),
        ("pptl_fs", "target", plr_fs),
        ("pst_f", "data", pst_f),
        ("pst_h", "target", pst_f),
        ("pst_s", "data", pst_s),
    ],
)
def test_every_piece_says_what_is_true_of_its_points(name, part, twin):
    claim = next(c for c in registry.get(name).regions() if c.part == part)
    region = explore(registry.get(name), "printed", claim, most=1200)
    assert sum(region.share(status) for status in Status) == pytest.approx(1)
    rng, seen = np.random.default_rng(0), set()
    for piece in rng.choice(np.array(region.pieces, dtype=object), 300):
        point = dict(piece.case)
        for axis, (low, high) in piece.box.items():
            point[axis] = float(np.exp(rng.uniform(math.log(low), math.log(high))))
        ratio = twin(point)
        assert piece.spent[0] <= ratio * (1 + 1e-6)
        assert ratio <= piece.spent[1] * (1 + 1e-6)
        if piece.status is Status.HOLDS:
            assert ratio <= 1 + 1e-9
        if piece.status is Status.FAILS:
            assert ratio > 1
        seen.add(piece.status)
    assert {Status.HOLDS, Status.FAILS} <= seen


def test_it_finds_that_plr_fs_needs_eps_prime_above_0():
    region = regions("plr_fs")["data"]
    held = {"epsilon": 10.0, "n_lambda": 200 * 6.2e-6, "groups": 2, "center": "free"}
    assert region.at(held) is Status.HOLDS
    broken = {"epsilon": 1.0, "n_lambda": 100 * 0.0015, "groups": 5, "center": "free"}
    assert region.at(broken) is Status.FAILS
    for piece in region.pieces:
        if piece.status is Status.FAILS:
            at = piece.middle
            assert left(at["epsilon"], at["n_lambda"], piece.case["groups"]) > 0
            assert at["epsilon"] * at["n_lambda"] < 2 / piece.case["groups"]


def test_it_finds_that_pst_h_has_a_target_that_fails_and_a_source():
    found = regions("pst_h")
    assert (
        found["target"].at({"epsilon": 0.3, "n_lambda": 30 * 0.00218, "groups": 3}) is Status.FAILS
    )
    assert found["target"].at({"epsilon": 1.0, "n_lambda": 5.0, "groups": 5}) is Status.HOLDS
    assert found["source"].at({"epsilon": 1.0, "n_lambda": 10.0, "groups": 5}) is Status.FAILS
    assert found["source"].at({"epsilon": 1.0, "n_lambda": 10.0, "groups": 1}) is Status.HOLDS


def test_it_finds_a_witness_against_the_source_of_pptl_fs():
    """Centre 0: nothing is attained by formula, so it is open unless a dataset is found."""
    audit = registry.get("pptl_fs")
    claim = next(c for c in audit.regions() if c.part == "source")
    region = explore(audit, "printed", claim, most=300)
    assert not any(piece.status is Status.FAILS for piece in region.pieces)
    assert region.witnesses
    for witness in region.witnesses:
        assert witness.proved > witness.claimed


def test_it_finds_that_labelled_rows_need_norm_1():
    region = regions("dphtl")["source"]
    box = {"rows_in": "[0, 1]^d", "features": 100}
    assert region.at({"n_lambda": 10.0, **box}) is Status.FAILS
    assert region.at({"n_lambda": 10.0, **box, "rows_in": "norm at most 1"}) is Status.HOLDS


def test_it_finds_that_pst_s_needs_modulus_1():
    region = regions("pst_s")["data"]
    assert region.at({"epsilon": 1.0, "n_lambda": 10.0, "modulus": 0.01}) is Status.FAILS
    assert all(p.status is Status.HOLDS for p in region.pieces if p.case["modulus"] == 1.0)


def test_what_cannot_be_decided_stays_open():
    """A claim that is true up to x = 1: the piece around 1 is never decided, all others are."""
    claim = Hypotheses("data", "", {"x": (0.01, 100.0)}, {"case": (1,)}, lambda box, case: box["x"])
    region = explore(registry.get("plr"), "printed", claim, most=40)
    assert {p.status for p in region.pieces} == set(Status)
    assert region.at({"x": 0.1, "case": 1}) is Status.HOLDS
    assert region.at({"x": 30.0, "case": 1}) is Status.FAILS
    (left_open,) = [p for p in region.pieces if p.status is Status.OPEN]
    assert left_open.box["x"][0] <= 1 <= left_open.box["x"][1]


def test_the_command_exits_with_what_it_found():
    found = CliRunner().invoke(command, ["pst_s", "--region", "--format", "json"])
    assert found.exit_code == 1
    data = json.loads(found.stdout)
    assert data["schema"] == "dpcheck.region/1"
    assert set(data["claims"][0]["shares"]) == {"holds", "fails", "open"}
    refused = CliRunner().invoke(command, ["plr", "--region"])
    assert "no hypotheses" in str(refused.exception)
