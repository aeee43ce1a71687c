"""The pages say what a proof does not cover, what a network file system does, and what a replay needs.

Each page is held to what the code does.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def section(page, heading):
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_what_a_proof_does_not_cover_is_on_its_page_and_linked_from_the_how_to():
    said = section("explanation/proofs.md", "What it does not cover")
    for word in ("returned value", "how long", "memory", "prints", "debugger", "version of numpy"):
        assert word in said
    assert "](#not-covered)" in (DOCS / "howto/prove.md").read_text(encoding="utf-8")


def test_the_links_of_the_how_to_have_their_labels():
    texts = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    labels = {label for text in texts for label in re.findall(r"^\(([\w-]+)\)=$", text, re.M)}
    how_to = (DOCS / "howto/prove.md").read_text(encoding="utf-8")
    links = set(re.findall(r"\]\(#([\w-]+)\)", how_to))
    assert {"not-covered", "attacked-proofs"} <= links <= labels


def test_network_file_systems_are_mentioned():
    said = (DOCS / "explanation/ledger.md").read_text(encoding="utf-8")
    assert "a network file system (NFS, SMB, 9p, anything in user space) is refused" in said


@pytest.fixture
def shell(tmp_path):
    def run(*arguments, folder=tmp_path):
        command = [sys.executable, "-m", "dpcheck", *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    return run


def test_a_witness_of_a_file_needs_the_file_as_the_reviewers_tutorial_says(shell, tmp_path):
    page = (DOCS / "tutorials/newcomer-reviewer.md").read_text(encoding="utf-8")
    words = " ".join(page.split())
    assert "keep both files together; it also needs dpcheck and whatever" in words
    assert "needs nothing but" not in words
    code = page.split(":caption: algorithm1.py\n")[1].split("```")[0]
    (tmp_path / "algorithm1.py").write_text(code)
    assert shell("audit", "algorithm1.py:histogram", "--witness", "shown.py").returncode == 1
    again = shell("audit", "--replay", "shown.py")
    assert again.returncode == 1
    assert again.stdout in page  # what the page says it prints
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(tmp_path / "shown.py", alone)
    gone = shell("audit", "--replay", "shown.py", folder=alone)
    assert gone.returncode == 2
    assert "algorithm1.py" in gone.stderr
