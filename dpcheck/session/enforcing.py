"""`@dpcheck.enforced`: a function that can only release what its budget bears."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.data import Data
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.records import Records
from dpcheck.ledger.ledger import Ledger
from dpcheck.program.live import run_enforced

F = TypeVar("F", bound=Callable[..., Data])


def enforced(
    *,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    dataset: Data = None,
    adjacency: Adjacency | str | None = None,
    records: Records | None = None,
) -> Callable[[F], F]:
    """Run a plain numpy or pandas function (data, rng) so that it cannot spend more than its budget.

    The function is read, statement by statement, while it runs. Every release is paid
    for in the ledger before it is made; BudgetExceeded is raised instead of a
    release that would overspend, NotProvable where private data would decide what happens. Released
    values are plain arrays. Give a `budget`, or a `ledger` and the `dataset` in it that the data are.
    `records` says what each record may be, as for `dpcheck.prove`.

    Guarantee: the ledger's, over all calls together.
    Assumes: what `dpcheck.prove` assumes of arithmetic and of the description.

    >>> import dpcheck
    >>> @enforced(budget=dpcheck.Budget(1.0), records=dpcheck.records(x=dpcheck.number(0, 1), rows=3))
    ... def total(x, rng):
    ...     return x.sum() + rng.laplace(scale=2.0)
    >>> _ = total(np.array([0.1, 0.2, 0.9]), np.random.default_rng(0))
    >>> total.ledger.epsilon().upper
    0.5
    """
    if ledger is None:
        if budget is None:
            raise InvalidParameter("give a budget, or a ledger and its dataset.", name="budget")
        ledger = Ledger(budget, as_adjacency(adjacency or Adjacency.REPLACE_ONE))
        dataset = ledger.dataset("data")
    elif dataset is None or budget is not None:
        raise InvalidParameter(
            "with ledger= name the dataset=, which has its budget there.", name="dataset"
        )
    elif adjacency is not None and as_adjacency(adjacency) is not ledger.terms.adjacency:
        raise InvalidParameter(
            f"the ledger counts under {ledger.terms.adjacency}, not {adjacency}.", name="adjacency"
        )
    book = ledger

    def decorate(function: F) -> F:
        @wraps(function)
        def run(data: Data, rng: np.random.Generator | None = None) -> Data:
            source = np.random.default_rng() if rng is None else rng
            return run_enforced(
                function,
                data,
                source,
                book.terms.adjacency,
                lambda event: book.spend(dataset, event),
                records,
            )

        run.ledger = book  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate
