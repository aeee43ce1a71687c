"""Operators of followed scalars; what they do is filled in by arithmetic, arrays and functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np

from dpcheck.core.data import Value


class Rules:
    """The functions behind the operators, set when their modules are imported."""

    combine: Callable[..., Value]
    apply: Callable[..., Value]
    apply_rounding: Callable[..., Value]
    cast: Callable[..., Value]
    clip: Callable[..., Value]
    on_ufunc: Callable[..., Value]
    on_function: Callable[..., Value]


RULES = Rules()


class Operators:
    """Everything Python and numpy may do to a number."""

    __slots__ = ()

    def __add__(self, other: Value) -> Value:
        return RULES.combine(operator.add, self, other)

    def __radd__(self, other: Value) -> Value:
        return RULES.combine(operator.add, other, self)

    def __sub__(self, other: Value) -> Value:
        return RULES.combine(operator.sub, self, other)

    def __rsub__(self, other: Value) -> Value:
        return RULES.combine(operator.sub, other, self)

    def __mul__(self, other: Value) -> Value:
        return RULES.combine(operator.mul, self, other)

    def __rmul__(self, other: Value) -> Value:
        return RULES.combine(operator.mul, other, self)

    def __truediv__(self, other: Value) -> Value:
        return RULES.combine(operator.truediv, self, other)

    def __rtruediv__(self, other: Value) -> Value:
        return RULES.combine(operator.truediv, other, self)

    def __floordiv__(self, other: Value) -> Value:
        return RULES.combine(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Value) -> Value:
        return RULES.combine(operator.floordiv, other, self)

    def __mod__(self, other: Value) -> Value:
        return RULES.combine(operator.mod, self, other)

    def __rmod__(self, other: Value) -> Value:
        return RULES.combine(operator.mod, other, self)

    def __pow__(self, other: Value) -> Value:
        return RULES.combine(operator.pow, self, other)

    def __rpow__(self, other: Value) -> Value:
        return RULES.combine(operator.pow, other, self)

    def __matmul__(self, other: Value) -> Value:
        return NotImplemented

    def __and__(self, other: Value) -> Value:
        return RULES.combine(operator.and_, self, other)

    def __rand__(self, other: Value) -> Value:
        return RULES.combine(operator.and_, other, self)

    def __or__(self, other: Value) -> Value:
        return RULES.combine(operator.or_, self, other)

    def __ror__(self, other: Value) -> Value:
        return RULES.combine(operator.or_, other, self)

    def __xor__(self, other: Value) -> Value:
        return RULES.combine(operator.xor, self, other)

    def __rxor__(self, other: Value) -> Value:
        return RULES.combine(operator.xor, other, self)

    def __invert__(self) -> Value:
        return RULES.apply(np.invert, self)

    def __neg__(self) -> Value:
        return RULES.apply(operator.neg, self)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return RULES.apply(operator.abs, self)

    def __round__(self, digits: int | None = None) -> Value:
        return RULES.apply_rounding(self, digits)

    def __trunc__(self) -> Value:
        return RULES.apply(math.trunc, self)

    def __floor__(self) -> Value:
        return RULES.apply(math.floor, self)

    def __ceil__(self) -> Value:
        return RULES.apply(math.ceil, self)

    def __lt__(self, other: Value) -> Value:
        return RULES.combine(operator.lt, self, other)

    def __le__(self, other: Value) -> Value:
        return RULES.combine(operator.le, self, other)

    def __gt__(self, other: Value) -> Value:
        return RULES.combine(operator.gt, self, other)

    def __ge__(self, other: Value) -> Value:
        return RULES.combine(operator.ge, self, other)

    def __eq__(self, other: object) -> Value:
        return RULES.combine(operator.eq, self, other)

    def __ne__(self, other: object) -> Value:
        return RULES.combine(operator.ne, self, other)

    def __array_ufunc__(
        self, ufunc: Value, method: str, *inputs: Value, **keywords: Value
    ) -> Value:
        return RULES.on_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(
        self, function: Value, types: Value, args: Value, kwargs: Value
    ) -> Value:
        return RULES.on_function(function, args, kwargs)

    def astype(self, kind: Value, **_: object) -> Value:
        """Another dtype; integers truncate."""
        return RULES.cast(self, np.dtype(kind))

    def round(self, digits: int = 0) -> Value:
        """As numpy's scalars have it."""
        return RULES.apply_rounding(self, digits)

    def clip(self, low: Value = None, high: Value = None) -> Value:
        """As numpy's scalars have it."""
        return RULES.clip(self, low, high)
