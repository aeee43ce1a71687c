"""What a ledger says: the refusal of a release, the report, and the statement to paste."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.budget import Budget
from dpcheck.core.card import Card, Displayed, Meter, number
from dpcheck.core.errors import BudgetExceeded
from dpcheck.core.events.event import Event, leaves
from dpcheck.core.events.guarantee import NotPrivate
from dpcheck.ledger.account import Account, Refusal
from dpcheck.ledger.costs import ZERO, Cost
from dpcheck.ledger.filters import PureFilter

NOT_ACCOUNTED = (
    "anything released without being spent here, such as choices made while looking at the data",
    "tuning, feature selection and preprocessing on the private data, unless spent as events",
    "errors of the implementation: code that does not do what its event says (dpcheck audit), "
    "floating-point sampling, timing",
    "inference about groups of people, or from public knowledge",
)


def exceeded(
    account: Account, dataset: str, event: Event, times: int, cost: Cost, refusal: Refusal
) -> BudgetExceeded:
    """The error for a release that an account cannot bear; `cost` is that of one release."""
    total, planned = account.total(), account.planned()
    each, before = {
        "epsilon": (cost.pure, total.pure + planned[0]),
        "delta": (account.failing(cost, ZERO), account.failing(total, planned[1])),
    }.get(refusal.quantity, (cost.main, total.main))
    wanted, spent = float(each * times), float(before)
    if refusal.would_be.is_finite():  # what the people of this part have spent, not the worst-off
        spent = float(max(ZERO, refusal.would_be - each * times))
    allowed = float(refusal.allowed)
    what = f"{times} x {_short(event)}" if times > 1 else _short(event)
    return BudgetExceeded(
        f"{what} from {dataset!r} would exceed the budget {account.budget} of {account.name!r}: "
        f"spent {spent:.6g}, wanted {wanted:.6g}, allowed {allowed:.6g} "
        f"({refusal.quantity}). {_advice(account, event, cost, wanted)}",
        dataset=dataset,
        account=account.name,
        quantity=refusal.quantity,
        spent=spent,
        allowed=allowed,
        wanted=wanted,
    )


def _short(event: Event) -> str:
    text = repr(event)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _advice(account: Account, event: Event, cost: Cost, wanted: float) -> str:
    reasons = [leaf.reason for leaf in leaves(event) if isinstance(leaf, NotPrivate)]
    if reasons:
        return f"It has no guarantee ({reasons[0]}); it cannot be released under any budget."
    if math.isinf(wanted):
        if account.budget.delta == 0:
            return (
                "It has no finite epsilon at delta 0: give the ledger a delta, for example "
                f"Budget({account.budget.epsilon:g}, 1e-6), or release with a pure mechanism such "
                "as Laplace."
            )
        if isinstance(account.filter, PureFilter) or cost.main.is_infinite():
            return (
                f"The {account.filter.name} filter has no finite cost for it: open the ledger with "
                "filter='rdp', or declare the schedule up front with ledger.plan()."
            )
        return (
            f"No delta is left to the {account.filter.name} filter, or too little for this "
            "epsilon: declare plans with a smaller delta=, raise the budget, or release with a "
            "pure mechanism such as Laplace."
        )
    return "Stop here, add noise, or declare the schedule up front with ledger.plan()."


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left: `epsilon` is the largest PureDP release that would be accepted now."""

    dataset: str
    epsilon: float
    delta: float
    quantity: str
    left: float
    allowed: float

    def __str__(self) -> str:
        return (
            f"{self.dataset}: epsilon {self.epsilon:.6g} as one pure release; "
            f"{self.left:.6g} of {self.allowed:.6g} ({self.quantity}); "
            f"delta {self.delta:.3g} for releases that can fail"
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One kind of release."""

    where: str
    event: Event
    times: int
    how: str


@dataclass(frozen=True, slots=True)
class AccountReport:
    """One budget: what was spent of it and by which proof."""

    name: str
    unit: str
    budget: Budget
    spent: Bound
    pure: float
    quantity: str
    main: float
    allowed: float
    planned: Budget | None


@dataclass(frozen=True, slots=True)
class Report(Displayed):
    """Everything a ledger knows, as data; `str()` renders it."""

    adjacency: Adjacency
    filter: str
    theorem: str
    accounts: tuple[AccountReport, ...]
    lines: tuple[Line, ...]
    assumes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        out = [f"ledger under {self.adjacency}; adaptive releases by the {self.theorem}"]
        for account in self.accounts:
            out.append(
                f"  {account.name} (per {account.unit}): epsilon {account.spent.upper:.6g} of "
                f"{account.budget.epsilon:g} at delta {account.budget.delta:g} "
                f"[{account.spent.method}]"
            )
            out.append(f"    sum of pure epsilons {account.pure:.6g}")
            if account.quantity != "epsilon":
                out.append(f"    {account.quantity} {account.main:.6g} of {account.allowed:.6g}")
            if account.planned is not None:
                out.append(f"    plans, paid in full: {account.planned} by basic composition")
        out += self._releases()
        return "\n".join(out)

    def _releases(self) -> list[str]:
        return [f"  {line.where}: {line.times} x {line.event} [{line.how}]" for line in self.lines]

    def cards(self) -> tuple[Card, ...]:
        """What a notebook shows."""
        rows: list[list[str | Meter]] = [
            [
                account.name,
                account.unit,
                Meter(
                    f"{number(account.spent.upper)} of {number(account.budget.epsilon)}",
                    account.spent.upper / account.budget.epsilon if account.budget.epsilon else 1.0,
                ),
                f"{account.budget.delta:g}",
                account.spent.method,
            ]
            for account in self.accounts
        ]
        columns = ("dataset", "unit", "ε spent", "δ", "proved by")
        title = f"Ledger under {self.adjacency}"
        return (Card(title, columns, rows, heading="releases", lines=self._releases()),)


_MEANING = {
    Adjacency.REPLACE_ONE: "two datasets are neighbours if {unit} is replaced by any other; the "
    "number of rows is public",
    Adjacency.ADD_REMOVE: "two datasets are neighbours if {unit} is added or removed",
    Adjacency.ZERO_OUT: "two datasets are neighbours if {unit} is replaced by a null record",
}


def statement(report: Report, units: dict[str, tuple[str, int]]) -> str:
    """A privacy statement to paste: what is protected, how much, assumed, and left out."""
    out = ["Privacy statement"]
    for account in report.accounts:
        spent, budget = account.spent, account.budget
        out.append(
            f"- {account.name}: {budget}-differential privacy per {account.unit}, whenever "
            f"spending stops; so far epsilon {spent.upper:.4g} at delta {budget.delta:g} is spent "
            f"({spent.method})."
        )
    out.append("Neighbours:")
    for name, (unit, rows) in units.items():
        most = f"one {unit}" if rows == 1 else f"one {unit} with up to {rows} rows"
        out.append(f"- {name}: {_MEANING[report.adjacency].format(unit=most)}.")
    out.append("Assumptions:")
    people = (
        "datasets not declared as overlapping share no person, rows are split by index as "
        "declared, and no person has more rows than declared"
    )
    steps = f"releases may be chosen, and stopped, after seeing earlier outputs ({report.theorem})"
    out += [f"- {text}." for text in (people, steps, *report.assumes)]
    out.append("Not accounted:")
    out += [f"- {text}." for text in NOT_ACCOUNTED]
    return "\n".join(out)
