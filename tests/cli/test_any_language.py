"""Targets in another process: same verdicts, same counts, and a clear word for whatever goes wrong."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from dpcheck.cli.main import run

EXAMPLES = Path(__file__).parents[2] / "examples/any_language"
PAIRS = str(EXAMPLES / "pairs.json")
FUNCTION = """
import dpcheck
import numpy as np

PAIR = (np.zeros(3), np.array([1.0, 0.0, 0.0]))


@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[PAIR])
def rounded(data, rng):
    return {"sum": round(float(data.sum() + rng.laplace(scale=SCALE)), 3)}


@dpcheck.audited(claim=dpcheck.PureDP(1.0), adjacency="replace-one", neighbours=[PAIR])
@dpcheck.batched
def many(data, size, rng):
    print("a word on standard output")
    return data.sum() + rng.laplace(scale=SCALE, size=size)


@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[PAIR])
def failing(data, rng):
    if data.sum() > 0:
        raise KeyError("somebody")
    return 0.0


@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[PAIR])
def asking(data, rng):
    import sys
    for module in list(sys.modules.values()):  # as inspect.getmodule and torch do
        path = getattr(module, "__file__", None)
        if path is not None and not path.endswith("x"):
            continue
    return float(data.sum())


@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[PAIR])
def strange(data, rng):
    return object()
"""


@pytest.fixture
def audit(monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        words = ["audit", *arguments, "--jobs", "1", "--seed", "5", "--format", "json"]
        monkeypatch.setattr(sys, "argv", ["dpcheck", *words])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            run()
        out, err = capfd.readouterr()
        return end.value.code, json.loads(out)["audits"][0] if out.strip() else err

    return call


def assert_same_runs(here, there):
    """The same counts; the bound made here is a little lower, for following the code has its share."""
    bounds = ("epsilon", "detectable")
    counts = [{k: v for k, v in seen.items() if k not in bounds} for seen in (here, there)]
    assert counts[0] == counts[1]
    assert 0.99 * there["epsilon"] <= here["epsilon"] <= there["epsilon"]
    assert there["detectable"] <= here["detectable"] <= 1.01 * there["detectable"]


def program(tmp_path, body):
    path = tmp_path / "program.py"
    path.write_text("import json, os, sys, time\n" + body)
    return f"{sys.executable} {path}"


def claimed(command, *more):
    claim = ("--claim", "1", "--adjacency", "replace-one", "--neighbours", PAIRS)
    return ("--exec", command, *claim, *more)


@pytest.mark.parametrize("name", ["rounded", "many"])
@pytest.mark.parametrize(("scale", "code"), [("0.3", 1), ("1.2", (0, 3))])
def test_another_interpreter_gives_the_same_counts(audit, tmp_path, name, scale, code):
    (tmp_path / "mech.py").write_text(FUNCTION.replace("SCALE", scale))
    runs = ("--max-runs", "3000")
    here = audit(f"mech.py:{name}", *runs)
    there = audit("--python", sys.executable, f"mech.py:{name}", *runs)
    assert here[0] == there[0]
    assert there[0] in (code if isinstance(code, tuple) else (code,))
    if here[1]["observed"]["method"] == there[1]["observed"]["method"]:
        assert_same_runs(here[1]["observed"], there[1]["observed"])
    else:  # the code itself can be read here only
        assert here[1]["observed"]["method"] == "replay"


def test_what_is_raised_there_is_an_output(audit, tmp_path):
    (tmp_path / "mech.py").write_text(FUNCTION)
    code, entry = audit("--python", sys.executable, "mech.py:failing", "--max-runs", "500")
    assert code == 1
    assert entry["verdict"] == "violated"


def test_the_module_that_stands_for_dpcheck_there_has_no_invented_file(audit, tmp_path):
    (tmp_path / "mech.py").write_text(FUNCTION)
    code, entry = audit("--python", sys.executable, "mech.py:asking", "--max-runs", "500")
    assert code == 1  # 0 and 1, exactly; an error on both sides would tell nothing apart
    assert entry["verdict"] == "violated"


def test_what_cannot_cross_is_refused(audit, tmp_path):
    (tmp_path / "mech.py").write_text(FUNCTION)
    code, err = audit("--python", sys.executable, "mech.py:strange")
    assert code == 2
    assert "return numbers, text, lists" in err


def test_the_reference_client_passes_and_half_its_noise_does_not(audit, tmp_path):
    text = (EXAMPLES / "count.py").read_text()
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(text)
    bad.write_text(text.replace("expovariate(1.0)", "expovariate(3.0)"))
    code, entry = audit(*claimed(f"{sys.executable} {good}", "--max-runs", "30000"))
    assert code in (0, 3)
    assert entry["observed"]["epsilon"] <= 1.0
    again = audit(*claimed(f"{sys.executable} {good}", "--max-runs", "30000"))
    assert again[1]["observed"] == entry["observed"]
    code, entry = audit(*claimed(f"{sys.executable} {bad}"))
    assert code == 1
    assert entry["observed"]["epsilon"] > 1.0


@pytest.mark.parametrize(
    ("command", "needs"), [("java {}/Count.java", "java"), ("Rscript {}/count.R", "Rscript")]
)
def test_clients_in_other_languages(audit, command, needs):
    if shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed; make test-integrations installs it")
    code, entry = audit(*claimed(command.format(EXAMPLES), "--max-runs", "2000"))
    assert code in (0, 3)
    assert entry["observed"]["epsilon"] <= 1.0
    assert entry["observed"]["runs"] > 0


BAD = {
    "dies": ("sys.exit('out of cheese')", "ended with exit code 1"),
    "says why": ("sys.exit('out of cheese')", "out of cheese"),
    "is killed": ("os.kill(os.getpid(), 9)", "was ended by signal SIGKILL"),
    "answers garbage": ("sys.stdin.readline(); print('hello', flush=True)", "not JSON"),
    "answers a list": ("sys.stdin.readline(); print([1], flush=True)", "not a JSON object"),
    "answers too few": (
        "sys.stdin.readline(); print(json.dumps({'outputs': []}), flush=True)",
        "asked for 1 outputs and answered 0",
    ),
    "answers nothing": ("sys.stdin.readline(); print('{}', flush=True)", "answered no"),
    "hangs": ("time.sleep(60)", "did not answer within 1 s"),
}


@pytest.mark.parametrize("how", BAD)
def test_a_program_that_misbehaves_is_a_clear_error(audit, tmp_path, how):
    body, says = BAD[how]
    patience = "1" if how == "hangs" else "60"  # the others answer, however busy the machine is
    code, err = audit(*claimed(program(tmp_path, body), "--timeout", patience))
    assert code == 2
    assert err.count("\n") == 1
    assert says in err


def test_answers_without_end_are_cut(audit, tmp_path, monkeypatch):
    monkeypatch.setattr("dpcheck.session.external.process.MOST_BYTES", 1 << 16)
    body = "sys.stdin.readline()\nwhile True: print('1' * 9999, end='', flush=True)"
    code, err = audit(*claimed(program(tmp_path, body)))
    assert code == 2
    assert "in one line" in err


def test_memory_without_end_is_cut(audit, tmp_path, monkeypatch):
    monkeypatch.setattr("dpcheck.session.external.process._memory_limit", lambda: 50 << 20)
    body = "kept = bytearray(200 << 20)\ntime.sleep(60)"
    code, err = audit(*claimed(program(tmp_path, body)))
    assert code == 2
    assert "of memory and was ended" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--exec", "no-such-program"), "there is no program 'no-such-program'"),
        (("--exec", "python3 x.py"), "give --claim, --adjacency and --neighbours"),
        (("--exec", "'"), "is no command"),
        (("--python", "no-such-python", "x.py:f"), "there is no interpreter"),
        (("--exec", "python3", "--python", "python3"), "not both"),
        (("--exec", "python3", "--claim", "one"), "--claim takes EPS or EPS,DELTA"),
        (("--exec", "python3", "--claim", "1", "--eps", "1"), "not both"),
    ],
)
def test_bad_calls_are_explained(audit, words, says):
    code, err = audit(*words)
    assert code == 2
    assert says in err


@pytest.mark.parametrize("text", ["{", "{}", "[[1]]", "[1, 2]"])
def test_files_of_neighbours_are_checked(audit, tmp_path, text):
    path = tmp_path / "pairs.json"
    path.write_text(text)
    words = ("--claim", "1", "--adjacency", "replace-one", "--neighbours", str(path))
    code, err = audit("--exec", f"{sys.executable} x.py", *words)
    assert code == 2
    assert "pairs" in err
