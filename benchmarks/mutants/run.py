"""Mutate the facts and rules of the prover: figures for docs/benchmarks/proof-mutants.md.

    python benchmarks/mutants/run.py --sample 20            twenty mutants of every file
    python benchmarks/mutants/run.py --file reductions.py   all mutants of one file

Continues where it was: every mutant is one line of benchmarks/results/proof_mutants.jsonl, kept for as
long as its file stays the same. With a mutant that no test kills many programs are proved; one that makes
a proof smaller, or gives one that was refused, is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import io
import json
import os
import random
import resource
import signal
import sys
import time
import types
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import pytest

from benchmarks.mutants import probes
from benchmarks.mutants.changes import Mutant, mutants
from benchmarks.mutants.reach import OTHERS, QUIET, reaching

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "proof_mutants.jsonl"
SECONDS = 120  # of a CPU for one mutant: a rule that never ends is killed
MOST_SECONDS = 4.0  # for the claims of primitives
# The most dangerous first.
FILES = (
    *("rules/reductions", "rules/selecting", "rules/indexing", "rules/joining", "rules/products"),
    *("rules/relations", "rules/moved", "rules/drawing", "rules/random_numbers", "rules/common"),
    *("facts/sizes", "facts/norms", "facts/rowsets", "facts/boxes", "rules/functions"),
    *("rules/elementwise", "rules/ordering", "rules/shapes", "rules/counting", "rules/clipping"),
    *("rules/categories", "rules/assuming", "rules/postprocessing"),
)


def patch(file: str, source: str) -> bool:
    """Put the changed code into the functions that are there; False where nothing there is changed."""
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    changed = compile(source, str(ROOT / file), "exec", dont_inherit=True)
    done = False
    for name, function, code in _pairs(vars(module), changed):
        del name
        if (
            function.__code__.co_code != code.co_code
            or function.__code__.co_consts != code.co_consts
        ):
            function.__code__ = code
            done = True
    if not done and module.__name__.endswith("functions"):  # a table of lambdas
        made = types.ModuleType(module.__name__)
        sys.modules["mutated"] = made
        made.__name__ = "mutated"
        exec(changed, made.__dict__)
        module.FUNCTIONS.update(made.FUNCTIONS)
        module.STEPS = made.STEPS
        done = True
    return done


def _pairs(names: dict, code: types.CodeType):
    """(name, function, its changed code) for functions, methods and properties."""
    for each in code.co_consts:
        if not isinstance(each, types.CodeType):
            continue
        found = names.get(each.co_name)
        if isinstance(found, type):
            yield from _pairs(vars(found), each)
            continue
        found = getattr(found, "fget", found)
        found = getattr(found, "__wrapped__", found)
        free = len(each.co_freevars)
        if isinstance(found, types.FunctionType) and len(found.__code__.co_freevars) == free:
            yield each.co_name, found, each


def judge(file: str, mutant: Mutant, baseline: dict) -> dict:
    """What becomes of a mutant, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        try:
            found = _in_child(file, mutant, baseline)
        except BaseException as error:
            found = {"verdict": "killed", "by": f"an error: {type(error).__name__}"}
        os.write(write, json.dumps(found).encode())
        os._exit(0)
    os.close(write)
    text = b"".join(iter(lambda: os.read(read, 65536), b""))
    os.close(read)
    _, status = os.waitpid(child, 0)
    if not text:
        ended = os.WTERMSIG(status) == signal.SIGXCPU if os.WIFSIGNALED(status) else False
        return {"verdict": "killed", "by": "time" if ended else f"status {status}"}
    return json.loads(text)


def _in_child(file: str, mutant: Mutant, baseline: dict) -> dict:
    """First the cases whose epsilon is known, then the tests of the primitives that it may reach."""
    try:
        if not patch(file, mutant.source((ROOT / file).read_text())):
            return {"verdict": "not tried", "by": "outside of functions"}
    except ValueError as error:
        return {"verdict": "not tried", "by": str(error)}
    reaches = _reaches(file, _function(file, mutant), baseline["reached"])
    baseline = baseline["proved"]
    for name, proved in probes.stated(reaches):
        if not baseline[name] * (1 - 1e-9) <= proved <= baseline[name] * (1 + 1e-4):
            return {"verdict": "killed", "by": f"{name}: {proved} instead of {baseline[name]}"}
    smaller = []
    for name, proved, spent in probes.wrong(reaches):
        if proved < spent * (1 - 1e-9):
            return {"verdict": "killed", "by": f"{name}: {proved} where {spent} is spent"}
        if proved < baseline[name] * (1 - 1e-9):
            smaller.append(f"{name}: {proved} instead of {baseline[name]}")
    claims = importlib.import_module("tests.program.test_primitives")
    ends, reached = time.process_time() + MOST_SECONDS, reaching(_function(file, mutant))
    for name in reached:
        if time.process_time() > ends:
            break
        try:
            claims.test_what_the_rule_claims_holds(name)
        except Exception as error:
            return {"verdict": "killed", "by": f"claims of {name}: {type(error).__name__}"}
    smaller += [
        f"{name}: {proved} instead of {baseline[name]}"
        for name, proved in probes.others(reaches)
        if proved < baseline[name] * (1 - 1e-9)
    ]
    if not smaller:
        return {"verdict": "survived", "by": "", "primitives": len(reached)}
    failed: list[str] = []

    class Failed:
        def pytest_runtest_logreport(self, report):
            if report.failed:
                failed.append(report.nodeid)

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        pytest.main(["-x", *QUIET, *OTHERS], plugins=[Failed()])
    if failed:
        return {"verdict": "killed", "by": failed[0]}
    return {"verdict": "smaller", "by": "; ".join(smaller[:3]), "primitives": len(reached)}


def _function(file: str, mutant: Mutant) -> str:
    """The function of a module, or the method of a class, around the changed line."""
    found = ""
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.Module | ast.ClassDef):
            for each in node.body:
                inside = each.lineno <= mutant.line <= (each.end_lineno or 0)
                if isinstance(each, ast.FunctionDef) and inside:
                    found = each.name
    return found


def _baseline() -> dict:
    """What the rules conclude as they are, and the functions that each case runs."""
    proved: dict[str, float] = {}
    reached: dict[str, list] = {}
    seen: set = set()
    with probes.watched(seen):
        for part in (probes.stated, probes.wrong, probes.others):
            for name, found, *_ in part():
                proved[name], reached[name] = found, sorted(seen)
                seen.clear()
    return {"proved": proved, "reached": reached}


def _reaches(file: str, function: str, reached: dict) -> probes.Asked:
    """Whether a case runs a function; a table outside of functions is for all of them."""
    if not function:
        return probes.anything
    mine = [str(ROOT / file), function]
    return lambda name: mine in [list(each) for each in reached[name]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=None, help="mutants of every file")
    parser.add_argument("--file", action="append", help="the end of a file's name")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--again", action="store_true", help="those that no test killed, once more")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    done = _done(chosen.again)
    ends = time.monotonic() + 60 * chosen.minutes
    probes.load()
    baseline = _in_fork(_baseline)
    for stem in FILES:
        file = f"dpcheck/program/{stem}.py"
        if chosen.file and not any(file.endswith(each) for each in chosen.file):
            continue
        source = (ROOT / file).read_text()
        digest = hashlib.sha256(source.encode()).hexdigest()[:12]
        found = mutants(source)
        if chosen.sample is not None:
            found = random.Random(stem).sample(found, min(chosen.sample, len(found)))
        for mutant in found:
            key = (file, digest, mutant.name)
            if key in done:
                continue
            if time.monotonic() > ends:
                return _report(all_of=False)
            one = judge(file, mutant, baseline)
            line = {"file": file, "digest": digest, "mutant": mutant.name, **one}
            RESULTS.parent.mkdir(exist_ok=True)
            with RESULTS.open("a") as out:
                out.write(json.dumps(line) + "\n")
            if one["verdict"] not in ("killed", "not tried"):
                print(f"{one['verdict']}: {file}:{mutant.name} {one['by']}", flush=True)
    return _report(all_of=True)


def _in_fork(work):
    """The result of work that leaves nothing behind."""
    read, write = os.pipe()
    if not os.fork():
        os.close(read)
        with os.fdopen(write, "w") as out:
            json.dump(work(), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as text:
        found = json.load(text)
    os.wait()
    return found


def _lines() -> dict[tuple[str, str, str], dict]:
    if not RESULTS.exists():
        return {}
    made = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {(one["file"], one["digest"], one["mutant"]): one for one in made}


def _done(again: bool) -> set[tuple[str, str, str]]:
    return {
        key
        for key, one in _lines().items()
        if not again or one["verdict"] in ("killed", "not tried")
    }


def _report(*, all_of: bool) -> int:
    """Counts by file, of the sources as they are now."""
    total: Counter[str] = Counter()
    by_file: dict[str, Counter[str]] = {}
    for (file, digest, _), one in _lines().items():
        if digest == hashlib.sha256((ROOT / file).read_bytes()).hexdigest()[:12]:
            by_file.setdefault(file, Counter())[one["verdict"]] += 1
            total[one["verdict"]] += 1
    for file, counts in sorted(by_file.items()):
        print(f"{file:45} {dict(counts)}")
    print(f"{'all' if all_of else 'until the time was over':45} {dict(total)}")
    return int(total["smaller"] > 0)


if __name__ == "__main__":
    sys.exit(main())
