"""What [Wang2018] compares DPHTL with: SOURCE, AVERAGE, SOFT, WEAK and TARGET, as weight vectors."""

from __future__ import annotations

import numpy as np

from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.output.bayes import bayesian_logistic, informative_prior
from dpcheck.mechanisms.output.logistic import minimise, ridge_problem
from dpcheck.mechanisms.output.rows import Rows, stack

_CLOSE = 1e-7  # distance to the minimiser; nothing private rests on these


def logistic_weights(X: Rows, targets: Floats, lam: float) -> Floats:
    """Plain regularised logistic regression: WEAK on the few labelled rows, TARGET on all rows."""
    rows = X.shape[0]
    weights = np.full(rows, 1 / rows)
    problem = ridge_problem(X, weights, targets, positive("regularization", lam))
    return minimise(problem, _CLOSE).point


def soft_weights(hypotheses: Floats, X: Rows, y: Floats, unlabelled: Rows, lam: float) -> Floats:
    """SOFT: unlabelled rows get the share of positive votes of the source models, [Wang2018] (5)."""
    votes = np.mean(np.asarray(unlabelled @ hypotheses.T) > 0, axis=1)
    return logistic_weights(stack(X, unlabelled), np.concatenate([(y + 1) / 2, votes]), lam)


def average_weights(hypotheses: Floats, X: Rows, y: Floats) -> Floats:
    """AVERAGE: DPHTL with all sources weighted alike."""
    equal = np.full(len(hypotheses), 1 / len(hypotheses))
    return bayesian_logistic(X, y, informative_prior(hypotheses, equal)).mode


def best_source(hypotheses: Floats, X_test: Rows, y_test: Floats) -> Floats:
    """SOURCE: the source model that does best on the target's test set, which it peeks at."""
    hits = np.mean((np.asarray(X_test @ hypotheses.T) > 0) == (y_test[:, None] > 0), axis=0)
    return np.asarray(hypotheses[int(np.argmax(hits))])
