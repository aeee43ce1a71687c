"""What a shell suggests for arguments: targets, mechanisms, words, tables. Nothing of the user's is run."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

_AUDITS = Path(__file__).parents[2] / "audits"


def targets(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Registered audits, Python files, and the functions of a file once its name and a colon are there."""
    file, colon, start = incomplete.partition(":")
    if colon:
        found = [f"{file}:{name}" for name in _functions(Path(file)) if name.startswith(start)]
        return [CompletionItem(name) for name in found]
    names = _audits() if _command(context) == "audit" else []
    return [*_matching(names, incomplete), *_python_files(incomplete)]


def mechanisms(
    context: click.Context,  # noqa: ARG001 - click's signature
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    """Mechanisms that can be accounted for by name."""
    from dpcheck.cli.accounting.events import KINDS

    return _matching(KINDS, incomplete)


def words(
    context: click.Context,  # noqa: ARG001 - click's signature
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    """What `dpcheck explain` knows."""
    from dpcheck.core.explained.glossary import GLOSSARY
    from dpcheck.core.explained.remedies import REMEDIES

    return _matching([*GLOSSARY, *REMEDIES], incomplete)


def _command(context: click.Context) -> str:
    return context.info_name or ""


def _matching(names: Iterable[str], start: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.lower().startswith(start.lower())]


def _audits() -> list[str]:
    """By their files: importing them takes a second."""
    listed = (path.stem for path in _AUDITS.glob("[!_]*") if path.suffix in ("", ".py"))
    return sorted(listed)


def _python_files(start: str) -> list[CompletionItem]:
    folder = Path(start).parent if start and not start.endswith("/") else Path(start or ".")
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    found = []
    for path in inside:
        shown = path.as_posix()
        if path.name.startswith(".") or not shown.startswith(start):
            continue
        if path.is_dir():
            found.append(CompletionItem(f"{shown}/"))
        elif path.suffix == ".py":
            found.append(CompletionItem(f"{shown}:"))
    return found


def _functions(path: Path) -> list[str]:
    """The functions that a file defines or names at its top level; it is read, not run."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    names = [
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]
