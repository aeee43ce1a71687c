"""What is proved of a composition, and that it answers for another one that is no worse."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpcheck.accounting.certify.many import dominated
from dpcheck.accounting.pairs.pair import Loss, Parts, reverse_parts
from dpcheck.accounting.pld.built import build
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.rounding import UNIT, Array
from dpcheck.numerics.side import Side

Shifts = list[tuple[float, int]]


@dataclass(frozen=True, slots=True)
class Spends:
    """The epsilon of `parts` at `delta`, P and Q as they stand, is at most `epsilon`; below, at least.

    With `both` it is of the reversed composition too.
    """

    parts: Parts
    side: Side
    epsilon: float
    delta: float
    both: bool
    assumes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The delta of `parts` at each of `epsilons` is at most the one of `deltas`; below, at least."""

    parts: Parts
    side: Side
    epsilons: Array
    deltas: Array
    both: bool
    assumes: tuple[str, ...] = ()


Theorem = Spends | Curve


def at_delta_1(parts: Parts, delta: float, side: Side) -> Spends:
    """At a delta of 1 or more everything is allowed."""
    found = 0.0 if delta >= 1 or side is Side.LOWER else math.inf
    return Spends(parts, side, found, delta, both=True)


def excess(asked: Parts, known: Parts, *, directed: bool = False) -> float:
    """How much more epsilon `asked` costs than `known` at most, rounded up; infinite where nothing is known.

    Of the reversed compositions too, unless it is `directed`.

    Guarantee: delta_asked(epsilon + excess) <= delta_known(epsilon) for every epsilon.

    A part with losses L <= l is paid for by l: (1 - e^(epsilon + l - L - R))+ <= (1 - e^(epsilon - R))+ for
    the loss R of the others. A choice costs at most all its options at once. Gaussians compose to one, and
    a smaller shift is a larger one with noise added.
    """
    if _no_more(asked, known):
        return 0.0
    have, room = _counted(known)
    wanted, shifts = _counted(dominated(asked))
    left = list((wanted - have).items())
    paid = 0.0
    while left:
        loss, times = left.pop()
        largest = _largest(loss, directed)
        if math.isfinite(largest):
            # `times` as a float, the product and the sum: three roundings, two steps.
            paid = math.nextafter(paid + math.nextafter(times * largest, math.inf), math.inf)
        elif options := loss.choices():
            # What was there for one was there for all: options are looked for among what is left of it.
            more, normal = _counted(
                (inner, count * times) for option in options for inner, count in option
            )
            spare = have - wanted
            wanted += more
            left += (more - spare).items()
            shifts += normal
        else:
            return math.inf
    return paid if _at_most(shifts, room) else math.inf


def _largest(loss: Loss, directed: bool) -> float:
    """The largest loss of a pair, or of this direction alone."""
    largest = loss.largest()[1]
    if not (directed and loss.on_lattice(Side.UPPER)):
        return largest
    try:
        top = build(loss, Side.UPPER).top
    except CannotCertify:  # too steep
        return largest
    # Right within some units of 1 + loss.
    return min(max(top, 0.0) + 64 * UNIT * (1 + abs(top)), largest)


def contains(asked: Parts, known: Parts) -> bool:
    """Whether whoever sees `asked` sees `known` too."""
    if _no_more(known, asked):
        return True
    have, room = _counted(asked)
    wanted, shifts = _counted(known)
    return wanted <= have and _at_most(shifts, room)


def _no_more(some: Parts, others: Parts) -> bool:
    """Whether these are the same pairs in the same order, none of them used more often."""
    return len(some) == len(others) and all(
        n <= m and one == other for (one, n), (other, m) in zip(some, others, strict=True)
    )


def _counted(parts: Iterable[tuple[Loss, int]]) -> tuple[Counter[Loss], Shifts]:
    """The pairs that are listed in others counted by themselves, and the shifts of Gaussians apart."""
    counts: Counter[Loss] = Counter()
    shifts: Shifts = []
    for whole, uses in parts:
        for loss, times in whole.flat():
            if loss.normal_shift is None:
                counts[loss] += times * uses
            else:
                shifts.append((loss.normal_shift, times * uses))
    return counts, shifts


def _at_most(some: Shifts, all_: Shifts) -> bool:
    """Whether Gaussians of these shifts compose to no more than the others do."""
    return some == all_ or _squares(some) <= _squares(all_)


def _squares(shifts: Shifts) -> Fraction:
    return sum((Fraction(shift) ** 2 * times for shift, times in shifts), Fraction(0))


def ways(parts: Parts) -> tuple[Parts, ...]:
    """The composition in both directions; one where they are the same."""
    back = reverse_parts(parts)
    return (parts,) if back == parts else (parts, back)
