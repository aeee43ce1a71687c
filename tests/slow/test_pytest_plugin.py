"""The pytest plugin, as projects that install dpcheck meet it."""

import importlib.metadata
import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats

import dpcheck
import dpcheck.testing.marked
import dpcheck.testing.parametrize
from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.shrink import shrink_pair
from dpcheck.core.errors import CannotReplay
from dpcheck.session.assertion import audit_function
from dpcheck.testing.replay import load, save

pytest_plugins = ["pytester"]

HEAD = """
import dpcheck
import numpy as np
import pytest

def total(scale):
    @dpcheck.batched
    def noisy(data, size, rng):
        return np.sum(data) + rng.laplace(scale=scale, size=size)
    return noisy

PAIRS = [([0.0] * 20, [0.0] * 19 + [1.0])]
"""

FIXTURE = (
    HEAD
    + """
def test_release(dp_audit):
    entry = dp_audit(total({scale}), epsilon=1.0, neighbours=PAIRS, adjacency="zero-out")
    assert entry.verdict == "consistent"
"""
)


FEW = ("--dp-max-runs", "60000")


@pytest.fixture(autouse=True, scope="module")
def _everything_imported():
    """pytester forgets what a run in this process imported first, and numpy cannot be imported twice."""
    audit_function(
        lambda data, rng: rng.laplace(),
        claim=1.0,
        neighbours=[([0.0], [1.0])],
        adjacency="zero-out",
        max_runs=2000,
    )
    dpcheck.delta(dpcheck.Gaussian(1.0), epsilon=1.0)
    scipy.stats.ks_2samp([0.0, 1.0], [0.0, 1.0])


def run(pytester, code, *arguments):
    pytester.makepyfile(code)
    return pytester.runpytest_inprocess(*FEW, *arguments)


def test_it_is_an_entry_point():
    found = {e.name: e.value for e in importlib.metadata.entry_points(group="pytest11")}
    assert found["dpcheck"] == "dpcheck.testing.pytest_plugin"


def test_a_right_mechanism_passes(pytester):
    """In a process of its own: the plugin comes from the entry point, as for everybody else."""
    pytester.makepyfile(FIXTURE.format(scale=1.0))
    pytester.runpytest_subprocess(*FEW, "--strict-markers", "-W", "error").assert_outcomes(passed=1)


ADDED = FIXTURE.replace("zero-out", "add-remove").replace(
    "[0.0] * 19 + [1.0]", "[0.0] * 20 + [1.0]"
)


def test_a_wrong_one_keeps_its_number_of_records_where_that_is_public(pytester):
    shown = run(pytester, FIXTURE.format(scale=0.6))
    shown.assert_outcomes(failed=1)
    text = shown.stdout.str()
    assert re.search(r"first: \[(0\.0, ){19}0\.0\]$", text, re.MULTILINE)
    assert "shrunk'" not in text


def test_a_wrong_one_fails_with_a_shrunk_witness_that_replays(pytester):
    shown = run(pytester, ADDED.format(scale=0.6))
    shown.assert_outcomes(failed=1)
    text = shown.stdout.str()
    assert "is not (1, 0)-private under add-remove: epsilon >=" in text
    assert re.search(r"second: \[\d\.\d\]$", text, re.MULTILINE)  # one record is left of twenty
    command = re.search(r"replay: pytest (.*)$", text, re.MULTILINE)[1]
    again = pytester.runpytest_inprocess(*FEW, *shlex.split(command))
    again.assert_outcomes(failed=1)
    assert "pair: 'pair 0, shrunk'" in again.stdout.str()
    saved = json.loads((pytester.path / shlex.split(command)[-1]).read_text())
    assert (len(saved["first"]), len(saved["second"])) == (0, 1)
    # On the mended mechanism the same file passes: it is the pair that is replayed.
    pytester.makepyfile(**{shlex.split(command)[0].split(".py")[0]: ADDED.format(scale=1.0)})
    # (A module is imported once per process.)
    pytester.runpytest_subprocess(*FEW, *shlex.split(command)).assert_outcomes(passed=1)


MARKED = (
    HEAD
    + """
@pytest.fixture
def scale():
    return {scale}

@pytest.fixture
def dp_neighbours():
    return PAIRS

@pytest.mark.dp_budget(epsilon=1.0, adjacency="zero-out")
def test_many(data, size, rng, scale):
    return np.sum(data) + rng.laplace(scale=scale, size=size)

@pytest.mark.dp_budget(1.0, adjacency="zero-out", neighbours=PAIRS, max_runs=20_000)
def test_one(data, rng, scale):
    return np.sum(data) + rng.laplace(scale=scale)
"""
)


@pytest.mark.parametrize(("scale", "outcome"), [(1.1, "passed"), (0.5, "failed")])
def test_the_marked_function_is_the_mechanism(pytester, scale, outcome):
    shown = run(pytester, MARKED.format(scale=scale), "--strict-markers")
    shown.assert_outcomes(**{outcome: 2})
    if outcome == "failed":
        shown.stdout.fnmatch_lines(["*replay: pytest *test_many*dp*--dp-replay*"])


def test_a_curve_can_be_claimed_and_undecided_is_not_a_pass(pytester):
    code = (
        HEAD
        + """
@pytest.mark.dp_budget(claim=dpcheck.Gaussian(1.0), adjacency="zero-out", neighbours=PAIRS)
def test_curve(data, size, rng):
    return np.sum(data) + rng.normal(scale=0.7, size=size)

def test_too_few_runs(dp_audit):
    dp_audit(total(1.0), epsilon=1.0, neighbours=PAIRS, adjacency="zero-out", max_runs=50)
"""
    )
    shown = run(pytester, code)
    shown.assert_outcomes(failed=2)
    shown.stdout.fnmatch_lines(
        ["*does not keep the curve of Gaussian(noise_multiplier=1.0) under zero-out*"]
    )
    shown.stdout.fnmatch_lines(["*normal noise moved by 1.42857 of its scale*"])  # 1 / 0.7
    shown.stdout.fnmatch_lines(
        ["*DPC408*the tests could not have caught any leak on the given pair*"]
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "@pytest.mark.dp_budget(epsilon=1.0, adjacency='zero-out')\n"
            "def test_x(data, rng): return 0.0",
            "dp_neighbours",
        ),
        (
            "@pytest.mark.dp_budget(epsilon=1.0, adjacency='zero-out', neighbours=PAIRS)\n"
            "def test_x(): return 0.0",
            "(data, rng)",
        ),
        (
            "@pytest.mark.dp_budget(adjacency='zero-out', neighbours=PAIRS)\n"
            "def test_x(data, rng): return 0.0",
            "either epsilon",
        ),
        (
            "@pytest.mark.dp_budget(epsilon=1.0, neighbours=PAIRS)\n"
            "def test_x(data, rng): return 0.0",
            "needs adjacency",
        ),
        (
            "def test_x(dp_audit):\n    dp_audit(total(1.0), epsilon=1.0, neighbours=PAIRS,"
            " adjacency='zero-out', confidence=0.9)",
            "dp_confidence",
        ),
    ],
)
def test_what_is_missing_is_said(pytester, code, message):
    pytester.makepyfile(HEAD + code)
    shown = pytester.runpytest_inprocess(*FEW)
    assert shown.ret != 0
    assert message in shown.stdout.str() + shown.stderr.str()


def test_one_error_rate_for_the_whole_run(pytester):
    """Every auditing test gets an equal part of it, every audit in a test half of what is left."""
    pytester.makepyfile(
        HEAD
        + """
from dpcheck.testing import run_budget

def test_one(dp_audit):
    entry = dp_audit(total(1.1), epsilon=1.0, neighbours=PAIRS, adjacency="zero-out")
    assert sum(line.share for line in entry.spending) == pytest.approx(0.2 / 4 / 2)
    entry = dp_audit(total(1.1), epsilon=1.0, neighbours=PAIRS, adjacency="zero-out")
    assert sum(line.share for line in entry.spending) == pytest.approx(0.2 / 4 / 4)

@pytest.mark.parametrize("number", [1, 2, 3])
def test_three(dp_audit, number):
    assert run_budget.current().alpha == pytest.approx(0.2 / 4)

def test_other():
    assert run_budget.current().name == ""
"""
    )
    pytester.makeini("[pytest]\ndp_confidence = 0.8")
    pytester.runpytest_inprocess(*FEW).assert_outcomes(passed=5)
    pytester.makeini("[pytest]\ndp_confidence = high")
    broken = pytester.runpytest_inprocess()
    assert "dp_confidence must be between 0 and 1" in broken.stderr.str() + broken.stdout.str()


CHECKED = """
import dpcheck
import numpy as np
from dpcheck.testing import parametrize_with_checks

def declared(f):
    return dpcheck.audited(claim=1.0, adjacency="zero-out", neighbours=[([0.0], [1.0])])(f)

@declared
@dpcheck.batched
def right(data, size, rng):
    return np.sum(data) + rng.laplace(scale=1.05, size=size)

@declared
@dpcheck.batched
def shared(data, size, rng):
    return np.sum(data) + rng.laplace(scale=1.05) + np.zeros(size)

@declared
def own_noise(data, rng):
    return np.sum(data) + np.random.default_rng().laplace(scale=1.05)

@declared
def fixed_seed(data, rng):
    return np.sum(data) + np.random.default_rng(0).laplace(scale=1.05)

@declared
def growing(data, rng):
    data.append(0.0)
    return float(len(data)) + rng.laplace(scale=1.05)

@declared
def unreadable(data, rng):
    return print

@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[([0.0, 0.0], [1.0, 1.0])])
def two_records(data, rng):
    return np.sum(data) + rng.laplace(scale=3.0)

@declared
@dpcheck.batched
def loud(data, size, rng):
    return np.sum(data) + rng.laplace(scale=0.5, size=size)
"""
BROKEN = {
    "shared": "check_batches_are_independent_runs",
    "own_noise": "check_same_seed_same_output",
    "fixed_seed": "check_noise_is_fresh",
    "growing": "check_leaves_data_alone",
    "unreadable": "check_accepts_neighbours",
    "two_records": "check_pairs_are_neighbours",
    "loud": "check_privacy",
}


def checked(pytester, names, expected="None", *arguments):
    code = f"""
@parametrize_with_checks([{names}], expected_failed_checks={expected})
def test_mechanism(mechanism, check):
    check(mechanism)
"""
    pytester.makepyfile(CHECKED + code)
    return pytester.runpytest_inprocess("-q", "-W", "ignore", *FEW, *arguments)


def test_a_right_mechanism_passes_every_check(pytester):
    checked(pytester, "right").assert_outcomes(passed=9)


@pytest.mark.parametrize("name", BROKEN)
def test_every_check_catches_what_it_is_for(pytester, name):
    checked(pytester, name, "None", "-k", BROKEN[name]).assert_outcomes(failed=1, deselected=8)


def test_expected_failures_are_strict(pytester):
    reason = '{"check_privacy": "half the noise, known"}'
    checked(pytester, "loud", reason, "-k", "check_privacy").assert_outcomes(
        xfailed=1, deselected=8
    )
    checked(pytester, "right", reason, "-k", "check_privacy").assert_outcomes(
        failed=1, deselected=8
    )
    misspelt = checked(pytester, "right", '{"check_privcy": "x"}')
    assert "no check is called 'check_privcy'" in misspelt.stdout.str()


def test_projects_without_audits_pay_nothing(pytester):
    """No numpy, no auditor, no option in the way."""
    pytester.makepyfile(
        """
import sys

def test_plain():
    heavy = [m for m in ("numpy", "scipy", "dpcheck.auditing", "flint") if m in sys.modules]
    assert not heavy
"""
    )
    pytester.runpytest_subprocess(
        "-W", "error", "-p", "no:cov", "-p", "no:hypothesispytest"
    ).assert_outcomes(passed=1)


def test_importing_the_plugin_is_light():
    code = (
        "import sys, dpcheck.testing.pytest_plugin;"
        "print([m for m in ('numpy', 'scipy', 'flint', 'hypothesis', 'click') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def rows(n, last):
    return np.vstack([np.full((n, 2), 0.5), [last]])


def test_shrinking_keeps_what_differs():
    pair = Pair(rows(31, [1.0, 0.0]), rows(31, [0.0, 1.0]), "p")
    small = shrink_pair(pair, lambda p: len(p.first) >= 3, attempts=50)
    assert len(small.first) == len(small.second) == 3
    assert small.first[-1].tolist() == [1.0, 0.0]
    assert shrink_pair(pair, lambda p: False) is pair
    labelled = Pair(
        (rows(7, [1.0, 0.0]), np.ones(8)), (rows(7, [1.0, 0.0]), np.r_[np.ones(7), -1.0]), "p"
    )
    small = shrink_pair(labelled, lambda p: True, attempts=50)
    assert small.first[1].tolist() == [1.0]
    assert small.second[1].tolist() == [-1.0]
    removed = Pair([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0], "p")
    small = shrink_pair(removed, lambda p: True, attempts=50)
    assert (small.first, small.second) == ([3.0], [])
    opaque = Pair({"a": 1}, {"a": 2}, "p")
    assert shrink_pair(opaque, lambda p: True) is opaque


def test_saved_pairs_come_back_as_they_were(tmp_path):
    pair = Pair((np.eye(2, dtype=np.float32), [1, None]), (np.zeros((0, 2)), ["a"]), "x")
    path = save(tmp_path, "tests/a.py::test[é/1]", pair, {"epsilon": 1.0})
    back = load(path)
    assert back.first[0].dtype == np.float32
    np.testing.assert_array_equal(back.first[0], pair.first[0])
    assert back.second[0].shape == (0, 2)
    assert back.first[1] == [1, None]
    assert save(tmp_path, "t", Pair(object(), 1, "x"), {}) is None
    path.write_text("{}")
    with pytest.raises(CannotReplay, match="not a saved pair"):
        load(path)
