"""The board of verdicts says what the data file says, and shows every exhibit of the registry."""

import importlib.util
import json
import sys
from pathlib import Path

from dpcheck.session import registry
from dpcheck.session.judgement import Grade

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
    assert [name for name in registry.names() if registry.get(name).judgement is None] == []


def test_every_judgement_says_what_was_supplied_and_where_it_was_looked_up():
    for name in registry.names():
        judged = registry.get(name).judgement
        assert judged.inferred, name
        assert judged.places, name
        assert judged.exhibits, name


def test_grades_fit_the_verdicts_of_both_readings():
    """A grade is not free: it follows from what the two readings give."""
    results = json.loads((ROOT / "docs/verdicts.json").read_text())
    for name in registry.names():
        judged = registry.get(name).judgement
        literal, favourable = (
            _verdicts(results, name, reading) for reading in (judged.literal, judged.favourable)
        )
        if judged.grade is Grade.HOLDS:
            assert literal == favourable == {"holds"}, name
        elif judged.grade is Grade.MISPRINT:
            assert favourable == {"holds"}, name
            assert literal is None or "violated" in literal, name
        elif judged.grade is Grade.GAP:
            assert favourable == {"holds"}, name
        else:
            assert "violated" in literal, name
            assert favourable is None, name


def _verdicts(results, name, reading):
    if isinstance(reading, str):
        return None
    key = "dpcheck " + " ".join(board().command(name, reading))
    return {part["verdict"] for part in results[key]["parts"]}
