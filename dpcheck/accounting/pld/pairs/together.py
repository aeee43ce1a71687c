"""Different pairs of a few outcomes each, taken together: every combination of their outcomes, one by one.

Answers of different losses +-e lie on no lattice together, so a lattice costs each of them a share of its
loss. A few of them have few combinations, whose losses and masses are known: composed alone they need no
lattice at all, and beside others their outcomes lie so close that the lattice hardly costs anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpcheck.accounting.losses import Loss, SumLoss
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms, common_span
from dpcheck.numerics.rounding import UNIT

# Combinations that are listed, the outcomes of one pair among them, and pairs of two outcomes in a group.
MOST_TOGETHER, MOST_OUTCOMES, MOST_USES = 256, 16, 8
# Products of the smallest masses stay above this, far from where digits are lost.
FAINTEST_PRODUCT = 1e-250


class Listed(NamedTuple):
    """A loss and its uses, largest loss and span of its pair, number of combinations and their least mass."""

    loss: Loss
    uses: int
    top: float
    span: float | None
    size: int
    faintest: float


def may_be_listed(loss: Loss, count: int) -> bool:
    """Whether a loss of this kind, used so often, may be taken together with others."""
    return loss.few_outcomes and count <= MOST_USES


def listed(loss: Loss, count: int, pair: object) -> Listed | None:
    """The loss for taking it together with others: its outcomes are few, known, and seen on both sides."""
    if not isinstance(pair, AtomicPair) or pair.rest:
        return None
    atoms = _seen(pair)
    if not 1 < len(atoms.p) <= MOST_OUTCOMES:
        return None
    size, least = len(atoms.p) ** count, float(min(atoms.p.min(), atoms.q.min())) ** count
    fits = size <= MOST_TOGETHER and least >= FAINTEST_PRODUCT
    return Listed(loss, count, pair.top, pair.span, size, least) if fits else None


def together(found: Sequence[Listed]) -> list[tuple[Loss, int]]:
    """The losses in groups of at most MOST_TOGETHER combinations."""
    known = [one.span for one in found if one.span is not None]
    span = common_span(np.array([0.0, *known])) if len(known) == len(found) > 1 else None
    groups: list[list[tuple[Loss, int]]] = []
    size, faintest = MOST_TOGETHER + 1, 1.0
    for one in _dealt(found):
        size, faintest = size * one.size, faintest * one.faintest
        if size > MOST_TOGETHER or faintest < FAINTEST_PRODUCT:
            groups.append([])
            size, faintest = one.size, one.faintest
        groups[-1].append((one.loss, one.uses))
    return [group[0] if len(group) == 1 else (SumLoss(tuple(group), span), 1) for group in groups]


def _dealt(found: Sequence[Listed]) -> list[Listed]:
    """From the largest loss to the smallest, dealt out so that neighbours differ: their sums lie closer."""
    ordered = sorted(found, key=lambda one: (-one.top, repr(one.loss)))
    hands = -(-len(ordered) // MOST_USES)
    return [one for k in range(hands) for one in ordered[k::hands]]


def sum_pair(loss: SumLoss, pairs: Sequence[AtomicPair]) -> AtomicPair:
    """The pair of a composition of `listed` ones.

    A mass is a product, whose relative errors add up with a unit for each product; a loss is a sum, whose
    terms err as they do alone and which is rounded once for each.
    """
    p, q, losses = np.ones(1), np.ones(1), np.zeros(1)
    error, units, reach = 0.0, 0.0, 0.0
    for (_, count), pair in zip(loss.inner, pairs, strict=True):
        atoms = _seen(pair)
        found = atoms.losses()
        off = float(atoms.uncertain(found).max()) / UNIT
        for _ in range(count):
            p, q = np.multiply.outer(p, atoms.p).ravel(), np.multiply.outer(q, atoms.q).ravel()
            losses = np.add.outer(losses, found).ravel()
            reach += float(np.abs(found).max())
            error += atoms.error + 4 * UNIT
            units += off + 2 * reach
    return AtomicPair(Atoms(p, q, error, losses, units), span=loss.span)


def _seen(pair: AtomicPair) -> Atoms:
    """The outcomes that P has."""
    atoms = pair.atoms
    seen = atoms.p > 0
    if seen.all():
        return atoms
    known = None if atoms.known is None else atoms.known[seen]
    return Atoms(atoms.p[seen], atoms.q[seen], atoms.error, known, atoms.units)
