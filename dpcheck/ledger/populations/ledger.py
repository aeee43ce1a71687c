"""What a ledger does with populations; `Ledger` has it besides datasets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import BudgetExceeded, InvalidParameter, LedgerMisuse
from dpcheck.core.events.event import Event, Sampled, children
from dpcheck.core.events.training import SampledGaussian
from dpcheck.core.validate import count, finite, truth
from dpcheck.ledger.answers import Answer, Answering
from dpcheck.ledger.frozen import frozen
from dpcheck.ledger.names import brief, checked_name
from dpcheck.ledger.populations.accounts import (
    PIECE,
    Mask,
    Numbers,
    PopulationSpec,
    chosen,
    default_order,
    limit_of,
)
from dpcheck.ledger.populations.charging import (
    Active,
    Population,
    affordable,
    charge,
    declare_population,
    knows_population,
    shared,
)
from dpcheck.ledger.pricing.filters import choose_filter
from dpcheck.ledger.spending import Transaction

_MOST_ACCOUNTS = 10**9


class WithPopulations(Answering):
    """Budgets by the million."""

    def population(
        self,
        name: str,
        *,
        size: int,
        budget: Budget | None = None,
        private: bool = False,
        order: float | None = None,
    ) -> Population:
        """An account for each of `size` people or buckets, numbered from 0.

        Public accounts (buckets, sites, epochs): who is charged is public, and `spend` refuses, or
        `affordable` says who still may. `private=True` is individual accounting: whoever could not
        pay is left out of the step, which nobody may learn. See docs/explanation/ledger.md.

        Guarantee: every account keeps to `budget` (by default the ledger's), whatever is chosen by
        looking at outputs: pure epsilons add up, or with a delta the divergences of one `order`.
        Reference: [Feldman2021] for both.
        Assumes: which account a person's data belong to does not depend on anybody's data but their own.
        """
        terms = self._spending.terms
        limits = terms.budget if budget is None else budget
        if not isinstance(limits, Budget):
            raise InvalidParameter(f"budget must be a Budget, got {budget!r}.", value=budget)
        private = truth("private", private)
        if private and terms.adjacency is Adjacency.REPLACE_ONE:
            raise LedgerMisuse(
                "private accounts need add-remove or zero-out: under replace-one a person with a spent "
                "budget may be replaced by one with a fresh budget, and who takes part gives it away."
            )
        if order is None:
            order = default_order(limits)
        else:
            order = finite("order", order)
            choose_filter(limits, "rdp", order)  # an error now
        number = count("size", size)
        if number > _MOST_ACCOUNTS:
            raise InvalidParameter(f"size must be at most {_MOST_ACCOUNTS:,}, got {number:,}.")
        spec = PopulationSpec(checked_name("population name", name), number, limits, private, order)
        with self._spending.alone():
            if not self._spending.run((name,), lambda t: knows_population(t, spec), writing=False):
                self._spending.run((name,), lambda t: declare_population(t, spec))
        return Population(self, spec)

    def _charge(
        self,
        population: Population,
        event: Event,
        times: int,
        who: object,
        request: str | None = None,
    ) -> Active | None:
        """Charge accounts, inside `alone`; `spend` has checked the rest."""
        spec, meant = self._meant(population, event, who)
        if request is not None:
            checked_name("request_id", request)
            if spec.private:
                raise LedgerMisuse(
                    "private accounts have no receipts, because only one step may learn who takes part."
                )
        release = frozen(event)

        def body(transaction: Transaction) -> Mask | None:
            return charge(transaction, spec, release, times, meant, request)

        try:
            active = self._spending.run((spec.name,), body)
        except BudgetExceeded:
            if (
                not self._spending.give_back()
            ):  # datasets charge the accounts for what is counted ahead
                raise
            active = self._spending.run((spec.name,), body)
        return None if active is None else Active(active)

    def affordable(
        self, population: Population, event: Event, who: object = None, times: int = 1
    ) -> Mask:
        """Who could pay for `times` releases, of those in `who` (by default all); a mask."""
        spec, meant = self._meant(population, event, who)
        self._public(spec)
        if not isinstance(event, Event):
            raise InvalidParameter(f"expected an event, got {brief(event)}.", value=event)
        release, times = frozen(event), count("times", times)

        def body(transaction: Transaction) -> Mask:
            return affordable(transaction, spec, release, times, meant)

        return self._asked(spec, body)

    def used(self, population: Population) -> npt.NDArray[np.float64]:
        """Which part of its budget each public account has used: 0 is nothing, 1 all of it.

        With what it pays for datasets that overlap the population.
        """
        spec, _ = self._meant(population, None, None)
        self._public(spec)

        def body(transaction: Transaction) -> npt.NDArray[np.float64]:
            found = np.zeros(spec.size)
            for_all = shared(transaction, spec)
            for number, paid in transaction.storage.pieces(spec, list(range(spec.pieces))).items():
                found[number * PIECE : number * PIECE + len(paid)] = paid
            return (found + for_all) / max(1, limit_of(spec))

        return self._asked(spec, body)

    def _asked(self, spec: PopulationSpec, body: Callable[[Transaction], Answer]) -> Answer:
        """An answer about accounts, without what was counted ahead and not used."""
        with self._spending.alone():
            self._spending.give_back()
            return self._spending.run((spec.name,), body, writing=False)

    def _public(self, spec: PopulationSpec) -> None:
        if spec.private:
            raise LedgerMisuse(
                f"who of {spec.name!r} has paid how much is private; only the step itself, which "
                "ledger.spend() returns it to, may know who takes part."
            )

    def _meant(
        self, population: object, event: Event | None, who: object
    ) -> tuple[PopulationSpec, Numbers | None]:
        if not isinstance(population, Population):
            raise LedgerMisuse(
                f"{brief(population)} is not a population; get one from ledger.population()."
            )
        if population.ledger is not self:
            raise LedgerMisuse(f"{population!r} is of another ledger.")
        spec = population.spec
        if spec.private and who is not None and event is not None and _sampled(event):
            raise LedgerMisuse(
                "a sampled event charges everybody the sample was drawn from, not those who were drawn: "
                "leave who out."
            )
        return spec, chosen(who, spec.size)


def _sampled(event: Event) -> bool:
    inside = any(_sampled(inner) for inner in children(event))
    return inside or isinstance(event, Sampled | SampledGaussian)
