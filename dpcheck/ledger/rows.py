"""Whether a release describes the rows it was made from."""

from __future__ import annotations

from dpcheck.core.errors import InvalidParameter, LedgerMisuse
from dpcheck.core.events.event import Event, Parallel, children
from dpcheck.core.validate import count

_MOST_PER_UNIT = 10_000  # what a release costs is computed for every number up to it


def check_rows(event: Event, rows: int, path: str) -> None:
    """Every leaf that states its rows states `rows`; the branches of a split share them.

    Guarantee: raises LedgerMisuse for a leaf outside any split that says another number, and for a
    split whose branches say more than `rows` together.
    """
    stack = [event]
    while stack:
        node = stack.pop()
        if isinstance(node, Parallel):
            together = sum(_most_rows(branch) for branch in node.events)
            if together > rows:
                raise LedgerMisuse(
                    f"a split in this release says {together} rows, but {path!r} has {rows}; "
                    "describe each part by the rows it was made from.",
                    rows=together,
                )
            continue
        stack += children(node)
        stated = getattr(node, "rows", None)
        if stated is not None and stated != rows:
            raise LedgerMisuse(
                f"{node!r} says {stated} rows, but {path!r} has {rows}; describe the release by "
                "the rows it was made from.",
                rows=stated,
            )


def _most_rows(event: Event) -> int:
    """The rows a branch needs: the most of any leaf, the sum over a nested split."""
    if isinstance(event, Parallel):
        return sum(_most_rows(branch) for branch in event.events)
    own = getattr(event, "rows", None) or 0
    return max([own, *(_most_rows(inner) for inner in children(event))])


def rows_per_unit(value: object) -> int:
    """How many rows one unit may own, or InvalidParameter."""
    most = count("max_rows_per_unit", value)
    if most > _MOST_PER_UNIT:
        raise InvalidParameter(
            f"max_rows_per_unit must be at most {_MOST_PER_UNIT}, got {most}: bound how many rows of "
            "one unit are used, for example by sampling them, before anything is released.",
            name="max_rows_per_unit",
            value=most,
        )
    return most


def too_deep() -> InvalidParameter:
    """The error for an event that Python cannot follow to its end."""
    return InvalidParameter(
        "this event is nested too deeply; write event * n for n repetitions, and "
        "Sequential((a, b, ...)) for many events instead of a + b + ..."
    )
