"""How much noise objective perturbation needs: the papers' choice, and the tight one.

A family of blocks trained on the same rows shares one noise parameter eps'; block k has rows
clipped to q_k and regularisation lam_k, and may get extra regularisation Delta_k. Block k then
costs F*(eps', q_k, n (lam_k + Delta_k)) and the family the sum (`objective.objective_epsilon`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpcheck.accounting.objective import event_epsilon
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import CannotCalibrate, InvalidParameter
from dpcheck.core.events.training import ObjectivePerturbation
from dpcheck.core.validate import count, positive


@dataclass(frozen=True, slots=True)
class ObjectiveFamily:
    """Blocks on the same rows: how many rows, and each block's regularisation and norm bound."""

    rows: int
    regularizations: tuple[float, ...]
    norm_bounds: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", count("rows", self.rows))
        for name in ("regularizations", "norm_bounds"):
            values = tuple(positive(name, value) for value in getattr(self, name))
            object.__setattr__(self, name, values)
        if not self.regularizations or len(self.regularizations) != len(self.norm_bounds):
            raise InvalidParameter(
                "regularizations and norm_bounds must list the same blocks, at least one."
            )

    def events(
        self, noise_epsilon: float, extra: Sequence[float]
    ) -> tuple[ObjectivePerturbation, ...]:
        """The blocks as events under one noise parameter."""
        blocks = zip(self.regularizations, extra, self.norm_bounds, strict=True)
        return tuple(
            ObjectivePerturbation(noise_epsilon, self.rows, lam, delta, q)
            for lam, delta, q in blocks
        )


def family_epsilon(events: Sequence[ObjectivePerturbation]) -> float:
    """What blocks on the same rows cost together under replace-one.

    Guarantee: never below the exact sum of the blocks' F*; every addition is rounded up.

    >>> round(family_epsilon([ObjectivePerturbation(0.950615, 100, 0.1)]), 6)
    0.950615
    """
    total = 0.0
    for event in events:
        upper = event_epsilon(event, Adjacency.REPLACE_ONE)[1]
        total = math.nextafter(total + upper, math.inf)
    return total


def paper_noise(epsilon: float, family: ObjectiveFamily) -> tuple[ObjectivePerturbation, ...]:
    """The papers' (eps', Delta_k): eps' = eps - sum_k 2 log(1 + q_k^2/(4 n lam_k)) or, if that is
    not above 0, eps' = eps/2 and n (lam_k + Delta_k) = q_k^2/(4 (exp(q_k eps/4) - 1)).

    Guarantee: `family_epsilon` of the result is at most epsilon.
    Reference: [Chaudhuri2011] Algorithm 2; [Yao2019] Algorithm 3 steps 3-10, Lemma 8.
    Assumes: norm bounds that add up to at most 1 (one block: at most 1).

    >>> round(paper_noise(1.0, ObjectiveFamily(100, (0.1,), (1.0,)))[0].noise_epsilon, 6)
    0.950615
    """
    epsilon = _check(epsilon, family)
    blocks = tuple(zip(family.regularizations, family.norm_bounds, strict=True))
    rows = family.rows
    noise = epsilon - sum(2 * math.log1p(q * q / (4 * rows * lam)) for lam, q in blocks)
    if noise > 0:
        return _safe(epsilon, family, noise, [0.0] * len(blocks))
    # A negative Delta_k is safe: only lam_k + Delta_k enters the proof.
    extra = [q * q / (4 * rows * math.expm1(q * epsilon / 4)) - lam for lam, q in blocks]
    return _safe(epsilon, family, epsilon / 2, extra)


def tight_noise(epsilon: float, family: ObjectiveFamily) -> tuple[ObjectivePerturbation, ...]:
    """The largest eps' the budget allows; Delta_k is raised only if that is below eps/2.

    Guarantee: `family_epsilon` of the result is at most epsilon, and eps' is never below the one
    `paper_noise` chooses (up to a relative 1e-12).
    Reference: the exact F* of `objective_epsilon`; sum_k F* increases with eps' and falls with
    Delta_k, so both are found by bisection.

    Why it is never noisier: the papers' eps' of branch 1 satisfies sum_k F* <= eps with Delta = 0,
    and this is the largest such eps' unless it is below eps/2, when eps/2 is used; branch 2 uses
    eps/2.

    >>> tight_noise(1.0, ObjectiveFamily(100, (0.1,), (1.0,)))[0].noise_epsilon > 1 - 1e-12
    True
    """
    epsilon = _check(epsilon, family)
    none = [0.0] * len(family.regularizations)
    half = epsilon / 2
    if family_epsilon(family.events(half, none)) <= epsilon:
        return _largest_noise(epsilon, family, none)
    extra = [
        _least_extra(epsilon, family.rows, lam, q)
        for lam, q in zip(family.regularizations, family.norm_bounds, strict=True)
    ]
    # Blocks that needed no Delta_k leave budget over: spend it on less noise for all.
    return _largest_noise(epsilon, family, extra)


def _check(epsilon: float, family: ObjectiveFamily) -> float:
    if math.fsum(family.norm_bounds) > 1 + 1e-9:
        raise InvalidParameter(
            "the norm bounds of blocks on the same rows must add up to at most 1; divide them by "
            f"their sum, {math.fsum(family.norm_bounds):g}.",
            name="norm_bounds",
        )
    return positive("epsilon", epsilon)


def _largest_noise(
    epsilon: float, family: ObjectiveFamily, extra: list[float]
) -> tuple[ObjectivePerturbation, ...]:
    """The largest eps' within the budget at these Delta_k; eps/2 is known to fit."""

    def fits(noise: float) -> bool:
        return family_epsilon(family.events(noise, extra)) <= epsilon

    # F* >= eps' q, so nothing above epsilon / sum(q) can fit.
    ceiling = epsilon / math.fsum(family.norm_bounds)
    for start in (ceiling, ceiling * (1 - 1e-14)):
        if fits(start):
            return family.events(start, extra)
    return family.events(_last_true(fits, epsilon / 2 * (1 - 1e-13), ceiling), extra)


def _least_extra(epsilon: float, rows: int, lam: float, q: float) -> float:
    """The least Delta >= 0 with F*(eps/2, q, n (lam + Delta)) <= q eps."""

    def fits(delta: float) -> bool:
        event = ObjectivePerturbation(epsilon / 2 * (1 - 1e-13), rows, lam, delta, q)
        return family_epsilon([event]) <= q * epsilon * (1 - 1e-14)

    if fits(0.0):
        return 0.0
    # The papers' own Delta suffices, with room: their determinant bound is looser than F*.
    ceiling = max(q * q / (4 * rows * math.expm1(q * epsilon / 4)) - lam, lam)
    while not fits(ceiling):
        ceiling *= 2
        if not math.isfinite(ceiling):
            raise CannotCalibrate(
                "no extra regularisation meets this budget; use a larger epsilon."
            )
    return -_last_true(lambda negated: fits(-negated), -ceiling, 0.0)


def _last_true(fits: Callable[[float], bool], low: float, high: float) -> float:
    """The right end of the true part of [low, high], to 1 in 1e13; fits(low), not fits(high)."""
    if not fits(low):
        raise CannotCalibrate("floating point cannot meet so small a budget. Raise epsilon.")
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high or high - low <= 1e-13 * max(abs(low), abs(high)):
            break
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _safe(
    epsilon: float, family: ObjectiveFamily, noise: float, extra: list[float]
) -> tuple[ObjectivePerturbation, ...]:
    """Lower eps' by rounding errors until the certified bound is within the claim."""
    noise /= max(1.0, math.fsum(family.norm_bounds))
    for step in (0.0, *(1e-15 * 4**power for power in range(8))):
        events = family.events(noise * (1 - step), extra)
        if family_epsilon(events) <= epsilon:
            return events
    raise CannotCalibrate(
        f"the papers' choice does not meet epsilon {epsilon:g} here; use the tight calibration."
    )
