"""The README's feature table is made from docs/features.toml, and every cell points at a real test."""

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def table():
    spec = importlib.util.spec_from_file_location("t", ROOT / "benchmarks" / "feature_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_has_the_generated_table(table):
    assert table.render() in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_cell_links_to_a_function_that_exists(table):
    data = table.load()
    assert len(data["feature"]) >= 10
    for feature in data["feature"]:
        assert len(feature["cells"]) == len(data["columns"]), feature["name"]
        for word, *test in feature["cells"]:
            assert (word == "–") == (not test), feature["name"]
            if test:
                path, _, function = test[0].partition("::")
                tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
                names = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
                assert function in names, test[0]


def test_what_we_say_of_ourselves_is_tested_in_tests(table):
    for feature in table.load()["feature"]:
        word, test = feature["cells"][0]
        assert word == "yes"
        assert test.startswith("tests/")
