"""What a worker that died leaves behind is cleared up without a word."""

from __future__ import annotations

import subprocess
import sys

LEAKS = """
from joblib.externals.loky.backend import resource_tracker
{start}
resource_tracker.register("/loky-left-behind", "semlock")
"""


def told(start: str) -> str:
    command = [sys.executable, "-c", LEAKS.format(start=start)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_a_leaked_semaphore_is_not_told_to_the_user():
    assert "leaked" in told("resource_tracker.ensure_running()")  # what loky would say
    assert told("from dpcheck.execution.pools import LokyPool; pool = LokyPool(1)") == ""
