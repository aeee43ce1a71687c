"""The exact epsilon of objective perturbation.

The released w determines the noise, b(w; D) = sum_i x~_i s(-w.x~_i) - rows lam grad g(w) - rows Delta w
with x~ = y x and s the logistic function, so the loss at w is closed form:
(eps'/2)(|b'| - |b|) + log det A - log det A', A the Jacobian of b. Replacing a record moves b by at
most q(s + s'), s' <= 1, and what the two Jacobians share is at least m I with
m = rows (lam + Delta), so the determinant ratio is at most 1 + s(1-s) q^2/m.
"""

from __future__ import annotations

from flint import arb

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.training import ObjectivePerturbation
from dpcheck.numerics.balls import above, below, precision


def objective_epsilon(
    noise_epsilon: float, modulus: float | arb, norm_bound: float, adjacency: Adjacency
) -> tuple[float, float]:
    """F*(eps', q, m): (lower, upper) around the supremum of the loss over data, output and centre.

    Guarantee: upper is never below the supremum, lower never above it.
    Reference: [Chaudhuri2011] Theorem 9 for the mechanism; the tight constant is derived above.
    Assumes: the exact minimiser, public rows, |x| <= norm_bound, Hess g >= I.

    >>> round(objective_epsilon(0.950615, 10.0, 1.0, Adjacency.REPLACE_ONE)[1], 6)
    0.950615
    """
    with precision(120):
        a = arb(noise_epsilon) * arb(norm_bound) / 2
        c = arb(norm_bound) ** 2 / arb(modulus)
        # Stationary point of a s + log(1 + c s(1-s)), written without cancellation.
        root = ((2 - a) ** 2 + 4 * a * (a / c + 1)).sqrt()
        s = 2 * (a / c + 1) / (2 - a + root)
        s = arb(min(1.0, max(0.5, float(s.mid()))))
        inside = 1 + c * s * (1 - s)
        value = a * s + inside.log()
        slope = a + c * (1 - 2 * s) / inside
        # Concave, so the tangent at s bounds it everywhere on [1/2, 1]; below 1/2 it is increasing.
        rise = (slope * (1 - s)).max(slope * (arb(0.5) - s)).max(arb(0))
        base = a if adjacency is Adjacency.REPLACE_ONE else arb(0)
        return below(base + value), above(base + value + rise)


def event_epsilon(event: ObjectivePerturbation, adjacency: Adjacency) -> tuple[float, float]:
    """`objective_epsilon` of an event under replace-one or zero-out."""
    with precision(120):
        modulus = event.rows * (arb(event.regularization) + arb(event.extra_regularization))
    return objective_epsilon(event.noise_epsilon, modulus, event.norm_bound, adjacency)
