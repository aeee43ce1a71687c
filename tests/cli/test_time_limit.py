"""A time limit is kept from the first import to the report, whatever hangs.

The limits here are short and the allowances long: a limit that one of the steps does not know of takes
20 seconds (following the noise), a minute (a trace of the code) or ten (one call), so a test with a slow
machine's allowance of ten seconds still tells.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dpcheck
from dpcheck.cli import audit, check  # noqa: F401 - loaded before any clock runs
from dpcheck.core.verdict import Verdict
from dpcheck.gate.check import check as _gate  # noqa: F401 - as above
from dpcheck.report.files import write  # noqa: F401 - as above

LIMIT, ALLOWANCE = 2.0, 10.0
TARGETS = """
import itertools, signal, threading, time
import numpy as np
import dpcheck

CALLS = itertools.count(1)


def audited(function):
    declared = dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[(0.0, 1.0)])
    return declared(function)


@audited
def spins(data, rng):
    while True:
        pass


@audited
def sleeps(data, rng):
    time.sleep(1e6)


@audited
def every_tenth(data, rng):
    if next(CALLS) % 10 == 0:
        time.sleep(1e6)
    return data + rng.laplace()


@audited
def slow(data, rng):
    time.sleep(3)
    return data + rng.laplace()


@audited
def catches(data, rng):
    while True:
        try:
            time.sleep(1e6)
        except Exception:
            pass


@audited
def stubborn(data, rng):
    while True:
        try:
            threading.Event().wait()
        except BaseException:
            pass


searched = dpcheck.audited(
    claim=1.0, adjacency="replace-one", records=dpcheck.records(x=dpcheck.number(0, 1))
)(lambda data, rng: time.sleep(1e6))
"""
HANGING = ["spins", "sleeps", "every_tenth", "slow", "catches", "searched"]


@pytest.fixture
def timed(here, tmp_path):
    """The command under the limit; it must not take much more."""
    (tmp_path / "mech.py").write_text(TARGETS)
    (tmp_path / "asleep.py").write_text("import time\ntime.sleep(1e6)\n")

    def call(*words: str):
        began = time.monotonic()
        done = here(*words)
        assert time.monotonic() - began < LIMIT + ALLOWANCE
        return done

    return call


@pytest.mark.parametrize("name", HANGING)
def test_an_audit_ends_at_its_limit_with_what_it_knows(timed, name):
    done = timed("audit", f"mech.py:{name}", "--time-limit", str(LIMIT))
    assert done.returncode == 3, done.stderr
    assert "the time limit passed before every test was finished" in done.stdout


def test_a_check_ends_at_the_limit_of_its_project_file(timed, tmp_path):
    text = "".join(f'[[audits]]\ntarget = "mech.py:{n}"\n' for n in ("spins", "slow"))
    (tmp_path / "dpcheck.toml").write_text(f"time-limit = {LIMIT / 2}\n{text}")
    done = timed("check")
    assert done.returncode == 3, done.stderr
    assert done.stdout.count("the time limit passed before every test was finished") == 2


@pytest.mark.parametrize("command", ["audit", "check"])
def test_a_module_that_hangs_is_an_error_at_the_limit(timed, tmp_path, command):
    (tmp_path / "dpcheck.toml").write_text('[[audits]]\ntarget = "asleep.py:f"\n')
    target = ("asleep.py:f",) if command == "audit" else ()
    done = timed(command, *target, "--time-limit", str(LIMIT))
    assert done.returncode == 2
    assert "was not ready to be audited within the time limit of 2 s" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("hangs_after", [0, 5])
def test_functions_in_this_process_end_at_their_limit(hangs_after):
    calls = []

    def release(data, rng):
        calls.append(data)
        if len(calls) > hangs_after:
            threading.Event().wait()  # a sleep ends at once where the noise is followed
        return data + rng.laplace()

    began = time.monotonic()
    options = {"neighbours": [(0.0, 1.0)], "adjacency": "replace-one", "time_limit": LIMIT}
    (entry,) = dpcheck.audit(release, epsilon=1.0, **options).entries
    assert entry.verdict is Verdict.UNDECIDED
    assert entry.cut_short
    assert len(calls) == hangs_after + 1  # after the call that hung none was made
    calls.clear()
    with pytest.raises(dpcheck.Undecided):
        dpcheck.assert_private(release, epsilon=1.0, **options)
    assert time.monotonic() - began < 2 * LIMIT + ALLOWANCE


def test_what_was_proved_before_a_call_hangs_is_kept():
    """A leak without noise is proved within 100 calls; the 100th and all after it hang."""
    calls = []

    def release(data, rng):
        calls.append(data)
        if len(calls) >= 100:
            time.sleep(1e6)
        return {"total": float(np.sum(data)), "noise": rng.laplace()}

    options = {"neighbours": [(0.0, 1.0)], "adjacency": "replace-one", "time_limit": LIMIT}
    (entry,) = dpcheck.audit(release, epsilon=1.0, **options).entries
    assert entry.verdict is Verdict.VIOLATED
    assert len(calls) <= 100


def test_code_that_nothing_interrupts_is_ended_with_its_process(tmp_path):
    """The command runs in a child, which is killed five seconds after the limit."""
    (tmp_path / "mech.py").write_text(TARGETS)
    words = ["audit", "mech.py:stubborn", "--jobs", "1", "--time-limit", str(LIMIT)]
    done = subprocess.run(
        [sys.executable, "-m", "dpcheck", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "DPC404 a call of your code ran past its time limit" in done.stderr
    assert not done.stdout
