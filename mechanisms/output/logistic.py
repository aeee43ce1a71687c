"""Weighted logistic regression on dense or sparse rows, solved with a certificate.

minimises sum_i a_i (log(1 + exp(z_i)) - t_i z_i) + sum_j p_j (w_j - c_j)^2 / 2 with z = X w,
targets t in [0, 1]. The objective is strongly convex with modulus min p, so a point with gradient
norm r lies within r / min p of the minimiser: that distance is the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit

from dpcheck.core.errors import CannotCertify, InvalidParameter
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.output.rows import Rows

_DENSE_WIDTH = 300  # up to here the Hessian is formed and factorised
_MAX_STEPS, _MAX_HALVINGS = 200, 60


@dataclass(frozen=True, slots=True, eq=False)
class LogisticProblem:
    """Rows, their weights and targets, and the diagonal quadratic around `center`."""

    X: Rows
    weights: Floats
    targets: Floats
    precision: Floats
    center: Floats
    offset: Floats | float = 0.0  # where the scores start

    def __post_init__(self) -> None:
        if not (self.precision > 0).all() or not np.isfinite(self.precision).all():
            raise InvalidParameter(
                "every precision must be finite and above 0, or the minimiser may not exist.",
                name="precision",
            )

    def gradient(self, w: Floats) -> tuple[Floats, Floats]:
        """(gradient, probabilities) at w."""
        shares = expit(self.X @ w + self.offset)
        pull = self.X.T @ (self.weights * (shares - self.targets))
        return np.asarray(pull + self.precision * (w - self.center)), shares

    def newton_step(self, gradient: Floats, shares: Floats, accuracy: float) -> Floats:
        """The solution of H step = gradient, to relative accuracy where it is iterative."""
        curve = self.weights * shares * (1 - shares)
        if len(gradient) <= _DENSE_WIDTH:
            scaled = self.X.multiply(curve[:, None]) if _sparse(self.X) else self.X * curve[:, None]
            hessian = np.asarray(_dense(self.X.T @ scaled)) + np.diag(self.precision)
            return np.asarray(np.linalg.solve(hessian, gradient))

        def times(v: Floats) -> Floats:
            return np.asarray(self.X.T @ (curve * (self.X @ v)) + self.precision * v)

        size = len(gradient)
        squares = self.X.multiply(self.X) if _sparse(self.X) else self.X**2
        diagonal = np.asarray(squares.T @ curve).ravel() + self.precision
        step, _ = cg(
            LinearOperator((size, size), matvec=times),
            gradient,
            rtol=accuracy,
            maxiter=2000,
            M=LinearOperator((size, size), matvec=lambda v: v / diagonal),
        )
        return np.asarray(step)


@dataclass(frozen=True, slots=True, eq=False)
class Minimum:
    """A point, its gradient norm, and how far the true minimiser can be."""

    point: Floats
    gradient_norm: float
    distance: float


def ridge_problem(X: Rows, weights: Floats, targets: Floats, lam: float) -> LogisticProblem:
    """The quadratic lam |w|^2 / 2 around 0."""
    width = X.shape[1]
    return LogisticProblem(X, weights, targets, np.full(width, lam), np.zeros(width))


def minimise(problem: LogisticProblem, distance: float) -> Minimum:
    """A point within `distance` of the minimiser.

    Guarantee: the returned distance, gradient norm over least precision, is at most the one asked
    for, up to the rounding of the gradient; CannotCertify otherwise.
    """
    wanted = distance * float(problem.precision.min())
    w = np.array(problem.center, dtype=float)
    gradient, shares = problem.gradient(w)
    norm = float(np.linalg.norm(gradient))
    for _ in range(_MAX_STEPS):
        if norm <= wanted:
            return Minimum(w, norm, norm / float(problem.precision.min()))
        # An inexact step H s = g + r with |r| < |g| / 2 still decreases the gradient norm.
        step = problem.newton_step(gradient, shares, min(0.1, np.sqrt(norm)))
        share = 1.0
        for _ in range(_MAX_HALVINGS):
            trial = w - share * step
            moved, chances = problem.gradient(trial)
            length = float(np.linalg.norm(moved))
            if length <= (1 - 0.1 * share) * norm:
                break
            share /= 2
        else:
            break
        w, gradient, shares, norm = trial, moved, chances, length
    raise CannotCertify(
        f"the solver stopped at gradient norm {norm:.3g} where {wanted:.3g} is needed; raise the "
        "regularization.",
        gradient_norm=norm,
    )


def _sparse(X: Rows) -> bool:
    return hasattr(X, "tocsr")


def _dense(matrix: Rows) -> Rows:
    return matrix.toarray() if _sparse(matrix) else matrix
