"""The elementwise functions of the language: what each computes, its range and its slope.

A function is known by its box (the range over a box of arguments), whether it keeps 0 at 0, and how steep
it is. `slope` is None where nothing is known but the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Array, Box, DType

_ALL = (-np.inf, np.inf)
_rise = boxes.increasing


@dataclass(frozen=True, slots=True)
class Function:
    """One elementwise function."""

    compute: np.ufunc
    box: Callable[..., Box]
    keeps_zero: bool = False
    slope: Callable[[Box], Array] | None = None


def _one(found: Box) -> Array:
    return np.ones_like(found.lo)


def _bits(*_: Box) -> Box:
    return boxes.WHOLE


def _fmin(pick: Callable[[Box, Box], Box]) -> Callable[[Box, Box], Box]:
    """The other operand where one is NaN."""

    def box(a: Box, b: Box) -> Box:
        known = [Box(each.lo, each.hi) for each in (a, b)]
        found = pick(*known)
        for mine, other in ((a, known[1]), (b, known[0])):
            if mine.nan:
                found = found.hull(other)
        return Box(found.lo, found.hi, a.nan and b.nan)

    return box


FUNCTIONS: dict[str, Function] = {
    "negative": Function(np.negative, boxes.negative, True, _one),
    "positive": Function(np.positive, lambda a: a, True, _one),
    "absolute": Function(np.absolute, boxes.absolute, True, _one),
    "square": Function(np.square, boxes.square, True, lambda b: 2 * b.magnitude),
    "sqrt": Function(
        np.sqrt,
        _rise(np.sqrt, (0.0, np.inf)),
        True,
        lambda b: 0.5 / np.sqrt(np.maximum(b.lo, 0.0)),
    ),
    "cbrt": Function(np.cbrt, _rise(np.cbrt, _ALL), True),
    "exp": Function(np.exp, _rise(np.exp, _ALL), slope=lambda b: np.exp(b.hi)),
    "exp2": Function(np.exp2, _rise(np.exp2, _ALL), slope=lambda b: np.exp2(b.hi)),
    "expm1": Function(np.expm1, _rise(np.expm1, _ALL), True, lambda b: np.exp(b.hi)),
    "log": Function(
        np.log, _rise(np.log, (0.0, np.inf)), slope=lambda b: 1 / np.maximum(b.lo, 0.0)
    ),
    "log2": Function(
        np.log2, _rise(np.log2, (0.0, np.inf)), slope=lambda b: 1.5 / np.maximum(b.lo, 0.0)
    ),
    "log10": Function(
        np.log10, _rise(np.log10, (0.0, np.inf)), slope=lambda b: 1 / np.maximum(b.lo, 0.0)
    ),
    "log1p": Function(
        np.log1p, _rise(np.log1p, (-1.0, np.inf)), True, lambda b: 1 / np.maximum(1 + b.lo, 0.0)
    ),
    "tanh": Function(np.tanh, _rise(np.tanh, _ALL), True, _one),
    "arctan": Function(np.arctan, _rise(np.arctan, _ALL), True, _one),
    "sin": Function(np.sin, boxes.bounded(-1.0, 1.0), True, _one),
    "cos": Function(np.cos, boxes.bounded(-1.0, 1.0), slope=_one),
    "sign": Function(np.sign, _rise(np.sign, _ALL), True),
    "floor": Function(np.floor, _rise(np.floor, _ALL), True),
    "ceil": Function(np.ceil, _rise(np.ceil, _ALL), True),
    "rint": Function(np.rint, _rise(np.rint, _ALL), True),
    "trunc": Function(np.trunc, _rise(np.trunc, _ALL), True),
    "reciprocal": Function(np.reciprocal, boxes.reciprocal),
    "add": Function(np.add, boxes.add),
    "subtract": Function(np.subtract, boxes.subtract),
    "multiply": Function(np.multiply, boxes.multiply),
    "divide": Function(np.divide, boxes.divide),
    "floor_divide": Function(np.floor_divide, boxes.floor_divide),
    "remainder": Function(np.remainder, boxes.remainder),
    "power": Function(np.power, boxes.power),
    "hypot": Function(np.hypot, boxes.hypot),
    "minimum": Function(np.minimum, boxes.minimum),
    "maximum": Function(np.maximum, boxes.maximum),
    "fmin": Function(np.fmin, _fmin(boxes.minimum)),
    "fmax": Function(np.fmax, _fmin(boxes.maximum)),
    **{
        name: Function(getattr(np, name), boxes.truth)
        for name in (
            *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
            *("logical_and", "logical_or", "logical_not", "logical_xor"),
            *("isnan", "isfinite", "isinf", "signbit"),
        )
    },
    **{
        name: Function(getattr(np, name), _bits)
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "invert")
    },
}
STEPS = ("floor", "ceil", "rint", "trunc")


def overflows(name: str, found: list[Box], dtype: DType) -> bool:
    """Whether a result may not fit its type."""
    with np.errstate(all="ignore"):
        return boxes.overflows(FUNCTIONS[name].box(*found), dtype, *found)


COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
