"""The exact loss of one output-perturbed minimiser on a compressed pair: fast, and certified.

Every vector in the release is the minimiser of
    J(w) = (1/n) sum_i log(1 + exp(-w.x_i)) + log(1 + exp(w.p)) + lam |w|^2 / 2
over rows x (times their label, where there is one); the last row is the public one, absent for a
source model. Noise of density exp(-rate |b|) gives a loss of at most rate |w - w'|, the distance of
the two minimisers, and exactly that at the release w itself. Written apart from the mechanism's own
solver, so that each checks the other.
"""

from __future__ import annotations

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


def minimisers(game: OutputGame, rows: Array, close: float = 1e-15) -> Array:
    """The minimisers for a batch of rows (batch, 3, groups), by damped Newton; plain floats.

    Stops at a gradient norm of `close`, or where rounding stops it. A public row enters with its
    sign turned, so that all three have the same loss.
    """
    sizes, weights = np.array(game.sizes, dtype=float), game.weights()
    signed = rows * np.array([1.0, 1.0, -1.0])[:, None]
    eye = game.regularization * np.eye(len(sizes))

    def gradient(x: Array, w: Array) -> tuple[Array, Array, Array]:
        pulls = expit(-np.matmul(x, (w * sizes)[:, :, None])[:, :, 0])
        found = game.regularization * w - np.matmul((weights * pulls)[:, None, :], x)[:, 0]
        return found, pulls, np.sqrt((found * found) @ sizes)

    result = np.zeros((len(rows), len(sizes)))
    at: NDArray[np.intp] = np.arange(len(rows))
    x, w = signed, result.copy()
    found, pulls, norm = gradient(x, w)
    for _ in range(100):
        live = norm > close
        result[at[~live]] = w[~live]
        at = at[live]
        x, w, found, pulls, norm = (v[live] for v in (x, w, found, pulls, norm))
        if not len(at):
            return result
        curve = weights * pulls * (1 - pulls)
        # In group coordinates the Hessian is lam I + R^T diag(curve) R diag(sizes).
        hessian = np.matmul(x.transpose(0, 2, 1) * curve[:, None, :], x) * sizes + eye
        step = np.linalg.solve(hessian, found[:, :, None])[:, :, 0]
        trial, share = w - step, 1.0
        moved, chances, length = gradient(x, trial)
        for _ in range(40):
            late = np.flatnonzero(length > (1 - 0.1 * share) * norm)
            if not len(late):
                break
            share /= 2
            trial[late] = w[late] - share * step[late]
            moved[late], chances[late], length[late] = gradient(x[late], trial[late])
        stuck = length >= norm
        result[at[stuck]] = w[stuck]
        at, x = at[~stuck], x[~stuck]
        w, found, pulls, norm = (v[~stuck] for v in (trial, moved, chances, length))
    result[at] = w
    return result


def both_minimisers(game: OutputGame, rows: Array, close: float = 1e-15) -> tuple[Array, Array]:
    """The minimisers on D and on D', from (batch, 4, groups): changed, replaced, background, public."""
    both = np.concatenate([rows[:, [0, 2, 3]], rows[:, [1, 2, 3]]])
    found = minimisers(game, both, close)
    return found[: len(rows)], found[len(rows) :]


def as_rows(pair: OutputPair) -> Array:
    """A pair as a batch of one."""
    return np.array([[pair.changed, pair.replaced, pair.background, pair.public]], dtype=float)


def losses(game: OutputGame, rows: Array, close: float = 1e-15) -> Array:
    """rate |w - w'| of a batch of pairs, in plain floats."""
    first, second = both_minimisers(game, rows, close)
    return np.asarray(
        game.rate * np.sqrt((first - second) ** 2 @ np.array(game.sizes, dtype=float))
    )


def certified_lower(game: OutputGame, pair: OutputPair) -> float:
    """A float certainly not above the loss at the exact minimiser of D, on these very floats.

    The objective is lam-strongly convex, so each true minimiser is within |gradient| / lam of any
    point; the gradient at the float solutions is enclosed in balls.
    """
    first, second = both_minimisers(game, as_rows(pair))
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
