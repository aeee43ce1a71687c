"""Operands that are smaller than the result: which of its entries each of theirs goes to.

A key names a record's entries in their order. Along leading axes they are repeated as a whole, which the order
tells; any other way gets a name of its own, or `x[:, None]` and `x[None, :]` would be one function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from dpcheck.training.torch.facts import Fact, digest

Pattern = tuple[tuple[int, int], ...]


def pattern_of(own: Sequence[int], whole: Sequence[int]) -> Pattern:
    """(entries, entries of the result) from the first axis on that is not repeated; empty where none is after it.

    >>> pattern_of((1, 5), (4, 5)), pattern_of((5, 1), (5, 4))
    ((), ((5, 5), (1, 4)))
    """
    first = next((i for i, n in enumerate(own) if n > 1), len(own))
    rest = tuple(zip(own[first:], whole[first:], strict=True))
    return () if all(a == b for a, b in rest) else rest


def spread(tensor: Any, fact: Fact, shape: Sequence[int], axis: int | None, records: int) -> Fact:
    """The fact of an operand in a result of this shape, whose records lie along `axis`, counted from the end."""
    own = [1 if step == 0 else n for n, step in zip(tensor.shape, tensor.stride(), strict=True)]
    own, whole = [1] * (len(shape) - len(own)) + own, list(shape)
    if axis is not None:
        own[axis], whole[axis] = max(own[axis] // records, 1), max(whole[axis] // records, 1)
        if fact.owner is None:
            own[axis] = min(own[axis], whole[axis])
    pattern = pattern_of(own, whole)
    times = math.prod(whole) // max(math.prod(own), 1) if fact.owner is not None else 1
    if pattern or (times > 1 and max(own) > 1):
        mark = digest("spread", pattern, times)
        fact = replace(fact, key=digest(mark, fact.key), exact=digest(mark, fact.exact))
    return repeated(fact, times)


def repeated(fact: Fact, times: int) -> Fact:
    """What lies there several times is longer than it was, and no longer the leaf it was."""
    if times <= 1:
        return fact
    exact, key = fact.name()
    leaf = digest("repeated", times, exact), digest("repeated", times, key)
    return replace(fact, leaf=leaf, made_of=None, bounded=None)


def axis_of(tensor: Any, per_record: Sequence[int]) -> tuple[int, int] | None:
    """Along which axis, counted from the end, a tensor's records lie, and how many there are."""
    for i, (n, own) in enumerate(zip(tensor.shape, per_record, strict=True)):
        if n != own:
            return i - tensor.dim(), n // own
    return None


def pointwise(func: Any, name: str) -> bool:
    """Whether an operation combines the entries in their places."""
    return torch.Tag.pointwise in func.tags or name in ("copy", "copy_")
