"""How the accountant is built: tuned numbers, dispatch over pairs, and functions a question walks through.

    python benchmarks/house/accounting.py [ROOT]

Counts are of the source below ROOT (this repository by default), walks of the dpcheck that is imported:
set PYTHONPATH to compare two commits. A tuned number is a name in capitals at the top of a module of
accounting or numerics whose value is made of numbers; those of `dpcheck/verify` are limits and are
printed apart. A walk is the number of different functions of dpcheck that a first question enters.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

LEDGER = """import dpcheck
ledger = dpcheck.Ledger(budget=dpcheck.Budget(3.0, 1e-5), adjacency="replace-one")
people = ledger.dataset("people", rows=100)"""
SPEND = "ledger.spend(people, dpcheck.PureDP(0.2))"
STEPS = "dpcheck.SampledGaussian(1.0, 0.01) * 1000"
# What is asked -> (what was done before, the question).
WALKS = {
    "epsilon(SampledGaussian * 1000)": (
        "import dpcheck\ndpcheck.epsilon, dpcheck.SampledGaussian",
        f"dpcheck.epsilon({STEPS}, delta=1e-5, adjacency='add-remove')",
    ),
    "ledger.spend(PureDP)": (LEDGER, SPEND),
    "ledger.spend(PureDP), the second": (f"{LEDGER}\n{SPEND}", SPEND),
}
TRACE = """
import os, sys
seen = set()
home = os.path.dirname(dpcheck.__file__) + os.sep
def note(frame, what, _):
    code = frame.f_code
    if what == "call" and code.co_filename.startswith(home) and not code.co_name.startswith("<"):
        seen.add((code.co_filename, code.co_qualname))
sys.setprofile(note)
{}
sys.setprofile(None)
print(len(seen))
"""


def walk(before: str, asked: str) -> int:
    """Functions of dpcheck that the question enters in a process of its own."""
    script = before + TRACE.format(asked)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def modules(root: Path, *rooms: str) -> dict[Path, ast.Module]:
    found = [path for room in rooms for path in sorted((root / "dpcheck" / room).rglob("*.py"))]
    return {path: ast.parse(path.read_text()) for path in found}


def is_number(node: ast.expr) -> bool:
    """Whether an expression is made of numbers alone."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
    others = (ast.Call, ast.Name, ast.Attribute, ast.Subscript, ast.Lambda, ast.JoinedStr)
    plain = not any(isinstance(part, others) for part in ast.walk(node))
    return plain and bool(parts) and all(type(part.value) in (int, float) for part in parts)


def tuned(trees: dict[Path, ast.Module]) -> int:
    count = 0
    for tree in trees.values():
        for node in tree.body:
            if isinstance(node, ast.Assign) and is_number(node.value):
                for target in node.targets:
                    names = target.elts if isinstance(target, ast.Tuple) else [target]
                    count += sum(isinstance(n, ast.Name) and n.id.isupper() for n in names)
    return count


def pairs_by_name(trees: dict[Path, ast.Module]) -> set[str]:
    """Names of the types of loss."""
    return {
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and (node.name.endswith("Loss"))
    }


def asks_about(node: ast.Call, names: set[str], aliases: set[str]) -> bool:
    if not (
        isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == 2
    ):
        return False
    used = [n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)]
    used += [n.attr for n in ast.walk(node.args[1]) if isinstance(n, ast.Attribute)]
    return any(name in names or name in aliases for name in used)


def ladders(trees: dict[Path, ast.Module], names: set[str], home: Path) -> tuple[int, int, int]:
    """(questions `isinstance(x, a pair)`, functions that ask, files that do) outside the pairs' own files."""
    asked, functions, files = 0, 0, set()
    for path, tree in trees.items():
        if home in path.parents:
            continue
        aliases = {
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign)
            and any(
                isinstance(n, ast.Name | ast.Attribute) and _named(n) in names
                for n in ast.walk(node.value)
            )
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                found = [
                    node
                    for node in ast.walk(function)
                    if isinstance(node, ast.Call) and asks_about(node, names, aliases)
                ]
                asked, functions = asked + len(found), functions + bool(found)
                files |= {path} if found else set()
    return asked, functions, len(files)


def _named(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def registrations(trees: dict[Path, ast.Module], names: set[str]) -> int:
    """Functions that are registered with a dispatcher for a pair."""
    count = 0
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                for mark in node.decorator_list:
                    text = ast.unparse(mark)
                    if ".register" in text:
                        signature = ast.unparse(node.args.args[0].annotation or ast.Constant(0))
                        where = text + signature
                        count += any(name in where for name in names)
    return count


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    trees = modules(root, "accounting", "numerics")
    everything = modules(root, "accounting", "numerics", "ledger", "replay", "integrations")
    lines = sum(len(path.read_text().splitlines()) for path in trees)
    names = pairs_by_name(trees)
    asked, functions, files = ladders(everything, names, root / "dpcheck" / "accounting" / "pairs")
    print(f"lines of accounting and numerics              {lines:,}")
    print(f"tuned numbers                                 {tuned(trees)}")
    print(f"  of what checks certificates                 {tuned(modules(root, 'verify'))}")
    print(
        f"  of the rules that prove                     {tuned(modules(root, 'accounting/certify'))}"
    )
    print(f"types of loss                                 {len(names)}")
    print(
        f"isinstance over them outside their files      {asked} in {functions} functions of {files} files"
    )
    print(f"registrations with dispatchers                {registrations(everything, names)}")
    for question, (before, ask) in WALKS.items():
        print(f"functions of {question:<32} {walk(before, ask)}")


if __name__ == "__main__":
    main()
