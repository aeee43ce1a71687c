"""Record on D, replay on D', and say what is known of the two laws."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.budget import Budget
from dpcheck.replay.draws import UNKNOWN, Line
from dpcheck.replay.findings import FindingKind, ReplayFinding
from dpcheck.replay.following.values import Affine, Lost, Monotone, Tabled
from dpcheck.replay.hints import hints_of, line_of, suggested
from dpcheck.replay.laws import Comparison, compare_runs
from dpcheck.replay.losses.parts import Part, epsilon_of
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.paths import compare_walks, walk
from dpcheck.replay.run import Observer, Run

CALLS = 10


class NeighbouringPair(Protocol):
    """Two neighbouring data sets."""

    @property
    def first(self) -> Any:
        """D."""

    @property
    def second(self) -> Any:
        """D'."""

    @property
    def label(self) -> str:
        """What to call the pair."""


def examine(
    function: Callable[[Any, Any], Any],
    pair: NeighbouringPair | tuple[Any, Any],
    claim: Budget | None = None,
    adjacency: Adjacency | str | None = None,
    seed: int = 0,
    *,
    calls: int = CALLS,
) -> ReplayFinding:
    """What `calls` observed calls of (data, rng) -> output prove about one pair.

    Guarantee: with kind EXACT or PROVED, `finding.epsilon(delta).lower` is never above the epsilon of the
    function on this pair. Assumes: real arithmetic; compiled libraries on the list of
    `dpcheck.replay.sources.outside` are deterministic.

    >>> def noisy_sum(data, rng):
    ...     return sum(data) + rng.laplace(scale=0.5)
    >>> round(examine(noisy_sum, ([0.0, 0.0], [0.0, 1.0])).epsilon().lower, 6)
    2.0
    """
    first, second, label = _sides(pair)
    kind = None if adjacency is None else as_adjacency(adjacency)
    observer = Observer(function)
    recorded = observer.run(first, seed)
    replayed = observer.run(second, seed)
    compared: Comparison | None = None
    if recorded.recorder.clean and replayed.recorder.clean:
        if recorded.recorder.decisions or replayed.recorder.decisions:
            compared = _by_paths(observer, (first, second), (recorded, replayed), seed, calls)
        else:
            compared = _by_laws(observer, (first, second), (recorded, replayed), seed)
    hints = hints_of(recorded, replayed, start_of(function))
    event = suggested(recorded, replayed)
    if compared is None:
        found = FindingKind.HINT if hints or event else FindingKind.NOTHING
        return ReplayFinding(found, label, observer.calls, hints=hints, event=event, adjacency=kind)
    delta = claim.delta if claim is not None else 0.0
    return ReplayFinding(
        FindingKind.EXACT if compared.complete else FindingKind.PROVED, label, observer.calls,
        compared.parts, _lines(recorded, compared.parts), hints, event, kind,
        _witness(label, compared.parts, delta),
    )  # fmt: skip


def _sides(pair: Any) -> tuple[Any, Any, str]:
    if isinstance(pair, tuple | list):
        return pair[0], pair[1], "the pair"
    return pair.first, pair.second, pair.label


def start_of(function: Any) -> Line:
    """The first line of a function."""
    try:
        inner = inspect.unwrap(function)
        code = getattr(inner, "__code__", None) or type(inner).__call__.__code__
        return Line(code.co_filename, code.co_firstlineno)
    except AttributeError:
        return UNKNOWN


def _by_laws(
    observer: Observer, data: tuple[Any, Any], runs: tuple[Run, Run], seed: int
) -> Comparison | None:
    """Both sides without decisions; run once more with other draws, nothing known may change."""
    for run, side in zip(runs, data, strict=True):
        if not _repeats(observer, side, run, seed + 1, ()):
            return None
    return compare_runs(*runs)


def _repeats(observer: Observer, data: Any, run: Run, seed: int, forced: Sequence[int]) -> bool:
    """Whether another run with other draws has the same law; state kept between calls shows here."""
    again = observer.run(data, seed, forced)
    if again.recorder.clean and _signature(again) == _signature(run):
        return True
    run.recorder.marks.extend(again.recorder.marks)
    run.recorder.mark(MarkKind.STATE)
    return False


def _by_paths(
    observer: Observer, data: tuple[Any, Any], runs: tuple[Run, Run], seed: int, calls: int
) -> Comparison | None:
    """Walk the paths of both sides within the calls that are left."""
    for run, side in zip(runs, data, strict=True):
        forced = [outcome for _, outcome in run.recorder.decisions]
        if not _repeats(observer, side, run, seed + 1, forced):
            return None
    left = max(0, calls - observer.calls)
    first = walk(observer, data[0], seed, runs[0], 1 + left // 2)
    second = walk(observer, data[1], seed, runs[1], 1 + left - len(first.runs) + 1)
    if not first.clean or not second.clean:
        for walked, run in ((first, runs[0]), (second, runs[1])):
            run.recorder.marks.extend(walked.runs[-1].recorder.marks)
        return None
    part, whole = compare_walks(first, second)
    complete = whole and first.complete and second.complete
    return Comparison(() if part is None else (part,), complete)


def _signature(run: Run) -> tuple[Any, ...]:
    """Everything that must not change between runs."""
    recorder = run.recorder
    return (
        run.flat.shape,
        tuple(_law(x) for x in run.flat.scalars),
        tuple(recorder.decisions),
        tuple(recorder.selections[s] for s, _ in recorder.decisions),
        tuple(recorder.atoms),
    )


def _law(value: Any) -> Any:
    if isinstance(value, Affine):
        return ("affine", value.base, tuple(sorted(value.coefficients.items())))
    if isinstance(value, Monotone):
        return ("monotone", _law(value.inner), tuple(n for n, _ in value.steps), value.flipped)
    if isinstance(value, Tabled):
        chosen = tuple(value.recorder.selections[s] for s in value.selections)
        return ("tabled", chosen, tuple(repr(x) for x in value.table))
    if isinstance(value, Lost):
        return ("lost", value.depends)
    return repr(value)


def _lines(run: Run, parts: Sequence[Part]) -> tuple[Line, ...]:
    ordered = sorted(parts, key=lambda part: -max(part.forward, part.backward))
    return tuple(dict.fromkeys(line_of(run, a) for part in ordered for a in sorted(part.atoms)))


def _witness(label: str, parts: Sequence[Part], delta: float) -> dict[str, Any]:
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
