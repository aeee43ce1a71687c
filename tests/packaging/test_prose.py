"""The prose linter of `make lint` finds what it is there for, and leaves code alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    "sentence", ["The runs could not have told.", "It has coins of its own.", "Very very good."]
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
