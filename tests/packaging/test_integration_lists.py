"""Every test of an integration is in a list of the Makefile, and each listed one exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_integration_test_is_in_a_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lists = re.findall(r"addprefix tests/integrations/, ([^)]*)\)", makefile)
    named = {name for listed in lists for name in listed.split()}
    named |= set(re.findall(r"tests/integrations/((?:\w+/)?test_\w+\.py)", makefile))
    folder = ROOT / "tests" / "integrations"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("test_*.py")}
    assert there == named
