"""Accounts by the million: one number each, exact, in pieces that are read and written whole.

An account adds up one number, the pure epsilon or the divergence of one Renyi order that was fixed
when the population was declared, in units of 1e-12 rounded up; its limit is rounded down. The sums of
whole numbers are exact, so ten times 0.1 is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.ledger.pricing.certificate import ORDERS, best_order, limits
from dpcheck.ledger.pricing.costs import UP, View, event_cost, literal, rounded_up
from dpcheck.ledger.pricing.filters import choose_filter

PIECE = 4096  # accounts that are read and written together
_UNIT = Decimal("1e-12")
_MOST = 2**62  # twice as much is still a 64-bit number
_DOWN = Context(prec=40, rounding=ROUND_FLOOR)

Units = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PopulationSpec:
    """A population as it was declared; `order` is None where pure epsilons are added up."""

    name: str
    size: int
    budget: Budget
    private: bool
    order: float | None

    @property
    def pieces(self) -> int:
        """How many pieces there are."""
        return -(-self.size // PIECE)

    def piece_size(self, number: int) -> int:
        """How many accounts a piece has."""
        return min(PIECE, self.size - number * PIECE)


def default_order(budget: Budget) -> float | None:
    """None without a delta; else the order at which most Gaussian releases fit."""
    if budget.delta == 0:
        return None
    return float(ORDERS[best_order(ORDERS, budget.epsilon, budget.delta)])


@lru_cache(maxsize=1024)
def limit_of(spec: PopulationSpec) -> int:
    """What an account may add up to.

    Guarantee: sums within it prove the budget, by basic composition or at the one order
    [Feldman2021], however the releases were chosen.
    """
    most = literal(spec.budget.epsilon)
    if spec.order is not None:
        order, delta = np.array([spec.order]), np.array([spec.budget.delta])
        found = float(limits(order, spec.budget.epsilon, delta)[0])
        most = Decimal(max(0.0, found)) if np.isfinite(found) else Decimal(0)
    return int(min(Decimal(_MOST), _DOWN.divide(most, _UNIT).to_integral_value(ROUND_FLOOR)))


@lru_cache(maxsize=4096)
def price_of(spec: PopulationSpec, event: Event, adjacency: Adjacency, times: int) -> int:
    """What an account pays for `times` releases; more than any limit where that is infinite."""
    pure = spec.order is None
    filter_ = choose_filter(spec.budget, "pure" if pure else "rdp", spec.order)
    cost = event_cost(event, View(adjacency, 1), filter_.measure, filter_.size)
    if cost.failure or cost.slip:
        raise InvalidParameter(
            f"{event!r} can fail outright, and accounts of a population cannot add that up. "
            "Release it from a dataset, or describe it by its noise.",
            value=event,
        )
    amount = cost.pure if pure else rounded_up(float(cost.divergences[0]))
    return units_of(UP.multiply(amount, times))


def units_of(amount: Decimal) -> int:
    """An amount in whole units, rounded up; more than any limit where it is infinite."""
    if not amount.is_finite() or amount > _UNIT * _MOST:
        return _MOST + 1
    return int(UP.divide(amount, _UNIT).to_integral_value(ROUND_CEILING))


def chosen(who: object, size: int) -> Numbers | None:
    """Which accounts are meant, by number and in order, None for all: of a mask, or of numbers."""
    if who is None:
        return None
    try:
        found = np.asarray(who)
    except ValueError:
        raise _unclear(who) from None
    if np.ma.isMaskedArray(who):
        raise _unclear(who)
    if found.dtype == np.bool_:
        if found.shape != (size,):
            raise InvalidParameter(
                f"a mask needs one value for each of {size:,} accounts, got shape {found.shape}."
            )
        return np.flatnonzero(found)
    if found.size == 0:
        found = found.astype(np.int64)
    if not np.issubdtype(found.dtype, np.integer) or found.ndim > 1:
        raise _unclear(who)
    numbers = found.reshape(-1)
    if numbers.size and (int(numbers.min()) < 0 or int(numbers.max()) >= size):
        raise InvalidParameter(f"who must be numbers from 0 to {size - 1:,}.")
    once, times = np.unique(numbers.astype(np.int64), return_counts=True)
    if len(once) < len(numbers):
        raise InvalidParameter(
            f"who names account {once[times > 1][0]:,} more than once. Name each account once, as "
            "numpy.unique does; if it pays for several releases, say times=."
        )
    return once


def _unclear(who: object) -> InvalidParameter:
    return InvalidParameter(
        "who must be a mask (True or False for each account) or the numbers of accounts, as an array or "
        f"a list; got a {type(who).__name__}. Make a list of a set or a generator first.",
        value=type(who),
    )


def by_piece(meant: Numbers | None, spec: PopulationSpec) -> dict[int, Mask]:
    """Who is meant in each piece in which somebody is."""
    if meant is None:
        return {i: np.ones(spec.piece_size(i), dtype=np.bool_) for i in range(spec.pieces)}
    found = {}
    for number in np.unique(meant // PIECE).tolist():
        first = number * PIECE
        low, high = np.searchsorted(meant, (first, first + PIECE))
        mask = np.zeros(spec.piece_size(number), dtype=np.bool_)
        mask[meant[low:high] - first] = True
        found[number] = mask
    return found
