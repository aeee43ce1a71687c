"""The informative Gaussian prior of DPHTL, and Bayesian logistic regression around it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import non_negative
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.output.logistic import LogisticProblem, minimise
from dpcheck.mechanisms.output.rows import Rows


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """Independent Gaussians: a mean and a deviation per weight. A deviation of 0 is a fixed weight."""

    mean: Floats
    deviation: Floats


def informative_prior(
    hypotheses: ArrayLike, weights: ArrayLike, *, deviation_floor: float = 0.0
) -> Prior:
    """The weighted mean and deviation of K source models, [Wang2018] (3), factor K/(K-1) included.

    Where the deviation is 0 (all weight on one model, or models that agree) the prior is a point
    and the posterior, its limit, stays there whatever the data; a `deviation_floor` above 0 lets
    the data speak again.
    """
    models, shares = np.asarray(hypotheses, dtype=float), np.asarray(weights, dtype=float)
    if models.ndim != 2 or shares.shape != (len(models),):
        raise InvalidParameter("there must be one weight per hypothesis.", name="weights")
    if len(models) < 2:
        raise InvalidParameter(
            "the prior's K/(K-1) needs at least two sources; with one, give its model's weights a "
            "prior of your own.",
            name="hypotheses",
        )
    if (shares < 0).any() or not math.isclose(shares.sum(), 1, abs_tol=1e-6):
        raise InvalidParameter("the weights must be non-negative and add up to 1.", name="weights")
    floor = non_negative("deviation_floor", deviation_floor)
    mean = shares @ models
    spread = len(models) / (len(models) - 1) * (shares @ (models - mean) ** 2)
    return Prior(mean, np.maximum(np.sqrt(spread), floor))


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The mode, and a Gaussian around it with the inverse Hessian as covariance (Laplace)."""

    mode: Floats
    prior: Prior
    rows: Rows
    curvature: Floats  # s (1 - s) of every labelled row at the mode
    gradient_norm: float

    def variances(self, X: Rows) -> Floats:
        """The posterior variance of the score of every row: x^T H^-1 x.

        H = diag(1/d^2) + L^T W L has few labelled rows L and many features, so by Woodbury only a
        matrix of the size of L is solved: x^T S x - (L S x)^T (W^-1 + L S L^T)^-1 (L S x), S = d^2.
        """
        spread = self.prior.deviation**2
        squares = X.multiply(X) if hasattr(X, "multiply") else np.asarray(X) ** 2
        own = np.asarray(squares @ spread).ravel()
        live = self.curvature > 0
        if not live.any():
            return own
        rows = self.rows[live]
        scaled = rows.multiply(spread) if hasattr(rows, "multiply") else rows * spread
        if hasattr(scaled, "tocsr"):
            scaled = scaled.tocsr()
        gram = _full(scaled @ rows.T) + np.diag(1 / self.curvature[live])
        cross = _full(scaled @ X.T)
        return np.asarray(np.maximum(0.0, own - np.sum(cross * np.linalg.solve(gram, cross), 0)))

    def scores(self, X: Rows) -> Floats:
        """The scores at the mode."""
        return np.asarray(X @ self.mode)

    def probabilities(self, X: Rows) -> Floats:
        """Of the positive class, averaged over the posterior: s(m / sqrt(1 + pi v / 8)).

        Reference: [MacKay1992].
        """
        return np.asarray(expit(self.scores(X) / np.sqrt(1 + math.pi * self.variances(X) / 8)))


def bayesian_logistic(X: Rows, y: Floats, prior: Prior, *, tolerance: float = 1e-8) -> Posterior:
    """The posterior mode of logistic regression with labels y in {-1, +1}, and its Laplace spread.

    Guarantee: every free weight is within `tolerance` times its deviation of the mode (weights are
    solved for in units of their deviation, where the objective has modulus 1).
    """
    free = prior.deviation > 0
    units = prior.deviation[free]
    columns = X[:, free]
    scaled = columns.multiply(units).tocsr() if hasattr(columns, "multiply") else columns * units
    mode, left = prior.mean.copy(), 0.0
    if free.any():
        # Weights are mean + deviation u, so the scores start at X mean.
        problem = LogisticProblem(
            scaled,
            np.ones(len(y)),
            (y + 1) / 2,
            np.ones(len(units)),
            np.zeros(len(units)),
            np.asarray(X @ prior.mean),
        )
        found = minimise(problem, tolerance)
        mode[free] += units * found.point
        left = found.gradient_norm
    shares = expit(np.asarray(X @ mode))
    return Posterior(mode, prior, X, shares * (1 - shares), left)


def _full(matrix: Rows) -> Floats:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
