"""What one event adds to a ledger: five numbers that are summed along a person's path.

Sums of written numbers are decimals rounded up, so a million additions never drift below the truth.
A number somebody wrote down (0.1) is read as the decimal it prints as: three times 0.1 is 0.3, not
a bit more. Divergences are arrays of floats, each sum rounded up to the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcheck.accounting.compose import Profile, profiles
from dpcheck.accounting.losses import Loss
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.event import Event
from dpcheck.core.events.noise import Laplace

Floats = npt.NDArray[np.float64]

UP = Context(prec=40, rounding=ROUND_CEILING)
INFINITE = Decimal("Infinity")
ZERO = Decimal(0)

# How a filter turns a loss into its own quantities (divergences at its orders, rho, mu^2).
Measure = Callable[[Loss], Floats]


Repeats = tuple[Decimal, ...]


class Cost(NamedTuple):
    """`pure` epsilon, two ways to fail, `repeats` of what the loop repeats, the filter's `divergences`.

    `failure` is probability that the guarantee does not hold at all, the delta of an
    (epsilon, delta) mechanism. `slip` is total variation between the mechanism and the one that was
    analysed, on either side; it costs (1 + e^epsilon) times itself in delta. `repeats` is how many
    of each release in the dataset's loop dominate the release, infinite where none do; what is
    missing at its end is zero.
    """

    pure: Decimal
    failure: Decimal
    slip: Decimal
    repeats: Repeats
    divergences: Floats


@cache
def nothing(size: int) -> Cost:
    """No release at all, for a filter of `size` quantities."""
    zeros = np.zeros(size)
    zeros.flags.writeable = False
    return Cost(ZERO, ZERO, ZERO, (), zeros)


def unrepeated(cost: Cost) -> Cost:
    """The same, outside any loop."""
    return cost._replace(repeats=(INFINITE,) * len(cost.repeats)) if any(cost.repeats) else cost


class View(NamedTuple):
    """How a neighbour differs: by the adjacency, in up to `rows` rows of one person."""

    adjacency: Adjacency
    rows: int


def literal(value: float) -> Decimal:
    """A number as it was written."""
    return Decimal(repr(value))


def rounded_up(value: float) -> Decimal:
    """A computed bound, exactly or a hair above."""
    return UP.create_decimal(value)


def as_float(value: Decimal) -> float:
    """The float that prints as `value`, or the next one above.

    >>> as_float(Decimal("0.1") * 3)
    0.3
    """
    near = float(value)
    return near if literal(near) >= value else math.nextafter(near, math.inf)


def float_below(value: Decimal) -> float:
    """The float that prints as `value`, or the next one below."""
    near = float(value)
    return near if literal(near) <= value else math.nextafter(near, -math.inf)


def above(values: Floats) -> Floats:
    """Sums and products of non-negative floats, at or above the exact ones."""
    return np.nextafter(values, math.inf, where=values > 0, out=values)


def _each(combine: Callable[[Decimal, Decimal], Decimal], a: Repeats, b: Repeats) -> Repeats:
    return tuple(combine(x, y) for x, y in zip_longest(a, b, fillvalue=ZERO))


def plus(a: Cost, b: Cost) -> Cost:
    """One after the other on the same person."""
    add = UP.add
    repeats = _each(add, a[3], b[3])
    return Cost(add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]), repeats, above(a[4] + b[4]))


def peak(a: Cost, b: Cost) -> Cost:
    """Either of the two, whichever is worse in each respect."""
    return Cost(
        max(a[0], b[0]),
        max(a[1], b[1]),
        max(a[2], b[2]),
        _each(max, a[3], b[3]),
        np.maximum(a[4], b[4]),
    )


def _excess(x: Decimal, y: Decimal) -> Decimal:
    return ZERO if x <= y else UP.subtract(x, y)


def minus(a: Cost, b: Cost) -> Cost:
    """How much `a` exceeds `b`, where it does; both may be infinite."""
    rises = a[4] > b[4]
    rest = np.subtract(a[4], b[4], where=rises, out=np.zeros_like(a[4]))
    return Cost(
        _excess(a[0], b[0]),
        _excess(a[1], b[1]),
        _excess(a[2], b[2]),
        _each(_excess, a[3], b[3]),
        above(rest),
    )


def scaled(cost: Cost, times: int | Decimal) -> Cost:
    """The same `times` times."""
    if times == 1:
        return cost
    if times == 0:
        return nothing(len(cost.divergences))
    count, multiply = Decimal(times), UP.multiply
    with np.errstate(over="ignore"):  # infinite is at or above the truth
        divergences = cost[4] * as_float(count)
    return Cost(
        multiply(cost[0], count),
        multiply(cost[1], count),
        multiply(cost[2], count),
        tuple(multiply(repeats, count) for repeats in cost[3]),
        above(divergences),
    )


def event_cost(event: Event, view: View, measure: Measure, size: int) -> Cost:
    """What `event` costs a person between neighbours of `view`; its `repeats` are left at zero.

    Guarantee: every part is at or above the truth for up to `view.rows` rows, and grows at least in
    proportion to the number of rows. Hence a person whose rows are scattered over parallel parts
    pays at most the maximum of the parts: sum_i f_i(k_i) <= sum_i (k_i / k) f_i(k) <= max_i f_i(k).
    """
    worst = nothing(size)
    for rows in range(1, view.rows + 1):
        share = UP.divide(Decimal(view.rows), Decimal(rows))
        for profile in profiles(event, view.adjacency, rows):
            worst = peak(worst, scaled(_profile_cost(profile, rows, measure, size), share))
    if (
        isinstance(event, Laplace) and event.noise_multiplier
    ):  # exact, where the loss had to be rounded up to a float
        moved = Decimal(view.adjacency.moves * view.rows)
        worst = worst._replace(pure=UP.divide(moved, literal(event.noise_multiplier)))
    return worst


def assumptions(event: Event, view: View) -> tuple[str, ...]:
    """What the proofs behind the event's cost need, each once."""
    found = (bounds.assumes for p in profiles(event, view.adjacency) for bounds, _ in p)
    return tuple(dict.fromkeys(text for assumes in found for text in assumes))


def _profile_cost(profile: Profile, rows: int, measure: Measure, size: int) -> Cost:
    total = nothing(size)
    for bounds, times in profile:
        loss, failure = bounds.upper.without_leak(), bounds.upper.leak
        slip = rounded_up(bounds.failure)
        if slip and rows > 1:
            slip = INFINITE  # each step of the chain to the other dataset would slip on its own
        pure = literal(loss.largest()[1])
        cost = Cost(pure, literal(failure), slip, (), measure(loss))
        total = plus(total, scaled(cost, times))
    return total
