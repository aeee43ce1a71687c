"""A distinguisher that reads the bits of floats: a finding about the sampler, kept apart.

Adding noise to 0 and to 1 in floating point gives numbers with different lowest bits: 1 + x has no
bit below 2^-52, while 0 + x near 0 has. What such bits tell is not what the algorithm promises to
hide, so it is its own part.

Reference: [Mironov2012].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.mechanism import Mechanism
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.data import Data

Array = NDArray[np.float64]
_COLUMNS = 4


def read_bits(outputs: Array) -> Array:
    """Per value: weight of the lowest set bit, exponent, trailing zeros, lowest 8 bits.

    >>> read_bits(np.array([[1.5]])).tolist()
    [[-1.0, 1.0, 51.0, 0.0]]
    """
    mantissa, exponent = np.frexp(outputs[:, :_COLUMNS])
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    lowest = whole & -whole
    zeros = np.where(whole > 0, np.log2(np.maximum(lowest, 1).astype(float)), 53.0)
    return np.hstack([exponent - 53 + zeros, exponent, zeros, whole & 0xFF]).astype(float)


@dataclass(frozen=True, slots=True)
class BitReader:
    """The mechanism, seen through its outputs' bits."""

    mechanism: Mechanism

    def __call__(self, data: Data, size: int, rng: np.random.Generator) -> Array:
        """Bits of `size` outputs."""
        return read_bits(self.mechanism.sample(data, size, rng))


def with_float_parts(plans: Sequence[PartPlan]) -> list[PartPlan]:
    """The plans, each followed by its floating-point part: black box, nothing proved."""
    result: list[PartPlan] = []
    for plan in plans:
        result.append(plan)
        if plan.mechanism is not None and plan.pairs:
            inner = plan.mechanism
            seen = Mechanism(BitReader(inner), True, inner.timeout, None, inner.batch)
            part = (
                "floating-point"
                if plan.claim.part == "data"
                else (f"{plan.claim.part} floating-point")
            )
            claim = replace(plan.claim, part=part)
            result.append(
                PartPlan(plan.name, plan.variant, claim, seen, plan.pairs, floating_point=True)
            )
    return result
