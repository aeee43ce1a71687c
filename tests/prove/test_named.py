"""Named tuples: read as what they are, and nothing gets out by them."""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

import dpcheck

UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=30)


class Answer(NamedTuple):
    """A value with what it cost."""

    value: float
    count: float = 0.0
    label: str = "noisy"

    def twice(self):
        return 2 * self.value

    @property
    def mean(self):
        return self.value / max(self.count, 1.0)


Pair = namedtuple("Pair", "first second")


def by_keywords(x, rng):
    found = Answer(count=10.0, value=x.sum() + rng.laplace())
    return found, found.twice(), found.mean, found.label, found.count


def unpacked(x, rng):
    first, second = Pair(x.sum() + rng.laplace(), 3)
    return [first, second]


def by_place(x, rng):
    pair = Pair(second=1.5, first=x.sum() + rng.laplace())
    return pair[0] + pair[1], tuple(pair)[0:1], list(pair)


@pytest.mark.parametrize("function", [by_keywords, unpacked, by_place])
def test_it_is_read_as_it_is(function):
    assert dpcheck.prove(function, data=UNIT).epsilon().upper == pytest.approx(1.0)


class Loud(NamedTuple("Base", [("value", float)])):
    """A class of its own behind the tuple."""

    def __new__(cls, value):
        return super().__new__(cls, 0 * value)


class Turned(NamedTuple):
    """Another order than that of its fields."""

    value: float
    other: float

    def __iter__(self):
        return iter((self.other, self.value))


Crossed = namedtuple("Crossed", "value other")
Crossed.value = Crossed.other


def holds_the_sum(x, rng):
    return Answer(x.sum() + rng.laplace(), x.sum())


def holds_it_deep(x, rng):
    return Pair([x.sum() + rng.laplace()], {"all": Pair(0, x)})


def written(x, rng):
    found = Answer(x.sum() + rng.laplace())
    found.value = x.sum()
    return found


def replaced(x, rng):
    return Answer(x.sum() + rng.laplace())._replace(value=x.sum())


def as_a_dict(x, rng):
    return Answer(x.sum())._asdict()


def counted(x, rng):
    return Pair(x.sum(), 1).count(1)


def with_new_of_its_own(x, rng):
    return Loud(x.sum() + rng.laplace())


def with_another_order(x, rng):
    first, _ = Turned(x.sum() + rng.laplace(), x.sum())
    return first


def with_a_field_moved(x, rng):
    return Crossed(x.sum() + rng.laplace(), x.sum()).value


def decides(x, rng):
    return 1 if Pair(x.sum(), 0) == Pair(1.0, 0) else rng.laplace()


def missing_field(x, rng):
    return Pair(x.sum() + rng.laplace())


@pytest.mark.parametrize(
    "function",
    [
        *(holds_the_sum, holds_it_deep, written, replaced, as_a_dict, counted),
        *(with_new_of_its_own, with_another_order, with_a_field_moved, decides, missing_field),
    ],
)
def test_nothing_gets_out_by_it(function):
    with pytest.raises(dpcheck.NotProvable):
        dpcheck.prove(function, data=UNIT)


def test_the_twins_do_what_they_say():
    x, rng = np.ones(30), np.random.default_rng(1)
    assert with_another_order(x, rng) == with_a_field_moved(x, rng) == 30.0
    assert holds_the_sum(x, rng).count == 30.0
