"""Two runs that are known for every value of the noise: the independent parts of their loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpcheck.core.data import Value
from dpcheck.replay.draws import Atom
from dpcheck.replay.following.values import Affine, Followed, Lost, Mixture, Monotone, Tabled
from dpcheck.replay.losses import affine, finite, lines, mixtures
from dpcheck.replay.losses.parts import Part, revealed
from dpcheck.replay.run import Run

_SAME = 1e-12  # relative difference up to which two coefficients are one
_ROUNDING = 1e-9  # relative difference of plain floats that is taken for rounding


@dataclass(frozen=True, slots=True)
class Comparison:
    """The parts, and whether every output is in one of them."""

    parts: tuple[Part, ...]
    complete: bool


def compare_runs(first: Run, second: Run) -> Comparison:
    """Both runs without decisions: outputs grouped by the noise they share.

    Outputs that are not followed are dropped: what is left is post-processing of the release.
    """
    if first.flat.shape != second.flat.shape:
        words = "the shape of the output differs and no noise decides it"
        return Comparison((revealed((), frozenset(), words),), True)
    parts: list[Part] = []
    ways: list[tuple[str, Value, Value]] = []
    complete = True
    for way, a, b in zip(first.flat.ways, first.flat.scalars, second.flat.scalars, strict=True):
        if isinstance(a, Lost) or isinstance(b, Lost):
            complete = False
        elif not isinstance(a, Followed) and not isinstance(b, Followed):
            if _differ(a, b):
                words = f"output{way} is {_shown(a)} on D and {_shown(b)} on D', without noise"
                parts.append(revealed((way,), frozenset(), words))
        else:
            ways.append((way, a, b))
    certain = [part for part in parts if math.isinf(part.forward)]
    if certain:
        return Comparison((certain[0],), complete)
    tabled = [item for item in ways if any(isinstance(x, Tabled | Mixture) for x in item[1:])]
    smooth = [item for item in ways if item not in tabled]
    shared = _shared(tabled, smooth)
    tabled = [item for item in tabled if item[0] not in shared]
    found, whole = _tabled(tabled, first, second)
    parts += found
    more, rest = _smooth([item for item in smooth if item[0] not in shared], first, second)
    parts += more
    return Comparison(tuple(parts), complete and whole and rest and not shared)


def _differ(a: Value, b: Value) -> bool:
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    if not numbers:
        return bool(type(a) is not type(b) or a != b)
    if (isinstance(a, float) and math.isnan(a)) or (isinstance(b, float) and math.isnan(b)):
        return not bool(a != a and b != b)
    if (isinstance(a, int) and isinstance(b, int)) or math.isinf(a) or math.isinf(b):
        return bool(a != b)
    return bool(abs(a - b) > _ROUNDING * max(abs(a), abs(b)))


def _shown(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value!r:.40}"


Item = tuple[str, Value, Value]


def _shared(tabled: Sequence[Item], smooth: Sequence[Item]) -> set[str]:
    """Outputs with numbers whose noise also decides a finite output: not independent, so dropped."""
    dropped: set[str] = set()
    for side in (0, 1):
        decided: frozenset[int] = frozenset().union(*(_depends(item[1:][side]) for item in tabled))
        dropped |= {item[0] for item in smooth if _depends(item[1:][side]) & decided}
    return dropped


def _depends(value: Value) -> frozenset[int]:
    return value.depends if isinstance(value, Followed) else frozenset()


def _tabled(items: Sequence[Item], first: Run, second: Run) -> tuple[list[Part], bool]:
    mixed = [i for i in items if any(isinstance(x, Affine | Mixture | Monotone) for x in i[1:])]
    items = [i for i in items if not any(isinstance(x, Monotone) for x in i[1:])]
    one = {way: a for way, a, _ in items}
    other = {way: b for way, _, b in items}
    parts: list[Part] = []
    whole = not mixed
    nothing = finite.Given()
    for group in finite.components(one, other):
        mine, theirs = [one[w] for w in group], [other[w] for w in group]
        sides = [mixtures.Side(first.recorder, mine), mixtures.Side(second.recorder, theirs)]
        cuts = mixtures.cuts_for(sides, len(group))
        p = finite.table_of(first.recorder, nothing, mine, cuts)
        q = finite.table_of(second.recorder, nothing, theirs, cuts)
        if p is None or q is None:
            whole = False
            continue
        atoms = frozenset().union(*(one[w].depends for w in group if isinstance(one[w], Followed)))
        part = finite.compare(p, q, group, atoms)
        if part is not None:
            parts.append(part)
    return parts, whole


def _smooth(items: Sequence[Item], first: Run, second: Run) -> tuple[list[Part], bool]:
    one, other = first.recorder.atoms, second.recorder.atoms
    for way, a, b in items:
        if isinstance(a, Followed) != isinstance(b, Followed) and _density(a, b):
            words = f"output{way} has noise on one of the two datasets only"
            return [revealed((way,), (a if isinstance(a, Followed) else b).depends, words)], True
    affines = [i for i in items if isinstance(i[1], Affine) and isinstance(i[2], Affine)]
    same = [i for i in affines if _same(i[1], i[2], one, other)]
    parts: list[Part] = []
    whole = len(affines) == len(items)
    used: set[int] = set()
    taken: set[int] = set()
    for block in affine.blocks([i[0] for i in same], [i[1] for i in same], [i[2] for i in same]):
        found = affine.block_parts(block, one)
        parts += found
        used |= set(block.columns)
    taken |= used
    # What is left is judged one output at a time, each only if its noise is its own.
    for way, a, b in items:
        if (way, a, b) in same or not isinstance(a, Followed) or not isinstance(b, Followed):
            continue
        if a.depends & used or b.depends & taken:
            whole = False
            continue
        found, exact = _alone(way, a, b, one, other)
        whole = whole and exact
        if found:
            used |= a.depends
            taken |= b.depends
            parts += found
    return parts, whole


def _density(a: Value, b: Value) -> bool:
    """Whether the random one of the two is a number with a density."""
    value = a if isinstance(a, Followed) else b
    return isinstance(value, Affine) and value.continuous


def _same(a: Affine, b: Affine, one: Sequence[Atom], other: Sequence[Atom]) -> bool:
    """The same combination of the same draws."""
    if a.coefficients.keys() != b.coefficients.keys():
        return False
    return all(
        abs(c - b.coefficients[k]) <= _SAME * abs(c)
        and one[k].family is other[k].family
        and one[k].parameter == other[k].parameter
        for k, c in a.coefficients.items()
    )


def _alone(
    way: str, a: Value, b: Value, one: list[Atom], other: list[Atom]
) -> tuple[list[Part], bool]:
    """The loss of one output by itself, and whether it is all there is to it."""
    if isinstance(a, Affine) and isinstance(b, Affine):
        p, q = lines.law_of(a, one), lines.law_of(b, other)
        if p is None or q is None:
            return [], False
        if lines.same_scale(p, q):
            return _moved(way, a, b, p, q), True
        return lines.different_parts(way, p, q, a.depends), False
    if isinstance(a, Monotone) and isinstance(b, Monotone):
        return lines.monotone_parts(way, a, b, one, other), False
    return [], False


def _moved(way: str, a: Affine, b: Affine, p: lines.Law, q: lines.Law) -> list[Part]:
    """The same law from other draws: only the shift matters."""
    from dpcheck.replay.losses.shifts import shifted

    moved = q.center - p.center
    slack = affine.slack_of(a, b)
    if abs(moved) <= slack:
        return []
    by = math.copysign(abs(moved) - slack, moved) / p.scale
    forward, backward, loss = shifted(Atom(p.family, 0), by)
    words = f"{p.family} noise moved by {abs(by):.6g} of its scale"
    return [Part(forward, backward, loss, (way,), a.depends, words)]
