"""The prose linter of `make lint` finds what it is there for, and leaves code alone."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("proselint")
ROOT = Path(__file__).parents[2]


def lint(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / ".ci" / "prose.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "The runs could not have told.",
        "It has coins of its own.",
        "Two data sets are neighbours.",
        "Very very good.",
    ],
)
def test_what_readers_stumble_over_is_found(sentence):
    page = ROOT / "docs" / "trial-of-the-linter.md"
    page.write_text(f"# A page\n\n{sentence}\n\n```text\n{sentence}\n```\n")
    try:
        done = lint(page)
    finally:
        page.unlink()
    assert done.returncode == 1
    assert "trial-of-the-linter.md:3:" in done.stdout
    assert ":6:" not in done.stdout  # code is no prose


def linter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prose", ROOT / ".ci" / "prose.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def messages(text: str) -> Iterator[tuple[int, str]]:
    """Every text in a module that is no docstring, with the pieces of one sentence together."""
    tree = ast.parse(text)
    left_out = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield node.lineno, " ".join("".join(map(str, parts)).split())
        elif isinstance(node, ast.Constant) and id(node) not in left_out:
            yield node.lineno, " ".join(str(node.value).split())


def test_no_message_says_what_readers_stumbled_over():
    """The same words in messages, help texts and reports."""
    ours = {phrase: re.compile(rf"\b{phrase}", re.IGNORECASE) for phrase in linter().OURS}
    found = [
        f"{path.relative_to(ROOT)}:{line}: {phrase}"
        for path in sorted((ROOT / "dpcheck").rglob("*.py"))
        for line, text in messages(path.read_text(encoding="utf-8"))
        for phrase, pattern in ours.items()
        if pattern.search(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "message",
    [
        '"tell me " "--data"',
        'f"gaussian needs --noise; it has {option}"',
        'f"two neighbouring data "\n"sets"',
    ],
)
def test_a_message_that_says_it_again_is_seen(message):
    """However it is put together."""
    said = " ".join(text for _, text in messages(f"say({message})"))
    assert any(re.search(rf"\b{phrase}", said, re.IGNORECASE) for phrase in linter().OURS)


@pytest.mark.parametrize("name", ["report", "report-narrow", "gate", "curve"])
def test_pictures_say_nothing_that_readers_stumbled_over(name):
    """And are of the reports as they are: their headings are today's."""
    from PIL import Image

    from dpcheck.report import page

    with Image.open(ROOT / "docs" / "images" / f"{name}.png") as picture:
        text = picture.info["Description"]
    assert not [each for each in linter().OURS if re.search(rf"\b{each}", text, re.IGNORECASE)]
    headings = re.findall(r'Topic\(\s*"([^"]+)"', inspect.getsource(page))
    assert "Finding: the verdict" in headings
    shown = [heading for heading in headings if f"\n{heading}\n" in text]
    assert shown == [
        h for h in headings if h not in ("What changed", "Finding: what the budgets say")
    ] or (name == "gate" and shown == headings)
