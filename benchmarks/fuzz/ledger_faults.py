"""Faults in a ledger, in number: exceptions at every line, killed and interrupted processes, bytes.

    python benchmarks/fuzz/ledger_faults.py              # all of it, about ten minutes on two idle cores
    python benchmarks/fuzz/ledger_faults.py lines bytes
    python benchmarks/fuzz/ledger_faults.py kills --rounds 334

Prints one line per kind of fault; exit code 1 if a ledger ever counted less than was released.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from results_file import provenance

TESTS = Path(__file__).parents[2] / "tests" / "slow" / "ledger"


def _run(script: str, *arguments: str) -> Iterator[dict]:
    command = [sys.executable, str(TESTS / script), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    assert process.returncode == 0, command


def lines(_: argparse.Namespace) -> int:
    """An exception at the first and the last time every line is reached."""
    wrong = 0
    for where in (
        ["memory", "--last-too"],
        ["file", "--last-too"],
        ["memory", "first spend", "spend", "report", "--delta", "0.01", "--cold"],
    ):
        found = list(_run("faults.py", "lines", *where))
        planted = sum(result["planted"] for result in found)
        bad = [violation for result in found for violation in result["violations"]]
        wrong += len(bad)
        reached = sum(result["lines"] for result in found)
        print(f"{' '.join(where)}: {reached} lines, {planted} faults, {len(bad)} violations {bad}")
    return wrong


def flips(_: argparse.Namespace) -> int:
    """Every single-bit flip and every truncation."""
    (found,) = _run("faults.py", "bytes")
    bad = found["violations"]
    print(f"{found['what']}: {found['flip']} flips, {found['cut']} cuts, {len(bad)} not refused")
    return len(bad)


def kills(options: argparse.Namespace) -> int:
    """Three processes on one file, each killed at a random moment, half of the rounds interrupted."""
    wrong = killed = interrupted = released = 0
    for block, interrupts in ((64, 0.2), (64, 0.0), (1, 0.1)):
        rounds = options.rounds // 3 + 1
        with tempfile.TemporaryDirectory() as folder:
            values = (folder, rounds, 3, block, 100 if block > 1 else 30, interrupts)
            for found in _run("spending_processes.py", *map(str, values)):
                killed += found["killed"]
                interrupted += found["interrupted"]
                released += sum(found["made"])
                pairs = zip(found["made"], found["counted"], strict=True)
                wrong += any(made > counted for made, counted in pairs)
    print(
        f"{killed} processes killed, {interrupted} interrupts, {released} releases, {wrong} ledgers "
        "that counted less"
    )
    return wrong


KINDS = {"lines": lines, "bytes": flips, "kills": kills}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=", ".join(KINDS))
    parser.add_argument("--rounds", type=int, default=334, help="of three processes each")
    options = parser.parse_args()
    made = provenance()
    print(f"{made['date']}, {made['machine']}")
    raise SystemExit(sum(KINDS[kind](options) for kind in options.kinds or KINDS) > 0)


if __name__ == "__main__":
    main()
