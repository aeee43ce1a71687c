"""One independent part of what a pair releases, and how parts add up.

P is the law on D, Q the law on D'. `forward` and `backward` are proved lower bounds on the largest
log P/Q and log Q/P; they add over independent parts. `loss` is a pair of laws the part contains (it
or a garbling of it), for accounting at a delta above 0; None where there is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpcheck.accounting.accountants.best import epsilon_lower
from dpcheck.accounting.losses import FiniteLoss, Loss
from dpcheck.accounting.sides import OneSide

# Losses are proved in real arithmetic; floats of the audited code move them by less than this share.
RELATIVE = 1e-9


@dataclass(frozen=True, slots=True)
class Part:
    """See the module; `ways` are the outputs it sits in, `atoms` the draws (of D) it uses."""

    forward: float
    backward: float
    loss: Loss | None
    ways: tuple[str, ...]
    atoms: frozenset[int]
    words: str
    witness: tuple[tuple[str, object], ...] = field(default=())


NOTHING = Part(0.0, 0.0, None, (), frozenset(), "")


def revealed(ways: Sequence[str], atoms: frozenset[int], words: str) -> Part:
    """A part that tells D from D' for certain."""
    loss = FiniteLoss((1.0, 0.0), (0.0, 1.0))
    return Part(math.inf, math.inf, loss, tuple(ways), atoms, words)


def finite_part(
    p: Sequence[float],
    q: Sequence[float],
    ways: Sequence[str],
    atoms: frozenset[int],
    words: str,
    witness: tuple[tuple[str, object], ...] = (),
) -> Part:
    """A part with a table of outcomes, each mass known within RELATIVE."""

    def largest(a: Sequence[float], b: Sequence[float]) -> float:
        ratios = [
            math.inf if y == 0 else math.log(x / y) for x, y in zip(a, b, strict=True) if x > 0
        ]
        return max(0.0, max(ratios, default=0.0))

    total_p, total_q = math.fsum(p), math.fsum(q)
    p, q = tuple(x / total_p for x in p), tuple(x / total_q for x in q)
    loss = FiniteLoss(p, q) if p != q else None
    return Part(largest(p, q), largest(q, p), loss, tuple(ways), atoms, words, witness)


def epsilon_of(parts: Sequence[Part], delta: float) -> float:
    """A proved lower bound on the pair's epsilon at `delta`, over both directions.

    Guarantee: never above the true epsilon of this pair of laws. Independent parts compose; a part
    without a loss is dropped at delta > 0, which is a garbling.
    """
    forward = math.fsum(part.forward for part in parts)
    backward = math.fsum(part.backward for part in parts)
    if delta == 0:
        return _lowered(max(forward, backward))
    counts: Counter[Loss] = Counter(_kept(parts))
    if not counts:
        return 0.0
    for way in (counts.items(), [(loss.reversed(), times) for loss, times in counts.items()]):
        safe = math.prod((1 - loss.revealed) ** times for loss, times in way)
        if (1 - safe) * (1 - RELATIVE) > delta:
            return math.inf  # more than delta falls on outcomes the other side never has
    return _lowered(epsilon_lower(OneSide(tuple(counts.items()), Fraction(0), 0.0), delta))


_MOST = 24  # different losses that are composed; the others are dropped, a garbling


def _kept(parts: Sequence[Part]) -> list[Loss]:
    """Losses to compose: all normal ones, and of the others the few different ones that tell most."""
    # A little less than the losses, so that rounding in the audited code cannot convict.
    found = [(part.loss.shrunk(RELATIVE), part) for part in parts if part.loss is not None]
    normal = [loss for loss, _ in found if loss.normal_shift is not None]
    others = [item for item in found if item[0].normal_shift is None]
    others.sort(key=lambda item: -max(item[1].forward, item[1].backward))
    different = list(dict.fromkeys(loss for loss, _ in others))[:_MOST]
    return [*normal, *(loss for loss, _ in others if loss in different)]


def _lowered(epsilon: float) -> float:
    return max(0.0, epsilon * (1 - RELATIVE) - RELATIVE)


__all__ = ["NOTHING", "Part", "epsilon_of", "finite_part", "revealed"]
