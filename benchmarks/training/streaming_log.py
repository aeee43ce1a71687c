"""A log of many steps that all differ: epsilon from both sides, processor time and memory.

python benchmarks/training/streaming_log.py [STEPS]
"""

from __future__ import annotations

import resource
import sys
import time

import dpcheck


def schedule(steps: int) -> dpcheck.Sequential:
    """Noise that falls from 1.5 to 0.8, a batch of 0.3% each."""
    parts = (dpcheck.SampledGaussian(1.5 - 0.7 * i / steps, 0.003) for i in range(steps))
    return dpcheck.Sequential(tuple(parts))


def main() -> None:
    """Print one line."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    event, started = schedule(steps), time.process_time()
    bound = dpcheck.epsilon(event, delta=1e-6)
    taken = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{steps:,} different steps: epsilon in [{bound.lower:.4f}, {bound.upper:.4f}], "
        f"{100 * bound.gap / bound.upper:.2f}% apart, {taken:.1f} s of processor time, {memory:.0f} MiB"
    )


if __name__ == "__main__":
    main()
