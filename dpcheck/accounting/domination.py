"""Which compositions need not be accounted, because another one costs at least as much in every way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TypeVar

from dpcheck.accounting.losses import LossBounds

Profile = tuple[tuple[LossBounds, int], ...]
_Found = TypeVar("_Found")


def in_order(found: Collection[_Found]) -> Collection[_Found]:
    """The same whatever order they were found in."""
    return found if len(found) == 1 else sorted(found, key=repr)


def undominated(options: list[Profile]) -> tuple[Profile, ...]:
    """Without repetitions and without those another option dominates."""
    distinct = list(dict.fromkeys(options))
    if len(distinct) > 1000:  # quadratic below; keep all of them
        return tuple(in_order(distinct))
    kept: list[Profile] = []
    for option in distinct:
        if any(_dominated(option, other) for other in kept):
            continue
        kept = [other for other in kept if not _dominated(other, option)]
        kept.append(option)
    return tuple(in_order(kept))


def _dominated(small: Profile, large: Profile) -> bool:
    """Whether each leaf of `small` is matched by its own leaf of `large` that is at least as bad."""
    kinds = Counter(type(bounds.upper) for bounds, _ in large)
    for bounds, times in small:
        matches = [(b, t) for b, t in large if type(b.upper) is type(bounds.upper)]
        if kinds[type(bounds.upper)] != 1 or not _no_worse(bounds, times, *matches[0]):
            return False
    return len({type(b.upper) for b, _ in small}) == len(small)


def _no_worse(small: LossBounds, times: int, large: LossBounds, large_times: int) -> bool:
    if times > large_times or small.failure > large.failure:
        return False
    return small.upper.no_worse(large.upper)
