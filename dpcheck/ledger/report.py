"""What a ledger says: the report, what remains, and the statement to paste."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.budget import Budget
from dpcheck.core.card import Card, Displayed, Meter, number
from dpcheck.core.events.event import Event

NOT_ACCOUNTED = (
    "anything released without being spent here, such as choices made while looking at the data",
    "tuning, feature selection and preprocessing on the private data, unless spent as events",
    "errors of the implementation: code that does not do what its event says (dpcheck audit), "
    "floating-point sampling, timing",
    "inference about groups of people, or from public knowledge",
)


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left: `epsilon` is the largest PureDP release that would be accepted now.

    `delta` is left for releases that can fail, `spent` of `allowed` is the epsilon that a report shows at
    the budget's delta, and `loop` how many more repetitions of the first event are certified, as long
    as nothing else is released.
    """

    dataset: str
    epsilon: float
    delta: float
    spent: float
    allowed: float
    loop: tuple[int, Event] | None = None

    def __str__(self) -> str:
        text = (
            f"{self.dataset}: epsilon {self.spent:.4g} of {self.allowed:g} is spent; one pure release "
            f"of epsilon {self.epsilon:.6g} fits; delta {self.delta:.3g} for releases that can fail"
        )
        return text if self.loop is None else f"{text}; {self.loop[0]} more of {self.loop[1]}"


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
    loop: tuple[Event, int, int] | None
    planned: Budget | None

    @property
    def spent_of(self) -> str:
        """What was spent of the budget, or that it is kept."""
        if not self.odometer:
            return f"epsilon at most {self.budget.epsilon:g}"
        return f"epsilon {self.spent.upper:.6g} of {self.budget.epsilon:g}"

    @property
    def odometer(self) -> bool:
        """Whether `spent` is what was spent by now; of populations only the promise is known."""
        return self.spent.method != "population-filter"


@dataclass(frozen=True, slots=True)
class Report(Displayed):
    """Everything a ledger knows, as data; `str()` renders it."""

    adjacency: Adjacency
    filter: str
    theorem: str
    accounts: tuple[AccountReport, ...]
    lines: tuple[Line, ...]
    assumes: tuple[str, ...] = field(default=())
    head: str | None = None  # one digest for everything the ledger held then

    def __str__(self) -> str:
        out = [f"ledger under {self.adjacency}; adaptive releases by the {self.theorem}"]
        for account in self.accounts:
            out.append(
                f"  {account.name} (per {account.unit}): {account.spent_of} at delta "
                f"{account.budget.delta:g} [{account.spent.method}]"
            )
            if account.pure < float("inf"):
                out.append(f"    sum of pure epsilons {account.pure:.6g}")
            if account.loop is not None:
                event, done, certified = account.loop
                out.append(f"    {done} of {certified} certified repetitions of {event}")
            if account.planned is not None:
                out.append(f"    plans, paid in full: {account.planned} by basic composition")
        out += self._releases()
        if self.head is not None:
            out.append(f"  head {self.head}")
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
                )
                if account.odometer
                else f"at most {number(account.budget.epsilon)}",
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
            "spending stops"
            + (
                f"; so far epsilon {spent.upper:.4g} at delta {budget.delta:g} is spent ({spent.method})."
                if account.odometer
                else f" ({spent.method})."
            )
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
    if report.head is not None:
        out.append(f"Head of the ledger: {report.head}")
    return "\n".join(out)
