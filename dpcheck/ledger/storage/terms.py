"""The terms a ledger was opened on, checked, written into its file and read back."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import cast

from dpcheck.accounting.compose import profiles
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import DpcheckError, InvalidParameter, LedgerBroken, LedgerMisuse
from dpcheck.core.events.event import Event, Repeated, Sequential
from dpcheck.core.events.serialize import from_dict, to_dict
from dpcheck.core.validate import probability
from dpcheck.ledger.pricing.costs import literal
from dpcheck.ledger.pricing.filters import choose_filter
from dpcheck.ledger.pricing.loop import kinds
from dpcheck.ledger.state import Terms
from dpcheck.ledger.storage.seals import Fields


def make_terms(
    budget: Budget,
    adjacency: Adjacency | str,
    filter_: str | None,
    order: float | None,
    reserve: float | None,
    expect: Event | None = None,
) -> Terms:
    """Terms from what a user wrote, or InvalidParameter."""
    if not isinstance(budget, Budget):
        raise InvalidParameter(f"budget must be a Budget, got {budget!r}.", value=budget)
    share = None if reserve is None else literal(probability("reserve", reserve))
    chosen = choose_filter(budget, filter_, order)
    relation, bundle = as_adjacency(adjacency), announced(expect)
    if bundle is not None:
        profiles(bundle, relation)  # an error now, not with the first release
    return Terms(budget, relation, chosen, share, bundle)


def announced(expect: Event | None) -> Event | None:
    """The smallest bundle of releases that repeats into `expect`: a loop of it is the finest."""
    if expect is None:
        return None
    if not isinstance(expect, Event):
        raise InvalidParameter(
            f"expect must be an event, for example 10 * step + evaluation, got {expect!r}.",
            value=expect,
        )
    found = kinds(expect)
    if not found:
        raise InvalidParameter("expect needs at least one release.", value=expect)
    common = math.gcd(*found.values())
    numbers = reversed([(e, n // common) for e, n in found.items()])  # as they were written
    parts = tuple(e if n == 1 else Repeated(e, n) for e, n in numbers)
    return parts[0] if len(parts) == 1 else Sequential(parts)


def write_terms(terms: Terms) -> Fields:
    """Terms as plain data."""
    return {
        "epsilon": terms.budget.epsilon,
        "delta": terms.budget.delta,
        "adjacency": terms.adjacency.value,
        "filter": terms.filter.name,
        "order": terms.filter.order,
        "reserve": None if terms.reserve is None else str(terms.reserve),
        **({} if terms.expect is None else {"expect": to_dict(terms.expect)}),
    }


def read_terms(fields: Fields) -> Terms:
    """The terms that `write_terms` wrote, or LedgerBroken."""
    try:
        reserve = cast("str | None", fields["reserve"])
        budget = Budget(cast(float, fields["epsilon"]), cast(float, fields["delta"]))
        order = cast("float | None", fields["order"])
        return Terms(
            budget,
            as_adjacency(cast(str, fields["adjacency"])),
            choose_filter(budget, cast(str, fields["filter"]), order),
            None if reserve is None else Decimal(reserve),
            announced(from_dict(fields["expect"])) if "expect" in fields else None,
        )
    except (KeyError, ValueError, TypeError, ArithmeticError, DpcheckError) as error:
        raise LedgerBroken(
            f"the terms of the ledger make no sense ({error}); restore it from a backup."
        ) from None


def check_agreement(path: object, terms: Terms, given: dict[str, object]) -> None:
    """Refuse to open a ledger on other terms than its own; None was not given."""
    stored = {
        "budget": terms.budget,
        "adjacency": terms.adjacency,
        "filter": terms.filter.name,
        "order": terms.filter.order,
        "reserve": terms.reserve and float(terms.reserve),
        "expect": terms.expect,
    }
    for name, value in given.items():
        if isinstance(value, str) and name == "adjacency":
            value = as_adjacency(value)
        if isinstance(value, Event):
            value = announced(value)
        if value is not None and value != stored[name]:
            raise LedgerMisuse(
                f"the ledger {path} was opened with {name} {stored[name]}, not {value}; "
                "open it as it is, or start another.",
                stored=stored[name],
            )
