"""Outputs that take finitely many values: tables of both sides, with enclosed masses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpcheck.core.data import Value
from dpcheck.numerics.rounding import Array
from dpcheck.replay.following.values import Affine, Followed
from dpcheck.replay.losses import mixtures
from dpcheck.replay.losses.parts import Part, finite_part
from dpcheck.replay.losses.stars import Enclosure, probability
from dpcheck.replay.recorder import Constraint, Recorder

Table = dict[tuple[Value, ...], Enclosure]
_NUMBER = "a noisy number"
_CLOSE = 2e-10  # relative width up to which an enclosure is taken for a number


@dataclass(frozen=True, slots=True)
class Given:
    """What a path has decided: half-spaces that hold, and outcomes of finite atoms."""

    constraints: tuple[Constraint, ...] = ()
    atoms: tuple[tuple[int, int], ...] = ()


def given(recorder: Recorder) -> Given:
    """The decisions of a run."""
    constraints: list[Constraint] = []
    atoms: list[tuple[int, int]] = []
    for selection, outcome in recorder.decisions:
        chosen = recorder.selections[selection]
        if chosen.atom is not None:
            atoms.append((chosen.atom, outcome))
        else:
            constraints += chosen.outcomes[outcome]
    return Given(tuple(constraints), tuple(atoms))


def chance(recorder: Recorder, known: Given, outcomes: dict[int, int]) -> Enclosure:
    """The chance of a path together with outcomes of further selections."""
    constraints = list(known.constraints)
    fixed = dict(known.atoms)
    for selection, outcome in outcomes.items():
        chosen = recorder.selections[selection]
        if chosen.atom is None:
            constraints += chosen.outcomes[outcome]
        elif fixed.setdefault(chosen.atom, outcome) != outcome:
            return 0.0, 0.0
    low, high = probability(constraints, recorder.atoms)
    for atom, outcome in fixed.items():
        masses = recorder.atoms[atom].parameter
        assert isinstance(masses, tuple)
        mass = masses[outcome] / math.fsum(masses)
        low, high = low * mass * (1 - 1e-12), min(1.0, high * mass * (1 + 1e-12))
    return low, high


def table_of(
    recorder: Recorder,
    known: Given,
    values: Sequence[Value],
    cuts: Sequence[Array | None] | None = None,
) -> Table | None:
    """Masses of the joint values of scalars; None where there are too many.

    Numbers with noise are in the bins between their cuts; where there are none, all of them are one.
    """
    outcomes = mixtures.outcomes_of(recorder, values)
    if outcomes is None:
        return None
    table: Table = {}
    edges = [None] * len(values) if cuts is None else cuts
    for at in outcomes:
        low, high = chance(recorder, known, at)
        if high == 0.0:
            continue
        entries = [mixtures.entry_at(x, at) for x in values]
        spread = [_spread(recorder, x, cut) for x, cut in zip(entries, edges, strict=True)]
        for joint in itertools.product(*spread):
            key = tuple(name for name, _ in joint)
            least, most = low, high
            for _, (a, b) in joint:
                least, most = least * a, most * b
            before = table.get(key, (0.0, 0.0))
            table[key] = (before[0] + least, min(1.0, before[1] + most))
    return table


def _spread(recorder: Recorder, entry: Value, cuts: Array | None) -> list[tuple[Value, Enclosure]]:
    """What an entry can be seen as, and how likely each is."""
    if not isinstance(entry, Followed):
        return [(plain_key(entry), (1.0, 1.0))]
    if cuts is None or not isinstance(entry, Affine):
        return [(_NUMBER, (1.0, 1.0))]
    low, high = mixtures.bins(recorder, entry, cuts)
    enclosed = zip(low.tolist(), high.tolist(), strict=True)
    return list(zip(mixtures.names(cuts), enclosed, strict=True))


def plain_key(value: Value) -> Value:
    """A value that equals itself: NaN as a word, whole floats as they are."""
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value


def components(first: dict[str, Value], second: dict[str, Value]) -> list[list[str]]:
    """Outputs grouped so that different groups share no atom, on either side."""
    groups: list[tuple[set[tuple[int, int]], list[str]]] = []
    for way in first:
        mine = {(0, a) for a in _atoms(first[way])} | {(1, a) for a in _atoms(second[way])}
        touching = [g for g in groups if g[0] & mine]
        merged = mine.union(*(g[0] for g in touching)), [w for g in touching for w in g[1]] + [way]
        groups = [g for g in groups if not g[0] & mine] + [merged]
    return [ways for _, ways in groups]


def _atoms(value: Value) -> frozenset[int]:
    return value.depends if isinstance(value, Followed) else frozenset()


def compare(
    first: Table,
    second: Table,
    ways: Sequence[str],
    atoms: frozenset[int],
    missing: tuple[float, float] = (0.0, 0.0),
) -> Part | None:
    """Two tables; `missing` is the most that paths not looked at may hold on each side."""
    keys = list(dict.fromkeys([*first, *second]))
    nothing = (0.0, 0.0)
    p = [first.get(key, nothing) for key in keys]
    q = [second.get(key, nothing) for key in keys]
    sharp = all(high - low <= _CLOSE * high for low, high in (*p, *q)) and missing == (0.0, 0.0)
    forward, told = _largest(keys, p, q, missing[1])
    backward, told_back = _largest(keys, q, p, missing[0])
    if forward == backward == 0.0:
        return None
    best = told if forward >= backward else told_back
    witness = (("output", list(best)), ("direction", "D" if forward >= backward else "D'"))
    words = f"the answer {_shown(best)}"
    if sharp:
        part = finite_part(
            [(a + b) / 2 for a, b in p], [(a + b) / 2 for a, b in q], ways, atoms, words, witness
        )
        return Part(forward, backward, part.loss, part.ways, atoms, words, witness)
    return Part(forward, backward, _garbled(p, q, missing), tuple(ways), atoms, words, witness)


def _shown(key: tuple[Value, ...]) -> str:
    """An answer; those of paths carry their shape and the way to each value."""
    if key and isinstance(key[0], tuple):
        key = tuple(value for _, value in key[1:])
    return repr(key[0]) if len(key) == 1 else f"{list(key)!r:.80}"


def _largest(
    keys: Sequence[tuple[Value, ...]], p: Sequence[Enclosure], q: Sequence[Enclosure], hidden: float
) -> tuple[float, tuple[Value, ...]]:
    best, told = 0.0, keys[0]
    for key, (low, _), (_, high) in zip(keys, p, q, strict=True):
        top = high + hidden
        if low > 0:
            value = math.inf if top == 0 else math.log(low / top)
            if value > best:
                best, told = value, key
    return best, told


def _garbled(p: Sequence[Enclosure], q: Sequence[Enclosure], missing: tuple[float, float]) -> Value:
    """A pair of laws that the tables contain, whatever their masses are in the enclosures.

    Every set of outcomes is a test: its power is at least the mass that it surely has on D, its size at
    most the mass that it may have on D'. The best test of each size is a concave function of the size, so
    what lies below the hull of such points is attained. Sums and slopes are exact.
    """
    from dpcheck.accounting.losses import FiniteLoss

    order = sorted(range(len(p)), key=lambda i: -_ratio(p[i], q[i]))
    points = {(Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))}
    size, power = Fraction(missing[1]), Fraction(0)
    for i in order:
        size, power = size + Fraction(q[i][1]), power + Fraction(p[i][0])
        points.add((min(Fraction(1), size), min(Fraction(1), power)))
    size, power = Fraction(1), 1 - Fraction(missing[0])
    for i in reversed(order):  # all but these
        size, power = size - Fraction(q[i][0]), power - Fraction(p[i][1])
        points.add((max(Fraction(0), size), max(Fraction(0), power)))
    hull: list[tuple[Fraction, Fraction]] = []
    for point in sorted(points, key=lambda at: (at[0], at[1])):
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    steps = [(b[1] - a[1], b[0] - a[0]) for a, b in itertools.pairwise(hull)]
    first, second = (tuple(float(step[side]) for step in steps) for side in (0, 1))
    return None if first == second else FiniteLoss(first, second)


def _ratio(p: Enclosure, q: Enclosure) -> float:
    return math.inf if q[1] == 0 else p[0] / q[1]


def _is_below(
    one: tuple[Fraction, Fraction], two: tuple[Fraction, Fraction], three: tuple[Fraction, Fraction]
) -> bool:
    """Whether the middle point is on or below the line through the others."""
    return (two[1] - one[1]) * (three[0] - one[0]) <= (three[1] - one[1]) * (two[0] - one[0])
