"""Regularisers objective perturbation may use: twice continuously differentiable, Hessian >= I."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import finite

Floats = NDArray[np.float64]


@runtime_checkable
class Regularizer(Protocol):
    """g of `regularization * g(w)`, for a batch of weights of shape (size, features)."""

    def gradient(self, weights: Floats) -> Floats:
        """The gradient at each row of `weights`."""

    def hessian(self, weights: Floats) -> Floats:
        """The Hessian at each row, of shape (size, features, features) or (features, features)."""


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """|w - center|^2 / 2. The centre is public: 0, or an already released model, or one per row."""

    center: Floats | float = 0.0

    def gradient(self, weights: Floats) -> Floats:
        """w - center."""
        return weights - self.center

    def hessian(self, weights: Floats) -> Floats:
        """The identity."""
        return np.eye(weights.shape[-1])


def mixture(eta: float, center: ArrayLike) -> Ridge:
    """eta/2 |w|^2 + (1-eta)/2 |w - center|^2, which is Ridge((1-eta) center) up to a constant.

    Reference: [Guo2018] Algorithm 2 step 2.

    >>> mixture(0.25, [4.0]).center
    array([3.])
    """
    return Ridge((1.0 - share("eta", eta)) * np.asarray(center, dtype=float))


def share(name: str, value: object) -> float:
    """A number in [0, 1]."""
    number = finite(name, value)
    if not 0 <= number <= 1:
        raise InvalidParameter(f"{name} must be in [0, 1], got {number:g}.", name=name)
    return number


@dataclass(frozen=True, slots=True, eq=False)
class SmoothRegularizer:
    """A regulariser given by its gradient and Hessian.

    Assumes: Hess g(w) >= I everywhere. The Hessian is checked wherever it is evaluated, and an
    error is raised if an eigenvalue is below 1: the privacy proof fails there.
    """

    gradient_of: Callable[[Floats], Floats]
    hessian_of: Callable[[Floats], Floats]
    slack: float = field(default=1e-9)

    def gradient(self, weights: Floats) -> Floats:
        """The gradient at each row of `weights`."""
        return np.asarray(self.gradient_of(weights), dtype=float)

    def hessian(self, weights: Floats) -> Floats:
        """The Hessian at each row of `weights`, checked to be at least the identity."""
        hessian = np.asarray(self.hessian_of(weights), dtype=float)
        lowest = float(np.min(np.linalg.eigvalsh(hessian)))
        if not lowest >= 1 - self.slack:
            raise InvalidParameter(
                f"regularizer has a Hessian eigenvalue {lowest:.6g} below 1: objective "
                "perturbation "
                "needs a 1-strongly convex regulariser; multiply it by a constant, or add |w|^2/2.",
                name="regularizer",
            )
        return hessian


def read_center(value: ArrayLike | None, features: int) -> Floats | None:
    """A public centre, one finite number per feature, or None."""
    if value is None:
        return None
    center = np.asarray(value, dtype=float)
    if center.shape != (features,) or not np.isfinite(center).all():
        raise InvalidParameter(
            f"center must be {features} finite numbers, one per feature, got shape "
            f"{center.shape}; it must be public, such as a released model.",
            name="center",
        )
    return center


def read_regularizer(value: object) -> Regularizer:
    """The regulariser a user asked for: None or "ridge", or an object with gradient and hessian."""
    if value is None or value == "ridge":
        return Ridge()
    if isinstance(value, str) and value.lower() in ("l1", "lasso", "elasticnet", "elastic-net"):
        raise InvalidParameter(
            f"regularizer {value!r} cannot be used: the L1 norm has no second derivative at 0, so "
            "the released weights have an atom there and the density ratio behind the privacy "
            "proof does not exist; use 'ridge' or a smooth regulariser with Hessian >= I.",
            name="regularizer",
        )
    if not isinstance(value, str) and isinstance(value, Regularizer):
        return value
    raise InvalidParameter(
        f"regularizer must be 'ridge' or an object with gradient and hessian, got {value!r}.",
        name="regularizer",
    )
