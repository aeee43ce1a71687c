"""What the rules share: boxes and types of operands, rows of the same records, all rows as one array."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Box, DType
from dpcheck.program.facts.kinds import Aggregate, Coins, Fact, Places, Public, Released, Rows
from dpcheck.program.facts.rowsets import Dim, Predicate, RowSet, Shape, number, same
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Graph, Made, Node
from dpcheck.program.rules.functions import FUNCTIONS

MOST_ROWS = float(2**40)  # no dataset has more records, where their number is private
UNBOUNDED = Size(np.asarray(np.inf))


def element(node: Node) -> tuple[int, ...]:
    """The shape of rows with length 1 along the records."""
    assert isinstance(node.fact, Rows)
    return tuple(1 if i == node.fact.axis else fixed(n) for i, n in enumerate(node.shape))


def fixed(dim: Dim) -> int:
    """A public length as a number."""
    found = number(dim)
    assert found is not None
    return found


def plain(shape: Shape) -> tuple[int, ...]:
    """A shape without records, as numpy has it."""
    return tuple(fixed(n) for n in shape)


def rowwise(
    graph: Graph,
    shape: Shape,
    dtype: DType,
    box: Box,
    rows: RowSet,
    axis: int,
    row: Size = UNBOUNDED,
    **known: object,
) -> Made:
    """Rows, with every bound that box and norms give together."""
    inner = tuple(1 if i == axis else fixed(n) for i, n in enumerate(shape))
    box = padded(box, len(shape))
    size = row.both(Size(np.asarray(box.magnitude, dtype=float))).tightened(inner)
    most = size.linf
    low = np.maximum(box.lo, -most)
    within = Box(low, np.maximum(np.minimum(box.hi, most), low), box.nan, box.plain_zero)
    fact = Rows(box=within, rows=rows, axis=axis, row=size, **known)  # type: ignore[arg-type]
    return Made(shape, dtype, fact)


def aggregate(shape: Shape, dtype: DType, box: Box, diff: Size, **known: object) -> Made:
    """An aggregate; it moves no further than its box is wide."""
    width = box.width if box.width.ndim <= len(shape) else np.asarray(box.width.max())
    size = diff.both(Size(width)).tightened(plain(shape))
    return Made(shape, dtype, Aggregate(box=box, diff=size, **known))  # type: ignore[arg-type]


def padded(found: Box, ndim: int) -> Box:
    """A box with as many axes as its array."""
    return found.mapped(lambda v: v.reshape((1,) * (ndim - v.ndim) + v.shape))


def records_of(fact: Fact) -> frozenset[int] | None:
    """The public places of the records it depends on, where not all of them."""
    if isinstance(fact, Rows):
        return None if fact.rows.records is None else frozenset(fact.rows.records)
    return fact.records if isinstance(fact, Aggregate) else None


def coins_of(*args: Node) -> frozenset[int]:
    """The draws of rows that a function of these values may tell of."""
    own = [arg.fact.ids.ravel().tolist() for arg in args if isinstance(arg.fact, Coins | Places)]
    return frozenset().union(*(arg.fact.coins for arg in args), *own)


def differences(graph: Graph, node: Node) -> Size:
    """How a sum over records of these rows differs between neighbours.

    Lemma. Replace-one: a row moves inside its box, and by at most twice its norm. Add-remove: a row appears
    or disappears. Zero-out: a row becomes that of the null record; if that is 0, as add-remove, else as
    replace-one. A row whose own values decide whether it is in may be 0 on either side.
    """
    fact = node.fact
    assert isinstance(fact, Rows)
    if graph.adjacency is Adjacency.ADD_REMOVE:
        return fact.row
    if graph.adjacency is Adjacency.ZERO_OUT and fact.zero_null:
        return fact.row
    box = fact.box.with_zero() if fact.rows.optional else fact.box
    twice = fact.row.scaled(2.0)
    width = np.asarray(box.width, dtype=float)
    changed = 2 * fact.row.changed
    return Size(width, twice.l1, twice.l2, twice.linf, changed).tightened(element(node))


def whole(graph: Graph, node: Node) -> Node:
    """All rows as one private array of public shape, where there is one."""
    return graph.add("whole", node) if isinstance(node.fact, Rows) else node


_WEAK: WeakKeyDictionary[Node, bool | None] = WeakKeyDictionary()


def weakness(node: Node) -> bool | None:
    """Whether it is a number of Python, which takes on the type of what it meets.

    False of numpy's, None if the data decide, or nobody knows: `v if v > 0 else 0`, a sum of a list.
    """
    if node.ndim:
        return False
    if node not in _WEAK:
        _WEAK[node] = _weakness(node)
    return _WEAK[node]


def _weakness(node: Node) -> bool | None:
    if node.primitive == "constant":
        assert isinstance(node.fact, Public)
        return type(node.fact.value) in (bool, int, float)
    if node.primitive == "number":
        return True
    if node.primitive == "element":  # of a list of records
        found = node.params["weak"]
        assert found is None or isinstance(found, bool)
        return found
    if node.primitive == "assume":
        return weakness(node.args[0])
    if node.primitive == "select":
        kinds = {(side.dtype, weakness(side)) for side in node.args[1:]}
        return kinds.pop()[1] if len(kinds) == 1 else None
    if node.primitive == "draw":  # rng.laplace() is a float, rng.integers(5) is one of numpy's
        return (
            node.params.get("method") not in ("integers", "choice") and "sized" not in node.params
        )
    if node.primitive not in FUNCTIONS:
        return False
    several = {weakness(arg) for arg in node.args}
    return None if None in several else several == {True}


def unsure(node: Node) -> None:
    """A number that may be Python's or numpy's: a length, a sum that starts at 0, the largest of a list."""
    if not node.ndim:
        _WEAK[node] = None


def is_weak(node: Node) -> bool:
    """Whether it is a number of Python, on both sides of every test."""
    return weakness(node) is True


def is_mixed(node: Node) -> bool:
    """Whether it may be of one type or of another."""
    return weakness(node) is None


def check_mixed(graph: Graph, args: Sequence[Node], dtype: DType) -> None:
    """What a small type makes of a number depends on the number's own type."""
    if dtype.kind == "b" or not any(is_mixed(arg) for arg in args):
        return
    known = {np.dtype(bool), np.dtype(np.int64), np.dtype(float)}
    if dtype == np.dtype(np.float32):  # whatever meets it becomes one, or is a whole number in it
        known.add(dtype)
    if any(arg.dtype not in known or (arg.dtype.kind == "b" and is_mixed(arg)) for arg in args):
        graph.refuse(
            "failed",
            "a number that may be Python's or numpy's meets a small type, which treats them differently",
            "make it one type: float(...) or int(...), on both sides of a test",
        )


def check_fits(graph: Graph, args: Sequence[Node], dtype: DType) -> None:
    """Whole numbers of Python raise an error in a type that cannot hold them, where numpy's wrap around."""
    if dtype.kind not in "iu":
        return
    limits = boxes.of_dtype(dtype)
    for arg in args:
        box = arg.fact.box
        fits = not box.nan and bool((box.lo >= limits.lo).all() and (box.hi <= limits.hi).all())
        private = not isinstance(arg.fact, Public | Released)
        if private and not fits and arg.dtype.kind in "iu" and is_weak(arg):
            graph.refuse(
                "private-control",
                f"a private whole number of Python meets {dtype}, which cannot hold all it may be: the "
                "error would reveal it",
                "clip it first, or use numpy's whole numbers: np.int64(...)",
            )


def refuse_endless(graph: Graph) -> NoReturn:
    """Whole numbers of Python have no end, where those of a type wrap around."""
    graph.refuse(
        "unbounded",
        "private whole numbers of Python may become larger than 64 bits hold",
        "clip them first, or turn them into floats",
    )


def stand_in(node: Node) -> object:
    """Something of the operand's type with no entries, to ask numpy for the type of a result."""
    if isinstance(node.fact, Public) and type(node.fact.value) in (bool, int, float):
        return node.fact.value
    if is_weak(node):
        return 0.0 if node.dtype.kind == "f" else (False if node.dtype.kind == "b" else 0)
    return np.empty((0,) if node.ndim else (), dtype=node.dtype)


def result_dtype(graph: Graph, function: Callable[..., object], args: Sequence[Node]) -> DType:
    """The type numpy gives the result."""
    if isinstance(function, np.ufunc) and not any(is_weak(arg) for arg in args):
        known = _ufunc_dtype(function, tuple(arg.dtype for arg in args))
        if known is not None:
            return known
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(*(stand_in(arg) for arg in args))).dtype
    except (TypeError, ValueError, OverflowError) as error:
        graph.refuse("failed", f"numpy refuses these types ({error})", "fix the code")


@lru_cache(maxsize=4096)
def _ufunc_dtype(function: np.ufunc, types: tuple[DType, ...]) -> DType | None:
    try:
        return np.asarray(function(*(np.empty(0, dtype=each) for each in types))).dtype
    except (TypeError, ValueError):
        return None


def broadcast(graph: Graph, args: Sequence[Node]) -> tuple[Shape, int]:
    """The shape of a function of rows, entry by entry, and where its records are."""
    several = [arg for arg in args if isinstance(arg.fact, Rows)]
    ndim = max(arg.ndim for arg in args)
    places = {ndim - arg.ndim + arg.fact.axis for arg in several}  # type: ignore[attr-defined]
    if len(places) > 1:
        graph.refuse(
            "mixed-records",
            "every record is combined with every other",
            "aggregate over the records first",
        )
    axis = places.pop()
    first = several[0].fact
    assert isinstance(first, Rows)
    shapes = []
    for arg in args:
        full: list[Dim] = [*[1] * (ndim - arg.ndim), *arg.shape]
        if full[axis] != 1 and not same(full[axis], first.rows):
            graph.refuse(
                "private-length",
                "an array of another number of entries meets rows of records",
                "use arrays of one entry, or of one per record",
            )
        full[axis] = 1
        shapes.append(plain(tuple(full)))
    found: list[Dim] = list(numpy_shape(graph, shapes))
    found[axis] = first.rows
    return tuple(found), axis


def numpy_shape(graph: Graph, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """As numpy broadcasts."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        graph.refuse("failed", f"numpy refuses these shapes ({error})", "fix the code")


def operand_box(node: Node, shape: Shape, axis: int) -> Box:
    """The box of an operand with length 1 along the records."""
    found = padded(node.fact.box, len(shape))
    if isinstance(node.fact, Rows) or not found.lo.ndim:
        return found
    return found if found.lo.shape[axis] == 1 and found.hi.shape[axis] == 1 else found.over((axis,))


def repeated(size: Size, before: tuple[int, ...], after: tuple[int, ...]) -> Size:
    """The size of a vector after its entries are repeated to another shape."""
    times = math.prod(after) / max(1, math.prod(before))
    return size.repeated(times) if times > 1 else size


def is_zero(node: Node) -> bool:
    """Whether it is 0 for all data."""
    fact = node.fact
    if not isinstance(fact, Public) or node.dtype.kind not in "biuf":
        return False
    return bool(np.all(np.asarray(fact.value) == 0))


def scalar(node: Node) -> float | None:
    """A public positive number."""
    if not isinstance(node.fact, Public) or node.ndim or node.dtype.kind not in "iuf":
        return None
    value = float(np.asarray(node.fact.value))
    return value if value > 0 else None


def predicate_of(node: Node, answer: bool) -> Predicate:
    """What is known of a record whose truth value, one a record, is `answer`."""
    if not isinstance(node.fact, Rows) or node.dtype.kind != "b" or math.prod(element(node)) != 1:
        return {}
    return (node.fact.truth if answer else node.fact.falsehood) or {}


def released(shape: Shape, dtype: DType, box: Box, **known: object) -> Made:
    """Computed from what is released."""
    return Made(shape, dtype, Released(box=box, **known))  # type: ignore[arg-type]


def only_released(args: Sequence[Node]) -> bool:
    """Whether nothing of this is private or drawn."""
    return all(isinstance(arg.fact, Public | Released) for arg in args)


def opened(args: Sequence[Node]) -> None:
    """Whoever computes with a release has seen all its numbers."""
    for arg in args:
        if isinstance(arg.fact, Released) and arg.fact.release is not None:
            arg.fact.release.open()


def with_fact(made: Made, **changes: object) -> Made:
    """The same with more that is known."""
    return Made(made.shape, made.dtype, replace(made.fact, **changes))  # type: ignore[arg-type]
