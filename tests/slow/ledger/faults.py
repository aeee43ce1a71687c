"""Run by test_faults and benchmarks/fuzz/ledger_faults.py: faults planted into a ledger, one at a time.

`lines` raises an exception at every line of dpcheck that an operation reaches; `bytes` changes every
bit of a small ledger file and cuts it everywhere. A violation is a ledger that afterwards counts
less than was released, lets more be released than its budget bears, or cannot be used any more.
"""

import argparse
import json
import math
import os
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from dpcheck import Budget, BudgetExceeded, Gaussian, Ledger, PureDP
from dpcheck.core.errors import AlreadyReleased, LedgerBroken
from dpcheck.ledger.storage.sql import sqlite

EACH, OTHER, MOST = PureDP(0.1), PureDP(0.2), 1.0  # ten releases of EACH, or less
MADE_BEFORE = 5
FAULTS = (KeyboardInterrupt, MemoryError, OSError)
_NUMBER = iter(range(10**9))


class Scenario:
    """A ledger some releases were made from, and what was really released.

    `place` is a function that gives a new place; without one the ledger is in memory.
    """

    def __init__(self, place, delta, block=4):
        self.path, self.asked, self.shown = None, False, 0
        if place is None:
            self.ledger = Ledger(Budget(MOST, delta), "replace-one", block=block)
        else:
            self.path = place()
            self.ledger = Ledger.open(self.path, Budget(MOST, delta), "replace-one", block=block)
        self.data = self.ledger.dataset("d", rows=10)
        self.parts = self.data.split_rows(2, name="halves")
        self.plan = self.ledger.plan(self.parts[0], OTHER, delta=0.0, name="planned")
        self.released = 0.2  # the plan is paid for in full
        for _ in range(MADE_BEFORE):
            self.spend()

    def spend(self, event=EACH):
        self.ledger.spend(self.parts[0], event)
        self.released += event.epsilon  # reached only if the ledger let it

    def step(self):
        self.plan.step()

    def reserve(self):
        """One release under an id; after a fault it is asked for again."""
        self.asked = True
        self.ledger.spend(self.parts[0], EACH, request_id="query").release()
        self.released += EACH.epsilon
        self.shown += 1

    def check(self):
        """What is wrong with the ledger now, if anything."""
        if self.asked:
            with suppress(AlreadyReleased, BudgetExceeded):
                self.reserve()
            if self.shown > 1:
                return "one charge was released twice"
        counted = self.ledger.epsilon(delta=0.0).upper
        if counted < self.released - 1e-9:
            return f"counts {counted:.3g} of {self.released:.3g}"
        # With a delta this small no schedule costs less than its sum.
        for event in (OTHER, EACH) if self.ledger.terms.budget.delta else (EACH,):
            with suppress(BudgetExceeded):
                while True:
                    self.spend(event)
        if self.released > MOST + 1e-9:
            return f"let {self.released:.3g} be released"
        try:
            self.plan.step(2)
            return "a plan of one step was stepped twice"
        except BudgetExceeded:
            pass
        self.ledger.close()
        if self.path is not None:
            with Ledger.open(self.path) as again:
                if again.epsilon(delta=0.0).upper < self.released - 1e-9:
                    return "the file counts less than was released"
        return None


# With block 1 nothing is counted ahead, so that every spend is a change.
EXACT = {"spend", "first spend"}
OPERATIONS = {
    "first spend": lambda s: s.ledger.spend(s.ledger.dataset("other"), EACH),
    "spend": lambda s: s.spend(),
    "spend something else": lambda s: s.spend(OTHER),
    "spend counted ahead": lambda s: [s.spend(), s.spend()],
    "step": lambda s: s.step(),
    "epsilon": lambda s: s.ledger.epsilon(delta=0.0),
    "report": lambda s: s.ledger.report(),
    "statement": lambda s: s.ledger.statement(),
    "plan": lambda s: s.ledger.plan(s.parts[1], PureDP(0.05) * 2, delta=0.0, name="late"),
    "remaining": lambda s: s.ledger.remaining(s.parts[0]),
    "how_many": lambda s: s.ledger.how_many(s.parts[0], EACH),
    "steps": lambda s: next(s.ledger.steps(s.parts[0], EACH)),
    "receipt": lambda s: s.reserve(),
}


def watch(run, at):
    """Call `run`; `at(line, times)` is asked at every line of dpcheck, and may raise."""
    seen = Counter()

    def local(frame, event, _):
        if event == "line":
            line = (frame.f_code.co_filename, frame.f_lineno)
            seen[line] += 1
            at(line, seen[line])
        return local

    def trace(frame, event, _):
        inside = (
            "/dpcheck/" in frame.f_code.co_filename and "/.venv/" not in frame.f_code.co_filename
        )
        return local if event == "call" and inside else None

    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
    return seen


@contextmanager
def forgotten(cold):
    """What was accounted before is accounted again; afterwards it is remembered as before."""
    modules = [m for name, m in sys.modules.items() if cold and name.startswith("dpcheck.")]
    known = [
        (module, name, value)
        for module in modules
        for name, value in vars(module).items()
        if hasattr(value, "cache_clear") and hasattr(value, "__wrapped__")
    ]
    anew = {id(value): lru_cache(maxsize=None)(value.__wrapped__) for _, _, value in known}
    for module, name, value in known:
        setattr(module, name, anew[id(value)])
    try:
        yield
    finally:
        for module, name, value in known:
            setattr(module, name, value)


def walk(operation, place, delta, cold, last_too, every=1):
    """Plant a fault at every line the operation reaches; (lines, faults, violations)."""
    run = OPERATIONS[operation]

    def fresh():
        return Scenario(place, delta, block=1 if operation in EXACT else 4)

    scenario = fresh()
    with forgotten(cold):
        reached = watch(lambda: run(scenario), lambda line, times: None)
    planted, wrong = 0, []
    for number, (line, times) in enumerate(reached.items()):
        if number % every:
            continue
        for occurrence in {1, times} if last_too else {1}:
            fault = FAULTS[(number + occurrence) % len(FAULTS)]
            scenario = fresh()
            hit = False

            def at(here, count, line=line, occurrence=occurrence, fault=fault):
                nonlocal hit
                if here == line and count == occurrence:
                    hit = True
                    raise fault("planted")

            # Whatever it became on the way (a file's OSError is explained): not released.
            with suppress(BaseException), forgotten(cold):
                watch(lambda scenario=scenario: run(scenario), at)
            planted += hit
            problem = scenario.check()
            if problem is not None:
                wrong.append([operation, fault.__name__, Path(line[0]).name, line[1], problem])
    return len(reached), planted, wrong


def schema(address):
    """A new, empty place in a database."""
    import psycopg

    name = f"faults_{os.getpid()}_{next(_NUMBER)}"
    with psycopg.connect(address, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {name}")
    return f"{address}?options=-csearch_path%3D{name}"


def every_line(options):
    with tempfile.TemporaryDirectory() as name:
        place = None
        if options.where == "file":
            place = lambda: str(Path(name) / f"{next(_NUMBER)}.ledger")  # noqa: E731
        elif options.where != "memory":
            place = lambda: schema(options.where)  # noqa: E731
        for operation in options.operations or OPERATIONS:
            lines, planted, wrong = walk(
                operation, place, options.delta, options.cold, options.last_too, options.every
            )
            print(
                json.dumps(
                    {"what": operation, "lines": lines, "planted": planted, "violations": wrong}
                ),
                flush=True,
            )


def every_byte(options):
    """Single-bit flips and truncations of a small ledger file; what nobody reads may change."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "small.ledger"
        with Ledger.open(path, Budget(3.0, 1e-3), "add-remove", block=1) as ledger:
            data = ledger.dataset("d")
            ledger.spend(data, PureDP(0.5))
            ledger.spend(data, Gaussian(9.0), times=2)
            released = {line.event: line.times for line in ledger.report().lines}
        whole = path.read_bytes()
        found, wrong = Counter(), []
        for number in range(0, 9 * len(whole), options.every):
            at, bit = divmod(number, 8)
            if at < len(whole):
                kind, changed = (
                    "flip",
                    whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1 :],
                )
            else:
                kind, changed = "cut", whole[: number - 8 * len(whole)]
            path.write_bytes(changed)
            found[kind] += 1
            try:
                with Ledger.open(path) as ledger:
                    ledger.history()
                    counted = {line.event: line.times for line in ledger.report().lines}
                    spent = ledger.epsilon(delta=0.0, dataset=ledger.dataset("d")).upper
                found["harmless"] += 1
                less = any(counted.get(event, 0) < times for event, times in released.items())
                if less or spent != math.inf:
                    wrong.append([kind, number, "opened, counting less"])
            except LedgerBroken:
                if path.read_bytes() != changed:
                    wrong.append([kind, number, "was written to"])
            except BaseException as error:
                wrong.append([kind, number, repr(error)[:200]])
            for beside in path.parent.glob("small.ledger-*"):
                beside.unlink()
        print(json.dumps({"what": f"{len(whole)} bytes", **found, "violations": wrong}))


if __name__ == "__main__":
    # A killed process loses nothing it has handed to the kernel; only power does. So no fsync here.
    sqlite.SYNCHRONOUS = "OFF"
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    lines = commands.add_parser("lines")
    lines.add_argument("where", help="memory, file or an address of PostgreSQL")
    lines.add_argument("operations", nargs="*")
    lines.add_argument("--delta", type=float, default=0.0)
    lines.add_argument("--cold", action="store_true", help="account everything anew each time")
    lines.add_argument("--every", type=int, default=1, help="at every so many lines")
    lines.add_argument("--last-too", action="store_true", help="also when a line is last reached")
    lines.set_defaults(run=every_line)
    flips = commands.add_parser("bytes")
    flips.add_argument("--every", type=int, default=1)
    flips.set_defaults(run=every_byte)
    chosen = parser.parse_args()
    chosen.run(chosen)
