"""What is known of a pair is in its own file: nobody else asks of which type it is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dpcheck
from dpcheck.accounting import losses
from dpcheck.accounting.losses import Loss

ROOT = Path(dpcheck.__file__).parent
HOME = ROOT / "accounting" / "pairs"


def kinds(of: type[Loss]) -> set[str]:
    return {of.__name__}.union(*(kinds(one) for one in of.__subclasses__()))


KINDS = kinds(Loss) - {"Loss"}


def names(node: ast.AST) -> set[str]:
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def asked(tree: ast.AST) -> list[int]:
    """Lines that ask for the type of a pair: by isinstance, by type() or in a case."""
    groups = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple | ast.BinOp)
        for target in node.targets
        if isinstance(target, ast.Name) and names(node.value) & KINDS
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            found += [node.lineno] if names(node.args[1]) & (KINDS | groups) else []
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            found += [node.lineno] if names(node) & (KINDS | groups) else []
        elif isinstance(node, ast.MatchClass):
            found += [node.lineno] if names(node.cls) & KINDS else []
    return found


def test_nobody_asks_for_the_type_of_a_pair():
    assert (
        {"GaussianLoss", "SelectedLoss", "PoissonSelectedLoss"}
        <= KINDS
        <= set(dir(losses)) | {"SelectingLoss"}
    )
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in ROOT.rglob("*.py")
        if HOME not in path.parents
        for line in asked(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set()


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(x, losses.GaussianLoss)",
        "isinstance(x, LaplaceLoss | FiniteLoss)",
        "FEW = (ResponseLoss, BoundedLoss)\nisinstance(x, FEW)",
        "type(x) is GaussianLoss",
        "match x:\n    case SumLoss():\n        pass",
    ],
)
def test_every_way_to_ask_is_seen(text):
    assert asked(ast.parse(text))
