"""docs/benchmarks/scale.md and sizing.md, and the figure of costs."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import numpy as np
from records import read

from .common import Record, made_with, number, table

FIGURE = "cost.svg"
COSTS = {"dimension": "columns", "rows": "rows", "steps": "steps"}
ALPHA = 1e-3
# Of learned events and of stopping at any time, over one fixed event: sizing.md shows it measured.
OVERHEAD = 1.5
REPEATS = 2  # as scale.py
MOST_TASKS = 50  # a second, as dpcheck/execution/parallel.py


def _kind(kind: str) -> list[Record]:
    return [record for record in read("scale.jsonl") if record["kind"] == kind]


def points(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Size and microseconds per run."""
    found = sorted((r["at"][COSTS[kind]], r["microseconds_per_run"]) for r in _kind(kind))
    sizes, costs = zip(*found, strict=True)
    return np.array(sizes, dtype=float), np.array(costs)


def exponent(kind: str) -> float:
    """Slope of log cost against log size over the larger half: the asymptotic one, as far as seen."""
    sizes, costs = points(kind)
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(costs[half:]), 1)[0])


def predicted_gap(runs: float, epsilon: float, chance: float, alpha: float = ALPHA) -> float:
    """How far below epsilon a bound from `runs` runs a side is.

    The log ratio of two frequencies p and p e^-eps has standard deviation
    sqrt(((1-p)/p + (1-p')/p') / runs); a confidence 1 - alpha at any time costs sqrt(2 log(1/alpha))
    of them.
    """
    other = chance * math.exp(-epsilon)
    spread = (1 - chance) / chance + (1 - other) / other
    return OVERHEAD * math.sqrt(2 * math.log(1 / alpha) * spread / runs)


def runs_for(gap: float, epsilon: float, chance: float, alpha: float = ALPHA) -> float:
    """The inverse of `predicted_gap`."""
    return predicted_gap(1.0, epsilon, chance, alpha) ** 2 / gap**2


def render() -> dict[str, str]:
    records = read("scale.jsonl")
    if {r["kind"] for r in records} < {"memory", "workers", "gap", *COSTS}:
        return {}
    return {"scale.md": _scale(records), "sizing.md": _sizing()}


def _scale(records: list[Record]) -> str:
    memory = table(
        ["test runs a side", "peak memory, MB", "CPU s", "bound (true 1)"],
        [
            (f"{r['test_runs']:,}", r["peak_mb"], r["cpu_seconds"], number(r["lower"], 5))
            for r in _kind("memory")
        ],
    )
    workers = table(
        [
            "",
            "backend",
            "runs a second",
            "CPU s of the workers",
            "of them idle",
            "CPU s of the client",
            "tasks",
            "bound",
            "load average",
        ],
        [
            (
                r["at"]["kind"],
                r["at"]["backend"],
                f"{r['runs_per_second']:,}",
                number(r["worker_cpu_seconds"]),
                number(_idle(r)),
                number(r["client_cpu_seconds"]),
                r["tasks"],
                repr(r["lower"]),
                r["load"],
            )
            for r in _kind("workers")
        ],
    )
    compared = table(
        ["", "by the clock", "CPU seconds of the workers", "without those of idle workers"],
        [
            (
                kind,
                f"{dask['runs_per_second'] / loky['runs_per_second']:.2f}",
                f"{loky['worker_cpu_seconds'] / dask['worker_cpu_seconds']:.2f}",
                f"{_net(loky) / _net(dask):.2f}",
            )
            for kind, loky, dask in _two_workers()
        ],
    )
    costs = "\n\n".join(
        table(
            [COSTS[kind], "microseconds per run"],
            [(f"{int(x):,}", number(y, 4)) for x, y in zip(*points(kind), strict=True)],
        )
        + f"\n\nFitted exponent over the larger half: **{exponent(kind):.2f}**."
        for kind in COSTS
    )
    return f"""# What an audit costs

## Memory

Test runs are counted and forgotten, so memory does not grow with them. Peak resident memory of a process
of its own:

{memory}

## Workers

The same audit by two workers: batches of 4,096 runs of one line of numpy, which take about a
millisecond; batches of 512 calls of 0.2 ms; batches of 65,536 runs of 100 training steps, a tenth of a
second or more. Runs are those of both sides, the best of {REPEATS} repetitions. The bound must not depend
on who computes it, and does not. Short batches are sent together, in tasks of a quarter of a second.
The load average counts all processes of the machine: well above its number of cores the runs a second of
two rows differ by chance, and CPU seconds tell more. With dask the client's are its scheduler's, too; and a
cluster is awake all the time: what its idle workers take was measured before. While a task runs, dask's
profiler of that worker waits: it would take a quarter of the time of Python code. Again:
`python benchmarks/scale.py --kind workers --fresh`.

{workers}

The runs of a dask worker as a share of a loky worker's:

{compared}

## Size

CPU time of one process per run on both sides, mechanism and auditor together: columns of the output, rows of
the data (a sum over all of them in every batch), steps of a training loop.

{costs}

![cost per run against size]({FIGURE})

{made_with(records, "python benchmarks/scale.py")}
"""


def _idle(record: Record) -> float:
    """Processes of loky wait in a system call; only those of dask were measured."""
    return float(record.get("idle_cpu_seconds", 0.0))


def _net(record: Record) -> float:
    """CPU seconds the workers took for the runs."""
    return float(record["worker_cpu_seconds"]) - _idle(record)


def _two_workers() -> list[tuple[str, Record, Record]]:
    """(kind, with loky, with dask)."""
    found = {
        (r["at"]["kind"], r["at"]["backend"]): r for r in _kind("workers") if r["at"]["count"] == 2
    }
    kinds = dict.fromkeys(kind for kind, _ in found)
    return [(kind, found[kind, "loky"], found[kind, "dask"]) for kind in kinds]


def _thousand() -> str:
    """What 1,000 dask workers would do, from what two did here."""
    _, loky, dask = next(each for each in _two_workers() if each[0] == "short batches")
    batch = loky["client_cpu_seconds"] / loky["batches"]
    task = (dask["client_cpu_seconds"] - loky["client_cpu_seconds"]) / dask["tasks"]
    workers, length = 1000, 1000 / MOST_TASKS
    runs = runs_for(0.01, 1.0, 0.01)
    return f"""**A thousand workers, on paper.** Client and scheduler are the limit, of which there is one
each. Taking in one batch costs the client {1e3 * batch:.2f} ms of CPU time here; a task costs client
and scheduler {1e3 * task:.0f} ms (`scale.md`, short batches, two workers). So

- tasks are made so long that all workers together ask for at most {MOST_TASKS} a second: with {workers:,}
  workers {length:g} s each, which takes client and scheduler {MOST_TASKS * task:.2f} CPU seconds a second;
- {workers:,} workers are kept busy if a batch takes at least {workers:,} × {1e3 * batch:.2f} ms =
  {workers * batch:.2f} s, as 512 calls of {1e3 * workers * batch / 512:.1f} ms do. A faster function is
  audited as fast by fewer workers: one line of numpy, in batches of a millisecond, keeps about
  {max(1, round(1e-3 / batch)):,} busy.

At 1 ms a run and side, {workers:,} workers make {workers * 500:,} runs a side and second, so the
{runs:,.0f} runs of the table (claimed ε 1, p 0.01, gap 1%) take {runs / workers / 500 / 60:.0f} minutes
beside learning, which one process does. The last tasks are shorter, down to a twentieth of a second, so that
workers end together. Nothing of this was measured on such a cluster."""


def _sizing() -> str:
    checked = []
    for runs in sorted({r["test_runs"] for r in _kind("gap")}):
        gaps = [r["gap"] for r in _kind("gap") if r["test_runs"] == runs]
        expected = predicted_gap(runs, 1.0, 0.5)
        mean = statistics.mean(gaps)
        checked.append((f"{runs:,}", number(mean), number(expected), f"{mean / expected:.2f}"))
    speed = round(1e6 / points("dimension")[1][0])  # one column, both sides counted
    rows = []
    for epsilon, chance in ((0.1, 0.5), (1.0, 0.5), (1.0, 0.01), (4.0, 0.5)):
        for share in (0.1, 0.03, 0.01):
            runs = runs_for(share * epsilon, epsilon, chance)
            seconds = runs / speed
            rows.append(
                (
                    number(epsilon),
                    number(chance),
                    f"{share:.0%}",
                    f"{runs:,.0f}",
                    number(seconds),
                    f"{math.ceil(runs / 500 / 60):,}",
                )
            )
    sizes = table(
        [
            "claimed ε",
            "p",
            "gap, share of ε",
            "runs a side",
            "CPU seconds here",
            "workers for a minute at 1 ms a run",
        ],
        rows,
    )
    checks = table(
        ["test runs a side", "measured gap", "predicted gap", "measured / predicted"], checked
    )
    return f"""# How many machines for how tight a bound

**Runs.** An event of chance p on one side and p' = p e^-eps on the other is counted N times a side. The
estimate of eps has variance ((1-p)/p + (1-p')/p') / N, and a lower bound at confidence 1 - alpha that may
be looked at any time lies about sqrt(2 log(1/alpha)) standard deviations below it:

    gap = {OVERHEAD} sqrt(2 log(1/alpha) ((1-p)/p + (1-p')/p') / N),    so    N = gap(1 run)² / gap²

Half the gap costs four times the runs. The factor {OVERHEAD} is for learned events and for
stopping at any time; measured, on the Laplace mechanism at epsilon 1 (p = 1/2), confidence 0.999:

{checks}

**Machines.** Batches are independent and results do not depend on who computes them, so

    seconds = N × (time of one run on both sides) / workers

plus learning. Here one core makes {speed:,} runs a second, both sides, of a mechanism that is
one line of numpy (`scale.md`, one column); put your own mechanism's time in its place, since it
usually dominates: at 1 ms a run and side one worker makes 500 a second. For confidence 0.999:

{sizes}

{_thousand()}

A rare event (small p) costs 1/p times as many runs: give pairs and features that make the event
likely, or a log density, with which one output above the claim is a proof and none of this applies.

{made_with(_kind("gap") + _kind("dimension") + _kind("workers"), "python benchmarks/scale.py")}
"""


def draw(folder: Path) -> None:
    """The figure; the same bytes for the same data and the same matplotlib."""
    if not render():
        return
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "dpcheck"
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    for axis, kind in zip(axes, COSTS, strict=True):
        sizes, costs = points(kind)
        slope = exponent(kind)
        axis.loglog(sizes, costs, "o")
        half = len(sizes) // 2
        middle = np.exp(np.log(sizes[half:]).mean()), np.exp(np.log(costs[half:]).mean())
        axis.loglog(sizes[half:], middle[1] * (sizes[half:] / middle[0]) ** slope, "-")
        axis.set_xlabel(COSTS[kind])
        axis.set_title(f"exponent {slope:.2f}")
    axes[0].set_ylabel("microseconds per run")
    figure.savefig(folder / FIGURE, metadata={"Date": None})
    plt.close(figure)
