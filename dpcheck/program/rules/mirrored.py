"""Noise of which one number is at several places: symmetric noise on a symmetric matrix.

Lemma. Let A be symmetric for all data and E symmetric, with independent numbers on and above the diagonal.
A + E is made of its entries on and above the diagonal, so it is a release of these alone. They move by no
more than all of A, in any norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.program import releases
from dpcheck.program.facts import boxes
from dpcheck.program.facts.kinds import Drawn, Fact, Mirrored, Public
from dpcheck.program.graph import BLOCK, Graph, Made, Node, primitive
from dpcheck.program.rules.common import plain

NONE = -1  # where there is no drawn number, and the entry is 0


def _patched(node: Node) -> Mirrored | None:
    """Drawn numbers by their places; a matrix of zeros has none."""
    fact = node.fact
    if isinstance(fact, Mirrored):
        return fact
    if any(not isinstance(n, int) for n in node.shape):
        return None
    shape = plain(node.shape)
    if isinstance(fact, Public):
        zero = node.dtype.kind == "f" and not np.any(np.asarray(fact.value))
        nowhere = np.full(shape, NONE)
        return _made("", np.zeros(shape), nowhere) if zero else None
    if not isinstance(fact, Drawn) or fact.family not in (releases.GAUSSIAN, releases.LAPLACE):
        return None
    many = int(np.prod(shape))
    if fact.ids.size != many or many > BLOCK or np.any(fact.location):
        return None
    if np.ndim(fact.sign) or float(fact.sign) != 1:
        return None
    scale = np.array(np.broadcast_to(fact.scale, shape), dtype=float)
    return _made(fact.family, scale, np.asarray(fact.ids).reshape(shape))


def _made(family: str, scale: NDArray[np.float64], places: NDArray[np.int64]) -> Mirrored:
    ids = np.unique(places[places != NONE])
    return Mirrored(box=boxes.WHOLE, family=family, scale=scale, places=places, ids=ids)


def _result(shape: Sequence[object], found: Mirrored) -> Made:
    """Draws like others, where each of the numbers is at one place and there is no 0."""
    if found.ids.size == found.places.size:
        fact = Drawn(
            box=boxes.WHOLE,
            family=found.family,
            scale=found.scale,
            location=np.asarray(0.0),
            ids=found.places.reshape(-1, 1),
        )
        return Made(tuple(shape), np.dtype(float), fact)  # type: ignore[arg-type]
    return Made(tuple(shape), np.dtype(float), found)  # type: ignore[arg-type]


def _family(*parts: Mirrored) -> str | None:
    """The one law of all of them."""
    found = {each.family for each in parts if each.family}
    return found.pop() if len(found) == 1 else None


def selected(condition: Node, x: Node, y: Node) -> Made | None:
    """np.triu and its kin: some of the entries, and 0 for the others."""
    if not isinstance(condition.fact, Public) or condition.dtype.kind != "b":
        return None
    mask = np.asarray(condition.fact.value)
    for kept, other, wanted in ((x, y, mask), (y, x, ~mask)):
        found = _patched(kept) if not isinstance(kept.fact, Public) else None
        if found is None or kept.dtype != np.float64 or not isinstance(other.fact, Public):
            continue
        if np.any(np.asarray(other.fact.value)) or mask.shape != plain(kept.shape):
            continue
        places = np.where(wanted, found.places, NONE)
        return _result(kept.shape, _made(found.family, found.scale, places))
    return None


def summed(args: Sequence[Node]) -> Made | None:
    """Two matrices of which, at each place, one is 0."""
    if len(args) != 2 or args[0].shape != args[1].shape:
        return None
    if not any(isinstance(arg.fact, Mirrored) for arg in args):
        return None
    one, other = (_patched(arg) for arg in args)
    if one is None or other is None:
        return None
    family = _family(one, other)
    if family is None or ((one.places != NONE) & (other.places != NONE)).any():
        return None
    first = one.places != NONE
    scale = np.where(first, one.scale, other.scale)
    return _result(args[0].shape, _made(family, scale, np.where(first, one.places, other.places)))


def written(a: Node, new: Node, key: Any) -> Made | None:
    """a[key] = new."""
    one, other = _patched(a), _patched(new)
    if one is None or other is None or not a.dtype == new.dtype == np.float64:
        return None
    family = _family(one, other)
    if family is None:
        return None
    scale, places = np.array(one.scale), np.array(one.places)
    scale[key], places[key] = other.scale, other.places
    return _result(a.shape, _made(family, scale, places))


def moved(fact: Mirrored, on: object) -> Fact:
    """The same numbers in another order, or some of them."""
    places, scale = on(fact.places), on(fact.scale)  # type: ignore[operator]
    return replace(_made(fact.family, np.asarray(scale), np.asarray(places)), coins=fact.coins)


def _upper(value: object) -> object:
    found = np.asarray(value)
    return found[np.triu_indices(len(found))]


@primitive("upper", "the entries of a symmetric matrix of noise on and above its diagonal", _upper)
def upper(graph: Graph, a: Node) -> Made:
    """Independent numbers, which are all of the matrix."""
    fact = a.fact
    assert isinstance(fact, Mirrored)
    square = a.ndim == 2 and a.shape[0] == a.shape[1]
    alike = (
        square
        and np.array_equal(fact.places, fact.places.T)
        and np.array_equal(fact.scale, fact.scale.T)
    )
    ids = fact.places[np.triu_indices(len(fact.places))] if alike else np.empty(0, dtype=np.int64)
    if not alike or (ids == NONE).any() or np.unique(ids).size != ids.size:
        graph.refuse(
            "shared-noise",
            "one drawn number is added to several numbers, and not as symmetric noise",
            "draw one for each: pass size=...; or noise = np.triu(noise) + np.triu(noise, 1).T",
        )
    scale = fact.scale[np.triu_indices(len(fact.places))]
    made = Drawn(
        box=boxes.WHOLE,
        family=fact.family,
        scale=scale,
        location=np.asarray(0.0),
        ids=ids.reshape(-1, 1),
    )
    return Made((ids.size,), np.dtype(float), made)
