"""What proves is apart from what guesses: who makes bounds and theorems, and what they may use for it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import dpcheck

ROOT = Path(dpcheck.__file__).parent
CERTIFY = ROOT / "accounting" / "certify"
# Where each is written, and who else makes one: nobody, but for what is said.
THEOREMS = {
    "dpcheck.core.bound.Bound": (),
    # Selections from below are planned and proved in one file.
    "dpcheck.accounting.certify.theorem.Spends": ("accounting/accountants/selected_below.py",),
    "dpcheck.accounting.certify.theorem.Curve": (),
    "dpcheck.accounting.certify.optimal.Optimum": (),
    "dpcheck.accounting.certify.lattice.OnLattices": (),
    "dpcheck.accounting.certify.lattice.Transformed": (),
    "dpcheck.accounting.certify.lattice.Law": (),
    "dpcheck.accounting.certify.bound.Epsilon": (),
    "dpcheck.accounting.certify.bound.Deltas": ("accounting/accountants/best.py",),  # of zeros
}
# Numbers at the top of its modules, none of which was tuned.
NUMBERS = {
    "lattice.MOST_STEPS": "whole numbers up to it are floats: beyond, points of a lattice are not told apart",
    "bound.LARGEST": "e^700 is the last power of e that is a float",
    "bound.CROSSED": "two proofs may cross by rounding",
    "bound.CROSSED_ABSOLUTE": "two proofs may cross by rounding",
    "bound.NO_LEAK": "nothing",
    "conversion.GOOD_BITS": "balls are made smaller until so many bits are good",
    "conversion.MOST_BITS": "and given up beyond these",
    "conversion.LARGEST_LOG_MOMENT": "larger ones leave the range of a ball",
    "gaussian._FAR": "the series of Mills' ratio has more than 50 good bits from here on",
    "gaussian._SERIES_TERMS": "with so many terms",
    "gaussian._LEAST_SHIFT": "smaller shifts lose digits in floats, and have balls",
    "many.MANY": "a composition is rewritten from here on: any number is sound",
    "many.LARGEST": "as above",
    "many.BLOCK_ABOVE": "a size of a block: any number is sound",
    "many.BLOCK_BELOW": "as above",
    "many.GLASS": "as above",
    "many.SMALLER": "Gaussians that are tried in turn, each proved or not",
    "many._BITS": "of balls",
    "optimal._NEGLIGIBLE_BITS": "what is smaller is left to the enclosure",
    "renyi.LARGEST_ODDS": "e^745 is the last power of e whose inverse is a float",
    "selection.ROUND_UP": "4,500 units",
}


@cache
def texts() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}


def modules(root: Path = ROOT, naming: str = "") -> list[tuple[Path, ast.Module]]:
    """The modules of a folder that have this word in them."""
    return [
        (path, ast.parse(text))
        for path, text in texts().items()
        if root in path.parents and naming in text
    ]


def made(tree: ast.Module, what: str) -> list[int]:
    """Lines in which a module makes one: by its name, or by another that it is imported as."""
    home, name = what.rsplit(".", 1)
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == home
        for alias in node.names
        if alias.name == name
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        node.lineno
        for node in calls
        if (isinstance(node.func, ast.Name) and node.func.id in names)
        or (isinstance(node.func, ast.Attribute) and ast.unparse(node.func).endswith(what))
    ]


@pytest.mark.parametrize("what", THEOREMS)
def test_only_certifying_makes_a_bound_and_what_it_is_made_of(what):
    name = what.rsplit(".", 1)[1]  # who makes one has to write it, if only to import it
    found = {
        path.relative_to(ROOT).as_posix()
        for path, tree in modules(naming=name)
        if CERTIFY not in path.parents and made(tree, what)
    }
    assert found == set(THEOREMS[what])
    assert any(
        made(tree, what) or f"class {name}" in texts()[path]
        for path, tree in modules(CERTIFY, naming=name)
    ), what


def test_a_bound_made_elsewhere_is_seen():
    for text in (
        "from dpcheck.core.bound import Bound\nBound(0.0, 1.0, 'x')",
        "from dpcheck.core.bound import Bound as B\nB(0.0, 1.0, 'x')",
        "import dpcheck\ndpcheck.core.bound.Bound(0.0, 1.0, 'x')",
    ):
        assert made(ast.parse(text), "dpcheck.core.bound.Bound")
    assert not made(ast.parse("from a import Bound\nBound(0.0)"), "dpcheck.core.bound.Bound")


def changed_sides(tree: ast.Module) -> list[int]:
    """Lines in which a side of something is replaced."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("replace", "dataclasses.replace")
        and {"upper", "proof", "epsilon", "delta"} & {key.arg for key in node.keywords}
        and ast.unparse(node.args[0]) in ("bound", "found", "one", "worst", "best", "answer")
    ]


def test_nobody_moves_a_side_of_a_bound():
    found = {
        path.name
        for path, tree in modules(ROOT / "accounting")
        if CERTIFY not in path.parents and changed_sides(tree)
    }
    assert found == set()
    assert changed_sides(ast.parse("replace(bound, upper=0.0)"))


def test_certifying_keeps_nothing_and_uses_no_strategy():
    for path, tree in modules(CERTIFY):
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        if path.name != "many.py":  # what one block shows is kept
            assert not names & {"lru_cache", "cache", "cached_property"}, path
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Global)], path
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not node.module.startswith(
                    (
                        "dpcheck.accounting.accountants",
                        "dpcheck.accounting.renyi.conversion",
                        "dpcheck.accounting.renyi.majorant",
                        "dpcheck.accounting.renyi.search",
                        "dpcheck.accounting.pld.composed",
                        "dpcheck.accounting.pld.layout",
                        "dpcheck.accounting.pld.window",
                        "dpcheck.accounting.pld.reuse",
                        "dpcheck.numerics.search",
                    )
                ), (path, node.module)


def test_every_number_of_certifying_is_accounted_for():
    found = set()
    for path, tree in modules(CERTIFY):
        for node in tree.body:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    parts = target.elts if isinstance(target, ast.Tuple) else [target]
                    numbers = any(
                        isinstance(one, ast.Constant) and isinstance(one.value, int | float)
                        for one in ast.walk(node.value)
                    )
                    names = [one.id for one in parts if isinstance(one, ast.Name)]
                    found |= {f"{path.stem}.{name}" for name in names if numbers and name.isupper()}
    assert found == set(NUMBERS)
