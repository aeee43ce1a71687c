"""Names, attributes and iterators: which value a name has when it is read, and who else knows it."""

from __future__ import annotations

import itertools
import operator
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from .base import Group

GROUP = Group("bindings")


# `:=` binds in the function, not in the comprehension, and only where it is reached.


@GROUP.wrong(50.0)
def walrus_in_a_comprehension(x, rng):
    last = 0.0
    _ = [(last := each) for each in (x.sum(), 50.0 * x.sum())]
    return last + rng.laplace()


@GROUP.wrong(50.0)
def walrus_that_is_not_reached(x, rng):
    weight = 50.0
    _ = 1 > 2 > (weight := 0.0)
    return weight * x.sum() + rng.laplace()


@GROUP.wrong(51.0)
def walrus_behind_a_release(x, rng):
    seen, weight = x.sum() + rng.laplace(), 50.0
    _ = (seen > 1e9) and ((weight := 0.0) == 0.0)
    return seen, weight * x.sum() + rng.laplace()


@GROUP.wrong(51.0)
def walrus_on_both_sides(x, rng):
    seen, weight = x.sum() + rng.laplace(), 0.0
    _ = (weight := 49.0) if seen > 1e9 else (weight := 50.0)
    return seen, weight * x.sum() + rng.laplace()


# Iterators are made when they are asked for, and once.


@GROUP.wrong(50.0)
def generator_sees_a_later_value(x, rng):
    weight = 0.0
    later = (weight * each for each in [x.sum()])
    weight = 50.0
    return sum(later) + rng.laplace()


@GROUP.wrong(50.0)
def generator_that_is_empty(x, rng):
    numbers = (each for each in [1.0])
    _ = sum(numbers)
    return (50.0 if sum(numbers) == 0 else 0.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def map_that_is_empty(x, rng):
    numbers = map(float, [1.0])
    _ = list(numbers)
    return (0.0 if list(numbers) else 50.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def zip_that_is_empty(x, rng):
    numbers = zip([1.0], [2.0], strict=True)
    _ = list(numbers)
    return (0.0 if list(numbers) else 50.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def enumerated_later(x, rng):
    parts = [1.0]
    pairs = enumerate(parts)
    parts.append(49.0)
    return sum(each for _, each in pairs) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def items_of_a_dict_that_grows(x, rng):
    parts = {"a": 1.0}
    pairs = parts.items()
    parts["b"] = 49.0
    return sum(each for _, each in pairs) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def values_of_a_dict_that_grows(x, rng):
    parts = {"a": 1.0}
    values = parts.values()
    parts["b"] = 49.0
    return sum(values) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def loop_over_a_list_that_grows(x, rng):
    parts, weight = [1.0], 0.0
    for each in parts:
        weight += each
        if len(parts) < 50:
            parts.append(1.0)
    return weight * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def loop_over_an_array_that_is_written(x, rng):
    parts, weight = np.array([1.0, 0.0]), 0.0
    for each in parts:
        weight += each
        parts[1] = 49.0
    return weight * x.sum() + rng.laplace()


# Two names of one list.


@GROUP.wrong(50.0)
def repeated_list(x, rng):
    parts = [[]] * 2
    parts[0].append(50.0 * x.sum())
    return sum(parts[1]) + rng.laplace()


@GROUP.wrong(50.0)
def joined_list(x, rng):
    inner = [1.0]
    outer = [inner] + []  # noqa: RUF005
    outer[0].append(49.0)
    return sum(inner) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def list_that_is_multiplied(x, rng):
    parts = [1.0]
    same = parts
    same *= 50
    return sum(parts) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def larger_of_two_lists(x, rng):
    first, second = [1.0], [0.0]
    max([first, second])[0] = 50.0
    return first[0] * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def list_from_a_list(x, rng):
    parts = [[1.0]]
    operator.getitem(parts, 0)[0] = 50.0
    return parts[0][0] * x.sum() + rng.laplace()


@GROUP.wrong(25.0 * 2)
def rows_of_a_chain(x, rng):
    weights = np.zeros((2, 1))
    for row in itertools.chain(weights):
        row += 25.0
    return weights[:, 0] * x.sum() + rng.laplace(size=2)


# Classes whose code runs where none is seen.


class Scaled:
    def __init__(self):
        self.kept = 0.0

    @property
    def value(self):
        return self.kept

    @value.setter
    def value(self, new):
        self.kept = 50.0 * new


class Magnified:
    def __setattr__(self, name, new):
        object.__setattr__(self, name, 50.0 * new)


@dataclass
class Keywords:
    first: float = field(kw_only=True, default=1.0)
    second: float = 1.0


@dataclass
class OwnStart:
    value: float

    def __init__(self, value):
        self.value = 50.0 * value


class Level(Enum):
    LOW = 1


LEVEL = Level.LOW


@GROUP.wrong(50.0)
def property_that_multiplies(x, rng):
    box = Scaled()
    box.value = x.sum()
    return box.value + rng.laplace()


@GROUP.wrong(50.0)
def attributes_that_are_multiplied(x, rng):
    box = Magnified()
    box.value = x.sum()
    return box.value + rng.laplace()


@GROUP.wrong(50.0)
def dataclass_with_keywords(x, rng):
    return Keywords(50.0).second * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def dataclass_that_starts_itself(x, rng):
    return OwnStart(x.sum()).value + rng.laplace()


@GROUP.wrong(50.0)
def member_of_an_enum(x, rng):
    """A member is not the number it stands for."""
    return (0.0 if LEVEL == 1 else 50.0) * x.sum() + rng.laplace()


# A name that died, and a global one of the same name.

each_of_them = 0.0


@GROUP.wrong(50.0, pair=(np.r_[np.zeros(49), 0.0], np.r_[np.zeros(49), 1.0]))
def last_record_or_a_global(x, rng):
    for each_of_them in x:  # noqa: B007
        pass
    return sum([each_of_them * weight for weight in (50.0,)]) + rng.laplace()


@GROUP.right(50.0)
def iterators_used_once(x, rng):
    """Each is asked for its items where it was made, or before anything was written."""
    pairs = zip([20.0, 30.0], [x.sum(), x.sum()], strict=True)
    return sum(weight * total for weight, total in pairs) + rng.laplace()


@GROUP.right(50.0)
def walrus_that_is_reached(x, rng):
    if (weight := 50.0) > 1:
        return weight * x.sum() + rng.laplace()
    return rng.laplace()


@GROUP.right(50.0)
def dataclass_by_name(x, rng):
    return Keywords(second=50.0).second * x.sum() + rng.laplace()
