"""Numbers whose noise is chosen by coins: cut into bins, which are finitely many outcomes again.

Binning is post-processing, so every loss between the bins is a proved one. A number is cut only where, at
every outcome and on both sides, its noise is of one known family and decides nothing else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpcheck.core.data import Value
from dpcheck.numerics.rounding import Array
from dpcheck.replay.draws import Family
from dpcheck.replay.following.values import Affine, Mixture, Tabled
from dpcheck.replay.losses.affine import ROUNDING
from dpcheck.replay.losses.families import ABOVE, BELOW, SLACK, between
from dpcheck.replay.losses.lines import Law, law_of
from dpcheck.replay.recorder import Recorder

MOST = 4096  # joint outcomes
_MOST_BINS, _FEWEST_BINS = 1024, 8  # of all cut numbers together, and of one
_HALF = (0.01, 0.03, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 32, 64)
_STEPS = np.array([-x for x in reversed(_HALF)] + [0.0, *_HALF])  # cuts around a center, in scales
_BOUNDED = (Family.UNIFORM, Family.EXPONENTIAL)  # whose density is 0 somewhere
Enclosures = tuple[Array, Array]


@dataclass(frozen=True, slots=True)
class Side:
    """Some values of one run, and the atoms that its path has decided by."""

    recorder: Recorder
    values: Sequence[Value]
    decided: frozenset[int] = frozenset()


def outcomes_of(recorder: Recorder, values: Sequence[Value]) -> Iterator[dict[int, int]] | None:
    """Every joint outcome of the selections in `values`; None where there are too many."""
    held = {s for x in values if isinstance(x, Tabled | Mixture) for s in x.selections}
    selections = sorted(held)
    sizes = [recorder.selections[s].size for s in selections]
    if math.prod(sizes) > MOST:
        return None
    ranges = itertools.product(*(range(n) for n in sizes))
    return (dict(zip(selections, outcome, strict=True)) for outcome in ranges)


def entry_at(value: Value, outcomes: dict[int, int]) -> Value:
    """A value where the outcomes are these."""
    return value.position(outcomes) if isinstance(value, Tabled | Mixture) else value


def cuts_for(sides: Sequence[Side], number: int) -> list[Array | None]:
    """Where to cut each of the `number` values, None for those that are not cut."""
    rows: list[tuple[Side, frozenset[int], list[Value]]] = []
    for side in sides:
        found = outcomes_of(side.recorder, side.values)
        if found is None:
            return [None] * number
        for at in found:
            deciding = (side.recorder.selections[s].atoms for s in at)
            taken = side.decided.union(*deciding)
            rows.append((side, taken, [entry_at(x, at) for x in side.values]))
    places = [
        {law for side, _, entries in rows if (law := _law(side.recorder, entries[index]))}
        for index in range(number)
    ]
    chosen: list[int] = []
    for index in sorted(range(number), key=lambda i: len(places[i]) == 1):
        if places[index] and all(_is_free(row, [*chosen, index]) for row in rows):
            chosen.append(index)
    chosen = chosen[: int(math.log(_MOST_BINS) / math.log(_FEWEST_BINS))]
    each = int(_MOST_BINS ** (1 / max(1, len(chosen))))
    return [_edges(places[i], each) if i in chosen else None for i in range(number)]


def _law(recorder: Recorder, entry: Value) -> Law | None:
    return law_of(entry, recorder.atoms) if isinstance(entry, Affine) else None


def _is_free(row: tuple[Side, frozenset[int], list[Value]], chosen: Sequence[int]) -> bool:
    """Whether the noise of these entries has known laws, decides nothing and is not shared."""
    side, taken, entries = row
    used = set(taken)
    for entry in (entries[index] for index in chosen):
        if not isinstance(entry, Affine):
            continue
        if _law(side.recorder, entry) is None or used & entry.depends:
            return False
        used |= entry.depends
    return True


def _edges(laws: set[Law], most: int) -> Array:
    """At most so many cuts: around every center, at steps of every scale."""
    ordered = sorted(laws, key=lambda law: (law.center, law.scale, law.family))
    steps = _STEPS
    while len(steps) > 3 and len(ordered) * len(steps) >= most:
        steps = steps[1:-1:2] if len(steps) > 5 else steps[1:-1]
    if len(ordered) * len(steps) >= most:
        ordered = ordered[:: -(-len(ordered) * len(steps) // max(1, most - 1))]
    found = np.concatenate([law.center + law.scale * steps for law in ordered])
    return np.unique(found[np.isfinite(found)])[: most - 1]


def bins(recorder: Recorder, entry: Affine, cuts: Array) -> Enclosures:
    """(least, most) mass between -inf, the cuts and inf, for every rounding of where the center is."""
    law = _law(recorder, entry)
    assert law is not None
    doubt = (entry.error + ROUNDING * abs(law.center)) / law.scale
    ends = np.concatenate(([-np.inf], (cuts - law.center) / law.scale, [np.inf]))
    left, right = ends[:-1], ends[1:]
    # A difference of two distribution functions is only as accurate as the smaller tail.
    tail = SLACK * np.minimum(BELOW[law.family](right + doubt), ABOVE[law.family](left - doubt))
    low = between(law.family, left + doubt, right - doubt) * (1 - SLACK) - tail
    wide = between(law.family, left - doubt, right + doubt)
    high = wide * (1 + SLACK) + tail
    if law.family not in _BOUNDED:
        high = high + 1e-300  # what underflows is not 0
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def names(cuts: Array) -> list[str]:
    """What to call the bins."""
    ends = [-math.inf, *cuts.tolist(), math.inf]
    return [f"a number from {a!r} to {b!r}" for a, b in itertools.pairwise(ends)]
