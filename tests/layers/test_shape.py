"""The shape of the repository: folders that can be read, files that can be read, types that say something."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("dpcheck", "mechanisms", "audits")
ALGORITHM_FAMILIES = {"pst_"}  # three algorithms of one paper: PST-F, PST-H, PST-S
MADE = {"build", "dist", "data"}  # by other commands


def files(*folders: str) -> list[Path]:
    """Every Python file of these folders, or of the repository; links are not followed."""
    own = folders or [
        path.name
        for path in ROOT.iterdir()
        if path.is_dir() and path.name not in MADE and not path.name.startswith(".")
    ]
    top = [] if folders else list(ROOT.glob("*.py"))
    found = top + [path for folder in own for path in (ROOT / folder).rglob("*.py")]
    return sorted(path.relative_to(ROOT) for path in found)


def test_the_sources_are_found():
    assert len(files(*SOURCES)) > 250
    assert Path("mechanisms/plr.py") in files(*SOURCES)
    assert Path("tests/layers/test_shape.py") in files()


def prefixes(name: str) -> set[str]:
    """Every beginning of a file's name that ends in `_`; the `test_` of pytest aside."""
    stem = name.removeprefix("test_").removesuffix(".py")
    if stem.startswith("__"):
        return set()
    return {stem[: match.end()] for match in re.finditer("_", stem) if match.start()}


def test_prefixes():
    assert prefixes("test_ftl_wire_format.py") == {"ftl_", "ftl_wire_"}
    assert prefixes("__init__.py") == prefixes("wire.py") == prefixes("_extras.py") == set()


def test_no_three_files_of_a_folder_share_a_prefix():
    shared = Counter((path.parent, prefix) for path in files() for prefix in prefixes(path.name))
    flat = {
        f"{folder}/{prefix}*"
        for (folder, prefix), n in shared.items()
        if n >= 3 and prefix not in ALGORITHM_FAMILIES
    }
    assert flat == set()


def test_no_line_is_kept_from_the_formatter():
    skipped = [path for path in files(*SOURCES) if "# fmt: skip" in (ROOT / path).read_text()]
    assert skipped == []
