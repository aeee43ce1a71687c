"""One mechanism as a function, in another interpreter and as a program; batches kept, workers, resume."""

from __future__ import annotations

import json
import sys

import pytest

from dpcheck.cli.main import run

FUNCTION = """
import numpy as np

def rounded(data, rng):
    return round(float(sum(data) + rng.laplace(scale=SCALE)), 2)
"""
DECLARED = """
import dpcheck

rounded = dpcheck.audited(
    claim=1.0, adjacency="replace-one", neighbours=[([0.0, 0.0], [1.0, 0.0])]
)(rounded)
"""
PROGRAM = """
import json, os, sys, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
from mech import rounded

lives = int(os.environ.get("LIVES", "1000000"))
for line in sys.stdin:
    request = json.loads(line)
    lives -= 1
    if lives < 0:
        sys.exit("out of lives")
    rng = np.random.Generator(getattr(np.random, request["state"]["bit_generator"])())
    rng.bit_generator.state = request["state"]
    outputs = [rounded(request["data"], rng) for _ in range(request["runs"])]
    state = json.loads(json.dumps(rng.bit_generator.state, default=int))
    print(json.dumps({"outputs": outputs, "state": state}), flush=True)
"""
CLAIM = ("--claim", "1", "--adjacency", "replace-one", "--neighbours", "pairs.json")


@pytest.fixture
def audit(monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.json").write_text("[[[0.0, 0.0], [1.0, 0.0]]]")
    (tmp_path / "program.py").write_text(PROGRAM)

    def call(*arguments, jobs="1"):
        words = ["audit", *arguments, "--seed", "5", "--format", "json", "--jobs", jobs]
        monkeypatch.setattr(sys, "argv", ["dpcheck", *words])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            run()
        out, err = capfd.readouterr()
        return end.value.code, json.loads(out)["audits"][0] if out.strip() else err

    return call


def seen(answer):
    code, entry = answer
    return code, entry["verdict"], entry["observed"]


@pytest.mark.parametrize(("scale", "verdict"), [("0.4", "violated"), ("1.2", "consistent")])
def test_the_same_verdict_and_counts_three_ways(audit, tmp_path, scale, verdict):
    (tmp_path / "mech.py").write_text(FUNCTION.replace("SCALE", scale))
    (tmp_path / "declared.py").write_text(FUNCTION.replace("SCALE", scale) + DECLARED)
    runs = ("--max-runs", "6000")
    program = seen(audit("--exec", f"{sys.executable} program.py rounded", *CLAIM, *runs))
    there = seen(audit("--python", sys.executable, "declared.py:rounded", *runs))
    assert there == program
    assert there[1] == verdict
    here = seen(audit("declared.py:rounded", *runs))
    if here[2]["method"] == program[2]["method"]:
        assert here[:2] == program[:2]
        bounds = ("epsilon", "detectable")
        counts = [{k: v for k, v in each[2].items() if k not in bounds} for each in (here, program)]
        assert counts[0] == counts[1]
        # Following the code, which can be done here only, has its share of the error rate.
        assert 0.99 * program[2]["epsilon"] <= here[2]["epsilon"] <= program[2]["epsilon"]
        assert program[2]["detectable"] <= here[2]["detectable"] <= 1.01 * program[2]["detectable"]
    else:  # its code can be followed here
        assert here[2]["method"] == "replay"
        assert (
            here[1] in {"violated": ("violated",), "consistent": ("consistent", "holds")}[verdict]
        )


def test_workers_and_an_interrupted_audit_give_the_same_counts(audit, tmp_path, monkeypatch):
    (tmp_path / "mech.py").write_text(FUNCTION.replace("SCALE", "1.2"))
    words = ("--exec", f"{sys.executable} program.py", *CLAIM, "--max-runs", "6000")
    whole = seen(audit(*words))
    monkeypatch.setenv("LIVES", "60")
    code, error = audit(*words, "--store", "kept")
    assert code == 2
    assert "out of lives" in error
    monkeypatch.delenv("LIVES")
    assert seen(audit(*words, "--store", "kept", "--resume")) == whole
    assert seen(audit(*words, jobs="2")) == whole


def test_a_program_that_never_reads_a_large_data_set_is_ended(audit, tmp_path):
    (tmp_path / "pairs.json").write_text(json.dumps([[[0] * 200_000, [1] + [0] * 199_999]]))
    (tmp_path / "deaf.py").write_text("import time; time.sleep(60)")
    code, error = audit("--exec", f"{sys.executable} deaf.py", *CLAIM, "--timeout", "1")
    assert code == 2
    assert "did not answer within 1 s" in error


def test_a_program_that_grows_between_prompt_answers_is_ended(audit, tmp_path, monkeypatch):
    monkeypatch.setattr("dpcheck.session.external.process._memory_limit", lambda: 100 << 20)
    (tmp_path / "grows.py").write_text(
        "import json, sys, time\nkept = []\nfor line in sys.stdin:\n"
        "    kept.append(bytearray(20 << 20)); time.sleep(0.05)\n"
        "    print(json.dumps({'outputs': [0] * json.loads(line)['runs']}), flush=True)\n"
    )
    code, error = audit("--exec", f"{sys.executable} grows.py", *CLAIM)
    assert code == 2
    assert "of memory and was ended" in error


def test_nested_garbage_and_a_false_state_are_explained(audit, tmp_path):
    (tmp_path / "deep.py").write_text(
        "import sys\nsys.stdin.readline()\nprint('[' * 200_000, flush=True)\nsys.stdin.read()\n"
    )
    code, error = audit("--exec", f"{sys.executable} deep.py", *CLAIM)
    assert (code, "not JSON" in error) == (2, True)
    (tmp_path / "state.py").write_text(
        "import json, sys\nfor line in sys.stdin:\n"
        "    print(json.dumps({'outputs': [0] * json.loads(line)['runs'], 'state': {}}), flush=True)\n"
    )
    code, error = audit("--exec", f"{sys.executable} state.py", *CLAIM)
    assert (code, "generator state that cannot be read" in error) == (2, True)
