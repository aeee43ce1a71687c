"""What people have agreed to lose, and whether one more release keeps to it.

An account is a budget over the datasets one person may be in: each dataset is one, and so is every
group of datasets that may share a person. Any one of three rules may allow a release:

- *pure*: the pure epsilons so far add up to at most epsilon;
- *loop*: everything so far is dominated by at most `repeats` repetitions of the first event, which
  are certified as one schedule at the loop's share of delta;
- *filter*: the filter's sums prove epsilon at the filter's share of delta.

Proof that together they are (epsilon, delta)-DP. Let S be any set of outcomes; divide it by how the
interaction ended. Where the sum of epsilons is within epsilon, P(S) <= e^epsilon Q(S). Else, where
the rule of the loop held at the end, S is an event of the post-processing "carry out the analyst
against `repeats` repetitions until something else is wanted": at most the loop's share. Else the
last release was allowed by the filter, whose sums only grow, so S is an event of the interaction
that stops when the filter says so: at most the filter's share. The three sets are disjoint and what
can fail outright does so with at most its own share, so the shares add up to delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal

from dpcheck.core.budget import Budget
from dpcheck.core.events.event import Event
from dpcheck.ledger.pricing.allocation import Allocation, allocate
from dpcheck.ledger.pricing.costs import (
    INFINITE,
    UP,
    ZERO,
    Cost,
    View,
    as_float,
    float_below,
    literal,
    nothing,
    plus,
    rounded_up,
    unrepeated,
)
from dpcheck.ledger.pricing.filters import Filter
from dpcheck.ledger.pricing.loop import bundles, certified_epsilon, loop_odometer
from dpcheck.ledger.provenance import Node


@dataclass(frozen=True, slots=True)
class Batch:
    """Plans accounted together: `epsilon` at `delta`, proved by `method`."""

    epsilon: Decimal
    delta: Decimal
    method: str


Planned = tuple[Decimal, Decimal]


@dataclass(slots=True, eq=False)
class Account:
    """A budget of the people of `roots`."""

    roots: tuple[Node, ...]
    budget: Budget
    filter: Filter
    reserve: Decimal | None
    batches: dict[Node, list[Batch]]
    allocation: Allocation | None = field(default=None)

    @property
    def name(self) -> str:
        """The datasets, joined."""
        return " + ".join(root.path for root in self.roots)

    def total(self) -> Cost:
        """The sum over its datasets."""
        return self.sum_of({root: (root.first, root.total) for root in self.roots})

    def total_with(self, changed: Node, first: Event, cost: Cost) -> Cost:
        """The sum, with one dataset at another cost, its loop repeating `first`."""
        known = {root: (root.first, root.total) for root in self.roots}
        return self.sum_of(known | {changed: (first, cost)})

    def sum_of(self, costs: dict[Node, tuple[Event | None, Cost]]) -> Cost:
        """The sum over its datasets; repetitions add up only where they repeat the same event."""
        result, allocation = nothing(self.filter.size), self.allocation
        for root, (first, cost) in costs.items():
            if len(self.roots) > 1 and any(cost.repeats) and allocation is not None:
                view = self._loop_view(allocation)
                if first != allocation.event or root.views[0] != view:
                    cost = unrepeated(cost)
            result = plus(result, cost)
        return result

    def planned(self) -> Planned:
        """(epsilon, delta) of all plans, by basic composition."""
        found = [batch for root in self.roots for batch in self.batches.get(root, ())]
        epsilon = delta = ZERO
        for batch in found:
            epsilon, delta = UP.add(epsilon, batch.epsilon), UP.add(delta, batch.delta)
        return epsilon, delta

    def allocation_for(self, root: Node, event: Event, cost: Cost, announced: bool) -> Allocation:
        """How delta is divided; decided with the first release, for a loop of `event` for `cost`."""
        if self.allocation is not None:
            return self.allocation
        return allocate(
            root.path,
            event,
            cost,
            root.views[0],
            epsilon=literal(self.budget.epsilon),
            delta=literal(self.budget.delta),
            planned=self.planned(),
            filter_=self.filter,
            reserve=self.reserve,
            announced=announced,
        )

    def settled(self, allocation: Allocation, total: Cost) -> Allocation:
        """The same, with the filter's order chosen if `total` leaves no more time for that."""
        if not allocation.certificate.choices:
            return allocation
        left = float_below(literal(self.budget.epsilon) - self.planned()[0])
        fixed = allocation.certificate.settled(total.divergences, left)
        same = fixed is allocation.certificate
        return allocation if same else replace(allocation, certificate=fixed)

    def failing(self, total: Cost, planned_delta: Decimal) -> Decimal:
        """The delta used by what can fail outright."""
        found = UP.add(planned_delta, total.failure)
        if total.slip:
            # hockey-stick: P may be off by slip, and e^epsilon Q by e^epsilon slip.
            weight = 1 + math.exp(min(self.budget.epsilon, 700.0))
            found = UP.add(found, UP.multiply(total.slip, rounded_up(weight * (1 + 1e-15))))
        return found

    def _loop_view(self, allocation: Allocation) -> View:
        return next(root.views[0] for root in self.roots if root.path == allocation.path)

    def looping(self, total: Cost, allocation: Allocation, planned: Planned) -> bool:
        """Whether the rule of the loop holds."""
        if planned[0] != allocation.planned:
            return False
        return bundles(total.repeats, allocation.event) <= allocation.repeats

    def accepts(
        self, total: Cost, allocation: Allocation | None, planned: Planned | None = None
    ) -> bool:
        """Whether `total` (with `planned`, by default the plans there are) keeps to the budget."""
        planned = self.planned() if planned is None else planned
        epsilon = literal(self.budget.epsilon) - planned[0]
        if allocation is None:  # nothing but plans so far
            return epsilon >= 0 and self.failing(total, planned[1]) <= literal(self.budget.delta)
        if self.looping(total, allocation, planned):
            return True
        if self.failing(total, planned[1]) > allocation.failing:
            return False
        if total.pure <= epsilon:
            return True
        left, share = float_below(epsilon), float_below(allocation.filter)
        return self.filter.allows(total.divergences, left, share, allocation.certificate)

    def needed(self, total: Cost, allocation: Allocation, planned: Planned) -> float:
        """The epsilon at which one of the rules would allow `total`, delta divided as it is."""
        share = float_below(allocation.filter)
        by_filter = self.filter.epsilon(total.divergences, share, allocation.certificate)
        found = [total.pure, rounded_up(by_filter)]
        done = bundles(total.repeats, allocation.event)
        if planned[0] == allocation.planned and done <= 4 * max(1, allocation.repeats):
            view = self._loop_view(allocation)
            times, loop = math.ceil(done), float_below(allocation.loop)
            found.append(rounded_up(certified_epsilon(allocation.event, view, times, loop)))
        return as_float(UP.add(planned[0], min(found)))

    def odometer(self, total: Cost, delta: float) -> tuple[float, str]:
        """A bound that may be read at any moment, and the name of its proof.

        Guarantee: whoever stops at a moment of their choice, on reading e here, has
        P(S) <= E_Q[e^e; S] + delta for every set S of outcomes; where the moment is fixed in
        advance that is (e, delta)-DP.
        Reference: [Rogers2016] for odometers and the pure sum, `mixture` for the filter's,
        `loop.checkpoints` for the loop's. They divide the share of delta kept for reading; from
        the budget's delta on, the budget itself is read where it is less.
        Assumes: `delta` is chosen without looking at the outputs.
        """
        planned, allocation = self.planned(), self.allocation
        whole, wanted = literal(self.budget.delta), literal(delta)
        if allocation is None:
            if planned[1] <= wanted:
                return as_float(UP.add(planned[0], total.pure)), "pure-sum"
            return math.inf, "nothing-proved"
        within = wanted >= whole
        share = allocation.failing
        if not within:
            share = UP.divide(UP.multiply(wanted, allocation.failing), whole)
        share_of_delta = allocation.odometer + wanted - whole if within else wanted - share
        failing = self.failing(total, planned[1])
        half = float_below(share_of_delta / 2 if allocation.repeats else share_of_delta)
        found = [(INFINITE, "nothing-proved")]
        if not total.slip and failing <= share:
            found.append((total.pure, "pure-sum"))
            if half > 0:
                by_filter = self.filter.odometer(total.divergences, half)
                found.append((rounded_up(by_filter), f"{self.filter.name}-odometer"))
        looping = planned[0] == allocation.planned and planned[1] <= share
        if half > 0 and allocation.repeats and looping:
            view = self._loop_view(allocation)
            done, most = bundles(total.repeats, allocation.event), allocation.repeats
            by_loop = loop_odometer(allocation.event, view, done, most, half)
            found.append((rounded_up(by_loop), "loop-odometer"))
        least, method = min(found)
        upper = as_float(UP.add(planned[0], least))
        if within and upper > self.budget.epsilon and self.accepts(total, allocation):
            return self.budget.epsilon, self._rule(total, allocation, planned)
        return upper, method

    def _rule(self, total: Cost, allocation: Allocation, planned: Planned) -> str:
        """The rule by which the budget bounds what was spent."""
        if self.looping(total, allocation, planned):
            return "loop"
        return f"{self.filter.name}-filter"
