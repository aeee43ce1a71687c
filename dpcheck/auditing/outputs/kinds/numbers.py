"""Numbers of any size, each as one float plus what that float leaves out."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from dpcheck.auditing.outputs.flat import Flat, digest
from dpcheck.auditing.outputs.registry import reads

EXACT = 1 << 53  # integers up to here are floats without loss
_LIMB = 48
_HALF = 1 << (_LIMB - 1)
_MOST_LIMBS = 8


@reads(bool, float)
def read_float(value: float, path: str, flat: Flat) -> None:
    """A float, or a truth value."""
    flat.number(path, float(value))


@reads(int)
def read_int(value: int, path: str, flat: Flat) -> None:
    """An integer; a large one also in pieces of 48 bits, so that no digit is lost.

    A piece is signed: numbers just below and just above 2^80 are neighbours in the lowest one.
    """
    whole = int(value)
    flat.number(path, nearest_float(whole))
    size = abs(whole)
    if size <= EXACT:
        return
    flat.number(f"{path}.bit_length()", float(size.bit_length()))
    limbs = -(-size.bit_length() // _LIMB)
    for index in range(min(limbs, _MOST_LIMBS)):
        piece = ((size >> _LIMB * index) + _HALF) % (2 * _HALF) - _HALF
        name = f"((abs({path}) >> {_LIMB * index}) + {_HALF:#x}) % {2 * _HALF:#x} - {_HALF:#x}"
        flat.number(name, float(piece))
    if limbs > _MOST_LIMBS:
        raw = size.to_bytes(size.bit_length() // 8 + 1, "big")
        flat.number(f"digest of {path}", digest(raw))
        flat.number(f"leading bits of {path}", float(size >> (size.bit_length() - _LIMB)))


def nearest_float(value: int) -> float:
    """The nearest float; infinity beyond all of them.

    >>> nearest_float(-(10**400))
    -inf
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@reads(complex)
def read_complex(value: complex, path: str, flat: Flat) -> None:
    """Both parts."""
    flat.number(f"{path}.real", value.real)
    flat.number(f"{path}.imag", value.imag)


@reads(Decimal)
def read_decimal(value: Decimal, path: str, flat: Flat) -> None:
    """The nearest float and what it leaves out; the number of digits is an output too."""
    if not value.is_finite():
        flat.number(path, math.nan if value.is_nan() else float(value))
        return
    _with_rest(Fraction(value), path, flat)
    flat.number(f"{path}.as_tuple().exponent", float(value.as_tuple().exponent))


@reads(Fraction)
def read_fraction(value: Fraction, path: str, flat: Flat) -> None:
    """The nearest float and what it leaves out; the denominator is an output too."""
    _with_rest(value, path, flat)
    flat.number(f"{path}.denominator", nearest_float(value.denominator))


def _with_rest(value: Fraction, path: str, flat: Flat) -> None:
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    flat.number(path, near)
    rest = float(value - Fraction(near)) if math.isfinite(near) else 0.0
    flat.number(f"{path} - float({path})", rest)
