"""Somebody's code through the command itself: it cannot end it, and workers run it like one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpcheck.execution import imports

HEAD = """
import asyncio, ctypes, os, signal, time
import numpy as np
import dpcheck


def audited(function, pair=(0.0, 1.0)):
    return dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[pair])(function)

"""
ENDS = """
@audited
def leaves(data, rng):
    os._exit(0)


@audited
def crashes(data, rng):
    ctypes.string_at(0)


@audited
def cancelled(data, rng):
    raise asyncio.CancelledError


@audited
def interrupts(data, rng):
    raise KeyboardInterrupt


@audited
def generator_exit(data, rng):
    raise GeneratorExit


@audited
def hangs(data, rng):
    while True:
        try:
            time.sleep(1)
        except Exception:
            pass
"""


def dpcheck(folder: Path, *arguments: str):
    """The command in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DPCHECK_")}
    return subprocess.run(
        [sys.executable, "-m", "dpcheck", *arguments],
        cwd=folder,
        env=environment | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def is_one_line_of_error(done, *words: str) -> bool:
    lines = done.stderr.strip().splitlines()
    return (
        (done.returncode, done.stdout, len(lines)) == (2, "", 1)
        and lines[0].startswith("error: DPC4")
        and all(word in lines[0] for word in words)
    )


def written(folder: Path, name: str) -> None:
    (folder / "mech.py").write_text(HEAD + ENDS)
    (folder / "dpcheck.toml").write_text(f'[[audits]]\ntarget = "mech.py:{name}"\n')


@pytest.mark.parametrize(
    ("command", "name", "words"),
    [
        ("audit", "leaves", "exit code 0"),
        ("check", "leaves", "exit code 0"),
        ("check", "crashes", "SIGSEGV"),
    ],
)
def test_code_that_ends_the_process_gives_no_answer(tmp_path, command, name, words):
    written(tmp_path, name)
    target = (f"mech.py:{name}",) if command == "audit" else ()
    done = dpcheck(tmp_path, command, *target, "--jobs", "1")
    assert is_one_line_of_error(done, words), (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cancelled", "CancelledError"),
        ("interrupts", "KeyboardInterrupt"),
        ("generator_exit", "GeneratorExit"),
        ("hangs", "did not finish within"),
    ],
)
@pytest.mark.parametrize("command", ["audit", "check"])
def test_code_that_raises_anything_or_hangs_gives_no_answer(tmp_path, here, command, name, words):
    written(tmp_path, name)
    target = (f"mech.py:{name}",) if command == "audit" else ()
    done = here(command, *target, "--timeout", "2" if name == "hangs" else "60")
    if (command, name) == ("check", "hangs"):  # the other audits of the project are still made
        assert done.returncode == 3
        assert "does not return" in done.stdout
        return
    assert is_one_line_of_error(done, words), (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("raise asyncio.CancelledError", "CancelledError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise SystemExit(0)", "SystemExit"),
        ("while True: pass", "importing"),
    ],
)
def test_a_file_that_raises_anything_when_imported_gives_no_answer(tmp_path, here, line, words):
    (tmp_path / "mech.py").write_text(HEAD + line + "\n")
    done = here("audit", "mech.py:f", "--timeout", "2" if words == "importing" else "60")
    assert is_one_line_of_error(done, words), (done.returncode, done.stdout, done.stderr)


def test_a_file_that_ends_the_process_when_imported_gives_no_answer(tmp_path):
    (tmp_path / "mech.py").write_text(HEAD + "os._exit(0)\n")
    done = dpcheck(tmp_path, "audit", "mech.py:f")
    assert is_one_line_of_error(done, "exit code 0"), (done.returncode, done.stdout, done.stderr)


IN_A_WORKER = """
COMMAND = os.path.abspath("pid of the command")  # which calls it first, to follow its noise


@audited
def crashes_in_a_worker(data, rng):
    if not os.path.exists(COMMAND):
        with open(COMMAND, "w") as file:
            file.write(str(os.getpid()))
    with open(COMMAND) as file:
        if file.read() != str(os.getpid()):
            ctypes.string_at(0)
    return data + rng.laplace()
"""


@pytest.mark.parametrize(
    ("name", "who"), [("crashes", "the command"), ("crashes_in_a_worker", "a worker process")]
)
def test_a_crash_is_diagnosed(tmp_path, name, who):
    (tmp_path / "mech.py").write_text(HEAD + ENDS + IN_A_WORKER)
    done = dpcheck(tmp_path, "audit", f"mech.py:{name}", "--jobs", "2")
    assert is_one_line_of_error(done, "DPC430", who, "SIGSEGV", "compiled code"), done.stderr


def test_the_exit_code_is_the_verdicts_whatever_happens_at_the_end(tmp_path):
    text = "import atexit\natexit.register(lambda: os._exit(0))\n"
    text += "@audited\ndef leaks(data, rng):\n    return data\n"
    (tmp_path / "mech.py").write_text(HEAD + text)
    done = dpcheck(tmp_path, "audit", "mech.py:leaks", "--jobs", "1", "--max-runs", "2000")
    assert done.returncode == 1
    assert "violated" in done.stdout


BUDGET = """
[[audits]]
target = "mech.py:f"
name = "count"
dataset = "people"

[budgets.people]
epsilon = 2
adjacency = "replace-one"
"""


@pytest.mark.parametrize(
    ("body", "runs", "standing", "code"),
    [
        ("data + rng.laplace()", "60000", "within", 0),
        ("data + 0.1 * rng.laplace()", "3000", "violated", 1),
        ("data + rng.laplace()", "30", "undecided", 3),
    ],
)
def test_a_budget_is_what_the_audit_behind_it_is(tmp_path, here, body, runs, standing, code):
    (tmp_path / "mech.py").write_text(HEAD + f"@audited\ndef f(data, rng):\n    return {body}\n")
    (tmp_path / "dpcheck.toml").write_text(BUDGET)
    done = here("check", "--max-runs", runs)
    assert done.returncode == code, done.stderr
    (line,) = [text for text in done.stdout.splitlines() if text.startswith("people  ")]
    verdict = {"within": "consistent"}.get(standing, standing)
    assert line.endswith(f"count/data ({verdict})  {standing}")
    done = here("check", "--max-runs", runs, "--format", "json")
    (bill,) = json.loads(done.stdout)["budgets"]
    assert bill["standing"] == standing
    assert bill["vouchers"] == [{"audit": "count/data", "verdict": verdict}]
    assert bill["within"]  # by the claims alone, as before


def test_a_baseline_entry_that_never_ends_is_refused(tmp_path, here):
    (tmp_path / "mech.py").write_text(HEAD + "@audited\ndef f(data, rng):\n    return data\n")
    (tmp_path / "dpcheck.toml").write_text('[[audits]]\ntarget = "mech.py:f"\n')
    entry = {
        "finding": "mech.py:f/data",
        "up_to": "inf",
        "reason": "we like it this way",
        "expires": "9999-12-31",
    }
    content = {"schema": "dpcheck.baseline/1", "accepted": [entry]}
    (tmp_path / "dpcheck-baseline.json").write_text(json.dumps(content))
    done = here("check")
    assert done.returncode == 2
    assert "DPC504" in done.stderr
    assert "more than a year" in done.stderr


DATA = """
from decimal import Decimal
from fractions import Fraction

A = np.zeros((300, 3))
B = A.copy()
B[17, 1] = np.nan


@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[(A, B)])
def missing(data, rng):
    return float(np.isnan(data).any()) + 1e-3 * rng.laplace()


EXACT = [Decimal("1.5"), Fraction(1, 3), None]


@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[(EXACT, [Decimal(9), *EXACT[1:]])])
def exact(data, rng):
    return float(data[0]) + 1e-3 * rng.laplace()


OBJECTS = np.array([Decimal(1), {"a": 1}, None], dtype=object)


@dpcheck.audited(
    claim=1.0, adjacency="replace-one", neighbours=[(OBJECTS, np.array([Decimal(5), *OBJECTS[1:]]))]
)
def objects(data, rng):
    return float(data[0]) + 1e-3 * rng.laplace()
"""
# The pair as it was given, and what is left of it where there is time to look for a smaller one.
SHOWN = {
    "missing": (
        (
            {"of": "ndarray of shape (300, 3)", "rows": {"17": [0.0, 0.0, 0.0]}},
            {"of": "ndarray of shape (300, 3)", "rows": {"17": [0.0, "nan", 0.0]}},
        ),
        ([[0.0, 0.0, 0.0]], [[0.0, "nan", 0.0]]),
    ),
    "exact": ((["1.5", "1/3", None], ["9", "1/3", None]), (["1.5"], ["9"])),
    "objects": ((["1", {"a": 1}, None], ["5", {"a": 1}, None]), (["1"], ["5"])),
}


@pytest.mark.parametrize("name", SHOWN)
def test_data_of_any_kind_is_reported_where_it_differs_or_not_at_all(tmp_path, here, name):
    (tmp_path / "mech.py").write_text(HEAD + DATA)
    arguments = (
        "audit",
        f"mech.py:{name}",
        "--jobs",
        "1",
        "--max-runs",
        "2000",
        "--format",
        "json",
    )
    done = here(*arguments)
    assert done.returncode == 1, done.stderr
    witness = json.loads(done.stdout)["audits"][0]["witness"]
    pair = (witness["first"], witness["second"])
    assert pair == SHOWN[name][witness["pair"].endswith(", shrunk")]
    done = here(*arguments, "--no-data")
    witness = json.loads(done.stdout)["audits"][0]["witness"]
    assert not {"first", "second", "output", "python", "rule", "source"} & set(witness)
    assert witness["epsilon"] > 900  # each moves noise of scale 1e-3 by 1 or more


NUMBERS = """
A = np.zeros((30, 2))
B = A.copy()
B[3, 1] = 77.125


@audited_pair
def numbers(data, rng):
    return float(data.sum()) + 1e-3 * rng.laplace()
"""


def test_no_data_is_in_any_report_that_shall_have_none(tmp_path, here):
    declared = 'dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[(A, B)])'
    (tmp_path / "mech.py").write_text(HEAD + NUMBERS.replace("audited_pair", declared))
    for style in ("json", "text", "markdown"):
        words = ("audit", "mech.py:numbers", "--max-runs", "3000", "--format", style)
        assert "77.125" in here(*words).stdout
        assert "77.125" not in here(*words, "--no-data").stdout


READS = """
import functools, pathlib, sys
from helpers import SCALE

HERE = pathlib.Path(__file__).parent


@functools.cache
def scale():
    return float((HERE / "scale.txt").read_text())


@audited
def f(data, rng):
    sys.runs_of_f += 1
    import plugins
    shift = float((HERE / "shift.txt").read_text())
    return data + shift + SCALE * plugins.get().SCALE * scale() * rng.laplace()
"""


@pytest.mark.parametrize("command", ["check", "audit"])
def test_what_is_remembered_is_what_was_run(tmp_path, here, monkeypatch, command):
    files = {
        "mech.py": HEAD + READS,
        "helpers.py": "SCALE = 1.0\n",
        "plugins.py": "def get():\n    return __import__('importlib').import_module('plug' + 'in')\n",
        "plugin.py": "SCALE = 1.0\n",
        "shift.txt": "0.0",
        "scale.txt": "1.0",
        "unrelated.py": "",
        "dpcheck.toml": '[[audits]]\ntarget = "mech.py:f"\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    def runs() -> int:
        imports.forget_all()
        monkeypatch.setattr(sys, "runs_of_f", 0, raising=False)
        extra = ("mech.py:f", "--store", "store", "--resume") if command == "audit" else ()
        done = here(command, *extra, "--max-runs", "300")
        assert done.returncode == 3, done.stderr
        return sys.runs_of_f

    # An audit that is resumed has its batches of runs kept, and follows the noise of a few calls anew.
    followed = 10 if command == "audit" else 0
    assert runs() > 300
    assert runs() <= followed
    for name in ("helpers.py", "plugin.py"):  # imported, and imported by a name made at run time
        (tmp_path / name).write_text("SCALE = 1.0  # changed\n")
        assert runs() > 300, name
        assert runs() <= followed, name
    # Opened in every run, and in the first one of a process only.
    for name, text in (("shift.txt", "0.5"), ("scale.txt", "1.00")):
        (tmp_path / name).write_text(text)
        assert runs() > 300, name
        assert runs() <= followed, name
    (tmp_path / "unrelated.py").write_text("changed = True")
    assert runs() <= followed
