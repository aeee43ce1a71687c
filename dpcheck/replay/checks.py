"""A plain run against what a followed run says it must give: following may not have changed a thing.

Followed values are not floats: code that asks for their type, keeps them in compiled containers or
relies on shared memory could go another way with them. A run of the same code with plain numbers, of
which the followed run predicts every output, tells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.following.values import Affine, Lost, Mixture, Monotone, Tabled
from dpcheck.replay.recorder import Constraint, Recorder, sample
from dpcheck.replay.run import Observer, Run

_TRIES = 4000
_CLOSE = 1e-7


def confirmed(observer: Observer, data: Value, run: Run, seed: int) -> bool:
    """Whether a plain run on the same path gives what `run` predicts for its draws."""
    values = consistent_values(run.recorder, seed)
    if values is None:
        return False
    plain = observer.check(data, seed, values)
    same_draws = [(a.family, a.parameter) for a in plain.recorder.atoms] == [
        (a.family, a.parameter) for a in run.recorder.atoms
    ]
    if not plain.recorder.clean or not same_draws or plain.flat.shape != run.flat.shape:
        run.recorder.marks.extend(plain.recorder.marks)
        return False
    return all(
        _agrees(one, seen, values, run.recorder)
        for one, seen in zip(run.flat.scalars, plain.flat.scalars, strict=True)
    )


def consistent_values(recorder: Recorder, seed: int) -> list[float] | None:
    """Fresh values of all atoms on which the run's decisions come out as they did; None if rare."""
    rng = np.random.default_rng([seed, 77])
    values = [sample(atom, rng) for atom in recorder.atoms]
    fixed: dict[int, int] = {}
    constraints: list[Constraint] = []
    for selection, outcome in recorder.decisions:
        chosen = recorder.selections[selection]
        if chosen.atom is None:
            constraints += chosen.outcomes[outcome]
        else:
            fixed[chosen.atom] = outcome
    for atom, outcome in fixed.items():
        values[atom] = float(outcome)
    touched = sorted({a for c in constraints for a, _ in c.coefficients})
    for _ in range(_TRIES):
        if all(_holds(c, values) for c in constraints):
            return values
        for atom in touched:
            values[atom] = sample(recorder.atoms[atom], rng)
    return recorder.values if all(_holds(c, recorder.values) for c in constraints) else None


def _holds(constraint: Constraint, values: Sequence[float]) -> bool:
    return sum(w * values[a] for a, w in constraint.coefficients) + constraint.constant >= 0


def _agrees(predicted: Value, seen: Value, values: Sequence[float], recorder: Recorder) -> bool:
    if isinstance(predicted, Lost):
        return True
    if isinstance(predicted, Tabled | Mixture):
        at = Recorder(0, values=list(values), selections=recorder.selections)
        predicted = predicted.position({s: at.seen(s) for s in predicted.selections})
    if isinstance(predicted, Affine):
        predicted = _at(predicted, values)
    elif isinstance(predicted, Monotone):
        inner = _at(predicted.inner, values)
        # A step function may fall to either side of a step by rounding.
        near = (predicted.at(inner + s * _CLOSE * (1 + abs(inner))) for s in (-1, 0, 1))
        return any(_close(x, seen) for x in near)
    return _close(predicted, seen)


def _at(value: Affine, values: Sequence[float]) -> float:
    return value.base + math.fsum(c * values[a] for a, c in value.coefficients.items())


def _close(one: Value, other: Value) -> bool:
    numbers = isinstance(one, int | float | np.number | np.bool_) and isinstance(
        other, int | float | np.number | np.bool_
    )
    if not numbers:
        return bool(type(one) is type(other) and one == other)
    if math.isnan(one) or math.isnan(other):
        return bool(math.isnan(one) and math.isnan(other))
    return bool(one == other or abs(one - other) <= _CLOSE * (1 + abs(one)))
