"""When one gradient has too few equations: A's gradients of several iterations, solved together.

Between iterations B's hidden rows move in a way A can follow: a step of B changes logit(u) by
-eta (K delta + lambda logit(u)), where K_ij = x_i . x_j + 1 does not change and delta is known from
u and A's own messages. The unknowns are u at the start and K, whatever B's weights are; every
iteration adds (features + 1) d equations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit

from dpcheck.audits.ftl.attacks import Step, _last_layer
from dpcheck.mechanisms.federated.protocol.autoencoder import Array
from dpcheck.mechanisms.federated.protocol.model import KnownToA, Objective, translator

_SMALL_STEP = 1e-30


class _Seen(NamedTuple):
    """The known numbers of one iteration."""

    target: Array  # (features + 1, d)
    pooled: Array  # (features + 1, d)
    inputs: Array  # (common, features + 1)
    slopes: Array  # (common, d)
    phi: Array
    hidden: Array  # A's common rows


@dataclass(frozen=True, slots=True, eq=False)
class Accumulated:
    """What several gradients gave; `residual` is all an attacker has to judge success by."""

    hidden: Array  # u_i^B at the start
    gram: Array  # x_i . x_j + 1
    residual: float  # largest, relative to the gradients
    unknowns: int
    equations_per_iteration: int
    ranks: tuple[int, ...]  # of the equations of the first 1, 2, ... iterations, at the solution
    starts: int

    @property
    def solved(self) -> bool:
        """Whether the equations are met to rounding and fix the solution."""
        return self.residual < 1e-9 and self.ranks[-1] == self.unknowns

    @property
    def overtaken(self) -> int | None:
        """Iterations after which the equations fix all unknowns; None if they never do."""
        full = [t for t, rank in enumerate(self.ranks, start=1) if rank == self.unknowns]
        return full[0] if full else None


class Equations:
    """Gradients of A as functions of B's hidden rows at the start and of K; one-layer networks."""

    def __init__(
        self, objective: Objective, steps: list[Step], known: KnownToA, rate: float
    ) -> None:
        self.objective, self.rate, self.labels = objective, rate, known.labels
        self.rows, self.width = len(known.common), steps[0].trace.hidden.shape[1]
        self.upper = np.triu_indices(self.rows)
        self.unknowns = self.rows * self.width + len(self.upper[0])
        self.seen = [self._read(step, known) for step in steps]
        self.scale = max(float(np.abs(seen.target).max()) for seen in self.seen)

    def _read(self, step: Step, known: KnownToA) -> _Seen:
        inputs, slopes, target = _last_layer(self.objective, step)
        hidden = step.trace.hidden
        pooled = inputs.T @ (known.y[:, None] / len(known.y) * slopes)
        return _Seen(
            target,
            pooled,
            inputs[known.common],
            slopes[known.common],
            translator(hidden, known.y),
            hidden[known.common],
        )

    def parts(self, point: Array) -> tuple[Array, Array]:
        """logit(u) and K of a point, or of many."""
        lead, split = point.shape[:-1], self.rows * self.width
        gram = np.zeros((*lead, self.rows, self.rows), point.dtype)
        for i, j in (self.upper, self.upper[::-1]):
            gram[..., i, j] = point[..., split:]
        return point[..., :split].reshape(*lead, self.rows, self.width), gram

    def residuals(self, point: Array) -> Array:
        """Predicted less seen gradients over their size, for one point or many, complex too."""
        z, gram = self.parts(point)
        o, known, found = self.objective, len(self.labels), []
        for seen in self.seen:
            u = 1 / (1 + np.exp(-z))
            labelled = u[..., :known, :]
            slope = o.label_sign * self.labels / 2 + labelled @ seen.phi / 4
            pull = (slope[..., None] * labelled).sum(axis=-2)
            rows = np.swapaxes(seen.slopes * u, -1, -2) @ seen.inputs
            predicted = seen.pooled * pull[..., None, :] + o.gamma * o.kappa * np.swapaxes(
                rows, -1, -2
            )
            found.append((predicted - seen.target).reshape(*point.shape[:-1], -1))
            signal = np.broadcast_to(o.gamma * o.kappa * seen.hidden, u.shape).astype(point.dtype)
            signal[..., :known, :] += slope[..., None] * seen.phi
            moved = self.rate * gram @ (signal * u * (1 - u))
            z = (1 - self.rate * o.regularization) * z - moved
        whole: Array = np.concatenate(found, axis=-1) / self.scale
        return whole

    def jacobian(self, point: Array) -> Array:
        """Exact to rounding, by complex steps."""
        moved = point + 1j * _SMALL_STEP * np.eye(self.unknowns)
        slopes: Array = self.residuals(moved).imag.T / _SMALL_STEP
        return slopes

    def ranks(self, point: Array) -> tuple[int, ...]:
        """The rank of the equations of the first 1, 2, ... iterations."""
        jacobian = self.jacobian(point)
        jacobian = jacobian / np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
        each = len(jacobian) // len(self.seen)
        return tuple(
            int(np.linalg.matrix_rank(jacobian[: t * each], tol=1e-10))
            for t in range(1, len(self.seen) + 1)
        )


def accumulate(
    objective: Objective,
    steps: list[Step],
    known: KnownToA,
    rate: float,
    rng: np.random.Generator,
    starts: int = 4,
) -> Accumulated:
    """Solve for B's hidden rows and inner products from random starts, knowing nothing of B."""
    equations = Equations(objective, steps, known, rate)
    best, tried = None, 0
    for _ in range(starts):
        tried += 1
        gram = equations.rows * np.eye(equations.rows) + 1
        point = np.concatenate(
            [rng.normal(0, 0.3, equations.rows * equations.width), gram[equations.upper]]
        )
        with np.errstate(over="ignore"):  # far off, exp(-z) may be infinite: u is 0 there
            found = least_squares(
                equations.residuals,
                point,
                equations.jacobian,
                method="trf",
                x_scale="jac",
                ftol=1e-15,
                xtol=1e-15,
                gtol=1e-15,
                max_nfev=60,
            )
        if best is None or found.cost < best.cost:
            best = found
        if math.sqrt(best.cost) < 1e-10:
            break
    assert best is not None
    hidden, gram = equations.parts(best.x)
    return Accumulated(
        expit(hidden),
        gram,
        float(np.abs(best.fun).max()),
        equations.unknowns,
        equations.seen[0].target.size,
        equations.ranks(best.x),
        tried,
    )
