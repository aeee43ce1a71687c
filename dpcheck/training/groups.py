"""What the releases of clipped groups cost together.

**Lemma (one group).** Let one record's contribution to release j be a_j times part P_j of a vector u of norm
at most 1, and let release j have Gaussian noise of scale s_j. Between neighbours the joint mean of all
releases, in units of their noise, moves by at most

    m * max over entries e of  sqrt( sum over releases j with e in P_j of (a_j / s_j)^2 ),

with m = 1 if one record comes or goes, 2 if one takes the place of another. Proof: the squared shift is
sum_j (a_j / s_j)^2 |(u + u')_{P_j}|^2, with u' = 0 for m = 1; exchange the sums over j and e, and use
|u + u'|^2 <= m^2. Parts that are not known to be disjoint count as overlapping.

**Lemma (several groups).** Groups that share no release have orthogonal shifts, so squares add. Groups that
do share one add up themselves (Minkowski's inequality).

**Lemma (disjoint records).** Terms of disjoint regions are moved by different records, and only one record
differs: the cost is the largest over the records, not the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dpcheck.replay.draws import Line
from dpcheck.training.facts import Part, Region, Term


@dataclass(frozen=True, slots=True)
class Release:
    """An aggregate plus fresh Gaussian noise of standard deviation `noise`, made `times` times."""

    line: Line
    terms: tuple[Term, ...]
    noise: float
    times: int = 1
    scaled: bool = False  # noise and terms are both in units of a public number that is not known


def overlap(a: Term, b: Term) -> bool:
    """Whether two terms of one group may share entries of its vector.

    >>> first, second = Term("g", frozenset({1}), 1.0), Term("g", frozenset({2}), 1.0)
    >>> overlap(first, second), overlap(first, first)
    (False, True)
    """
    if not a.tokens & b.tokens:
        return False
    return a.tokens != b.tokens or not apart(a.part, b.part)


def apart(a: Part | None, b: Part | None) -> bool:
    """Whether two slices are of one array and share no entry."""
    if a is None or b is None or a[0] != b[0]:
        return False
    return a[2] <= b[1] or b[2] <= a[1]


def joint_shift(releases: Sequence[Release], moves: Callable[[Term], int]) -> float:
    """By how many noise units the releases move together between neighbours, at most.

    Guarantee: the lemmas above. Infinite where a term has no bound.
    """
    terms = [term for each in releases for term in each.terms]
    if any(math.isinf(term.scale) for term in terms):
        return math.inf
    return max((_shift_of(_covering(releases, cell), moves) for cell in _cells(terms)), default=0.0)


def _cells(terms: Sequence[Term]) -> list[int | None]:
    """A record for each way of lying in the regions; None for the records that only whole sums have."""
    starts = {term.region.start for term in terms if term.region is not None}
    return [None, *sorted(starts)]


def _covering(releases: Sequence[Release], record: int | None) -> list[Release]:
    """What one record is behind."""

    def inside(region: Region | None) -> bool:
        return region is None or (record is not None and region.start <= record < region.stop)

    kept = [
        replace(each, terms=tuple(t for t in each.terms if inside(t.region))) for each in releases
    ]
    return [each for each in kept if each.terms]


def _shift_of(releases: Sequence[Release], moves: Callable[[Term], int]) -> float:
    entries: dict[object, list[tuple[Term, float]]] = {}
    for each in releases:
        for source, (term, size) in _by_group(each, moves).items():
            entries.setdefault(source, []).append((term, each.times * (size / each.noise) ** 2))
    shift = {
        source: math.sqrt(
            max(sum(cost for other, cost in listed if overlap(term, other)) for term, _ in listed)
        )
        for source, listed in entries.items()
    }
    components = _components([{term.source for term in each.terms} for each in releases])
    return math.hypot(*(math.fsum(shift[source] for source in part) for part in components))


def _by_group(each: Release, moves: Callable[[Term], int]) -> dict[object, tuple[Term, float]]:
    """One term for each group in a release: terms of one group add up, over all their places."""
    found: dict[object, tuple[Term, float]] = {}
    for term in each.terms:
        size = moves(term) * term.scale
        if term.source in found:
            old, before = found[term.source]
            found[term.source] = (
                Term(term.source, old.tokens | term.tokens, 0.0),
                before + size,
            )
        else:
            found[term.source] = (term, size)
    return found


def _components(sets: Sequence[set[object]]) -> list[set[object]]:
    """The sets, united where they share something."""
    found: list[set[object]] = []
    for each in sets:
        touching = [part for part in found if part & each]
        found = [part for part in found if not part & each]
        found.append(each.union(*touching))
    return found
