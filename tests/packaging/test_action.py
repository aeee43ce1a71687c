"""The Action installs dpcheck and what the audited project needs; inputs are words, never code."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "action" / "install.sh"


@pytest.fixture
def install(tmp_path):
    stub = tmp_path / "bin" / "python"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >> {tmp_path}/calls\necho >> {tmp_path}/calls\n')
    stub.chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()

    def run(wanted="", requirements=False):
        if requirements:
            (project / "requirements.txt").write_text("pandas\n")
        environment = {
            "PATH": f"{stub.parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTION_PATH": "/the/action",
            "INPUT_WORKING_DIRECTORY": str(project),
            "INPUT_INSTALL": wanted,
        }
        subprocess.run(["bash", SCRIPT], env=environment, check=True)
        lines = (tmp_path / "calls").read_text().splitlines()
        return [line.rstrip("|").split("|")[5:] for line in lines]

    return run


def test_dpcheck_alone_where_the_project_needs_nothing(install):
    assert install() == [["/the/action"]]


def test_requirements_are_installed_where_there_are_any(install):
    assert install(requirements=True) == [["/the/action"], ["-r", "requirements.txt"]]


def test_what_is_asked_for_is_installed_instead(install):
    assert install("-e .[test] pandas", requirements=True)[1] == ["-e", ".[test]", "pandas"]


def test_an_input_is_never_run(install, tmp_path):
    found = install(f"$(touch {tmp_path}/owned) `touch {tmp_path}/owned` * ; touch x")
    assert not (tmp_path / "owned").exists()
    assert "*" in found[1]
