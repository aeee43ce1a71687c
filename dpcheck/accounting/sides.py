"""The two sides of a composition: the pairs that dominate it, and the pairs it contains.

Two kinds of probability are taken out first. A *leak* (the delta of ApproxDP) reveals everything: with
total leak D, delta(eps) = D + (1-D) delta_0(eps) [Kairouz2017, Theorem 3.3]. A *failure* is a total
variation distance t to the pair that is accounted, on both sides: it adds (1 + e^eps) t.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from dpcheck.accounting.compose import Profile
from dpcheck.accounting.losses import (
    NO_LOSS,
    Loss,
    Parts,
    one_run,
)
from dpcheck.accounting.pairs.combined.selected import SelectingLoss
from dpcheck.accounting.pairs.rounded import rounded
from dpcheck.numerics.side import Side

NO_LEAK = Fraction(0)


class OneSide(NamedTuple):
    """A composition without leaks: what is left to account, and the probabilities taken out."""

    parts: Parts
    leak: Fraction
    failure: float
    #: Below: the selection that all of it is, where it is one; `parts` are then those of one run.
    selected: SelectingLoss | None = None


def upper_side(profile: Profile) -> OneSide:
    """The dominating pairs of a composition."""
    failure = math.fsum(bounds.failure * times for bounds, times in profile) * (1 + 1e-14)
    return _without_leaks(((bounds.upper, times) for bounds, times in profile), failure, Side.UPPER)


def lower_side(profile: Profile) -> OneSide:
    """The pairs the composition contains; leaves without a known one are dropped, which only lowers."""
    known = [(b.lower, t) for b, t in profile if b.lower is not None and not b.failure]
    side = _without_leaks(one_run(known), 0.0, Side.LOWER)
    only, times = known[0] if len(known) == 1 else (None, 0)
    chosen = only.selection if only and times == 1 else None
    if chosen is None or any(loss.leak > 0 for loss, _ in chosen.inner):
        return side
    return side._replace(selected=chosen)


def _without_leaks(parts: Iterable[tuple[Loss, int]], failure: float, side: Side) -> OneSide:
    kept: dict[Loss, int] = {}
    leak = NO_LEAK
    for loss, times in parts:
        if loss.leak > 0:
            leak = 1 - (1 - leak) * _no_leak(loss.leak, times, side)
            loss = loss.without_leak()
        if times and loss != NO_LOSS:
            kept[loss] = kept.get(loss, 0) + times
    return OneSide(tuple(rounded(kept, side).items()), leak, failure)


def _no_leak(delta: float, times: int, side: Side) -> Fraction:
    """(1 - delta)^times, exactly for few times; beyond, from a leak rounded to its side."""
    if times <= 64:
        return (1 - Fraction(delta)) ** times
    slip = 1e-12 if side is Side.UPPER else -1e-12
    return 1 - Fraction(min(1.0, -math.expm1(times * math.log1p(-delta)) * (1 + slip)))
