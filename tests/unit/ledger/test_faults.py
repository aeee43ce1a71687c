"""Whatever is raised wherever, a ledger counts at least what was released; files are never mended.

The counts here are a sample; `python benchmarks/ledger_faults.py` plants all of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("faults.py")


def run(*arguments):
    shown = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert shown.returncode == 0, shown.stderr
    return [json.loads(line) for line in shown.stdout.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "least"),
    [
        (("memory",), 2000),
        (("file", "spend", "epsilon", "plan", "steps"), 900),
        (("memory", "spend", "report", "--delta", "0.001"), 500),
    ],
)
def test_an_exception_at_any_line_never_loses_a_release(arguments, least):
    results = run("lines", *arguments)
    assert sum(result["planted"] for result in results) >= least
    for result in results:
        # Some lines run once in a process only, such as filling a cache.
        assert result["planted"] >= 0.7 * result["lines"]
        assert result["violations"] == []


def test_any_changed_bit_and_any_cut_is_refused():
    (result,) = run("bytes", "--every", "3")
    assert result["flip"] > 3000
    assert result["cut"] > 300
    assert result["violations"] == []
