"""Outputs that take finitely many values: tables of both sides, with enclosed masses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpcheck.core.data import Value
from dpcheck.replay.following.values import Tabled
from dpcheck.replay.losses.parts import Part, finite_part
from dpcheck.replay.losses.stars import Enclosure, probability
from dpcheck.replay.recorder import Constraint, Recorder

MOST = 4096
Table = dict[tuple[Value, ...], Enclosure]
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


def table_of(recorder: Recorder, known: Given, values: Sequence[Value]) -> Table | None:
    """Masses of the joint values of some tabled or plain scalars; None where there are too many."""
    selections = sorted({s for x in values if isinstance(x, Tabled) for s in x.selections})
    sizes = [recorder.selections[s].size for s in selections]
    if math.prod(sizes) > MOST:
        return None
    table: Table = {}
    for outcome in itertools.product(*(range(n) for n in sizes)):
        at = dict(zip(selections, outcome, strict=True))
        key = tuple(plain_key(x.position(at) if isinstance(x, Tabled) else x) for x in values)
        low, high = chance(recorder, known, at)
        before = table.get(key, (0.0, 0.0))
        table[key] = (before[0] + low, min(1.0, before[1] + high))
    return table


def plain_key(value: Value) -> Value:
    """A value that equals itself: NaN as a word, whole floats as they are."""
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value


def components(
    first: dict[str, Value], second: dict[str, Value], one: Recorder, other: Recorder
) -> list[list[str]]:
    """Outputs grouped so that different groups share no atom, on either side."""
    groups: list[tuple[set[tuple[int, int]], list[str]]] = []
    for way in first:
        mine = {(0, a) for a in _atoms(first[way], one)} | {
            (1, a) for a in _atoms(second[way], other)
        }
        touching = [g for g in groups if g[0] & mine]
        merged = mine.union(*(g[0] for g in touching)), [w for g in touching for w in g[1]] + [way]
        groups = [g for g in groups if not g[0] & mine] + [merged]
    return [ways for _, ways in groups]


def _atoms(value: Value, recorder: Recorder) -> frozenset[int]:
    if not isinstance(value, Tabled):
        return frozenset()
    return frozenset().union(*(recorder.selections[s].atoms for s in value.selections))


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
    return Part(forward, backward, _event(p, q, missing), tuple(ways), atoms, words, witness)


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


def _event(p: Sequence[Enclosure], q: Sequence[Enclosure], missing: tuple[float, float]) -> Value:
    """A pair of two outcomes the tables contain: the outcomes likelier on D, with safe masses."""
    from dpcheck.accounting.losses import FiniteLoss

    def pair(a: Sequence[Enclosure], b: Sequence[Enclosure], hidden: float) -> tuple[float, float]:
        chosen = [i for i in range(len(a)) if a[i][0] > b[i][1]]
        mass = math.fsum(a[i][0] for i in chosen)
        return mass, min(1.0, math.fsum(b[i][1] for i in chosen) + hidden)

    x, y = pair(p, q, missing[1])
    back = pair(q, p, missing[0])
    if x - y >= back[0] - back[1]:
        return FiniteLoss((x, 1 - x), (y, 1 - y)) if x > y else None
    x, y = back
    return FiniteLoss((y, 1 - y), (x, 1 - x)) if x > y else None
