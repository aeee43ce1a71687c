"""Record on D, replay on D', and say what is known of the two laws."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Protocol

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.data import Value
from dpcheck.replay.checks import confirmed
from dpcheck.replay.draws import UNKNOWN, Line
from dpcheck.replay.findings import FindingKind, Hint, HintKind, ReplayFinding
from dpcheck.replay.guess import guess
from dpcheck.replay.hints import hints_of, line_of, suggested
from dpcheck.replay.laws import Comparison, compare_runs
from dpcheck.replay.losses.half_lines import half_line_of
from dpcheck.replay.losses.parts import Part, epsilon_of
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.paths import Walk, compare_walks, walk
from dpcheck.replay.run import Observer, Run

CALLS = 10


class NeighbouringPair(Protocol):
    """Two neighbouring datasets."""

    @property
    def first(self) -> Value:
        """D."""

    @property
    def second(self) -> Value:
        """D'."""

    @property
    def label(self) -> str:
        """What to call the pair."""


def examine(
    function: Callable[[Value, Value], Value],
    pair: NeighbouringPair | tuple[Value, Value],
    claim: Budget | None = None,
    adjacency: Adjacency | str | None = None,
    seed: int = 0,
    *,
    calls: int = CALLS,
    observer: Observer | None = None,
) -> ReplayFinding:
    """What `calls` observed calls of (data, rng) -> output prove about one pair.

    Guarantee: with kind EXACT or PROVED, `finding.epsilon(delta).lower` is never above the epsilon of the
    function on this pair. Assumes: real arithmetic; compiled libraries on the list of
    `dpcheck.replay.sources.outside` are deterministic. One `observer` may look at several pairs; it knows the
    generators and modules that were there when it was made.

    >>> def noisy_sum(data, rng):
    ...     return sum(data) + rng.laplace(scale=0.5)
    >>> round(examine(noisy_sum, ([0.0, 0.0], [0.0, 1.0])).epsilon().lower, 6)
    2.0
    """
    first, second, label = _sides(pair)
    kind = None if adjacency is None else as_adjacency(adjacency)
    observer = Observer(function) if observer is None else observer
    observer.calls = 0
    recorded, replayed, compared = _compared(observer, (first, second), seed, calls)
    masks = recorded.recorder.masks + replayed.recorder.masks
    if compared is None and masks and not observer.plain_masks:
        # A library may take a followed mask for something else, labels for instance.
        observer.plain_masks = True
        recorded, replayed, compared = _compared(
            observer, (first, second), seed, calls + observer.calls
        )
    hints = hints_of(recorded, replayed, start_of(function))
    event = suggested(recorded, replayed)
    if compared is None:
        hints = (*_guessed(observer, (first, second), seed, calls, claim, recorded), *hints)
        found = FindingKind.HINT if hints or event else FindingKind.NOTHING
        return ReplayFinding(found, label, observer.calls, hints=hints, event=event, adjacency=kind)
    delta = claim.delta if claim is not None else 0.0
    allowed = claim.epsilon if claim is not None else 0.0
    return ReplayFinding(
        FindingKind.EXACT if compared.complete else FindingKind.PROVED,
        label,
        observer.calls,
        compared.parts,
        _lines(recorded, compared.parts),
        hints,
        event,
        kind,
        _witness(label, compared.parts, delta),
        half_line_of(recorded, replayed, allowed, delta),
    )


def _compared(
    observer: Observer, data: tuple[Value, Value], seed: int, calls: int
) -> tuple[Run, Run, Comparison | None]:
    """A followed run on each side, and what is known of the two laws where both were followed to the end."""
    recorded, replayed = (observer.run(side, seed) for side in data)
    runs = (recorded, replayed)
    if not all(run.recorder.clean for run in runs):
        return *runs, None
    if any(run.recorder.decisions for run in runs):
        return *runs, _by_paths(observer, data, runs, seed, calls)
    return *runs, _by_laws(observer, data, runs, seed)


def _sides(pair: Value) -> tuple[Value, Value, str]:
    if isinstance(pair, tuple | list):
        return pair[0], pair[1], "the pair"
    return pair.first, pair.second, pair.label


def start_of(function: Value) -> Line:
    """The first line of a function."""
    try:
        inner = inspect.unwrap(function)
        code = getattr(inner, "__code__", None) or type(inner).__call__.__code__
        return Line(code.co_filename, code.co_firstlineno)
    except AttributeError:
        return UNKNOWN


def _guessed(
    observer: Observer,
    data: tuple[Value, Value],
    seed: int,
    calls: int,
    claim: Budget | None,
    run: Run,
) -> tuple[Hint, ...]:
    """What the loss would be if noise that was not followed is additive, where that matters."""
    if calls - observer.calls < 4:
        return ()
    seen = guess(observer, data, seed)
    if seen is None or not seen.comparison.parts:
        return ()
    delta = 0.0 if claim is None else claim.delta
    epsilon = seen.epsilon(delta)
    if claim is not None and epsilon <= claim.epsilon:
        return ()
    atoms = sorted(a for part in seen.comparison.parts for a in part.atoms)
    words = (
        f"each of {seen.judged} outputs moved in proportion to one draw in four runs; if that is all "
        f"there is to it, epsilon is {epsilon:.6g} at delta {delta:g} (not followed, so no proof)"
    )
    line = line_of(run, atoms[0]) if atoms else UNKNOWN
    return (Hint(HintKind.ADDITIVE, line, words, epsilon),)


def _by_laws(
    observer: Observer, data: tuple[Value, Value], runs: tuple[Run, Run], seed: int
) -> Comparison | None:
    """Both sides without decisions; a plain run with other draws must give what is predicted."""
    for run, side in zip(runs, data, strict=True):
        if not confirmed(observer, side, run, seed + 1):
            run.recorder.mark(MarkKind.STATE)
            return None
    return compare_runs(*runs)


def _by_paths(
    observer: Observer, data: tuple[Value, Value], runs: tuple[Run, Run], seed: int, calls: int
) -> Comparison | None:
    """Walk the paths of both sides within the calls that are left."""
    for run, side in zip(runs, data, strict=True):
        if not confirmed(observer, side, run, seed + 1):
            run.recorder.mark(MarkKind.STATE)
            return None
    # Every further path costs two calls: it is walked, and confirmed by plain numbers.
    further = max(0, calls - observer.calls) // 2
    walks: list[Walk] = []
    for run, side, share in zip(runs, data, (further - further // 2, further), strict=True):
        spent = sum(len(walked.runs) - 1 for walked in walks)
        walks.append(walk(observer, side, seed, run, min(share, further - spent)))
        if not walks[-1].clean:
            run.recorder.marks.extend(walks[-1].runs[-1].recorder.marks)
            return None
    part, whole = compare_walks(*walks)
    complete = whole and all(walked.complete for walked in walks)
    return Comparison(() if part is None else (part,), complete)


def _lines(run: Run, parts: Sequence[Part]) -> tuple[Line, ...]:
    ordered = sorted(parts, key=lambda part: -max(part.forward, part.backward))
    return tuple(dict.fromkeys(line_of(run, a) for part in ordered for a in sorted(part.atoms)))


def _witness(label: str, parts: Sequence[Part], delta: float) -> dict[str, Value]:
    return {
        "kind": "replay",
        "pair": label,
        "parts": [
            {"outputs": list(part.ways), "words": part.words, **dict(part.witness)}
            for part in parts[:16]
        ],
        "epsilon": epsilon_of(parts, delta),
        "delta": delta,
    }
