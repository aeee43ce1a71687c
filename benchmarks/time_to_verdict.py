"""Calls and seconds until an audit answers, for functions that take 0.1 ms to 1 s a call.

    python benchmarks/time_to_verdict.py                       # continues results/time_to_verdict.jsonl
    PYTHONPATH=OTHER_CHECKOUT python benchmarks/time_to_verdict.py --label before --slowest 0.01
    python benchmarks/time_to_verdict.py --summary

Four functions claim epsilon 1: one without noise, one with a fifth of the noise it needs, both once
written so that replay can follow the noise and once so that it cannot (it goes through a hash), and one
with the right noise. A call sleeps, so the time of a call is no matter of the machine. Everything goes
through `dpcheck.assert_private` with one process and, where there is one, a time limit of 60 s. The number
of calls does not depend on how long one takes: where `--slowest` left a time out, the summary multiplies.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import math
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import dpcheck

FILE = Path(
    os.environ.get("DPCHECK_RESULTS", Path(__file__).parent / "results"), "time_to_verdict.jsonl"
)
SECONDS = (0.0001, 0.001, 0.01, 0.1, 1.0)
LIMIT = 60.0
PAIR = [(np.array([0.2, 0.4, 1.0]), np.array([0.2, 0.4, 0.0]))]


def hashed(rng: np.random.Generator) -> float:
    """Laplace noise of scale 1 whose draws cannot be followed."""
    digest = hashlib.sha256(rng.bytes(16)).digest()
    uniform = (int.from_bytes(digest[:6], "big") + 0.5) / 2**48
    sign = 1.0 if digest[6] < 128 else -1.0
    return -sign * math.log(uniform)


FUNCTIONS: dict[str, Callable[[Any, np.random.Generator], float]] = {
    "no noise": lambda data, rng: data.sum(),  # noqa: ARG005 - that is its fault
    "noise for epsilon 5": lambda data, rng: data.sum() + rng.laplace(scale=0.2),
    "noise for epsilon 5, hashed": lambda data, rng: data.sum() + 0.2 * hashed(rng),
    "right noise, hashed": lambda data, rng: data.sum() + hashed(rng),
}


def measure(name: str, seconds: float, label: str) -> dict[str, object]:
    """One audit."""
    calls = 0

    def function(data, rng):
        nonlocal calls
        calls += 1
        time.sleep(seconds)
        return FUNCTIONS[name](data, rng)

    extra: dict[str, Any] = {}
    if "time_limit" in inspect.signature(dpcheck.assert_private).parameters:
        extra["time_limit"] = LIMIT
    began = time.perf_counter()
    try:
        entry = dpcheck.assert_private(
            function, epsilon=1.0, neighbours=PAIR, adjacency="replace-one", seed=1, **extra
        )
        verdict = str(entry.verdict)
    except AssertionError:
        verdict = "violated"
    except dpcheck.Undecided:
        verdict = "undecided"
    return {
        "label": label,
        "function": name,
        "seconds_a_call": seconds,
        "verdict": verdict,
        "calls": calls,
        "seconds": round(time.perf_counter() - began, 2),
        "cores": os.cpu_count(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def records() -> list[dict[str, Any]]:
    """What was measured so far."""
    return [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []


def summary() -> None:
    """Every record."""
    for row in records():
        print(
            f"{row['label']:7} {row['function']:28} {1000 * row['seconds_a_call']:7g} ms a call: "
            f"{row['verdict']:10} {row['calls']:8,} calls {row['seconds']:8.1f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--label", default="after")
    parser.add_argument("--slowest", type=float, default=1.0, help="seconds a call, at most")
    parser.add_argument("--function", action="append", choices=list(FUNCTIONS))
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    done = {(row["label"], row["function"], row["seconds_a_call"]) for row in records()}
    for seconds in SECONDS if not options.summary else ():
        for name in options.function or FUNCTIONS:
            if (options.label, name, seconds) not in done and seconds <= options.slowest:
                row = measure(name, seconds, options.label)
                FILE.parent.mkdir(parents=True, exist_ok=True)
                with FILE.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row, sort_keys=True) + "\n")
    summary()


if __name__ == "__main__":
    main()
