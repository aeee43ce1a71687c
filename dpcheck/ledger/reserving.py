"""Receipts: a spend under an id is reserved once and released once, however often it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcheck.core.errors import AlreadyReleased, BudgetExceeded, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.ledger.sources import FromDataset
from dpcheck.ledger.spending import Transaction
from dpcheck.ledger.storage.entries import ReleaseShown
from dpcheck.ledger.storage.interface import Kept
from dpcheck.ledger.storage.receipts import asked_for, words_of

if TYPE_CHECKING:
    from dpcheck.ledger.ledger import Ledger


class Receipt:
    """Releases that are counted and not yet made. Call `release()` before their noise is shown.

    Whoever asks again under the same id, because the answer was lost, gets the same receipt, until one
    of them calls `release()`; from then on the id is used up. So one charge never means two releases.
    A receipt that is never released stays counted.
    """

    __slots__ = ("ledger", "path", "request_id")

    def __init__(self, ledger: Ledger, request_id: str, path: str) -> None:
        self.ledger, self.request_id, self.path = ledger, request_id, path

    def release(self) -> None:
        """From here on the releases count as made; AlreadyReleased if they do already."""
        self.ledger.release(self)

    @property
    def released(self) -> bool:
        """Whether somebody has called `release()`."""
        return self.ledger.released(self)

    def __repr__(self) -> str:
        return f"<Receipt {self.request_id!r} of {self.path!r}>"


def reserve(
    transaction: Transaction, source: FromDataset, event: Event, times: int
) -> BudgetExceeded | None:
    """Count what was not counted under this id; None if it is reserved now."""
    state, request = transaction.state, source.request
    assert request is not None
    if is_reserved(transaction, request, source.path, asked_for(event), times):
        return None
    if not source.accepts(state, event, times):
        return source.refusal(state, event, times)
    transaction.write(*source.entries(state, event, times))
    return None


def is_reserved(transaction: Transaction, request: str, path: str, what: str, times: int) -> bool:
    """Whether this id is reserved for this; an error if it is used up, or for something else."""
    kept = transaction.storage.kept(request)
    if kept is None:
        return False
    if kept != Kept(request, path, what, times, kept.released):
        raise LedgerMisuse(
            f"request {request!r} already stands for another spend: {kept.times} x {words_of(kept.event)} "
            f"from {kept.path!r}. Give this one an id of its own.",
            request_id=request,
        )
    if kept.released:
        raise _used_up(request)
    return True


def show(transaction: Transaction, path: str, request: str) -> None:
    """Use up an id."""
    kept = transaction.storage.kept(request)
    if kept is None:
        raise LedgerMisuse(f"this ledger has no request {request!r}; spend with request_id= first.")
    if kept.released:
        raise _used_up(request)
    transaction.write(ReleaseShown(path, request))


def _used_up(request: str) -> AlreadyReleased:
    return AlreadyReleased(
        f"request {request!r} was released already. To release again, spend again under another id.",
        request_id=request,
    )
