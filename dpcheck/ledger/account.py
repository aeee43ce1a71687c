"""What people have agreed to lose, and whether one more release keeps to it.

An account is a budget over the datasets one person may be in: each dataset is one, and so is every
group of datasets that may share a person. Two rules may allow a release, and either suffices:

- the pure epsilons so far add up to at most epsilon, or
- the filter's own quantity stays within its limit.

Outcomes reached under the first rule have a loss of at most epsilon for certain; all others were
reached with the second rule unbroken, so they carry at most the filter's delta. Together: the same
(epsilon, delta). What can fail outright (the delta of an (epsilon, delta) mechanism, and of a plan)
is paid from a share of delta that is set aside before the first release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal

from dpcheck.core.budget import Budget
from dpcheck.ledger.costs import (
    NOTHING,
    UP,
    ZERO,
    Cost,
    as_float,
    literal,
    plus,
    rounded_up,
)
from dpcheck.ledger.filters import Filter, PureFilter
from dpcheck.ledger.provenance import Node


@dataclass(frozen=True, slots=True)
class Batch:
    """Plans accounted together: `epsilon` at `delta`, proved by `method`."""

    epsilon: Decimal
    delta: Decimal
    method: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Which rule a release would break, in the quantity of that rule."""

    quantity: str
    would_be: Decimal
    allowed: Decimal


@dataclass(slots=True, eq=False)
class Account:
    """A budget of the people of `roots`."""

    roots: tuple[Node, ...]
    budget: Budget
    filter: Filter
    reserve: float
    set_aside: Decimal | None = None
    batches: dict[Node, list[Batch]] = field(default_factory=dict)
    known_limits: dict[tuple[float, float], Decimal] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The datasets, joined."""
        return " + ".join(root.path for root in self.roots)

    def total(self, changed: Node | None = None, new: Cost = NOTHING) -> Cost:
        """The sum over its datasets, with `changed` at `new`."""
        result = NOTHING
        for root in self.roots:
            result = plus(result, new if root is changed else root.total)
        return result

    def planned(self) -> tuple[Decimal, Decimal]:
        """(epsilon, delta) of all plans, by basic composition."""
        found = [batch for root in self.roots for batch in self.batches.get(root, ())]
        epsilon = delta = ZERO
        for batch in found:
            epsilon, delta = UP.add(epsilon, batch.epsilon), UP.add(delta, batch.delta)
        return epsilon, delta

    def share_to_set_aside(self, planned_delta: Decimal) -> Decimal:
        """The part of delta for what can fail outright; fixed with the first release."""
        if self.set_aside is not None:
            return self.set_aside
        delta = literal(self.budget.delta)
        if isinstance(self.filter, PureFilter):
            return delta
        return planned_delta + (delta - planned_delta) * literal(self.reserve)

    def failing(self, total: Cost, planned_delta: Decimal) -> Decimal:
        """The delta used by what can fail outright."""
        found = UP.add(planned_delta, total.failure)
        if total.slip:
            # hockey-stick: P may be off by slip, and e^epsilon Q by e^epsilon slip.
            weight = 1 + math.exp(min(self.budget.epsilon, 700.0))
            found = UP.add(found, UP.multiply(total.slip, rounded_up(weight * (1 + 1e-15))))
        return found

    def limits(self, planned: tuple[Decimal, Decimal]) -> tuple[Decimal, Decimal, Decimal]:
        """What is allowed: pure epsilon, the filter's quantity, and failing delta."""
        epsilon = literal(self.budget.epsilon) - planned[0]
        aside = self.share_to_set_aside(planned[1])
        rest = math.nextafter(float(literal(self.budget.delta) - aside), 0.0)
        left = math.nextafter(float(epsilon), -math.inf)
        if (left, rest) not in self.known_limits:
            # A negative epsilon is left only to a wanted plan that is about to be refused.
            main = self.filter.limit(left, rest) if left > 0 else -1.0
            self.known_limits = {(left, rest): Decimal(main)}
        return epsilon, self.known_limits[left, rest], aside

    def refusal(
        self, total: Cost, planned: tuple[Decimal, Decimal] | None = None
    ) -> Refusal | None:
        """Why `total` (with `planned`, by default the plans there are) cannot be allowed."""
        planned = self.planned() if planned is None else planned
        epsilon, main, aside = self.limits(planned)
        failing = self.failing(total, planned[1])
        if failing > aside:
            return Refusal("delta", failing, aside)
        if total.pure <= epsilon or total.main <= main:
            return None
        if main < 0 or isinstance(self.filter, PureFilter) or epsilon < 0:
            would_be = UP.add(total.pure, planned[0])
            return Refusal("epsilon", would_be, literal(self.budget.epsilon))
        return Refusal(self.filter.quantity, total.main, main)

    def odometer(self, total: Cost, delta: float) -> tuple[float, str]:
        """A bound that may be read at any moment, and its name.

        Guarantee: whatever was chosen and whenever it is read, with probability 1 - delta over the
        outputs the privacy loss of any two neighbours is at most this at all times at once; the
        last of the three, the whole budget, is (epsilon, delta)-DP instead.
        Reference: [Rogers2016] for odometers and the pure sum; Ville's inequality
        for the filter's supermartingale, see `filters.RenyiFilter.odometer`.
        Assumes: `delta` is chosen without looking at the outputs.
        """
        planned = self.planned()
        aside = self.share_to_set_aside(planned[1])
        whole, wanted = literal(self.budget.delta), literal(delta)
        share = UP.divide(UP.multiply(wanted, aside), whole) if whole else wanted
        found = [(math.inf, "nothing-proved")]
        if total.slip == 0 and UP.add(planned[1], total.failure) <= share:
            found.append((as_float(UP.add(planned[0], total.pure)), "pure-sum"))
            rest = math.nextafter(float(wanted - share), 0.0)
            filtered = self.filter.odometer(as_float(total.main), rest) if rest > 0 else math.inf
            if math.isfinite(filtered):
                upper = as_float(UP.add(planned[0], rounded_up(filtered)))
                found.append((upper, f"{self.filter.name}-odometer"))
        if delta >= self.budget.delta and self.refusal(total) is None:
            found.append((self.budget.epsilon, f"{self.filter.name}-filter"))
        return min(found)
