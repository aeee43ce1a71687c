"""What numpy does otherwise than real numbers: wrapped, rounded, lost. The kernel refuses it, or is right."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.verify.program import check
from dpcheck.verify.program.facts import Aggregate
from dpcheck.verify.result import Refused

from .build import Build
from .test_lemmas import check_box, check_size

HOLES = {}
LARGE = 2**53


def hole(one, other, adjacency="replace-one"):
    """A program, and neighbours on which a kernel of real numbers is wrong of it."""

    def add(function):
        HOLES[function.__name__] = (function, np.asarray(one), np.asarray(other), adjacency)
        return function

    return add


def values_of(build, table):
    """What numpy computes; every coin falls on tails."""
    found = {}
    with np.errstate(all="ignore"):
        for node in build.nodes:
            key = node["id"]
            if node["primitive"] == "data":
                found[key] = table.astype(node["dtype"])
            elif node["primitive"] == "draw":
                found[key] = np.zeros(len(table), dtype=np.int64)
            else:
                given = (found[i] for i in node["args"])
                found[key] = np.asarray(build.compute[key](*given)).astype(node["dtype"])
    return found


def in_type(p, a, dtype):
    """A cast."""
    shape = ["n" if isinstance(n, dict) else n for n in p.nodes[a]["shape"]]
    return p.add("convert", [a], shape, lambda v: v.astype(dtype), dtype)


def many(p, mask):
    """The number of records for which it is true, as a vector of one entry."""
    total = p.total(in_type(p, mask, "int64"), dtype="int64")
    return p.add("reshape", [total], [1], lambda v: v.reshape(1), "int64")


def side_by_side(p, *parts):
    return p.add(
        "concatenate", list(parts), [len(parts)], lambda *v: np.concatenate(v), "int64", axis=0
    )


@hole([2, 2, 2, 2, 2], [3, 2, 2, 2, 2])
def reciprocals_of_whole_numbers():
    p = Build()
    p.total(p.over_entries("reciprocal", p.data(2, 3, dtype="int64"), dtype="int64"), dtype="int64")
    return p


@hole([3001, 3001, 3001, 3000.9, 3000], [3001, 3001, 3001, 3000.9, 3001])
def a_sum_in_half_precision():
    p = Build()
    in_type(p, p.total(p.data(3000.0, 3001.0)), "float16")
    return p


@hole([1e9] * 5, [1e9 + 40, *[1e9] * 4])
def rows_in_single_precision():
    p = Build()
    p.total(in_type(p, in_type(p, p.data(1e9, 1e9 + 40), "float32"), "float64"))
    return p


@hole([2.9] * 5, [3.0, *[2.9] * 4])
def floor_of_three_thirds():
    p = Build()
    third = p.over_entries("multiply", p.data(2.9, 3.0), p.constant(1 / 3))
    p.total(p.over_entries("floor", third))
    return p


SUM = ([0.59, *[0.6] * 4], [0.6] * 5)  # 5 * 0.6 is 3.0, where 0.6 is a little less than 6/10


@hole(*SUM)
def floor_of_a_sum():
    p = Build()
    p.over_entries("floor", p.total(p.data(0.59, 0.6)))
    return p


@hole(*SUM)
def whole_part_of_a_sum():
    p = Build()
    p.over_entries("floor_divide", p.total(p.data(0.59, 0.6)), p.constant(1.0))
    return p


@hole(*SUM)
def a_sum_as_a_whole_number():
    p = Build()
    in_type(p, p.total(p.data(0.59, 0.6)), "int64")
    return p


@hole(*SUM)
def int_of_a_sum():
    p = Build()
    p.add("number", [p.total(p.data(0.59, 0.6))], [], lambda v: np.int64(v), "int64")
    return p


@hole([2.9] * 5, [3.0, *[2.9] * 4])
def rows_of_whole_numbers_after_rounding():
    p = Build()
    third = p.over_entries("multiply", p.data(2.9, 3.0), p.constant(1 / 3))
    p.total(in_type(p, third, "int64"), dtype="int64")
    return p


@hole([[0.0, 0.0]] * 5, [[1e-170, 0.0], *[[0.0, 0.0]] * 4])
def a_norm_whose_squares_are_lost():
    p = Build()
    x = p.data(-1.0, 1.0, (2,))
    norm = p.over_entries("sqrt", p.total(p.over_entries("square", x), (1,)))
    factor = p.over_entries(
        "minimum", p.over_entries("divide", p.constant(1.0), norm), p.constant(1e200)
    )
    column = p.add("reshape", [factor], ["n", 1], lambda v: v.reshape(-1, 1))
    p.total(p.over_entries("multiply", x, column))
    return p


@hole([LARGE + 1], [], "add-remove")
def rounded_and_exact_comparisons():
    p = Build()
    x = p.data(0, LARGE + 2, dtype="int64")
    side_by_side(
        p,
        many(p, p.over_entries("less_equal", x, p.constant(float(LARGE)), dtype="bool")),
        many(p, p.over_entries("greater", x, p.constant(LARGE), dtype="bool")),
    )
    return p


@hole([float(LARGE)], [], "add-remove")
def a_whole_number_that_is_rounded_to_be_compared():
    p = Build()
    x = p.data(0.0, 1e16)
    side_by_side(
        p,
        many(p, p.over_entries("equal", x, p.constant(float(LARGE)), dtype="bool")),
        many(p, p.over_entries("equal", x, p.constant(LARGE + 1), dtype="bool")),
    )
    return p


@hole([-5] * 5, [-1, *[-5] * 4])
def minus_zero_of_tails():
    p = Build()
    x = in_type(p, p.data(-5, 0, dtype="int64"), "float64")
    some = p.add("sampled", [x, p.coins()], ["n"], np.multiply)
    below = p.over_entries("less", some, p.constant(0.0), dtype="bool")
    none = p.add("select", [below, p.constant(1.0), some], ["n"], np.where)
    inverse = p.over_entries("divide", p.constant(1.0), none)
    low = p.over_entries("minimum", inverse, p.constant(5.0))
    p.over_entries("maximum", low, p.constant(-5.0))
    return p


@hole([-744.04] * 5, [-744.02, *[-744.04] * 4])
def a_step_between_the_smallest_floats():
    p = Build()
    tiny = p.over_entries("exp", p.data(-744.04, -744.02))
    p.total(
        p.over_entries(
            "multiply", p.over_entries("multiply", tiny, p.constant(1e300)), p.constant(1e24)
        )
    )
    return p


@pytest.mark.parametrize("name", HOLES)
def test_a_fact_is_true_or_refused(name):
    function, one, other, adjacency = HOLES[name]
    build = function()
    first, second = (values_of(build, table) for table in (one, other))
    try:
        steps = build.facts(adjacency)
    except Refused:
        return
    for node in steps.nodes.values():
        if isinstance(node.fact, Aggregate):
            check_size(node.fact.size, first[node.id].astype(float) - second[node.id])
        for found in (first, second):
            check_box(node, found[node.id])


def test_a_negative_power_of_whole_numbers_is_refused():
    p = Build()
    p.over_entries("power", p.data(1, 3, dtype="int64"), p.constant(-1), dtype="int64")
    with pytest.raises(Refused, match="no whole numbers"):
        p.facts("replace-one")


# The exponential mechanism ---------------------------------------------------------------------------------


def choice(shift, dtype, factor=0.01, times=None):
    """rng.choice by exp(factor * (counts + shift)), with the counts as the scores.

    Without a shift the largest is taken away: of the counts, or of `times` the counts.
    """
    p = Build()
    x = p.data(0.0, 1.0)
    parts = []
    for name in ("less", "greater_equal"):
        mask = p.over_entries(name, x, p.constant(0.5), dtype="bool")
        total = p.total(in_type(p, mask, dtype), dtype=dtype)
        parts.append(p.add("reshape", [total], [1], lambda v: v.reshape(1), dtype))
    scores = p.add("concatenate", parts, [2], lambda *v: np.concatenate(v), dtype, axis=0)
    if shift is not None:
        public = p.add("constant", [], [], lambda: shift, dtype, value=shift)
        moved = p.over_entries("add", scores, public, dtype=dtype)
    else:
        of = scores if times is None else p.over_entries("multiply", scores, p.constant(times))
        most = p.add("extreme", [of], [], np.max, dtype, axes=[0], largest=True)
        moved = p.over_entries("subtract", scores, most, dtype=dtype)
    power = p.over_entries("multiply", moved, p.constant(factor))
    weights = p.over_entries("exp", power)
    law = p.over_entries("divide", weights, p.total(weights))
    p.add("pick", [law, scores], [], lambda law, scores: 0, "int64")
    return p


def accepted(build, epsilon):
    """Whether the kernel takes the choice for epsilon-DP."""
    chosen = build.nodes[-1]["id"]
    program = build.program("replace-one", [chosen])
    event = {"kind": "ExponentialMechanism", "epsilon": epsilon, "adjacency": "replace-one"}
    try:
        steps = check.run(program, lambda node, fact: fact)
        check.check_outputs(steps, program)
        check.releases(steps, [{"node": chosen, "event": event, "times": 1}])
    except Refused:
        return False
    return True


@pytest.mark.parametrize(("shift", "dtype"), [(5, "int8"), (-700, "float64"), (None, "float64")])
def test_scores_with_a_shift_are_the_same_scores(shift, dtype):
    assert accepted(choice(shift, dtype), 0.02)
    assert not accepted(choice(shift, dtype), 0.0199)


@pytest.mark.parametrize(
    ("shift", "dtype", "factor", "times"),
    [
        (125, "int8", 0.01, None),
        (-744, "float64", 1.0, None),
        (-8, "float64", 100.0, None),
        (None, "float64", 1.0, 200.0),
    ],
)
def test_scores_that_wrap_around_or_are_lost_are_refused(shift, dtype, factor, times):
    assert not accepted(choice(shift, dtype, factor, times), 1e4)
