"""What a ledger answers when asked; nothing here changes it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from dpcheck.accounting.api import epsilon
from dpcheck.accounting.certify.bound import between
from dpcheck.accounting.certify.bound import known as known_bound
from dpcheck.core.bound import Bound
from dpcheck.core.budget import Budget
from dpcheck.core.errors import LedgerMisuse
from dpcheck.core.events.event import Event, Sequential
from dpcheck.core.events.guarantee import PureDP
from dpcheck.ledger.account import Account
from dpcheck.ledger.populations.accounts import PopulationSpec
from dpcheck.ledger.pricing.costs import Cost, as_float, assumptions, literal
from dpcheck.ledger.pricing.loop import bundles
from dpcheck.ledger.provenance import Counts, Node, descendants, really_paid
from dpcheck.ledger.report import AccountReport, Line, Remaining, Report
from dpcheck.ledger.state import PopulationState, State

_MOST = 10**12
_FEW = 100  # beyond this many parts a lower bound is not worth comparing all of them
_assumptions = lru_cache(maxsize=4096)(assumptions)


def largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """The largest number in [low, high] that fits; `low` does, and more never fits better."""
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def fits(state: State, node: Node, event: Event, times: int) -> bool:
    """Whether `times` releases would be accepted now."""
    return state.proposal(node, event, times).accepted()


def how_many(state: State, node: Node, event: Event, most: int = _MOST) -> int:
    """How many more releases would be accepted, at most `most`."""
    if most < 1 or not fits(state, node, event, 1):
        return 0
    high = 1
    while high < most and fits(state, node, event, high):
        high *= 2
    return largest(max(1, high // 2), min(high, most), lambda n: fits(state, node, event, n))


def _as_written(lower: float) -> float:
    """A lower bound on a sum of epsilons that were read as binary fractions, once they are read as decimals.

    Guarantee: each float and the decimal it prints as differ by at most 2^-53 of it, so sums, and
    quotients by one of them, differ by less than 2^-52 of them.
    """
    return math.nextafter(lower * (1 - 2.0**-52), 0.0)


def largest_pure(state: State, node: Node, account: Account, digits: int = 12) -> float:
    """The largest epsilon of one PureDP release that would be accepted, to `digits` below."""
    low, high = 0.0, account.budget.epsilon
    spent = node.root.total.pure + account.planned()[0]
    exact = float(literal(high) - spent) if spent.is_finite() else 0.0
    alone = node.root.path not in state.populations_by_dataset
    if (
        account.allocation is None and alone
    ):  # nothing adaptive yet: epsilons add up to what plans left
        return max(0.0, exact)
    for guess in (high, exact):
        if guess > 0 and fits(state, node, PureDP(guess), 1):
            low = max(low, guess)
    if low == high or (low > 0 and digits < 12):  # epsilons that add up say enough for a message
        return low
    for _ in range(math.ceil(3.4 * digits) + 2):
        middle = (low + high) / 2
        if fits(state, node, PureDP(middle), 1):
            low = middle
        else:
            high = middle
    return low if low in (exact, 0.0) else float(f"{low * (1 - 10.0**-digits):.{digits}g}")


@dataclass(slots=True)
class Reader:
    """Answers about a state of which `counts` were really released (None: all that is counted)."""

    state: State
    counts: Callable[[Node], Counts | None]
    head: str | None = None
    _costs: dict[Node, Cost] = field(default_factory=dict)

    def cost(self, root: Node) -> Cost:
        """What was really released from a dataset."""
        if root not in self._costs:
            counts = self.counts(root)
            self._costs[root] = root.total if counts is None else self.state.cost(root, counts)
        return self._costs[root]

    def total(self, account: Account) -> Cost:
        """The same for an account."""
        return account.sum_of({root: (root.first, self.cost(root)) for root in account.roots})

    def released(self, node: Node) -> dict[Event, int]:
        """The releases of one node."""
        counts = self.counts(node.root)
        return self.state.counts(node) if counts is None else counts(node)

    def epsilon(self, delta: float, root: Node | None) -> Bound:
        """The odometer of the worst-off account."""
        accounts = self.state.accounts if root is None else self.state.accounts_of(root)
        bounds = [self._account_epsilon(account, delta) for account in accounts]
        known = self.state.populations.values()
        near = known if root is None else self.state.populations_by_dataset.get(root.path, ())
        bounds += [self._population_epsilon(p.spec, delta) for p in near if self._charged(p)]
        empty = known_bound(0.0, "nothing-spent", self.state.terms.adjacency)
        return max(bounds, key=lambda bound: bound.upper, default=empty)

    def _charged(self, known: PopulationState) -> bool:
        """Whether any account of a population has paid anything."""
        return known.first is not None or self.state.shared_cost(known) > 0

    def _population_epsilon(self, spec: PopulationSpec, delta: float) -> Bound:
        """The budget, whoever has paid how much: that is private, or for each account to ask."""
        upper = spec.budget.epsilon if delta >= spec.budget.delta else math.inf
        return between(0.0, upper, "population-filter", self.state.terms.adjacency)

    def _account_epsilon(self, account: Account, delta: float) -> Bound:
        state, relation = self.state, self.state.terms.adjacency
        adaptive = any(root.first is not None for root in account.roots)
        batches = [(r, i) for r in account.roots for i in range(len(state.batches.get(r, ())))]
        real = all(really_paid(root) for root in account.roots)
        if not adaptive and len(batches) == 1:
            # One schedule, fixed in advance: any accountant may be asked at any delta.
            schedule = state.planned_event(*batches[0], None)
            found = epsilon(schedule, delta=delta, adjacency=relation)
            return found if real else replace(found, lower=0.0)
        upper, method = account.odometer(self.total(account), delta)
        lower = 0.0
        if delta == 0 and upper > 0 and real and self._is_small(account):
            events = tuple(self.event(root) for root in account.roots)
            lower = _as_written(epsilon(Sequential(events), adjacency=relation).lower)
        return between(lower, upper, method, relation, self._assumes(account))

    def _is_small(self, account: Account) -> bool:
        return sum(1 for root in account.roots for _ in descendants(root)) <= _FEW

    def _assumes(self, account: Account) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for root in account.roots:
            spent = (event for node in descendants(root) for event in self.state.counts(node))
            planned = (plan.event for plan in self.state.plans_of(root))
            for event in dict.fromkeys((*spent, *planned)):
                found.update(dict.fromkeys(_assumptions(event, root.views[0])))
        if self.state.terms.expect is not None:
            found["what was announced (expect) was not chosen by looking at the data"] = None
        return tuple(found)

    def event(self, root: Node) -> Event:
        """Everything released and planned, as one event."""
        return self.state.spent_event(root, self.released)

    def remaining(self, node: Node | None) -> Remaining:
        """What is left to `node`, by default to the dataset with the least."""
        if node is None:
            if not self.state.specs:
                raise LedgerMisuse("this ledger has no dataset; get one from ledger.dataset().")
            found = [self.remaining(self.state.nodes[name]) for name in self.state.specs]
            return min(found, key=lambda left: (left.epsilon, -left.spent))
        answers = [self._remaining(node, account) for account in self.state.accounts_of(node.root)]
        return min(answers, key=lambda left: (left.epsilon, -left.spent))

    def _remaining(self, node: Node, account: Account) -> Remaining:
        total, planned, budget = account.total(), account.planned(), account.budget
        allocation = account.allocation
        failing = account.failing(total, planned[1])
        kept = budget.delta if allocation is None else float(allocation.failing)
        repeats = None
        if allocation is not None and account.looping(total, allocation, planned):
            repeats = int(allocation.repeats - bundles(total.repeats, allocation.event))
            if node.root.path in self.state.populations_by_dataset:
                repeats = how_many(self.state, node, allocation.event, repeats)
        return Remaining(
            node.path,
            largest_pure(self.state, node, account),
            max(0.0, kept - float(failing)),
            self._account_epsilon(account, budget.delta).upper,
            budget.epsilon,
            None if not repeats or allocation is None else (repeats, allocation.event),
        )

    def report(self) -> Report:
        """Everything, as data."""
        state = self.state
        accounts = tuple(self._account_report(account) for account in state.accounts)
        accounts += tuple(
            self._population_report(known) for known in self.state.populations.values()
        )
        return Report(
            state.terms.adjacency,
            state.terms.filter.name,
            state.terms.filter.theorem,
            accounts,
            tuple(self._lines()),
            tuple(dict.fromkeys(text for a in accounts for text in a.spent.assumes)),
            self.head,
        )

    def _population_report(self, known: PopulationState) -> AccountReport:
        spec, relation = known.spec, self.state.terms.adjacency
        spent = known_bound(0.0, "nothing-spent", relation)
        if self._charged(known):
            spent = self._population_epsilon(spec, spec.budget.delta)
        whose = " + ".join([spec.name, *self.state.sharing(known).datasets])
        name = f"{whose}, each of {spec.size:,} {'private ' if spec.private else ''}accounts"
        return AccountReport(name, "account", spec.budget, spent, math.inf, None, None)

    def _account_report(self, account: Account) -> AccountReport:
        units = dict.fromkeys(self.state.specs[root.path].unit for root in account.roots)
        planned, total, allocation = account.planned(), self.total(account), account.allocation
        loop = None
        if allocation is not None and allocation.repeats:
            done = bundles(total.repeats, allocation.event)
            if done.is_finite():
                loop = (allocation.event, math.ceil(done), allocation.repeats)
        return AccountReport(
            account.name,
            " or ".join(units),
            account.budget,
            self._account_epsilon(account, account.budget.delta),
            as_float(total.pure),
            loop,
            Budget(float(planned[0]), float(planned[1])) if any(planned) else None,
        )

    def _lines(self) -> list[Line]:
        lines = []
        for name in self.state.specs:
            root = self.state.nodes[name]
            for node in descendants(root):
                counts = self.released(node).items()
                lines += [Line(node.path, event, n, "as it came") for event, n in counts if n]
            for plan in self.state.plans_of(root):
                method = self.state.batches[root][plan.batch].method
                for event, times in plan.limits.items():
                    lines.append(Line(plan.node.path, event, times, f"plan {plan.name}, {method}"))
        return lines
