"""The board of verdicts says what the data file says, and shows every exhibit of the registry."""

import importlib.util
import json
import sys
from pathlib import Path

from dpcheck.session import registry

ROOT = Path(__file__).parents[2]


def board():
    spec = importlib.util.spec_from_file_location(
        "verdict_board", ROOT / "benchmarks/verdict_board.py"
    )
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_data_says():
    results = json.loads((ROOT / "docs/verdicts.json").read_text())
    assert board().page(results) == (ROOT / "docs/verdicts.md").read_text()


def test_every_algorithm_is_on_the_board():
    assert [name for name in registry.names() if not registry.get(name).exhibits] == []
