"""What releases are taken from: the budget of a dataset, or a plan that was paid for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpcheck.core.errors import BudgetExceeded
from dpcheck.core.events.event import Event
from dpcheck.ledger.refusals import refused_release, refused_step
from dpcheck.ledger.state import State
from dpcheck.ledger.storage.entries import DeltaDivided, Entry, PlanStepped, Released


class Source(Protocol):
    """What releases are taken from."""

    @property
    def dataset(self) -> str:
        """The dataset whose group has to be known."""

    def accepts(self, state: State, event: Event, times: int) -> bool:
        """Whether `times` more can be taken."""

    def refusal(self, state: State, event: Event, times: int) -> BudgetExceeded:
        """Why they cannot."""

    def entries(self, state: State, event: Event, times: int) -> list[Entry]:
        """What is written when they are; negative `times` are given back."""


@dataclass(frozen=True, slots=True)
class FromDataset:
    """Releases that are chosen as they come; `request` is the id they are asked for under."""

    path: str
    request: str | None = None

    @property
    def dataset(self) -> str:
        """The root of the path."""
        return self.path.split("/", 1)[0]

    def accepts(self, state: State, event: Event, times: int) -> bool:
        """By the rules of every account that covers the dataset."""
        return state.proposal(state.nodes[self.path], event, times).accepted()

    def refusal(self, state: State, event: Event, times: int) -> BudgetExceeded:
        """In epsilon, with what would still fit."""
        return refused_release(state, state.nodes[self.path], event, times)

    def entries(self, state: State, event: Event, times: int) -> list[Entry]:
        """With the first release, also how delta is divided."""
        counted = Released(self.path, event, times, self.request)
        if times < 0:
            return [counted]
        new = state.proposal(state.nodes[self.path], event, times).new_allocations()
        divided = [DeltaDivided(account.name, allocation) for account, allocation in new]
        return [*divided, counted]


@dataclass(frozen=True, slots=True)
class FromPlan:
    """Releases that were paid for in advance."""

    name: str
    dataset: str

    def accepts(self, state: State, event: Event, times: int) -> bool:
        """By what is left of the plan."""
        plan = state.plans[self.name]
        return plan.counts.get(event, 0) + times <= plan.limits[event]

    def refusal(self, state: State, event: Event, times: int) -> BudgetExceeded:
        """In steps."""
        return refused_step(state.plans[self.name], event, times)

    def entries(self, state: State, event: Event, times: int) -> list[Entry]:  # noqa: ARG002
        """Steps."""
        return [PlanStepped(self.name, event, times)]
