"""Project files: what they may say, and what harm they must not do."""

import os

import pytest

from dpcheck.core.errors import DpcheckError, InvalidProject
from dpcheck.core.events.event import Repeated
from dpcheck.gate import files, project


@pytest.fixture
def write(tmp_path):
    def write(text, name="dpcheck.toml"):
        (tmp_path / name).write_text(text)
        return tmp_path

    return write


FULL = """
confidence = 0.99
max-runs = 1000
seed = 4
jobs = 2
tolerance = 0.5
timeout = 3
time-limit = 60.5
store = "kept"
baseline = "accepted.json"
allow-undecided = true
require-proof = false
pythonpath = ["src"]

[[audits]]
target = "plr"
variant = "corrected"
epsilon = 2
set = { rows = 300, center = "zero", regularization = 0.5 }
dataset = { data = "people" }

[[audits]]
name = "noise"
target = "src/mech.py:noise"
claim = { kind = "Gaussian", noise_multiplier = 2.0 }
adjacency = "zero-out"
floating-point = true
dataset = "people"
releases = 3
inputs = ["data.csv"]

[budgets.people]
epsilon = 3
delta = 1e-5
adjacency = "replace-one"
events = [{ kind = "Repeated", times = 2, event = { kind = "PureDP", epsilon = 0.1 } }]
"""


def test_everything_that_can_be_said(write):
    found = project.find(write(FULL))
    assert found.options["max_runs"] == 1000
    assert found.options["time_limit"] == 60.5
    assert found.options["store"] == str(found.root / "kept")
    first, second = found.audits
    assert (first.name, first.epsilon) == ("plr", 2.0)
    assert first.settings == ("rows=300", "center=zero", "regularization=0.5")
    assert (second.name, second.claim.noise_multiplier, second.releases) == ("noise", 2.0, 3)
    assert second.datasets == {"": "people"}
    (people,) = found.budgets
    assert (people.budget.epsilon, people.budget.delta) == (3.0, 1e-5)
    assert isinstance(people.events[0], Repeated)


def test_the_table_of_pyproject_says_the_same(write):
    shared = FULL.replace("[[audits]]", "[[tool.dpcheck.audits]]")
    shared = shared.replace("[budgets.", "[tool.dpcheck.budgets.")
    found = project.find(write("[tool.dpcheck]\n" + shared, "pyproject.toml"))
    (own_file := write(FULL) / "pyproject.toml").unlink()
    own = project.find(own_file.parent)
    assert (found.audits, found.budgets, found.options) == (own.audits, own.budgets, own.options)


def test_no_file_is_an_empty_project(write):
    assert project.find(write("[tool.other]", "pyproject.toml")).file is None


def test_two_files_are_refused(write):
    write("[tool.dpcheck]\nseed = 1", "pyproject.toml")
    with pytest.raises(InvalidProject, match="keep one"):
        project.find(write("seed = 2"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("confidance = 0.9", "unknown key 'confidance'. Did you mean 'confidence'?"),
        ("[[audits]]\ntraget = 'plr'", "audits[0] has an unknown key 'traget'. Did you mean"),
        ("[[audit]]\ntarget = 'plr'", "Did you mean 'audits'?"),
        ("[budgets.x]\nepsilonn = 1", "budgets.x has an unknown key 'epsilonn'. Did you mean"),
        ("max-runs = 1\nmax_runs = 2", "twice"),
        ("confidence = 1.0", "confidence must be a number above 0 and below 1, got 1.0"),
        ("confidence = 'high'", "got 'high'"),
        ("confidence = nan", "got nan"),
        ("tolerance = inf", "got inf"),
        ("seed = -1", "whole number"),
        ("seed = 1.5", "whole number"),
        ("jobs = true", "whole number"),
        (f"seed = {10**30}", "whole number"),
        (f"tolerance = 1{'0' * 400}", "a number"),
        ("timeout = 0", "above 0"),
        ("allow-undecided = 'yes'", "true or false"),
        ("audits = 3", "a list"),
        ("audits = [3]", "audits[0] must be a table, got 3"),
        ("audits = [[]]", "audits[0] must be a table, got a list"),
        ("budgets = []", "tables"),
        ("[[audits]]\nepsilon = 1", "needs a target"),
        ("[[audits]]\ntarget = 3", "a line of text"),
        ("[[audits]]\ntarget = ''", "a line of text"),
        ('[[audits]]\ntarget = "a\\nb"', "a line of text"),
        (f"[[audits]]\ntarget = '{'a' * 301}'", "at most 300"),
        ("[[audits]]\ntarget = 'plr'\ndelta = 1e-5", "delta without epsilon"),
        ("[[audits]]\ntarget = 'plr'\nset = 3", "a table"),
        ("[[audits]]\ntarget = 'plr'\nset = {a = [1]}", "plain values"),
        ("[[audits]]\ntarget = 'plr'\nadjacency = 'sideways'", "one of replace-one"),
        ("[[audits]]\ntarget = 'plr'\ndataset = 'people'", "no [budgets] table"),
        ("[[audits]]\ntarget = 'plr'\nclaim = {kind = 'PureDP', epsilon = 1}", "states its own"),
        ("[[audits]]\ntarget = 'a.py:f'\nclaim = {kind = 'Nothing'}", "unknown event"),
        ("[[audits]]\ntarget = 'a.py:f'\nclaim = {kind = 'PureDP', epsilon = -1}", "negative"),
        ("[[audits]]\ntarget = 'plr'\n[[audits]]\ntarget = 'plr'", "two audits are called 'plr'"),
        ("[budgets.x]\nepsilon = 1", "needs adjacency"),
        ("[budgets.x]\nadjacency = 'add-remove'", "needs epsilon"),
        ("[budgets.x]\nepsilon = 1\nadjacency = 'add-remove'\ndelta = 1", "delta"),
        ("seed = ", "not valid TOML"),
        ("seed = 1\nseed = 2", "not valid TOML"),
        ("[[audits]]\ntarget = '../other.py:f'", "outside the project"),
        ("[[audits]]\ntarget = '/etc/passwd.py:f'", "outside the project"),
        ("[[audits]]\ntarget = 'link.py:f'", "outside the project"),
        ("[[audits]]\ntarget = 'plr'\ninputs = ['../../secret']", "outside the project"),
        ("store = '../kept'", "outside the project"),
        ("baseline = '/tmp/b.json'", "outside the project"),
        ("pythonpath = ['..']", "outside the project"),
    ],
)
def test_what_is_refused_and_how(write, tmp_path_factory, text, words):
    root = write(text)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "code.py"
    elsewhere.write_text("")
    (root / "link.py").symlink_to(elsewhere)
    with pytest.raises(DpcheckError) as refused:
        project.find(root)
    assert words in refused.value.message
    assert len(refused.value.message) < 1000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#" * 300_000, "larger than 256 KiB"),
        ("a = " + "[" * 50_000, "longer than"),
        ("a = " + "[" * 4_000 + "]" * 4_000, "too deeply"),
        ("a" + ".a" * 100_000 + " = 1", "longer than"),
        ("\n".join("[" * 99 for _ in range(2000)), "not valid TOML"),
        ("a" + ".a" * 1000 + " = 1", "nested"),
        ("audits = " + "[" * 60 + "]" * 60, "nested more than"),
        ("a = 1" + "0" * 8000, "TOML"),
    ],
    ids=["huge", "brackets", "nested", "dotted", "lines", "deep", "audits", "digits"],
)
def test_bombs_are_refused(write, text, words):
    with pytest.raises(InvalidProject, match=words):
        project.find(write(text))


def test_what_is_no_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "dpcheck.toml")  # opening it would wait for ever
    with pytest.raises(InvalidProject, match="is not a file"):
        project.find(tmp_path)
    with pytest.raises(InvalidProject, match="is not a file"):
        files.read_text(tmp_path)
    with pytest.raises(InvalidProject, match="cannot be read"):
        project.load(tmp_path / "nothing.toml")


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "dpcheck.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(InvalidProject, match="UTF-8"):
        project.find(tmp_path)


def test_loops_of_links(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    try:  # Python 3.13 no longer complains about a loop, and leaves it as it is
        found = files.inside(tmp_path, "a/x.py", "target").is_file()
    except InvalidProject:
        found = False
    assert not found
