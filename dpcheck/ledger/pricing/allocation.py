"""How delta is divided when the first release is made, and by what it may depend on.

Nothing has been seen by then, so the shares may follow the first event. They are written into the
journal and never change: a share that could grow when outputs look harmless would cost twice.

    delta = failing + odometer + loop + filter

`failing` pays for what can fail outright (plans' deltas, ApproxDP, truncated batches), `odometer` for
reading it, `loop` for paths that only ever repeat the first event, `filter` for all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from dpcheck.accounting.accountants.optimal import OPTIMAL_COMPOSITION_LIMIT
from dpcheck.core.events.event import Event
from dpcheck.ledger.pricing.certificate import Certificate
from dpcheck.ledger.pricing.costs import ZERO, Cost, View, float_below
from dpcheck.ledger.pricing.filters import Aim, Filter, PureFilter
from dpcheck.ledger.pricing.loop import (
    MOST_REPEATS,
    certified_epsilon,
    most_within,
    pure_uses,
    renyi_epsilon,
)

ODOMETER = Decimal("0.02")
LEAST_FILTER = Decimal("0.01")
RESERVE = Decimal("0.01")
RESERVE_IF_IT_CAN_FAIL = Decimal("0.1")
LOOP_SHARES = tuple(Decimal(share) / 100 for share in (0, 20, 35, *range(45, 96, 2), 96))
GOAL = (
    0.952  # of the repetitions that all of delta would certify; the rest of delta is the filter's
)


@dataclass(frozen=True, slots=True)
class Allocation:
    """The shares of delta of one account, the events its loop repeats, and up to how often.

    `planned` is the epsilon of all plans when it was made; a later plan ends the loop.
    """

    path: str
    event: Event
    repeats: int
    certificate: Certificate
    planned: Decimal
    failing: Decimal
    odometer: Decimal
    loop: Decimal
    filter: Decimal


def allocate(
    path: str,
    event: Event,
    cost: Cost,
    view: View,
    *,
    epsilon: Decimal,
    delta: Decimal,
    planned: tuple[Decimal, Decimal],
    filter_: Filter,
    reserve: Decimal | None,
    announced: bool = False,
) -> Allocation:
    """Divide what plans left of (epsilon, delta) for a first release of `event`."""
    rest = delta - planned[1]
    if reserve is None:
        can_fail = bool(cost.failure or cost.slip)
        alone = filter_.order is not None or filter_.size == 1
        reserve = RESERVE_IF_IT_CAN_FAIL if can_fail or alone else RESERVE
    if isinstance(filter_, PureFilter) or rest <= 0:
        none = Certificate(2.0)
        return Allocation(path, event, 0, none, planned[0], delta, ZERO, ZERO, ZERO)
    failing, reading = planned[1] + rest * reserve, rest * ODOMETER
    room = delta - failing - reading
    left = float_below(epsilon - planned[0])
    repeats, loop = 0, ZERO
    if filter_.certifies_loops and left > 0 and room > 0:
        spare = 1 - ODOMETER - reserve - LEAST_FILTER
        repeats, part = divide_loop(event, view, left, float_below(rest), spare)
        loop = rest * part
    share = float_below(room - loop)
    fixed = filter_.certify(cost.divergences, Aim(left, share, announced))
    return Allocation(path, event, repeats, fixed, planned[0], failing, reading, loop, room - loop)


def _pure_repeats(event: Event, view: View, epsilon: float) -> int | None:
    """How many repetitions the sum of pure epsilons allows, where these are all that is known and few."""
    pure = pure_uses(event, view)
    if pure is None or not pure[0] > 0:
        return None
    number = epsilon / pure[0]
    # Compositions allow at most about the square of what sums do.
    return math.ceil(number / pure[1]) if number**2 < OPTIMAL_COMPOSITION_LIMIT else None


@lru_cache(maxsize=1024)
def divide_loop(
    event: Event, view: View, epsilon: float, delta: float, spare: Decimal
) -> tuple[int, Decimal]:
    """How many repetitions of `event` the loop certifies, and the least share of delta that does.

    Almost (`GOAL`) as many as all of `delta` would certify, if `spare` of it is enough for that.
    """
    shares = [share for share in LOOP_SHARES if share <= spare] or [spare]

    def enough_by_renyi(share: Decimal) -> bool:
        part = float_below(share * Decimal(delta))
        return renyi_epsilon(event, view, MOST_REPEATS, part) <= epsilon

    start = _pure_repeats(event, view, epsilon)
    if start is None:
        # Divergences are cheap: they may prove more than anybody asks for, and say where to look.
        if len(shares) > 1 and enough_by_renyi(shares[1]):
            return MOST_REPEATS, shares[1]
        by_renyi = most_within(lambda n: renyi_epsilon(event, view, n, delta), epsilon, 64, 0.01)
        start = by_renyi[0] + by_renyi[0] // 8
    low, high = most_within(
        lambda n: certified_epsilon(event, view, n, delta), epsilon, start, 0.003
    )
    goal = min(low, math.ceil(GOAL * high))

    def spent(number: int, share: Decimal) -> float:
        return certified_epsilon(event, view, number, float_below(share * Decimal(delta)))

    if goal and spent(goal, shares[-1]) > epsilon:
        goal = most_within(lambda n: spent(n, shares[-1]), epsilon, goal)[0]
    if goal == 0:
        return 0, ZERO
    first, last = 0, len(shares) - 1  # the least share that suffices, by bisection
    while first < last:
        middle = (first + last) // 2
        if spent(goal, shares[middle]) <= epsilon:
            last = middle
        else:
            first = middle + 1
    share = shares[first]
    return max(goal, most_within(lambda n: spent(n, share), epsilon, goal, 0.001)[0]), share
