"""What questions share: plans by bands of counts and deltas, and spectra kept within a limit of memory.

Nothing here is certified: a plan that fits badly gives a loose bound, never a wrong one. Plans depend on
the question alone, never on what was asked before.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from dpcheck.accounting.certify.lattice import Transformed
from dpcheck.accounting.losses import Loss
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.window import Cumulants, reach
from dpcheck.numerics.merging import FEW_USES
from dpcheck.numerics.side import Side

# Counts are planned in steps of this ratio; within it a window still fits.
BAND = 1.08
# Epsilons whose log delta is estimated to lie within this of each other share a plan.
DELTA_BAND = 3.0
# How often a delta is estimated before it is planned for, and the smallest log delta that is.
MOST_LOOKS, RAREST = 12, -699.0
# Bytes of spectra that are kept.
KEPT = 24 * 2**20


@lru_cache(maxsize=4096)
def banded(count: int) -> int:
    """The count that a plan for `count` is made for, within a few percent.

    >>> banded(7), banded(1000), banded(1001)
    (7, 1019, 1019)
    """
    if count <= FEW_USES:  # planned one by one, and so may be added up with others
        return count
    return round(BAND ** round(math.log(count) / math.log(BAND)))


def raised(count: int) -> int:
    """The count or one at most 1/64 above it, the same for many neighbours that share its plan.

    >>> raised(60), raised(1001), raised(1008)
    (60, 1008, 1008)
    """
    unit = 1 << max(count.bit_length() - 7, 0)
    more = -(-count // unit) * unit
    return more if banded(more) == banded(count) else count


@dataclass(frozen=True, slots=True)
class TiltPlan:
    """The moments of a composition, the tilt for a delta, and the epsilon it is centred at."""

    cumulants: Cumulants
    tilt: float
    center: float

    def lead(self) -> float:
        """About how much less the reversed pair costs: the difference of their Renyi bounds at the tilt."""
        # The reversed loss is -L under Q, and E_Q e^(-tL) = E_P e^(-(1+t)L).
        reversed_ = self.cumulants.whole(-1 - self.tilt)
        return (reach(self.cumulants, self.tilt).value - reversed_) / self.tilt


def planned(
    losses: tuple[Loss, ...], counts: tuple[int, ...], side: Side, log_delta: int
) -> tuple[TiltPlan, Hashable]:
    """The plan of about this composition at delta = e^log_delta, and the key of its spectrum."""
    return _planned(losses, tuple(map(banded, counts)), side, log_delta)


@lru_cache(maxsize=512)
def _planned(
    losses: tuple[Loss, ...], counts: tuple[int, ...], side: Side, log_delta: int
) -> tuple[TiltPlan, Hashable]:
    return plan(*_shared(losses, counts, side), log_delta), (losses, counts, side, log_delta)


def picture(losses: tuple[Loss, ...], counts: tuple[int, ...], side: Side) -> Cumulants:
    """The moments of the whole law, nothing left out."""
    return _picture(*_shared(losses, counts, side))


def _shared(
    losses: tuple[Loss, ...], counts: tuple[int, ...], side: Side
) -> tuple[tuple[Loss, ...], tuple[int, ...], Side]:
    """About this composition, the same for both sides where rounding is all that tells them apart."""
    rough = tuple(_rough(loss) for loss in losses)
    found = tuple(loss if near is None else near for loss, near in zip(losses, rough, strict=True))
    return found, counts, side if None in rough else Side.UPPER


@lru_cache(maxsize=64)
def _picture(losses: tuple[Loss, ...], counts: tuple[int, ...], side: Side) -> Cumulants:
    parts = zip(losses, counts, strict=True)
    return Cumulants([(build(loss, side), count) for loss, count in parts])


@lru_cache(maxsize=512)
def _rough(loss: Loss) -> Loss | None:
    """The loss with its parameters rounded, where that is the same picture; None elsewhere."""
    if not loss.smooth:
        return loss if loss.listed else None
    return type(loss)(*(_rounded(getattr(loss, field.name)) for field in fields(loss)))


def _rounded(value: object) -> Any:
    if isinstance(value, tuple):
        return tuple(_rounded(part) for part in value)
    if not isinstance(value, float):
        return value
    return min(float(f"{value:.10g}"), 1.0) if value <= 1 else float(f"{value:.10g}")


@lru_cache(maxsize=256)
def plan(losses: tuple[Loss, ...], counts: tuple[int, ...], side: Side, log_delta: int) -> TiltPlan:
    """The plan of a composition at delta = e^log_delta."""
    parts = [(build(loss, side), count) for loss, count in zip(losses, counts, strict=True)]
    log = min(float(log_delta), -1e-3)
    cumulants = Cumulants(parts, log)
    tilt = cumulants.tilt_for_delta(math.exp(log))
    return TiltPlan(cumulants, tilt, reach(cumulants, tilt).center)


def banded_below(log_delta: float) -> float:
    """The next multiple of DELTA_BAND at or below it."""
    return max(DELTA_BAND * math.floor(log_delta / DELTA_BAND), RAREST)


def delta_band(
    losses: tuple[Loss, ...], counts: tuple[int, ...], side: Side, epsilon: float
) -> float:
    """About log delta at `epsilon`, at most, in multiples of DELTA_BAND.

    What is too rare to matter depends on delta. The less is left out the larger is what is found: the one
    that finds itself is looked for by halving.
    """
    low, high = RAREST, 0.0
    band = banded_below(picture(losses, counts, side).log_divergence(epsilon))
    for _ in range(MOST_LOOKS):
        found = planned(losses, counts, side, round(band))[0].cumulants.log_divergence(epsilon)
        if abs(found - band) <= DELTA_BAND:
            break
        low, high = (max(low, found), band) if found < band else (band, min(high, found))
        better = banded_below((low + high) / 2)
        if better == band:
            break
        band = better
    return min(band, banded_below(found))


class Shelf:
    """Spectra by key, the least recently used given up first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Transformed] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, make: Callable[[], Transformed | None]) -> Transformed | None:
        """The kept spectrum, or a new one."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        made = make()
        if made is not None and _size(made) <= KEPT // 4:
            self._kept[key] = made
            self._bytes += _size(made)
            while self._bytes > KEPT:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= _size(dropped)
        return made

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._bytes = 0


def _size(terms: Transformed) -> int:
    found = terms.spectrum
    laws = [(law.x, law.levels, law.loss.masses) for law in found.laws]
    factors = [(f.turn, f.log_modulus, f.spread) for f in found.factors]
    return found.active.nbytes + sum(array.nbytes for group in laws + factors for array in group)


SPECTRA = Shelf()
