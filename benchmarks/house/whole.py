"""How the whole house is built: honest types, tuned numbers, names that mean one thing, import cycles.

    python benchmarks/house/whole.py [ROOT]

Everything is counted from the source below ROOT (this repository by default). `Any` is counted with its
aliases: a name that stands for `Any` counts wherever it is used. A tuned number is a name in capitals at the
top of a module whose value is made of numbers. Imports inside functions count as imports.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("dpcheck", "mechanisms", "audits")
Modules = dict[str, tuple[Path, ast.Module]]


def modules(root: Path) -> Modules:
    """Every module by its dotted name; links are not followed."""
    found: Modules = {}
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            if any(parent.is_symlink() for parent in path.parents if parent != root):
                continue
            whole = parts if parts[0] == "dpcheck" else ("dpcheck", *parts)
            name = ".".join(whole).removesuffix(".__init__")
            found[name] = (path, ast.parse(path.read_text(encoding="utf-8")))
    return found


def aliases_of_any(every: Modules) -> set[str]:
    """Names that are declared to be `Any`."""
    found = {"Any"}
    for _, tree in every.values():
        for node in tree.body:
            if (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and isinstance(node.value, ast.Name)
                and node.value.id == "Any"
            ):
                found.add(node.target.id)
    return found


def uses(every: Modules, names: set[str]) -> int:
    """How often one of these names is read, imports aside."""
    return sum(
        isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)
        for _, tree in every.values()
        for node in ast.walk(tree)
    )


def numeric(node: ast.expr | None) -> bool:
    """Whether a value is made of numbers and nothing else."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return numeric(node.operand)
    if isinstance(node, ast.BinOp):
        return numeric(node.left) and numeric(node.right)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return bool(node.elts) and all(map(numeric, node.elts))
    return False


def tuned(every: Modules) -> int:
    """Names in capitals at the top of a module that are numbers."""
    count = 0
    for _, tree in every.values():
        for node in tree.body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or not numeric(_values(node)):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            count += sum(name.id.lstrip("_").isupper() for name in names)
    return count


def _values(node: ast.Assign | ast.AnnAssign) -> ast.expr | None:
    return node.value


def repeated_classes(every: Modules) -> dict[str, list[str]]:
    """Names of public classes that are defined in more than one module."""
    homes: dict[str, list[str]] = defaultdict(list)
    for name, (_, tree) in every.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    return {name: places for name, places in homes.items() if len(places) > 1}


def repeated_modules(every: Modules) -> dict[str, int]:
    """File names that occur more than once, packages aside."""
    count = Counter(path.name for path, _ in every.values() if path.name != "__init__.py")
    return {name: times for name, times in count.items() if times > 1}


def imports(name: str, tree: ast.Module, every: Modules) -> Iterator[tuple[str, bool]]:
    """(module, whether only inside a function) of every import of our own; typing-only ones aside."""
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{each.name}" for each in node.names] + [node.module]
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        found = next((each for each in names if each in every), None)
        if found is not None and found != name:
            yield found, id(node) not in top


def knots(edges: dict[str, set[str]]) -> list[set[str]]:
    """Groups of modules that reach each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(at: str) -> None:
        index[at] = low[at] = len(index)
        stack.append(at)
        for other in edges.get(at, ()):
            if other not in index:
                visit(other)
                low[at] = min(low[at], low[other])
            elif other in stack:
                low[at] = min(low[at], index[other])
        if low[at] == index[at]:
            group = set()
            while at not in group:
                group.add(stack.pop())
            if len(group) > 1:
                found.append(group)

    sys.setrecursionlimit(10_000)
    for each in edges:
        if each not in index:
            visit(each)
    return sorted(found, key=len, reverse=True)


def folders(edges: dict[str, set[str]]) -> int:
    """Pairs of folders that import each other."""
    pairs = {
        (a.rpartition(".")[0], b.rpartition(".")[0]) for a, others in edges.items() for b in others
    }
    return sum((b, a) in pairs for a, b in pairs if a < b)


def prose(every: Modules) -> float:
    """The share of lines that are comments or docstrings."""
    said = whole = 0
    for path, tree in every.values():
        lines = path.read_text(encoding="utf-8").splitlines()
        whole += len(lines)
        said += sum(line.lstrip().startswith("#") for line in lines)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0] if node.body else None
                if (
                    isinstance(first, ast.Expr)
                    and isinstance(first.value, ast.Constant)
                    and isinstance(first.value.value, str)
                ):
                    said += (first.end_lineno or first.lineno) - first.lineno + 1
    return said / whole


def main(root: Path) -> None:
    every = modules(root)
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path, _ in every.values())
    aliases = aliases_of_any(every)
    found = {name: list(imports(name, tree, every)) for name, (_, tree) in every.items()}
    edges = {name: {other for other, _ in each} for name, each in found.items()}
    early = {name: {o for o, late in each if not late} for name, each in found.items()}
    classes, files = repeated_classes(every), repeated_modules(every)
    rows = {
        "lines": f"{lines:,}",
        "modules": f"{len(every):,}",
        "Any and its aliases per 1,000 lines": f"{1000 * uses(every, aliases) / lines:.1f}",
        "  names for Any": ", ".join(sorted(aliases)),
        "tuned numbers": f"{tuned(every)}",
        "names of classes with several homes": f"{len(classes)}",
        "  such classes": ", ".join(sorted(classes, key=lambda n: -len(classes[n]))[:6]),
        "file names that occur more than once": f"{len(files)}",
        "  such files": ", ".join(sorted(files, key=lambda n: -files[n])[:6]),
        "knots of imports, those at the top": f"{[len(k) for k in knots(early)]}",
        "knots of imports, late ones counted": f"{[len(k) for k in knots(edges)]}",
        "pairs of folders that import each other": f"{folders(edges)}",
        "comments and docstrings": f"{100 * prose(every):.0f}%",
    }
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:<{width}}  {value}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
