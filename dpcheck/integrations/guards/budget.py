"""What every guard shares: equal steps, each spent in a ledger before it is made, and a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dpcheck.accounting.api import epsilon
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.budget import Budget
from dpcheck.core.errors import BudgetExceeded, InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.validate import count
from dpcheck.ledger.ledger import Dataset, Ledger

Log = Callable[[int, float], None]


class BudgetGuard:
    """Steps of `event`, each spent in a ledger before it is made; `allowed` of them fit.

    Without a `dataset` of some ledger the guard has a ledger of its own, in memory. With one it shares the
    budget with whoever else spends from it, and a ledger that is kept survives the process.

    Guarantee: the ledger's: the training may be stopped, and its noise changed, for what it has seen.
    `epsilon()` is that of a schedule of as many steps, at most the budget's.
    Assumes: what `event` says is what a step does; see the guards of each library for what is checked.

    >>> from dpcheck import PureDP
    >>> guard = BudgetGuard(PureDP(0.3), Budget(1.0), adjacency="add-remove")
    >>> while guard.left:
    ...     guard.step()
    >>> guard.steps, round(guard.epsilon().upper, 3)
    (3, 0.9)
    """

    def __init__(
        self,
        event: Event,
        budget: Budget,
        *,
        adjacency: Adjacency | str,
        dataset: Dataset | None = None,
        log: Sequence[Log] = (),
        log_every: int = 50,
    ) -> None:
        self.event, self.budget = event, budget
        self.adjacency = as_adjacency(adjacency)
        self.log, self.log_every = tuple(log), count("log_every", log_every)
        self._alone = dataset is None
        if dataset is None:
            dataset = Ledger(budget, self.adjacency).dataset("data")
        elif dataset.ledger.terms.adjacency is not self.adjacency:
            raise InvalidParameter(
                f"the ledger counts under {dataset.ledger.terms.adjacency}, this guard's steps are "
                f"accounted under {self.adjacency}."
            )
        self.dataset = dataset
        self.steps = 0
        self.allowed = self._fitting()

    @property
    def ledger(self) -> Ledger:
        """Where the steps are spent."""
        return self.dataset.ledger

    def _fitting(self) -> int:
        return self.ledger.how_many(self.dataset, self.event)

    @property
    def left(self) -> int:
        """How many steps the budget still bears; others may spend from it meanwhile."""
        return self.allowed - self.steps if self._alone else self._fitting()

    def step(self) -> None:
        """Spend one step; call it before the step. BudgetExceeded, and nothing counted, beyond the budget."""
        if self._alone and self.left <= 0:
            raise BudgetExceeded(
                f"step {self.steps + 1} would exceed {self.budget}: {self.allowed} steps of "
                f"{self.event!r} fit it under {self.adjacency}. Stop here, or plan more noise.",
                allowed=self.allowed,
            )
        self.ledger.spend(self.dataset, self.event)
        self.steps += 1
        if self.log and (self.steps % self.log_every == 0 or self.left == 0):
            self.record()

    def resume(self, steps: int) -> None:
        """Count at least so many steps: those made before this guard was, by the run that goes on here.

        A ledger that is kept has counted them; one in memory counts them now, as far as they fit.
        """
        made = count("steps", steps, at_least=0)
        if self._alone and made > self.steps:
            fits = min(made - self.steps, self.left)
            if fits > 0:
                self.ledger.spend(self.dataset, self.event, times=fits)
        self.steps = max(self.steps, made)

    def state_dict(self) -> dict[str, object]:
        """What to keep beside a checkpoint: the steps made, and what they were counted for."""
        return {"steps": self.steps, **self._terms()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with the steps of a checkpoint; refused if they were of another kind.

        Guarantee: never counts fewer steps than before.
        """
        mine = self._terms()
        theirs = {name: state.get(name) for name in mine}
        if theirs != mine:
            raise InvalidParameter(
                f"the checkpoint's steps were counted for {theirs}, this guard is for {mine}; make the guard "
                "with the same event, budget and adjacency, or account a change of plan with a ledger."
            )
        self.resume(count("steps", state.get("steps"), at_least=0))

    def _terms(self) -> dict[str, object]:
        budget = [self.budget.epsilon, self.budget.delta]
        return {"event": repr(self.event), "budget": budget, "adjacency": str(self.adjacency)}

    def epsilon(self, delta: float | None = None) -> Bound:
        """What the steps so far spend, certified on both sides, at the budget's delta."""
        wanted = self.budget.delta if delta is None else delta
        return epsilon(self.event * self.steps, delta=wanted, adjacency=self.adjacency)

    def record(self) -> float:
        """Tell every log what was spent; also returned."""
        spent = self.epsilon().upper
        for log in self.log:
            log(self.steps, spent)
        return spent

    def __repr__(self) -> str:
        return f"BudgetGuard({self.steps} of {self.allowed} steps of {self.event!r}, {self.budget})"
