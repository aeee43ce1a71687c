"""Processes that spend together and are killed or interrupted: too many counted, never too few.

The counts here are a sample; `python benchmarks/fuzz/ledger_faults.py kills` kills a thousand.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("spending_processes.py")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
@pytest.mark.parametrize("where", ["file", "postgresql"])
@pytest.mark.parametrize(
    ("rounds", "processes", "block", "most", "interrupts"),
    [(4, 1, 1000, 2000, 0.0), (4, 3, 64, 300, 0.0), (4, 2, 64, 300, 0.3), (3, 3, 1, 60, 0.1)],
)
def test_processes_killed_at_random_never_spent_more_than_was_counted(
    tmp_path, rounds, processes, block, most, interrupts, where, request
):
    arguments = [str(a) for a in (tmp_path, rounds, processes, block, most, interrupts)]
    if where == "postgresql":
        arguments.append(request.getfixturevalue("postgresql").address("postgres"))
    run = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    results = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(results) == rounds
    for result in results:
        assert result["killed"] == processes
        for made, count in zip(result["made"], result["counted"], strict=True):
            assert made <= count
            # At most a block ahead per process, part and event; an interrupt may lose one more.
            lost = processes + result["interrupted"]
            assert count <= made + 2 * lost * block
    # The test has teeth only if many releases were made and blocks were really lost.
    assert sum(sum(r["made"]) for r in results) > rounds * processes * most / 4
    lost = [sum(r["counted"]) - sum(r["made"]) for r in results]
    assert block == 1 or sum(gap > 0 for gap in lost) > rounds // 3
    assert (sum(result["interrupted"] for result in results) > 0) == (interrupts > 0)
