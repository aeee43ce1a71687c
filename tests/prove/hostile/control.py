"""A private value decides a path, through Python or through a function in C."""

from __future__ import annotations

import math
import operator

import numpy as np

from .base import INF, Group, itself

GROUP = Group("control")
CHOICES = (0.0, 50.0)


@GROUP.wrong(50.0)
def branch(x, rng):
    if x.sum() > 0.5:
        return 50.0 + rng.laplace()
    return 0.0 + rng.laplace()


@GROUP.wrong(50.0)
def expression(x, rng):
    return (50.0 if x.max() else 0.0) + rng.laplace()


@GROUP.wrong(50.0)
def short_circuit(x, rng):
    return (x.max() and 50.0) + rng.laplace()


@GROUP.wrong(50.0)
def negation(x, rng):
    return 50.0 * (not x.max()) + rng.laplace()


@GROUP.wrong(50.0)
def truth(x, rng):
    return 50.0 * operator.truth(x.max()) + rng.laplace()


@GROUP.wrong(50.0)
def index(x, rng):
    return CHOICES[int(x.max())] + rng.laplace()


@GROUP.wrong(50.0)
def index_by_answer(x, rng):
    return CHOICES[bool((x > 0.5).any())] + rng.laplace()


@GROUP.wrong(50.0)
def public_array_by_a_private_place(x, rng):
    return np.array(CHOICES)[x.max().astype(int)] + rng.laplace()


@GROUP.wrong(50.0)
def taken(x, rng):
    return np.take(np.array(CHOICES), x.max().astype(int)) + rng.laplace()


@GROUP.wrong(50.0)
def repeated(x, rng):
    return sum([50.0] * int(x.max())) + rng.laplace()


@GROUP.wrong(50.0)
def repeated_by_numpy(x, rng):
    return np.repeat(50.0, x.max().astype(int)).sum() + rng.laplace()


@GROUP.wrong(50.0)
def length_of_a_range(x, rng):
    return 50.0 * len(range(int(x.sum()))) + rng.laplace()


@GROUP.wrong(50.0)
def public_length(x, rng):
    return np.ones(int(50 * x.sum())).sum() + rng.laplace()


@GROUP.wrong(50.0)
def slice_of_a_list(x, rng):
    return sum([50.0, 0.0][: int(x.sum())]) + rng.laplace()


@GROUP.wrong(50.0)
def isclose_of_math(x, rng):
    return 50.0 * math.isclose(x.sum(), 0.0) + rng.laplace()


@GROUP.wrong(50.0)
def floor_of_math(x, rng):
    return 50.0 * math.floor(x.sum()) + rng.laplace()


@GROUP.wrong(50.0)
def sum_of_math(x, rng):
    return 50.0 * math.fsum(x) + rng.laplace()


@GROUP.wrong(50.0)
def allclose(x, rng):
    return 50.0 * np.allclose(x, 0.0) + rng.laplace()


@GROUP.wrong(50.0)
def equal_arrays(x, rng):
    return 50.0 * np.array_equal(x, np.zeros(len(x))) + rng.laplace()


@GROUP.wrong(50.0)
def whole_number(x, rng):
    return 50.0 * (x.sum() * 0.5).is_integer() + rng.laplace()


@GROUP.wrong(50.0)
def ratio(x, rng):
    return 50.0 * x.sum().as_integer_ratio()[0] + rng.laplace()


@GROUP.wrong(50.0)
def hexadecimal(x, rng):
    return 50.0 * (float(x.sum()).hex() == "0x0.0p+0") + rng.laplace()


@GROUP.wrong(50.0)
def item(x, rng):
    return 50.0 * x.max().item() + rng.laplace()


@GROUP.wrong(50.0)
def as_a_list(x, rng):
    return 50.0 * x.tolist()[-1] + rng.laplace()


@GROUP.wrong(50.0)
def bytes_of_the_data(x, rng):
    return 50.0 * (x.tobytes() != bytes(8 * len(x))) + rng.laplace()


@GROUP.wrong(50.0)
def division_that_fails(x, rng):
    try:
        1 / float(x.sum())
    except ZeroDivisionError:
        return 50.0 + rng.laplace()
    return 0.0 + rng.laplace()


@GROUP.wrong(50.0)
def index_that_fails(x, rng):
    try:
        [1.0][int(x.max())]
    except IndexError:
        return 50.0 + rng.laplace()
    return 0.0 + rng.laplace()


@GROUP.wrong(50.0)
def assertion(x, rng):
    try:
        assert x.max() < 0.5
    except AssertionError:
        return 50.0 + rng.laplace()
    return 0.0 + rng.laplace()


@GROUP.wrong(50.0)
def linear_algebra_that_fails(x, rng):
    try:
        np.linalg.inv(np.diag([x.max(), 1.0]))
    except np.linalg.LinAlgError:
        return 50.0 + rng.laplace()
    return 0.0 + rng.laplace()


@GROUP.wrong(50.0)
def where_with_one_argument(x, rng):
    return 50.0 * np.where(x > 0.5)[0].size + rng.laplace()


@GROUP.wrong(50.0)
def nonzero(x, rng):
    return 50.0 * len(x.nonzero()[0]) + rng.laplace()


@GROUP.wrong(50.0)
def flat_nonzero(x, rng):
    return 50.0 * np.flatnonzero(x).size + rng.laplace()


@GROUP.wrong(50.0)
def extracted(x, rng):
    return 50.0 * np.extract(x > 0.5, x).size + rng.laplace()


@GROUP.wrong(50.0)
def filtered(x, rng):
    return 50.0 * len(x[x > 0.5]) + rng.laplace()


@GROUP.wrong(50.0)
def chosen(x, rng):
    return np.choose((x > 0.5).astype(int), [0.0, 50.0]).sum() + rng.laplace()


@GROUP.wrong(50.0)
def selected(x, rng):
    return np.select([x > 0.5], [50.0], 0.0).sum() + rng.laplace()


@GROUP.wrong(50.0)
def piecewise(x, rng):
    return np.piecewise(x, [x > 0.5], [50.0, 0.0]).sum() + rng.laplace()


@GROUP.wrong(50.0)
def power_of_nought(x, rng):
    """0 ** 0 is 1."""
    return 50.0 * (x**0.0 * (x == 0)).sum() + rng.laplace()


@GROUP.wrong(50.0)
def attribute_by_name(x, rng):
    names = {True: "max", False: "min"}
    return 50.0 * getattr(x, names[bool(x[-1] > 0.5)])() + rng.laplace()


@GROUP.wrong(INF, leak=itself)
def comparison_released(x, rng):
    return bool(x.sum() > 0.5)


@GROUP.wrong(INF, leak=itself)
def no_noise(x, rng):
    return float(x.sum())


@GROUP.wrong(INF, leak=np.shape)
def shape_released(x, rng):
    return x[x > 0.5] * 0.0


@GROUP.right(1.0)
def choice_for_every_record(x, rng):
    """A choice for each record by itself."""
    return np.where(x > 0.5, 1.0, 0.0).sum() + rng.laplace()
