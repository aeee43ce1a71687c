"""Elementwise functions of numpy, np.where, np.clip and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program import releases
from dpcheck.program.facts.kinds import (
    RANDOM,
    Aggregate,
    Coins,
    Drawn,
    Mirrored,
    Public,
    Released,
    Rows,
    ScaledNoise,
)
from dpcheck.program.graph import Graph, Node
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.operators import PYTHON
from dpcheck.program.reading.public import public_call, released_call
from dpcheck.program.reading.values import Array, Opaque, Scalar, Series, Storage, Table
from dpcheck.program.rules.answers import may_answer
from dpcheck.program.rules.common import is_zero, plain, weakness, whole
from dpcheck.program.rules.drawing import can_respond
from dpcheck.program.rules.functions import FUNCTIONS
from dpcheck.program.rules.random_numbers import UNIFORM_INTEGERS

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def elementwise(reader: Reader, name: str, *args: object) -> object:
    """A function of entries of values, at least one of which is no public one."""
    if name not in FUNCTIONS:
        if all(reader.is_released(each) for each in args):
            return released_call(reader, PYTHON.get(name, getattr(np, name, None)), args)  # type: ignore[arg-type]
        reader.unknown(f"np.{name} of a private value")
    found = apply(reader, name, *(reader.node(each) for each in args))
    return reader.array(found)


def apply(reader: Reader, name: str, *nodes: Node) -> Node:
    """The same on nodes: rows meet aggregates as a whole, noise makes a release, coins a sample."""
    graph = reader.graph
    if any(node.dtype.kind not in "biuf" for node in nodes):
        return _texts(reader, name, nodes)
    random = [node for node in nodes if isinstance(node.fact, RANDOM)]
    private = [node for node in nodes if isinstance(node.fact, Rows | Aggregate)]
    if random and private:
        return _noisy(reader, name, nodes)
    if private and all(weakness(node) is not False for node in nodes):
        _check_python(reader, name, nodes)
    if name == "multiply" and nodes[0] is nodes[1] and nodes[0].dtype.kind != "b":
        return graph.add("square", nodes[0])
    if any(isinstance(node.fact, Aggregate) for node in nodes):
        nodes = tuple(whole(graph, node) for node in nodes)
    if name == "divide" and nodes[1].primitive == "sum" and nodes[1].args[0] is nodes[0]:
        return softmax(reader, nodes)
    return graph.add(name, *nodes)


def _check_python(reader: Reader, name: str, nodes: tuple[Node, ...]) -> None:
    """Numbers of Python raise errors where numpy gives NaN or infinities."""
    if name in ("divide", "floor_divide", "remainder"):
        box = nodes[1].fact.box
        total = bool(((box.lo > 0) | (box.hi < 0)).all()) and not box.nan
    elif name == "power":
        base, exponent = (node.fact.box for node in nodes)
        total = bool((base.lo >= 0).all() and (exponent.lo >= 0).all() and (base.hi <= 1e3).all())
        total = total and bool((exponent.hi <= 100).all()) and not base.nan and not exponent.nan
    else:
        return
    if not total:
        reader.refuse(
            "private-control",
            "Python raises an error for some values here, and the error would reveal them",
            "use numpy arrays, which give NaN or inf, and replace those",
        )


def softmax(reader: Reader, nodes: tuple[Node, ...]) -> Node:
    """exp(s) / exp(s).sum(): probabilities, which rng.choice knows."""
    from dataclasses import replace

    found = reader.graph.add("divide", *nodes)
    fact = nodes[0].fact
    if (
        isinstance(fact, Aggregate)
        and fact.exponent is not None
        and isinstance(found.fact, Aggregate)
    ):
        object.__setattr__(found, "fact", replace(found.fact, normalised=fact.exponent))
    return found


def _texts(reader: Reader, name: str, nodes: tuple[Node, ...]) -> Node:
    """Comparisons of columns of text with a public text."""
    column, other = nodes if isinstance(nodes[0].fact, Rows | Aggregate) else nodes[::-1]
    if column.dtype.kind in "biuf":
        reader.unknown(f"np.{name} of a number and a text")
    if name not in ("equal", "not_equal") or not isinstance(other.fact, Public) or other.ndim:
        reader.unknown(f"np.{name} of text")
    found = reader.graph.add("is_value", column, public=np.asarray(other.fact.value).item())
    return found if name == "equal" else reader.graph.add("logical_not", found)


def _noisy(reader: Reader, name: str, nodes: tuple[Node, ...]) -> Node:
    graph = reader.graph
    if len(nodes) == 2:
        first, second = nodes
        drawn = first if isinstance(first.fact, RANDOM) else second
        other = second if drawn is first else first
        if other.primitive == "pending" and isinstance(drawn.fact, Drawn) and drawn is second:
            private, first_noise = other.args
            noise = graph.add(name, first_noise, drawn)
            return graph.add("release", private, noise, sign=1.0, flip=False)
        if (
            isinstance(drawn.fact, Drawn)
            and drawn.fact.family == releases.GEOMETRIC
            and name == "add"
        ):
            return graph.add("pending", whole(graph, other), drawn)
        if isinstance(drawn.fact, Mirrored) and name in ("add", "subtract"):
            return _symmetric(reader, name, whole(graph, other), drawn, flip=drawn is first)
        if isinstance(drawn.fact, ScaledNoise) and name in ("add", "subtract"):
            from dpcheck.program.lowering import scaled

            flip = name == "subtract" and drawn is first
            return scaled.release(reader, name, other, drawn, flip=flip)
        ids = np.ravel(drawn.fact.ids).tolist()  # type: ignore[attr-defined]
        seen = graph.public.issuperset(ids)
        if seen or (isinstance(other.fact, Rows) and _of_all_records(drawn, other)):
            return apply(reader, name, *(_public(graph, each) for each in nodes))
        whole_numbers = isinstance(drawn.fact, Drawn) and drawn.fact.family == UNIFORM_INTEGERS
        if whole_numbers and may_answer(nodes):
            return graph.add(name, *nodes)
        if isinstance(drawn.fact, Drawn) and name in ("add", "subtract"):
            flip = name == "subtract" and drawn is first
            sign = 1.0 if name == "add" or flip else -1.0
            return graph.add("release", whole(graph, other), drawn, sign=sign, flip=flip)
        if isinstance(drawn.fact, Coins) and name == "multiply" and isinstance(other.fact, Rows):
            return graph.add("sampled", other, drawn)
        bits = bool((other.fact.box.lo >= 0).all() and (other.fact.box.hi <= 1).all())
        if isinstance(drawn.fact, Coins) and name == "bitwise_xor" and bits:
            if other.dtype.kind == "b":
                flipped = graph.add("logical_not", other)
            else:
                flipped = graph.add("subtract", graph.constant(1), other)
            heads = (
                drawn if drawn.dtype.kind == "b" else graph.add("equal", drawn, graph.constant(1))
            )
            return where(reader, heads, flipped, other)
    if may_answer(nodes):
        return graph.add(name, *nodes)
    return graph.refuse(
        "unknown-operation",
        f"np.{name} of a private value and random numbers is no known mechanism",
        "add the noise to the finished aggregate, or use one coin for each record: "
        "mask = rng.random(n) < rate, then x[mask] or x * mask[:, None]",
    )


def _symmetric(reader: Reader, name: str, private: Node, noise: Node, *, flip: bool) -> Node:
    """A symmetric matrix plus symmetric noise: see rules/mirrored.py."""
    graph, fact = reader.graph, private.fact
    if not isinstance(fact, Aggregate) or not fact.symmetric or private.shape != noise.shape:
        reader.refuse(
            "shared-noise",
            "one drawn number is added to several numbers, which are not known to be a symmetric matrix",
            "draw one for each: pass size=...",
        )
    drawn = graph.add("upper", noise)
    many = plain(private.shape)[0]
    above = np.triu_indices(many)
    value = graph.add("index", private, key=above)
    turned = flip and name == "subtract"
    sign = 1.0 if name == "add" or turned else -1.0
    made = graph.add("release", value, drawn, sign=sign, flip=turned)
    back = np.zeros((many, many), dtype=int)
    back[above] = back.T[above] = np.arange(len(above[0]))
    return graph.add("index", made, key=(back,))


def _of_all_records(drawn: Node, rows: Node) -> bool:
    """Whether numbers are the same for all records: starting values of a search, not noise."""
    assert isinstance(rows.fact, Rows)
    place = rows.ndim - rows.fact.axis
    return drawn.ndim > 0 and (drawn.ndim < place or drawn.shape[-place] == 1)


def _public(graph: Graph, node: Node) -> Node:
    """Random numbers as public ones, which protect nothing."""
    return graph.add("apply_draw", node) if isinstance(node.fact, RANDOM) else node


def where(reader: Reader, condition: Node, x: Node, y: Node) -> Node:
    """np.where on nodes."""
    graph = reader.graph
    if isinstance(condition.fact, Coins) and any(
        isinstance(v.fact, Rows | Aggregate) for v in (x, y)
    ):
        return _by_coin(reader, condition, x, y)
    if any(v.dtype.kind not in "biuf" for v in (x, y)):
        reader.unknown("np.where of text")
    parts = (condition, x, y)
    if any(isinstance(v.fact, Aggregate) for v in parts):
        parts = tuple(whole(graph, v) for v in parts)  # type: ignore[assignment]
    return graph.add("select", *parts)


def _by_coin(reader: Reader, coins: Node, x: Node, y: Node) -> Node:
    graph = reader.graph
    for kept, other, heads in ((x, y, coins), (y, x, None)):
        if isinstance(kept.fact, Rows) and is_zero(other):
            own = heads or graph.add("logical_not", coins)
            return graph.add("sampled", kept, own)
    truth, other, heads = (
        (x, y, coins) if isinstance(x.fact, Rows) else (y, x, graph.add("logical_not", coins))
    )
    if not isinstance(truth.fact, Rows):
        reader.unknown("np.where of an aggregate by random coins")
    lie = other.fact
    if isinstance(lie, Rows) and lie.complement_of is None and truth.fact.complement_of == other.id:
        # np.where(coins, ~x, x): the truth is the other one.
        truth, other, heads = other, truth, graph.add("logical_not", heads)
    if may_answer((coins, x, y)) and not can_respond(truth, other):
        return graph.add("select", coins, x, y)
    return graph.add("respond", heads, truth, other)


def of_numpy(reader: Reader, found: object) -> object:
    """numpy gives numbers of its own, which do not take on the type of what they meet."""
    if not isinstance(found, Scalar) or not isinstance(found.node.fact, Rows | Aggregate):
        return found
    if weakness(found.node) is False:
        return found
    return Scalar(reader.graph.add("convert", found.node, dtype=found.node.dtype))


def _ufunc(name: str) -> Callable[..., object]:
    def handler(reader: Reader, *args: object, **named: object) -> object:
        ufunc = getattr(np, name)
        out = named.pop("out", None)
        if len(args) > ufunc.nin:
            args, out = args[: ufunc.nin], args[ufunc.nin]
        if isinstance(out, tuple) and len(out) == 1:
            out = out[0]
        if any(isinstance(each, Table | Series) for each in args):
            from dpcheck.program.lowering.columns import ufunc as of_tables

            if out is not None or named:
                reader.unknown(f"np.{name} with out= or other options")
            return of_tables(reader, name, args)
        if reader.is_public(list(args)) and out is None:
            return public_call(reader, ufunc, args, named)
        wanted = named.pop("dtype", None)
        named.pop("casting", None)
        if named.pop("where", True) is not True or named:
            reader.unknown(f"np.{name} with where= or other options")
        if any(isinstance(each, Opaque) for each in args):
            return released_call(reader, ufunc, args)
        found = (
            of_numpy(reader, elementwise(reader, name, *args))
            if not reader.is_public(list(args))
            else public_call(reader, ufunc, args, {})
        )
        if wanted is not None:
            node = reader.node(found)
            kind = np.dtype(reader.plain(wanted))  # type: ignore[call-overload]
            if kind != node.dtype:
                reader.unknown(f"np.{name} in another type")
        return found if out is None else into(reader, out, found)

    return handler


def into(reader: Reader, out: object, found: object) -> object:
    """The result of an operation written into an array."""
    from dpcheck.program.reading import arrays

    if not isinstance(out, Array):
        reader.unknown("out= of something that is no array")
    node, before = reader.node(found), out.node(reader.graph)
    if node.dtype != before.dtype:
        if not np.can_cast(node.dtype, before.dtype, "same_kind"):
            reader.unknown("out= of another type")
        node = reader.graph.add("convert", node, dtype=before.dtype)
    if tuple(node.shape) != tuple(before.shape) and not _same_shape(node, before):
        reader.unknown("out= of another shape")
    arrays.write(reader, out, node)
    return out


def _same_shape(a: Node, b: Node) -> bool:
    from dpcheck.program.facts.rowsets import same

    return a.ndim == b.ndim and all(same(x, y) for x, y in zip(a.shape, b.shape, strict=True))


_ALIASES = {"fabs": "absolute", "true_divide": "divide", "mod": "remainder", "float_power": None}
for _name in FUNCTIONS:
    lower(getattr(np, _name))(_ufunc(_name))


@lower(np.fabs)
def fabs(reader: Reader, x: object) -> object:
    """Absolute values, as floats."""
    if reader.is_public(x):
        return public_call(reader, np.fabs, (x,), {})
    if isinstance(x, Opaque):
        return released_call(reader, np.fabs, (x,))
    node = reader.node(x)
    kind = np.fabs(np.empty(0, dtype=node.dtype)).dtype
    if node.dtype != kind:
        node = reader.graph.add("convert", node, dtype=kind)
    return reader.array(apply(reader, "absolute", node))


@lower(np.where)
def np_where(reader: Reader, condition: object, *args: object) -> object:
    """np.where with three arguments."""
    if reader.is_public([condition, *args]):
        return public_call(reader, np.where, (condition, *args), {})
    if len(args) != 2:
        reader.refuse(
            "private-length",
            "np.where with one argument gives a number of places that depends on the data",
            "use np.where(mask, x, 0), or x[mask]",
        )
    condition, *sides = (
        each.array if isinstance(each, Series) else each for each in (condition, *args)
    )
    args = tuple(sides)
    if any(isinstance(each, Opaque) for each in (condition, *args)) and all(
        reader.is_released(each) for each in (condition, *args)
    ):
        return released_call(reader, np.where, (condition, *args))
    mask = reader.node(condition)
    if mask.dtype.kind != "b":
        mask = apply(reader, "not_equal", mask, reader.graph.constant(0))
    found = where(reader, mask, reader.node(args[0]), reader.node(args[1]))
    if not found.ndim:
        found = reader.graph.add("convert", found, dtype=found.dtype)  # numpy's own, never Python's
        return Array(Storage(found, "it is an array without axes"))
    return reader.array(found)


@lower(np.clip, methods=("clip",))
def clip(
    reader: Reader,
    a: object,
    a_min: object = None,
    a_max: object = None,
    out: object = None,
    **named: object,
) -> object:
    """np.clip: minimum after maximum."""
    low, high = named.pop("min", a_min), named.pop("max", a_max)
    if named:
        reader.unknown(f"np.clip with {', '.join(named)}")
    if isinstance(a, Series):
        from dpcheck.program.lowering.columns import like

        return like(reader, a, clip(reader, a.array, low, high))
    found = reader.node(a) if not isinstance(a, Opaque) else None
    if found is None:
        return released_call(reader, np.clip, (a, low, high))
    for name, end in (("maximum", low), ("minimum", high)):
        if end is None:
            continue
        node = reader.node(end)
        if (
            isinstance(node.fact, Rows | Aggregate)
            and not isinstance(a, Opaque)
            and isinstance(found.fact, Rows)
        ) and isinstance(node.fact, Aggregate):
            reader.refuse(
                "private-control",
                "private values are clipped at a private value",
                "clip at a public number",
            )
        if isinstance(node.fact, Public) and node.fact.box.nan:
            reader.refuse(
                "unbounded", "values are clipped at NaN, which does nothing", "use a number"
            )
        found = apply(reader, name, found, node)
    result = of_numpy(reader, reader.array(found))
    if isinstance(found.fact, Public):
        result = public_call(reader, np.clip, (a, low, high), {})
    return result if out is None else into(reader, out, result)


@lower(np.nan_to_num)
def nan_to_num(
    reader: Reader,
    x: object,
    copy: object = True,
    nan: object = 0.0,
    posinf: object = None,
    neginf: object = None,
) -> object:
    """np.nan_to_num."""
    if isinstance(x, Series):
        from dpcheck.program.lowering.columns import like

        return like(reader, x, nan_to_num(reader, x.array, copy, nan, posinf, neginf))
    if isinstance(x, Opaque):
        return released_call(
            reader,
            lambda it, *ends: np.nan_to_num(it, True, *ends),
            (x, nan, posinf, neginf),
        )
    ends = [None if each is None else float(reader.plain(each)) for each in (nan, posinf, neginf)]  # type: ignore[arg-type]
    if reader.plain(copy) is not True:
        reader.unknown("np.nan_to_num in place")
    node = reader.node(x)
    if node.dtype.kind not in "biuf":
        reader.unknown("np.nan_to_num of text")
    return reader.array(reader.graph.add("fill", node, nan=ends[0], posinf=ends[1], neginf=ends[2]))


@lower(np.round, np.around, methods=("round",))
def rounded(reader: Reader, a: object, decimals: object = 0) -> object:
    """np.round to a public number of digits."""
    if isinstance(a, Series):
        from dpcheck.program.lowering.columns import like

        return like(reader, a, rounded(reader, a.array, decimals))
    if reader.is_public([a, decimals]):
        return public_call(reader, np.round, (a, decimals), {})
    if isinstance(a, Opaque):
        return released_call(reader, np.round, (a, decimals))
    digits, node = int(reader.plain(decimals)), reader.node(a)  # type: ignore[call-overload]
    if isinstance(node.fact, Released):
        found = _rounded_release(reader, node, digits)
        return reader.array(found)
    if node.dtype.kind != "f":
        if digits < 0:
            reader.unknown("np.round of whole numbers to tens")
        return reader.array(reader.graph.add("positive", node))
    if digits == 0:
        return reader.array(reader.graph.add("rint", node))
    factor = reader.graph.constant(10.0 ** abs(digits))
    names = ("multiply", "divide") if digits > 0 else ("divide", "multiply")
    scaled = reader.graph.add(names[0], node, factor)
    return reader.array(reader.graph.add(names[1], reader.graph.add("rint", scaled), factor))


def _rounded_release(reader: Reader, node: Node, digits: int) -> Node:
    if node.dtype.kind != "f":
        return reader.graph.add("positive", node)
    factor = reader.graph.constant(10.0**digits)
    scaled = reader.graph.add("multiply", node, factor)
    return reader.graph.add("divide", reader.graph.add("rint", scaled), factor)


@lower(np.fix)
def fix(reader: Reader, x: object) -> object:
    """np.fix: towards 0."""
    if reader.is_public(x):
        return public_call(reader, np.fix, (x,), {})
    return elementwise(reader, "trunc", x)


@lower(methods=("astype",))
def astype(
    reader: Reader, a: object, dtype: object, copy: object = True, **named: object
) -> object:
    """array.astype."""
    if named:
        reader.unknown("astype with options")
    kind = as_dtype(reader, dtype)
    if reader.is_public(a):
        return public_call(reader, lambda it, to: np.asarray(it).astype(to), (a, kind), {})
    node = reader.node(a)
    found = reader.graph.add("convert", node, dtype=kind)
    if reader.plain(copy) is not True and isinstance(a, Array):
        from dpcheck.program.lowering.shaping import maybe_view

        return maybe_view(reader, a, found)
    return reader.array(found)


def as_dtype(reader: Reader, dtype: object) -> np.dtype[np.generic]:
    """A type by its name."""
    value = reader.plain(dtype)
    kind = reader.attempt(lambda: np.dtype(value))  # type: ignore[call-overload]
    assert isinstance(kind, np.dtype)
    if kind.kind not in "biuf":
        reader.unknown(f"the type {kind}")
    return kind


@lower(np.sign)
def _sign(reader: Reader, x: object) -> object:
    return _ufunc("sign")(reader, x)


@lower(np.copy, methods=("copy",))
def copy(reader: Reader, a: object, *_: object) -> object:
    """New memory."""
    if isinstance(a, Array):
        return reader.array(a.node(reader.graph))
    if isinstance(a, Scalar | Opaque):
        return a
    from dpcheck.program.lowering.making import asarray

    return asarray(reader, a)


@lower(np.isclose)
def isclose(
    reader: Reader, a: object, b: object, rtol: object = 1e-05, atol: object = 1e-08
) -> object:
    """|a - b| <= atol + rtol |b|, of finite numbers."""
    if reader.is_released(a) and reader.is_released(b):
        return released_call(reader, np.isclose, (a, b, rtol, atol))
    reader.unknown("np.isclose of a private value")
