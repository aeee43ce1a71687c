"""What an audit would have caught, measured: leaks of three kinds injected into recorded runs.

The smallest leak of each kind is looked for whose event, learned on one half of the recorded runs,
would be refuted with power 0.9 by as many test runs as were made, at the rates it has on the other
half. An audit that could not have seen these has no business to reassure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.learning.events import Aim, choose_events, learn_grids
from dpcheck.auditing.statistics.sequential import Counts, log_e

Array = NDArray[np.float64]
Sample = tuple[Array, Array]
_RUNS = 4096  # recorded runs a side that are used
_SCALES = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.35, 0.25, 0.1)
_FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0)
_LEARNABLE = 8  # leaked outputs among the learning runs from which a rare value is noticed


@dataclass(frozen=True, slots=True)
class Effort:
    """What the audit spent: test runs a side, learning runs a side, its share of the error rate."""

    runs: int
    learning_runs: int
    alpha: float


def measured(sample: Sample, claim: AuditedClaim, effort: Effort) -> str:
    """One sentence: the smallest leak of each kind that would have been caught on this pair."""
    first, second = (side[:_RUNS] for side in sample)
    centres = np.median(first, axis=0), np.median(second, axis=0)

    def scaled(scale: float) -> Sample:
        return tuple(m + scale * (s - m) for s, m in zip((first, second), centres, strict=True))  # type: ignore[return-value]

    def unclipped(factor: float) -> Sample:
        return first + (factor - 1) * (centres[0] - centres[1]), second

    scale = _weakest(_SCALES, scaled, claim, effort)
    factor = _weakest(_FACTORS, unclipped, claim, effort)
    bit = smallest_bit(claim, effort)
    return (
        "measured by injecting leaks into recorded runs of this pair, the audit would have caught "
        f"{_said(scale, 'noise scaled to {:g} of what it is', 'no scaling of the noise')}, "
        f"{_said(factor, 'a record that counts {:g} times', 'no record that counts more')}, and "
        f"{_said(bit, 'the side given away with probability {:.2g}', 'no side given away')}"
    )


def _said(value: float | None, pattern: str, none: str) -> str:
    return none if value is None else pattern.format(value)


def _weakest(
    strengths: Sequence[float],
    inject: Callable[[float], Sample],
    claim: AuditedClaim,
    effort: Effort,
) -> float | None:
    """The first strength that is caught, given that stronger ones are, too."""
    if not is_caught(inject(strengths[-1]), claim, effort):
        return None
    low, high = -1, len(strengths) - 1
    while high - low > 1:
        middle = (low + high) // 2
        caught = is_caught(inject(strengths[middle]), claim, effort)
        low, high = (low, middle) if caught else (middle, high)
    return strengths[high]


def is_caught(sample: Sample, claim: AuditedClaim, effort: Effort) -> bool:
    """Whether the best event of one half would be refuted at its rates on the other half."""
    first, second = sample
    half = len(first) // 2
    grids = learn_grids(first[:half], second[:half], claim, most=3, trees=False, aim=Aim.REFUTE)
    if not grids:
        return False
    layout = grids[0].layout
    rows = [layout.rounded(side[half:]) for side in (first, second)]
    tallies = [np.stack([grid.tally(side) for side in rows]) for grid in grids]
    events = choose_events(grids, tallies, len(rows[0]), claim, aim=Aim.REFUTE)
    return any(
        rejects(*_rates(event.seen, len(rows[0])), event.epsilon, event.delta, effort)
        for event in events
    )


def _rates(seen: tuple[float, float], runs: int) -> tuple[float, float]:
    """Rates a little on the unfavourable side: the event was chosen for its luck, too."""
    hits, other = seen
    return max(0.0, hits - math.sqrt(hits)) / runs, (other + math.sqrt(other) + 0.5) / runs


def rejects(p: float, q: float, epsilon: float, delta: float, effort: Effort) -> bool:
    """Whether the e-process passes at these rates, with counts at their unfavourable tenth."""
    runs = effort.runs
    if runs == 0:
        return False
    pull = float(ndtri(0.9)) / math.sqrt(runs)
    p = max(0.0, p - pull * math.sqrt(max(0.0, p * (1 - p))))
    q = min(1.0, q + pull * math.sqrt(max(0.0, q * (1 - q))))
    both = p * q
    counts = Counts(
        round(both * runs),
        round((p - both) * runs),
        round((q - both) * runs),
        round((1 - p - q + both) * runs),
    )
    return log_e(counts, epsilon, delta) >= -math.log(effort.alpha)


def smallest_bit(claim: AuditedClaim, effort: Effort) -> float | None:
    """The smallest probability of an output that occurs on one side only, seen and refuted.

    It has to occur some times among the learning runs, and often enough among the test runs.
    """
    epsilon, delta = claim.epsilon, claim.delta
    if claim.lines is not None:
        epsilon, delta = min(claim.lines, key=lambda line: line[1])
    least = _LEARNABLE / max(1, effort.learning_runs)
    for exponent in np.arange(-6.0, 0.0, 0.1):
        probability = float(10**exponent)
        if probability >= least and rejects(probability, 0.0, epsilon, delta, effort):
            return probability
    return None
