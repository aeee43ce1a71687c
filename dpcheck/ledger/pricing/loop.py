"""The first track: repetitions of the event that came first, certified as one fixed schedule.

While every release is the first event, or is dominated by it, whatever the analyst does with the
outputs is post-processing of n planned repetitions, and stopping early is free. So the tightest
accountant may be asked about n repetitions of one event, privacy-loss distributions included.

The same holds for a bundle of releases that was announced, `10 * step + evaluation`: as long as no more
than 10 n steps and n evaluations were made, in whatever order, they are post-processing of n bundles.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest

from dpcheck.accounting.accountants.optimal import OPTIMAL_COMPOSITION_LIMIT, optimal_composition
from dpcheck.accounting.api import epsilon_upper
from dpcheck.accounting.compose import Profile, profiles
from dpcheck.accounting.losses import ResponseLoss
from dpcheck.accounting.pairs.pair import composed_largest_loss
from dpcheck.core.errors import CannotCertify
from dpcheck.core.events.event import Event, Grouped, Parallel, Repeated, Sequential
from dpcheck.ledger.pricing.costs import INFINITE, UP, ZERO, Repeats, View

MOST_REPEATS = 10**9
_MOST_ROWS = 8  # of one person; beyond, every number of rows would have to be certified
_GROWTH = 1.4  # between the numbers of repetitions at which the odometer is certified


def kinds(event: Event) -> dict[Event, int]:
    """The releases a schedule consists of, and how often each is made."""
    found: Counter[Event] = Counter()
    stack = [(event, 1)]
    while stack:
        node, times = stack.pop()
        if isinstance(node, Sequential):
            stack += [(inner, times) for inner in node.events]
        elif isinstance(node, Repeated):
            stack.append((node.event, times * node.times))
        elif times:
            found[node] += times
    return dict(found)


def unit_of(event: Event) -> Event:
    """What a loop that begins with `event` repeats: `step` where the event is `step * 100`."""
    found = kinds(event)
    return next(iter(found)) if len(found) == 1 else event


members = lru_cache(maxsize=1024)(kinds)


def repeats_of(event: Event, loop: Event, view: View) -> Repeats:
    """How many of each release in `loop` dominate `event`; infinite where none is known to.

    Guarantee: any adaptive mixture of events whose numbers add up to n_k of the k-th release is
    dominated by n_k repetitions of each. For events each dominated by one of them domination
    composes [Zhu2022, Theorem 10]. For Gaussians it is the Gaussian filter: fully adaptive releases
    with sum mu_i^2 <= n mu^2 are sqrt(n) mu-GDP [Smith2022], [Koskela2023], being what a Brownian
    motion shows at times up to n mu^2, which is post-processing of its end.
    """
    known = list(members(loop))
    total = [ZERO] * len(known)
    for kind, times in kinds(event).items():
        number, each = next(
            ((i, each) for i, each in _dominating(kind, loop, view) if each.is_finite()),
            (None, INFINITE),
        )
        if number is None:
            return (INFINITE,) * len(known)
        total[number] = UP.add(total[number], UP.multiply(each, Decimal(times)))
    return tuple(total)


def _dominating(kind: Event, loop: Event, view: View) -> Iterator[tuple[int, Decimal]]:
    """(which release of the loop, how many of it), itself first."""
    known = list(members(loop))
    if kind in known:
        yield known.index(kind), Decimal(1)
    for number, other in enumerate(known):
        yield number, _repeats_of_kind(kind, other, view)


def bundles(repeats: Repeats, loop: Event) -> Decimal:
    """How many repetitions of `loop` hold so many of its releases; infinite where none do."""
    found = ZERO
    for number, times in zip_longest(repeats, members(loop).values(), fillvalue=None):
        if number:
            found = INFINITE if times is None else max(found, UP.divide(number, Decimal(times)))
    return found


@lru_cache(maxsize=4096)
def _repeats_of_kind(kind: Event, first: Event, view: View) -> Decimal:
    if kind == first:
        return Decimal(1)
    counts = range(1, view.rows + 1)
    pairs = [
        (profiles(first, view.adjacency, k), profiles(kind, view.adjacency, k)) for k in counts
    ]
    squares = [(_mu_squared(a), _mu_squared(b)) for a, b in pairs]
    if all(a and b for a, b in squares):
        ratio = max(b / a for a, b in squares if a and b)
        return UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    either = Parallel((first, kind))
    if all(
        profiles(either, view.adjacency, k) == profiles(first, view.adjacency, k) for k in counts
    ):
        return Decimal(1)
    return INFINITE


def _mu_squared(found: tuple[Profile, ...]) -> Fraction | None:
    """mu^2 if the event is one Gaussian with a positive mu."""
    if len(found) != 1 or len(found[0]) != 1:
        return None
    (bounds, times), *_ = found[0]
    mu = bounds.upper.normal_shift
    return Fraction(mu) ** 2 * times if mu and not bounds.failure else None


@lru_cache(maxsize=4096)
def certified_epsilon(event: Event, view: View, times: int, delta: float) -> float:
    """What `times` repetitions spend at `delta`, by the best accountant; infinite where none can.

    Guarantee: never below the true epsilon, for a person with up to `view.rows` rows.
    """
    pure = pure_uses(event, view)
    if pure is not None and 0 < pure[1] * times <= OPTIMAL_COMPOSITION_LIMIT:
        # Nothing is known but epsilon: the sum, which is exact, or the optimum at delta.
        uses = pure[1] * times
        summed = composed_largest_loss(((ResponseLoss(pure[0]), uses),))[1]
        return min(summed, optimal_composition(pure[0], uses, delta)[1])
    return _epsilon(event, view, times, delta, "best")


@lru_cache(maxsize=1024)
def pure_uses(event: Event, view: View) -> tuple[float, int] | None:
    """(epsilon, times) of what is known as so many pure guarantees alone; None for all else."""
    found = profiles(event, view.adjacency, view.rows) if view.rows <= _MOST_ROWS else ()
    if len(found) != 1 or len(found[0]) != 1:
        return None
    ((bounds, times),) = found[0]
    loss = bounds.upper
    epsilon = loss.two_losses()
    if epsilon is None or bounds.failure or loss.largest() != (epsilon, epsilon):
        return None
    return epsilon, times


def renyi_epsilon(event: Event, view: View, times: int, delta: float) -> float:
    """The same by Renyi divergences alone: larger, and quick."""
    return _epsilon(event, view, times, delta, "rdp") if delta > 0 else math.inf


def _epsilon(event: Event, view: View, times: int, delta: float, method: str) -> float:
    if view.rows > _MOST_ROWS:
        return math.inf
    if times == 0:
        return 0.0
    if view.rows > 1 and _can_slip(event, view):
        return math.inf  # each step of the chain to the other dataset would slip on its own
    whole = event if times == 1 else Repeated(event, times)
    groups = [whole if rows == 1 else Grouped(whole, rows) for rows in range(1, view.rows + 1)]
    try:
        return max(
            epsilon_upper(group, delta=delta, adjacency=view.adjacency, method=method)
            for group in groups
        )
    except CannotCertify:
        return math.inf


def _can_slip(event: Event, view: View) -> bool:
    found = (profiles(event, view.adjacency, rows) for rows in range(1, view.rows + 1))
    return any(bounds.failure for options in found for p in options for bounds, _ in p)


def most_within(
    cost: Callable[[int], float], epsilon: float, start: int, precision: float = 0.0
) -> tuple[int, int]:
    """(low, high) around the largest number with cost(low) <= epsilon < cost(high).

    They differ by 1, or by `precision` of low if that is more. Costs grow about like a power of the
    number, which says where to look next: a little beyond, and four times as far whenever the same
    end has moved again, so that the interval shrinks from both. Costs that jump are bisected.
    """
    low, high = 0, MOST_REPEATS + 1
    known: dict[int, float] = {}
    number, beyond, raised = min(max(1, start), MOST_REPEATS), 1.0, True
    while high - low > max(1.0, precision * low):
        known[number] = cost(number)
        within = known[number] <= epsilon
        low, high = (number, high) if within else (low, number)
        least = max(1.0, precision * low / 3)
        beyond, raised = (4 * beyond if within is raised else least), within
        if len(known) > 6 and len(known) % 2:
            number = (low + high) // 2 if high < 4 * low else math.isqrt(max(1, low) * high)
        else:
            guess = _guess(known, number, epsilon)
            number = int(guess + (beyond if within else -beyond))
        number = min(max(number, low + 1), high - 1)
    return low, high


def _guess(known: dict[int, float], number: int, epsilon: float) -> float:
    """Where the power law through `number` and the nearest other known cost reaches epsilon."""
    spent = known[number]
    if spent <= 0:
        return 64.0 * number
    if math.isinf(spent):
        return number / 64
    points = [(n, c) for n, c in known.items() if n != number and 0 < c < math.inf and c != spent]
    power = 0.6
    if points:
        other, cost = min(points, key=lambda point: abs(math.log(point[1] / epsilon)))
        power = math.log(cost / spent) / math.log(other / number)
    return number * (epsilon / spent) ** (1 / max(power, 0.05)) if epsilon > 0 else 0.0


def checkpoints(repeats: int) -> list[tuple[int, float]]:
    """Numbers of repetitions up to `repeats` and the share of delta each is read at; shares add to 1.

    An odometer has to hold at all times at once: each time is rounded up to a checkpoint, and the
    checkpoints divide delta [union over disjoint sets of paths, by the checkpoint they stop at].
    """
    numbers, number = [], float(repeats)
    while number >= 1:
        numbers.append(math.ceil(number))
        number = min(number / _GROWTH, math.ceil(number) - 1)
    share = math.nextafter(1 / len(numbers), 0.0) if numbers else 0.0
    return [(number, share) for number in numbers]


@lru_cache(maxsize=256)
def _checkpoints(repeats: int) -> list[tuple[int, float]]:
    return checkpoints(repeats)


def loop_odometer(event: Event, view: View, done: Decimal, repeats: int, delta: float) -> float:
    """The odometer of a loop after `done` of at most `repeats` repetitions.

    Guarantee: whoever stops at any time on reading e has P(S) <= E_Q[e^e; S] + delta.
    """
    if done == 0:
        return 0.0
    reached = [(n, share) for n, share in _checkpoints(repeats) if n >= done]
    if not reached:
        return math.inf
    number, share = reached[-1]
    return certified_epsilon(event, view, number, math.nextafter(share * delta, 0.0))
