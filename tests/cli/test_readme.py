"""Every block of the README runs: Python as it stands, commands through the installed entry point."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    line[2:].split("  #")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ ")
]
EXPECTED_EXIT = {"dpcheck audit pst_h --variant printed --eps 1": 1}
# make audit and make test are run by CI itself; dpda-epochs has a test of its own.
ELSEWHERE = {"make audit", "make test", "dpcheck reproduce dpda-epochs"}


def test_it_opens_with_the_two_commands():
    first = re.search(r"```console\n(.*?)```", README, re.DOTALL)
    assert first is not None
    assert README.index("```") < 30
    assert [line.split()[1:3] for line in first[1].splitlines()] == [
        ["make", "audit"],
        ["make", "test"],
    ]


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_python_blocks_run(block, tmp_path):
    shown = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.strip() or "print" not in block


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in ELSEWHERE])
def test_commands_run(command, tmp_path):
    program, *arguments = shlex.split(command)
    assert program == "dpcheck"
    shown = subprocess.run(
        [sys.executable, "-c", "from dpcheck.cli.main import run; run()", *arguments],
        capture_output=True, text=True, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert shown.returncode == EXPECTED_EXIT.get(command, 0), shown.stdout + shown.stderr
    assert shown.stdout.strip()


def test_commands_elsewhere_are_in_the_readme():
    assert set(COMMANDS) >= ELSEWHERE
