"""Functions as people write them, broken and right, and one leak in every output type.

    python benchmarks/everyday.py --seeds 1          # continues results/everyday.jsonl
    python benchmarks/everyday.py --peers            # results/everyday_peers.jsonl
    python benchmarks/everyday.py --types            # results/output_types.jsonl
    python benchmarks/everyday.py --summary

Each line of a data file is one audit: verdict, bound, calls of the function, seconds, event. One
process, at most `--max-runs` runs a side. `--peers` adds what DP-Sniper-style and jax-privacy auditors
find in the same functions where they can take the outputs (peers/flat.py).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from peers import flat
from records import append, missing, read, stamp

sys.path.insert(0, str(Path(__file__).parents[1]))

from dpcheck.auditing.mechanism import as_mechanism
from dpcheck.core.budget import Budget
from dpcheck.session.assertion import audit_function
from tests.power.everyday import CORPUS
from tests.power.everyday.base import Everyday
from tests.power.output_types import with_optional_packages

FILES = {"everyday": "everyday.jsonl", "types": "output_types.jsonl"}
PEERS = "everyday_peers.jsonl"
SIDES = ("broken", "corrected")
PAIR = [(np.zeros(3), np.array([5.0, 0.0, 0.0]))]


def _release(shape: Callable[[float], Any], scale: float) -> Callable[..., Any]:
    def release(data, rng):
        return shape(float(data.sum() + rng.laplace(scale=scale)))

    return release


def rows(what: str) -> dict[str, Everyday]:
    if what == "everyday":
        return CORPUS
    return {
        name: Everyday(name, _release(shape, 0.01), _release(shape, 5.0), PAIR)
        for name, shape in with_optional_packages().items()
    }


def measure(row: Everyday, name: str, side: str, seed: int, most: int) -> dict[str, object]:
    calls = 0
    inner = getattr(row, side)

    @wraps(inner)
    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        return inner(*arguments, **named)

    began, cpu = time.perf_counter(), time.process_time()
    entry = audit_function(
        counted,
        claim=Budget(row.epsilon, row.delta),
        neighbours=row.pairs,
        adjacency=row.adjacency,
        seed=seed,
        max_runs=most,
    )
    reach, witness = entry.observed.detectable, entry.witness or {}
    spent = 2 * (entry.observed.runs + entry.observed.learning_runs)
    if str(entry.observed.method) == "replay":
        spent = entry.observed.runs
    return {
        "mechanism": name,
        "side": side,
        "seed": seed,
        "max_runs": most,
        "verdict": str(entry.verdict),
        "lower": entry.observed.epsilon,
        "detectable": "inf" if math.isinf(reach) else reach,
        "calls": calls,  # all of them, those that confirm a readable event included
        "verdict_calls": witness.get("calls", spent),
        "seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "method": str(entry.observed.method),
        "rule": (entry.witness or {}).get("rule"),
        "event": (entry.witness or {}).get("event"),
        "notes": list(entry.notes),
        **stamp("scikit-learn", "pandas"),
    }


def measure_peers(row: Everyday, name: str, side: str, seed: int) -> dict[str, object]:
    """Their bounds on the first pair: of the outputs as they are, and as dpcheck reads them."""
    mechanism = as_mechanism(getattr(row, side))
    began = time.perf_counter()
    line: dict[str, object] = {
        "mechanism": name,
        "side": side,
        "seed": seed,
        "calls": 2 * flat.RUNS,
    }
    rngs = [np.random.default_rng([seed, k]) for k in range(2)]
    seen = [
        [mechanism.observe(data, flat.RUNS // 2, r) for _ in range(2)]
        for data, r in zip(row.pairs[0], rngs, strict=True)
    ]
    read_by_us = flat.bounds(*flat.scores(*flat.read(*seen)), row.delta)
    line["read"] = {who: bound > row.epsilon for who, bound in read_by_us.items()}
    try:
        some = [
            [mechanism.function(d, r) for _ in range(8)]
            for d, r in zip(row.pairs[0], rngs, strict=True)
        ]
        flat.flat([*some[0], *some[1]])
        line["taken"] = True
    except Exception as error:  # also the function's own: they have no word for it
        line |= {"taken": False, "why": type(error).__name__}
    line["seconds"] = round(time.perf_counter() - began, 2)
    return {**line, **stamp("scikit-learn", "jax-privacy")}


def summary(what: str) -> None:
    found = read(FILES[what])
    for side in SIDES:
        mine = [line for line in found if line["side"] == side]
        verdicts = Counter(line["verdict"] for line in mine)
        calls = sorted(line["calls"] for line in mine)
        seconds = sorted(line["seconds"] for line in mine)
        if mine:
            print(
                f"{what}, {side}: {len(mine)} audits, {dict(verdicts)}; median {calls[len(mine) // 2]:,} "
                f"calls, {seconds[len(mine) // 2]} s; most {seconds[-1]} s"
            )
        wrong = [m for m in mine if (m["verdict"] == "violated") != (side == "broken")]
        for line in wrong:
            print(f"  {line['mechanism']}: {line['verdict']} (>= {line['lower']:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--peers", action="store_true", help="the others' ways")
    parser.add_argument("--types", action="store_true", help="one leak in every output type")
    parser.add_argument("--max-runs", type=int, default=2048)
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    what = "types" if options.types else "everyday"
    if options.peers:
        for name, side in missing(
            PEERS, [(n, s) for s in SIDES for n in CORPUS], ("mechanism", "side")
        ):
            line = measure_peers(CORPUS[name], name, side, 1)
            append(PEERS, line)
            print(f"{name} ({side}): {line['read']}, taken as it is: {line['taken']}", flush=True)
    elif not options.summary:
        wanted = rows(what)
        keys = [(n, s, k) for k in range(1, options.seeds + 1) for n in wanted for s in SIDES]
        for name, side, seed in missing(FILES[what], keys, ("mechanism", "side", "seed")):
            line = measure(wanted[name], name, side, seed, options.max_runs)
            append(FILES[what], line)
            print(f"{name} ({side}): {line['verdict']}, {line['calls']:,} calls", flush=True)
    summary(what)


if __name__ == "__main__":
    main()
