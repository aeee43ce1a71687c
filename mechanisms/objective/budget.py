"""From a budget to the noise of a family of blocks, the paper's way, corrected, or tight."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from dpcheck.accounting.calibrate_objective import (
    ObjectiveFamily,
    family_epsilon,
    paper_noise,
    tight_noise,
)
from dpcheck.core.errors import CannotCalibrate, InvalidParameter
from dpcheck.core.events.training import ObjectivePerturbation, OutputPerturbation
from dpcheck.core.validate import positive, probability
from dpcheck.mechanisms.common.data import refuse_data_scaling
from dpcheck.mechanisms.common.regularizers import Floats

CORRECTED, PRINTED = "corrected", "printed"
TIGHT, PAPERS = "tight", "papers"
# With approximate_minima: the gradient the output noise covers, in units of the noise scale 2/eps'.
_COVERED = 1e-6

PerGroup: TypeAlias = float | Sequence[float] | Floats  # one number for all groups, or one each
Noised = tuple[ObjectivePerturbation, OutputPerturbation | None]


def read_choices(variant: object, calibration: object) -> None:
    """Check `variant` and `calibration` and that they go together."""
    for name, value, known in (
        ("variant", variant, (CORRECTED, PRINTED)),
        ("calibration", calibration, (PAPERS, TIGHT)),
    ):
        if value not in known:
            raise InvalidParameter(
                f"{name} must be {known[0]!r} or {known[1]!r}, got {value!r}.", name=name
            )
    if variant == PRINTED and calibration == TIGHT:
        raise InvalidParameter(
            "calibration='tight' is not in the papers; use it with variant='corrected'.",
            name="calibration",
        )


def read_bounds(norm_bound: PerGroup, blocks: int) -> tuple[float, ...]:
    """The public norm bound of each block's raw rows: one number for all, or one each."""
    refuse_data_scaling(norm_bound)
    if isinstance(norm_bound, int | float) or np.ndim(norm_bound) == 0:
        return (positive("norm_bound", norm_bound),) * blocks
    return _one_each("norm_bound", norm_bound, blocks)


def read_regularizations(name: str, value: PerGroup, blocks: int) -> tuple[float, ...]:
    """The regularisation of each block: one number for all, or one each."""
    if isinstance(value, int | float) or np.ndim(value) == 0:
        return (positive(name, value),) * blocks
    return _one_each(name, value, blocks)


def _one_each(name: str, values: Sequence[float] | Floats, blocks: int) -> tuple[float, ...]:
    if len(values) != blocks:
        raise InvalidParameter(
            f"{name} must be one number, or one for each of the {blocks} groups, got "
            f"{len(values)}.",
            name=name,
        )
    return tuple(positive(name, value) for value in values)


def noised(
    epsilon: float, family: ObjectiveFamily, calibration: str, approximate_minima: float = 0.0
) -> tuple[Noised, ...]:
    """The noise of each block under a correct calibration.

    With `approximate_minima` a that share of epsilon pays for output noise: if |gradient| <= gamma,
    strong convexity puts the solver's w within gamma/m of the minimiser, so given the minimiser w
    has sensitivity 2 gamma/m and output noise of rate a eps m/(2 gamma) costs a eps, after [Iyengar2019].
    """
    share = probability("approximate_minima", approximate_minima)
    epsilon = positive("epsilon", epsilon)
    events = _calibrated(epsilon * (1 - share), family, calibration)
    return _covered(epsilon * share, events)


def noised_apart(
    epsilon: float,
    families: Sequence[ObjectiveFamily],
    calibration: str,
    approximate_minima: float = 0.0,
) -> tuple[Noised, ...]:
    """The noise of several families on the same rows, each with an equal share of the budget.

    The share is lowered by rounding errors until the certified sum is within the budget.
    """
    share = probability("approximate_minima", approximate_minima)
    epsilon = positive("epsilon", epsilon)
    for step in (0.0, *(1e-15 * 4**power for power in range(8))):
        each = epsilon * (1 - share) / len(families) * (1 - step)
        events = [event for family in families for event in _calibrated(each, family, calibration)]
        if family_epsilon(events) <= epsilon * (1 - share):
            return _covered(epsilon * share, events)
    raise CannotCalibrate("this budget cannot be shared in floating point; raise epsilon.")


@lru_cache(maxsize=512)
def _calibrated(
    epsilon: float, family: ObjectiveFamily, calibration: str
) -> tuple[ObjectivePerturbation, ...]:
    return (tight_noise if calibration == TIGHT else paper_noise)(epsilon, family)


def _covered(epsilon: float, events: Sequence[ObjectivePerturbation]) -> tuple[Noised, ...]:
    if not epsilon:
        return tuple((event, None) for event in events)
    result: list[Noised] = []
    for event in events:
        modulus = event.rows * (event.regularization + event.extra_regularization)
        sensitivity = 2 * _COVERED * 2 / event.noise_epsilon / modulus
        # Given away: a few ulp, so that rate times sensitivity adds up to at most epsilon.
        rate = epsilon / len(events) / sensitivity * (1 - 1e-12)
        result.append((event, OutputPerturbation(rate, sensitivity)))
    return tuple(result)


def paper_branch(events: Sequence[ObjectivePerturbation]) -> int:
    """Which branch of the papers' `if eps' > 0` a family took."""
    return 1 if all(event.extra_regularization == 0 for event in events) else 2


def printed_guo(epsilon: float, family: ObjectiveFamily) -> tuple[Noised, ...]:
    """[Guo2018] Algorithm 3 as printed: line 6 sets eps^(k) = eps, not eps'."""
    events = paper_noise(epsilon, family)
    if paper_branch(events) == 1:
        events = family.events(epsilon, [0.0] * len(events))
    return tuple((event, None) for event in events)


def printed_yao(epsilon: float, family: ObjectiveFamily) -> tuple[Noised, ...]:
    """[Yao2019] Algorithm 3 as printed: step 12 has Delta without index, which nothing ever set.

    Step 9 sets Delta_k; read literally the Delta of step 12 is absent, that is 0.
    """
    events = paper_noise(epsilon, family)
    if paper_branch(events) == 2:
        events = family.events(epsilon / 2, [0.0] * len(events))
    return tuple((event, None) for event in events)
