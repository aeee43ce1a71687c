"""The packages list, the symlinks and the lazy top level agree with the tree."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import dpcheck

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_packages_list_matches_the_tree():
    found = {"dpcheck"}
    for top, name in (
        ("dpcheck", "dpcheck"),
        ("mechanisms", "dpcheck.mechanisms"),
        ("audits", "dpcheck.audits"),
    ):
        for init in (ROOT / top).rglob("__init__.py"):
            relative = init.parent.relative_to(ROOT / top)
            if top == "dpcheck" and relative.parts[:1] in (("mechanisms",), ("audits",)):
                continue
            found.add(".".join((name, *relative.parts)))
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


def test_every_module_sits_in_a_listed_package():
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    mapping = {"mechanisms": "dpcheck.mechanisms", "audits": "dpcheck.audits", "dpcheck": "dpcheck"}
    for top, name in mapping.items():
        for module in (ROOT / top).rglob("*.py"):
            relative = module.parent.relative_to(ROOT / top)
            if top == "dpcheck" and relative.parts[:1] in (("mechanisms",), ("audits",)):
                continue
            assert ".".join((name, *relative.parts)) in listed, module


def test_links_point_where_the_mapping_does():
    for name in ("mechanisms", "audits"):
        link = ROOT / "dpcheck" / name
        assert link.is_symlink()
        assert link.resolve() == ROOT / name


def test_every_public_name_resolves():
    for name in dpcheck.__all__:
        assert getattr(dpcheck, name) is not None


def test_public_modules_are_reachable_after_import():
    code = """
import dpcheck
assert {"mechanisms", "risk", "testing", "InvalidParameter", "Sequential"} <= set(dir(dpcheck))
assert "advantage" in dir(dpcheck.risk) and "PLR" in dir(dpcheck.mechanisms)
print(dpcheck.testing.__name__, dpcheck.mechanisms.PLR.__name__, dpcheck.risk.__name__)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["dpcheck.testing", "PLR", "dpcheck.accounting.risk"]


def test_type_checkers_see_every_public_name():
    tree = ast.parse((ROOT / "dpcheck" / "__init__.py").read_text())
    exported = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(dpcheck.__all__) - {"__version__"} <= exported


def test_version_is_said_once():
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "dpcheck.__version__"}


def test_top_level_import_is_light():
    heavy = ("numpy", "scipy", "flint", "rich")
    code = f"import sys, dpcheck.cli.main; print([m for m in {heavy} if m in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"
