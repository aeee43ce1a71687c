"""Shells complete commands, targets, functions and mechanisms."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from dpcheck.cli.main import main

DPCHECK = Path(sys.executable).parent / "dpcheck"
SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}

IN_BASH = """
source ./completion
COMP_WORDS=(dpcheck audit ages.py:mea)
COMP_CWORD=2
_dpcheck_completion dpcheck ages.py:mea audit
echo "${COMPREPLY[@]}"
"""


def suggested(words, start, kind=BashComplete):
    found = kind(main, {}, "dpcheck", "_DPCHECK_COMPLETE").get_completions(words, start)
    return [item.value for item in found]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "ages.py").write_text(
        "def mean_age(x, rng): ...\ndef _hidden(): ...\nmedian = make(3)\nraise SystemExit('run')\n"
    )
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("shell", SHELLS)
def test_targets_files_and_functions(folder, shell):
    kind = SHELLS[shell]
    assert {"pptl_fs", "plr", "ages.py:", "src/"} <= set(suggested(["audit"], "", kind))
    assert suggested(["audit"], "pptl", kind) == ["pptl_fs"]
    assert suggested(["audit"], "ages.py:", kind) == ["ages.py:mean_age", "ages.py:median"]
    assert suggested(["prove"], "ag", kind) == ["ages.py:"]
    assert suggested(["init"], "pptl", kind) == []  # init is for your own code


def test_mechanisms_words_and_options():
    assert suggested(["account"], "sampled-g") == ["sampled-gaussian"]
    assert "gaussian" in suggested(["calibrate", "noise"], "gau")
    assert suggested(["explain"], "dpc40") == [f"DPC40{n}" for n in range(1, 9)]
    assert "--adjacency" in suggested(["audit", "plr"], "--adj")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_runs_in_its_shell(shell, folder):
    """The real shell reads the script; in bash it completes, too."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    environment = {**os.environ, "PATH": f"{DPCHECK.parent}{os.pathsep}{os.environ['PATH']}"}
    script = subprocess.run(
        [DPCHECK],
        env={**environment, "_DPCHECK_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
    ).stdout
    assert "_DPCHECK_COMPLETE" in script
    (folder / "completion").write_text(script)
    checked = {
        "bash": ["bash", "-c", IN_BASH],
        "zsh": ["zsh", "-n", "completion"],
        "fish": ["fish", "--no-execute", "completion"],
    }[shell]
    done = subprocess.run(checked, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if shell == "bash":
        assert done.stdout.strip() == "ages.py:mean_age"
