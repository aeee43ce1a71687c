"""The evidence pages are what their data says, and the arithmetic on them is right."""

import importlib.util
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

ROOT = Path(__file__).parents[2]


def pages():
    spec = importlib.util.spec_from_file_location("evidence", ROOT / "benchmarks/evidence/pages.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_what_the_data_says():
    for name, text in pages().render().items():
        assert (ROOT / "docs/evidence" / name).read_text(encoding="utf-8") == text, name


def test_every_item_has_words_and_nothing_stands_twice():
    papers = tomllib.loads((ROOT / "benchmarks/evidence/items.toml").read_text(encoding="utf-8"))
    assert set(papers) == {"Guo2018", "Yao2019", "Wang2018", "Wang2020", "Liu2018"}
    for key, paper in papers.items():
        names = [name for name, _, _ in paper["items"]]
        assert len(names) == len(set(names)), key
        assert all(words for _, _, words in paper["items"]), key
        assert (ROOT / f"docs/reproductions/{paper['reproduction']}.md").exists()


def test_printed_ranks_and_cells_are_recomputed():
    module = pages()
    table = np.array(list(module.GUO_TABLE_4.values()))
    expected = np.mean([rankdata(-column) for column in table.T], axis=0)
    found = module.ranks(module.GUO_TABLE_4)
    assert list(found.values()) == pytest.approx(expected)
    assert found["SourceD"] == pytest.approx(4.13, abs=5e-3)
    assert found["Direct"] == pytest.approx(4.06, abs=5e-3)
    cells, gap = module.largest_difference()
    assert (cells, round(gap, 4)) == (64, 0.0006)
    assert sum(module.YAO_TABLE_4) == sum(module.GUO_TABLE_3) == 92_007
    assert module.wrong_averages() == 0
    assert module.better_than_not_adapted() == {4: 3, 2: 1, 1: 0}


def test_refuted_and_proved_theorems_agree_with_the_board():
    """A theorem that the page calls refuted has a violated exhibit on the board."""
    import json

    from dpcheck.session import registry

    board = json.loads((ROOT / "docs/verdicts.json").read_text())
    papers = tomllib.loads((ROOT / "benchmarks/evidence/items.toml").read_text(encoding="utf-8"))
    for paper in papers.values():
        for name, status, words in paper["items"]:
            if status != "refuted" or "Board, " not in words:
                continue
            audit = words.split("Board, ")[1].split(".")[0].split(";")[0].split(",")[0]
            registry.get(audit)
            verdicts = {
                part["verdict"]
                for key, result in board.items()
                if key.startswith(f"dpcheck audit {audit} ")
                for part in result["parts"]
            }
            assert "violated" in verdicts, name
