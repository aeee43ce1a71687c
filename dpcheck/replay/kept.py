"""Answers that are kept: the first call draws noise, the next one on the same data draws none."""

from __future__ import annotations

from collections.abc import Callable

from dpcheck.core.data import Value
from dpcheck.replay.outputs import Flat
from dpcheck.replay.run import Observer


def keeps_answers(function: Callable[[Value, Value], Value], data: Value, seed: int = 0) -> bool:
    """Whether a second call gives the first one's answer again without any noise of its own.

    Both calls are made with plain numbers, so that a cache holds nothing else afterwards.

    >>> kept = {}
    >>> keeps_answers(lambda x, rng: kept[x] if x in kept else kept.setdefault(x, x + rng.normal()), 1.0)
    True
    >>> keeps_answers(lambda x, rng: x + rng.normal(), 1.0), keeps_answers(lambda x, rng: x, 1.0)
    (False, False)
    """
    observer = Observer(function)
    first, second = (observer.check(data, seed + turn) for turn in (0, 1))
    drawn, again = bool(first.recorder.draws), bool(second.recorder.draws)
    return drawn and not again and _same(first.flat, second.flat)


def _same(one: Flat, two: Flat) -> bool:
    try:
        return one.ways == two.ways and all(
            type(a) is type(b) and (a == b or (a != a and b != b))
            for a, b in zip(one.scalars, two.scalars, strict=True)
        )
    except Exception:  # values of somebody's type, compared by their own code
        return False
