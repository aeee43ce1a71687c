"""Objective perturbation with Gaussian noise: an upper curve of delta, and a table that has it.

The output w is the minimiser of sum_i log(1 + e^(-w.z_i)) + m g(w) + b.w, z_i a row times its label,
|z_i| <= q, Hess g >= I, b ~ N(0, sigma^2 I). Let a = q/sigma, k = q^2/m, c = log(1 + k/4) and G(eps; r) the
delta of N(r, 1) against N(0, 1), which grows with r.

1. w determines the noise, b(w) = sum_i s_i z_i - m grad g(w) with s_i = 1/(1 + e^(w.z_i)), so its density is
   phi(b(w)/sigma) det A(w), A = m Hess g + sum_i s_i (1-s_i) z_i z_i^T. Under D the noise b is normal.
2. Let z be replaced by z', with slopes s and s' at w. The noise is b + v on D', v = -s z + s' z', and without
   the record both Jacobians are the same A_0 >= m I: det A/det A' <= det A/det A_0 <= 1 + s(1-s) k. Hence
   L <= l(v) + h(s), l(v) = (2 b.v + |v|^2)/(2 sigma^2), h(s) = log(1 + s(1-s) k) <= c.
3. For a fixed v, l(v) is the loss of N(|v|/sigma, 1) against N(0, 1): E(1 - e^(eps - l(v)))+ is
   G(eps; |v|/sigma). But s and s' depend on b. l is convex, so largest at an end of 0 <= s' <= 1: with u = -z
   L <= max over s of h(s) + max(l(s u), l(s u + z')) =: max(A, B).
4. A null record, z' = 0 (zero-out): L <= A. As l(s u) <= s l(u) and h is concave with h'(1) = -k, A <= l(u)
   where l(u) >= k, and A <= c + max(0, l(u)) everywhere. So delta <= G(eps - c; a) from eps = c on, and
   delta <= G(eps; a) from c + k on. The other direction adds a record: h counts in its favour,
   L <= max(0, l(z')), and delta <= G(eps; a).
5. A replacement is both, one after the other: delta(e1 + e2) <= R(e1) + e^e1 G(e2; a), R as in 4.
6. A and B <= c + max(0, l(u), l(z'), l(u + z')): delta <= G(eps - c; 2a) + 2 G(eps - c; a) from c on.
7. l(s u + z') <= (1-s) l(z') + s l(u + z'). So B <= l(u + z') where l(u + z') >= l(z') + k, and elsewhere
   B <= c + k + l(z'). With 4: delta <= G(eps; 2a) + G(eps; a) + G(eps - c - k; a) from c + k on. Determinants
   cost nothing but the last two terms, which are much smaller than the first at small deltas.
8. Below c: L <= c + M with M >= 0, so delta <= 1 - e^(eps - c) E e^(-M) = 1 - e^(eps - c) (1 - delta_M),
   delta_M the bound of 4 or 6 at c.

The least of all is a bound, and so is its lower convex hull over e^eps. Every bound holds with a larger a, k
or c, and for both directions. From below: with a centre of g far from all rows every slope is as near to 1
as one likes, the minimiser is a Gaussian answer, and z, z' may be nearly opposite (from two dimensions on).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dpcheck.accounting.certify.gaussian import gdp_deltas
from dpcheck.accounting.pairs.known.finite import FiniteLoss
from dpcheck.accounting.pairs.noise.objective import LAST, GaussianObjectiveLoss
from dpcheck.accounting.pld.pairs.tables import from_curve
from dpcheck.numerics.rounding import Array

# Knots of a table, and standard deviations it goes to: more of them narrow the bound, none moves a side.
KNOTS, REACH = 401, 36.0
# Ways to share epsilon between removal and addition; any is sound.
SHARES = 33
# Smaller shifts are taken for this one, so that floats resolve e^eps along the curve.
LEAST_SHIFT = 1e-4
# More than the sums, differences and slopes of a curve err by, relative to itself, and epsilons by.
ROUNDING, MOVED = 1e-10, 1e-15


@lru_cache(maxsize=64)
def dominating(loss: GaussianObjectiveLoss) -> FiniteLoss:
    """Two tables of masses that dominate the loss, each the other backwards.

    Guarantee: no test of the loss beats the table's.
    """
    levels = _levels(loss)
    values = deltas_above(loss, levels)
    return from_curve(levels, values, float(values[-1]))


def deltas_above(loss: GaussianObjectiveLoss, epsilons: Array) -> Array:
    """Upper bounds on delta at every epsilon, from 0 up to 700.

    Guarantee: never below delta, in either direction.
    """
    shift = max(loss.shift, LEAST_SHIFT)
    found = _removed(loss, shift, epsilons)
    if loss.replaced:
        found = np.minimum(_in_turn(loss, shift, epsilons), _at_once(loss, shift, epsilons))
    return np.asarray(np.minimum(found * (1 + ROUNDING), 1.0))


def _levels(loss: GaussianObjectiveLoss) -> Array:
    """Knots where the curve may fall: from 0, from c and from c + k on."""
    far = REACH * max(loss.steepness, 2 * LEAST_SHIFT) * np.linspace(0.0, 1.0, KNOTS)
    starts = (0.0, loss.bend, loss.bend + loss.curvature)
    return np.unique(np.minimum(np.concatenate([start + far for start in starts]), LAST))


def _removed(loss: GaussianObjectiveLoss, shift: float, epsilons: Array) -> Array:
    """Step 4."""
    late = _later(loss.bend, epsilons, lambda at: gdp_deltas(shift, at))
    bent = loss.bend + loss.curvature
    return np.minimum(late, _past(bent, epsilons, gdp_deltas(shift, epsilons)))


def _in_turn(loss: GaussianObjectiveLoss, shift: float, epsilons: Array) -> Array:
    """Step 5, the shares of epsilon on a grid."""
    first = epsilons[:, None] * np.linspace(0.0, 1.0, SHARES)
    second = epsilons[:, None] - first
    left = np.maximum(second - MOVED * epsilons[:, None], 0.0)
    removal = _removed(loss, shift, first.ravel()).reshape(first.shape)
    addition = gdp_deltas(shift, left.ravel()).reshape(first.shape)
    return np.asarray(np.min(removal + np.exp(first) * addition, axis=1))


def _at_once(loss: GaussianObjectiveLoss, shift: float, epsilons: Array) -> Array:
    """Steps 6 and 7."""
    late = _later(
        loss.bend, epsilons, lambda at: gdp_deltas(2 * shift, at) + 2 * gdp_deltas(shift, at)
    )
    bent = loss.bend + loss.curvature
    beside = gdp_deltas(shift, _after(bent, epsilons))
    whole = gdp_deltas(2 * shift, epsilons) + gdp_deltas(shift, epsilons) + beside
    return np.minimum(late, _past(bent, epsilons, whole))


def _after(start: float, epsilons: Array) -> Array:
    """eps - start, rounded down, and 0 before it."""
    return np.asarray(np.maximum(epsilons - start - MOVED * (epsilons + start), 0.0))


def _past(start: float, epsilons: Array, values: Array) -> Array:
    """Values that bound delta from `start` on; before it nothing is said."""
    return np.where(epsilons >= start * (1 + MOVED), values, 1.0)


def _later(start: float, epsilons: Array, curve: Callable[[Array], Array]) -> Array:
    """delta of a loss of at most start + M, M >= 0 with that curve; before `start` by step 8."""
    at_start = min(float(curve(np.zeros(1))[0]), 1.0)
    before = 1 - np.exp(np.minimum(epsilons - start, 0.0)) * (1 - at_start) * (1 - 2 * MOVED)
    return np.where(epsilons >= start, curve(_after(start, epsilons)), before)
