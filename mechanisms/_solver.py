"""Many perturbed logistic regressions at once: Newton's method on a batch of noise draws.

The tolerance is in the unit that matters: a w whose gradient has norm r is the exact minimiser for
a noise vector r away from the one drawn, which moves the log density of the noise by at most eps'
r / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcheck.core.errors import CannotCertify
from dpcheck.mechanisms._objective import Objective
from dpcheck.mechanisms._regularizers import Floats

MAX_STEPS = 200
MAX_HALVINGS = 60
# Releases per batch times rows: the working arrays stay in cache and well below 100 MB.
_CELLS = 1_000_000


@dataclass(frozen=True, slots=True)
class Solution:
    """The minimisers, shape (size, d), and the norm of the gradient left at each."""

    weights: Floats
    gradient_norms: Floats


def batches(objective: Objective, size: int) -> list[slice]:
    """Slices of the releases small enough to work on at once."""
    n, d = objective.rows.signed.shape[-2:]
    cells = max(n, d * d) if objective.rows.shared else n * d
    step = max(1, _CELLS // max(1, cells))
    return [slice(start, min(size, start + step)) for start in range(0, size, step)]


def minimise(objective: Objective, noise: Floats, tolerance: float) -> Solution:
    """The minimisers for each row of `noise`.

    Guarantee: eps'/2 times the gradient norm is at most `tolerance`, or the gradient is at the
    level of rounding errors (64 ulp of its largest terms); CannotCertify otherwise.
    """
    start = _center(objective) if objective.uniform else None
    parts = [
        _newton(objective.part(which), noise[which], tolerance, start)
        for which in batches(objective, len(noise))
    ]
    return Solution(
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.gradient_norms for part in parts]),
    )


def _center(objective: Objective) -> Floats:
    """The minimiser without noise, which all draws lie around; any accuracy will do."""
    zero = np.zeros((1, objective.features))
    return _newton(objective, zero, 1e-3, None).weights


def _newton(
    objective: Objective, noise: Floats, tolerance: float, start: Floats | None
) -> Solution:
    """Newton with step halving on the gradient norm: the Hessian is at least m I, so the Newton
    direction decreases it and the iteration cannot stall before the minimiser.
    """
    weights = _first_guess(objective, noise, start)
    pulls = objective.pulls(weights)
    gradient = noise - objective.noise(weights, pulls)
    norms = np.linalg.norm(gradient, axis=1)
    for _ in range(MAX_STEPS):
        active = np.flatnonzero(norms > _allowed(objective, noise, weights, tolerance))
        if not len(active):
            return Solution(weights, norms)
        inner = objective.part(active)
        curvature = inner.curvature(weights[active], pulls[active])
        step = np.linalg.solve(curvature, gradient[active][:, :, None])[:, :, 0]
        scale = np.ones(len(active))
        todo = np.arange(len(active))
        for _ in range(MAX_HALVINGS):
            rows = active[todo]
            trial = weights[rows] - scale[todo, None] * step[todo]
            trial_objective = inner.part(todo)
            trial_pulls = trial_objective.pulls(trial)
            trial_gradient = noise[rows] - trial_objective.noise(trial, trial_pulls)
            trial_norms = np.linalg.norm(trial_gradient, axis=1)
            good = trial_norms <= (1 - 0.1 * scale[todo]) * norms[rows]
            done = rows[good]
            weights[done], pulls[done] = trial[good], trial_pulls[good]
            gradient[done], norms[done] = trial_gradient[good], trial_norms[good]
            todo = todo[~good]
            if not len(todo):
                break
            scale[todo] /= 2
        else:
            break
    raise CannotCertify(
        f"the solver stopped at gradient norm {float(norms.max()):.3g}, above its tolerance; the "
        "privacy proof needs the exact minimiser: raise regularization, or raise tolerance and "
        "say so.",
        gradient_norm=float(norms.max()),
    )


def _first_guess(objective: Objective, noise: Floats, start: Floats | None) -> Floats:
    """The better of the noise's linear response around `start` and the response to noise alone."""
    size, d = noise.shape
    base = np.zeros((1, d)) if start is None else start
    event = objective.event
    modulus = event.rows * (event.regularization + event.extra_regularization)
    plain = np.broadcast_to(base, (size, d)) - noise / modulus
    if start is None:
        return np.array(plain)
    curvature = objective.curvature(base, objective.pulls(base))[0]
    response = base - np.linalg.solve(curvature, noise.T).T
    left = [
        np.linalg.norm(noise - objective.noise(w, objective.pulls(w)), axis=1)
        for w in (plain, response)
    ]
    return np.where((left[0] < left[1])[:, None], plain, response)


def _allowed(objective: Objective, noise: Floats, weights: Floats, tolerance: float) -> Floats:
    event = objective.event
    modulus = event.rows * (event.regularization + event.extra_regularization)
    terms = (
        event.rows * event.norm_bound
        + np.linalg.norm(noise, axis=1)
        + modulus * np.linalg.norm(weights, axis=1)
    )
    rounding = 64 * np.finfo(float).eps * terms
    return np.asarray(np.maximum(2 * tolerance / event.noise_epsilon, rounding))
