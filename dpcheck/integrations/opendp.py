"""Audit OpenDP measurements: what they return against what their privacy map says.

    import opendp.prelude as dp
    from dpcheck.integrations.opendp import audited_measurement

    noisy = space >> dp.t.then_sum() >> dp.m.then_laplace(scale=1.0)
    release = audited_measurement(
        noisy, d_in=1, adjacency="add-remove", neighbours=[([0.0, 1.0], [0.0])]
    )

`release` is a target of `dpcheck audit file.py:release`, of `dpcheck.assert_private` and of
`dpcheck.testing.parametrize_with_checks`. OpenDP draws from the operating system, so its runs cannot be
seeded: an audit's confidence holds, but two audits see different runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcheck.accounting.curves import from_curve
from dpcheck.auditing.mechanism import audited
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.data import Data, Output
from dpcheck.core.errors import InvalidParameter, UnknownName
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import ZCDP, ApproxDP, LossDistribution, PureDP
from dpcheck.integrations.foreign import Foreign


class Measurement:
    """An OpenDP measurement as a mechanism (data, rng) -> output; `claim` is its own map's."""

    def __init__(self, measurement: Foreign, claim: Budget | ZCDP, name: str) -> None:
        self.measurement, self.claim, self.__name__ = measurement, claim, name

    def __call__(self, data: Data, rng: np.random.Generator) -> Output:  # noqa: ARG002 - OpenDP has its own
        """One release."""
        found = self.measurement(data)
        if isinstance(found, list) and all(isinstance(v, int | float) for v in found):
            return np.asarray(found, dtype=float)
        return found


def claim_of(
    measurement: Foreign, d_in: Foreign, *, adjacency: Adjacency | str, delta: float = 1e-6
) -> Budget | ZCDP:
    """What the measurement's map promises at distance `d_in`, as a claim dpcheck can test.

    Zero-concentrated privacy becomes a claim on the whole curve; a privacy profile is read at `delta`.
    """
    measure, distance = str(measurement.output_measure), measurement.map(d_in)
    relation = as_adjacency(adjacency)
    if measure == "MaxDivergence":
        return Budget(float(distance))
    if measure == "Approximate(MaxDivergence)":
        return Budget(*(float(value) for value in distance))
    if measure == "ZeroConcentratedDivergence":
        return ZCDP(float(distance), relation)
    if measure == "SmoothedMaxDivergence":
        return Budget(float(distance.epsilon(delta)), delta)
    raise UnknownName(
        f"dpcheck cannot read a promise in {measure}; convert the measurement to max divergence, "
        "zero-concentrated or smoothed max divergence first."
    )


def event_of(
    measurement: Foreign,
    d_in: Foreign,
    *,
    adjacency: Adjacency | str,
    step: float = 1e-2,
    largest: float = 50.0,
) -> Event:
    """The measurement's own promise at distance `d_in` as an event, to compose and to account.

    A privacy profile is read at every `step` of epsilon up to `largest` and becomes a LossDistribution;
    beyond, its last delta counts as infinite loss.
    Assumes: the measurement's map is right.
    """
    measure, distance = str(measurement.output_measure), measurement.map(d_in)
    relation = as_adjacency(adjacency)
    if measure == "MaxDivergence":
        return PureDP(float(distance), relation)
    if measure == "Approximate(MaxDivergence)":
        epsilon, delta = (float(value) for value in distance)
        return ApproxDP(epsilon, delta, relation)
    if measure == "ZeroConcentratedDivergence":
        return ZCDP(float(distance), relation)
    if measure == "SmoothedMaxDivergence":
        grid = np.arange(math.ceil(largest / step) + 1) * step
        deltas = np.array([float(distance.delta(float(at))) for at in grid])
        first, masses, infinite = from_curve(step, 0, deltas)
        return LossDistribution(step, first, tuple(masses), infinite, adjacency=relation)
    raise UnknownName(
        f"dpcheck cannot read a promise in {measure}; convert the measurement to max divergence, "
        "zero-concentrated or smoothed max divergence first."
    )


def audited_measurement(
    measurement: Foreign,
    *,
    d_in: Foreign,
    adjacency: Adjacency | str,
    neighbours: Sequence[tuple[Data, Data]],
    delta: float = 1e-6,
    name: str = "measurement",
    rows_per_person: int = 1,
) -> Measurement:
    """The measurement as an audit target.

    `d_in` is the distance between neighbours in the measurement's own metric: 1 for add-remove
    under symmetric distance, 2 there for replace-one. Pairs differ in the rows of one person, at most
    `rows_per_person`.
    Assumes: the pairs given are that close.
    """
    if not callable(measurement) or not hasattr(measurement, "map"):
        raise InvalidParameter(
            f"expected an OpenDP measurement, got {type(measurement).__name__}; chain the "
            "transformation with a measurement first.",
            name="measurement",
        )
    claim = claim_of(measurement, d_in, adjacency=adjacency, delta=delta)
    wrap = audited(
        claim=claim,
        adjacency=str(as_adjacency(adjacency)),
        neighbours=neighbours,
        rows_per_person=rows_per_person,
    )
    return wrap(Measurement(measurement, claim, name))
