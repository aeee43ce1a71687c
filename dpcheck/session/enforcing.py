"""`@dpcheck.enforced`: a function that can only release what its budget bears."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.data import Data
from dpcheck.core.errors import InvalidParameter, InvalidRecords
from dpcheck.core.records import Records
from dpcheck.ledger.ledger import Ledger
from dpcheck.tracing.calling import arguments_for, guarded
from dpcheck.tracing.enforcer import Enforcer, bind, generator, handed_over
from dpcheck.tracing.outputs import check_output
from dpcheck.tracing.standins import stand_in
from dpcheck.tracing.tables import Table

F = TypeVar("F", bound=Callable[..., Data])


def enforced(
    *,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    dataset: Data = None,
    adjacency: Adjacency | str | None = None,
    records: Records | None = None,
) -> Callable[[F], F]:
    """Run a plain numpy function (data, rng) so that it cannot spend more than its budget.

    Every release is paid for in the ledger before it is made; BudgetExceeded is raised instead of a
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
            tracer = Enforcer(book.terms.adjacency, lambda event: book.spend(dataset, event))
            symbol = _symbol(tracer, data, records)
            source = np.random.default_rng() if rng is None else rng
            given, named = arguments_for(function, symbol, generator(tracer, source))
            output = guarded(tracer, function, given, named)
            check_output(tracer, output)
            return handed_over(output)

        run.ledger = book  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate


def _symbol(tracer: Enforcer, data: Data, records: Records | None) -> Data:
    """Symbols that carry the real data."""
    if records is not None:
        described = Records(records.fields, len(data), records.person, records.rows_per_person)
        symbol = stand_in(tracer, described, "columns" if isinstance(data, dict) else "array")
        if not isinstance(data, dict) and np.shape(data)[1:] != symbol.dims[1:]:
            raise InvalidRecords("the data do not have the columns that records= describes.")
    else:
        symbol = stand_in(tracer, data, None)
    if isinstance(symbol, Table):
        tracer.refuse("unknown-operation", "a DataFrame at run time", "pass its columns as arrays")
    if records is not None and records.rows_per_person > 1:
        raise InvalidParameter("enforced runs count one record a person.", name="rows_per_person")
    return bind(symbol, data)
