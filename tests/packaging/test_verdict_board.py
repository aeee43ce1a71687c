"""The board of verdicts says what the data file says, and shows every exhibit of the registry."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from dpcheck.session import registry
from dpcheck.session.judgement import Grade

ROOT = Path(__file__).parents[2]


def board():
    spec = importlib.util.spec_from_file_location(
        "verdict_board", ROOT / "benchmarks/verdict_board.py"
    )
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_data_says():
    results = json.loads((ROOT / "docs/verdicts.json").read_text())
    assert board().page(results) == (ROOT / "docs/verdicts.md").read_text()


def test_every_algorithm_is_on_the_board():
    assert [name for name in registry.names() if registry.get(name).judgement is None] == []


def test_every_judgement_says_what_was_supplied_and_where_it_was_looked_up():
    for name in registry.names():
        judged = registry.get(name).judgement
        assert judged.inferred, name
        assert judged.places, name
        assert judged.exhibits, name


def test_grades_fit_the_verdicts_of_both_readings():
    """A grade is not free: it follows from what the two readings give."""
    results = json.loads((ROOT / "docs/verdicts.json").read_text())
    for name in registry.names():
        judged = registry.get(name).judgement
        literal, favourable = (
            _verdicts(results, name, reading) for reading in (judged.literal, judged.favourable)
        )
        if judged.grade is Grade.HOLDS:
            assert literal == favourable == {"holds"}, name
        elif judged.grade is Grade.MISPRINT:
            assert favourable == {"holds"}, name
            assert literal is None or "violated" in literal, name
        elif judged.grade is Grade.GAP:
            assert favourable == {"holds"}, name
        elif judged.grade is Grade.FALSE:
            assert "violated" in literal, name
            assert favourable in (None, {"holds"}), name
        else:
            assert "violated" in literal, name
            assert favourable is None, name


def _verdicts(results, name, reading):
    if isinstance(reading, str):
        return None
    key = "dpcheck " + " ".join(board().command(name, reading))
    return {part["verdict"] for part in results[key]["parts"]}


# What the board says, beside formulas written anew here: nothing of the accountant is used.


def worst(noise, q, modulus):
    """F*: what a block costs, its regulariser's centre free; the maximum on a fine grid of slopes."""
    slopes = np.linspace(0.5, 1, 200_001)
    return noise * q / 2 + np.max(
        noise * q * slopes / 2 + np.log1p(slopes * (1 - slopes) * q * q / modulus)
    )


def left(epsilon, n, lam, q, blocks):
    """eps' of step 1 of PLR, line 2 of PLR-FS, step 3 of PST-F."""
    return epsilon - blocks * np.log(1 + q * q / (2 * n * lam) + q**4 / (16 * (n * lam) ** 2))


def shown(name, *words):
    """The parts, by name, of the only exhibit whose command has all these words."""
    results = json.loads((ROOT / "docs/verdicts.json").read_text())
    found = [
        result
        for key, result in results.items()
        if key.startswith(f"dpcheck audit {name} ") and all(word in key for word in words)
    ]
    (one,) = found
    return {part["part"]: part for part in one["parts"]}


def test_pst_h_target_fails_where_it_needs_delta():
    q, n, lam, epsilon = 1 / 3, 30, 0.00218, 0.3  # the low half of 60 rows
    assert left(epsilon, n, lam, q, 3) < 0
    truth = 3 * worst(epsilon / 2, q, n * lam)
    assert truth == pytest.approx(1.175, abs=5e-4)
    part = shown("pst_h", "rows=60", "groups=3", "regularization=0.00218")["target"]
    assert part["verdict"] == "violated"
    assert part["observed"]["epsilon"] == pytest.approx(truth, rel=1e-4)
    # The exhibit that holds says for which rows and lambda.
    said = registry.get("pst_h").judgement.literal.finding
    assert "the target holds" not in said
    assert "With these rows and this lambda" in said


def test_pptl_fs_source_is_not_without_violation():
    part = shown("pptl_fs", "rows=1000", "groups=1", "regularization=0.0004")["source"]
    assert part["verdict"] == "violated"
    assert 1.2705 < part["observed"]["epsilon"] <= worst(1.0, 1.0, 0.4)
    for exhibit in registry.get("pptl_fs").judgement.exhibits:
        if "no violation was found" in exhibit.finding:
            assert "here" in exhibit.finding


def test_plr_fs_fails_where_the_board_says_and_only_there():
    said = registry.get("plr_fs").judgement.literal.finding
    assert "eps' > 0" in said
    assert "eps n lambda_k < 2 q_k" in said
    rng, fails = np.random.default_rng(0), 0
    for _ in range(400):
        n, blocks = int(np.exp(rng.uniform(3, 8))), int(rng.integers(1, 8))
        q, epsilon = 1 / blocks, float(np.exp(rng.uniform(-4, 4)))
        lam = float(np.exp(rng.uniform(-13, -1)))
        branch = left(epsilon, n, lam, q, blocks) > 0
        extra = 0.0 if branch else q * q / (4 * n * (np.exp(q * epsilon / 4) - 1)) - lam
        noise = epsilon if branch else epsilon / 2  # line 6 and line 8
        truth = blocks * worst(noise, q, n * (lam + extra))
        stated = branch and epsilon * n * lam < 2 * q
        assert (truth > epsilon * (1 + 1e-9)) == stated, (n, blocks, epsilon, lam)
        fails += stated
    assert 20 < fails < 380
    part = shown("plr_fs", "rows=200", "groups=2", "regularization=6.2e-6")["data"]
    assert part["verdict"] == "holds"
    assert part["proved"]["epsilon"] == pytest.approx(6.51, abs=5e-3)


def test_dphtl_names_both_conditions():
    # 1,000 rows of which one is not 0, x = (1, ..., 1) of 100 features with its label flipped: w =
    # +-t x/10 with 10 s(-10 t)/n = lam t.
    t = brentq(lambda t: 10 / (1 + np.exp(10 * t)) / 1000 - 0.01 * t, 0, 1)
    loss = 1000 * 0.01 / 2 * 2 * t
    assert loss == pytest.approx(1.634, abs=5e-4)
    part = shown("dphtl", "features=100", "labelled_rows=box")["source"]
    assert part["verdict"] == "violated"
    assert part["observed"]["epsilon"] >= loss
    judged = registry.get("dphtl").judgement
    for text in (judged.why, judged.favourable.finding, " ".join(judged.inferred)):
        assert "labelled rows of norm at most 1" in text
        assert "[0, 1]^d" in text or "the box" in text


def test_pst_s_says_which_modulus():
    # 1,000 rows: 100 for each of 5 models; n lambda = 10, modulus 0.01.
    truth = worst(left(1.0, 100, 0.1, 1.0, 1), 1.0, 0.01 * 10)
    assert truth == pytest.approx(1.985, abs=5e-4)
    part = shown("pst_s", "modulus=0.01")["data"]
    assert part["verdict"] == "violated"
    assert part["observed"]["epsilon"] == pytest.approx(truth, rel=1e-4)
    judged = registry.get("pst_s").judgement
    assert judged.grade is not Grade.HOLDS
    assert "modulus 1" in judged.favourable.finding


def test_what_neighbours_are_is_supplied_where_the_paper_does_not_say():
    for name in ("plr", "plr_fs", "pptl_fs", "simcomb", "dpiw", "dphtl"):
        assert any("replaced" in text for text in registry.get(name).judgement.inferred), name
