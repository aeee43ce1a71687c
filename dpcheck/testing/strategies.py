"""Hypothesis strategies: datasets, neighbouring pairs, events, training runs.

    from hypothesis import given
    from dpcheck.testing import strategies as dp

    @given(dp.neighbouring_pairs("replace-one", columns=3, norm_bound=1.0))
    def test_sensitivity(pair):
        assert abs(total(pair.first) - total(pair.second)) <= 2.0

Everything shrinks: fewer rows, zeros, round numbers, smaller trees.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpcheck.auditing.mechanism import Pair
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.data import Data
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import GDP, ZCDP, ApproxDP, PureDP
from dpcheck.core.events.noise import (
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    RandomizedResponse,
)
from dpcheck.core.events.training import SampledGaussian
from dpcheck.core.extras import need
from dpcheck.core.validate import count, positive
from dpcheck.testing.described import described_datasets, described_pairs, described_rows

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = [
    "datasets",
    "deltas",
    "described_datasets",
    "described_pairs",
    "described_rows",
    "events",
    "leaves",
    "neighbouring_pairs",
    "noise_multipliers",
    "sampling_rates",
    "training_runs",
]

Record: TypeAlias = tuple[tuple[float, ...], float | None]  # a row and its label
st = need("hypothesis.strategies", "testing")

_LARGEST = 0.999999  # rows stay strictly inside the norm bound, whatever the norm's rounding


def noise_multipliers(least: float = 0.4) -> SearchStrategy[float]:
    """Noise from little to much."""
    found: SearchStrategy[float] = st.floats(least, 20.0)
    return found


def sampling_rates() -> SearchStrategy[float]:
    """Sampling rates up to one half."""
    found: SearchStrategy[float] = st.floats(1e-4, 0.5)
    return found


def deltas() -> SearchStrategy[float]:
    """Deltas people use, and the small ones where accountants go wrong; the largest is simplest."""
    found: SearchStrategy[float] = st.sampled_from([1e-2, 1e-5, 1e-8, 1e-10, 1e-12])
    return found


def leaves(
    adjacency: Adjacency | str = "add-remove", *, least_noise: float = 0.4
) -> SearchStrategy[Event]:
    """Single releases that have a meaning under `adjacency`."""
    noise, small = noise_multipliers(least_noise), st.floats(0.0, 1.0)
    kinds = [
        st.builds(Gaussian, noise),
        st.builds(Laplace, noise),
        st.builds(SampledGaussian, noise, sampling_rates()),
        st.builds(PureDP, small),
        st.builds(ApproxDP, small, st.floats(0.0, 1e-4)),
        st.builds(ZCDP, st.floats(0.0, 0.5)),
        st.builds(GDP, small),
        st.builds(DiscreteLaplace, noise),
        st.builds(ExponentialMechanism, small),
    ]
    if as_adjacency(adjacency) is Adjacency.REPLACE_ONE:
        kinds.append(st.builds(RandomizedResponse, st.floats(0.05, 0.95), st.integers(2, 5)))
    found: SearchStrategy[Event] = st.one_of(*kinds)
    return found


def events(
    leaf: SearchStrategy[Event] | None = None,
    *,
    adjacency: Adjacency | str = "add-remove",
    max_leaves: int = 5,
    max_times: int = 6,
) -> SearchStrategy[Event]:
    """Nested trees: sequences, repetitions, parallel parts."""

    def extend(inner: SearchStrategy[Event]) -> SearchStrategy[Event]:
        larger: SearchStrategy[Event] = st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, b: a | b, inner, inner),
            st.builds(lambda a, n: a * n, inner, st.integers(0, max_times)),
        )
        return larger

    found: SearchStrategy[Event] = st.recursive(
        leaves(adjacency) if leaf is None else leaf, extend, max_leaves=max_leaves
    )
    return found


def training_runs(max_steps: int = 10_000, max_mu: float = 1.0) -> SearchStrategy[Event]:
    """Many alike steps, sampled or not, whose privacy loss stays of a usual size.

    `max_mu` bounds rate * sqrt(steps) / noise, about the mu of the whole run. Noise is at least 2 with
    one decimal and rates are round, so that what is found can be typed.
    """
    most, bound = count("max_steps", max_steps), positive("max_mu", max_mu)

    @st.composite  # type: ignore[untyped-decorator]  # untyped here
    def draw_run(draw: DrawFn) -> Event:
        rate = draw(st.sampled_from([1.0, 0.5, 0.1, 0.01]))
        steps = draw(st.integers(1, most))
        least = max(20, math.ceil(10 * rate * steps**0.5 / bound))
        noise = draw(st.integers(least, 4 * least)) / 10
        event: Event = SampledGaussian(noise, rate) * steps
        return event

    found: SearchStrategy[Event] = draw_run()
    return found


def datasets(
    *,
    rows: int | tuple[int, int] = (1, 8),
    columns: int = 2,
    norm_bound: float = 1.0,
    labels: bool = False,
) -> SearchStrategy[Data]:
    """Tables of `rows` vectors of norm at most `norm_bound`; with labels (rows, labels in {-1, 1})."""
    few, many = (rows, rows) if isinstance(rows, int) else rows
    size = st.integers(count("rows", few, at_least=0), count("rows", many, at_least=0))
    width = count("columns", columns)

    def table(n: int) -> SearchStrategy[Data]:
        records = st.lists(_records(width, norm_bound, labels), min_size=n, max_size=n)
        tables: SearchStrategy[Data] = records.map(lambda drawn: _assemble(drawn, width, labels))
        return tables

    found: SearchStrategy[Data] = size.flatmap(table)
    return found


def neighbouring_pairs(
    adjacency: Adjacency | str,
    *,
    rows: int | tuple[int, int] = (1, 8),
    columns: int = 2,
    norm_bound: float = 1.0,
    labels: bool = False,
) -> SearchStrategy[Pair]:
    """Pairs of datasets that differ in one record, as `adjacency` says; never equal.

    replace-one: another record in its place. add-remove: one record fewer on one side, either one.
    zero-out: a record of zeros in its place; its label stays.
    """
    relation = as_adjacency(adjacency)
    few, many = (rows, rows) if isinstance(rows, int) else rows
    if few < 1:
        raise InvalidParameter("rows must be at least 1: one record differs.", name="rows")
    width = count("columns", columns)
    record = _records(width, norm_bound, labels)

    @st.composite  # type: ignore[untyped-decorator]  # untyped here
    def draw_pair(draw: DrawFn) -> Pair:
        n = draw(st.integers(few, many))
        first = draw(st.lists(record, min_size=n, max_size=n))
        where = draw(st.integers(0, n - 1))
        second = list(first)
        if relation is Adjacency.ADD_REMOVE:
            del second[where]
        else:
            row, label = first[where]
            zero = ((0.0,) * width, label)
            second[where] = zero if relation is Adjacency.ZERO_OUT else draw(record)
            if second[where] == first[where]:  # make it differ rather than throw the draw away
                first[where] = ((norm_bound * _LARGEST,) + (0.0,) * (width - 1), label)
                if second[where] == first[where]:
                    second[where] = (tuple(-v for v in row), label)
        sides = [_assemble(first, width, labels), _assemble(second, width, labels)]
        if draw(st.booleans()):
            sides.reverse()
        return Pair(sides[0], sides[1], f"{relation}, record {where}")

    found: SearchStrategy[Pair] = draw_pair()
    return found


def _records(width: int, norm_bound: float, labels: bool) -> SearchStrategy[Record]:
    """(row, label); a row of norm at most the bound, biased to its edge and to zero."""
    bound = positive("norm_bound", norm_bound)
    direction = st.lists(st.floats(-1, 1, width=16), min_size=width, max_size=width)
    length = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0, width=16))

    def scale(drawn: tuple[list[float], float]) -> tuple[float, ...]:
        row = np.asarray(drawn[0], dtype=float)
        norm = float(np.linalg.norm(row))
        if norm == 0:
            return (0.0,) * width
        scaled: list[float] = (row / norm * (drawn[1] * bound * _LARGEST)).tolist()
        return tuple(value + 0.0 for value in scaled)  # no negative zeros

    label = st.sampled_from([1.0, -1.0]) if labels else st.none()
    records: SearchStrategy[Record] = st.tuples(st.tuples(direction, length).map(scale), label)
    return records


def _assemble(records: list[Record], width: int, labels: bool) -> Data:
    table = np.asarray([row for row, _ in records], dtype=float).reshape(len(records), width)
    if not labels:
        return table
    return table, np.asarray([label for _, label in records], dtype=float)
