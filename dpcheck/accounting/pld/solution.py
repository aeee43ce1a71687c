"""An answer of a composed law, and whether it is good enough to stop at."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcheck.accounting.certify.lattice import Law
from dpcheck.accounting.certify.theorem import Spends
from dpcheck.numerics.series import Window
from dpcheck.numerics.side import Side

# Error allowance, relative to delta, above which a point is computed again at its own tilt.
QUIET = 1e-4
# The same as a share of epsilon, as much as the lattice costs.
LOUD = {Side.UPPER: 6e-5, Side.LOWER: 2e-4}
# Error allowance that says that a window was tilted to the wrong place.
DROWNED = 5e-3


@dataclass(frozen=True, slots=True)
class Solution:
    """An epsilon (nan if not in the window), its share of error allowance, the law and what it proves."""

    value: float
    noise: float
    law: Law | None
    side: Side
    proof: Spends | None = None
    beyond: bool = False

    @property
    def window(self) -> Window | None:
        """The window the law was planned with."""
        return None if self.law is None else self.law.transformed.spectrum.window

    @property
    def quiet(self) -> bool:
        """Whether the error allowance costs less than the lattice: d epsilon = d log(delta) / tilt."""
        if math.isnan(self.value):
            return False
        tilt = self.window.tilt if self.window is not None else 0.0
        return self.noise <= max(QUIET, LOUD[self.side] * tilt * abs(self.value))
