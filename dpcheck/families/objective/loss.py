"""The exact loss of one objective-perturbed block on a compressed pair: fast, and certified.

With the rows times their labels x~, L = (eps'/2)(|b'| - |b|) + log det A - log det A',
b = sum x~ s(-w.x~) - n lam (w - u) - n Delta w, A = m I + sum s(1-s) x~ x~^T, m = n (lam + Delta).
Written apart from the mechanism's own density, so that each checks the other.
"""

from __future__ import annotations

import math

from flint import arb

from dpcheck.auditing.auditors.witness_search import Loss, PairPoint, Vector
from dpcheck.core.events.training import ObjectivePerturbation
from dpcheck.numerics.balls import below, precision


def _pull(margin: float) -> float:
    """s(-margin) without overflow."""
    if margin > 700:
        return 0.0
    return 1.0 / (1.0 + math.exp(margin)) if margin > -700 else 1.0


def fast_loss(event: ObjectivePerturbation) -> Loss:
    """The loss in plain floats, for the search; in one or two dimensions."""
    pull_to_center = event.rows * event.regularization
    modulus = event.rows * (event.regularization + event.extra_regularization)
    half, others = event.noise_epsilon / 2, event.rows - 1

    def side(row: Vector, point: PairPoint) -> tuple[float, float]:
        w, u = point.output, point.center
        noise = [pull_to_center * c - modulus * v for v, c in zip(w, u, strict=True)]
        flat = [[modulus if i == j else 0.0 for j in range(len(w))] for i in range(len(w))]
        for x, times in ((row, 1), (point.background, others)):
            s = _pull(sum(a * b for a, b in zip(w, x, strict=True)))
            curve = times * s * (1 - s)
            for i, a in enumerate(x):
                noise[i] += times * s * a
                for j, b in enumerate(x):
                    flat[i][j] += curve * a * b
        determinant = (
            flat[0][0] if len(w) == 1 else flat[0][0] * flat[1][1] - flat[0][1] * flat[1][0]
        )
        return math.hypot(*noise), determinant

    def loss(point: PairPoint) -> float:
        length, determinant = side(point.changed, point)
        other, below_it = side(point.replaced, point)
        return half * (other - length) + math.log(determinant / below_it)

    return loss


Certificate = tuple[ObjectivePerturbation, PairPoint, float, float, float]


def certified_loss(
    event: ObjectivePerturbation,
    point: PairPoint,
    norm_bound: float,
    clip: float,
    center_scale: float,
) -> arb:
    """A ball around the loss on rows of norm at most `clip`, scaled to `norm_bound` by the block.

    Guarantee: the true loss of the ideal mechanism on these very floats lies in the ball; a row
    that leaves the clipping norm is refused. The centre is `center_scale` times the point's.
    """
    factor, limit = arb(norm_bound) / arb(clip), arb(clip) ** 2
    for row in (point.changed, point.replaced, point.background):
        if not sum((arb(v) ** 2 for v in row), arb(0)) <= limit:
            raise ValueError("a row is longer than the public norm bound")
    modulus = arb(event.rows) * (arb(event.regularization) + arb(event.extra_regularization))
    pull_to_center = arb(event.rows) * arb(event.regularization)
    w = [arb(v) for v in point.output]
    u = [arb(v) * arb(center_scale) for v in point.center]
    size = len(w)

    def side(row: Vector) -> tuple[arb, arb]:
        noise = [pull_to_center * u[i] - modulus * w[i] for i in range(size)]
        flat = [[modulus if i == j else arb(0) for j in range(size)] for i in range(size)]
        for values, times in ((row, 1), (point.background, event.rows - 1)):
            x = [arb(v) * factor for v in values]
            s = 1 / (1 + sum((a * b for a, b in zip(w, x, strict=True)), arb(0)).exp())
            curve = times * s * (1 - s)
            for i in range(size):
                noise[i] += times * s * x[i]
                for j in range(size):
                    flat[i][j] += curve * x[i] * x[j]
        determinant = flat[0][0] if size == 1 else flat[0][0] * flat[1][1] - flat[0][1] * flat[1][0]
        # A ball around a sum of squares may dip below 0, where it has no square root.
        total = sum((b * b for b in noise), arb(0))
        return total.nonnegative_part().sqrt(), determinant

    length, determinant = side(point.changed)
    other, below_it = side(point.replaced)
    return arb(event.noise_epsilon) / 2 * (other - length) + (determinant / below_it).log()


def certified_lower(blocks: list[Certificate]) -> float:
    """A float certainly not above the sum of the blocks' losses."""
    with precision(256):
        return below(sum((certified_loss(*block) for block in blocks), arb(0)))
