"""What a verdict depends on, in sentences for whoever signs the report."""

from __future__ import annotations

import math

from dpcheck.auditing.plan import PartPlan
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.records import Field, Number, OneOf, Records

_MOST = 8  # columns that are named one by one
_SAID = {None: "as stated", False: "a guess", True: "confirmed"}


def conditions_of(plan: PartPlan) -> tuple[str, ...]:
    """The conditions that come from the data: bounds on records, who confirmed them, public n."""
    found = []
    described = None if plan.pair_search is None else plan.pair_search.description
    if described is not None:
        found += _of_records(described)
    elif plan.pairs:
        count = len(plan.pairs)
        found.append(
            "Only one pair of datasets was tried, the one given."
            if count == 1
            else f"Only {count} pairs of datasets were tried, those given."
        )
    if plan.claim.adjacency is Adjacency.REPLACE_ONE:
        rows = "" if described is None or described.rows is None else f", {described.rows:,},"
        found.append(f"The number of rows{rows} is public.")
    if str(plan.claim.adjacency).startswith("answers"):
        found.append(
            "Nobody said which records move the answers that far, so no budget can price this."
        )
    return tuple(found)


def _of_records(described: Records) -> list[str]:
    guessed = described.guessed
    told = [f"{name} {_may(field)} ({_SAID[field.confirmed]})" for name, field in described.fields]
    more = f"; {len(told) - _MOST} more columns" if len(told) > _MOST else ""
    lines = [f"Every record fits this description: {'; '.join(told[:_MOST])}{more}."]
    if guessed:
        which = "This description" if len(guessed) == len(told) else ", ".join(sorted(guessed))
        be = "is a guess" if len(guessed) in (1, len(told)) else "are guesses"
        lines.append(f"{which} {be} that nobody has confirmed.")
    return lines


def _may(field: Field) -> str:
    if isinstance(field, OneOf):
        return f"is one of {len(field.values)} values"
    if not isinstance(field, Number):
        return "is any text"
    kind = "a whole number" if field.integer else "a number"
    ends = [f"from {field.low:g}"] if math.isfinite(field.low) else []
    ends += [f"up to {field.high:g}"] if math.isfinite(field.high) else []
    missing = ", or missing" if field.missing else ""
    return f"is {' '.join([kind, *ends])}{missing}"
