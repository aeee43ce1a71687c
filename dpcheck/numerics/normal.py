"""Tails of the normal law by Taylor polynomials of Mills' ratio, with a proved error.

Mills' ratio M(z) = (1 - Phi(z)) / phi(z) satisfies M' = z M - 1 and M^(k+1) = z M^(k) + k M^(k-1). At nodes
1/8 apart ball arithmetic gives M and from it all coefficients c_j = M^(j)/j!; between them the polynomial
of degree 11 in h, |h| <= 1/16, is evaluated in floating point, and the tail is M(z) e^{-z^2/2} / sqrt(2 pi).

Error, in units (UNIT times the value). |M^(12)| falls in z (M is completely monotone) and M^(12)(0) =
2^5.5 Gamma(6.5), so the remainder is below 2.8e-5 16^-12 < 1e-19, a thousandth of a unit since M >= 0.024
up to z = 40. z - k/8 is exact (Sterbenz' lemma, [Higham2002] Theorem 2.5). A coefficient errs by one
unit, Horner's rule by at most 24 units of sum_{j>=1} |c_j h^j| <= 0.06 M plus one of the last sum
([Higham2002] section 5.1; the sum is checked at every node by the tests): together below 4. The square
errs by one unit of z^2/2, e^x by the 8 units of ELEMENTARY, three products and 1/sqrt(2 pi) by 4. Total:
17 + z^2/2.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from flint import arb

from dpcheck.numerics.balls import precision
from dpcheck.numerics.rounding import TINY, UNIT, Array

NODES_PER_UNIT = 8
DEGREE = 11
# The tail underflows before this.
LAST = 40.0
# Among more points than this it pays to look for those beyond it.
MANY = 2**16


@lru_cache(maxsize=1)
def coefficients() -> Array:
    """c_j at node k/8 in row j, column k, rounded to nearest from balls."""
    rows = []
    with precision(
        240
    ):  # the recursion cancels at large z; the radius below says that enough is left
        for k in range(int(LAST) * NODES_PER_UNIT + 1):
            z = arb(k) / NODES_PER_UNIT
            density = (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
            before, value = arb(0), (z / arb(2).sqrt()).erfc() / 2 / density
            row = [value]
            for j in range(DEGREE):
                # M' = z M - 1; beyond, j M^(j-1) takes the place of -1.
                before, value = value, z * value + (j * before if j else arb(-1))
                row.append(value / arb(math.factorial(j + 1)))
            assert all(term.rel_accuracy_bits() > 64 for term in row)
            rows.append([float(term.mid()) for term in row])
    return np.ascontiguousarray(np.array(rows).T)


def normal_tail(z: Array) -> tuple[Array, Array]:
    """(1 - Phi(z), bound on its error) for z >= 0, infinity included.

    >>> value, error = normal_tail(np.array([1.0]))
    >>> round(float(value[0]), 15), bool(error[0] < 1e-15)
    (0.158655253931457, True)
    """
    if len(z) > MANY:  # of a steep law most points are far away
        far = z > LAST
        if far.any():
            tail, error = np.zeros_like(z), np.full_like(z, TINY)
            tail[~far], error[~far] = _near_tail(z[~far])
            return tail, error
    return _near_tail(np.minimum(z, LAST))


def _near_tail(near: Array) -> tuple[Array, Array]:
    at = np.rint(near * NODES_PER_UNIT).astype(np.int64)
    h = near - at / NODES_PER_UNIT
    table = coefficients()
    total, next_ = table[DEGREE].take(at), np.empty(near.shape)
    for j in range(DEGREE - 1, -1, -1):
        total *= h
        # In this mode nothing is copied on the way; all nodes are in the table.
        total += table[j].take(at, out=next_, mode="clip")
    half = near * near / 2
    tail = total * np.exp(-half) * (1 / math.sqrt(2 * math.pi))
    # Beyond LAST, and wherever it underflows, the tail is below TINY.
    return tail, tail * (UNIT * (17 + half)) + TINY
