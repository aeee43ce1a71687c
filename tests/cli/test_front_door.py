"""The first minute: help without arguments, words explained, what is installed, a missing delta."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dpcheck.cli import doctor
from dpcheck.cli.explain import error_kinds
from dpcheck.cli.main import COMMANDS, main, run
from dpcheck.cli.terminal import colour
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.explained.glossary import GLOSSARY
from dpcheck.core.verdict import Verdict


@pytest.fixture
def shell(monkeypatch, capfd):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpcheck", *arguments])
        with pytest.raises(SystemExit) as end:
            run()
        found = capfd.readouterr()
        return end.value.code, found.out, found.err

    return call


def test_alone_it_prints_its_help_and_succeeds(shell):
    code, out, err = shell()
    assert code == 0
    assert not err
    assert all(name in out for name in COMMANDS)


def test_every_verdict_and_adjacency_is_explained(shell):
    for word in [*Verdict, *Adjacency, "privacy loss"]:
        code, out, _ = shell("explain", *str(word).split())
        assert code == 0
        assert out.strip() == f"{word}: {GLOSSARY[word]}"


def test_every_error_code_is_explained_in_any_case(shell):
    for code in error_kinds():
        assert shell("explain", code.lower())[1].startswith(code)


def test_unknown_words_get_a_suggestion(shell):
    code, _, err = shell("explain", "consistant")
    assert code == 2
    assert "did you mean 'consistent'?" in err


def test_the_list_of_words_is_complete(shell):
    _, out, _ = shell("explain")
    assert all(word in out for word in GLOSSARY)


def test_a_finite_epsilon_needs_a_delta_and_the_message_says_so(shell):
    code, out, err = shell("account", "sampled-gaussian", "--noise", "1", "--rate", "0.01")
    assert code == 2
    assert "inf" not in out
    assert "--delta 1e-5" in err


def test_the_doctor_names_the_extra_that_is_missing(shell, monkeypatch):
    monkeypatch.setitem(doctor.EXTRAS, "report", (("no_such_package",), "HTML reports"))
    code, out, _ = shell("doctor")
    assert code == 0
    assert "report (HTML reports): missing: pip install 'dpcheck[report]'" in out
    assert "testing" in out


def test_the_doctor_fails_where_nothing_could_work(shell, monkeypatch):
    monkeypatch.setattr(doctor, "NEEDED", ("numpy", "no_such_package"))
    code, _, err = shell("doctor")
    assert code == 2
    assert "no_such_package" in err


def test_the_doctor_fails_where_the_transform_is_less_accurate_than_assumed(shell, monkeypatch):
    assert "Fourier transform: factors within" in shell("doctor")[1]
    monkeypatch.setattr("dpcheck.numerics.twiddles.twiddle_units", lambda _size: 12.0)
    code, out, _ = shell("doctor")
    assert code == 2
    assert "certified bounds do not hold here" in out


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_verdicts_are_coloured_on_a_terminal_unless_one_says_no(monkeypatch):
    text = "part  verdict\ndata  violated\n\ndata: violated, the code leaks.\n  note  it violated nothing"
    assert colour.verdicts(text) == text  # no terminal
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    red = "\x1b[31m\x1b[1mviolated\x1b[0m"
    assert colour.verdicts(text) == text.replace("data  violated", f"data  {red}").replace(
        "data: violated,", f"data: {red},"
    )
    monkeypatch.setenv("NO_COLOR", "1")
    assert colour.verdicts(text) == text


def test_the_shell_completes_commands(monkeypatch):
    from click.shell_completion import BashComplete

    found = BashComplete(main, {}, "dpcheck", "_DPCHECK_COMPLETE").get_completions([], "ac")
    assert [item.value for item in found] == ["account"]


def test_listing_loads_no_learners_plots_or_tables():
    program = (
        "import sys; from dpcheck.cli.main import main; main(['list'], standalone_mode=False); "
        "print(sorted({'sklearn', 'matplotlib', 'pandas', 'jinja2', 'jax'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "pptl_fs" in done.stdout


def test_a_reader_that_is_gone_is_no_verdict():
    program = "from dpcheck.cli.entry import main; main()"
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "-c", program, "explain"], stdout=gone, stderr=subprocess.PIPE
        )
    assert done.returncode == 2


@pytest.mark.parametrize("command", ["audit", "check"])
@pytest.mark.parametrize("flag", [("--report", "html=a.html"), ("--format", "html")])
def test_a_missing_extra_is_noticed_before_the_audit(shell, monkeypatch, tmp_path, command, flag):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpcheck.core.extras.find_spec", lambda name: None)
    monkeypatch.setattr("dpcheck.session.run.plan", lambda *_: pytest.fail("it was planned"))
    code, _, err = shell(command, *(["pptl_fs"] if command == "audit" else []), *flag)
    assert code == 2
    assert "pip install 'dpcheck[report]'" in err
    assert "jinja2 and matplotlib are not installed" in err


def test_a_missing_plot_is_noticed_before_the_accounting(shell, monkeypatch, tmp_path):
    monkeypatch.setattr("dpcheck.core.extras.find_spec", lambda name: None)
    monkeypatch.setattr("dpcheck.cli.account.epsilon", lambda *_, **__: pytest.fail("accounted"))
    code, _, err = shell("account", "laplace", "--noise", "1", "--plot", str(tmp_path / "a.svg"))
    assert code == 2
    assert "matplotlib is not installed" in err


@pytest.mark.parametrize(
    ("sign", "bound", "words"),
    [(">=", "99.1", "older than 99.1, which dpcheck needs"), ("<", "1.20", "needs one below 1.20")],
)
def test_the_doctor_fails_where_a_version_is_outside_the_declared_ones(
    shell, monkeypatch, sign, bound, words
):
    assert shell("doctor")[0] == 0
    monkeypatch.setattr(doctor, "bounds", lambda asked: {"numpy": bound} if asked == sign else {})
    code, out, err = shell("doctor")
    assert code == 2
    assert words in out
    assert f"pip install 'numpy{sign}{bound}'" in err


def test_the_doctor_knows_every_declared_bound(monkeypatch):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["deep"]]
    monkeypatch.setattr(doctor, "requires", lambda _name: lines)
    found = doctor.bounds(">=")
    assert found["numpy"] == "1.26"
    assert {"click", "python-flint", "scikit-learn", "jax"} <= set(found)
    assert {doctor._distribution(name) for name in doctor.NEEDED} <= set(found)
    assert doctor.bounds("<") == {"scipy": "1.18"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("audit", "inc.py"), "inc.py is a file. Name the function in it, as inc.py:FUNCTION."),
        (("prove", "inc.py"), "inc.py is a file. Name the function in it, as inc.py:FUNCTION."),
        (("audit", "inc.py:value"), "a mechanism is a function, and this is of type int."),
        (("audit", "inc.py:mean_incme"), "Did you mean 'mean_income'?"),
        (("audit", "inc.py:mean_income"), "Let `dpcheck init FILE.py:FUNCTION` write one"),
        (("audit", "bad.py:f"), "SyntaxError: '(' was never closed (bad.py, line 1)."),
        (("audit", "none.py:f"), "there is no file"),
        (("check",), "`dpcheck init FILE.py:FUNCTION` writes one for you"),
        (("init",), "init needs TARGET, --eps, --adjacency, --data. For example:"),
        (("verify", "none.json"), "cannot read none.json: no such file or directory."),
        (("verify", "people.csv"), "neither a certificate nor a report of dpcheck"),
        (("ledger", "show", "people.csv"), "people.csv is not a ledger."),
        (("ledger", "show", "none.ledger"), "there is no ledger at"),
        (("explain", "DPC999"), "there is no error code DPC999;"),
        (("account", "gaussian", "--noise", "0"), "nothing is private without noise"),
    ],
)
def test_usual_mistakes_are_answered_with_what_to_do(
    shell, tmp_path, monkeypatch, arguments, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inc.py").write_text("def mean_income(x, rng):\n    return x\n\n\nvalue = 3\n")
    (tmp_path / "bad.py").write_text("def f(x:\n    return 1\n")
    (tmp_path / "people.csv").write_text("age\n3\n")
    code, out, err = shell(*arguments)
    assert code == 2
    assert not out
    assert words in err
    assert "[Errno" not in err
    assert len(err.strip().splitlines()) == 1
