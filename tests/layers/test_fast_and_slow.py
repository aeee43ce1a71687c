"""Every test folder is run by `make unit` or by `make test-slow`, or has a target of its own."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
OWN_TARGET = {"browser": "test-browser", "deep": "test-deep", "integrations": "test-integrations"}
NO_TESTS = {"schemas"}


def listed(name: str) -> set[str]:
    text = (ROOT / "Makefile").read_text()
    return set(re.search(rf"^{name} := (.*)$", text, re.MULTILINE)[1].split())


def test_no_folder_is_left_out():
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()} - NO_TESTS
    folders -= {"__pycache__"}
    run = {path.removeprefix("tests/") for path in listed("FAST") | listed("SLOW")}
    assert folders == (run - {"dpcheck"}) | OWN_TARGET.keys()
    assert listed("FAST").isdisjoint(listed("SLOW"))
    makefile = (ROOT / "Makefile").read_text()
    for folder, target in OWN_TARGET.items():
        assert f"tests/{folder}" in makefile.split(f"\n{target}:")[1].split("\n\n")[0]


def test_what_has_to_pass_runs_all_of_them():
    commands = set((ROOT / ".ci/run").read_text().split("set -euo pipefail")[1].split())
    recipe = (ROOT / "Makefile").read_text().split("\ntest:")[1].split("\n\n")[0].split()
    assert {"checks", "unit", "test-slow"} <= commands & set(recipe)
    assert commands >= set(OWN_TARGET.values())
    assert listed("CHECKS") == {"lint", "types", "layers", "docs", "wheel"}
