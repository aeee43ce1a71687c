"""The auditor that knows the density: exact losses at sampled outputs.

L(o) = log p(o|D)/p(o|D'). For pure DP one output with L above epsilon is a proof. For delta > 0,
delta(eps) = E_P[(1 - e^(eps-L))+] is the mean of numbers in [0, 1], bounded from below by betting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpcheck.auditing.auditors.interface import Finding, refuted
from dpcheck.auditing.error_budget import DIRECTIONS
from dpcheck.auditing.learning.coordinate_ascent import ascend
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plain import plain_pair
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.audit_result import Observed
from dpcheck.core.errors import BadOutput
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

Array = NDArray[np.float64]
# Sums of a few hundred float64 terms; what a float evaluation of a log density may be off by,
# relative to the size of the two log densities. A density that claims less carries its own bound.
_FLOAT_ERROR = 1e-12


def exact_losses(mechanism: Mechanism, first: object, second: object, outputs: Array) -> Array:
    """log p(o|first) - log p(o|second), lowered by the rounding error of the two densities."""
    density = mechanism.log_density
    assert density is not None
    a, b = np.asarray(density(first, outputs)), np.asarray(density(second, outputs))
    _check_densities(a, b, outputs)
    if np.isneginf(a).any():
        raise BadOutput("log_density says that an output that was seen is impossible.")
    return _difference(a, b)


def _check_densities(a: Array, b: Array, outputs: Array) -> None:
    if a.shape != (len(outputs),) or b.shape != (len(outputs),):
        raise BadOutput(
            f"log_density returned shape {a.shape} for {len(outputs)} outputs; it must return one "
            "number per output."
        )
    if np.isnan(a).any() or np.isnan(b).any():
        raise BadOutput("log_density is NaN.")


def _difference(a: Array, b: Array) -> Array:
    with np.errstate(invalid="ignore"):
        lost = a - b - _FLOAT_ERROR * (np.abs(a) + np.abs(b) + 1)
    result: Array = np.where(np.isneginf(a), -math.inf, np.where(np.isneginf(b), math.inf, lost))
    return result


@dataclass(frozen=True, slots=True)
class LossSample:
    """Exact losses of sampled outputs, both directions, and the output with the largest."""

    losses: tuple[Array, Array]
    best: float
    output: Array
    swapped: bool


def loss_batch(
    mechanism: Mechanism, first: object, second: object, size: int, seed: np.random.SeedSequence
) -> Arrays:
    """Losses of one batch in both directions."""
    result: Arrays = {}
    for name, (p, q), one in zip(
        ("remove", "add"), ((first, second), (second, first)), seed.spawn(2), strict=True
    ):
        outputs = mechanism.sample(p, size, generator(one))
        losses = exact_losses(mechanism, p, q, outputs)
        result[name] = losses
        result[f"{name}-output"] = outputs[int(np.argmax(losses))]
    return result


def sample_losses(mechanism: Mechanism, pair: Pair, runs: int, runner: Runner) -> LossSample:
    """`runs` exact losses a direction."""
    size = min(runs, mechanism.batch, 1 << 14)
    kept: tuple[list[Array], list[Array]] = ([], [])
    tops = [(-math.inf, np.zeros(0)), (-math.inf, np.zeros(0))]
    for batch in runner.batches(
        f"losses-{pair.label}",
        range(-(-runs // size)),
        loss_batch,
        mechanism,
        pair.first,
        pair.second,
        size,
    ):
        for index, name in enumerate(("remove", "add")):
            kept[index].append(batch[name])
            top = float(batch[name].max())
            if top > tops[index][0]:
                tops[index] = (top, batch[f"{name}-output"])
    if getattr(mechanism.log_density, "anywhere", False):
        tops = [
            _ascended(mechanism, pair, bool(index), output, runner)
            if math.isfinite(loss)
            else (loss, output)
            for index, (loss, output) in enumerate(tops)
        ]
    swapped = tops[1][0] > tops[0][0]
    best, output = tops[swapped]
    return LossSample((np.concatenate(kept[0]), np.concatenate(kept[1])), best, output, swapped)


_SEEN = 512


def _ascended(
    mechanism: Mechanism, pair: Pair, swapped: bool, output: Array, runner: Runner
) -> tuple[float, Array]:
    """The best output made of pieces of sampled ones, where a density promises to be right there."""
    density = mechanism.log_density
    assert density is not None
    first, second = (pair.second, pair.first) if swapped else (pair.first, pair.second)
    rng = generator(runner.seeds(f"climb-{pair.label}", int(swapped)))
    seen = np.vstack([mechanism.sample(side, _SEEN, rng) for side in (first, second)])

    def loss(outputs: Array) -> Array:
        a, b = np.asarray(density(first, outputs)), np.asarray(density(second, outputs))
        _check_densities(a, b, outputs)
        return _difference(a, b)

    return ascend(loss, seen, output)


STAKES = 0.95 * 2.0 ** (-0.5 * np.arange(24))


def log_e_delta(gains: Array, delta: float) -> float:
    """Log e-value against E[gain] <= delta for gains in [0, 1]: averaged bets at fixed stakes.

    Reference: [WaudbySmithRamdas2024].
    """
    stakes = STAKES / delta if delta > 0 else STAKES * 1e6
    logs = [float(np.log1p(stake * (gains - delta)).sum()) for stake in stakes]
    return float(logsumexp(logs) - math.log(len(logs)))


def gains(losses: Array, epsilon: float) -> Array:
    """(1 - e^(eps - L))+, whose mean under P is delta(eps)."""
    result: Array = np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - losses)))
    return result


def delta_lower(losses: Array, epsilon: float, alpha: float) -> float:
    """A lower bound on delta(eps) from losses sampled under P.

    Guarantee: above the truth with probability at most alpha.
    """
    found = gains(losses, epsilon)
    needed = -math.log(alpha)
    low, high = 0.0, float(found.mean())
    if high <= 0 or log_e_delta(found, high * 1e-6) < needed:
        return 0.0
    low = high * 1e-6
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log_e_delta(found, middle) >= needed else (low, middle)
    return low


def epsilon_lower(losses: Sequence[Array], delta: float, alpha: float) -> float:
    """The smallest epsilon at which delta(eps) <= delta is not rejected, over both directions.

    The gains fall with epsilon at every output, so the evidence does too and bisection is exact.
    """
    needed = -math.log(alpha)

    def evidence(epsilon: float) -> float:
        logs = [log_e_delta(gains(each, epsilon), delta) for each in losses]
        return float(logsumexp(logs) - math.log(len(logs)))

    if evidence(0.0) < needed:
        return 0.0
    low, high = 0.0, max(1e-9, max(float(each[np.isfinite(each)].max()) for each in losses))
    if evidence(high) >= needed:
        return high  # only possible with infinite losses
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if evidence(middle) >= needed else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The auditor of known densities.

    For a pure claim one loss is a proof; for delta > 0 the share is split over the pairs.
    """

    fraction: float = 0.5

    def applies(self, plan: PartPlan, before: Sequence[Finding]) -> bool:
        """Where the density is known and nothing has refuted the claim yet."""
        return (
            plan.mechanism is not None
            and bool(plan.pairs)
            and plan.mechanism.log_density is not None
            and plan.tested.lines is None
            and not refuted(plan, before)
        )

    def run(self, plan: PartPlan, alpha: float, runner: Runner) -> Finding:
        """The best bound over the pairs."""
        assert plan.mechanism is not None
        runner.progress.stage(f"{runner.prefix}: exact losses of sampled outputs")
        spent = _spent(plan, alpha)
        best: Finding | None = None
        for pair in plan.pairs:
            sample = sample_losses(plan.mechanism, pair, plan.loss_runs, runner)
            observed = _observed(plan, sample, alpha, spent.test)
            if best is None or best.observed is None or observed.epsilon > best.observed.epsilon:
                above = observed.epsilon > plan.tested.epsilon
                best = Finding(spent, observed, _witness(pair, sample) if above else None)
        assert best is not None
        return best


def _spent(plan: PartPlan, alpha: float) -> Spent:
    pairs = tuple(pair.label for pair in plan.pairs)
    if plan.tested.delta == 0:
        return Spent(Method.EXACT_LOSS, 0.0, pairs, "a computed loss is a proof, not a test")
    note = "split over pairs; directions averaged"
    return Spent(Method.SAMPLED_LOSSES, alpha, (*pairs, *DIRECTIONS), note)


def _observed(plan: PartPlan, sample: LossSample, alpha: float, method: Method) -> Observed:
    delta, runs, reach = plan.tested.delta, plan.loss_runs, plan.tested.epsilon
    if delta == 0:
        return Observed(max(0.0, sample.best), delta, 1.0, method, runs, reach)
    lower = epsilon_lower(sample.losses, delta, alpha / len(plan.pairs))
    return Observed(lower, delta, 1 - alpha, method, runs, reach)


def _witness(pair: Pair, sample: LossSample) -> Witness:
    shown = plain_pair(pair.first, pair.second)
    return Witness(
        WitnessKind.EXACT_LOSS,
        {
            "pair": pair.label,
            "first": shown[sample.swapped],
            "second": shown[not sample.swapped],
            "output": sample.output.tolist(),
            "loss": sample.best if math.isfinite(sample.best) else "inf",
        },
    )
