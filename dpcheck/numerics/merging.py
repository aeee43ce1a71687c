"""Laws that are used a few times, added up before they are transformed.

Many different losses, each used once, would need a transform of the whole window each. Their masses are
few, so neighbours are added up directly first, while that takes less time than the transform it saves.

A mass of a sum is a sum of at most n non-negative products, n the length of the shorter law: it errs by at
most n + 1 units of itself, in whatever order it is added up ([Higham2002] section 3.1; what underflows is
counted where tilted masses are, `dpcheck.numerics.tilted`). So the sum is right within these units and
within the relative errors of both laws.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcheck.numerics.rounding import UNIT, Array

# Laws used more often are never added up with others: their powers are cheap, and their counts may change.
FEW_USES = 20
# Nanoseconds, as measured: of one product in a sum, of one call, and of a factor a point of its window.
PRODUCT, CALL, POINT = 0.12, 4e3, 25.0


@dataclass(frozen=True, slots=True)
class Merged:
    """A law with its first index, used `count` times: one of several (`members`), or the sum of some of them.

    `drift` bounds the relative error that adding up caused, all uses together.
    """

    x: Array
    first: int
    count: int
    members: tuple[int, ...]
    drift: float = 0.0


def merge(laws: Sequence[tuple[Array, int]], counts: Sequence[int], size: int) -> list[Merged]:
    """The laws, those that are used a few times added up as long as that is cheaper in a window of `size`."""
    if len(laws) == 1:
        return [Merged(*laws[0], counts[0], (0,))]
    spared = POINT * size + CALL
    alone, heap = [], []
    for i, ((x, first), count) in enumerate(zip(laws, counts, strict=True)):
        one = Merged(x, first, count, (i,))
        if count > FEW_USES or _cost(len(x), (count - 1) * len(x)) > spared:
            alone.append(one)
        else:
            heap.append((1 + count * (len(x) - 1), i, one))
    heapq.heapify(heap)
    while len(heap) > 1:
        shortest, _, one = heapq.heappop(heap)
        if _cost(shortest, heap[0][0]) > spared:
            alone.append(one)
            break
        length, i, other = heap[0]
        together = _sum(_once(one), _once(other))
        heapq.heapreplace(heap, (shortest + length - 1, i, together))
    return sorted([*alone, *(one for *_, one in heap)], key=lambda one: one.members)


def _cost(length: int, other: int) -> float:
    return PRODUCT * length * other + CALL


def _once(one: Merged) -> Merged:
    """All uses of a law as one."""
    found = base = Merged(one.x, one.first, 1, one.members, one.drift)
    for _ in range(one.count - 1):
        found = _sum(found, base)
    return Merged(found.x, found.first, 1, one.members, found.drift)


def _sum(a: Merged, b: Merged) -> Merged:
    units = min(len(a.x), len(b.x)) + 2
    return Merged(
        np.convolve(a.x, b.x),
        a.first + b.first,
        1,
        (*a.members, *b.members),
        a.drift + b.drift + units * UNIT,
    )
