"""Declarations: what is written for them, and what contradicts what was declared before."""

from __future__ import annotations

from dataclasses import fields

from dpcheck.core.errors import LedgerMisuse
from dpcheck.ledger.populations.accounts import PopulationSpec
from dpcheck.ledger.populations.sharing import Sharing
from dpcheck.ledger.provenance import SplitKind
from dpcheck.ledger.spending import Transaction
from dpcheck.ledger.state import DatasetSpec, State, pairs
from dpcheck.ledger.storage.entries import DatasetDeclared, OverlapDeclared, SplitDeclared
from dpcheck.ledger.storage.interface import Retry


def knows_dataset(transaction: Transaction, spec: DatasetSpec) -> bool:
    """Whether a dataset was declared; LedgerMisuse if it is known as something else."""
    known = transaction.state.specs.get(spec.name)
    if spec.name in transaction.state.populations:
        raise LedgerMisuse(f"{spec.name!r} is a population. Give the dataset another name.")
    if known is not None and known != spec:
        said = [
            f"{field.name}={getattr(known, field.name)!r}, not {getattr(spec, field.name)!r}"
            for field in fields(known)
            if getattr(known, field.name) != getattr(spec, field.name)
        ]
        raise LedgerMisuse(
            f"dataset {spec.name!r} already exists with {'; '.join(said)}. Declare it the same way."
        )
    return known is not None


def declare_dataset(transaction: Transaction, spec: DatasetSpec) -> None:
    """A dataset, unless it is known."""
    if not knows_dataset(transaction, spec):
        refuse_look_alikes(transaction, spec.name)
        transaction.write(DatasetDeclared(spec))


def refuse_look_alikes(transaction: Transaction, name: str) -> None:
    """LedgerMisuse if a reader would take the new name for one that is there."""
    like = transaction.storage.drawn_like(name)
    if like == name:  # declared by another client since the group was looked up
        raise Retry(f"{name!r} was declared meanwhile")
    if like is not None:
        written = repr(like) if like.isascii() else f"{like!r} ({like!a})"
        raise LedgerMisuse(
            f"there is {written}, which looks like {name!a}: is it that one? Two "
            "names for the same people would have two budgets; choose one that differs.",
            dataset=like,
        )


def declare_overlap(transaction: Transaction, names: tuple[str, ...]) -> None:
    """Accounts of several datasets, or of datasets and a population; datasets must be new to releases."""
    state = transaction.state
    populations = [state.populations[name] for name in names if name in state.populations]
    check_population(state, [known.spec for known in populations])
    for known in populations:
        near = state.sharing(known).datasets
        new = [name for name in names if name in state.specs and name not in near]
        used = [name for name in new if state.released(state.nodes[name])]
        if used:
            raise _released_before(used[0])
    for account in state.accounts_with(names):
        used = [root.path for root in account.roots if state.released(root)]
        if used:
            raise _released_before(used[0])
        if not account.accepts(account.total(), None):
            raise LedgerMisuse(
                f"the plans of {account.name!r} together exceed the budget "
                f"{account.budget} of a person in all of them; declare overlaps first."
            )
    nearby = (known for name in names for known in state.populations_by_dataset.get(name, ()))
    for known in {known.spec.name: known for known in (*populations, *nearby)}.values():
        sharing = Sharing(known.spec, state.edges | pairs(names))
        costs = {name: state.whole_cost(state.nodes[name]) for name in sharing.datasets}
        if not sharing.bears(state.most(known), sharing.paid(costs, state.terms.filter)):
            raise LedgerMisuse(
                f"what the accounts of {known.spec.name!r} have paid and the plans of "
                f"{', '.join(sharing.datasets)} together exceed {known.spec.budget}, the budget of a "
                "person in all of them; declare overlaps first."
            )
    transaction.write(OverlapDeclared(names))


def check_population(state: State, specs: list[PopulationSpec]) -> None:
    """LedgerMisuse if datasets cannot overlap these populations."""
    if len(specs) > 1:
        raise LedgerMisuse(
            f"{specs[0].name!r} and {specs[1].name!r} are two populations, and those cannot overlap: "
            "nobody knows which account of one belongs to which of the other. Use one population."
        )
    for spec in specs:
        if spec.private:
            raise LedgerMisuse(
                f"{spec.name!r} has private accounts, and a dataset cannot overlap them: whether a release "
                "from it was refused would tell how much somebody has paid. Release from the "
                "population instead, without who=."
            )
        budget, whole = spec.budget, state.terms.budget
        if budget.epsilon > whole.epsilon or budget.delta > whole.delta:
            raise LedgerMisuse(
                f"the accounts of {spec.name!r} may pay {budget}, more than {whole}, the ledger's budget "
                "for people in several datasets. Declare a population with a smaller budget=."
            )


def _released_before(name: str) -> LedgerMisuse:
    return LedgerMisuse(
        f"{name!r} has releases already. Declare overlaps before the first release.", dataset=name
    )


def declare_split(
    transaction: Transaction,
    path: str,
    name: str | None,
    kind: SplitKind,
    labels: list[str],
    rows: list[int | None],
) -> list[str]:
    """Parts, unless they are known; their paths."""
    splits = transaction.state.nodes[path].splits
    if name is None:
        name = f"{kind.value}#{1 + sum(s.kind is kind for s in splits.values())}"
    paths = [f"{path}/{name}[{label}]" for label in labels]
    known = splits.get(name)
    if known is None:
        transaction.write(SplitDeclared(path, name, kind, tuple(labels), tuple(rows)))
    elif (
        known.kind is not kind
        or [part.path for part in known.parts] != paths
        or [part.rows for part in known.parts] != rows
    ):
        raise LedgerMisuse(f"{path!r} was already split as {name!r}, in another way.")
    return paths
