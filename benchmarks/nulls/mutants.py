"""Mutants of the code a verdict rests on: error budget, e-processes, games, intervals, the verdict table.

    python benchmarks/nulls/mutants.py --sample 10      # continues results/verdict_mutants.jsonl

Each mutant changes one comparison, operator, number or condition, and runs the tests of that file in a
process of its own. Who survives is printed: a test is missing, or nothing that anybody could see changed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import io
import os
import random
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
import scipy.special

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

from records import append, missing, read, stamp  # noqa: E402

FILE = "verdict_mutants.jsonl"
HELD = (np, scipy.special)  # loaded once, before processes are split off
UNIT = "tests/unit/auditing/"
VERDICTS = f"{UNIT}test_verdicts.py::test_"
TESTS = {
    "auditing/verdicts": (f"{VERDICTS}every_case", f"{VERDICTS}a_wider_tolerance"),
    "auditing/error_budget": (f"{UNIT}test_error_budget.py",),
    "auditing/statistics/sequential": (f"{UNIT}test_sequential.py",),
    "auditing/statistics/intervals": (f"{UNIT}test_sequential.py", "dpcheck/auditing/statistics"),
    "auditing/statistics/game": (f"{UNIT}test_sequential.py", "dpcheck/auditing/statistics"),
}
_COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}
_COMPARED |= {ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
_OPERATED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """The node, changed in one way."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in _COMPARED:
        new.ops[0] = _COMPARED[type(new.ops[0])]()
        yield new
    elif isinstance(new, ast.BinOp) and type(new.op) in _OPERATED:
        new.op = _OPERATED[type(new.op)]()
        yield new
    elif isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
        yield new
    elif isinstance(new, ast.Constant) and isinstance(new.value, float | int):
        if not isinstance(new.value, bool):
            new.value = new.value + 1 if new.value else 0.5
            yield new
    elif isinstance(new, ast.IfExp):
        new.body, new.orelse = new.orelse, new.body
        yield new


def mutants(source: str) -> list[tuple[str, str]]:
    """(what was changed, the changed source) for every place."""
    tree = ast.parse(source)
    places = [
        (parent, name, index, child)
        for parent in ast.walk(tree)
        for name, value in ast.iter_fields(parent)
        for index, child in enumerate(value if isinstance(value, list) else [value])
        if isinstance(child, ast.expr)
    ]
    found = []
    for parent, name, index, child in places:
        for new in changes(child):
            held = getattr(parent, name)
            _put(parent, name, index, new, held)
            where = f"{child.lineno}: {ast.unparse(child)[:60]} -> {ast.unparse(new)[:60]}"
            found.append((where, ast.unparse(ast.fix_missing_locations(tree))))
            _put(parent, name, index, child, held)
    return found


def _put(parent: ast.AST, name: str, index: int, node: ast.AST, held: object) -> None:
    if isinstance(held, list):
        held[index] = node
    else:
        setattr(parent, name, node)


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a changed source."""

    def __init__(self, module: str, source: str) -> None:
        self.module, self.source = module, source

    def find_spec(self, name, _path=None, _target=None):
        """Of the one module."""
        return importlib.util.spec_from_loader(name, self) if name == self.module else None

    def exec_module(self, module):
        """The changed one."""
        exec(compile(self.source, self.module, "exec"), module.__dict__)


def survives(name: str, source: str) -> bool:
    """Whether its tests pass with this source."""
    child = os.fork()
    if child == 0:
        sys.meta_path.insert(0, Changed("dpcheck." + name.replace("/", "."), source))
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            options = ["-x", "-q", "--doctest-modules", "-p", "no:cacheprovider"]
            code = 1
            try:
                code = int(pytest.main([*options, *(str(ROOT / test) for test in TESTS[name])]))
            finally:
                os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=10, help="of each file")
    options = parser.parse_args()
    wanted, sources = [], {}
    for name in TESTS:
        text = (ROOT / "dpcheck" / f"{name}.py").read_text(encoding="utf-8")
        listed = mutants(text)
        random.Random(1).shuffle(listed)
        sources |= {(name, where): source for where, source in listed[: options.sample]}
        wanted += [(name, where) for where, _ in listed[: options.sample]]
        if survives(name, text) is False:
            raise SystemExit(f"the tests of {name} fail as it is")
    for name, where in missing(FILE, wanted, ("file", "mutant")):
        alive = survives(name, sources[name, where])
        append(FILE, {"file": name, "mutant": where, "survives": alive, **stamp()})
    rows = [row for row in read(FILE) if (row["file"], row["mutant"]) in sources]
    for row in rows:
        if row["survives"]:
            print(f"{row['file']}:{row['mutant']}")
    print(f"{sum(not row['survives'] for row in rows)} of {len(rows)} killed")


if __name__ == "__main__":
    main()
