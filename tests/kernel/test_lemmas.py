"""Every rule against brute force: what it concludes holds on neighbours, types and extreme values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpcheck.verify.program.boxes import BOXES
from dpcheck.verify.program.common import RULES
from dpcheck.verify.program.facts import Aggregate, Released, Rows
from dpcheck.verify.result import Refused

from .build import ADJACENCIES, Build
from .examples import EXAMPLES

ROOM = 1e-9
PUBLIC_ROWS = ("whole_rows",)
ELSEWHERE = {  # tested by hand-written certificates, or of released values, of which nothing is known
    "release",
    "respond",
    "apply_draw",
    "apply",
    "either",
    "batch",
    "is_value",
    "place_of",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "pick",
}


def number(value) -> float:
    return float(value)


def within(entries, values) -> np.ndarray:
    """Bounds of entries, laid out like the values."""
    found = np.array([number(each) for each in entries])
    return found if len(found) > 1 else np.broadcast_to(found, values.shape)


def check_box(node, value) -> None:
    flat = np.asarray(value, dtype=float).reshape(-1)
    low, high = within(node.fact.box.lo, flat), within(node.fact.box.hi, flat)
    known = ~np.isnan(flat)
    assert node.fact.box.nan or known.all(), (node.primitive, value)
    room = (1e-6 if node.dtype == "float32" else ROOM) * (1 + np.abs(flat[known]))
    with np.errstate(invalid="ignore"):
        below = flat[known] < low[known] - room
        above = flat[known] > high[known] + room
    assert not below.any(), (node.primitive, value, low)
    assert not above.any(), (node.primitive, value, high)


def check_size(size, vector) -> None:
    flat = np.abs(np.asarray(vector, dtype=float).reshape(-1))
    if np.isnan(flat).any() or np.isinf(flat).any():
        return
    room = 1 + ROOM
    assert (flat <= within(size.entries, flat) * room + ROOM).all(), (vector, size)
    assert flat.sum() <= number(size.l1) * room + ROOM, (vector, size)
    assert math.sqrt((flat**2).sum()) <= number(size.l2) * room + ROOM, (vector, size)
    assert flat.max(initial=0.0) <= number(size.linf) * room + ROOM, (vector, size)
    assert (flat > 1e-12).sum() <= number(size.changed), (vector, size)


def holds(region, value) -> bool:
    if region.members is not None:
        return (float(value) in {float(each) for each in region.members}) != region.but
    above = value > region.low or (value == region.low and region.low_in)
    return bool(above and (value < region.high or (value == region.high and region.high_in)))


def check_rows(node, values) -> None:
    fact = node.fact
    rows = np.moveaxis(values[node.id], fact.axis, 0)
    for i, row in enumerate(rows):
        if any(
            len(values[k]) == len(rows) and not holds(region, values[k][i])
            for k, region in node.given
        ):
            continue
        check_box(node, row)
        check_size(fact.size, row)
        if np.any(row != 0) and not fact.rows.predicate:
            for key, region in fact.predicate.items():
                assert holds(region, values[key][i]), (node.primitive, key, region)
        for answer, known in ((True, fact.truth), (False, fact.falsehood)):
            for key, region in (known or {}).items():
                if row.size == 1 and bool(row.ravel()[0]) == answer and values[key][i].size == 1:
                    assert holds(region, values[key][i]), (node.primitive, answer, region)
        if fact.factor is not None and np.isfinite(row).all():
            check_factor(fact.factor, values[fact.factor.source][i], float(row.ravel()[0]))
        if fact.multiple is not None:
            wanted = values[fact.multiple[0]][i] * number(fact.multiple[1])
            rounding = 1e-6 if node.dtype == "float32" else 1e-9
            np.testing.assert_allclose(row, wanted.reshape(row.shape), rtol=rounding, atol=1e-12)


def check_factor(factor, row, value) -> None:
    flat = np.abs(row.reshape(-1))
    norm = float(
        {"l1": flat.sum(), "l2": np.sqrt((flat**2).sum()), "linf": flat.max()}[factor.order]
    )
    if norm == 0:
        return
    for a, p in factor.above:
        assert value <= number(a) * norm**p * (1 + ROOM), (factor, norm, value)
    for a, p in factor.below:
        assert value >= number(a) * norm**p * (1 - ROOM), (factor, norm, value)
    assert norm * value <= number(factor.bound) * (1 + ROOM)


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_a_rule_concludes_holds(name):
    build = EXAMPLES[name]()
    rng = np.random.default_rng(len(name))
    for adjacency in ADJACENCIES:
        if name in PUBLIC_ROWS and adjacency == "add-remove":
            with pytest.raises(Refused):
                build.facts(adjacency)
            continue
        steps = build.facts(adjacency)
        for one, two in build.pairs(adjacency, rng, 8):
            for node in steps.nodes.values():
                if isinstance(node.fact, Rows):
                    check_rows(node, one)
                elif isinstance(node.fact, Aggregate):
                    check_box(node, one[node.id])
                    check_box(node, two[node.id])
                    with np.errstate(invalid="ignore"):
                        moved = one[node.id].astype(float) - two[node.id]
                    check_size(node.fact.size, moved)
                    if node.fact.rising:
                        assert (one[node.id] >= two[node.id] - ROOM).all()
                elif isinstance(node.fact, Released):
                    np.testing.assert_array_equal(one[node.id], two[node.id])


def test_every_rule_is_exercised():
    used = {node["primitive"] for build in EXAMPLES.values() for node in build().nodes}
    assert set(RULES) - used == ELSEWHERE & set(RULES)
    assert set(BOXES) <= set(RULES)


def test_the_examples_are_tight_somewhere():
    """Derived by hand for a clipped sum, a histogram and disjoint counts: the kernel is not weaker."""
    for name, adjacency, norm, wanted in (
        ("clipped_by_a_factor", "add-remove", "l2", 1),
        ("clipped_by_a_factor", "replace-one", "l2", 2),
        ("clipped_in_l1", "zero-out", "l1", 1),
        ("clipped_by_division", "add-remove", "l2", 1),
        ("a_bin_a_record", "replace-one", "l1", 2),
        ("counts_of_disjoint_groups", "replace-one", "l1", 2),
        ("counts_of_disjoint_groups", "add-remove", "l1", 1),
        ("whole_rows", "replace-one", "linf", 4),
    ):
        sizes = [
            getattr(node.fact.size, norm)
            for node in EXAMPLES[name]().facts(adjacency).nodes.values()
            if isinstance(node.fact, Aggregate)
        ]
        assert Fraction(wanted) in sizes, (name, adjacency, sizes)


@pytest.mark.parametrize(
    "wrong", ["rows of other records", "a vector with another length", "an axis that is none"]
)
def test_what_is_not_built_as_a_rule_asks_is_refused(wrong):
    p = Build()
    x = p.data()
    if wrong == "rows of other records":
        mask = p.over_entries("greater", x, p.constant(0.0), dtype="bool")
        part = p.add("filter", [x, mask], [("n", 3)], lambda v, m: v[m], axis=0)
        p.over_entries("add", x, part)
    elif wrong == "a vector with another length":
        p.over_entries("add", x, p.constant([1.0, 2.0, 3.0]), shape=["n"])
    else:
        p.add("sum", [x], ["n"], np.sum, axes=[1])
    with pytest.raises(Refused):
        p.facts("add-remove")
