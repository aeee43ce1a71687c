"""Arithmetic on followed scalars: what stays affine, monotone or tabled, and what is lost."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.following import values as v
from dpcheck.replay.following.operators import RULES
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.recorder import Constraint, Selection

_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge)
_LINEAR = (operator.add, operator.sub, operator.mul, operator.truediv)


def combine(op: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    """op(left, right) where at least one is followed."""
    for side in (left, right):
        if isinstance(side, np.ndarray) and side.ndim:
            return RULES.on_ufunc(UFUNCS[op], "__call__", (left, right), {})
        if not isinstance(side, v.Followed) and not v.is_number(side):
            return _strange(op, left, right)
    left, right = _plain(left), _plain(right)
    if op in _COMPARISONS:
        return _compare(op, left, right)
    if op in (operator.eq, operator.ne):
        return _equal(op, left, right)
    if not _tables(left, right):
        affine = _affine(op, left, right)
        if affine is not None:
            return affine
        if op in _LINEAR and can_mix(left, right):
            return v.mix(_total(op, left, right), left, right)
        return _monotone(op, left, right)
    return v.merge_tables(_total(op, left, right), left, right)


def _plain(value: Value) -> Value:
    return value.item() if isinstance(value, np.generic | np.ndarray) else value


def _tables(*values: Value) -> bool:
    """Whether all are tabled or plain."""
    return all(isinstance(x, v.Tabled) or not isinstance(x, v.Followed) for x in values)


def can_mix(*values: Value) -> bool:
    """Whether finitely many outcomes decide between numbers and affine values here."""
    kinds = v.Tabled | v.Mixture
    return any(isinstance(x, kinds) for x in values) and all(
        isinstance(x, kinds | v.Affine) or v.is_number(x) for x in values
    )


def _strange(op: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    """Meeting a string, None, a tensor, ...: equality is known to fail, the rest leaves."""
    if op in (operator.eq, operator.ne) and (left is None or right is None):
        return op is operator.ne
    return NotImplemented


def _total(
    op: Callable[[Value, Value], Value], left: Value, right: Value
) -> Callable[[Value, Value], Value]:
    """`op` that marks a branch when it raises at some outcome: that would depend on the noise."""
    recorder = (left if isinstance(left, v.Followed) else right).recorder

    def total(a: Value, b: Value) -> Value:
        try:
            return op(a, b)
        except Exception:
            recorder.mark(MarkKind.BRANCH, "an error that depends on the noise")
            return math.nan

    return total


def make_affine(like: v.Affine, base: float, coefficients: dict[int, float], error: float) -> Value:
    """An affine value, or a plain number where no noise is left or it is not finite."""
    kept = {atom: c for atom, c in coefficients.items() if c != 0.0}
    if not math.isfinite(base) or not all(math.isfinite(c) for c in kept.values()):
        return base if not math.isfinite(base) else math.nan
    if not kept:
        return base
    return v.Affine(like.recorder, base, kept, error + v.UNIT * abs(base))


def _affine(op: Callable[[Value, Value], Value], left: Value, right: Value) -> Value | None:
    if op is operator.add or op is operator.sub:
        sign = 1.0 if op is operator.add else -1.0
        one, other = isinstance(left, v.Affine), isinstance(right, v.Affine)
        if one and other:
            merged = dict(left.coefficients)
            for atom, c in right.coefficients.items():
                merged[atom] = _sum(merged.get(atom, 0.0), sign * c)
            error = left.error + right.error
            return make_affine(left, left.base + sign * right.base, merged, error)
        if one and v.is_number(right):
            base = left.base + sign * float(right)
            return make_affine(left, base, dict(left.coefficients), left.error)
        if other and v.is_number(left):
            merged = {a: sign * c for a, c in right.coefficients.items()}
            return make_affine(right, float(left) + sign * right.base, merged, right.error)
        return None
    if op is operator.mul:
        if isinstance(left, v.Affine) and v.is_number(right):
            return _scaled(left, float(right))
        if isinstance(right, v.Affine) and v.is_number(left):
            return _scaled(right, float(left))
        return None
    if op is operator.truediv and isinstance(left, v.Affine) and v.is_number(right):
        return _divided(left, right)
    if op is operator.pow and isinstance(left, v.Affine) and v.is_number(right) and right == 1:
        return left
    return None


def _sum(one: float, other: float) -> float:
    """A coefficient that cancels up to rounding is none."""
    total = one + other
    return 0.0 if abs(total) <= 8 * v.UNIT * max(abs(one), abs(other)) else total


def _scaled(value: v.Affine, factor: float) -> Value:
    merged = {a: c * factor for a, c in value.coefficients.items()}
    return make_affine(value, value.base * factor, merged, value.error * abs(factor))


def _divided(value: v.Affine, by: Value) -> Value:
    if by == 0:  # an error or an infinity, by whose division it is
        value.recorder.mark(MarkKind.BRANCH, "division by zero")
        return math.nan
    merged = {a: c / by for a, c in value.coefficients.items()}
    return make_affine(value, value.base / by, merged, value.error / abs(by))


def _compare(op: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    if _tables(left, right):
        return v.merge_tables(op, left, right)
    for side in (left, right):
        if not isinstance(side, v.Followed) and not math.isfinite(side):
            other = right if side is left else left
            if isinstance(other, v.Affine):
                return op(0.0, side) if side is right else op(side, 0.0)
    difference = combine(operator.sub, left, right)
    if v.is_number(difference):
        return op(difference, 0.0)  # the noise cancels
    if not isinstance(difference, v.Affine) or not difference.continuous:
        return v.lose(op, left, right)
    # Equality has probability 0 under a density, so strict and weak agree.
    positive = op in (operator.gt, operator.ge)
    return compare_with_zero(difference, when_above=positive)


def compare_with_zero(value: v.Affine, *, when_above: bool) -> v.Tabled:
    """A finite random variable: is the affine value above 0?"""
    terms = tuple(sorted(value.coefficients.items()))
    above = Constraint(terms, value.base)
    below = Constraint(tuple((a, -c) for a, c in terms), -value.base)
    selection = value.recorder.select(Selection(((above,), (below,))))
    return v.Tabled(value.recorder, (selection,), (when_above, not when_above))


def _equal(op: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    if _tables(left, right):
        return v.merge_tables(op, left, right)
    difference = combine(operator.sub, left, right)
    if v.is_number(difference):
        return op(difference, 0.0)
    if isinstance(difference, v.Affine) and difference.continuous:
        return op is operator.ne  # a number with a density equals none
    return v.lose(op, left, right)


def _monotone(op: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    """x // c, max, ... of one affine or monotone value and a plain number; else lost."""
    if isinstance(left, v.Affine | v.Monotone) and v.is_number(right):
        c = right
        if op is operator.floordiv and c > 0:
            return then(left, f"// {c!r}", lambda x: float(x // c))
        if isinstance(left, v.Monotone):
            if op is operator.add or op is operator.sub:
                return then(left, f"{op.__name__} {c!r}", lambda x: float(op(x, c)))
            if op is operator.mul and c > 0:
                return then(left, f"* {c!r}", lambda x: float(x * c))
            if op is operator.truediv and c > 0:
                return then(left, f"/ {c!r}", lambda x: float(x / c))
    if isinstance(right, v.Monotone) and v.is_number(left):
        c = left
        if op is operator.add:
            return then(right, f"+ {c!r}", lambda x: float(x + c))
        if op is operator.mul and c > 0:
            return then(right, f"* {c!r}", lambda x: float(x * c))
    return v.lose(op, left, right)


def then(value: v.Affine | v.Monotone, name: str, step: Callable[[float], float]) -> Value:
    """One more non-decreasing step."""
    if isinstance(value, v.Affine):
        return v.Monotone(value, ((name, step),))
    if value.flipped:
        # -g then h: h(-g) = -(-h(-g)), and x -> -h(-x) is non-decreasing again.
        flipped = (name, lambda x: -step(-x))
        return v.Monotone(value.inner, (*value.steps, flipped), flipped=True)
    return v.Monotone(value.inner, (*value.steps, (name, step)))


def _ufunc_step(ufunc: Value) -> Callable[[float], float]:
    def step(x: float) -> float:
        with np.errstate(all="ignore"):
            return float(ufunc(x))

    return step


NON_DECREASING = {
    np.exp,
    np.expm1,
    np.exp2,
    np.floor,
    np.ceil,
    np.rint,
    np.trunc,
    np.tanh,
    np.arctan,
    np.cbrt,
    np.sinh,
    np.arcsinh,
    np.sign,
    np.deg2rad,
    np.rad2deg,
    math.floor,
    math.ceil,
    math.trunc,
}


def apply(op: Callable[[Value], Value], value: v.Followed) -> Value:
    """op(value) for a function of one number."""
    if isinstance(value, v.Tabled):
        return v.merge_tables(op, value)
    if op is operator.neg or op is np.negative:
        if isinstance(value, v.Affine):
            return _scaled(value, -1.0)
        if isinstance(value, v.Mixture):
            return v.mix(operator.neg, value)
        if isinstance(value, v.Monotone):
            return v.Monotone(value.inner, value.steps, flipped=not value.flipped)
    if isinstance(value, v.Affine):
        if op is np.isfinite:
            return True
        if op in (np.isnan, np.isinf):
            return False
    if op in NON_DECREASING and isinstance(value, v.Affine | v.Monotone):
        return then(value, getattr(op, "__name__", "step"), _ufunc_step(op))
    if "raise" in np.geterr().values():
        value.recorder.mark(MarkKind.BRANCH, "np.errstate(raise)")
    return v.lose(op, value)


def apply_rounding(value: v.Followed, digits: int | None) -> Value:
    """round(value, digits)."""
    if isinstance(value, v.Tabled):
        return v.merge_tables(lambda x: round(x, digits), value)
    if isinstance(value, v.Affine | v.Monotone):
        return then(value, f"round({digits})", lambda x: float(round(x, digits or 0)))
    return v.lose(lambda x: round(x, digits), value)


def cast(value: v.Followed, kind: np.dtype[Value]) -> Value:
    """value.astype(kind)."""
    if kind.kind == "f" or kind.kind == "O":
        if isinstance(value, v.Affine) and kind.itemsize < 8 and kind.kind == "f":
            unit = float(np.finfo(kind).eps)
            error = value.error + unit * abs(value.base)
            return v.Affine(value.recorder, value.base, value.coefficients, error)
        return v.merge_tables(float, value) if isinstance(value, v.Tabled) else value
    if kind.kind in "iu":
        if isinstance(value, v.Tabled):
            return v.merge_tables(int, value)
        if isinstance(value, v.Affine | v.Monotone) and kind == np.dtype(np.int64):
            return then(value, "int", lambda x: float(math.trunc(x)))
    if kind.kind == "b" and isinstance(value, v.Tabled):
        return v.merge_tables(bool, value)
    return v.lose(lambda x: np.asarray(x).astype(kind).item(), value)


def clip(value: Value, low: Value, high: Value) -> Value:
    """min(max(value, low), high), bounds may be missing."""
    for bound, extreme in ((low, maximum), (high, minimum)):
        if bound is not None:
            value = extreme(value, bound)
    return value


def maximum(left: Value, right: Value) -> Value:
    """The larger; with one plain number a non-decreasing step."""
    return _extreme(max, np.maximum, left, right)


def minimum(left: Value, right: Value) -> Value:
    """The smaller."""
    return _extreme(min, np.minimum, left, right)


def _extreme(builtin: Callable[..., Value], ufunc: Value, left: Value, right: Value) -> Value:
    if not isinstance(left, v.Followed) and not isinstance(right, v.Followed):
        return ufunc(left, right)
    left, right = _plain(left), _plain(right)
    if _tables(left, right):
        return v.merge_tables(builtin, left, right)
    value, bound = (left, right) if isinstance(left, v.Followed) else (right, left)
    if isinstance(value, v.Affine | v.Monotone) and v.is_number(bound):
        c = float(bound)
        if math.isnan(c) or c == (math.inf if builtin is max else -math.inf):
            return c
        if math.isinf(c):
            return value
        return then(value, f"{builtin.__name__}({c!r})", lambda x: float(builtin(x, c)))
    return v.lose(ufunc, left, right)


UFUNCS: dict[Callable[..., Value], Value] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.pow: np.power,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
}

RULES.combine, RULES.apply, RULES.apply_rounding = combine, apply, apply_rounding
RULES.cast, RULES.clip = cast, clip
