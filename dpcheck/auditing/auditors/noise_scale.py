"""Does code conform to its formula: does the noise behind real outputs have the scale the event says?

A pivot turns an output into a number that is Gamma(shape, 1) when the noise is right:
|x - f|/b of Laplace noise is Gamma(1), z^2/2 of Gaussian noise Gamma(1/2), (eps'/2)|b| of objective
perturbation in d dimensions Gamma(d). The sum over n runs is then Gamma(n shape) exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv

from dpcheck.auditing.auditors.interface import Finding
from dpcheck.auditing.mechanism import Mechanism
from dpcheck.auditing.plan import PartPlan, Pivot
from dpcheck.core.errors import BadOutput
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays


@dataclass(frozen=True, slots=True)
class Conformance:
    """The outcome of a noise-scale test."""

    passed: bool
    p_value: float
    runs: int
    power: float  # to catch noise 20% too small
    ratio: float  # mean of the pivot over what it should be

    def describe(self) -> str:
        """In words."""
        outcome = "as it should be" if self.passed else "which is NOT what the description says"
        return (
            f"its noise, measured over {self.runs} runs, is {self.ratio:.3f} times the stated scale, "
            f"{outcome} (p = {self.p_value:.2g}); noise 20% too small would have been noticed with "
            f"probability {self.power:.4f}"
        )


def judge(total: float, runs: int, shape: float, level: float) -> Conformance:
    """Two-sided exact test of a sum of pivots, and its power against noise 20% too small.

    >>> judge(total=1000.0, runs=1000, shape=1.0, level=1e-3).passed
    True
    """
    order = runs * shape
    p_value = float(2 * min(gammainc(order, total), gammaincc(order, total)))
    low = float(gammaincinv(order, level / 2))
    high = float(gammainccinv(order, level / 2))
    power = float(gammainc(order, low / 0.8) + gammaincc(order, high / 0.8))
    return Conformance(p_value >= level, min(1.0, p_value), runs, power, total / (runs * shape))


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
) -> Conformance:
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


_ENOUGH_POWER = 0.99


@dataclass(frozen=True, slots=True)
class NoiseScaleTest:
    """Ties the code to its event; it spends nothing, since it cannot raise an alarm."""

    fraction: float = 0.0

    def applies(self, plan: PartPlan, before: Sequence[Finding]) -> bool:  # noqa: ARG002 - interface
        """Where outputs have a pivot."""
        return plan.pivot is not None and plan.mechanism is not None and bool(plan.pairs)

    def run(self, plan: PartPlan, alpha: float, runner: Runner) -> Finding:  # noqa: ARG002 - interface
        """Whether the noise has its scale."""
        assert plan.pivot is not None
        assert plan.mechanism is not None
        found = noise_scale_test(plan.mechanism, plan.pivot, plan.pairs[0].first, runner)
        note = "decides between holds and consistent; it cannot raise an alarm"
        return Finding(
            Spent(Method.NOISE_SCALE, 0.0, (f"{found.runs} runs",), note),
            conforms=found.passed and found.power >= _ENOUGH_POWER,
            contradicts_formula=not found.passed,
            conformance=found.describe(),
        )
