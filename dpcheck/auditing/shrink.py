"""A pair of datasets that shows a violation, made smaller while it still does.

Only records both sides share are dropped, so the pair stays neighbouring and every record stays one the
user wrote. Where the number of records is public it stays as it is: a claim about six records says nothing
about one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.pairs.forms import rows_of
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Data
from dpcheck.core.records import Records
from dpcheck.core.relation import Relation

_ATTEMPTS = 12
_KEPT = 0.9


def kept_loss(strongest: float, claim: float) -> float:
    """What a shrunk witness must still prove: most of what the strongest one has above the claim.

    >>> round(kept_loss(4.7, 1.0), 9)
    4.33
    """
    return claim + _KEPT * (strongest - claim)


def has_public_rows(adjacency: Adjacency | Relation, description: Records | None) -> bool:
    """Whether the number of records is part of what everybody may know.

    A description says so itself. Of pairs that were given, replace-one and zero-out keep the number, and
    a function may have its noise from it.
    """
    if description is not None:
        return description.rows is not None
    return adjacency is not Adjacency.ADD_REMOVE


def shrink_pair(pair: Pair, still_fails: Callable[[Pair], bool], attempts: int = _ATTEMPTS) -> Pair:
    """The smallest pair reached in so many attempts; `pair` itself where nothing can be dropped.

    Guarantee: what is returned is `pair`, or a pair for which `still_fails` was true.
    """
    left = attempts
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(pair):
            if left == 0:
                return pair
            left -= 1
            if still_fails(smaller):
                pair, progress = smaller, True
                break
    return pair


def _smaller(pair: Pair) -> Iterator[Pair]:
    """Without all shared records, without half of them, without each of the last few."""
    kept = _shared(pair)
    if kept is None:
        return
    shared = len(kept)
    cuts = [shared, shared // 2, *([1] if shared > 1 else [])]
    for cut in dict.fromkeys(c for c in cuts if c):
        for drop in [kept[:cut]] if cut == shared else [kept[:cut], kept[-cut:]]:
            first = _without(pair.first, [i for i, _ in drop])
            second = _without(pair.second, [j for _, j in drop])
            if _size(first) + _size(second) > 0:
                label = f"{pair.label.removesuffix(', shrunk')}, shrunk"
                yield replace(pair, first=first, second=second, label=label)


def _shared(pair: Pair) -> list[tuple[int, int]] | None:
    """Positions of the records both sides share, in order; None where data have no records."""
    one, two = rows_of(pair.first), rows_of(pair.second)
    if one is None or two is None:
        return None
    if len(one) == len(two):
        return [(i, i) for i in range(len(one)) if one[i] == two[i]]
    head = 0
    while head < min(len(one), len(two)) and one[head] == two[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(two)) - head and one[-1 - tail] == two[-1 - tail]:
        tail += 1
    ends = [(len(one) - k, len(two) - k) for k in range(tail, 0, -1)]
    return [(i, i) for i in range(head)] + ends


def _without(data: Any, drop: list[int]) -> Data:
    if isinstance(data, np.ndarray):
        return np.delete(data, drop, axis=0)
    if isinstance(data, tuple):
        return tuple(_without(column, drop) for column in data)
    if isinstance(data, dict):
        return {name: _without(column, drop) for name, column in data.items()}
    if hasattr(data, "iloc"):
        kept = np.setdiff1d(np.arange(len(data)), drop)
        return data.iloc[kept].reset_index(drop=True)
    if hasattr(data, "with_row_index"):  # polars
        return data[[i for i in range(len(data)) if i not in set(drop)]]
    gone = set(drop)
    return [item for index, item in enumerate(data) if index not in gone]


def _size(data: Data) -> int:
    return len(rows_of(data) or [])
