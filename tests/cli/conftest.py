"""A project folder for `dpcheck check` and `dpcheck baseline`."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # project_folder.py

from project_folder import Folder


@pytest.fixture
def folder(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPCHECK_MAX_RUNS", "60000")
    monkeypatch.setenv("DPCHECK_JOBS", "1")
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    return Folder(tmp_path, monkeypatch, capfd)
