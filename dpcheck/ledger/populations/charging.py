"""Charging a population: whoever is meant pays, or nobody does; private accounts drop out instead."""

from __future__ import annotations

import hashlib
from typing import NoReturn

import numpy as np

from dpcheck.core.errors import BudgetExceeded, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.ledger.declaring import refuse_look_alikes
from dpcheck.ledger.populations.accounts import (
    PIECE,
    Mask,
    Numbers,
    PopulationSpec,
    by_piece,
    limit_of,
    price_of,
)
from dpcheck.ledger.reserving import is_reserved
from dpcheck.ledger.spending import Transaction
from dpcheck.ledger.storage.entries import Charged, PopulationDeclared
from dpcheck.ledger.storage.receipts import asked_for


class Population:
    """Accounts of a ledger, one for each person or bucket; charge them with `ledger.spend(..., who=)`."""

    __slots__ = ("ledger", "spec")

    def __init__(self, ledger: object, spec: PopulationSpec) -> None:
        self.ledger, self.spec = ledger, spec

    @property
    def name(self) -> str:
        """As it was declared."""
        return self.spec.name

    @property
    def size(self) -> int:
        """How many accounts it has."""
        return self.spec.size

    def __repr__(self) -> str:
        kind = "private" if self.spec.private else "public"
        return f"<Population {self.name!r}, {self.size:,} {kind} accounts>"


class Active:
    """Who takes part in a step of a private population. For the code that runs the step, nobody else.

    Who dropped out depends on the data: neither the mask nor the number in it may be released, logged
    or used to choose the next step.
    """

    __slots__ = ("_mask",)

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

    @property
    def mask(self) -> Mask:
        """One value for each account: whether its data may be used in this step."""
        return self._mask

    def __repr__(self) -> str:
        return "<Active: who is in this step is private>"

    def __len__(self) -> NoReturn:
        raise LedgerMisuse("how many take part is private; use .mask inside the step.")

    __bool__ = __iter__ = __reduce__ = __len__


def knows_population(transaction: Transaction, spec: PopulationSpec) -> bool:
    """Whether a population was declared; LedgerMisuse if the name stands for something else."""
    state = transaction.state
    known = state.populations.get(spec.name)
    if spec.name in state.specs or (known is not None and known.spec != spec):
        raise LedgerMisuse(f"{spec.name!r} already exists and is something else.")
    return known is not None


def declare_population(transaction: Transaction, spec: PopulationSpec) -> None:
    """A population, unless it is known."""
    if not knows_population(transaction, spec):
        refuse_look_alikes(transaction, spec.name)
        transaction.write(PopulationDeclared(spec))


def charge(
    transaction: Transaction,
    spec: PopulationSpec,
    event: Event,
    times: int,
    meant: Numbers | None,
    request: str | None = None,
) -> Mask | None:
    """Charge those who are meant. Public accounts: all or BudgetExceeded. Private ones: who takes part."""
    people = who = None
    if not spec.private:
        people = spec.size if meant is None else len(meant)
        who = None if meant is None else hashlib.sha256(meant.astype("<i8").tobytes()).hexdigest()
    if request is not None and is_reserved(
        transaction, request, spec.name, asked_for(event, who), times
    ):
        return None
    price = price_of(spec, event, transaction.state.terms.adjacency, times)
    for_all = shared(transaction, spec)
    limit = limit_of(spec) - for_all
    active = np.zeros(spec.size, dtype=np.bool_) if spec.private else None
    changed = {}
    short = highest = 0
    masks = by_piece(meant, spec)
    for number, before in transaction.storage.pieces(spec, list(masks)).items():
        fits = masks[number] & (before <= limit - price)
        if active is None:
            short += int(np.count_nonzero(masks[number])) - int(np.count_nonzero(fits))
        else:
            active[number * PIECE : number * PIECE + len(fits)] = fits
        changed[spec.name, number] = after = before + price * fits
        highest = max(highest, int(after.max()))
    if short:
        others = ", ".join(datasets_of(transaction, spec)) if for_all else ""
        raise BudgetExceeded(
            f"{short:,} of the accounts that {event!r} concerns in {spec.name!r} would exceed "
            f"{spec.budget}{others and f', with what was released from {others}'}; nobody was "
            "charged. Leave them out: ledger.affordable(population, event, "
            "who) says who still may.",
            dataset=spec.name,
            account=spec.name,
            quantity="epsilon",
            allowed=spec.budget.epsilon,
        )
    told = None if spec.private else highest
    transaction.write(Charged(spec.name, event, times, people, who, request, highest=told))
    transaction.pieces.update(changed)
    return active


def shared(transaction: Transaction, spec: PopulationSpec) -> int:
    """What every account pays for datasets its owner may be in."""
    return transaction.state.shared_cost(transaction.state.populations[spec.name])


def datasets_of(transaction: Transaction, spec: PopulationSpec) -> list[str]:
    """The datasets that an owner of an account may be in."""
    return transaction.state.sharing(transaction.state.populations[spec.name]).datasets


def affordable(
    transaction: Transaction, spec: PopulationSpec, event: Event, times: int, meant: Numbers | None
) -> Mask:
    """Which of those who are meant could pay."""
    price = price_of(spec, event, transaction.state.terms.adjacency, times)
    found = np.zeros(spec.size, dtype=np.bool_)
    limit = limit_of(spec) - shared(transaction, spec)
    masks = by_piece(meant, spec)
    for number, before in transaction.storage.pieces(spec, list(masks)).items():
        fits = masks[number] & (before <= limit - price)
        found[number * PIECE : number * PIECE + len(fits)] = fits
    return found
