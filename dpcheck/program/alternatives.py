"""One of two sides of a branch is taken, as a released value decides: what covers both.

Lemma. Let a branch be decided by what was released before. If W dominates the composition of the first
side's releases and that of the second side's, then for every past the branch is dominated by W, and by
adaptive composition all of the program by what came before, W, and what comes after. So both sides may be
replaced by one event. Releases that both sides make stay as they are; of the others
- what one side makes and the other does not dominates nothing at all;
- pure mechanisms: a side is (sum of its epsilons)-DP, so W is pure DP with the larger sum;
- Gaussian noise: a side is mu-GDP with mu^2 the sum of its mu^2, so W is Gaussian noise with the larger mu;
- else both are counted: a release that was not made could have been made and thrown away.

Reference: [Dwork2014] Theorem 3.16 for pure DP, [Dong2022] Corollary 3.3 for mu-GDP.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

from dpcheck.accounting.api import epsilon
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import DpcheckError
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import PureDP
from dpcheck.core.events.noise import Gaussian
from dpcheck.program.releases import snapped

Events = Counter[Event]
_UP = 1 + 1e-12  # more than the rounding of a few operations


def larger(first: Events, second: Events, adjacency: Adjacency) -> Events:
    """Events that cover either side."""
    common = first & second
    one, other = first - common, second - common
    if not one or not other:
        return first | second
    found = _pure(one, other, adjacency) or _gaussian(one, other)
    return first + other if found is None else common + found


def _pure(one: Events, other: Events, adjacency: Adjacency) -> Events | None:
    cost = max(_epsilon(side, adjacency) for side in (one, other))
    return Counter({PureDP(snapped(cost), adjacency): 1}) if math.isfinite(cost) else None


def _epsilon(side: Events, adjacency: Adjacency) -> float:
    """The sum of the pure epsilons, infinite if there is none."""
    total = Fraction(0)
    for event, times in side.items():
        try:
            cost = epsilon(event, delta=0.0, adjacency=adjacency).upper
        except DpcheckError:
            return math.inf
        if not math.isfinite(cost):
            return math.inf
        total += Fraction(cost) * times
    return float(total)


def _gaussian(one: Events, other: Events) -> Events | None:
    """In units of one step; all of them Gaussian."""
    squares = []
    for side in (one, other):
        if not all(isinstance(event, Gaussian) for event in side):
            return None
        squares.append(
            sum(
                times / event.noise_multiplier**2
                for event, times in side.items()
                if isinstance(event, Gaussian)
            )
        )
    return Counter({Gaussian(1 / math.sqrt(max(squares) * _UP)): 1})
