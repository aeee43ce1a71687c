"""Functions of entries: rows stay rows whatever the function is; aggregates move by its slope.

Lemmas. Rows: entry (i, j) of the result depends on record i alone if entry (i, j) of every operand does.
Aggregates: |f(a) - f(a')| is at most sup|f'| |a - a'| over the box, and at most the width of the result's
box.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Box, DType
from dpcheck.program.facts.kinds import RANDOM, Aggregate, Public, Rows
from dpcheck.program.graph import Graph, Made, Node, primitive
from dpcheck.program.rules import answers, comparing, linear, moved, relations
from dpcheck.program.rules.common import (
    UNBOUNDED,
    aggregate,
    broadcast,
    check_fits,
    check_mixed,
    coins_of,
    numpy_shape,
    only_released,
    opened,
    operand_box,
    plain,
    refuse_endless,
    released,
    result_dtype,
    rowwise,
    weakness,
)
from dpcheck.program.rules.functions import FUNCTIONS, STEPS, overflows
from dpcheck.program.rules.random_numbers import of_draws

LEMMA = "rows stay rows, within the box of the result; an aggregate moves by its slope on the box"


def result_box(name: str, found: list[Box], dtype: DType) -> Box:
    """The box of a function's result, after its type."""
    if name in ("bitwise_and", "bitwise_or", "bitwise_xor", "invert"):
        return boxes.of_dtype(dtype)
    return boxes.fitted(FUNCTIONS[name].box(*found), dtype)


def rule(name: str, graph: Graph, *args: Node) -> Made:
    """A function of entries."""
    function = FUNCTIONS[name]
    if all(isinstance(arg.fact, Public) for arg in args):
        try:
            with np.errstate(all="ignore"):
                value = function.compute(*(arg.fact.value for arg in args))  # type: ignore[attr-defined]
        except (TypeError, ValueError) as error:
            graph.refuse("failed", f"numpy refuses this ({error})", "fix the code")
        found = np.asarray(value)
        return Made(found.shape, found.dtype, Public(box=boxes.point(found), value=value))
    held = comparing.compared(graph, name, args)
    if held is not None:
        return held
    dtype = result_dtype(graph, function.compute, args)
    check_mixed(graph, args, dtype)
    _check_whole(graph, name, args, dtype)
    if answers.may_answer(args):
        return answers.answers(graph, args, dtype)
    if any(isinstance(arg.fact, RANDOM) for arg in args):
        return of_draws(graph, name, args, dtype)
    if only_released(args):
        opened(args)
        shape = numpy_shape(graph, [plain(arg.shape) for arg in args])
        with np.errstate(all="ignore"):
            return released(shape, dtype, result_box(name, [a.fact.box for a in args], dtype))
    opened(args)
    check_fits(graph, args, dtype)
    if all(weakness(arg) is not False for arg in args) and dtype.kind == "i":
        _check_end(graph, name, args, dtype)
    if any(isinstance(arg.fact, Aggregate) for arg in args):
        return of_aggregates(graph, name, args, dtype)
    return of_rows(graph, name, args, dtype)


def _check_whole(graph: Graph, name: str, args: tuple[Node, ...], dtype: DType) -> None:
    if name == "power" and dtype.kind in "iu" and not (args[1].fact.box.lo >= 0).all():
        graph.refuse(
            "private-control",
            "whole numbers raised to a negative power are an error, but not where there are no rows",
            "turn them into floats first",
        )
    if name == "reciprocal" and dtype.kind in "iu":
        graph.refuse(
            "unknown-operation",
            "np.reciprocal of whole numbers is a whole number: 0, 1 or anything",
            "write 1 / x",
        )


def _check_end(graph: Graph, name: str, args: tuple[Node, ...], dtype: DType) -> None:
    if overflows(name, [arg.fact.box for arg in args], dtype):
        refuse_endless(graph)


def of_rows(graph: Graph, name: str, args: tuple[Node, ...], dtype: DType) -> Made:
    """A function of entries of rows of the same records, and of public or released values."""
    first = next(arg.fact for arg in args if isinstance(arg.fact, Rows))
    for arg in args:
        if isinstance(arg.fact, Rows) and arg.fact.rows is not first.rows:
            graph.refuse(
                "mixed-records",
                "rows of different records are combined, so that a row depends on several records",
                "combine columns of the same selection, or aggregate first",
            )
    shape, axis = broadcast(graph, args)
    found = [operand_box(arg, shape, axis) for arg in args]
    box = result_box(name, found, dtype)
    known = relations.known(name, args, shape)
    row = relations.row_size(name, args, shape, axis)
    if overflows(name, found, dtype):
        row = UNBOUNDED
    return rowwise(graph, shape, dtype, box, first.rows, axis, row, coins=coins_of(*args), **known)


def of_aggregates(graph: Graph, name: str, args: tuple[Node, ...], dtype: DType) -> Made:
    """A function of entries of aggregates, and of public or released values."""
    if any(isinstance(arg.fact, Rows) for arg in args):
        raise TypeError("rows are made whole before they meet an aggregate")
    shape = numpy_shape(graph, [plain(arg.shape) for arg in args])
    found = [arg.fact.box for arg in args]
    steps = name in (*STEPS, "floor_divide") and dtype.kind == "f"
    box = result_box(name, [boxes.loosened(found[0]), *found[1:]] if steps else found, dtype)
    with np.errstate(all="ignore"):
        diff = moved.difference(name, args, shape, dtype)
        known = moved.known(name, args, shape)
    if overflows(name, found, dtype):
        diff, known = moved.changed_only(diff), {}
    elif (together := linear.size_of(graph, name, args)) is not None:
        diff = diff.both(together)
    return aggregate(
        shape, dtype, box, diff, records=moved.records(args), coins=coins_of(*args), **known
    )


for _name, _function in FUNCTIONS.items():
    primitive(_name, LEMMA, _function.compute)(partial(rule, _name))
