"""`dpcheck pld` on every algorithm and variant, and on functions of every kind of knowledge."""

import csv
import io
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import norm

import dpcheck
from dpcheck.cli.pld import command
from dpcheck.core.evidence import Source
from dpcheck.report.pld import as_csv, as_text
from dpcheck.report.sealing import is_unchanged
from dpcheck.session import registry

STACKING = ("rows=60", "regularization=0.05")
SMALL = {
    "plr": (*STACKING, "features=4"),
    "simcomb": (*STACKING, "features=4"),
    "dphtl": ("rows=60", "features=3", "regularization=0.05", "weight_regularization=0.05"),
    "dpiw": ("rows=60", "features=3", "regularization=0.05"),
    "dpda": ("rows=64", "epochs=2", "canaries=0"),
    "g_dpda": ("rows=64", "source_rows=64", "epochs=2", "canaries=0"),
    "ftl": ("iterations=3",),
}
EVERY = [(name, variant) for name in registry.names() for variant in registry.get(name).variants]


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_every_algorithm_and_variant_has_its_distribution(name, variant):
    """Both directions of every part; nothing observed above what is proved of it."""
    if name in ("dpda", "g_dpda"):
        pytest.importorskip("jax")
    settings = SMALL.get(name, (*STACKING, "groups=2", "features=4"))
    budget = {"epsilon": 4.0, "delta": 1e-5} if name in ("dpda", "g_dpda", "ftl") else {}
    report = dpcheck.pld(name, variant=variant, settings=settings, runs=200, **budget)
    parts = {part for part, _, _ in report.claims}
    for part in parts:
        assert {e.direction for e in report.entries if e.part == part} == {"D to D'", "D' to D"}
    for entry in report.entries:
        assert len(entry.losses) == 200
        assert len(entry.curve) >= 20
        observed = np.array([point.observed for point in entry.curve])
        assert (observed[:, 0] <= observed[:, 1]).all()
        for point in entry.curve:
            assert point.proved is None or point.observed[0] <= point.proved[1]
    if name == "ftl" and variant != "private":
        assert all(math.isinf(loss) for loss in report.entries[0].losses)
        assert report.entries[0].source is Source.REVEALED


def laplace(data, rng):
    return data + rng.laplace(scale=0.5)


def audited(function, claim=2.0):
    return dpcheck.audited(claim=claim, adjacency="replace-one", neighbours=[(0.0, 1.0)])(function)


def test_a_function_whose_noise_is_followed_has_its_exact_curve():
    report = dpcheck.pld(audited(laplace), runs=500)
    entry = report.entries[0]
    assert entry.source is Source.LAW
    for point in entry.curve:
        exact = max(0.0, 1 - math.exp((point.epsilon - 2) / 2))
        assert point.observed[0] <= exact * (1 + 1e-12)
        assert exact <= point.observed[1] * (1 + 1e-6) + 1e-12
    assert max(entry.losses) == pytest.approx(2)

    def normal(data, rng):
        return [data + rng.normal(scale=2.0), 3 * data + rng.normal(scale=2.0)]

    mu = math.hypot(0.5, 1.5)
    for point in dpcheck.pld(audited(normal), runs=200).entries[1].curve:
        first = norm.cdf(mu / 2 - point.epsilon / mu)
        exact = first - math.exp(point.epsilon) * norm.cdf(-mu / 2 - point.epsilon / mu)
        assert point.observed[0] - 1e-12 <= exact <= point.observed[1] + 1e-12


def test_a_black_box_has_a_lower_side_only():
    @dpcheck.batched
    def hidden(data, size, rng):
        return data + 0.5 * (rng.standard_gamma(1.0, size) - rng.standard_gamma(1.0, size))

    (entry,) = dpcheck.pld(audited(hidden), runs=8000).entries
    assert entry.source is Source.SCORE
    for point in entry.curve:
        exact = max(0.0, 1 - math.exp((point.epsilon - 2) / 2))
        assert point.observed[0] <= exact
        assert point.observed[1] == 1.0
    assert entry.curve[0].observed[0] > 0.5  # 0.632 in truth


def test_the_command_writes_what_it_says(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import dpcheck\n"
        "@dpcheck.audited(claim=1.0, adjacency='replace-one', neighbours=[(0.0, 1.0)])\n"
        "def noisy(data, rng):\n    return data + rng.laplace()\n"
    )
    target, picture = f"{file}:noisy", tmp_path / "curve.svg"
    shown = CliRunner().invoke(command, [target, "--runs", "100", "--format", "json"])
    data = json.loads(shown.stdout)
    assert data["schema"] == "dpcheck.pld/1"
    first = data["parts"][0]
    assert {"part", "pair", "direction", "losses", "curve"} <= set(first)
    assert {"epsilon", "observed", "proved"} == set(first["curve"][0])
    shown = CliRunner().invoke(
        command, [target, "--runs", "100", "--format", "csv", "--plot", str(picture)]
    )
    page = tmp_path / "curve.html"
    CliRunner().invoke(command, [target, "--runs", "100", "--plot", str(page)])
    text = page.read_text()
    assert is_unchanged(text)
    assert text.count("<svg") == 4  # losses and curve, in both directions
    assert "Nothing is proved about this code" in text  # there is no event to account for
    assert "http" not in text.replace("http://www.w3.org", "").replace("http-equiv", "")
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert float(rows[0]["observed_low"]) <= float(rows[0]["observed_high"])
    assert "<svg" in picture.read_text()


def test_text_and_table_name_pair_claim_and_band():
    report = dpcheck.pld("plr", settings=(*STACKING, "features=4"), runs=300)
    text = as_text(report)
    assert "one label flipped, D to D'" in text
    assert "<- the claim" in text
    assert "half-width of the band" in text
    assert as_csv(report).count("\n") == sum(len(entry.curve) for entry in report.entries)
