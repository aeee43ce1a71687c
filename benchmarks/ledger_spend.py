"""What a `spend` costs: python benchmarks/ledger_spend.py

A training loop that counts its steps in a dict is the yardstick; ratios are to it, in one run.
"""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from dpcheck import Budget, Ledger, PureDP, SampledGaussian

STEP = SampledGaussian(noise_multiplier=1.1, sampling_rate=1e-5)
OTHER = SampledGaussian(noise_multiplier=1.3, sampling_rate=1e-5)
BUDGET = Budget(8.0, 1e-6)


def in_memory(**options: int) -> tuple[Ledger, Callable[[], None]]:
    ledger = Ledger(BUDGET, "add-remove", **options)
    data = ledger.dataset("train", rows=10**6)
    return ledger, lambda: ledger.spend(data, STEP)


def in_file(folder: Path, block: int) -> Callable[[], None]:
    ledger = Ledger.open(folder / f"{block}.ledger", BUDGET, "add-remove", block=block)
    data = ledger.dataset("train", rows=10**6)
    return lambda: ledger.spend(data, STEP)


def counting() -> Callable[[], None]:
    counts: dict[object, int] = {}

    def step() -> None:
        counts[STEP] = counts.get(STEP, 0) + 1

    return step


def planned() -> Callable[[], None]:
    ledger = Ledger(BUDGET, "add-remove")
    plan = ledger.plan(ledger.dataset("train", rows=10**6), STEP * 1_000_000)
    return plan.step


def alternating() -> Callable[[], None]:
    ledger = Ledger(BUDGET, "add-remove")
    left, right = ledger.dataset("train", rows=10**6).split_columns(2)

    def step() -> None:
        ledger.spend(left, STEP)
        ledger.spend(right, OTHER)

    return step


def different() -> Callable[[], None]:
    """A new kind of event every time: nothing can be counted ahead."""
    ledger = Ledger(Budget(1e9), "add-remove")
    data = ledger.dataset("train", rows=10**6)
    epsilons = iter(range(1, 10**6))
    return lambda: ledger.spend(data, PureDP(next(epsilons) * 1e-9))


def microseconds(step: Callable[[], None], times: int) -> float:
    step()
    start = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - start) / times * 1e6


def main() -> None:
    base = microseconds(counting(), 1_000_000)
    print(f"{'per call':<52}{'microseconds':>14}{'x dict':>9}")
    print(f"{'counts[event] += 1 in a dict':<52}{base:>14.3f}{1:>9.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases: list[tuple[str, Callable[[], None], int]] = [
            ("spend, in memory", in_memory()[1], 1_000_000),
            ("spend, in memory, two kinds in two columns (both)", alternating(), 200_000),
            ("spend, in memory, never the same event", different(), 5_000),
            ("plan.step", planned(), 900_000),
            ("spend, in a file, block=1000", in_file(folder, 1000), 1_000_000),
            ("spend, in a file, block=1", in_file(folder, 1), 300),
        ]
        for label, step, times in cases:
            cost = microseconds(step, times)
            print(f"{label:<52}{cost:>14.3f}{cost / base:>9.1f}")
    ledger, step = in_memory()
    for _ in range(10_000):
        step()
    tracemalloc.start()
    for _ in range(300_000):
        step()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"memory grown by 300000 more spends of one kind: {grown} bytes")
    print(ledger.report())


if __name__ == "__main__":
    main()
