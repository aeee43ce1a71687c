"""Declarations: what is written for them, and what contradicts what was declared before."""

from __future__ import annotations

from dpcheck.core.errors import LedgerMisuse
from dpcheck.ledger.provenance import SplitKind
from dpcheck.ledger.spending import Transaction
from dpcheck.ledger.state import DatasetSpec
from dpcheck.ledger.storage.entries import DatasetDeclared, OverlapDeclared, SplitDeclared
from dpcheck.ledger.storage.interface import Retry


def declare_dataset(transaction: Transaction, spec: DatasetSpec) -> None:
    """A dataset, unless it is known; LedgerMisuse if it is known as something else."""
    known = transaction.state.specs.get(spec.name)
    if spec.name in transaction.state.populations:
        raise LedgerMisuse(f"{spec.name!r} is a population. Give the dataset another name.")
    if known is not None and known != spec:
        raise LedgerMisuse(f"dataset {spec.name!r} was declared before, as {known}.")
    if known is None:
        refuse_look_alikes(transaction, spec.name)
        transaction.write(DatasetDeclared(spec))


def refuse_look_alikes(transaction: Transaction, name: str) -> None:
    """LedgerMisuse if a reader would take the new name for one that is there."""
    like = transaction.storage.drawn_like(name)
    if like == name:  # declared by another client since the group was looked up
        raise Retry(f"{name!r} was declared meanwhile")
    if like is not None:
        raise LedgerMisuse(
            f"there is {like!r} ({like!a}), which looks like {name!a}: is it that one? Two "
            "names for the same people would have two budgets; choose one that differs.",
            dataset=like,
        )


def declare_overlap(transaction: Transaction, names: tuple[str, ...]) -> None:
    """Accounts of several datasets, which must be new to releases."""
    state = transaction.state
    for account in state.accounts_with(names):
        used = [root.path for root in account.roots if state.released(root)]
        if used:
            raise LedgerMisuse(
                f"{used[0]!r} has releases already. Declare overlaps before the first release.",
                dataset=used[0],
            )
        if not account.accepts(account.total(), None):
            raise LedgerMisuse(
                f"the plans of {account.name!r} together exceed the budget "
                f"{account.budget} of a person in all of them; declare overlaps first."
            )
    transaction.write(OverlapDeclared(names))


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
        raise LedgerMisuse(f"{path!r} was split as {name!r} before, otherwise.")
    return paths
