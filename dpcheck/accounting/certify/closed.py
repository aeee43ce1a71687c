"""What needs no numbers of a plan: largest losses, distances, and what is not private at all."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.accounting.assumptions import PLAIN_ARITHMETIC
from dpcheck.accounting.certify.theorem import Curve, Spends
from dpcheck.accounting.pairs.pair import Parts, composed_largest_loss, composed_variation
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.side import Side


def by_largest(parts: Parts) -> Spends:
    """Largest losses add up: nothing is left beyond their sum."""
    return Spends(parts, Side.UPPER, composed_largest_loss(parts)[1], 0.0, both=True)


def by_largest_below(parts: Parts) -> Spends:
    """They are attained, so that no smaller epsilon holds at delta 0."""
    return Spends(parts, Side.LOWER, composed_largest_loss(parts)[0], 0.0, both=True)


def by_variation(parts: Parts) -> Spends:
    """delta(0) is the total variation distance; distances of independent outputs add at most up."""
    found = composed_variation(parts)
    return Spends(parts, Side.UPPER, 0.0, found, both=True, assumes=(PLAIN_ARITHMETIC,))


def not_private(parts: Parts, delta: float) -> Spends | None:
    """No epsilon holds at any delta below 1 of what is not private at all."""
    if delta >= 1 or all(loss.objection is None for loss, _ in parts):
        return None
    return Spends(parts, Side.LOWER, math.inf, delta, both=True)


def not_private_at(parts: Parts, epsilons: Array) -> Curve | None:
    """delta is 1 there."""
    if all(loss.objection is None for loss, _ in parts):
        return None
    return Curve(parts, Side.LOWER, epsilons, np.ones(len(epsilons)), both=True)
