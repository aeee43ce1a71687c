"""Output perturbation: a vector plus noise of density proportional to exp(-rate |b|)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.events.training import OutputPerturbation
from dpcheck.mechanisms.common.regularizers import Floats

# The solver may leave the minimiser this share of half the sensitivity away, on each side; the
# sensitivity that is accounted is larger by the same share, so no exact minimiser is assumed.
SOLVER_SHARE = 1e-9


def spherical_noise(rate: float, width: int, size: int, rng: np.random.Generator) -> Floats:
    """Draws of density proportional to exp(-rate |b|): a direction times a Gamma(width) length."""
    direction = rng.standard_normal((size, width))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return np.asarray(direction * rng.gamma(width, 1 / rate, (size, 1)))


def spherical_log_density(noise: Floats, rate: float) -> Floats:
    """The normalised log density of `spherical_noise`.

    The sphere of radius r in R^d has area 2 pi^(d/2) r^(d-1) / Gamma(d/2), and the integral of
    r^(d-1) exp(-rate r) is Gamma(d) / rate^d.
    """
    width = noise.shape[1]
    constant = (
        width * math.log(rate)
        + gammaln(width / 2)
        - math.log(2)
        - width / 2 * math.log(math.pi)
        - gammaln(width)
    )
    return np.asarray(constant - rate * np.linalg.norm(noise, axis=1))


@dataclass(frozen=True, slots=True)
class Scale:
    """How one vector is noised: the rate, and the event that describes it."""

    rate: float
    event: Event
    distance: float  # how far from the exact minimiser the solver may stop


def calibrated(epsilon: float, sensitivity: float, width: int) -> Scale:
    """The rate that spends `epsilon` on a minimiser of this replace-one sensitivity.

    Guarantee: rate times the sensitivity, solver error included, is at most epsilon in floats too.
    """
    covered = sensitivity * (1 + SOLVER_SHARE)
    rate = epsilon / covered * (1 - 4 * np.finfo(float).eps)
    event = OutputPerturbation(rate, covered, dimension=width)
    return Scale(rate, event, SOLVER_SHARE * sensitivity / 2)


@dataclass(frozen=True, slots=True, eq=False)
class OutputBlock:
    """One released vector: where it is centred and how it is noised."""

    name: str
    center: Floats
    scale: Scale

    @property
    def width(self) -> int:
        """Its number of entries."""
        return len(self.center)


def sample(blocks: Sequence[OutputBlock], size: int, rng: np.random.Generator) -> Floats:
    """`size` releases of all blocks side by side."""
    return np.hstack([b.center + spherical_noise(b.scale.rate, b.width, size, rng) for b in blocks])


def noises(blocks: Sequence[OutputBlock], releases: Floats) -> list[Floats]:
    """The noise behind releases, block by block."""
    width = sum(block.width for block in blocks)
    if releases.ndim != 2 or releases.shape[1] != width:
        raise InvalidParameter(
            f"releases must have {width} columns for this data, got shape {releases.shape}.",
            name="releases",
        )
    ends = np.cumsum([block.width for block in blocks])[:-1]
    pieces = np.split(releases, ends, axis=1)
    return [piece - block.center for piece, block in zip(pieces, blocks, strict=True)]


def log_density(blocks: Sequence[OutputBlock], releases: Floats) -> Floats:
    """The exact normalised log density of releases."""
    parts = [
        spherical_log_density(noise, block.scale.rate)
        for noise, block in zip(noises(blocks, releases), blocks, strict=True)
    ]
    return np.asarray(np.sum(parts, axis=0))
