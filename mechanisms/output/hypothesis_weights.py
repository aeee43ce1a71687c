"""Which mixture of the sources looks most like the target: a KL projection, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from scipy.special import logsumexp

from dpcheck.core.errors import CannotCertify, InvalidParameter
from dpcheck.mechanisms.common.regularizers import Floats

# Weights are kept this far inside the simplex while searching, so that no ratio overflows; moving
# a fraction f to the uniform mixture costs at most -log(1 - f) in divergence.
_INTERIOR = 1e-10
_MAX_STEPS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """The weights, their divergence, and a bound on what the best weights could still gain."""

    weights: Floats
    divergence: float
    gap: float


def hypothesis_weights(
    log_target: ArrayLike, log_sources: ArrayLike, *, tolerance: float = 1e-7
) -> Projection:
    """The w in the simplex that minimises KL(target || sum_k w_k source_k), [Wang2018] (2).

    `log_target` (n,) and `log_sources` (K, n) are log weights; each is normalised to a distribution.

    Guarantee: divergence(w) - min <= gap <= tolerance. With g_k = sum_i p_i s_ki / (w.s)_i, for any
    v in the simplex log sum_i p_i (v.s)_i / (w.s)_i <= log max_k g_k, and by Jensen the left side is
    at least KL(w) - KL(v); so gap = log max_k g_k certifies w, whatever algorithm found it.
    CannotCertify if the tolerance is not reached.

    >>> p = np.log([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
    >>> found = hypothesis_weights(np.log(0.25 * np.exp(p[0]) + 0.75 * np.exp(p[1])), p)
    >>> np.round(found.weights, 3).tolist()
    [0.25, 0.75]
    """
    target = _distribution(np.atleast_2d(np.asarray(log_target, dtype=float)), "log_target")[0]
    sources = _distribution(np.atleast_2d(np.asarray(log_sources, dtype=float)), "log_sources")
    if sources.shape[1] != len(target):
        raise InvalidParameter(
            f"the sources weigh {sources.shape[1]} public rows and the target {len(target)}; all "
            "must use the same public data.",
            name="log_sources",
        )
    p = np.exp(target)
    weights = np.full(len(sources), 1 / len(sources))
    for _ in range(_MAX_STEPS):
        mixed, ratios = _mix(sources, weights)
        gains = ratios @ p
        gap = float(np.log(gains.max()))
        if gap <= tolerance:
            # p log p is 0 where p underflows.
            divergence = float(np.sum(p * (np.where(p > 0, target, 0.0) - mixed)))
            return Projection(weights, max(0.0, divergence), max(0.0, gap))
        weights = _better(sources, p, weights, ratios, gains)
    raise CannotCertify(
        f"the hypothesis weights are only certified within {gap:.3g} of the best divergence, above "
        f"the tolerance {tolerance:.3g}.",
        gap=gap,
    )


def _distribution(logs: Floats, name: str) -> Floats:
    if np.isnan(logs).any() or np.isposinf(logs).any() or not logs.size:
        raise InvalidParameter(f"{name} must be log weights of at least one row.", name=name)
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))


def _mix(sources: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """log of the mixture, and every source over it."""
    mixed = np.asarray(logsumexp(sources + np.log(weights)[:, None], axis=0))
    return mixed, np.exp(sources - mixed)


def _better(sources: Floats, p: Floats, weights: Floats, ratios: Floats, gains: Floats) -> Floats:
    """A Newton step on the simplex where it helps, else one step of EM, which always does.

    The quadratic model of -sum p log((v.s)/(w.s)) + sum v is sum p (r.v - 2)^2 / 2 + sum v up to a
    constant, a non-negative least-squares problem; its minimiser over v >= 0 adds up to 1.
    """
    hessian = (ratios * p) @ ratios.T
    lift = hessian.trace() * 1e-13
    try:
        factor = np.linalg.cholesky(hessian + lift * np.eye(len(weights)))
        step, _ = nnls(factor.T, np.linalg.solve(factor, 2 * gains - 1))
    except (np.linalg.LinAlgError, RuntimeError):
        return _inside(weights * gains)
    here = _score(sources, p, weights)
    share = 1.0
    for _ in range(20):
        if step.sum() > 0:
            trial = _inside((1 - share) * weights + share * step / step.sum())
            if _score(sources, p, trial) > here:
                return trial
        share /= 2
    return _inside(weights * gains)


def _score(sources: Floats, p: Floats, weights: Floats) -> float:
    return float(_mix(sources, weights)[0] @ p)


def _inside(weights: Floats) -> Floats:
    return np.asarray((1 - _INTERIOR) * weights / weights.sum() + _INTERIOR / len(weights))
