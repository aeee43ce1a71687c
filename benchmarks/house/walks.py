"""How far a question walks through the house: files, functions, and crossings from one room into another.

    python benchmarks/house/walks.py [WALK ...]

Each walk runs in a process of its own, of the dpcheck that is imported: set PYTHONPATH to compare two
commits. A crossing is a call from a function of one room to a function of another; a room is a folder of
`dpcheck`. Rooms are listed in the order in which they are first entered. Everything is
imported before; what other processes do is not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

MEAN = """
import dpcheck
import numpy as np


@dpcheck.audited(claim=1.0, records=dpcheck.records(age=dpcheck.number(0, 100), rows=1000), form="array",
    adjacency="replace-one")
def mean(ages, rng):
    ages = np.clip(np.asarray(ages, dtype=float), 0, 100)
    return ages.sum() + rng.laplace(0, 100.0)
"""
PROJECT = "[tool.dpcheck]\n[[tool.dpcheck.audits]]\ntarget = 'people.py:mean'\n"
COMMAND = "from dpcheck.cli.main import main\nmain({words!r}, standalone_mode=False)"
# Name -> (what was done before, what is asked).
WALKS = {
    "epsilon": (
        "import dpcheck\ndpcheck.epsilon, dpcheck.SampledGaussian",
        "dpcheck.epsilon(dpcheck.SampledGaussian(1.0, 0.01) * 1000, delta=1e-5, adjacency='add-remove')",
    ),
    "spend": (
        "import dpcheck\n"
        "ledger = dpcheck.Ledger(budget=dpcheck.Budget(3.0, 1e-5), adjacency='replace-one')\n"
        "people = ledger.dataset('people', rows=100)",
        "ledger.spend(people, dpcheck.PureDP(0.2))",
    ),
    "audit NAME": ("", COMMAND.format(words=["audit", "plr", "--eps", "1", "--format", "json"])),
    "audit file.py:f": ("", COMMAND.format(words=["audit", "people.py:mean", "--format", "json"])),
    "prove": ("", COMMAND.format(words=["prove", "people.py:mean"])),
    "check": ("", COMMAND.format(words=["check", "--jobs", "1", "--no-cache"])),
}
TRACE = """
import contextlib, importlib, json, os, pkgutil, sys
import dpcheck
home = os.path.dirname(os.path.abspath(dpcheck.__file__)) + os.sep
files, functions, rooms, crossings = set(), set(), [], 0

known = {{}}
def of(code):
    if code not in known:
        path = code.co_filename
        known[code] = None if code.co_name.startswith("<") or not path.startswith(home) else (
            path[len(home):].split(os.sep)[0].removesuffix(".py"))
    return known[code]

def note(frame, what, _):
    global crossings
    if what != "call":
        return
    here = of(frame.f_code)
    if here is None:
        return
    files.add(frame.f_code.co_filename)
    functions.add((frame.f_code.co_filename, frame.f_code.co_qualname))
    if here not in rooms:
        rooms.append(here)
    caller = frame.f_back
    while caller is not None and of(caller.f_code) is None:
        caller = caller.f_back
    if caller is not None and of(caller.f_code) != here:
        crossings += 1

for each in pkgutil.walk_packages(dpcheck.__path__, "dpcheck."):
    with contextlib.suppress(Exception):  # libraries that are not installed
        importlib.import_module(each.name)
{before}
sys.setprofile(note)
try:
    {asked}
except SystemExit:
    pass
finally:
    sys.setprofile(None)
print("\\n" + json.dumps([len(files), len(functions), crossings, rooms]))
"""


def walk(before: str, asked: str) -> tuple[int, int, int, list[str]]:
    """Files, functions and crossings of one walk, and the rooms it enters."""
    script = TRACE.format(before=before, asked=asked.replace("\n", "\n    "))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "people.py").write_text(MEAN)
        (Path(folder) / "pyproject.toml").write_text(PROJECT)
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=folder
        )
    try:
        files, functions, crossings, rooms = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise SystemExit(f"this walk did not end:\n{done.stdout}\n{done.stderr}") from None
    return files, functions, crossings, rooms


def main(names: list[str]) -> None:
    print(
        f"{'walk':16} {'files':>6} {'functions':>10} {'crossings':>10}  rooms, as they are entered"
    )
    for name in names or WALKS:
        files, functions, crossings, rooms = walk(*WALKS[name])
        print(f"{name:16} {files:>6} {functions:>10} {crossings:>10,}  {' '.join(rooms)}")


if __name__ == "__main__":
    main(sys.argv[1:])
