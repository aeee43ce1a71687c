"""Releases -> the event of one step."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import NotPrivate
from dpcheck.core.events.noise import Gaussian
from dpcheck.core.events.training import SampledGaussian
from dpcheck.training.facts import Term
from dpcheck.training.groups import Release, joint_shift

_LEAST, _MOST = 1e-150, 1e150  # noise multipliers that events know


def moves(term: Term, adjacency: Adjacency) -> int:
    """How many norm bounds a term moves: a null record that adds something is a record like any other."""
    if adjacency is Adjacency.ZERO_OUT:
        return 1 if term.zero else 2
    return adjacency.moves


def noise_multiplier(releases: Sequence[Release], adjacency: Adjacency) -> float:
    """The multiplier of the one Gaussian release that costs what all of these cost together.

    Guarantee: no smaller noise multiplier is needed; see `groups.joint_shift`.
    """
    shift = joint_shift(releases, lambda term: moves(term, adjacency))
    return math.inf if shift == 0 else decimal(adjacency.moves / shift)


def event_of(
    releases: Sequence[Release], adjacency: Adjacency, sampling_rate: float | None
) -> Event:
    """What the releases of one step spend together.

    Reference: a mixture of dominating pairs dominates the sampled mechanism [Zhu2022], so that sampling may
    be put on the one Gaussian release that all of them are worth.
    """
    multiplier = noise_multiplier(releases, adjacency)
    if multiplier < _LEAST:
        return NotPrivate("the noise is smaller than floats can tell from none")
    multiplier = min(multiplier, _MOST)
    if sampling_rate is None:
        return Gaussian(multiplier)
    if adjacency is not Adjacency.ADD_REMOVE:
        remedy = 'use adjacency="add-remove", or leave out sampling_rate'
        raise NotProvable(
            f"not provable: Poisson sampling is proved under add-remove only; {remedy}.",
            kind="sampling",
            remedy=remedy,
        )
    return SampledGaussian(multiplier, sampling_rate)


def decimal(value: float) -> float:
    """The number of 6 digits that `value` is, if float32 rounding is all that keeps them apart.

    Assumes: public constants stand for the real numbers they were rounded from.

    >>> decimal(1.100000023841858), decimal(1.10001)
    (1.1, 1.10001)
    """
    near = float(f"{value:.6g}")
    return near if abs(near - value) <= 4e-7 * abs(value) else value
