"""What a ledger answers when asked; nothing here changes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpcheck.accounting.api import epsilon
from dpcheck.core.bound import Bound
from dpcheck.core.budget import Budget
from dpcheck.core.errors import LedgerMisuse
from dpcheck.core.events.event import Event, Sequential
from dpcheck.core.events.guarantee import PureDP
from dpcheck.ledger.account import Account
from dpcheck.ledger.book import Book
from dpcheck.ledger.costs import as_float, assumptions
from dpcheck.ledger.filters import PureFilter
from dpcheck.ledger.provenance import Node, descendants, proposed
from dpcheck.ledger.report import AccountReport, Line, Remaining, Report

Counts = Callable[[Node], dict[Event, int]]
_MOST = 10**12
_FEW = 100  # beyond this many parts a lower bound is not worth comparing all of them


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


@dataclass(slots=True)
class Reader:
    """Answers about a book whose totals stand at `counts`."""

    book: Book
    counts: Counts

    def epsilon(self, delta: float, root: Node | None) -> Bound:
        """The odometer of the worst-off account."""
        accounts = self.book.accounts if root is None else self.book.accounts_of(root)
        bounds = [self._account_epsilon(account, delta) for account in accounts]
        empty = Bound(0.0, 0.0, "nothing-spent", self.book.adjacency)
        return max(bounds, key=lambda bound: bound.upper, default=empty)

    def _account_epsilon(self, account: Account, delta: float) -> Bound:
        adaptive = any(any(self.counts(n).values()) for r in account.roots for n in descendants(r))
        batches = [(r, i) for r in account.roots for i in range(len(self.book.batches.get(r, ())))]
        if not adaptive and len(batches) == 1:
            # One schedule, fixed in advance: any accountant may be asked at any delta.
            schedule = self.book.planned_event(*batches[0], None)
            return epsilon(schedule, delta=delta, adjacency=self.book.adjacency)
        upper, method = account.odometer(account.total(), delta)
        lower = 0.0
        nodes = sum(1 for root in account.roots for _ in descendants(root))
        if delta == 0 and upper > 0 and nodes <= _FEW:
            events = tuple(self.event(root) for root in account.roots)
            lower = epsilon(Sequential(events), adjacency=self.book.adjacency).lower
        # Both are proved; they can cross by the last digit of a decimal read as a binary fraction.
        return Bound(min(lower, upper), upper, method, self.book.adjacency, self._assumes(account))

    def _assumes(self, account: Account) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for root in account.roots:
            spent = (event for node in descendants(root) for event in self.counts(node))
            planned = (plan.event for plan in self.book.plans_of(root))
            for event in dict.fromkeys((*spent, *planned)):
                found.update(dict.fromkeys(assumptions(event, root.views[0])))
        return tuple(found)

    def event(self, root: Node) -> Event:
        """Everything released and planned, as one event."""
        return self.book.spent_event(root, self.counts)

    def _fits(self, node: Node, event: Event, times: int) -> bool:
        changes = proposed(node, event, times, self.book.price)
        root, totals, _ = changes[-1]
        return all(
            a.refusal(a.total(root, totals[root.views[0]])) is None
            for a in self.book.accounts_of(root)
        )

    def how_many(self, node: Node, event: Event) -> int:
        """How many more releases fit."""
        if not self._fits(node, event, 1):
            return 0
        high = 1
        while high < _MOST and self._fits(node, event, high):
            high *= 2
        return largest(high // 2, min(high, _MOST), lambda n: self._fits(node, event, n))

    def remaining(self, node: Node | None) -> Remaining:
        """What is left to `node`, by default to the dataset with the least."""
        if node is None:
            if not self.book.specs:
                raise LedgerMisuse("this ledger has no dataset; make one with ledger.dataset().")
            found = [self.remaining(self.book.nodes[name]) for name in self.book.specs]
            return min(found, key=lambda left: (left.epsilon, left.left))
        tightest = None
        for account in self.book.accounts_of(node.root):
            total, planned = account.total(), account.planned()
            pure, main, aside = account.limits(planned)
            delta = max(0.0, float(aside - account.failing(total, planned[1])))
            if isinstance(self.book.filter, PureFilter):
                quantity, left, allowed = "epsilon", pure - total.pure, pure
            else:
                quantity, left, allowed = self.book.filter.quantity, main - total.main, main
            room = max(0.0, float(left))
            answer = Remaining(
                node.path,
                self._largest_pure(node, account),
                delta,
                quantity,
                room,
                max(0.0, float(allowed)),
            )
            if tightest is None or room < tightest.left:
                tightest = answer
        assert tightest is not None  # every dataset has an account of its own
        return tightest

    def _largest_pure(self, node: Node, account: Account) -> float:
        """The largest epsilon of one PureDP release that fits, to 12 digits below."""
        low, high = 0.0, account.budget.epsilon
        exact = float(account.limits(account.planned())[0] - node.root.total.pure)
        for guess in (high, exact):
            if guess > 0 and self._fits(node, PureDP(guess), 1):
                low = max(low, guess)
        if low == high:
            return high
        for _ in range(42):
            middle = (low + high) / 2
            if self._fits(node, PureDP(middle), 1):
                low = middle
            else:
                high = middle
        return low if low == exact or low == 0 else float(f"{low * (1 - 1e-12):.12g}")

    def report(self) -> Report:
        """Everything, as data."""
        book = self.book
        accounts = []
        for account in book.accounts:
            units = dict.fromkeys(book.specs[root.path].unit for root in account.roots)
            planned = account.planned()
            total = account.total()
            quantity = book.filter.quantity
            accounts.append(
                AccountReport(
                    account.name,
                    " or ".join(units),
                    account.budget,
                    self._account_epsilon(account, account.budget.delta),
                    as_float(total.pure),
                    quantity,
                    as_float(total.main),
                    max(0.0, float(account.limits(planned)[1])),
                    Budget(float(planned[0]), float(planned[1])) if any(planned) else None,
                )
            )
        return Report(
            book.adjacency,
            book.filter.name,
            book.filter.theorem,
            tuple(accounts),
            tuple(self._lines()),
            tuple(dict.fromkeys(text for a in accounts for text in a.spent.assumes)),
        )

    def _lines(self) -> list[Line]:
        lines = []
        for name in self.book.specs:
            root = self.book.nodes[name]
            for node in descendants(root):
                how = f"{self.book.filter.name} filter"
                counts = self.counts(node).items()
                lines += [Line(node.path, event, n, how) for event, n in counts if n]
            for plan in self.book.plans_of(root):
                method = self.book.batches[root][plan.batch].method
                for event, times in plan.limits.items():
                    lines.append(Line(plan.node.path, event, times, f"plan {plan.name}, {method}"))
        return lines
