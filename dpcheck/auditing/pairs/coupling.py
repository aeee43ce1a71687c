"""The same draws on both sides of a pair: how far its outputs are moved, in units of the noise.

A score for a search, and nothing more: the audit tests what was chosen on other runs.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

from dpcheck.auditing.mechanism import Mechanism, Pair, SingleCall
from dpcheck.core.data import Data, Value
from dpcheck.core.errors import DpcheckError, RunTimedOut, TimeLimitReached
from dpcheck.execution.facts import watched
from dpcheck.execution.interrupts import Interrupted, interruptible, time_limited
from dpcheck.execution.randomness import seeded
from dpcheck.execution.store import Arrays
from dpcheck.replay.outputs import flatten

_SECONDS = 10.0  # a call, unless told otherwise
_APART = 1e4  # outputs of another shape, one that raises and one that does not
_CHANGED = 3.0  # a word or a truth that changes, in units of noise
_NO_NOISE = 1e3  # a number that moves without noise
_ENOUGH = 5  # outputs that tell how large noise is


@dataclass(frozen=True, slots=True)
class _Answer:
    """One output: what it looks like, and its scalars."""

    shape: Value
    scalars: tuple[Value, ...]


def coupled_batch(
    mechanism: Mechanism, pairs: Sequence[Pair], seed: np.random.SeedSequence
) -> Arrays:
    """A score for every pair, by three calls: two with the same draws, one with others; -1 for none.

    Also the seconds that the quickest call took by itself, whatever else the machine does.
    """
    one, two = (int(word) for word in seed.generate_state(2))
    first, quickest = [], math.inf
    for pair in pairs:
        watch = _Watch()
        first.append(_called(mechanism, pair.first, one))
        quickest = min(quickest, watch.seconds)
    second = [_called(mechanism, pair.second, one) for pair in pairs]
    again = [_called(mechanism, pair.first, two) for pair in pairs]
    noise = _Noise(list(zip(first, again, strict=True)))
    scores = [
        _score(a, b, noise.of(index, a))
        for index, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    return {"score": np.array(scores), "quickest": np.array([quickest])}


class _Watch:
    """Seconds of a call: those of its own processor time, or by the clock where it waited of itself."""

    def __init__(self) -> None:
        self.clock, self.own, self.waits = time.perf_counter(), time.thread_time(), _waits()

    @property
    def seconds(self) -> float:
        """Since it was started."""
        if _waits() > self.waits:
            return time.perf_counter() - self.clock
        return time.thread_time() - self.own


def _waits() -> int:
    """How often this thread gave up the processor of itself, as a sleep or a slow file makes it."""
    if resource is None:
        return int(time.perf_counter() * 1e9)  # nobody knows: the clock's time counts
    return int(resource.getrusage(getattr(resource, "RUSAGE_THREAD", 0)).ru_nvcsw)


def _called(mechanism: Mechanism, data: Data, seed: int) -> _Answer:
    rng = np.random.default_rng(seed)
    try:
        with (
            seeded(mechanism.function, rng),
            watched(),
            interruptible(),
            time_limited(mechanism.timeout or _SECONDS, deadline=mechanism.deadline),
        ):
            flat = flatten(SingleCall(mechanism)(copy.deepcopy(data), rng))
    except (TimeLimitReached, Interrupted):
        raise
    except RunTimedOut:
        if (
            mechanism.timeout is not None
        ):  # the user's own limit: every other call would take as long
            raise
        return _Answer(("raised", RunTimedOut.code), ())
    except DpcheckError as error:
        return _Answer(("raised", error.code), ())
    except BaseException as error:  # sys.exit of somebody's code is an outcome too
        return _Answer(("raised", type(error).__name__), ())
    return _Answer(flat.shape, flat.scalars)


class _Noise:
    """How much each number of an output varies on one dataset, pooled over outputs of one shape.

    A number may have noise on some datasets only (small cells are left out, for instance): where it was
    seen to vary, its unit is that of the others that vary.
    """

    def __init__(self, repeated: Sequence[tuple[_Answer, _Answer]]) -> None:
        self.own = [_moves(a, b) for a, b in repeated]
        pooled: dict[str, list[list[float]]] = {}
        for (a, _), moves in zip(repeated, self.own, strict=True):
            if moves is not None:
                pooled.setdefault(repr(a.shape), []).append(moves)
        enough = {
            shape: np.array(found) for shape, found in pooled.items() if len(found) >= _ENOUGH
        }
        self.usual = {shape: np.median(found, axis=0) for shape, found in enough.items()}
        self.moving = {shape: _middle_of_moves(found) for shape, found in enough.items()}

    def of(self, index: int, answer: _Answer) -> list[float] | None:
        own, shape = self.own[index], repr(answer.shape)
        if shape not in self.usual or own is None:
            return own
        units: list[float] = np.where(own, self.moving[shape], self.usual[shape]).tolist()
        return units


def _middle_of_moves(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of what is not 0, column by column; 0 where nothing moves."""
    middles = (np.median(column[column > 0]) if column.any() else 0.0 for column in found.T)
    return np.fromiter(middles, float, count=found.shape[1])


def _moves(one: _Answer, two: _Answer) -> list[float] | None:
    if one.shape != two.shape:
        return None
    return [
        abs(float(a) - float(b)) if _is_number(a) and _is_number(b) else 0.0
        for a, b in zip(one.scalars, two.scalars, strict=True)
    ]


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _score(one: _Answer, two: _Answer, noise: list[float] | None) -> float:
    if one.shape != two.shape or len(one.scalars) != len(two.scalars):
        return _APART
    if one.shape and one.shape[0] == "raised":
        return -1.0
    total = 0.0
    spread = noise or [0.0] * len(one.scalars)
    for a, b, unit in zip(one.scalars, two.scalars, spread, strict=True):
        if _is_number(a) and _is_number(b):
            moved = abs(float(a) - float(b))
            if math.isnan(moved) or math.isinf(moved):
                total += 0.0 if _same(a, b) else _NO_NOISE
            elif moved > 1e-9 * (abs(float(a)) + abs(float(b))):
                total += moved / unit if unit > 0 else _NO_NOISE
        elif not _same(a, b):
            total += _CHANGED
    return min(total, _APART)


def _same(one: Value, two: Value) -> bool:
    try:
        return bool(one == two) or (one != one and two != two)
    except Exception:  # values of somebody's type, compared by their own code
        return False
