"""Functions in which noise decides the path: the paths one by one, and what they answer.

Every decision of the noise (a coin, a comparison with a noisy threshold, a noisy argmax used as an
index) is a finite random variable of known law. Forcing its outcomes walks the tree of paths; each
path has a known chance, and paths that were not walked hold the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpcheck.core.data import Value
from dpcheck.numerics.rounding import Array
from dpcheck.replay.checks import confirmed
from dpcheck.replay.following.values import Affine, Lost, Mixture, Monotone
from dpcheck.replay.losses import finite, mixtures
from dpcheck.replay.losses.finite import Table
from dpcheck.replay.losses.parts import Part
from dpcheck.replay.run import Observer, Run


@dataclass(frozen=True, slots=True)
class Walk:
    """The paths that were walked on one dataset, and whether there are no others."""

    runs: tuple[Run, ...]
    complete: bool

    @property
    def clean(self) -> bool:
        """Whether nothing left on any of them."""
        return all(run.recorder.clean for run in self.runs)


def walk(observer: Observer, data: Value, seed: int, first: Run, further: int) -> Walk:
    """Up to `further` more paths, likely ones first; stops at the first that is not clean.

    A path without any chance is not walked; one that plain numbers do not confirm counts as not
    walked.
    """
    runs = [first]
    waiting = _waiting(first, 0)
    complete = True
    while waiting and further > 0 and runs[-1].recorder.clean:
        waiting.sort(key=lambda item: -item[0])
        _, forced = waiting.pop(0)
        run = observer.run(data, seed, forced)
        further -= 1
        if run.recorder.clean and not confirmed(observer, data, run, seed + 1):
            complete = False
            continue
        runs.append(run)
        waiting += _waiting(run, len(forced))
    return Walk(tuple(runs), complete and not waiting)


def _waiting(run: Run, settled: int) -> list[tuple[float, tuple[int, ...]]]:
    """The possible siblings of a path, each with the most chance it can have."""
    found = []
    for forced in _siblings(run, settled):
        recorder = run.recorder
        pairs = zip(recorder.decisions, forced, strict=False)
        taken = {selection: outcome for (selection, _), outcome in pairs}
        chance = finite.chance(recorder, finite.Given(), taken)[1]
        if chance > 0:
            found.append((chance, forced))
    return found


def _siblings(run: Run, settled: int) -> list[tuple[int, ...]]:
    """Paths that leave this one at a decision after the first `settled`."""
    taken = [outcome for _, outcome in run.recorder.decisions]
    found = []
    for position in range(settled, len(taken)):
        selection = run.recorder.selections[run.recorder.decisions[position][0]]
        for outcome in range(selection.size):
            if outcome != taken[position]:
                found.append((*taken[:position], outcome))
    return found


def compare_walks(first: Walk, second: Walk) -> tuple[Part | None, bool]:
    """The answers of both sides: (the part, whether all outputs were judged)."""
    dropped = _dropped([*first.runs, *second.runs])
    cuts = _cuts([*first.runs, *second.runs], dropped)
    p, q = _table(first, dropped, cuts), _table(second, dropped, cuts)
    if p is None or q is None:
        return None, False
    missing = (_missing(first, p), _missing(second, q))
    atoms = frozenset(
        a
        for run in first.runs
        for s, _ in run.recorder.decisions
        for a in run.recorder.selections[s].atoms
    )
    part = finite.compare(_tight(p), _tight(q), (), atoms, missing)
    return part, not dropped and not _numbers([*first.runs, *second.runs])


def _dropped(runs: Sequence[Run]) -> frozenset[str]:
    """Outputs that are not followed on some path: left out on all."""
    return frozenset(
        way
        for run in runs
        for way, x in zip(run.flat.ways, run.flat.scalars, strict=True)
        if isinstance(x, Lost | Monotone) or (isinstance(x, Affine) and not x.continuous)
    )


def _numbers(runs: Sequence[Run]) -> bool:
    return any(isinstance(x, Affine | Mixture) for run in runs for x in run.flat.scalars)


def _kept(run: Run, dropped: frozenset[str]) -> list[tuple[str, Value]]:
    pairs = zip(run.flat.ways, run.flat.scalars, strict=True)
    return [(way, x) for way, x in pairs if way not in dropped]


def _cuts(runs: Sequence[Run], dropped: frozenset[str]) -> dict[str, Array | None]:
    """Where noisy numbers are cut: alike on all paths of both sides."""
    ways = list(dict.fromkeys(way for run in runs for way, _ in _kept(run, dropped)))
    sides = []
    for run in runs:
        kept = dict(_kept(run, dropped))
        given = finite.given(run.recorder)
        decided = {a for c in given.constraints for a, _ in c.coefficients}
        decided |= {atom for atom, _ in given.atoms}
        values = [kept.get(way) for way in ways]
        sides.append(mixtures.Side(run.recorder, values, frozenset(decided)))
    return dict(zip(ways, mixtures.cuts_for(sides, len(ways)), strict=True))


def _table(walked: Walk, dropped: frozenset[str], cuts: dict[str, Array | None]) -> Table | None:
    """Chance of every answer; noisy numbers are seen through bins, if at all."""
    total: Table = {}
    for run in walked.runs:
        kept = _kept(run, dropped)
        table = finite.table_of(
            run.recorder,
            finite.given(run.recorder),
            [value for _, value in kept],
            [cuts[way] for way, _ in kept],
        )
        if table is None:
            return None
        ways = tuple(way for way, _ in kept)
        for answer, (low, high) in table.items():
            key = (run.flat.shape, *zip(ways, answer, strict=True))
            before = total.get(key, (0.0, 0.0))
            total[key] = (before[0] + low, min(1.0, before[1] + high))
    return total


def _missing(walked: Walk, table: Table) -> float:
    if walked.complete:
        return 0.0
    return max(0.0, 1.0 - math.fsum(low for low, _ in table.values()))


def _tight(table: Table) -> Table:
    """What the other answers certainly have, an answer cannot have."""
    sure = math.fsum(low for low, _ in table.values())
    return {
        key: (low, max(low, min(high, 1.0 - (sure - low) * (1 - 1e-12))))
        for key, (low, high) in table.items()
    }
