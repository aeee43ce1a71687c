"""The workloads of accounting_pld.py: every kind of mechanism that a peer also accounts."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """One composition: a kind of mechanism, its noise (or flip probability), rate, steps and delta.

    `more` is what the kind needs beside that: see `peers.events`.
    """

    kind: str
    noise: float
    rate: float
    steps: int
    delta: float
    more: tuple[float, ...] = ()

    def __str__(self) -> str:
        more = f", {' '.join(f'{value:g}' for value in self.more)}" if self.more else ""
        return (
            f"{self.kind}, noise {self.noise:g}, rate {self.rate:.6g}, steps {self.steps}, "
            f"delta {self.delta:g}{more}"
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
    # Shifts, then their chances.
    Work("mixture of Gaussians", 1.0, 1.0, 1000, 1e-5, (1.0, 2.0, 0.01, 0.002)),
    Work("mixture of Gaussians", 2.0, 1.0, 200, 1e-6, (0.5, 1.0, 1.5, 0.05, 0.1, 0.02)),
    # Sensitivity, where it is not 1.
    Work("discrete Laplace, sampled or far", 2.0, 0.01, 1000, 1e-5),
    Work("discrete Laplace, sampled or far", 10.0, 0.1, 500, 1e-6, (4,)),
    Work("discrete Laplace, sampled or far", 20.0, 1.0, 100, 1e-6, (5,)),
    Work("discrete Gaussian, sampled or far", 2.0, 0.01, 1000, 1e-5),
    Work("discrete Gaussian, sampled or far", 20.0, 0.1, 500, 1e-6, (4,)),
    Work("discrete Gaussian, sampled or far", 30.0, 1.0, 100, 1e-6, (5,)),
    # Number of answers.
    Work("randomized response of several", 0.5, 1.0, 50, 1e-5, (10,)),
    Work("randomized response of several", 0.9, 1.0, 500, 1e-6, (100,)),
    Work("randomized response, special", 0.5, 1.0, 30, 1e-5, (2,)),
    Work("randomized response, special", 0.8, 1.0, 200, 1e-6, (10,)),
    # The delta of each.
    Work("approximate", 0.1, 1.0, 100, 1e-5, (1e-8,)),
    Work("approximate", 0.01, 1.0, 10_000, 1e-6, (1e-11,)),
    # Masses with the record, then without.
    Work("two tables", 0.0, 1.0, 20, 1e-6, (0.6, 0.3, 0.1, 0.3, 0.4, 0.3)),
    Work("two tables", 0.0, 1.0, 500, 1e-5, (0.31, 0.29, 0.22, 0.18, 0.3, 0.3, 0.2, 0.2)),
    # Rows and largest batch.
    Work("truncated replaced", 2.0, 0.01, 1000, 1e-6, (10_000, 150)),
    Work("truncated replaced", 4.0, 0.02, 500, 1e-5, (5_000, 150)),
    # The parameter of the other.
    Work("Gaussian and Laplace", 10.0, 1.0, 50, 1e-6, (20.0,)),
    Work("sampled Gaussian and Laplace", 1.0, 0.01, 1000, 1e-5, (2.0,)),
    Work("sampled Gaussian and discrete Laplace", 1.0, 0.01, 500, 1e-6, (200.0,)),
    Work("Gaussian and randomized response", 10.0, 1.0, 20, 1e-6, (0.8,)),
    # The noise of each on the same sample.
    Work("Gaussians on one sample", 0.0, 0.01, 1000, 1e-5, (2.0, 4.0)),
    Work("Gaussians on one sample", 0.0, 0.1, 100, 1e-6, (6.0,) * 5),
    # Rows and batch.
    Work("batch without replacement", 4.0, 1.0, 1000, 1e-5, (10_000, 100)),
    Work("batch without replacement", 2.0, 1.0, 500, 1e-6, (60_000, 256)),
    Work("batch without replacement", 10.0, 1.0, 200, 1e-6, (1_000, 100)),
    # Steps of each tree.
    Work("trees", 5.0, 1.0, 1, 1e-6, (1000,)),
    Work("trees", 10.0, 1.0, 4, 1e-5, (500, 2000, 100)),
    # The constant beside rho.
    Work("zCDP", 0.1, 1.0, 1, 1e-6, (0.0,)),
    Work("zCDP", 0.001, 1.0, 200, 1e-5, (0.0,)),
    Work("zCDP", 0.02, 1.0, 5, 1e-6, (0.01,)),
    Work("Laplace replaced", 20.0, 1.0, 100, 1e-6),
    Work("Laplace replaced", 4.0, 1.0, 5, 1e-5),
    Work("Gaussian zeroed", 1.0, 0.01, 1000, 1e-5),
    # Mean number of runs and shape: 0 logarithmic, 1 geometric, infinite Poisson.
    Work("best of Gaussian runs", 1.0, 0.01, 1000, 1e-5, (10, 1.0)),
    Work("best of Gaussian runs", 1.0, 0.01, 1000, 1e-5, (10, 0.0)),
    Work("best of Gaussian runs", 1.0, 0.01, 1000, 1e-5, (10, math.inf)),
    Work("best of Gaussian runs", 20.0, 1.0, 100, 1e-6, (30, 0.5)),
    Work("best of Gaussian runs", 4.0, 1.0, 1, 1e-6, (30, math.inf)),
    Work("best of Laplace runs", 5.0, 1.0, 1, 1e-6, (20, 1.0)),
    Work("best of Laplace runs", 10.0, 1.0, 1, 1e-6, (100, math.inf)),
    Work("best of zCDP runs", 0.05, 1.0, 1, 1e-6, (10, 0.0)),
    Work("Laplace replaced, its distribution", 20.0, 1.0, 100, 1e-6),
    Work("Laplace replaced, its distribution", 4.0, 1.0, 5, 1e-5),
]
# Datasets of the truncated rows: rows and largest batch by rate.
TRUNCATED = {0.01: (10_000, 150), 0.02: (5_000, 150)}
GROUPS = [(0.01, 1.0 + 0.01 * k) for k in range(100)]  # 100 distinct groups of 100 steps
# 100 different mechanisms of a kind, each used once: noise (or flip probability, or epsilon) and rate.
_HUNDRED = [1 + k / 100 for k in range(100)]
DIFFERENT = {
    "Laplace, noise 100 to 200": [Work("laplace", 100 * a, 1.0, 1, 1e-6) for a in _HUNDRED],
    "Laplace, noise 5 to 10": [Work("laplace", 5 * a, 1.0, 1, 1e-6) for a in _HUNDRED],
    "pure, epsilon .01 to .02": [Work("pure", 0.01 * a, 1.0, 1, 1e-6) for a in _HUNDRED],
    "pure, epsilon .2 to .4": [Work("pure", 0.2 * a, 1.0, 1, 1e-6) for a in _HUNDRED],
    "randomized response": [Work("randomized response", 0.4 * a, 1.0, 1, 1e-6) for a in _HUNDRED],
    "discrete Gaussian": [Work("discrete gaussian", 20 * a, 1.0, 1, 1e-6) for a in _HUNDRED],
    "discrete Laplace": [Work("discrete laplace", 20 * a, 1.0, 1, 1e-6) for a in _HUNDRED],
    "sampled Laplace": [Work("laplace", a, 0.01, 1, 1e-6) for a in _HUNDRED],
    "sampled Gaussian": [Work("gaussian", a, 0.01, 1, 1e-6) for a in _HUNDRED],
}
CURVE = Work("gaussian", 1.0, 0.01, 1000, 1e-5)  # 100 epsilons from 0 to 5
