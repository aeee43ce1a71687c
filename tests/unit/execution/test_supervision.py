"""The process around a command: whom it ends, whom it waits for, what it passes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from dpcheck.cli.own_time import OwnTime

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="commands are supervised by fork")
SLOW = """
import time
import dpcheck
from pathlib import Path

@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[([0.0], [1.0])])
def slow(data, rng):
    Path("called").touch()
    time.sleep(0.05)
    return data[0] + rng.laplace()
"""


def test_an_interrupt_of_the_command_alone_ends_it(tmp_path):
    """Not the terminal's Ctrl-C, which every process of the command gets: `kill -INT`."""
    (tmp_path / "mech.py").write_text(SLOW)
    command = [sys.executable, "-m", "dpcheck", "audit", "mech.py:slow"]
    started = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not (tmp_path / "called").exists():
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=300)
    assert started.returncode == 130
    assert "interrupted" in said


STOPPED = """
import os, signal, subprocess, sys
from dpcheck.cli.entry import supervise
from dpcheck.core.errors import RunTimedOut
from dpcheck.execution import interrupts

interrupts.PATIENCE = 1.0

def command():
    try:
        with interrupts.time_limited(0.2):
            subprocess.Popen(["sh", "-c", f"sleep 4; kill -CONT {os.getpid()}"])
            os.kill(os.getpid(), signal.SIGSTOP)
    except RunTimedOut:
        print("came back")

sys.exit(supervise(command))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="nobody says what it does")
def test_a_process_that_could_not_run_is_not_blamed_for_it():
    """Stopped for longer than a call may take to come back, as on a machine too busy to run it."""
    ended = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["came back"]


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="nobody says what it does")
def test_time_that_is_spent_waiting_is_a_process_s_own():
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        own = OwnTime(sleeper.pid)
        while own.look() < 1.0:
            time.sleep(0.1)
        os.kill(sleeper.pid, signal.SIGSTOP)
        while OwnTime(sleeper.pid)._look()[0] != "T":
            time.sleep(0.05)
        own.restart()
        time.sleep(0.5)
        assert own.look() == 0.0
    finally:
        sleeper.kill()
        sleeper.wait()
