"""Draws as followed values: what every source hands out instead of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.draws import Family
from dpcheck.replay.following.arrays import FollowedArray, concrete, each, has_followed
from dpcheck.replay.following.values import Affine, Followed, Tabled
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.recorder import MOST_ATOMS, Recorder, Selection

MOST_VALUES = 1024


def shape_of(size: Value, *parameters: Value) -> tuple[int, ...] | None:
    """The shape of a draw as numpy has it; None for a scalar."""
    if size is None:
        shape = np.broadcast_shapes(*(np.shape(_shaped(p)) for p in parameters))
        return shape or None
    if isinstance(size, Followed):
        return (int(size),)
    return (int(size),) if np.ndim(size) == 0 else tuple(int(n) for n in size)


def _shaped(parameter: Value) -> Value:
    return 0.0 if isinstance(parameter, Followed) else parameter


def standard(
    recorder: Recorder, source: str, family: Family, shape: tuple[int, ...] | None
) -> Value:
    """Standard numbers of a family: a scalar, or an array of `shape`."""
    atoms = recorder.draw(source, family, shape or ())
    if recorder.plain:
        numbers = np.array([recorder.values[atom] for atom in atoms])
        return float(numbers[0]) if shape is None else numbers.reshape(shape)
    if shape is None:
        return Affine(recorder, 0.0, {atoms[0]: 1.0})
    return _array([Affine(recorder, 0.0, {atom: 1.0}) for atom in atoms], shape)


def _array(entries: Sequence[Value], shape: tuple[int, ...]) -> FollowedArray:
    box = np.empty(len(entries), dtype=object)
    for index, entry in enumerate(entries):
        box[index] = entry
    return box.reshape(shape).view(FollowedArray)


def located(
    recorder: Recorder, source: str, family: Family, location: Value, scale: Value, size: Value
) -> Value:
    """location + scale * standard numbers."""
    location, scale = _as_array(location), _as_array(scale)
    shape = shape_of(size, location, scale)
    if math.prod(shape or ()) + len(recorder.atoms) > MOST_ATOMS:
        return None
    if not has_followed(scale) and np.any(np.asarray(concrete(scale)) < 0):
        raise ValueError("scale < 0")
    noise = standard(recorder, source, family, shape)
    return location + scale * noise


def _as_array(parameter: Value) -> Value:
    if isinstance(parameter, Followed | FollowedArray | np.ndarray | float | int):
        return parameter
    return np.asarray(parameter)


def finite(
    recorder: Recorder,
    source: str,
    masses: Value,
    outcomes: Sequence[Value],
    shape: tuple[int, ...] | None,
) -> Value:
    """Independent draws from a table; `masses` is one row, or one row per entry of `shape`."""
    count = math.prod(shape) if shape is not None else 1
    rows = np.broadcast_to(np.asarray(masses, dtype=float), (count, len(outcomes)))
    tables = [tuple(float(m) for m in row) for row in rows]
    atoms = recorder.draw(source, Family.FINITE, shape or (), tables)
    if recorder.plain:
        picked = [outcomes[int(recorder.values[atom])] for atom in atoms]
        return picked[0] if shape is None else np.array(picked).reshape(shape)
    made = []
    for atom in atoms:
        selection = recorder.select(Selection(((),) * len(outcomes), atom))
        made.append(Tabled(recorder, (selection,), tuple(outcomes)))
    return made[0] if shape is None else _array(made, shape)


def discrete(
    recorder: Recorder, source: str, family: Family, scale: Value, shape: tuple[int, ...] | None
) -> Value:
    """Integer noise of a family with a scale of its own."""
    count = math.prod(shape) if shape is not None else 1
    scales = np.broadcast_to(np.asarray(scale, dtype=float), (count,) if shape is None else shape)
    atoms = recorder.draw(source, family, shape or (), [float(s) for s in scales.ravel()])
    if recorder.plain:
        whole = [int(recorder.values[atom]) for atom in atoms]
        return whole[0] if shape is None else np.array(whole).reshape(shape)
    made = [Affine(recorder, 0.0, {atom: 1.0}) for atom in atoms]
    return made[0] if shape is None else _array(made, shape)


def unfollowed(recorder: Recorder, source: str, *arguments: Value) -> tuple[Value, ...]:
    """Mark a draw that nobody follows, and hand back plain arguments for it."""
    recorder.mark(MarkKind.UNFOLLOWED, source)
    return tuple(_deep(argument) for argument in arguments)


def _deep(value: Value) -> Value:
    if isinstance(value, list | tuple):
        return type(value)(_deep(x) for x in value)
    return concrete(value)


def bernoulli_tables(trials: int, chance: Value) -> Value:
    """Masses of a binomial, one row per probability."""
    from scipy.stats import binom

    chances = np.atleast_1d(np.asarray(chance, dtype=float)).ravel()
    if np.any((chances < 0) | (chances > 1) | np.isnan(chances)):
        raise ValueError("p < 0, p > 1 or p is NaN")
    if trials == 1:
        return np.stack([1 - chances, chances], axis=1)
    return binom.pmf(np.arange(trials + 1)[None, :], trials, chances[:, None])


def plain(*parameters: Value) -> bool:
    """Whether no parameter is made of noise."""
    return not any(has_followed(p) for p in parameters)


__all__ = [
    "bernoulli_tables",
    "discrete",
    "each",
    "finite",
    "located",
    "plain",
    "shape_of",
    "standard",
    "unfollowed",
]
