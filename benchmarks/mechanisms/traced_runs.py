"""Runs a second of plain functions, called one by one and made at once from the program that was read.

    python benchmarks/mechanisms/traced_runs.py [--write]

Both sides are measured in turn, in CPU time; with --write the table goes to docs/benchmarks/traced-runs.md.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.many import Sampler

sys.path.insert(0, str(Path(__file__).parents[1]))
from results_file import provenance

RUNS = 1 << 16
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "traced-runs.md"
X = np.random.default_rng(0).random(100)
RECORDS = dpcheck.records(x=dpcheck.number(0, 1))


def mean(x, rng):
    """A clipped mean."""
    return np.clip(x, 0, 1).mean() + rng.laplace(scale=0.1)


def moments(x, rng):
    """Three sums with Gaussian noise."""
    sums = np.stack([x.sum(), (x**2).sum(), (x**3).sum()])
    return sums + rng.normal(scale=3.0, size=3)


def histogram(x, rng):
    """A histogram, negative counts set to zero."""
    counts = np.histogram(x, bins=[0, 0.2, 0.4, 0.6, 0.8, 1.0])[0]
    return np.maximum(counts + rng.laplace(scale=2.0, size=5), 0)


def noisy_max(x, rng):
    """The exponential mechanism."""
    counts = np.histogram(x, bins=[0, 0.2, 0.4, 0.6, 0.8, 1.0])[0]
    return np.argmax(counts + rng.gumbel(scale=2.0, size=5))


def ratio(x, rng):
    """A mean from a noisy sum and a noisy count."""
    total = x.sum() + rng.laplace(scale=1.0)
    count = (x > 0.5).sum() + rng.laplace(scale=1.0)
    return total / np.maximum(count, 1)


def sampled(x, rng):
    """One Poisson-sampled step: every run draws 100 coins."""
    return (x * (rng.random(len(x)) < 0.1)).sum() + rng.normal(scale=2.0)


def measured(function) -> tuple[float, float]:
    """(runs a second by calls, at once), the medians of five turns."""
    sampler = Sampler(function, Adjacency.REPLACE_ONE, RECORDS)
    size = RUNS // 4 if function is sampled else RUNS
    calls, at_once = [], []
    for turn in range(5):
        rng = np.random.default_rng(turn)
        began = time.process_time()
        for _ in range(1000):
            function(X, rng)
        calls.append(1000 / (time.process_time() - began))
        began = time.process_time()
        sampler(X, size, rng)
        at_once.append(size / (time.process_time() - began))
    return float(np.median(calls)), float(np.median(at_once))


def main() -> None:
    """Print the table, or write the page."""
    lines = ["| function | calls a second | runs a second at once | ratio |", "|---|---|---|---|"]
    for function in (mean, moments, histogram, noisy_max, ratio, sampled):
        one, many = measured(function)
        shown = (function.__doc__ or "").rstrip(".")
        lines.append(f"| {shown} | {one:,.0f} | {many:,.0f} | {many / one:.0f} |")
        print(lines[-1], flush=True)
    made = provenance()
    if "--write" in sys.argv:
        PAGE.write_text(
            "# Runs at once\n\n"
            "A function that has a proof takes the same path in every run, so an audit can make many "
            "runs of it at once: private sums are computed once, draws and what follows from them "
            "have one entry a run. The first eight outputs are compared with the function's own "
            "before any is used.\n\n"
            + "\n".join(lines)
            + "\n\n`python benchmarks/mechanisms/traced_runs.py --write`, "
            f"{made['date']}, {made['machine']}, CPU time, "
            "medians of five turns, seeds 0 to 4. Data of 100 rows.\n"
        )


if __name__ == "__main__":
    main()
