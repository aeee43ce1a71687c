"""Samplers whose lowest bits tell the data. Run with --floating-point."""

from __future__ import annotations

import math

import numpy as np

import dpcheck

from .base import Planted, approximate, pure

GRID = 2.0**-10


@dpcheck.batched
def textbook_laplace(data, size, rng):  # inverse transform of a 53-bit uniform
    u = rng.random(size) - 0.5
    return data - np.sign(u) * np.log1p(-2 * np.abs(u))


@dpcheck.batched
def numpy_laplace(data, size, rng):
    return data + rng.laplace(size=size)


@dpcheck.batched
def discrete_laplace(data, size, rng):
    stay = -math.expm1(-GRID)  # one grid step costs epsilon GRID
    noise = rng.geometric(stay, size) - rng.geometric(stay, size)
    return GRID * (np.rint(data / GRID) + noise)


@dpcheck.batched
def numpy_gaussian(data, size, rng):
    return data + rng.normal(scale=3.7307, size=size)


@dpcheck.batched
def snapped_gaussian(data, size, rng):
    return GRID * np.rint((data + rng.normal(scale=3.7307, size=size)) / GRID)


_BIT = [(0.0, 1.0)]

ROWS = [
    Planted(
        "textbook floating-point Laplace",
        textbook_laplace,
        discrete_laplace,
        pure(1.0, "zero-out"),
        _BIT,
        math.inf,
        "Mironov, CCS 2012: on significance of the least significant bits",
        True,
    ),
    Planted(
        "library floating-point Laplace",
        numpy_laplace,
        discrete_laplace,
        pure(1.0, "zero-out"),
        _BIT,
        math.inf,
        "Haney et al., 2022 (arXiv 2207.13793): precision-based attacks",
        True,
    ),
    Planted(
        "floating-point Gaussian",
        numpy_gaussian,
        snapped_gaussian,
        approximate(1.0, 1e-5, "zero-out"),
        _BIT,
        None,
        "Jin et al., S&P 2022, Are we there yet? Timing and floating-point attacks",
        True,
    ),
]
