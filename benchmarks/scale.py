"""What an audit costs: memory against runs, speed against workers, time against size, bound against runs.

    python benchmarks/scale.py                 # continues results/scale.jsonl, about 15 minutes
    python benchmarks/scale.py --kind memory --fresh

CPU seconds of one process where the question is work; wall seconds where it is workers; the peak
resident memory of a process of its own where it is memory.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from records import append, forget, read, stamp

from dpcheck.auditing.auditors.distinction import distinguish
from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.core.adjacency import Adjacency
from dpcheck.execution.parallel import Workers
from dpcheck.execution.pools import DaskPool, LokyPool, close_clients, loky_pool
from dpcheck.execution.runner import Runner

FILE = "scale.jsonl"
CLAIM = AuditedClaim(1.0, 0.0, Adjacency.ZERO_OUT)
ALPHA = 1e-3
REPEATS = 2


def laplace_sums(data, size, rng):
    """A sum over the rows, answered in as many columns as the data has, at epsilon 1 in all."""
    return data.sum(axis=0) + rng.laplace(scale=data.shape[1], size=(size, data.shape[1]))


def descent(data, size, rng):
    """`steps` noisy gradient steps on a mean, the steps being the first entry of the data."""
    steps, weight = int(data[0]), np.zeros(size)
    for _ in range(steps):
        gradient = np.clip(weight - data[1], -1, 1)
        weight = weight - 0.1 * (gradient + rng.normal(scale=math.sqrt(steps), size=size))
    return weight


def pair(rows: int, columns: int) -> Pair:
    """A record of ones, and the same zeroed."""
    data = np.zeros((rows, columns))
    changed = data.copy()
    changed[0] = 1.0
    return Pair(changed, data, "one record")


def audit(function, neighbours: Pair, runs: int, workers: Workers | None = None, seed: int = 0):
    limits = Limits(alpha=ALPHA, max_runs=runs, stop_early=False)
    runner = Runner(seed=seed, workers=workers or Workers(1))
    return distinguish(Mechanism(function, True), [neighbours], CLAIM, limits, runner)


def memory(runs: int) -> dict:
    """In a process of its own, since the peak never falls."""
    shown = subprocess.run(
        [sys.executable, __file__, "--peak", str(runs)], capture_output=True, text=True, check=True
    )
    return json.loads(shown.stdout)


def peak(runs: int) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    found = audit(laplace_sums, pair(10, 1), runs)
    print(
        json.dumps(
            {
                "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
                "test_runs": found.runs,
                "lower": found.lower,
                "seconds": round(time.perf_counter() - wall, 2),
                "cpu_seconds": round(time.process_time() - cpu, 2),
            }
        )
    )


def slow_sum(data, rng):
    """One output a call, of about 0.2 ms: as somebody writes it."""
    total = 0.0
    for _ in range(400):
        total += 1e-6 * rng.random()
    return float(data.sum()) + total + rng.laplace()


def workers(count: int, backend: str, kind: str) -> dict:
    measure = THROUGHPUTS[kind]
    if backend == "loky":
        try:
            return measure(Workers(count))
        finally:  # processes that end later would take their CPU time out of the next sum
            loky_pool(count).stop()
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        try:
            return measure(Workers(count, "dask", cluster.scheduler_address))
        finally:
            close_clients()


def _fixed(function, batched: bool, size: int, neighbours: Pair, runs: int, where: Workers) -> dict:
    """Batches of a fixed size; what one process learns is kept small, what workers run large."""
    mechanism = Mechanism(function, batched, batch_runs=size)
    limits = Limits(
        alpha=ALPHA,
        max_runs=runs,
        learning_runs=1024,
        sharpening_runs=1024,
        trees=False,
        stop_early=False,
    )

    def once(limits: Limits):
        return distinguish(mechanism, [neighbours], CLAIM, limits, Runner(workers=where))

    once(replace(limits, max_runs=8 * size))  # processes started, modules imported
    times, work, own, idle = [], [], [], _idle()
    with _counted() as tasks:
        for _ in range(REPEATS):  # the best: whatever else runs here only makes it slower
            began, before, here = time.perf_counter(), _cpu_seconds(), time.process_time()
            found = once(limits)
            own.append(time.process_time() - here)
            times.append(time.perf_counter() - began)
            work.append(_cpu_seconds() - before)
    seconds = min(times)
    total = 2 * (found.runs + found.learning_runs)
    return {
        "seconds": round(seconds, 2),
        "runs_per_second": round(total / seconds),
        "runs_per_cpu_second": round(total / min(work)),
        "worker_cpu_seconds": round(min(a - b for a, b in zip(work, own, strict=True)), 2),
        "idle_cpu_seconds": round(idle * seconds, 2),  # what the workers take for nothing meanwhile
        "client_cpu_seconds": round(min(own), 3),  # with LocalCluster its scheduler, too
        "test_runs": found.runs,
        "tasks": tasks[0] // REPEATS,
        "batches": tasks[1] // REPEATS,
        "lower": found.lower,
    }


def _idle() -> float:
    """CPU seconds a second of all workers while there is nothing to do."""
    began, before, here = time.perf_counter(), _cpu_seconds(), time.process_time()
    time.sleep(5)
    spent = _cpu_seconds() - before - (time.process_time() - here)
    return max(0.0, spent) / (time.perf_counter() - began)


@contextmanager
def _counted() -> Iterator[list[int]]:
    """How many tasks and how many batches in them are given to workers."""
    seen, pools = [0, 0], (LokyPool, DaskPool)
    before = [pool.submit for pool in pools]

    def counting(submit):
        def submitted(self, function, parcel, around, seeds):
            seen[0] += 1
            seen[1] += len(seeds)
            return submit(self, function, parcel, around, seeds)

        return submitted

    for pool, submit in zip(pools, before, strict=True):
        pool.submit = counting(submit)
    try:
        yield seen
    finally:
        for pool, submit in zip(pools, before, strict=True):
            pool.submit = submit


def _cpu_seconds() -> float:
    """Of this process and of all it started: what work costs, however busy the machine is."""
    parents, spent = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        number = int(path.parent.name)
        parents[number] = int(fields[1])
        spent[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    mine = {os.getpid()}
    while more := {n for n, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return sum(spent[number] for number in mine)


def _steps(count: int) -> Pair:
    return Pair(np.array([count, 1.0]), np.array([count, 0.0]), "one target")


# A batch of 65,536 runs of 100 training steps takes a third of a second, one of 4,096 cheap runs about
# a millisecond, one of 512 calls a tenth of a second.
THROUGHPUTS = {
    "long batches": partial(_fixed, descent, True, 1 << 16, _steps(100), 1 << 20),
    "short batches": partial(_fixed, laplace_sums, True, 1 << 12, pair(10, 1), 1 << 24),
    "single calls": partial(_fixed, slow_sum, False, 512, pair(10, 1), 1 << 13),
}


def cost(function, neighbours: Pair) -> dict:
    runs = 1 << 18
    audit(laplace_sums, pair(2, 2), 1 << 12)  # modules imported
    began = time.process_time()
    found = audit(function, neighbours, runs)
    seconds = time.process_time() - began
    each = 1e6 * seconds / (found.runs + found.learning_runs)
    return {"cpu_seconds": round(seconds, 3), "microseconds_per_run": round(each, 4)}


def gap(runs: int, seed: int) -> dict:
    """How far below the true epsilon, 1, the bound is: the Laplace mechanism, one column."""
    found = audit(laplace_sums, pair(10, 1), runs, seed=seed)
    return {"lower": found.lower, "gap": 1.0 - found.lower, "test_runs": found.runs}


TASKS = {
    "memory": ([{"runs": r} for r in (10**5, 10**6, 10**7)], memory),
    "workers": (
        [
            {"backend": b, "count": c, "kind": k}
            for k in ("short batches", "single calls", "long batches")
            for b, c in (("loky", 2), ("dask", 2))
        ],
        lambda backend, count, kind: workers(count, backend, kind),
    ),
    "dimension": (
        [{"columns": c} for c in (1, 2, 4, 8, 16, 32, 64)],
        lambda columns: cost(laplace_sums, pair(10, columns)),
    ),
    "rows": (
        [{"rows": 10**k} for k in range(1, 7)],
        lambda rows: cost(laplace_sums, pair(rows, 1)),
    ),
    "steps": (
        [{"steps": s} for s in (1, 3, 10, 30, 100, 300)],
        lambda steps: cost(descent, _steps(steps)),
    ),
    "gap": (
        [{"runs": 1 << k, "seed": s} for k in (16, 18, 20, 22) for s in range(3)],
        gap,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", action="append", choices=list(TASKS))
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        peak(options.peak)
        return
    if options.fresh:
        forget(FILE, lambda record: not options.kind or record["kind"] in options.kind)
    done = {json.dumps([r["kind"], r["at"]], sort_keys=True) for r in read(FILE)}
    deadline = time.monotonic() + 60 * options.minutes
    for kind, (points, measure) in TASKS.items():
        if options.kind and kind not in options.kind:
            continue
        for at in points:
            if json.dumps([kind, at], sort_keys=True) in done or time.monotonic() > deadline:
                continue
            found = measure(**at)
            load = round(os.getloadavg()[0], 1)
            append(FILE, {"kind": kind, "at": at, "load": load, **found, **stamp("scikit-learn")})
            print(kind, at, found, flush=True)


if __name__ == "__main__":
    main()
