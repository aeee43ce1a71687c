"""Tying code to formula: does the noise behind real outputs have the scale the event says?

A pivot turns an output into a number that is Gamma(shape, 1) when the noise is right:
|x - f|/b of Laplace noise is Gamma(1), z^2/2 of Gaussian noise Gamma(1/2), (eps'/2)|b| of objective
perturbation in d dimensions Gamma(d). The sum over n runs is then Gamma(n shape) exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv

from dpcheck.auditing.mechanism import Mechanism
from dpcheck.core.errors import BadOutput
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pivot:
    """`values(data, outputs)` are Gamma(shape, 1) if code and event agree."""

    values: Callable[[Any, Array], Array]
    shape: float
    what: str = "noise"


@dataclass(frozen=True, slots=True)
class Tie:
    """The outcome of a noise-scale test."""

    passed: bool
    p_value: float
    runs: int
    power: float  # to catch noise 20% too small
    ratio: float  # mean of the pivot over what it should be

    def describe(self) -> str:
        """In words."""
        outcome = "passed" if self.passed else "FAILED"
        return (
            f"noise-scale test {outcome}: {self.runs} runs, noise {self.ratio:.3f} times the "
            f"stated scale (p = {self.p_value:.2g}); a 20% error is caught with power "
            f"{self.power:.4f}"
        )


def judge(total: float, runs: int, shape: float, level: float) -> Tie:
    """Two-sided exact test of a sum of pivots, and its power against noise 20% too small.

    >>> judge(total=1000.0, runs=1000, shape=1.0, level=1e-3).passed
    True
    """
    order = runs * shape
    p_value = float(2 * min(gammainc(order, total), gammaincc(order, total)))
    low = float(gammaincinv(order, level / 2))
    high = float(gammainccinv(order, level / 2))
    power = float(gammainc(order, low / 0.8) + gammaincc(order, high / 0.8))
    return Tie(p_value >= level, min(1.0, p_value), runs, power, total / (runs * shape))


def pivot_batch(
    mechanism: Mechanism, pivot: Pivot, data: object, size: int, seed: np.random.SeedSequence
) -> Arrays:
    """The sum of pivots of one batch."""
    outputs = mechanism.sample(data, size, generator(seed))
    values = np.asarray(pivot.values(data, outputs), dtype=float)
    if not np.isfinite(values).all():
        raise BadOutput(f"the {pivot.what} recovered from outputs is not finite.")
    return {"total": np.array([values.sum(), len(values)])}


def noise_scale_test(
    mechanism: Mechanism, pivot: Pivot, data: object, runner: Runner, *, level: float = 1e-3
) -> Tie:
    """Run the mechanism and judge its noise.

    Guarantee: correct code fails with probability `level`, exactly. Failing removes the proof; it
    is not by itself a violation (more noise than stated fails too).
    """
    # The sum is Gamma(runs shape), of relative spread 1/sqrt(runs shape): 3000 puts a 20% error 11
    # standard deviations away.
    runs = max(50, math.ceil(3000 / pivot.shape))
    size = min(runs, 250)
    total, done = 0.0, 0
    for batch in runner.batches(
        "noise-scale", range(-(-runs // size)), pivot_batch, mechanism, pivot, data, size
    ):
        total += float(batch["total"][0])
        done += int(batch["total"][1])
    return judge(total, done, pivot.shape, level)
