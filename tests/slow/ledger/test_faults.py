"""Whatever is raised wherever, a ledger counts at least what was released; files are never mended.

The counts here are a sample; `python benchmarks/fuzz/ledger_faults.py` plants all of them.
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
        (("memory", "spend", "report", "plan", "epsilon", "statement", "receipt"), 800),
        (("file", "spend", "steps", "receipt"), 300),
        (("postgresql", "spend", "receipt", "--every", "9"), 300),
        (("memory", "spend", "--delta", "1e-6"), 150),
    ],
)
def test_an_exception_at_any_line_never_loses_a_release(arguments, least, request):
    if arguments[0] == "postgresql":
        server = request.getfixturevalue("postgresql")
        arguments = (server.address("postgres"), *arguments[1:])
    results = run("lines", *arguments)
    assert sum(result["lines"] for result in results) >= least
    for result in results:
        # Some lines run once in a process only, such as filling a cache.
        every = int(arguments[arguments.index("--every") + 1]) if "--every" in arguments else 1
        assert result["planted"] >= 0.7 * result["lines"] / every
        assert result["violations"] == []


def test_any_changed_bit_and_any_cut_is_refused_or_changes_nothing():
    (result,) = run("bytes", "--every", "301")
    assert result["flip"] > 1200
    assert result["cut"] > 120
    assert result["harmless"] < 0.9 * (result["flip"] + result["cut"])  # most of the file is room
    assert result["violations"] == []
