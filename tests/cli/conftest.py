"""The command in this process: in a project folder, and with what it printed."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # project_folder.py

from project_folder import Folder

from dpcheck.cli.main import run
from dpcheck.execution import imports


@pytest.fixture
def folder(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPCHECK_MAX_RUNS", "60000")
    monkeypatch.setenv("DPCHECK_JOBS", "1")
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    return Folder(tmp_path, monkeypatch, capfd)


@pytest.fixture
def here(tmp_path, monkeypatch, capfd):
    """The command in this process: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    imports.forget_all()

    def call(*arguments: str):
        monkeypatch.setattr(sys, "argv", ["dpcheck", *arguments, "--jobs", "1"])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            run()
        return SimpleNamespace(
            returncode=end.value.code,
            **dict(zip(("stdout", "stderr"), capfd.readouterr(), strict=True)),
        )

    yield call
    imports.forget_all()
