"""OpenDP's own maps against OpenDP's own runs."""

import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpcheck
from dpcheck.integrations.opendp import audited_measurement, claim_of, event_of

TARGETS = Path(__file__).parents[2] / "examples/libraries/opendp_targets.py"


@pytest.fixture(scope="module")
def targets(load):
    return load("opendp_targets")


def test_claims_are_read_from_the_map(targets):
    dp = targets.dp
    assert targets.laplace_sum.claim.epsilon == pytest.approx(1.0, rel=1e-6)
    assert targets.gaussian_sum.claim.rho == pytest.approx(1 / 8, rel=1e-6)  # 1 / (2 scale^2)
    assert targets.randomized_response.claim.epsilon == pytest.approx(math.log(3))
    gaussian = dp.m.make_gaussian(
        dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0
    )
    curve = dp.c.make_zCDP_to_approxDP(gaussian)
    profile = claim_of(curve, 1.0, adjacency="zero-out", delta=1e-5)
    fixed = claim_of(dp.c.make_fix_delta(curve, 1e-5), 1.0, adjacency="zero-out")
    assert profile.delta == fixed.delta == 1e-5
    assert profile.epsilon == pytest.approx(fixed.epsilon)
    # OpenDP converts concentrated privacy; the exact Gaussian is never above it.
    exact = dpcheck.epsilon(dpcheck.Gaussian(1.0), delta=1e-5, adjacency="zero-out")
    assert exact.upper <= fixed.epsilon
    with pytest.raises(dpcheck.DpcheckError, match="expected an OpenDP measurement"):
        audited_measurement(lambda x: x, d_in=1, adjacency="add-remove", neighbours=[([], [1.0])])


@pytest.mark.parametrize("name", ["laplace_sum", "randomized_response"])
def test_pure_measurements_are_consistent(targets, audit, name):
    # OpenDP cannot be seeded: a false alarm once in a million runs of this test.
    entry = audit(getattr(targets, name), confidence=1 - 1e-6, max_runs=6000, tolerance=0.5)
    assert entry.verdict == "consistent"
    assert entry.observed.epsilon > 0.5 * entry.claim.budget.epsilon  # it did see the difference


def test_outputs_follow_the_promised_law(targets):
    """Laplace of scale 1 about 1.5: mean and mean deviation within six standard errors."""
    rng = np.random.default_rng(0)
    found = np.array([targets.laplace_sum([0.5, 1.0], rng) for _ in range(4000)])
    assert abs(found.mean() - 1.5) < 6 * math.sqrt(2 / 4000)
    assert abs(np.abs(found - 1.5).mean() - 1.0) < 6 / math.sqrt(4000)


def command(name, *arguments):
    return subprocess.run(
        [
            shutil.which("dpcheck", path=str(Path(sys.executable).parent)),
            "audit",
            f"{TARGETS}:{name}",
            "--jobs",
            "1",
            "--max-runs",
            "3000",
            *arguments,
        ],
        capture_output=True,
        text=True,
    )


def test_the_command_line_takes_wrapped_measurements():
    shown = command("two_rows_each")
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "violated" in shown.stdout.lower()
    again = command("laplace_sum", "--tolerance", "1")
    assert again.returncode == 0, again.stdout + again.stderr


def test_maps_are_events(targets):
    dp = targets.dp
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    gaussian, laplace = dp.m.make_gaussian(*space, scale=1.0), dp.m.make_laplace(*space, scale=2.0)
    pure = event_of(laplace, 1.0, adjacency="zero-out")
    assert dpcheck.epsilon(pure * 3, adjacency="zero-out").upper == pytest.approx(1.5, rel=1e-6)
    concentrated = event_of(gaussian, 1.0, adjacency="zero-out")
    assert concentrated == dpcheck.ZCDP(concentrated.rho, "zero-out")
    curve = dp.c.make_zCDP_to_approxDP(gaussian)
    profile = event_of(curve, 1.0, adjacency="zero-out", step=0.05, largest=20.0)
    fixed = event_of(dp.c.make_fix_delta(curve, 1e-5), 1.0, adjacency="zero-out")
    found = dpcheck.epsilon(profile, delta=1e-5, adjacency="zero-out")
    assert found.upper == pytest.approx(fixed.epsilon, rel=1e-2)
    assert fixed.delta == pytest.approx(1e-5)
    # A curve composes better than a point of it.
    ten = dpcheck.epsilon(profile * 10, delta=1e-4, adjacency="zero-out")
    assert ten.upper < 10 * fixed.epsilon
