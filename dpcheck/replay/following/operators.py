"""Operators of followed scalars; what they do is filled in by arithmetic, arrays and functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np


class Rules:
    """The functions behind the operators, set when their modules are imported."""

    combine: Callable[..., Any]
    apply: Callable[..., Any]
    apply_rounding: Callable[..., Any]
    cast: Callable[..., Any]
    clip: Callable[..., Any]
    on_ufunc: Callable[..., Any]
    on_function: Callable[..., Any]


RULES = Rules()


class Operators:
    """Everything Python and numpy may do to a number."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return RULES.combine(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return RULES.combine(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return RULES.combine(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return RULES.combine(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return RULES.combine(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return RULES.combine(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        return RULES.combine(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return RULES.combine(operator.truediv, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return RULES.combine(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return RULES.combine(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return RULES.combine(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return RULES.combine(operator.mod, other, self)

    def __pow__(self, other: Any) -> Any:
        return RULES.combine(operator.pow, self, other)

    def __rpow__(self, other: Any) -> Any:
        return RULES.combine(operator.pow, other, self)

    def __matmul__(self, other: Any) -> Any:
        return NotImplemented

    def __and__(self, other: Any) -> Any:
        return RULES.combine(operator.and_, self, other)

    def __rand__(self, other: Any) -> Any:
        return RULES.combine(operator.and_, other, self)

    def __or__(self, other: Any) -> Any:
        return RULES.combine(operator.or_, self, other)

    def __ror__(self, other: Any) -> Any:
        return RULES.combine(operator.or_, other, self)

    def __xor__(self, other: Any) -> Any:
        return RULES.combine(operator.xor, self, other)

    def __rxor__(self, other: Any) -> Any:
        return RULES.combine(operator.xor, other, self)

    def __invert__(self) -> Any:
        return RULES.apply(operator.invert, self)

    def __neg__(self) -> Any:
        return RULES.apply(operator.neg, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return RULES.apply(operator.abs, self)

    def __round__(self, digits: int | None = None) -> Any:
        return RULES.apply_rounding(self, digits)

    def __trunc__(self) -> Any:
        return RULES.apply(math.trunc, self)

    def __floor__(self) -> Any:
        return RULES.apply(math.floor, self)

    def __ceil__(self) -> Any:
        return RULES.apply(math.ceil, self)

    def __lt__(self, other: Any) -> Any:
        return RULES.combine(operator.lt, self, other)

    def __le__(self, other: Any) -> Any:
        return RULES.combine(operator.le, self, other)

    def __gt__(self, other: Any) -> Any:
        return RULES.combine(operator.gt, self, other)

    def __ge__(self, other: Any) -> Any:
        return RULES.combine(operator.ge, self, other)

    def __eq__(self, other: object) -> Any:
        return RULES.combine(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return RULES.combine(operator.ne, self, other)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return RULES.on_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return RULES.on_function(function, args, kwargs)

    def astype(self, kind: Any, **_: object) -> Any:
        """Another dtype; integers truncate."""
        return RULES.cast(self, np.dtype(kind))

    def round(self, digits: int = 0) -> Any:
        """As numpy's scalars have it."""
        return RULES.apply_rounding(self, digits)

    def clip(self, low: Any = None, high: Any = None) -> Any:
        """As numpy's scalars have it."""
        return RULES.clip(self, low, high)
