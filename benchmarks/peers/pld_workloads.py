"""The workloads of accounting_pld.py: every kind of mechanism that a peer also accounts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """One composition: a kind of mechanism, its noise (or flip probability), rate, steps and delta."""

    kind: str
    noise: float
    rate: float
    steps: int
    delta: float

    def __str__(self) -> str:
        return (
            f"{self.kind}, noise {self.noise:g}, rate {self.rate:.6g}, steps {self.steps}, "
            f"delta {self.delta:g}"
        )


def _gaussian(*rows: tuple[float, float, int, float]) -> list[Work]:
    return [Work("gaussian", noise, rate, steps, delta) for rate, noise, steps, delta in rows]


WORKLOADS = [
    *_gaussian(
        (256 / 60000, 1.1, 14_063, 1e-5),
        (0.01, 1.0, 1000, 1e-5),
        (0.01, 0.8, 10_000, 1e-5),
        (32 / 795, 6.0, 8770, 1e-5),
        (0.001, 0.6, 100_000, 1e-5),
        (1.0, 50.0, 1000, 1e-5),
        (0.01, 1.0, 1000, 1e-10),
        (0.01, 1.0, 1000, 1e-15),
        (0.01, 1.0, 1000, 1e-30),
        (0.001, 1.0, 10_000_000, 1e-5),
        (0.01, 0.1, 100, 1e-5),
        (1e-6, 0.5, 1_000_000, 1e-10),
        (0.01, 1000.0, 1_000_000, 1e-10),
        (1e-8, 1.0, 1_000_000, 1e-12),
        (0.1, 2.0, 100, 1e-6),
        (0.5, 4.0, 500, 1e-6),
        (0.02, 1.5, 2000, 1e-6),
        (0.001, 0.8, 30_000, 1e-8),
        (0.2, 10.0, 10_000, 1e-5),
        (0.05, 0.7, 50, 1e-5),
    ),
    Work("laplace", 10.0, 1.0, 100, 1e-5),
    Work("laplace", 1.0, 1.0, 10, 1e-6),
    Work("laplace", 50.0, 1.0, 10_000, 1e-6),
    Work("laplace", 2.0, 1.0, 1, 1e-3),
    Work("laplace", 1.0, 0.01, 1000, 1e-5),
    Work("laplace", 5.0, 0.1, 1000, 1e-6),
    Work("laplace", 0.5, 0.001, 10_000, 1e-6),
    Work("discrete laplace", 10.0, 1.0, 100, 1e-5),
    Work("discrete laplace", 2.0, 1.0, 20, 1e-6),
    Work("discrete laplace", 50.0, 1.0, 5000, 1e-6),
    Work("discrete gaussian", 10.0, 1.0, 100, 1e-5),
    Work("discrete gaussian", 2.0, 1.0, 20, 1e-6),
    Work("discrete gaussian", 50.0, 1.0, 5000, 1e-6),
    Work("discrete gaussian", 1.0, 1.0, 1, 1e-5),
    Work("randomized response", 0.5, 1.0, 50, 1e-5),
    Work("randomized response", 0.9, 1.0, 2000, 1e-6),
    Work("randomized response", 0.1, 1.0, 3, 1e-6),
    Work("pure", 0.1, 1.0, 100, 1e-6),
    Work("pure", 0.01, 1.0, 10_000, 1e-6),
    Work("gaussian replaced", 2.0, 1.0, 50, 1e-5),
    Work("gaussian replaced", 4.0, 0.05, 1000, 1e-5),
    Work("gaussian replaced", 1.0, 0.01, 1000, 1e-6),
    Work("truncated", 1.0, 0.01, 1000, 1e-6),
    Work("truncated", 2.0, 0.02, 500, 1e-5),
]
# Data sets of the truncated rows: rows and largest batch by rate.
TRUNCATED = {0.01: (10_000, 150), 0.02: (5_000, 150)}
GROUPS = [(0.01, 1.0 + 0.01 * k) for k in range(100)]  # 100 distinct groups of 100 steps
CURVE = Work("gaussian", 1.0, 0.01, 1000, 1e-5)  # 100 epsilons from 0 to 5
