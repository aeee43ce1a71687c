"""What questions share: plans by bands of counts and deltas, and spectra kept within a limit of memory.

Nothing here is certified: a plan that fits badly gives a loose bound, never a wrong one. Plans depend on
the question alone, never on what was asked before.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpcheck.accounting.losses import Loss
from dpcheck.accounting.pld.build import build
from dpcheck.accounting.pld.window import Cumulants
from dpcheck.numerics.side import Side
from dpcheck.numerics.spectrum import Spectrum

# Counts are planned in steps of this ratio; within it a window still fits.
BAND = 1.05
# Counts up to here are planned one by one.
FEW = 20
# Bytes of spectra that are kept.
KEPT = 24 * 2**20


def banded(count: int) -> int:
    """The count that a plan for `count` is made for, within a few percent.

    >>> banded(7), banded(1000), banded(1001)
    (7, 1021, 1021)
    """
    if count <= FEW:
        return count
    return round(BAND ** round(math.log(count) / math.log(BAND)))


@dataclass(frozen=True, slots=True)
class Plan:
    """The moments of a composition, the tilt for a delta, and the epsilon it is centred at."""

    cumulants: Cumulants
    tilt: float
    center: float
    key: Hashable


@lru_cache(maxsize=256)
def plan(losses: tuple[Loss, ...], counts: tuple[int, ...], side: Side, log_delta: int) -> Plan:
    """The plan of a composition at delta = e^log_delta."""
    parts = [(build(loss, side), count) for loss, count in zip(losses, counts, strict=True)]
    log = min(float(log_delta), -1e-3)
    cumulants = Cumulants(parts, log)
    tilt = cumulants.tilt_for_delta(math.exp(log))
    center = float(cumulants(np.array([tilt]))[1][0])
    return Plan(cumulants, tilt, center, (losses, counts, side, log_delta))


class Shelf:
    """Spectra by key, the least recently used given up first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Spectrum] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, make: Callable[[], Spectrum | None]) -> Spectrum | None:
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


def _size(terms: Spectrum) -> int:
    arrays = [
        (f.x, f.levels, f.loss.masses, f.turn, f.log_modulus, f.spread) for f in terms.factors
    ]
    return terms.active.nbytes + sum(array.nbytes for group in arrays for array in group)


SPECTRA = Shelf()
