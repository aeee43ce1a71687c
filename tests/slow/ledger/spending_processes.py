"""Run by test_kills: processes that share a ledger and are killed at random moments.

Every release is logged, after it was counted, by one byte appended to the process's own log. A
process killed in between has counted a release it did not make; never the other way round.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from dpcheck import Budget, Gaussian, Ledger, PureDP
from dpcheck.ledger.storage.sql import sqlite

EVENTS = (PureDP(1e-7), Gaussian(1e4))


def spend_until_killed(path: Path | str, log: Path, block: int, seed: int) -> None:
    """Releases until the process is killed; an interrupt anywhere is caught and work goes on."""
    rng = random.Random(seed)
    armed = False

    def interrupt(*_):
        nonlocal armed
        if armed:  # not while the last one is being caught
            armed = False
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    writer = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    ledger = None
    while True:
        try:
            armed = True
            if ledger is None:
                opened = Ledger.open(path, block=block)
                parts = opened.dataset("d", rows=100).split_rows(2, name="halves")
                ledger = opened
            event = rng.randrange(2)
            ledger.spend(parts[rng.randrange(2)], EVENTS[event])
            os.write(writer, b"01"[event : event + 1])
            if rng.random() < 0.001:
                ledger.epsilon(delta=1e-6)  # reading must not lose anything either
            if rng.random() < 0.002:
                leaving, ledger = ledger, None
                leaving.close()
            armed = False  # an interrupt between two turns would find nobody to catch it
        except KeyboardInterrupt:
            continue


def schema(address: str, number: int) -> str:
    """A new, empty place in a database."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA kills_{os.getpid()}_{number}")
    return f"{address}?options=-csearch_path%3Dkills_{os.getpid()}_{number}"


def one_round(folder, number, processes, block, most, interrupts, address) -> dict:
    rng = random.Random(number)
    path = folder / f"{number}.ledger" if address is None else schema(address, number)
    Ledger.open(path, Budget(50.0, 1e-6), "add-remove", order=8.0).close()
    logs = [folder / f"{number}.{i}.log" for i in range(processes)]
    children = []
    for i, log in enumerate(logs):
        child = os.fork()
        if child == 0:
            try:
                spend_until_killed(path, log, block, 1000 * number + i)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        children.append(child)
    deaths, sent = [], 0
    for child, log in zip(children, logs, strict=True):
        # By progress, so that a slow machine sees the same test; then at a random moment.
        target, last = rng.randrange(most), 0
        while (made := log.stat().st_size if log.exists() else 0) < target:
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "a process died by itself"
            # Not again before it got on: a file that takes long to open is opened some day.
            if made > last and rng.random() < interrupts:
                os.kill(child, signal.SIGINT)
                sent, last = sent + 1, made
            time.sleep(rng.uniform(0.0, 0.0006))
        time.sleep(rng.uniform(0.0, 0.002))
        os.kill(child, signal.SIGKILL)
        deaths.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    with Ledger.open(path) as ledger:
        lines = ledger.report().lines
    counted = [sum(line.times for line in lines if line.event == event) for event in EVENTS]
    made = b"".join(log.read_bytes() for log in logs if log.exists())
    return {
        "counted": counted,
        "made": [made.count(b"0"), made.count(b"1")],
        "killed": deaths.count(-signal.SIGKILL),
        "interrupted": sent,
    }


if __name__ == "__main__":
    # A killed process loses nothing it has handed to the kernel; only power does. So no fsync here.
    sqlite.SYNCHRONOUS = "OFF"
    folder, interrupts = Path(sys.argv[1]), float(sys.argv[6])
    rounds, processes, block, most = map(int, sys.argv[2:6])
    address = sys.argv[7] if len(sys.argv) > 7 else None
    for number in range(rounds):
        found = one_round(folder, number, processes, block, most, interrupts, address)
        print(json.dumps(found), flush=True)
