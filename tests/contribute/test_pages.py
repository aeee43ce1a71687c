"""The pages for contributors do what they say: their code is added to a copy, and works from a shell.

A block with a caption is a file, the end of a file ("at the end"), or a change to one (diff); a
console block is run in the copy, and what it shows must be printed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "howto" / "contribute").glob("*.md"))
COPIED = ("dpcheck", "mechanisms", "audits", "tests/layers", "pyproject.toml", "Makefile")
BLOCK = re.compile(r"^```(\{code-block\} \w+|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
CAPTION = re.compile(r":caption: (.+?)(, at the end)?\n\n", re.DOTALL)


@dataclass(frozen=True)
class Command:
    words: list[str]
    exit: int
    shown: list[str]


def commands(text: str) -> list[Command]:
    found: list[Command] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            words, _, comment = line[2:].partition("  #")
            said = re.search(r"exit (\d)", comment)
            found.append(Command(shlex.split(words), int(said[1]) if said else 0, []))
        elif line.strip() not in ("", "..."):
            found[-1].shown.append(line.strip())
    return found


def change(path: Path, diff: str) -> None:
    """Apply a change of one place: its old lines must stand in the file exactly once."""
    lines = diff.splitlines()
    old = "\n".join(line[1:] for line in lines if line[:1] != "+")
    new = "\n".join(line[1:] for line in lines if line[:1] != "-")
    text = path.read_text()
    assert text.count(old) == 1, f"{path} has these lines {text.count(old)} times:\n{old}"
    path.write_text(text.replace(old, new))


def place(root: Path, kind: str, text: str) -> None:
    """Add a captioned block to the copy."""
    caption = CAPTION.match(text)
    assert caption is not None, f"a block without a caption:\n{text}"
    path, code = root / caption[1], text[caption.end() :]
    if kind.endswith("diff"):
        change(path, code)
    elif caption[2]:
        path.write_text(f"{path.read_text()}\n\n{code}")
    else:
        assert not path.exists(), f"{caption[1]} is there already"
        path.write_text(code)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    for name in COPIED:
        source, target = ROOT / name, root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)  # compiled modules too, with their dates
        else:
            shutil.copy(source, target)
    return root


def run(words: list[str], root: Path) -> subprocess.CompletedProcess[str]:
    scripts = Path(sys.executable).parent
    if words[0] == "dpcheck":
        words = [sys.executable, "-m", *words]
    elif words[0] == "python":
        words = [sys.executable, *words[1:]]
    elif words == ["make", "layers"]:
        words = ["make", "--old-file=.venv/.ready", f"BIN={scripts}", "layers"]
    return subprocess.run(
        words,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "DPCHECK_JOBS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_there_is_a_page_for_every_axis():
    assert [page.stem for page in PAGES] == [
        "algorithm",
        "auditor",
        "event",
        "integration",
        "primitive",
        "report-format",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_works(page: Path, copy: Path) -> None:
    ran = 0
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind != "console":
            place(copy, kind, text)
            continue
        for command in commands(text):
            done = run(command.words, copy)
            said = done.stdout + done.stderr
            assert done.returncode == command.exit, f"{command.words}\n{said}"
            printed = [line.strip() for line in said.splitlines()]
            missing = [line for line in command.shown if line not in printed]
            assert not missing, f"{command.words} did not print {missing} but\n{said}"
            ran += bool(command.shown)
    assert ran, f"{page.name} shows no output"
