"""Findings are shown beside the code they are about, which is not always where the claim is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dpcheck.core.audit_result import Location
from dpcheck.session.locations import locate

CODE = """import functools


def plain(data, rng):
    return 0


def decorated(data, rng):
    return plain(data, rng)


class Model:
    def sample(self, data, rng):
        return 0


model = Model()
method = model.sample
partial = functools.partial(plain, rng=None)


@functools.wraps(decorated)
def wrapper(data, rng):
    return decorated(data, rng)
"""
CLAIM = """import dpcheck
import written

plain = dpcheck.audited(
    claim=1, adjacency="add-remove", records=dpcheck.records(x=dpcheck.number(0, 1)), form="array"
)(written.plain)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    (tmp_path / "written.py").write_text(CODE)
    (tmp_path / "claims.py").write_text(CLAIM)
    yield tmp_path
    sys.modules.pop("written", None)


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("written.py:plain", 4),
        ("written.py:decorated", 8),
        ("written.py:wrapper", 8),
        ("written.py:method", 13),
        ("written.py:partial", 4),
        ("written.py:model", 12),
        ("claims.py:plain", 4),
    ],
)
def test_the_file_and_the_line_are_those_of_the_code(folder, target, line):
    assert locate(target, folder) == Location("written.py", line)


def test_the_path_is_that_of_the_checkout(folder, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder.parent))
    assert locate("claims.py:plain", folder) == Location(f"{folder.name}/written.py", 4)


def test_code_outside_the_checkout_has_no_place(folder, tmp_path_factory):
    assert locate("claims.py:plain", tmp_path_factory.mktemp("other")) is None


def test_a_registered_audit_has_a_place(tmp_path):
    """Services refuse a finding without one."""
    assert locate("pptl-fs", tmp_path) == Location("dpcheck/audits/pptl_fs.py")
    assert locate("pptl_fs", Path(__file__).parents[3]) == Location("audits/pptl_fs.py")
