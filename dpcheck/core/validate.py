"""One-line named validators. Each returns the value as the right type or raises InvalidParameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from numbers import Integral, Real

from dpcheck.core.errors import InvalidParameter

# Counts beyond this are no counts of anything, and leave the range of whole floats.
MOST = 10**15
# Smaller scales have lost digits, and one over them is infinite.
LEAST_SCALE = 1e-308
# Squares of these, and of one over them, are floats.
MODERATE = 1e150


def finite(name: str, value: object) -> float:
    """A finite real number."""
    if type(value) is float:
        number = value
    elif isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameter(f"{name} must be a number, got {value!r}.", name=name, value=value)
    else:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not math.isfinite(number):
        raise InvalidParameter(f"{name} must be finite, got {value!r}.", name=name, value=value)
    return number


def positive(name: str, value: object) -> float:
    """A finite number above 0, no less than LEAST_SCALE."""
    number = finite(name, value)
    if number <= 0:
        raise InvalidParameter(f"{name} must be above 0, got {number:g}.", name=name, value=number)
    if number < LEAST_SCALE:
        raise InvalidParameter(
            f"{name} must be at least {LEAST_SCALE:g}, got {number:g}.", name=name, value=number
        )
    return number


def moderate(name: str, value: object) -> float:
    """A number above 0 whose square is one: between 1/MODERATE and MODERATE."""
    number = positive(name, value)
    if not 1 / MODERATE <= number <= MODERATE:
        raise InvalidParameter(
            f"{name} must be between {1 / MODERATE:g} and {MODERATE:g}, got {number:g}.",
            name=name,
            value=number,
        )
    return number


def positive_or_zero(name: str, value: object) -> float:
    """0, or a finite number from LEAST_SCALE on."""
    return 0.0 if finite(name, value) == 0 else positive(name, value)


def moderate_or_zero(name: str, value: object) -> float:
    """0, or a `moderate` number."""
    return 0.0 if finite(name, value) == 0 else moderate(name, value)


def non_negative(name: str, value: object) -> float:
    """A finite number, 0 or above."""
    number = finite(name, value)
    if number < 0:
        raise InvalidParameter(
            f"{name} must not be negative, got {number:g}.", name=name, value=number
        )
    return number


def probability(name: str, value: object) -> float:
    """A number in [0, 1)."""
    number = finite(name, value)
    if not 0 <= number < 1:
        raise InvalidParameter(
            f"{name} must be in [0, 1), got {number:g}.", name=name, value=number
        )
    return number


def chance(name: str, value: object) -> float:
    """A number in [0, 1]."""
    number = finite(name, value)
    if not 0 <= number <= 1:
        raise InvalidParameter(
            f"{name} must be in [0, 1], got {number:g}.", name=name, value=number
        )
    return number


def open_probability(name: str, value: object) -> float:
    """A number in (0, 1)."""
    number = finite(name, value)
    if not 0 < number < 1:
        raise InvalidParameter(
            f"{name} must be in (0, 1), got {number:g}.", name=name, value=number
        )
    return number


def rate(name: str, value: object) -> float:
    """A number in [0, 1], 0 or no less than LEAST_SCALE."""
    return positive_or_zero(name, chance(name, value))


def count(name: str, value: object, *, at_least: int = 1) -> int:
    """A whole number of at least `at_least`."""
    # The type itself first: asking what counts as a whole number is slow.
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise InvalidParameter(
            f"{name} must be a whole number, got {value!r}.", name=name, value=value
        )
    number = int(value)
    if number < at_least:
        raise InvalidParameter(
            f"{name} must be at least {at_least}, got {number}.", name=name, value=number
        )
    if number > MOST:
        raise InvalidParameter(f"{name} must be at most {MOST:.0e}.", name=name, value=number)
    return number


def truth(name: str, value: object) -> bool:
    """True or False, of any library that has its own; no words, of which "no" would be true."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise InvalidParameter(f"{name} must be True or False, got {value!r}.", name=name)
    return bool(value)


def each(name: str, values: object, check: Callable[[str, object], float]) -> tuple[float, ...]:
    """A tuple of numbers, each as `check` has it."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidParameter(
            f"{name} must be a list of numbers, got {values!r}.", name=name, value=values
        )
    return tuple(check(name, value) for value in sequence(name, values))


def sequence(name: str, values: object) -> tuple[object, ...]:
    """Anything that can be gone through, as a tuple; an array without a dimension cannot."""
    try:
        return tuple(values)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidParameter(
            f"{name} must be a list, got {values!r}.", name=name, value=values
        ) from None
