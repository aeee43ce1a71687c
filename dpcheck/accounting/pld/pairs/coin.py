"""A public coin that picks one of several pairs: the weighted sum of their lattice measures."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np

from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.pairs.symmetric import SymmetricPair
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import UNIT, Array

# Losses in the picture of several symmetric pairs.
COARSE = 1600


class SymmetricCoin(SymmetricPair):
    """A coin over symmetric pairs is one: its tails are the weighted sums of theirs.

    With probabilities rounded up the tails A and B are too high, and so is F at y >= 1. The masses of P and Q
    are equal, m >= 1, so F at y < 1, m (1 - y) + y F(1/y), is too high as well.
    """

    def __init__(self, options: Sequence[tuple[float, SymmetricPair]]) -> None:
        self.options = options
        self.top = max(pair.top for _, pair in options)

    def tails(self, levels: Array) -> tuple[Array, Array, Array, Array]:
        """(A, error, B, error): see the class."""
        total = tuple(np.zeros_like(levels) for _ in range(4))
        for share, pair in self.options:
            pair.add_tails(levels, share, total)
        a, a_error, b, b_error = total
        # A product and the sums, a unit each, of the errors too.
        rounding = (4 + 2 * len(self.options)) * UNIT
        return (
            a,
            a_error * (1 + rounding) + rounding * a,
            b,
            b_error * (1 + rounding) + rounding * b,
        )

    def coarse_levels(self) -> Array:
        """Those of the options, thinned."""
        every = np.unique(np.concatenate([pair.coarse_levels() for _, pair in self.options]))
        return np.append(every[: -1 : max(len(every) // COARSE, 1)], every[-1])


def _symmetric_as_one(options: Sequence[tuple[float, LossPair]]) -> list[tuple[float, LossPair]]:
    symmetric = [(share, pair) for share, pair in options if isinstance(pair, SymmetricPair)]
    if len(symmetric) < 2:
        return list(options)
    others = [(share, pair) for share, pair in options if not isinstance(pair, SymmetricPair)]
    whole = math.fsum(share for share, _ in symmetric) * (1 + 2 * UNIT)
    # A quotient, and a product with `whole` later: a unit each.
    coin = SymmetricCoin([(share / whole * (1 + 4 * UNIT), pair) for share, pair in symmetric])
    return [*others, (whole, coin)]


class CoinPair(LossPair):
    """Pairs with probabilities rounded up, known from above.

    F of the coin is the weighted sum of the options' F, so the weighted sum of measures above them is
    above it. All options are laid on the lattice of the first; symmetric ones are taken as one.
    """

    def __init__(self, options: Sequence[tuple[float, LossPair]]) -> None:
        options = _symmetric_as_one(options)
        heaviest = max(options, key=lambda option: option[0])[1]
        # Symmetric measures lie on the lattice through 0.
        symmetric = any(isinstance(pair, SymmetricPair) for _, pair in options)
        self.anchor = 0.0 if symmetric else heaviest.anchor
        self.options = []
        for share, pair in options:
            moved = copy.copy(pair)  # built pairs are shared
            moved.anchor = self.anchor
            self.options.append((share, moved))
        self.top = max(pair.top for _, pair in self.options)

    def nodes(self) -> tuple[Array, Array]:
        """The options' pictures, weighted."""
        found = [(share, *pair.nodes()) for share, pair in self.options]
        losses = np.concatenate([losses for _, losses, _ in found])
        return losses, np.concatenate([logs + math.log(share) for share, _, logs in found])

    def upper(self, step: float, low: float, high: float) -> LatticeLoss:
        """The weighted sum of the options' measures."""
        lattice, first, masses, infinite = None, 0, np.zeros(0), 0.0
        for share, pair in self.options:  # one after the other: each may have millions of points
            loss = pair.upper(step, low, high)
            if lattice is None:
                lattice, first = loss.lattice, loss.first
            elif loss.lattice.offset != lattice.offset:
                raise CannotCertify("the options of a coin do not share a lattice.")
            start = min(first, loss.first)
            stop = max(first + len(masses), loss.first + len(loss.masses))
            masses = np.pad(masses, (first - start, stop - first - len(masses)))
            first, at = start, loss.first - start
            masses[at : at + len(loss.masses)] += share * loss.masses
            infinite += share * loss.infinite
        assert lattice is not None
        inflate = 1 + 4 * UNIT * (1 + len(self.options))
        return LatticeLoss(lattice, first, masses * inflate, infinite * inflate)

    def lower(self, step: float, low: float, high: float) -> LatticeLoss:  # noqa: ARG002
        """Not known."""
        raise CannotCertify("a coin over pairs is bounded from above only.")
