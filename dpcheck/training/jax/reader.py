"""jaxpr -> graph, equation by equation; calls are read in place."""

from __future__ import annotations

import math
import sysconfig
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpcheck.replay.draws import Line
from dpcheck.training.graph import BINARY, CUMULATIVE, REDUCTIONS, UNARY, Graph, Value
from dpcheck.training.jax.canonical import inner
from dpcheck.training.jax.draws import law_of
from dpcheck.training.running import CannotRun, apply, stored

_CALLS = frozenset(
    {
        "jit",
        "pjit",
        "closed_call",
        "core_call",
        "remat",
        "remat2",
        "checkpoint",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "custom_lin",
        "run_state",
    }
)
_SAME = {
    "add_any": "add",
    "shift_right_logical": "shift_right",
    "shift_right_arithmetic": "shift_right",
    "bitcast_convert_type": "bitcast",
    "erf_inv": "erf_inv",
    "name": "copy",
    "copy_p": "copy",
    "sharding_constraint": "copy",
    "pvary": "copy",
    "pbroadcast": "copy",
    "random_clone": "copy",
    "real": "real",
}
_FOLDED = 4096
Handler = Callable[["Reader", Any, list[Value], Line], list[Value]]
_HANDLERS: dict[str, Handler] = {}


def _handles(*names: str) -> Callable[[Handler], Handler]:
    def register(found: Handler) -> Handler:
        for name in names:
            _HANDLERS[name] = found
        return found

    return register


@lru_cache(maxsize=1)
def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    own = str(Path(__file__).resolve().parents[2])
    return tuple({paths["purelib"], paths["platlib"], paths["stdlib"], own, "<frozen"})


def line_of(eqn: Any) -> Line:
    """The innermost line of the user's code behind an equation."""
    trace = getattr(eqn.source_info, "traceback", None)
    for frame in getattr(trace, "frames", ()) or ():
        if not frame.file_name.startswith(_libraries()):
            return Line(frame.file_name, frame.line_num)
    return Line("step", 0)


def _of_library(jaxpr: Any) -> bool:
    """Whether a library defines the function: its lines, traced once and kept, may be those of another call."""
    info = getattr(getattr(jaxpr, "debug_info", None), "func_src_info", None)
    where = str(info).partition(" at ")[2] if info else ""
    return where.startswith(_libraries())


class Folds:
    """Which constants are computed while reading; a batch of another size is read as the first one was.

    Without that an array that is just small enough in one of them would make two programs of one.
    """

    def __init__(self, earlier: Folds | None = None) -> None:
        self.taken: list[bool] = []
        self._earlier = iter(() if earlier is None else earlier.taken)

    def __call__(self, size: int) -> bool:
        """Whether an equation of so many numbers is computed."""
        self.taken.append(next(self._earlier, size <= _FOLDED))
        return self.taken[-1]


class Reader:
    """One graph in the making."""

    def __init__(self, folds: Folds) -> None:
        self.graph = Graph()
        self.folds = folds
        self.known: dict[int, Any] = {}  # values that are constants
        self.inside: Line | None = None  # the user's line that called a library's function

    def add(
        self, op: str, args: Sequence[Value], shape: Any, dtype: str, line: Line, **params: Any
    ) -> Value:
        """A primitive with one output."""
        return self.graph.add(op, args, shape, dtype, line, **params)

    def constant(self, value: Any, line: Line, dtype: str | None = None) -> Value:
        """A constant."""
        array = np.asarray(value)
        held = array if array.dtype.kind in "biuf" else array.astype(np.float64)
        found = self.graph.constant(held, dtype or str(array.dtype), line)
        self.known[found.index] = array
        return found

    def read(self, jaxpr: Any, consts: Sequence[Value], args: Sequence[Value]) -> list[Value]:
        """The values that a jaxpr gives for these."""
        env: dict[Any, Value] = dict(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        for eqn in jaxpr.eqns:
            line = self.inside or line_of(eqn)
            found = self.equation(eqn, [self.atom(env, v, line) for v in eqn.invars], line)
            env.update(zip(eqn.outvars, found, strict=True))
        return [self.atom(env, v, Line("step", 0)) for v in jaxpr.outvars]

    def atom(self, env: dict[Any, Value], var: Any, line: Line) -> Value:
        """A variable or a literal."""
        if hasattr(var, "val"):
            return self.constant(
                np.asarray(var.val, dtype=var.aval.dtype), line, str(var.aval.dtype)
            )
        return env[var]

    def equation(self, eqn: Any, args: list[Value], line: Line) -> list[Value]:
        """One equation."""
        name = eqn.primitive.name
        folded = self._folded(eqn, args, line)
        if folded is not None:
            return folded
        if name in _CALLS:
            return self._call(eqn, args, line)
        return self._primitive(eqn, args, line)

    def _primitive(self, eqn: Any, args: list[Value], line: Line) -> list[Value]:
        name = eqn.primitive.name
        name = _SAME.get(name, name)
        if name in _HANDLERS:
            return _HANDLERS[name](self, eqn, args, line)
        if name in UNARY | BINARY:
            return [self._elementwise(name, eqn, args, line)]
        return self.opaque(eqn, args, line)

    def _elementwise(self, name: str, eqn: Any, args: list[Value], line: Line) -> Value:
        out = eqn.outvars[0].aval
        params = {"y": int(eqn.params["y"])} if name == "integer_pow" else {}
        wide = [self.spread(arg, out.shape, line) for arg in args]
        return self.add(name, wide, out.shape, kind_of(out), line, **params)

    def spread(self, arg: Value, shape: Any, line: Line) -> Value:
        """A scalar, or axes of length 1, in every entry."""
        if arg.shape == tuple(shape):
            return arg
        dims = tuple(range(len(arg.shape)))
        return self.add("broadcast", [arg], shape, arg.dtype, line, dims=dims)

    def opaque(self, eqn: Any, args: list[Value], line: Line) -> list[Value]:
        """What has no primitive."""
        kinds = [(v.aval.shape, kind_of(v.aval)) for v in eqn.outvars]
        name = eqn.primitive.name
        effect = bool(eqn.effects) or "callback" in name
        return list(self.graph.add_many("opaque", args, kinds, line, name=name, effect=effect))

    def _folded(self, eqn: Any, args: list[Value], line: Line) -> list[Value] | None:
        """Constants through a pure function: what it gives."""
        import jax

        name = eqn.primitive.name
        plain = (
            not eqn.effects and not name.startswith(("random_", "threefry")) and name not in _CALLS
        )
        if not (args and plain and all(arg.index in self.known for arg in args)):
            return None
        if any(inner(p) is not None for p in eqn.params.values()) or name in (
            "scan",
            "while",
            "cond",
        ):
            return None
        if not self.folds(max((math.prod(v.aval.shape) for v in eqn.outvars), default=0)):
            return None
        found = self._run(eqn, args, line)
        if found is not None:
            return found
        with jax.ensure_compile_time_eval():
            given = [
                jax.numpy.asarray(self.known[a.index], dtype=v.aval.dtype)
                for a, v in zip(args, eqn.invars, strict=True)
            ]
            found = eqn.primitive.bind(*given, **eqn.params)
        listed = found if eqn.primitive.multiple_results else [found]
        return [
            self.constant(np.asarray(each), line, kind_of(v.aval))
            for each, v in zip(listed, eqn.outvars, strict=True)
        ]

    def _run(self, eqn: Any, args: list[Value], line: Line) -> list[Value] | None:
        """A primitive of constants in numpy, which needs no compiling; None if there is none for it."""
        start = len(self.graph.nodes)
        outs = self._primitive(eqn, args, line)
        new = self.graph.nodes[start:]
        del self.graph.nodes[start:]
        arrays = {arg.index: self.known[arg.index] for arg in args}
        try:
            for node in new:
                if any(out.half for out in (*node.args, *node.outs)):
                    return None
                given = [arrays[arg.index] for arg in node.args]
                arrays[node.out.index] = stored(apply(node, given), node)
        except CannotRun:
            return None
        return [self.constant(arrays[out.index], line, out.dtype) for out in outs]

    def _call(self, eqn: Any, args: list[Value], line: Line) -> list[Value]:
        law = law_of(eqn)
        if law is not None:
            return [self._draw(law, eqn, args, line)]
        for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
            found = inner(eqn.params.get(name))
            if found is not None:
                jaxpr, consts = found
                held = [self.constant(c, line) for c in consts]
                before, self.inside = (
                    self.inside,
                    self.inside or (line if _of_library(jaxpr) else None),
                )
                outs = self.read(jaxpr, held, args)
                self.inside = before
                return outs
        return self.opaque(eqn, args, line)

    def _draw(self, law: str, eqn: Any, args: list[Value], line: Line) -> Value:
        out = eqn.outvars[0].aval
        drawn = self.graph.add("draw", args[:1], out.shape, kind_of(out), line, law=law)
        if law != "uniform":
            return drawn
        low, high = (self.spread(arg, out.shape, line) for arg in args[1:])
        kind = kind_of(out)
        width = self.add("sub", [high, low], out.shape, kind, line)
        return self.add(
            "add",
            [self.add("mul", [drawn, width], out.shape, kind, line), low],
            out.shape,
            kind,
            line,
        )

    def body(self, closed: Any) -> Graph:
        """A jaxpr as a graph of its own."""
        jaxpr, consts = inner(closed)
        reader = Reader(self.folds)
        reader.inside = self.inside
        args = [
            reader.graph.input("body", str(i), v.aval.shape, kind_of(v.aval))
            for i, v in enumerate(jaxpr.invars)
        ]
        held = [reader.constant(c, Line("step", 0)) for c in consts]
        outs = reader.read(jaxpr, held, args)
        reader.graph.outputs = [(str(i), value) for i, value in enumerate(outs)]
        return reader.graph


def kind_of(aval: Any) -> str:
    """The dtype of a value, "key" for typed keys."""
    name = str(aval.dtype)
    return "key" if name.startswith("key<") else name


def _ints(values: Any) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


def _one(
    reader: Reader, op: str, eqn: Any, args: list[Value], line: Line, **params: Any
) -> list[Value]:
    out = eqn.outvars[0].aval
    return [reader.add(op, args, out.shape, kind_of(out), line, **params)]


@_handles("copy", "stop_gradient")
def _copy(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return args


@_handles("optimization_barrier")
def _barrier(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return args


@_handles("convert_element_type")
def _convert(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    out = eqn.outvars[0].aval
    return args if args[0].dtype == kind_of(out) else _one(reader, "convert", eqn, args, line)


@_handles("reduce_precision")
def _precision(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    exact = eqn.params["exponent_bits"] >= 8 and eqn.params["mantissa_bits"] >= 23
    if exact and args[0].dtype == "float32":
        return args
    return reader.opaque(eqn, args, line)


@_handles("clamp")
def _clamp(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    low, x, high = (reader.spread(arg, args[1].shape, line) for arg in args)
    above = reader.add("max", [x, low], x.shape, x.dtype, line)
    return [reader.add("min", [above, high], x.shape, x.dtype, line)]


@_handles("select_n")
def _select(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    which, *cases = args
    shape, dtype = cases[0].shape, cases[0].dtype
    which = reader.spread(which, shape, line)
    if which.dtype == "bool":
        if len(cases) == 1:
            return [cases[0]]
        return [reader.add("select", [which, cases[1], cases[0]], shape, dtype, line)]
    found = cases[-1]
    for i in range(len(cases) - 2, -1, -1):
        number = reader.spread(reader.constant(np.asarray(i, which.dtype), line), shape, line)
        test = reader.add("eq", [which, number], shape, "bool", line)
        found = reader.add("select", [test, cases[i], found], shape, dtype, line)
    return [found]


@_handles("broadcast_in_dim")
def _broadcast(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _one(
        reader, "broadcast", eqn, args[:1], line, dims=_ints(eqn.params["broadcast_dimensions"])
    )


@_handles("reshape", "squeeze", "expand_dims")
def _reshape(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    order = eqn.params.get("dimensions") if eqn.primitive.name == "reshape" else None
    if order is not None and _ints(order) != tuple(range(len(args[0].shape))):
        turned = tuple(args[0].shape[i] for i in _ints(order))
        args = [reader.add("transpose", args[:1], turned, args[0].dtype, line, perm=_ints(order))]
    if args[0].shape == eqn.outvars[0].aval.shape:
        return args[:1]
    return _one(reader, "reshape", eqn, args[:1], line)


@_handles("transpose")
def _transpose(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _one(reader, "transpose", eqn, args, line, perm=_ints(eqn.params["permutation"]))


@_handles("rev")
def _rev(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _one(reader, "reverse", eqn, args, line, axes=_ints(eqn.params["dimensions"]))


@_handles("slice")
def _slice(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    p = eqn.params
    stride = p["strides"] or [1] * len(p["start_indices"])
    return _one(
        reader,
        "slice",
        eqn,
        args,
        line,
        start=_ints(p["start_indices"]),
        limit=_ints(p["limit_indices"]),
        stride=_ints(stride),
    )


@_handles("split")
def _split(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    axis, x, at, found = eqn.params["axis"], args[0], 0, []
    for size in eqn.params["sizes"]:
        start = tuple(at if i == axis else 0 for i in range(len(x.shape)))
        limit = tuple(at + size if i == axis else n for i, n in enumerate(x.shape))
        shape = tuple(b - a for a, b in zip(start, limit, strict=True))
        found.append(
            reader.add(
                "slice",
                [x],
                shape,
                x.dtype,
                line,
                start=start,
                limit=limit,
                stride=(1,) * len(shape),
            )
        )
        at += size
    return found


@_handles("dynamic_slice")
def _dynamic_slice(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _one(reader, "dynamic_slice", eqn, args, line)


@_handles("dynamic_update_slice")
def _dynamic_update(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _one(reader, "dynamic_update", eqn, args, line)


@_handles("pad")
def _pad(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    low, high, interior = (
        zip(*eqn.params["padding_config"], strict=True) if args[0].shape else ((), (), ())
    )
    return _one(
        reader, "pad", eqn, args, line, low=_ints(low), high=_ints(high), interior=_ints(interior)
    )


@_handles("concatenate")
def _concatenate(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    if len(args) == 1:
        return args
    return _one(reader, "concatenate", eqn, args, line, axis=int(eqn.params["dimension"]))


@_handles("stack")
def _stack(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    axis = int(eqn.params["axis"])
    out = eqn.outvars[0].aval
    thin = tuple(1 if i == axis else n for i, n in enumerate(out.shape))
    parts = [reader.add("reshape", [arg], thin, arg.dtype, line) for arg in args]
    if len(parts) == 1:
        return parts
    return _one(reader, "concatenate", eqn, parts, line, axis=axis)


@_handles(*REDUCTIONS)
def _reduce(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    axes = _ints(eqn.params["axes"])
    return _one(reader, eqn.primitive.name, eqn, args, line, axes=axes) if axes else args


@_handles("argmax", "argmin")
def _argmax(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _one(reader, eqn.primitive.name, eqn, args, line, axis=int(eqn.params["axes"][0]))


@_handles(*CUMULATIVE)
def _cumulative(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    p = eqn.params
    return _one(
        reader, eqn.primitive.name, eqn, args, line, axis=int(p["axis"]), reverse=bool(p["reverse"])
    )


@_handles("sort")
def _sort(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    p = eqn.params
    return [
        reader.add(
            "sort",
            args,
            arg.shape,
            arg.dtype,
            line,
            axis=int(p["dimension"]),
            keys=int(p["num_keys"]),
            index=i,
        )
        for i, arg in enumerate(args)
    ]


@_handles("dot_general")
def _dot(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    (ca, cb), (ba, bb) = eqn.params["dimension_numbers"]
    return _one(
        reader,
        "dot_general",
        eqn,
        args,
        line,
        contract=(_ints(ca), _ints(cb)),
        batch=(_ints(ba), _ints(bb)),
    )


@_handles("conv_general_dilated")
def _conv(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    p = eqn.params
    d = p["dimension_numbers"]
    return _one(
        reader,
        "conv",
        eqn,
        args,
        line,
        lhs_spec=_ints(d.lhs_spec),
        rhs_spec=_ints(d.rhs_spec),
        out_spec=_ints(d.out_spec),
        strides=_ints(p["window_strides"]),
        padding=tuple(_ints(pair) for pair in p["padding"]),
        lhs_dilation=_ints(p["lhs_dilation"]),
        rhs_dilation=_ints(p["rhs_dilation"]),
        groups=int(p["feature_group_count"]),
        batch_groups=int(p["batch_group_count"]),
    )


@_handles("reduce_window_sum", "reduce_window_max")
def _pool(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _one(
        reader,
        "pool_sum" if eqn.primitive.name.endswith("sum") else "pool_max",
        eqn,
        args,
        line,
        **_window(eqn.params),
    )


def _window(p: Any) -> dict[str, Any]:
    size = len(p["window_dimensions"])
    return {
        "window": _ints(p["window_dimensions"]),
        "strides": _ints(p["window_strides"]),
        "padding": tuple(_ints(pair) for pair in p["padding"]),
        "base_dilation": _ints(p.get("base_dilation") or (1,) * size),
        "window_dilation": _ints(p.get("window_dilation") or (1,) * size),
    }


@_handles("select_and_scatter_add")
def _pool_grad(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    if "ge" not in str(eqn.params["select_prim"]):
        return reader.opaque(eqn, args, line)
    return _one(reader, "pool_max_grad", eqn, args, line, **_window(eqn.params))


def _fields(numbers: Any, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    return {name: _ints(getattr(numbers, name)) for name in names}


def _mode(mode: Any) -> str:
    name = str(mode).lower()
    return "clip" if "clip" in name else "fill" if "fill" in name else "promise"


@_handles("gather")
def _gather(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    names = (
        "offset_dims",
        "collapsed_slice_dims",
        "start_index_map",
        "operand_batching_dims",
        "start_indices_batching_dims",
    )
    numbers = _fields(eqn.params["dimension_numbers"], names)
    out = eqn.outvars[0].aval
    return [
        reader.graph.add(
            "gather",
            args,
            out.shape,
            kind_of(out),
            line,
            numbers=numbers,
            sizes=_ints(eqn.params["slice_sizes"]),
            mode=_mode(eqn.params["mode"]),
        )
    ]


@_handles("scatter-add", "scatter", "scatter_add")
def _scatter(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    names = (
        "update_window_dims",
        "inserted_window_dims",
        "scatter_dims_to_operand_dims",
        "operand_batching_dims",
        "scatter_indices_batching_dims",
    )
    numbers = _fields(eqn.params["dimension_numbers"], names)
    out = eqn.outvars[0].aval
    op = "scatter" if eqn.primitive.name == "scatter" else "scatter_add"
    return [
        reader.graph.add(
            op, args, out.shape, kind_of(out), line, numbers=numbers, mode=_mode(eqn.params["mode"])
        )
    ]


@_handles("iota")
def _iota(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    if args:
        return reader.opaque(eqn, args, line)
    return _one(reader, "iota", eqn, [], line, axis=int(eqn.params["dimension"]))


@_handles("random_wrap")
def _wrap(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _random(reader, "key_wrap", eqn, args, line)


@_handles("random_unwrap")
def _unwrap(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _random(reader, "key_unwrap", eqn, args, line)


@_handles("random_split")
def _key_split(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _random(reader, "key_split", eqn, args, line)


@_handles("random_fold_in")
def _fold(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _random(reader, "key_fold", eqn, args, line)


@_handles("random_seed")
def _seed(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    return _random(reader, "key_constant", eqn, args, line)


def _random(reader: Reader, op: str, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    out = eqn.outvars[0].aval
    typed = [
        str(v.aval.dtype)
        for v in (*eqn.invars, *eqn.outvars)
        if str(v.aval.dtype).startswith("key<")
    ]
    if any("fry" not in name for name in typed):
        return reader.opaque(eqn, args, line)
    return [reader.graph.add(op, args, out.shape, kind_of(out), line)]


@_handles("random_bits")
def _bits(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    out = eqn.outvars[0].aval
    return [reader.graph.add("draw", args, out.shape, kind_of(out), line, law="coins")]


@_handles("scan")
def _scan(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    p = eqn.params
    kinds = [(v.aval.shape, kind_of(v.aval)) for v in eqn.outvars]
    return list(
        reader.graph.add_many(
            "scan",
            args,
            kinds,
            line,
            body=reader.body(p["jaxpr"]),
            consts=int(p["num_consts"]),
            carries=int(p["num_carry"]),
            length=int(p["length"]),
            reverse=bool(p["reverse"]),
        )
    )


@_handles("cond")
def _cond(reader: Reader, eqn: Any, args: list[Value], line: Line) -> list[Value]:
    kinds = [(v.aval.shape, kind_of(v.aval)) for v in eqn.outvars]
    branches = tuple(reader.body(branch) for branch in eqn.params["branches"])
    return list(reader.graph.add_many("cond", args, kinds, line, branches=branches))
