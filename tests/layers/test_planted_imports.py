"""`make layers` refuses what its allow-list does not name: imports planted in a copy of the sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECK = [sys.executable, "tests/layers/check_imports.py"]
MAKE = [
    "make",
    "--old-file=.venv/.bare",
    "--old-file=.venv/.ready",
    f"BIN={Path(sys.executable).parent}",
    "layers",
]

PLANTED = {
    "third party in core": ("dpcheck/core/bound.py", "import jinja2"),
    "accountant in a mechanism": (
        "mechanisms/plr.py",
        "from dpcheck.accounting.accountants.pure import PureAccountant",
    ),
    "lazily, inside a function": ("mechanisms/plr.py", "def f():\n    import torch"),
    "a room above": ("dpcheck/accounting/risk.py", "from dpcheck.session import run"),
    "the public package": ("dpcheck/auditing/part.py", "from dpcheck import epsilon"),
    "the package whole": ("dpcheck/numerics/balls.py", "import dpcheck"),
    "relative": ("dpcheck/core/bound.py", "from ..numerics import balls"),
    "a library of another room": ("dpcheck/ledger/ledger.py", "from sklearn.svm import SVC"),
    "a room of nobody": ("dpcheck/attic/old.py", "import json"),
    "private module of another folder": (
        "dpcheck/testing/sub/helper.py",
        "from dpcheck.testing._own import helper",
    ),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    for folder in ("dpcheck", "mechanisms", "audits", "tests/layers"):
        shutil.copytree(
            ROOT / folder,
            root / folder,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for name in ("pyproject.toml", "Makefile"):
        shutil.copy(ROOT / name, root / name)
    (root / "dpcheck/testing/_own.py").write_text("helper = 1\n")  # a private module to reach for
    return root


def run(command: list[str], root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


def plant(root: Path, file: str, code: str) -> str:
    path = root / file
    path.parent.mkdir(exist_ok=True)
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}\n{code}\n")
    return before


def test_the_repository_as_it_is_passes(sources: Path) -> None:
    clean = run(MAKE, sources)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert "Layers go one way KEPT" in clean.stdout
    assert "0 refused" in clean.stdout


@pytest.mark.parametrize("name", list(PLANTED)[:2])
def test_make_layers_fails_on_a_planted_import(name: str, sources: Path) -> None:
    file, code = PLANTED[name]
    before = plant(sources, file, code)
    try:
        answer = run(MAKE, sources)
    finally:
        (sources / file).write_text(before)
    assert answer.returncode != 0
    assert "1 refused" in answer.stdout


FREE = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch"


@pytest.fixture(scope="module")
def answer(sources: Path) -> tuple[list[str], dict[str, str]]:
    """What the second command prints of all of them at once; name -> where it was planted."""
    planted = {**PLANTED, "free": ("dpcheck/core/budget.py", FREE)}
    before = {
        sources / file: (sources / file).read_text() if (sources / file).exists() else None
        for file, _ in planted.values()
    }
    where = {}
    for name, (file, code) in planted.items():
        plant(sources, file, code)
        where[name] = f"{file}:{(sources / file).read_text().count(chr(10))}: "
    where["a room of nobody"] = "dpcheck/attic/old.py: no room"
    try:
        done = run(CHECK, sources)
    finally:
        for path, text in before.items():
            path.unlink() if text is None else path.write_text(text)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout.splitlines(), where


@pytest.mark.parametrize("name", PLANTED)
def test_its_second_command_names_file_and_line(name: str, answer) -> None:
    lines, where = answer
    assert sum(line.startswith(where[name]) for line in lines) == 1, lines


def test_imports_for_type_checkers_are_free(answer) -> None:
    lines, where = answer
    assert not any(line.startswith(where["free"].rpartition(":")[0]) for line in lines)
    assert lines[-1].endswith(f" {len(PLANTED)} refused")
    assert len(lines) == len(PLANTED) + 1
