"""Every import of dpcheck, mechanisms and audits against the allow-list in pyproject.toml.

`[tool.dpcheck-imports.rooms]` names for each room the rooms and the third-party packages it may
import; the most specific entry that holds a module speaks for it. What is not listed is refused, and
so is a private module (leading underscore) outside its own folder. Imports inside functions count;
those under `if TYPE_CHECKING:` do not.

    python tests/layers/check_imports.py [ROOT]
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TOP_LEVEL = ("mechanisms", "audits")  # folders beside dpcheck/ that are imported as rooms of it
FREE = {"__version__"}  # the one name any room may take from the package itself


@dataclass(frozen=True)
class Import:
    """One imported module and where it is written."""

    module: str
    line: int

    @property
    def ours(self) -> bool:
        return self.module == "dpcheck" or self.module.startswith("dpcheck.")

    @property
    def needs_permission(self) -> bool:
        return self.module.split(".")[0] not in sys.stdlib_module_names


def sources(root: Path) -> Iterator[tuple[str, Path]]:
    """Module name and file of every source, the two linked folders read where they live."""
    linked = {root / "dpcheck" / name for name in TOP_LEVEL}
    for folder in ("dpcheck", *TOP_LEVEL):
        for file in sorted((root / folder).rglob("*.py")):
            if linked.isdisjoint(file.parents):
                parts = file.relative_to(root).with_suffix("").parts
                parts = parts if folder == "dpcheck" else ("dpcheck", *parts)
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


def imports(tree: ast.AST, module: str, *, is_package: bool) -> Iterator[Import]:
    """Every module imported below `tree`, relative ones made absolute."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from imports(other, module, is_package=is_package)
        elif isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from _from(node, module, is_package=is_package)
        else:
            yield from imports(node, module, is_package=is_package)


def _from(node: ast.ImportFrom, module: str, *, is_package: bool) -> Iterator[Import]:
    source = node.module or ""
    if node.level:
        folder = module.split(".") if is_package else module.split(".")[:-1]
        folder = folder[: len(folder) - (node.level - 1)]
        source = ".".join([*folder, source] if source else folder)
    for alias in node.names:
        if source != "dpcheck":
            yield Import(f"{source}.{alias.name}", node.lineno)
        elif alias.name not in FREE:
            yield Import(f"dpcheck.{alias.name}", node.lineno)


def within(module: str, place: str) -> bool:
    return module == place or module.startswith(place + ".")


def refusals(root: Path) -> list[str]:
    """One line for every import that the allow-list does not name."""
    with (root / "pyproject.toml").open("rb") as file:
        rooms = tomllib.load(file)["tool"]["dpcheck-imports"]["rooms"]
    found: list[str] = []
    for module, file in sources(root):
        room = _room(module, rooms)
        if room is None:
            name = file.relative_to(root)
            found.append(f"{name}: no room in [tool.dpcheck-imports.rooms] holds it")
        else:
            found.extend(_refused(module, file, room, rooms[room], root))
    return found


def _room(module: str, rooms: Iterable[str]) -> str | None:
    """The most specific room that holds a module; `dpcheck` is only the package's own two files."""
    if module in ("dpcheck", "dpcheck.__main__"):
        return "dpcheck"
    holding = [room for room in rooms if within(module, f"dpcheck.{room}")]
    return max(holding, key=len, default=None)


def _refused(
    module: str, file: Path, room: str, entry: Mapping[str, list[str]], root: Path
) -> Iterator[str]:
    permitted = [f"dpcheck.{place}" for place in (room.split(".")[0], *entry["rooms"])]
    package = file.name == "__init__.py"
    for item in imports(ast.parse(file.read_text()), module, is_package=package):
        where = f"{file.relative_to(root)}:{item.line}"
        if item.ours:
            if not any(within(item.module, place) for place in permitted):
                yield f"{where}: {room} may not import {item.module}"
            folder = module if package else module.rpartition(".")[0]
            yield from _private(item.module, folder, where, root)
        elif item.needs_permission and item.module.split(".")[0] not in entry["packages"]:
            yield f"{where}: {room} may not import {item.module.split('.')[0]}"


def _private(imported: str, folder: str, where: str, root: Path) -> Iterator[str]:
    """A refusal for each private module on the way to `imported` that lies in another folder."""
    parts = imported.split(".")
    for index, part in enumerate(parts):
        owner = ".".join(parts[:index])
        if not part.startswith("_") or part.startswith("__") or owner == folder:
            continue
        place = root.joinpath(
            *parts[1 : index + 1] if parts[1] in TOP_LEVEL else parts[: index + 1]
        )
        if place.is_dir() or place.with_suffix(".py").is_file():
            yield f"{where}: {imported} is private to {owner}"


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = refusals(root)
    for line in found:
        print(line)
    count = sum(1 for _ in sources(root))
    print(f"imports of {count} files against the allow-list: {len(found)} refused")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
