"""Every theorem the code cites is in the bibliography, and what bounds says what it guarantees."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for top in ("dpcheck", "mechanisms", "audits")
    for path in sorted((ROOT / top).rglob("*.py"))
    if not {"mechanisms", "audits"} & set(path.relative_to(ROOT).parts[1:-1])
]
KEYS = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text(), re.MULTILINE))
CITED = re.compile(r"\[([A-Z][A-Za-z]+\d{4}[a-z]?)[\],]")


def test_there_is_something_to_check():
    assert len(KEYS) > 15
    assert sum(bool(CITED.search(path.read_text())) for path in SOURCES) > 5


def test_every_citation_is_in_the_bibliography():
    missing = {
        (key, str(path.relative_to(ROOT)))
        for path in SOURCES
        for key in CITED.findall(path.read_text())
        if key not in KEYS
    }
    assert not missing


def test_public_accountants_state_a_guarantee():
    silent = []
    for name in (
        "api",
        "calibrate",
        "objective",
        "accountants/gaussian",
        "accountants/pure",
        "accountants/gaussian",
        "accountants/optimal",
        "tradeoff",
        "renyi/conversion",
        "renyi/divergence",
    ):
        tree = ast.parse((ROOT / f"dpcheck/accounting/{name}.py").read_text())
        for node in tree.body:
            bounds = isinstance(node, ast.FunctionDef) and node.name in {
                "epsilon",
                "delta",
                "rdp",
                "tradeoff",
                "best_tradeoff",
                "calibrate",
                "calibrate_noise",
                "calibrate_steps",
                "rdp_epsilon",
                "optimal_composition",
                "gdp_delta",
                "gdp_epsilon",
                "objective_epsilon",
                "renyi",
                "sampled_gaussian_theorem",
            }
            if bounds and any(getattr(d, "id", "") == "overload" for d in node.decorator_list):
                continue
            if bounds and "Guarantee:" not in (ast.get_docstring(node) or ""):
                silent.append(f"{name}.{node.name}")
    assert not silent
