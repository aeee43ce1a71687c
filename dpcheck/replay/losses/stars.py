"""Probabilities of paths: conjunctions of half-spaces of independent noise, enclosed.

Supported are stars: one hub atom in common, every other atom alone with it. Coins, thresholds, sparse
vector and report-noisy-max are stars. Cells of the hub's line have known mass, and on a cell every
other atom's interval lies between two known ones, so the sums below and above are proved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcheck.numerics.rounding import Array
from dpcheck.replay.draws import Atom, Family
from dpcheck.replay.losses.families import SLACK, between, quantile
from dpcheck.replay.recorder import Constraint

CELLS = 20_000
Enclosure = tuple[float, float]
UNKNOWN: Enclosure = (0.0, 1.0)


def probability(constraints: Sequence[Constraint], atoms: Sequence[Atom]) -> Enclosure:
    """The chance that all half-spaces hold."""
    low = high = 1.0
    live = []
    for constraint in constraints:
        if constraint.coefficients:
            live.append(constraint)
        elif constraint.constant < 0:
            return 0.0, 0.0
    for group in _connected(live):
        a, b = _component(group, atoms)
        low, high = low * a, high * b
    return low, high


def _connected(constraints: Sequence[Constraint]) -> list[list[Constraint]]:
    groups: list[tuple[set[int], list[Constraint]]] = []
    for constraint in constraints:
        mine = {a for a, _ in constraint.coefficients}
        touching = [g for g in groups if g[0] & mine]
        merged = (mine.union(*(g[0] for g in touching)), [c for g in touching for c in g[1]])
        merged[1].append(constraint)
        groups = [g for g in groups if not g[0] & mine] + [merged]
    return [group for _, group in groups]


def _component(constraints: list[Constraint], atoms: Sequence[Atom]) -> Enclosure:
    used = {a for c in constraints for a, _ in c.coefficients}
    if not all(atoms[a].family.continuous for a in used):
        return UNKNOWN
    if len(used) == 1:
        (hub,) = used
        left, right = _interval(constraints)
        mass = float(between(atoms[hub].family, np.asarray(left), np.asarray(right)))
        return _widen(mass)
    if len(constraints) == 1 and all(atoms[a].family is Family.NORMAL for a in used):
        spread = math.sqrt(math.fsum(w * w for _, w in constraints[0].coefficients))
        from scipy.special import ndtr

        return _widen(float(ndtr(constraints[0].constant / spread)))
    softmax = _gumbel(constraints, atoms)
    if softmax is not None:
        return softmax
    for hub in sorted(used):
        if all(_spokes(c, hub) <= 1 for c in constraints):
            return _star(constraints, hub, atoms)
    return UNKNOWN


def _widen(mass: float) -> Enclosure:
    return max(0.0, mass * (1 - SLACK) - 1e-300), min(1.0, mass * (1 + SLACK))


def _spokes(constraint: Constraint, hub: int) -> int:
    return sum(1 for a, _ in constraint.coefficients if a != hub)


def _interval(constraints: Sequence[Constraint]) -> tuple[float, float]:
    left, right = -math.inf, math.inf
    for constraint in constraints:
        ((_, weight),) = constraint.coefficients
        bound = -constraint.constant / weight
        if weight > 0:
            left = max(left, bound)
        else:
            right = min(right, bound)
    return left, right


def _gumbel(constraints: list[Constraint], atoms: Sequence[Atom]) -> Enclosure | None:
    """All of one scale and one winner: the softmax, in closed form."""
    hubs = set.intersection(*({a for a, w in c.coefficients if w > 0} for c in constraints))
    if len(hubs) != 1:
        return None
    (hub,) = hubs
    scale = dict(constraints[0].coefficients)[hub]
    others: set[int] = set()
    total = 1.0
    for constraint in constraints:
        terms = dict(constraint.coefficients)
        own = terms.pop(hub)
        if len(terms) != 1 or own != scale or set(terms.values()) != {-scale}:
            return None
        (other,) = terms
        if other in others or atoms[other].family is not Family.GUMBEL:
            return None
        others.add(other)
        total += math.exp(min(700.0, -constraint.constant / scale))
    return _widen(1 / total) if atoms[hub].family is Family.GUMBEL else None


def _star(constraints: list[Constraint], hub: int, atoms: Sequence[Atom]) -> Enclosure:
    family = atoms[hub].family
    alone = [c for c in constraints if _spokes(c, hub) == 0]
    left, right = _interval(alone)
    edges = _grid(family, left, right, constraints, hub)
    if len(edges) < 2:
        return 0.0, 0.0
    mass = between(family, edges[:-1], edges[1:])
    low, high = mass.copy(), mass.copy()
    spokes: dict[int, list[Constraint]] = {}
    for constraint in constraints:
        for atom, _ in constraint.coefficients:
            if atom != hub:
                spokes.setdefault(atom, []).append(constraint)
    for atom, mine in spokes.items():
        below, above = _spoke(mine, atom, hub, atoms[atom].family, edges)
        low, high = low * below, high * above
    down = math.fsum(low.tolist()) * (1 - SLACK)
    up = math.fsum(high.tolist()) * (1 + SLACK)
    return max(0.0, down), min(1.0, up)


def _grid(
    family: Family, left: float, right: float, constraints: list[Constraint], hub: int
) -> Array:
    """Cell edges from left to right: quantiles of the hub, dense in its tails."""
    body = np.linspace(0, 1, CELLS + 1)[1:-1]
    tail = np.geomspace(1e-14, 1 / CELLS, 2000, endpoint=False)
    points = quantile(family, np.concatenate([tail, body, 1 - tail[::-1]]))
    far = [-c.constant / w for c in constraints for a, w in c.coefficients if a == hub]
    points = np.concatenate([points, [x for x in far if math.isfinite(x)]])
    points = np.unique(points[(points > left) & (points < right)])
    return np.concatenate(([left], points, [right]))


def _spoke(
    constraints: list[Constraint], atom: int, hub: int, family: Family, edges: Array
) -> tuple[Array, Array]:
    """(least, most) mass of the atom's interval while the hub is in each cell."""
    inner = np.full(len(edges) - 1, -np.inf), np.full(len(edges) - 1, np.inf)
    outer = np.full(len(edges) - 1, -np.inf), np.full(len(edges) - 1, np.inf)
    for constraint in constraints:
        terms = dict(constraint.coefficients)
        weight, slope = terms[atom], terms.get(hub, 0.0)
        with np.errstate(invalid="ignore"):
            bound = (
                -(constraint.constant + slope * edges) / weight
                if slope
                else np.full(len(edges), -constraint.constant / weight)
            )
        least, most = np.minimum(bound[:-1], bound[1:]), np.maximum(bound[:-1], bound[1:])
        if weight > 0:  # atom >= bound
            np.maximum(inner[0], most, out=inner[0])
            np.maximum(outer[0], least, out=outer[0])
        else:
            np.minimum(inner[1], least, out=inner[1])
            np.minimum(outer[1], most, out=outer[1])
    return between(family, *inner), between(family, *outer)
