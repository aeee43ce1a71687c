"""Many perturbed logistic regressions at once: Newton's method on a batch of noise draws.

The tolerance is in the unit that matters: a w whose gradient has norm r is the exact minimiser for
a noise vector r away from the one drawn, which moves the log density of spherical noise by at most
eps' r / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.errors import CannotCertify
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.objective.noise import modulus_of, scale_of
from dpcheck.mechanisms.objective.perturbed import Objective

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
MAX_STEPS = 200
MAX_HALVINGS = 60
# Releases per batch times rows: the working arrays (2 MB each) stay in cache.
_CELLS = 250_000


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

    Guarantee: the gradient norm is at most `tolerance` scales of the noise, or the gradient is at the
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

    Where the rows are shared, accelerated steps with a mean curvature come first and are kept as
    long as they halve the gradient: they are several times cheaper.
    """
    found = Solution(np.empty_like(noise), np.empty(len(noise)))
    places = np.arange(len(noise))
    point = _Point.at(objective, noise, _first_guess(objective, noise, start))
    propose = _MeanCurvature(objective) if objective.rows.shared else None
    for _ in range(MAX_STEPS):
        done = point.norms <= _allowed(point, tolerance)
        if done.any():
            found.weights[places[done]] = point.weights[done]
            found.gradient_norms[places[done]] = point.norms[done]
            places, point = places[~done], point.take(~done)
            if propose is not None:
                propose.keep(~done)
        if not len(places):
            return found
        if propose is None:
            point, failed = _newton_step(point)
            if failed:
                break
            continue
        trial = _Point.at(point.objective, point.noise, propose(point))
        behind = np.flatnonzero(trial.norms > 0.5 * point.norms)
        if len(behind):
            moved, failed = _newton_step(point.take(behind))
            if failed:
                break
            trial.put(behind, moved)
        if 2 * len(behind) > len(places):
            propose = None
        point = trial
    worst = float(point.norms.max())
    raise CannotCertify(
        f"the solver stopped at gradient norm {worst:.3g}, above its tolerance; the privacy proof "
        "needs the exact minimiser: raise regularization, or raise tolerance and say so.",
        gradient_norm=worst,
    )


def _newton_step(point: _Point) -> tuple[_Point, bool]:
    """All moved by a Newton step, halved until the gradient shrinks; whether one could not."""
    curvature = point.objective.curvature(point.weights, point.pulls)
    step = np.linalg.solve(curvature, point.gradient[:, :, None])[:, :, 0]
    moved = _Point.at(point.objective, point.noise, point.weights - step)
    share = 1.0
    for _ in range(MAX_HALVINGS):
        late = np.flatnonzero(moved.norms > (1 - 0.1 * share) * point.norms)
        if not len(late):
            return moved, False
        share /= 2
        old = point.take(late)
        moved.put(late, _Point.at(old.objective, old.noise, old.weights - share * step[late]))
    return moved, True


@dataclass(slots=True)
class _Point:
    """Where the releases still at work stand."""

    objective: Objective
    noise: Floats
    weights: Floats
    pulls: Floats
    gradient: Floats
    norms: Floats

    @classmethod
    def at(cls, objective: Objective, noise: Floats, weights: Floats) -> _Point:
        pulls = objective.pulls(weights)
        gradient = noise - objective.noise(weights, pulls)
        norms = np.sqrt(np.einsum("sd,sd->s", gradient, gradient))
        return cls(objective, noise, weights, pulls, gradient, norms)

    def take(self, which: Indices | Mask) -> _Point:
        """Some of the releases."""
        return _Point(
            self.objective.part(which),
            self.noise[which],
            self.weights[which],
            self.pulls[which],
            self.gradient[which],
            self.norms[which],
        )

    def put(self, which: Indices, other: _Point) -> None:
        """Replace some of the releases."""
        self.weights[which], self.pulls[which] = other.weights, other.pulls
        self.gradient[which], self.norms[which] = other.gradient, other.norms


class _MeanCurvature:
    """Mean-curvature steps with Anderson acceleration of depth one."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._before: tuple[Floats, Floats] | None = None

    def keep(self, which: Mask) -> None:
        """Forget the releases that are done."""
        if self._before is not None:
            self._before = (self._before[0][which], self._before[1][which])

    def __call__(self, point: _Point) -> Floats:
        step = self._objective.mean_curvature_step(point.pulls, point.gradient)
        target = point.weights - step
        result = target
        if self._before is not None:
            change = step - self._before[1]
            square = np.einsum("sd,sd->s", change, change)
            share = np.einsum("sd,sd->s", step, change) / np.where(square > 0, square, 1.0)
            result = target - share[:, None] * (target - self._before[0])
        self._before = (target, step)
        return result


def _first_guess(objective: Objective, noise: Floats, start: Floats | None) -> Floats:
    """The better of the noise's linear response around `start` and the response to noise alone."""
    size, d = noise.shape
    base = np.zeros((1, d)) if start is None else start
    modulus = modulus_of(objective.event)
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


def _allowed(point: _Point, tolerance: float) -> Floats:
    event = point.objective.event
    modulus = modulus_of(event)
    wanted = tolerance * scale_of(event)
    terms = (
        event.rows * event.norm_bound
        + np.linalg.norm(point.noise, axis=1)
        + modulus * np.linalg.norm(point.weights, axis=1)
    )
    return np.asarray(np.maximum(wanted, 64 * np.finfo(float).eps * terms))
