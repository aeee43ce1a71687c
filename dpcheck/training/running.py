"""A graph on real arrays, by numpy: what a proof understands the program to compute."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy import special

from dpcheck.training.derive import Site
from dpcheck.training.graph import Array, Graph, Node


class Randomness(Protocol):
    """Keys and draws of a framework."""

    def apply(self, node: Node, args: Sequence[Any]) -> Any:
        """What a random primitive gives."""


class CannotRun(Exception):
    """A primitive that is not run here."""


@dataclass(slots=True)
class Runner:
    """Runs graphs; notes what is released at `sites`, and gives `replayed` released values instead, in order."""

    random: Randomness
    sites: Mapping[tuple[int, int], Site] = field(default_factory=dict)
    replayed: list[Array] | None = None
    seen: list[tuple[str, Array, float]] = field(default_factory=list)
    released: list[Array] = field(default_factory=list)
    symbols: dict[Any, float] = field(
        default_factory=dict
    )  # public numbers that noise is in units of

    def __post_init__(self) -> None:
        self.symbols = {name: math.nan for site in self.sites.values() for name, _ in site.unit}

    def run(self, graph: Graph, inputs: Sequence[Array]) -> list[Array]:
        """The outputs."""
        left = Counter(arg.index for node in graph.nodes for arg in node.args)
        left.update(value.index for _, value in graph.outputs)
        held: dict[int, Array] = {}
        waiting = iter(inputs)
        for node in graph.nodes:
            args = [held[arg.index] for arg in node.args]
            outs = (next(waiting),) if node.op == "input" else self._apply(graph, node, args)
            for arg in node.args:
                left[arg.index] -= 1
                if not left[arg.index]:
                    del held[arg.index]
            for v, x in zip(node.outs, outs, strict=True):
                if (id(graph), v.index) in self.symbols:
                    self.symbols[id(graph), v.index] = abs(float(np.reshape(x, ())))
            held.update({v.index: x for v, x in zip(node.outs, outs, strict=True) if left[v.index]})
        return [held[value.index] for _, value in graph.outputs]

    def _apply(self, graph: Graph, node: Node, args: list[Array]) -> tuple[Array, ...]:
        if node.op == "scan":
            return self._scan(node, args)
        if node.op == "cond":
            branches = node.params["branches"]
            which = min(max(int(args[0]), 0), len(branches) - 1)
            return tuple(self.run(branches[which], args[1:]))
        if node.op == "draw" or node.op.startswith("key_"):
            return (self.random.apply(node, args),)
        made = stored(apply(node, args), node)
        site = self.sites.get((id(graph), node.out.index))
        if site is not None:
            scale = site.scale * math.prod(self.symbols[name] ** p for name, p in site.unit)
            self.seen.append((site.line, np.asarray(args[site.side], float), scale))
            if self.replayed is not None:
                made = self.replayed[len(self.released)]
            self.released.append(made)
        return (made,)

    def _scan(self, node: Node, args: list[Array]) -> tuple[Array, ...]:
        p = node.params
        consts, carries = args[: p["consts"]], args[p["consts"] : p["consts"] + p["carries"]]
        xs = args[p["consts"] + p["carries"] :]
        rounds = range(p["length"] - 1, -1, -1) if p["reverse"] else range(p["length"])
        stacks: dict[int, list[Array]] = {}
        for i in rounds:
            outs = self.run(p["body"], [*consts, *carries, *(x[i] for x in xs)])
            carries = outs[: p["carries"]]
            stacks[i] = outs[p["carries"] :]
        shapes = node.outs[p["carries"] :]
        stacked = [
            np.stack([stacks[i][j] for i in range(p["length"])]) if stacks else np.zeros(v.shape)
            for j, v in enumerate(shapes)
        ]
        return (*carries, *stacked)


def stored(value: Array, node: Node) -> Array:
    """A result in its data type."""
    dtype = node.out.dtype
    if dtype == "key":
        return value
    kind = np.float32 if dtype == "bfloat16" else np.dtype(dtype)
    return np.asarray(value).astype(kind, copy=False)


_UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "square": np.square,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "reciprocal": lambda x: 1 / x,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "logistic": special.expit,
    "erf": special.erf,
    "erfc": special.erfc,
    "erf_inv": special.erfinv,
    "lgamma": special.gammaln,
    "digamma": special.digamma,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "is_finite": np.isfinite,
    "is_nan": np.isnan,
    "not": np.invert,
    "copy": lambda x: x,
    "stop_gradient": lambda x: x,
}
_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "rem": np.fmod,
    "pow": np.power,
    "max": np.maximum,
    "min": np.minimum,
    "atan2": np.arctan2,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_REDUCE: dict[str, Callable[..., Array]] = {
    "reduce_sum": np.sum,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_prod": np.prod,
    "reduce_and": np.all,
    "reduce_or": np.any,
}
_RUNNING: dict[str, Callable[..., Array]] = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
}


def apply(node: Node, args: list[Array]) -> Array:
    """One pure primitive on arrays."""
    with np.errstate(all="ignore"):
        return _pure(node, args)


def _pure(node: Node, args: list[Array]) -> Array:  # noqa: C901 - one line for each primitive
    op, p, shape = node.op, node.params, node.out.shape
    if op in _UNARY:
        return _UNARY[op](args[0])
    if op in _BINARY:
        return _BINARY[op](*args)
    if op in _REDUCE:
        return _REDUCE[op](args[0], axis=tuple(p["axes"]))
    if op in _RUNNING:
        turned = np.flip(args[0], p["axis"]) if p["reverse"] else args[0]
        made = _RUNNING[op](turned, axis=p["axis"])
        return np.flip(made, p["axis"]) if p["reverse"] else made
    if op == "bitcast":
        return args[0].view(np.dtype(node.out.dtype))
    if op == "integer_pow":
        return np.asarray(np.power(args[0].astype(float), p["y"]))
    if op == "div":
        whole = args[0].dtype.kind in "iu"
        return np.trunc(args[0] / args[1]) if whole else args[0] / args[1]
    if op == "constant":
        return np.asarray(p["value"])
    if op == "iota":
        lead = [1] * len(shape)
        lead[p["axis"]] = shape[p["axis"]]
        return np.broadcast_to(np.arange(shape[p["axis"]]).reshape(lead), shape)
    if op == "select":
        return np.where(args[0], args[1], args[2])
    if op == "convert":
        return args[0] if node.out.dtype != "bool" else args[0] != 0
    if op == "broadcast":
        lead = [1] * len(shape)
        for i, axis in enumerate(p["dims"]):
            lead[axis] = args[0].shape[i]
        return np.broadcast_to(args[0].reshape(lead), shape)
    if op == "reshape":
        return args[0].reshape(shape)
    if op == "transpose":
        return args[0].transpose(p["perm"])
    if op == "reverse":
        return np.flip(args[0], p["axes"])
    if op == "slice":
        ends = zip(p["start"], p["limit"], p["stride"], strict=True)
        return args[0][tuple(slice(a, b, c) for a, b, c in ends)]
    if op == "dynamic_slice":
        return args[0][_window(args[0].shape, shape, args[1:])]
    if op == "dynamic_update":
        made = args[0].copy()
        made[_window(args[0].shape, args[1].shape, args[2:])] = args[1]
        return made
    if op == "pad":
        return _pad(args[0], args[1], p["low"], p["high"], p["interior"])
    if op == "concatenate":
        return np.concatenate(args, p["axis"])
    if op in ("argmax", "argmin"):
        return np.asarray((np.argmax if op == "argmax" else np.argmin)(args[0], p["axis"]))
    if op == "sort":
        order = np.argsort(args[0], axis=p["axis"], kind="stable")
        if p["keys"] > 1:
            order = np.lexsort(args[: p["keys"]][::-1], axis=p["axis"])
        return np.take_along_axis(args[p["index"]], order, p["axis"])
    if op == "dot_general":
        return _dot(node, *args)
    if op == "conv":
        return _conv(node, *args)
    if op in ("pool_max", "pool_sum"):
        fill, fold = (-np.inf, np.maximum) if op == "pool_max" else (0.0, np.add)
        return _pool(node, args[0], fill, fold)
    if op == "pool_max_grad":
        return _pool_grad(node, *args)
    if op == "gather":
        return _gather(node, *args)
    if op in ("scatter_add", "scatter"):
        return _scatter(node, *args)
    raise CannotRun(op)


def _window(
    whole: Sequence[int], part: Sequence[int], starts: Sequence[Array]
) -> tuple[slice, ...]:
    ends = []
    for n, m, start in zip(whole, part, starts, strict=True):
        a = min(max(int(start), 0), n - m)
        ends.append(slice(a, a + m))
    return tuple(ends)


def _pad(
    x: Array, number: Array | float, low: Sequence[int], high: Sequence[int], inner: Sequence[int]
) -> Array:
    shape = [(n - 1) * (i + 1) + 1 if n else 0 for n, i in zip(x.shape, inner, strict=True)]
    wide = np.full(
        [n + max(a, 0) + max(b, 0) for n, a, b in zip(shape, low, high, strict=True)],
        number,
        x.dtype,
    )
    wide[
        tuple(
            slice(max(a, 0), max(a, 0) + n, i + 1)
            for n, a, i in zip(shape, low, inner, strict=True)
        )
    ] = x
    return wide[
        tuple(
            slice(max(-a, 0), wide.shape[k] - max(-b, 0))
            for k, (a, b) in enumerate(zip(low, high, strict=True))
        )
    ]


def _dot(node: Node, a: Array, b: Array) -> Array:
    (ca, cb), (ba, bb) = node.params["contract"], node.params["batch"]
    names = itertools.count()
    left: list[int] = [next(names) for _ in a.shape]
    right = [-1] * b.ndim
    for i, j in (*zip(ca, cb, strict=True), *zip(ba, bb, strict=True)):
        right[j] = left[i]
    right = [next(names) if n < 0 else n for n in right]
    out = [left[i] for i in ba]
    out += [left[i] for i in range(a.ndim) if i not in ca and i not in ba]
    out += [right[j] for j in range(b.ndim) if j not in cb and j not in bb]
    return np.asarray(np.einsum(a, left, b, right, out, optimize=True))


def _spread(x: Array, dilation: Sequence[int], axes: Sequence[int]) -> Array:
    inner = [0] * x.ndim
    for axis, d in zip(axes, dilation, strict=True):
        inner[axis] = d - 1
    return _pad(x, 0, [0] * x.ndim, [0] * x.ndim, inner)


def _conv(node: Node, lhs: Array, rhs: Array) -> Array:
    p = node.params
    x, w = lhs.transpose(p["lhs_spec"]), rhs.transpose(p["rhs_spec"])
    space = x.ndim - 2
    axes = range(2, x.ndim)
    x, w = _spread(x, p["lhs_dilation"], axes), _spread(w, p["rhs_dilation"], axes)
    low, high = zip(*p["padding"], strict=True) if space else ((), ())
    x = _pad(x, 0, (0, 0, *low), (0, 0, *high), (0,) * x.ndim)
    g, bg = p["groups"], p["batch_groups"]
    out = [node.out.shape[i] for i in p["out_spec"]][2:]
    parts = []
    for group in range(max(g, bg)):
        xs = np.split(x, bg, 0)[group] if bg > 1 else np.split(x, g, 1)[group]
        ws = np.split(w, max(g, bg), 0)[group]
        total: Any = 0.0
        for place in itertools.product(*(range(n) for n in w.shape[2:])):
            cut: tuple[Any, ...] = tuple(
                slice(a, a + (n - 1) * s + 1, s)
                for a, n, s in zip(place, out, p["strides"], strict=True)
            )
            every = slice(None)
            seen: Any = (every, every, *cut)
            kernel: Any = (every, every, *place)
            total = total + np.einsum("ni...,oi->no...", xs[seen], ws[kernel])
        parts.append(total)
    made = np.concatenate(parts, 1)
    return made.transpose(np.argsort(p["out_spec"]))


def _windows(
    node: Node, x: Array, fill: float, shape: Sequence[int]
) -> tuple[Array, list[tuple[slice, ...]]]:
    p = node.params
    low, high = zip(*p["padding"], strict=True)
    wide = _pad(x.astype(float), fill, low, high, [d - 1 for d in p["base_dilation"]])
    cuts = []
    for place in itertools.product(*(range(n) for n in p["window"])):
        at = [a * d for a, d in zip(place, p["window_dilation"], strict=True)]
        cuts.append(
            tuple(
                slice(a, a + (n - 1) * s + 1, s)
                for a, n, s in zip(at, shape, p["strides"], strict=True)
            )
        )
    return wide, cuts


def _pool(node: Node, x: Array, fill: float, fold: Callable[..., Array]) -> Array:
    wide, cuts = _windows(node, x, fill, node.out.shape)
    made = wide[cuts[0]]
    for cut in cuts[1:]:
        made = fold(made, wide[cut])
    return made


def _pool_grad(node: Node, cotangent: Array, x: Array) -> Array:
    wide, cuts = _windows(node, x, -np.inf, cotangent.shape)
    best = np.full(cotangent.shape, -np.inf)
    for cut in cuts:
        best = np.maximum(best, wide[cut])
    made, taken = np.zeros(wide.shape), np.zeros(cotangent.shape, bool)
    for cut in cuts:
        here = (wide[cut] == best) & ~taken
        made[cut] += np.where(here, cotangent, 0.0)
        taken |= here
    p = node.params
    ends = zip(p["padding"], wide.shape, strict=True)
    return made[tuple(slice(max(a, 0), n - max(b, 0)) for (a, b), n in ends)]


def _starts(
    index: Array, mapped: Sequence[int], room: Sequence[int], mode: str
) -> tuple[list[int], bool]:
    start = [0] * len(room)
    inside = True
    for axis, value in zip(mapped, index, strict=True):
        inside &= bool(0 <= value <= room[axis])
        start[axis] = int(min(max(int(value), 0), room[axis]))
    return start, inside or mode != "fill"


def _gather(node: Node, x: Array, indices: Array) -> Array:
    p, sizes, mode = node.params["numbers"], node.params["sizes"], node.params["mode"]
    offsets = sorted(p["offset_dims"])
    lanes = [i for i in range(len(node.out.shape)) if i not in offsets]
    room = [n - m for n, m in zip(x.shape, sizes, strict=True)]
    gone = {*p["collapsed_slice_dims"], *p["operand_batching_dims"]}
    fill = np.nan if x.dtype.kind == "f" else 0
    made = np.empty(node.out.shape, x.dtype)
    for lane in np.ndindex(*indices.shape[:-1]):
        start, ok = _starts(indices[lane], p["start_index_map"], room, mode)
        for axis, i in zip(
            p["operand_batching_dims"], p["start_indices_batching_dims"], strict=True
        ):
            start[axis] = lane[i]
        found = x[
            tuple(
                start[i] if i in gone else slice(start[i], start[i] + sizes[i])
                for i in range(x.ndim)
            )
        ]
        to: list[Any] = [slice(None)] * made.ndim
        for axis, i in zip(lanes, lane, strict=True):
            to[axis] = i
        made[tuple(to)] = found if ok else fill
    return made


def _scatter(node: Node, x: Array, indices: Array, updates: Array) -> Array:
    p, mode = node.params["numbers"], node.params["mode"]
    windows = sorted(p["update_window_dims"])
    lanes = [i for i in range(updates.ndim) if i not in windows]
    gone = [*p["inserted_window_dims"], *p["operand_batching_dims"]]
    kept = [i for i in range(x.ndim) if i not in gone]
    sizes = [1] * x.ndim
    for axis, w in zip(kept, windows, strict=True):
        sizes[axis] = updates.shape[w]
    room = [n - m for n, m in zip(x.shape, sizes, strict=True)]
    made = x.copy()
    for lane in np.ndindex(*indices.shape[:-1]):
        start, ok = _starts(
            indices[lane],
            p["scatter_dims_to_operand_dims"],
            room,
            "fill" if mode != "clip" else mode,
        )
        if not ok:
            continue
        for axis, i in zip(
            p["operand_batching_dims"], p["scatter_indices_batching_dims"], strict=True
        ):
            start[axis] = lane[i]
        at = tuple(
            start[i] if i in gone else slice(start[i], start[i] + sizes[i]) for i in range(x.ndim)
        )
        of: list[Any] = [slice(None)] * updates.ndim
        for axis, i in zip(lanes, lane, strict=True):
            of[axis] = i
        made[at] = made[at] + updates[tuple(of)] if node.op == "scatter_add" else updates[tuple(of)]
    return made


def work(graph: Graph) -> float:
    """Entries that a run computes, roughly."""
    total = 0.0
    for node in graph.nodes:
        if node.op == "scan":
            total += node.params["length"] * work(node.params["body"])
        elif node.op == "cond":
            total += max(work(branch) for branch in node.params["branches"])
        else:
            total += math.fsum(out.size for out in node.outs)
    return total
