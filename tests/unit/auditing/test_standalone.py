"""A function written out with all that it needs, read and run without its project."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from dpcheck.auditing.counterexample.standalone import standalone

FILES = {
    "lib/__init__.py": "",
    "lib/sums.py": (
        "import math\nimport numpy as np\nfrom .limits import HIGH as TOP\n\n"
        "def total(x):\n    return math.fsum(np.minimum(v, TOP) for v in x)\n"
    ),
    "lib/limits.py": "LOW = 0.0\nHIGH = LOW + 1.0\n",
    "code.py": '''
import math
from dataclasses import dataclass
from pathlib import Path
import numpy as np
import dpcheck
import lib.sums
from lib import limits
from lib.sums import total as add

SCALE: float = 0.5
START = 7


def outer(x):
    return inner(x) + START


def inner(x):
    return outer(x) if x is None else add(x)


@dataclass
class Stats:
    value: float = SCALE

    def doubled(self) -> "Unknown":
        return 2 * self.value


def audited(f):
    return f


@dpcheck.audited(claim=1.0, adjacency="add-remove", neighbours=[([1], [])])
def noisy(data, rng, power=limits.HIGH):
    """Sum, with everything around it."""
    kept = [x ** power for x in data if limits.LOW <= x]
    return Stats(outer(kept)).doubled() + 0 * rng.laplace(0, SCALE)


def by_module(data):
    return lib.sums.total(data)


def undefined(data):
    return len(data) + missing_name


def twice(data):
    START = 1
    return START + sum(data)


def made(scale):
    def closure(data):
        return scale * len(data)
    return closure


closure = made(3)


def reads(data):
    return len(data) + TABLE

TABLE = len(Path("table.txt").read_text())
''',
    "table.txt": "abc",
}


@pytest.fixture
def code(tmp_path, monkeypatch):
    (tmp_path / "lib").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = importlib.util.spec_from_file_location("code_of_project", tmp_path / "code.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "code_of_project", module)
    spec.loader.exec_module(module)
    yield module
    for name in [n for n in sys.modules if n == "lib" or n.startswith("lib.")]:
        del sys.modules[name]


def run(source, call, directory):
    """What a call gives in a Python that knows nothing of the project."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{source}\nprint({call})"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_function_travels_with_all_it_names(code, tmp_path):
    source = standalone(code.noisy)
    assert "dpcheck" not in source
    empty = tmp_path / "empty"
    empty.mkdir()
    call = "function([0.5, 3.0, -1.0], np.random.default_rng(0))"
    expected = 2 * (0.5 + 1.0 + 7)
    assert float(run(f"{source}\nimport numpy as np", call, empty)) == expected
    assert run(standalone(code.twice), "function([2, 3])", empty) == "6"


@pytest.mark.parametrize("name", ["by_module", "undefined", "closure", "reads"])
def test_what_cannot_be_found_is_not_guessed(code, name):
    """A dotted module of the project, an unknown name, a closure, a file of the project."""
    assert standalone(getattr(code, name)) is None


def test_builtins_and_lambdas_have_no_source():
    assert standalone(len) is None
    assert standalone(lambda data: data) is None
