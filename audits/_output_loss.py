"""The exact loss of one output-perturbed minimiser on a compressed pair: fast, and certified.

Every vector in the release is the minimiser of
    J(w) = (1/n) sum_i log(1 + exp(-w.x_i)) + log(1 + exp(w.p)) + lam |w|^2 / 2
over rows x (times their label, where there is one); the last row is the public one, absent for a
source model. Noise of density exp(-rate |b|) gives a loss of at most rate |w - w'|, the distance of
the two minimisers, and exactly that at the release w itself. Written apart from the mechanism's own
solver, so that each checks the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy.special import expit

from dpcheck.numerics.balls import below, precision

Array = NDArray[np.float64]
Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class OutputPair:
    """D has `changed`, D' `replaced` in its place; other rows are `background`, public ones `public`.

    Entry j of a row stands for the `sizes[j]` features of a group, which all have that value.
    """

    changed: Vector
    replaced: Vector
    background: Vector
    public: Vector


@dataclass(frozen=True, slots=True)
class OutputGame:
    """What the loss depends on besides the rows."""

    rate: float
    rows: int
    regularization: float
    sizes: tuple[int, ...]
    has_public: bool

    def weights(self) -> Array:
        """How much the changed row, the background and the public row weigh in the objective."""
        return np.array([1 / self.rows, (self.rows - 1) / self.rows, float(self.has_public)])


def minimisers(game: OutputGame, rows: Array) -> Array:
    """The minimisers for a batch of rows (batch, 3, groups), by damped Newton; plain floats.

    A public row enters with its sign turned, so that all three have the same loss.
    """
    sizes, weights = np.array(game.sizes, dtype=float), game.weights()
    signed = rows * np.array([1.0, 1.0, -1.0])[:, None]
    lam = game.regularization
    w = np.zeros((len(rows), len(sizes)))

    def gradient(w: Array) -> tuple[Array, Array]:
        pulls = expit(-np.einsum("brg,bg->br", signed, w * sizes))
        return lam * w - np.einsum("br,brg->bg", weights * pulls, signed), pulls

    found, pulls = gradient(w)
    norm = np.sqrt(np.einsum("bg,bg,g->b", found, found, sizes))
    for _ in range(100):
        if (norm <= 1e-15).all():
            break
        curve = weights * pulls * (1 - pulls)
        # In group coordinates the Hessian is lam I + R^T diag(curve) R diag(sizes).
        hessian = np.einsum("br,brg,brh->bgh", curve, signed, signed) * sizes
        hessian += lam * np.eye(len(sizes))
        step = np.linalg.solve(hessian, found[:, :, None])[:, :, 0]
        share = np.ones(len(rows))
        for _ in range(40):
            trial = w - share[:, None] * step
            moved, chances = gradient(trial)
            length = np.sqrt(np.einsum("bg,bg,g->b", moved, moved, sizes))
            late = length > (1 - 0.1 * share) * norm
            if not late.any():
                break
            share = np.where(late, share / 2, share)
        better = length < norm
        if not better.any():
            break
        w = np.where(better[:, None], trial, w)
        found = np.where(better[:, None], moved, found)
        pulls = np.where(better[:, None], chances, pulls)
        norm = np.where(better, length, norm)
    return w


def both_minimisers(game: OutputGame, pairs: Sequence[OutputPair]) -> tuple[Array, Array]:
    """The minimisers on D and on D' of every pair."""
    first = np.array([(p.changed, p.background, p.public) for p in pairs])
    second = np.array([(p.replaced, p.background, p.public) for p in pairs])
    return minimisers(game, first), minimisers(game, second)


def losses(game: OutputGame, pairs: Sequence[OutputPair]) -> Array:
    """rate |w - w'| of every pair, in plain floats."""
    first, second = both_minimisers(game, pairs)
    lengths = np.sqrt(np.einsum("bg,bg,g->b", first - second, first - second, np.array(game.sizes)))
    return np.asarray(game.rate * lengths)


def certified_lower(game: OutputGame, pair: OutputPair) -> float:
    """A float certainly not above the loss at the exact minimiser of D, on these very floats.

    The objective is lam-strongly convex, so each true minimiser is within |gradient| / lam of any
    point; the gradient at the float solutions is enclosed in balls.
    """
    first, second = both_minimisers(game, [pair])
    with precision(256):
        lam = arb(game.regularization)
        slack = [
            _gradient_norm(game, row, pair, point[0]) / lam
            for row, point in ((pair.changed, first), (pair.replaced, second))
        ]
        apart = arb(0)
        for size, a, b in zip(game.sizes, first[0], second[0], strict=True):
            apart += size * (arb(float(a)) - arb(float(b))) ** 2
        distance = apart.nonnegative_part().sqrt() - slack[0] - slack[1]
        return max(0.0, below(arb(game.rate) * distance))


def _gradient_norm(game: OutputGame, row: Vector, pair: OutputPair, point: Array) -> arb:
    w = [arb(float(v)) for v in point]
    gradient = [arb(game.regularization) * v for v in w]
    rows = [(row, arb(1) / game.rows), (pair.background, arb(game.rows - 1) / game.rows)]
    if game.has_public:
        rows.append((tuple(-v for v in pair.public), arb(1)))
    for values, weight in rows:
        x = [arb(v) for v in values]
        score = sum((n * a * b for n, a, b in zip(game.sizes, w, x, strict=True)), arb(0))
        pull = weight / (1 + score.exp())
        for j, value in enumerate(x):
            gradient[j] -= pull * value
    total = sum((n * g * g for n, g in zip(game.sizes, gradient, strict=True)), arb(0))
    return total.nonnegative_part().sqrt()
