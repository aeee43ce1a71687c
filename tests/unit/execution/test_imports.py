"""What is loaded is what the file says now."""

from __future__ import annotations

import os

import pytest

from dpcheck.execution import imports


@pytest.fixture(autouse=True)
def as_in_a_new_process():
    imports.forget_all()
    yield
    imports.forget_all()


@pytest.mark.parametrize("changed", ["target.py", "helper.py"])
def test_a_change_within_a_second_is_seen(tmp_path, monkeypatch, changed):
    """Same length, same time: to Python a compiled copy is current."""
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    (tmp_path / "target.py").write_text("from helper import SCALE\nNOISE = 1.0\n")
    (tmp_path / "helper.py").write_text("SCALE = 1.0\n")
    target, file = str(tmp_path / "target.py"), tmp_path / changed
    first = imports.load(target)
    assert (first.SCALE, first.NOISE) == (1.0, 1.0)
    before = file.stat()
    file.write_text(file.read_text().replace("= 1.0", "= 2.0"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    imports.forget_all()
    second = imports.load(target)
    expected = (2.0, 1.0) if changed == "helper.py" else (1.0, 2.0)
    found = (second.SCALE, second.NOISE)
    assert found == expected
