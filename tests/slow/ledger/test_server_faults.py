"""A PostgreSQL that is killed, and hosts whose links break: nothing acknowledged is lost, nothing overspent.

The counts here are a sample; `python benchmarks/fuzz/ledger_faults.py servers` plants more.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("server_faults.py")


def may_make_namespaces():
    """Root on Linux, with iproute2, where the kernel lets us."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"dpcheck{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return made.returncode == 0


@pytest.mark.parametrize("mode", ["kills", "hosts"])
@pytest.mark.usefixtures("postgresql")  # which says what to do where there is no server
def test_eight_clients_with_faults_leave_a_history_that_is_right(mode):
    if mode == "hosts" and not may_make_namespaces():
        pytest.skip("two hosts are two network namespaces, which only root may make")
    run = subprocess.run(
        [sys.executable, str(SCRIPT), mode, "--faults", "2", "--steps", "60"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["violations"] == []
    assert found["faults"] == 2
    assert 50 <= found["made"] <= found["counted"] <= 60
    assert found["refused"] > 0
