"""Values of a column, ordinary, random and extreme, out of a description or an example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.auditing.pairs.candidates import blank, extremes
from dpcheck.core.records import Field, Number, OneOf

_WILD = (0.0, 1.0, -1.0, 0.5, 1e6, -1e6, 1e300, -1e300, np.nan, np.inf, -np.inf, 0.123456789)
_SEEN = ("a", "b", "", "zzz")
_WHOLE = (0, 1, 2, 3, 127, 128, 255, -1)
Draw = Callable[[np.random.Generator], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """`usual` draws a value as most have it, `extreme` one at the edge; `null` is that of zero-out."""

    usual: Draw
    extreme: Draw
    null: Any


def described(field: Field) -> Column:
    """A column as a description has it."""
    edge = [value for _, value in extremes(field)]
    if isinstance(field, Number):
        return Column(_numbers(field), _one_of(edge or [field.low]), blank(field))
    if isinstance(field, OneOf):
        return Column(_one_of(field.values), _one_of(field.values), blank(field))
    words = [text[: field.longest] for text in _SEEN]
    return Column(_one_of(words), _one_of([*edge, *words]), blank(field))


def exemplified(dtype: np.dtype[Any], categories: Sequence[Any] | None = None) -> Column:
    """Everything an example's type admits."""
    if categories is not None:
        return Column(_one_of(categories), _one_of(categories), None)
    if dtype.kind == "f":
        most = [v for v in _WILD if not np.isfinite(v) or abs(v) <= np.finfo(dtype).max]
        return Column(lambda dice: round(float(dice.normal()), 3), _one_of(most), 0.0)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        inside = [v for v in _WHOLE if ends.min <= v <= ends.max]
        return Column(_one_of(inside), _one_of([*inside, int(ends.min), int(ends.max)]), 0)
    if dtype.kind == "b":
        return Column(_one_of((False, True)), _one_of((False, True)), False)
    return Column(_one_of(_SEEN), _one_of(_SEEN), None)


def _one_of(values: Sequence[Any]) -> Draw:
    return lambda dice: values[int(dice.integers(len(values)))]


def _numbers(field: Number) -> Draw:
    low, high = max(field.low, -1e3), min(field.high, 1e3)
    low, high = (low, high) if low <= high else (field.low, field.high)

    def draw(dice: np.random.Generator) -> Any:
        value = float(dice.uniform(low, high)) if low < high else low
        if not field.integer:
            return value
        return int(min(max(round(value), np.ceil(field.low)), np.floor(field.high)))

    return draw
