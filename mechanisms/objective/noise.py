"""The random linear term of an objective: spherical noise, as in the papers, or Gaussian noise."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy.special import gammaln

from dpcheck.core.events.training import GaussianObjectivePerturbation, ObjectivePerturbation
from dpcheck.mechanisms.common.regularizers import Floats

ObjectiveEvent: TypeAlias = ObjectivePerturbation | GaussianObjectivePerturbation


def modulus_of(event: ObjectiveEvent) -> float:
    """How strongly convex the objective is: the least eigenvalue of any Hessian."""
    return event.rows * (event.regularization + event.extra_regularization)


def scale_of(event: ObjectiveEvent) -> float:
    """The length in which the noise is measured: 2/eps' or the standard deviation."""
    if isinstance(event, GaussianObjectivePerturbation):
        return event.noise_multiplier * event.norm_bound
    return 2 / event.noise_epsilon


def draw(event: ObjectiveEvent, size: int, features: int, rng: np.random.Generator) -> Floats:
    """`size` draws of the noise an event describes, shape (size, features)."""
    if isinstance(event, GaussianObjectivePerturbation):
        return scale_of(event) * rng.standard_normal((size, features))
    return draw_noise(event.noise_epsilon, size, features, rng)


def log_density(event: ObjectiveEvent, noise: Floats) -> Floats:
    """Its normalised log density at each row."""
    if not isinstance(event, GaussianObjectivePerturbation):
        return log_noise_density(event.noise_epsilon, noise)
    scale = scale_of(event)
    square = np.sum((noise / scale) ** 2, axis=-1)
    return np.asarray(-square / 2 - noise.shape[-1] * np.log(scale * np.sqrt(2 * np.pi)))


def log_noise_density(noise_epsilon: float, noise: Floats) -> Floats:
    """log h(b): the norm is Gamma(d, 2/eps'), the direction uniform on the sphere.

    h = (eps'/2)^d exp(-eps' |b| / 2) / (Gamma(d) area), area = 2 pi^(d/2) / Gamma(d/2).
    """
    d = noise.shape[-1]
    log_area = np.log(2) + d / 2 * np.log(np.pi) - gammaln(d / 2)
    constant = d * np.log(noise_epsilon / 2) - gammaln(d) - log_area
    return np.asarray(constant - noise_epsilon / 2 * np.linalg.norm(noise, axis=-1))


def draw_noise(noise_epsilon: float, size: int, features: int, rng: np.random.Generator) -> Floats:
    """`size` draws of b, shape (size, features)."""
    direction = rng.standard_normal((size, features))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    length = rng.gamma(features, 2 / noise_epsilon, size)
    return np.asarray(direction * length[:, None])
