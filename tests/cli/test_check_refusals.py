"""What `dpcheck check` refuses: one line, exit code 2, and nothing imported that was not named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from project_folder import MECHANISM, ONE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no dpcheck.toml here"),
        ("", "DPC405"),
        ("seed = 1", "names neither audits nor budgets"),
        ("seed = ", "DPC503"),
        ("#" * 300_000, "larger than"),
        ("a = " + "[" * 3000, "too deeply"),
        ("audits = 'all'", "a list"),
        ("[[audits]]\ntarget = '../mech.py:noisy'", "outside the project"),
        ("[[audits]]\ntarget = 'mech.py:number'", "is not callable"),
        ("[[audits]]\ntarget = 'mech.py:nothing'", "there is no 'nothing'"),
        ("[[audits]]\ntarget = 'mech.py:leaves'", "SystemExit"),
        ("[[audits]]\ntarget = 'nofile.py:f'", "there is no file"),
        ("[[audits]]\ntarget = 'no.such.module:f'", "cannot import"),
        ("[[audits]]\ntarget = 'exits.py:f'", "SystemExit"),
        ("[[audits]]\ntarget = 'pplt_fs'", "did you mean 'pptl_fs'?"),
        ("[[audits]]\ntarget = 'plr'\nset = { row = 1 }", "Did you mean 'rows'?"),
        ("[[audits]]\ntarget = 'plr'\nvariant = 'fixed'", "has no variant"),
        (ONE + "inputs = ['nothing.csv']", "there is no nothing.csv"),
        (ONE + "adjacency = 'add-remove'", "replace-one"),
    ],
)
def test_what_cannot_be_carried_out_is_one_line_and_exit_2(folder, text, words):
    (folder.root / "exits.py").write_text("import sys\nsys.exit(0)\n")
    if text is not None:
        folder.config(text)
    assert folder("check") == 2
    assert folder.out == ""
    assert words in folder.err
    assert folder.err.count("error: ") == 1
    assert "Traceback" not in folder.err


@pytest.mark.parametrize(
    "flags",
    [
        ("--confidence", "1"),
        ("--confidence", "-5"),
        ("--confidence", "nan"),
        ("--tolerance", "-1"),
        ("--time-limit", "0"),
        ("--time-limit", "nan"),
        ("--timeout", "-1"),
        ("--timeout", "0"),
        ("--jobs", "0"),
        ("--max-runs", "0"),
        ("--seed", "-1"),
    ],
)
def test_flags_out_of_range_are_refused(folder, flags):
    folder.config(
        '[[audits]]\ntarget = "mech.py:noisy"\n'
        + "".join(f'[[audits]]\ntarget = "mech.py:noisy"\nname = "{i}"\n' for i in range(9))
    )
    assert folder("check", *flags) == 2
    assert folder.out == ""
    assert "a word on" not in folder.err


TRAPS = (
    "conftest",
    "sitecustomize",
    "setup",
    "numpy",
    "scipy",
    "json",
    "jax",
    "torch",
    "lz4",
    "attr",
    "IPython",
    "pandas",
    "phe",
    "unrelated",
    "tests/__init__",
    "mech/__init__",
)


def test_nothing_but_the_named_target_is_imported(tmp_path):
    for name in TRAPS:
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"open({str(tmp_path / 'sprung')!r}, 'a').write({name!r})\n")
    (tmp_path / "mech.py").write_text(MECHANISM)
    (tmp_path / "dpcheck.toml").write_text(ONE)
    script = Path(sys.executable).with_name("dpcheck")
    done = subprocess.run(
        [script, "check", "--max-runs", "20000", "--jobs", "2", "--report", "sarif=a,junit=b"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "sprung").exists(), (tmp_path / "sprung").read_text()


def test_internal_errors_never_look_like_a_violation(folder, monkeypatch):
    folder.config(ONE)
    monkeypatch.setattr("dpcheck.gate.check.check", lambda *_: 1 / 0)
    assert folder("check") == 2
    assert "internal error, ZeroDivisionError" in folder.err
