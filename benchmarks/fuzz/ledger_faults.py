"""Faults in a ledger, in number: exceptions at every line, killed processes and servers, bytes.

    python benchmarks/fuzz/ledger_faults.py              # all of it, about ten minutes on two idle cores
    python benchmarks/fuzz/ledger_faults.py lines bytes
    python benchmarks/fuzz/ledger_faults.py kills --rounds 334
    python benchmarks/fuzz/ledger_faults.py servers --faults 20   # as root: two hosts are network namespaces
    python benchmarks/fuzz/ledger_faults.py --write      # also docs/benchmarks/ledger-faults.md

Prints one line per kind of fault; exit code 1 if a ledger ever counted less than was released.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import postgresql_server
from results_file import RESULTS, load, provenance, save

KEPT = RESULTS / "ledger_faults.json"
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "ledger-faults.md"
HEAD = """# Faults planted into a ledger

What a ledger counts after an exception, a kill, a changed byte or a lost connection, against what was really
released. By `python benchmarks/fuzz/ledger_faults.py --write`; a sample of each kind runs in `make test`, and
`tests/unit/ledger/test_postgresql.py` cuts the connection before and after every statement of a spend.

| kind | what was planted | ledgers that counted less, or were mended silently | made |
|---|---|---|---|
"""
TESTS = Path(__file__).parents[2] / "tests" / "slow" / "ledger"


def _run(script: str, *arguments: str) -> Iterator[dict]:
    command = [sys.executable, str(TESTS / script), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    assert process.returncode == 0, command


def lines(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """An exception at the first and the last time every line is reached."""
    yield from _planted("in memory", ["memory", "--last-too"])
    yield from _planted("in SQLite", ["file", "--last-too"])
    few = ["spend", "receipt", "plan", "epsilon", "--every", "4"]
    yield from _planted("in PostgreSQL", [options.server().address("postgres"), *few])


def with_delta(_: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """The same at the first time, with a filter and a loop; nothing remembered in the second."""
    where = ["memory", "first spend", "spend", "report", "--delta", "1e-6"]
    yield from _planted("in memory, with a delta", where)
    yield from _planted("in memory, with a delta, everything accounted anew", [*where, "--cold"])


def _planted(what: str, where: list[str]) -> Iterator[tuple[str, int]]:
    reached = planted = 0
    bad: list[object] = []
    for result in _run("faults.py", "lines", *where):
        reached, planted = reached + result["lines"], planted + result["planted"]
        bad += result["violations"]
    yield f"a ledger {what}: {planted:,} exceptions at {reached:,} lines", len(bad)
    if bad:
        print(bad)


def flips(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Single-bit flips and truncations."""
    (found,) = _run("faults.py", "bytes", "--every", str(options.every))
    flipped, cut, same = found["flip"], found["cut"], found["harmless"]
    yield (
        f"a SQLite file of {found['what']}: {flipped:,} flipped bits, {cut:,} truncations, of which {same:,} "
        "changed nothing that is read",
        len(found["violations"]),
    )
    if found["violations"]:
        print(found["violations"][:5])


def kills(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Three processes on one ledger, each killed at a random moment, half of the rounds interrupted."""
    for what in ("SQLite file", "PostgreSQL"):
        wrong = killed = interrupted = released = 0
        for block, interrupts in ((64, 0.2), (64, 0.0), (1, 0.1)):
            rounds = options.rounds // 3 + 1
            with tempfile.TemporaryDirectory() as folder:
                values = [folder, rounds, 3, block, 100 if block > 1 else 30, interrupts]
                if what == "PostgreSQL":
                    values.append(options.server().address("postgres"))
                for found in _run("spending_processes.py", *map(str, values)):
                    killed += found["killed"]
                    interrupted += found["interrupted"]
                    released += sum(found["made"])
                    pairs = zip(found["made"], found["counted"], strict=True)
                    wrong += any(made > counted for made, counted in pairs)
        yield (
            f"three processes on one {what}: {killed:,} killed, {interrupted:,} interrupts, "
            f"{released:,} releases",
            wrong,
        )


def servers(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Eight clients, the server killed or their links down, then the history is checked."""
    for mode, what in (
        ("kills", "killed (-9) and started again"),
        ("hosts", "cut off from one host"),
    ):
        (found,) = _run(
            "server_faults.py",
            mode,
            "--faults",
            str(options.faults),
            "--steps",
            str(30 * options.faults),
        )
        yield (
            f"a PostgreSQL with eight clients {'on two hosts ' if mode == 'hosts' else ''}{what} "
            f"{found['faults']} times: {found['made']:,} releases acknowledged, {found['counted']:,} in the "
            f"history, {found['refused']:,} refused, {found['failed']:,} calls without an answer",
            len(found["violations"]),
        )
        if found["violations"]:
            print(found["violations"])


KINDS = {"lines": lines, "delta": with_delta, "bytes": flips, "kills": kills, "servers": servers}


def keep(kind: str, found: list[tuple[str, int]], made: dict[str, str]) -> None:
    """Replace what was known of this kind, and the page with it."""
    rows = [row for row in load(KEPT) if row["kind"] != kind]
    rows += [{"kind": kind, "what": what, "wrong": wrong, **made} for what, wrong in found]
    rows.sort(key=lambda row: list(KINDS).index(row["kind"]))
    save(KEPT, rows)
    shown = [
        f"| {r['kind']} | {r['what']} | {r['wrong']} | {r['date']}, {r['machine']} |" for r in rows
    ]
    PAGE.write_text(HEAD + "\n".join(shown) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=", ".join(KINDS))
    parser.add_argument("--rounds", type=int, default=334, help="of three processes each")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--every", type=int, default=17, help="bytes: at every so many bits")
    parser.add_argument("--faults", type=int, default=20, help="servers: how many times")
    options = parser.parse_args()
    options.server = cache(postgresql_server.Server)
    made, wrong = provenance(), 0
    print(f"{made['date']}, {made['machine']}")
    for kind in options.kinds or KINDS:
        found = []
        for what, number in KINDS[kind](options):
            print(f"{kind}: {what}, {number} violations", flush=True)
            found.append((what, number))
            if options.write:
                keep(kind, found, made)
        wrong += sum(number for _, number in found)
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
