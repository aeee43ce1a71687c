"""A standard number moved by a known amount: the pair (z, z + shift), family by family."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpcheck.accounting.losses import (
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    Loss,
)
from dpcheck.replay.draws import Atom, Family
from dpcheck.replay.losses.bins import binned

Bounds = tuple[float, float, Loss | None]
_INTEGER = 1e-6  # how far from a whole number a shift of integer noise is taken for rounding


def shifted(atom: Atom, shift: float) -> Bounds:
    """(largest log P/Q, largest log Q/P, a pair for accounting) of z against z + shift."""
    return _SHIFTED[atom.family](atom, shift)


def _laplace(atom: Atom, shift: float) -> Bounds:  # noqa: ARG001
    return abs(shift), abs(shift), LaplaceLoss(abs(shift))


def _normal(atom: Atom, shift: float) -> Bounds:  # noqa: ARG001
    return math.inf, math.inf, GaussianLoss(abs(shift))


def _uniform(atom: Atom, shift: float) -> Bounds:  # noqa: ARG001
    # Outside the overlap one density is 0; inside both are 1.
    seen = min(1.0, abs(shift))
    return math.inf, math.inf, FiniteLoss((1 - seen, seen, 0.0), (1 - seen, 0.0, seen))


def _exponential(atom: Atom, shift: float) -> Bounds:  # noqa: ARG001
    # Above both starts the ratio is constant; below the later start only one side has mass.
    kept = math.exp(-abs(shift))
    early, late = (1 - kept, kept), (0.0, 1.0)
    if shift > 0:
        return math.inf, abs(shift), FiniteLoss(early, late)
    return abs(shift), math.inf, FiniteLoss(late, early)


def _gumbel(atom: Atom, shift: float) -> Bounds:
    # log p(z)/p(z - s) = -s + e^{-z} (e^s - 1): unbounded toward -infinity on one side, s on the other.
    pair = binned(atom.family, 0.0, 1.0, atom.family, shift, 1.0)
    return (math.inf, shift, pair) if shift > 0 else (-shift, math.inf, pair)


def _logistic(atom: Atom, shift: float) -> Bounds:
    pair = binned(atom.family, 0.0, 1.0, atom.family, shift, 1.0)
    return abs(shift), abs(shift), pair


def _cauchy(atom: Atom, shift: float) -> Bounds:
    # max of (1 + (x - s)^2)/(1 + x^2) is ((s + sqrt(s^2 + 4))/2)^2.
    largest = 2 * math.asinh(abs(shift) / 2)
    return largest, largest, binned(atom.family, 0.0, 1.0, atom.family, shift, 1.0)


def _discrete_laplace(atom: Atom, shift: float) -> Bounds:
    whole = _whole(shift)
    assert isinstance(atom.parameter, float)
    if whole is None:
        return _APART
    return (
        abs(whole) / atom.parameter,
        abs(whole) / atom.parameter,
        DiscreteLaplaceLoss(atom.parameter, abs(whole)),
    )


def _discrete_gaussian(atom: Atom, shift: float) -> Bounds:
    whole = _whole(shift)
    assert isinstance(atom.parameter, float)
    if whole is None:
        return _APART
    return math.inf, math.inf, DiscreteGaussianLoss(atom.parameter, abs(whole))


def _whole(shift: float) -> int | None:
    near = round(shift)
    return near if abs(shift - near) <= _INTEGER * max(1.0, abs(shift)) else None


# Integers moved by a fraction: no value is possible under both.
_APART: Bounds = (math.inf, math.inf, FiniteLoss((1.0, 0.0), (0.0, 1.0)))

_SHIFTED: dict[Family, Callable[[Atom, float], Bounds]] = {
    Family.LAPLACE: _laplace,
    Family.NORMAL: _normal,
    Family.UNIFORM: _uniform,
    Family.EXPONENTIAL: _exponential,
    Family.GUMBEL: _gumbel,
    Family.LOGISTIC: _logistic,
    Family.CAUCHY: _cauchy,
    Family.DISCRETE_LAPLACE: _discrete_laplace,
    Family.DISCRETE_GAUSSIAN: _discrete_gaussian,
}

SHIFTABLE = frozenset(_SHIFTED)
