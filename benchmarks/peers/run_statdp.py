"""StatDP, as pystatdp 0.1.3.1 on PyPI, on the planted bugs: its own events, its own test.

    pip install --no-deps pystatdp==0.1.3.1 numba llvmlite jsonpickle tqdm sympy
    python benchmarks/peers/run_statdp.py --seeds 1       # continues results/statdp.jsonl

It tests a pure epsilon by a p-value, on events it picks from a product of ten intervals a column: so
pure claims with at most three columns of output can be expressed. It runs at its defaults (100,000 runs
a side to pick an event, 500,000 to test it) on all pairs of the corpus, and rejects below the same error
rate as dpcheck, 0.001. Its loop calls the mechanism once per run; here runs come out of a buffer.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from dpcheck.auditing.auditors.floating_point import BitReader
from dpcheck.auditing.mechanism import Mechanism, as_mechanism

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from records import append, missing, stamp

from tests.power.planted import CORPUS, Registered

FILE = "statdp.jsonl"
ALPHA, PICK, TEST, MOST_COLUMNS = 1e-3, 100_000, 500_000, 3


class OneProcess:
    """What pystatdp asks of a process pool."""

    _processes = 1

    def imap_unordered(self, function, items):
        """In order, here."""
        return map(function, items)


class Buffered:
    """One output per call, made 65,536 at a time."""

    def __init__(self, mechanism, seed: int) -> None:
        self.mechanism, self.rng, self.ready = mechanism, np.random.default_rng(seed), {}

    def __call__(self, data):
        """The next output."""
        waiting = self.ready.get(id(data))
        if not waiting:
            outputs = self.mechanism.sample(data, 1 << 16, self.rng)
            single = outputs.shape[1] == 1
            waiting = outputs[:, 0].tolist() if single else [tuple(o) for o in outputs.tolist()]
            self.ready[id(data)] = waiting
        return waiting.pop()


def columns(row, side: str) -> int:
    mechanism = as_mechanism(getattr(row, side))
    return mechanism.sample(row.pairs[0][0], 4, np.random.default_rng(0)).shape[1]


def p_value(row, side: str, seed: int) -> float:
    from pystatdp.hypotest import hypothesis_test
    from pystatdp.selectors import select_event

    mechanism = as_mechanism(getattr(row, side))
    if row.floating_point:
        mechanism = Mechanism(BitReader(mechanism), True)
    algorithm, pool = Buffered(mechanism, seed), OneProcess()
    np.random.seed(seed)  # noqa: NPY002 - its test draws from the global generator
    epsilon = row.claim.budget.epsilon
    inputs = [(a, b, {}) for a, b in row.pairs]
    first, second, kwargs, event = select_event(algorithm, inputs, epsilon, PICK, pool, quiet=True)
    return float(
        hypothesis_test(algorithm, first, second, kwargs, event, epsilon, TEST, pool, False)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--row", action="append")
    parser.add_argument("--minutes", type=float, default=math.inf)
    options = parser.parse_args()
    version = importlib.metadata.version("pystatdp")
    rows = {
        row.name: row
        for row in CORPUS
        if not isinstance(row.broken, Registered)
        and not row.floating_point
        and row.claim.budget.delta == 0
        and max(columns(row, "broken"), columns(row, "corrected")) <= MOST_COLUMNS
        and (not options.row or any(part in row.name for part in options.row))
    }
    wanted = [
        (name, side, seed)
        for seed in range(options.seeds)
        for name in rows
        for side in ("broken", "corrected")
    ]
    warnings.simplefilter("ignore")
    deadline = time.monotonic() + 60 * options.minutes
    for name, side, seed in list(missing(FILE, wanted, ("mechanism", "side", "seed"))):
        if time.monotonic() > deadline:
            break
        began = time.process_time()
        try:
            p, error = p_value(rows[name], side, seed), None
        except Exception as failure:  # what a peer cannot carry out is a result too
            p, error = None, f"{type(failure).__name__}: {failure}"
        append(
            FILE,
            {
                "mechanism": name,
                "side": side,
                "seed": seed,
                "claim": rows[name].claim.budget.epsilon,
                "p": p,
                "error": error,
                "rejects": p is not None and p < ALPHA,
                "runs": PICK * len(rows[name].pairs) + TEST,
                "peers": {"pystatdp": version},
                "cpu_seconds": round(time.process_time() - began, 2),
                **stamp(),
            },
        )
        print(f"{name:52} {side:10} seed {seed} p {p} {error or ''}", flush=True)


if __name__ == "__main__":
    main()
