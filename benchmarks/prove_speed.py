"""CPU seconds that a proof takes, the attack on it included.

    python benchmarks/prove_speed.py            # results/prove_speed.json
    python benchmarks/prove_speed.py mean --profile

Every row is a process of its own, the smallest of `--rounds`. `prove` is the call of `dpcheck.prove` in a
process that has imported dpcheck and numpy; `audit` is the whole command `dpcheck audit`.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dpcheck

FILE = Path(
    os.environ.get("DPCHECK_RESULTS", Path(__file__).parent / "results"), "prove_speed.json"
)
AGES = dpcheck.records(age=dpcheck.number(0, 120), rows=1000)
MANY = dpcheck.records(age=dpcheck.number(0, 120), rows=100_000)
PLANE = dpcheck.records(a=dpcheck.number(-5, 5), b=dpcheck.number(-5, 5), rows=1000)
AUDITED = """import dpcheck

PEOPLE = dpcheck.records(age=dpcheck.number(0, 120), rows=1000)


@dpcheck.audited(claim=1.0, adjacency="replace-one", records=PEOPLE, form="array")
def mean_age(age, rng):
    return age.mean() + rng.laplace(scale=0.12)
"""


def count(ages, rng):
    return (ages > 65).sum() + rng.laplace(scale=1.0)


def histogram(ages, rng):
    counts, _ = np.histogram(ages, bins=12, range=(0, 120))
    return counts + rng.laplace(scale=2.0, size=12)


def mean(ages, rng):
    return np.clip(ages, 0, 100).mean() + rng.laplace(scale=0.1)


def loop(ages, rng):
    total = 0.0
    for age in ages:
        total += min(age, 100)
    return total + rng.laplace(scale=100.0)


def dp_sgd(data, rng):
    features, target = data[:, :1], data[:, 1]
    w = np.zeros(1)
    for _ in range(1000):
        gradients = features * (features @ w - target)[:, None]
        norms = np.linalg.norm(gradients, axis=1)
        gradients = gradients / np.maximum(1, norms)[:, None]
        w = w - 0.1 * (gradients.sum(axis=0) + rng.normal(0, 50.0, size=1)) / 1000
    return w


ROWS: dict[str, tuple[Callable[..., object], dpcheck.Records]] = {
    "count": (count, AGES),
    "histogram": (histogram, AGES),
    "mean": (mean, AGES),
    "loop over 100,000 records": (loop, MANY),
    "DP-SGD of 1,000 steps": (dp_sgd, PLANE),
}


def proved(name: str) -> float:
    """CPU seconds of one proof, here."""
    function, records = ROWS[name]
    began = time.process_time()
    dpcheck.prove(function, data=records, adjacency="replace-one")
    return time.process_time() - began


def elsewhere(*command: str) -> float:
    """CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_a_process(name: str) -> float:
    """What `--here NAME` prints in a process of its own."""
    command = [sys.executable, __file__, "--here", name]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def audited(folder: Path) -> float:
    """The whole command, of a function that is proved."""
    path = folder / "survey.py"
    path.write_text(AUDITED)
    run = "from dpcheck.cli.main import run; run()"
    return elsewhere("-c", run, "audit", f"{path}:mean_age")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", choices=ROWS)
    parser.add_argument("--here", choices=ROWS, help="only this one, in this process")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.here:
        print(proved(options.here))
        return
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(proved, options.name or "mean")
        pstats.Stats(profile).sort_stats("cumulative").print_stats(60)
        return
    found = {}
    for name in [options.name] if options.name else ROWS:
        found[f"prove: {name}"] = min(in_a_process(name) for _ in range(options.rounds))
    if not options.name:
        with tempfile.TemporaryDirectory() as folder:
            times = [audited(Path(folder)) for _ in range(options.rounds)]
        found["audit of a proved mean, whole command"] = min(times)
        FILE.write_text(json.dumps({k: round(v, 3) for k, v in found.items()}, indent=2) + "\n")
    for name, seconds in found.items():
        print(f"{seconds:7.3f}  {name}")


if __name__ == "__main__":
    main()
