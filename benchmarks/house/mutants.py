"""Mutants of what verdicts and bounds rest on: one comparison, sign, constant or choice is changed, and tests
are run.

    python benchmarks/house/mutants.py --room verdicts --sample 40   # those of the record are not run again
    python benchmarks/house/mutants.py --summary

A room is a few files, and the tests that are to notice. A mutant is the source with one place changed; it is
run from a copy of the package in a temporary folder, never in place. Sampled without replacement from all
mutants of a room, in an order of the seed. What survives is listed with its line, to be killed by a test or
explained in docs/benchmarks/house-mutants.md.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "benchmarks" / "results" / "house_mutants.jsonl"
AUDITING, UNIT = "dpcheck/auditing", "tests/unit/auditing"


@dataclass(frozen=True)
class Room:
    """Files, as patterns, and the tests that are to notice a change; doctests of the files are run, too."""

    files: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def paths(self) -> list[Path]:
        """Its files."""
        return sorted(path for pattern in self.files for path in ROOT.glob(pattern))


ROOMS = {
    "certify": Room(
        ("dpcheck/accounting/certify/*.py",),
        (
            "tests/property/test_certify.py",
            "tests/unit/accounting/test_contradictions.py",
            "tests/unit/accounting/test_exact.py",
            "tests/unit/accounting/test_risk.py",
        ),
    ),
    "error budget": Room((f"{AUDITING}/error_budget.py",), (f"{UNIT}/test_error_budget.py",)),
    "verdicts": Room(
        (f"{AUDITING}/verdicts.py", f"{AUDITING}/contradictions.py"),
        (f"{UNIT}/test_verdicts.py", f"{UNIT}/test_contradictions.py"),
    ),
    "processes": Room(
        (f"{AUDITING}/statistics/sequential.py", f"{AUDITING}/statistics/game.py"),
        (f"{UNIT}/test_sequential.py", f"{UNIT}/test_game.py"),
    ),
    "guesses": Room(
        (f"{AUDITING}/statistics/guesses.py", f"{AUDITING}/statistics/curves.py"),
        (f"{UNIT}/test_one_run.py",),
    ),
    "intervals": Room(
        tuple(f"{AUDITING}/statistics/{name}.py" for name in ("intervals", "bands", "loss_bands")),
        (
            f"{UNIT}/test_sequential.py",
            f"{UNIT}/test_events.py",
            "tests/slow/auditing/test_evidence.py",
            "-k",
            "room or conditional or counts or hits or band or clopper or limits or envelope or hull",
        ),
    ),
}
SECONDS = 300
SWAPS = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {
    "max": "min",
    "min": "max",
    "above": "below",
    "below": "above",
    "any": "all",
    "all": "any",
    "maximum": "minimum",
    "minimum": "maximum",
    "UPPER": "LOWER",
    "LOWER": "UPPER",
}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """The node with one thing changed."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPS:
        yield _with(node, ops=[SWAPS[type(node.ops[0])]()])
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
        yield _with(node, op=SWAPS[type(node.op)]())
    if isinstance(node, ast.Name) and node.id in NAMES:
        yield _with(node, id=NAMES[node.id])
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield _with(node, attr=NAMES[node.attr])
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield _with(node, value=not node.value)
        elif isinstance(node.value, int | float):
            yield _with(node, value=node.value + 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand


def _with(node: ast.AST, **parts: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in parts.items():
        setattr(other, name, value)
    return other


def mutants(path: Path) -> Iterator[tuple[str, int, str, str]]:
    """(what was there and what is now, line, new source, what was there) of every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for parent in list(ast.walk(tree)):
        for name, value in ast.iter_fields(parent):
            if name in ("returns", "annotation", "decorator_list"):
                continue
            for place, node in (
                list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            ):
                if not isinstance(node, ast.AST):
                    continue
                for other in changes(node):
                    _put(parent, name, place, other)
                    line = getattr(node, "lineno", 0)
                    yield (
                        f"{ast.unparse(node)} -> {ast.unparse(other)}",
                        line,
                        ast.unparse(tree),
                        name,
                    )
                    _put(parent, name, place, node)


def _put(parent: ast.AST, name: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[place] = node


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the package and its tests."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("dpcheck", "mechanisms", "audits", "tests"):
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, home / name, symlinks=True, ignore=ignore)
        for name in ("pyproject.toml", "conftest.py"):
            shutil.copy(ROOT / name, home)
        yield home


def run(home: Path, room: Room, path: Path, source: str) -> str:
    """killed, survived or slow."""
    where = path.relative_to(ROOT)
    files = [str(each.relative_to(ROOT)) for each in room.paths]
    environment = {**os.environ, "PYTHONPATH": str(home), "CERTIFY_DRAWS": "6"}
    options = ["-q", "-x", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *files, *room.tests]
    (home / where).write_text(source, encoding="utf-8")
    try:
        done = subprocess.run(
            command, cwd=home, env=environment, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "slow"
    finally:
        shutil.copy(path, home / where)
    return "survived" if done.returncode == 0 else "killed"


def known() -> dict[tuple[str, str], dict]:
    if not RECORD.exists():
        return {}
    rows = [json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines()]
    return {(row["room"], row["mutant"]): row for row in rows}


def summary() -> None:
    found = known()
    for room in ROOMS:
        counts = Counter(row["result"] for row in found.values() if row["room"] == room)
        shown = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
        print(f"{room}: {counts.total()} mutants, {shown}")
    for row in found.values():
        if row["result"] != "killed":
            print(f"{row['result']}: {row['room']}: {row['mutant']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", choices=ROOMS, default="certify")
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--summary", action="store_true")
    asked = parser.parse_args()
    if asked.summary:
        return summary()
    room = ROOMS[asked.room]
    everything = [
        (f"{path.name}:{line} {what}", path, source)
        for path in room.paths
        for what, line, source, _ in mutants(path)
    ]
    random.Random(asked.seed).shuffle(everything)
    print(f"{len(everything)} mutants in {len(room.paths)} files")
    done = known()
    with copied() as home:
        for name, path, source in everything[: asked.sample]:
            if (asked.room, name) in done:
                continue
            result = run(home, room, path, source)
            print(f"{result}: {name}", flush=True)
            with RECORD.open("a", encoding="utf-8") as record:
                line = {"room": asked.room, "mutant": name, "result": result}
                record.write(json.dumps(line) + "\n")
    return summary()


if __name__ == "__main__":
    main()
