"""A training step as a graph: a closed list of primitives over arrays of concrete shape.

A reader lowers to these and to nothing else. Arguments are values; what is not an array is a parameter.

Elementwise (`ELEMENTWISE`): arrays of one shape, so broadcast first; `integer_pow` has `y`.

- `input`: `role` "params", "batch", "key" or "body", `name`. `constant`: `value`, a numpy array.
- `select(condition, then, otherwise)`: one shape. `convert(x)`: to the dtype of its value.
- `broadcast(x)`: `dims`, where each axis goes, as in `lax.broadcast_in_dim`. `reshape(x)`: row-major, to the
  shape of its value. `transpose(x)`: `perm`. `reverse(x)`: `axes`. `iota()`: `axis`.
- `slice(x)`: `start`, `limit`, `stride`. `dynamic_slice(x, start of each axis...)`: as much as its value's
  shape says; starts are clamped. `dynamic_update(x, update, start of each axis...)`.
- `pad(x, number)`: `low`, `high`, `interior`. `concatenate(x...)`: `axis`.
- `reduce_sum(x)`, `reduce_max`, `_min`, `_prod`, `_and`, `_or`: `axes`. `argmax(x)`, `argmin`: `axis`.
- `cumsum(x)`, `cumprod`, `cummax`, `cummin`: `axis`, `reverse`.
- `sort(keys and values...)`: `axis`, `keys` (how many are keys), `index` (which output this is).
- `dot_general(left, right)`: `contract`, `batch`, each a pair of tuples, as in `lax.dot_general`.
- `conv(left, right)`: `lhs_spec`, `rhs_spec`, `out_spec` (each: batch or output channels, channels, places),
  `strides`, `padding`, `lhs_dilation`, `rhs_dilation`, `groups`, `batch_groups`, as in
  `lax.conv_general_dilated`.
- `pool_max(x)`, `pool_sum`: `window`, `strides`, `padding`, `base_dilation`, `window_dilation`, for each
  axis. `pool_max_grad(cotangent, x)`: likewise; a cotangent goes to its window's first maximum.
- `gather(x, indices)`: `numbers`, the fields of `lax.GatherDimensionNumbers` as a dict; `sizes`; `mode`
  "clip", "fill" or "promise". `scatter_add(x, indices, updates)`, `scatter`: `numbers` of
  `lax.ScatterDimensionNumbers` as a dict, `mode`.
- `key_constant()`: a key that is known, from which no noise can come. `key_wrap(raw)`, `key_unwrap(key)`: raw
  keys have one more axis, of their words. `key_split(key)`: the last axes of the new shape are the
  children. `key_fold(key, whole number)`. `draw(key)`: `law` "normal", "laplace" or "coins":
  independent numbers of the standard law. `draw()` without a key: from a generator that nobody can see.
- `scan(constants, carries, slices)`: `body`, a Graph whose inputs are in that order; `consts`, `carries`
  (how many), `length`, `reverse`; outputs are carries, then what is stacked.
  `cond(index, operands...)`: `branches`, Graphs.
- `opaque(anything)`: `name` of an operation that has no rule; `effect` if it does more than compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.replay.draws import Line

Shape = tuple[int, ...]
Array = NDArray[Any]

UNARY = frozenset(
    {
        "neg",
        "abs",
        "sign",
        "square",
        "integer_pow",
        "sqrt",
        "rsqrt",
        "cbrt",
        "reciprocal",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log1p",
        "log2",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "logistic",
        "erf",
        "erfc",
        "erf_inv",
        "lgamma",
        "digamma",
        "floor",
        "ceil",
        "round",
        "is_finite",
        "is_nan",
        "not",
        "copy",
        "stop_gradient",
        "bitcast",
    }
)
BINARY = frozenset(
    {
        "add",
        "sub",
        "mul",
        "div",
        "rem",
        "pow",
        "max",
        "min",
        "atan2",
        "and",
        "or",
        "xor",
        "shift_left",
        "shift_right",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
    }
)
ELEMENTWISE = UNARY | BINARY
REDUCTIONS = frozenset(
    {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or"}
)
CUMULATIVE = frozenset({"cumsum", "cumprod", "cummax", "cummin"})
SHAPING = frozenset(
    {
        "select",
        "convert",
        "broadcast",
        "reshape",
        "transpose",
        "slice",
        "dynamic_slice",
        "dynamic_update",
        "pad",
        "concatenate",
        "reverse",
        "argmax",
        "argmin",
        "sort",
        "iota",
    }
)
PRODUCTS = frozenset({"dot_general", "conv", "pool_max", "pool_sum", "pool_max_grad"})
INDEXING = frozenset({"gather", "scatter_add", "scatter"})
RANDOM = frozenset({"key_constant", "key_wrap", "key_unwrap", "key_split", "key_fold", "draw"})
CONTROL = frozenset({"scan", "cond", "opaque"})
PRIMITIVES = (
    frozenset({"input", "constant"})
    | ELEMENTWISE
    | REDUCTIONS
    | CUMULATIVE
    | SHAPING
    | PRODUCTS
    | INDEXING
    | RANDOM
    | CONTROL
)


@dataclass(frozen=True, slots=True)
class Value:
    """An array of the graph: what it holds is known by the node that made it.

    `dtype` is a numpy name, "bfloat16" or "key".
    """

    index: int
    shape: Shape
    dtype: str

    @property
    def floating(self) -> bool:
        """Whether its entries stand for real numbers."""
        return "float" in self.dtype

    @property
    def half(self) -> bool:
        """Whether its entries have 16 bits or fewer."""
        return self.dtype in {"float16", "bfloat16"} or self.dtype.startswith("float8")

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Node:
    """One primitive applied to values, at a line of the user's code."""

    op: str
    args: tuple[Value, ...]
    params: Mapping[str, Any]
    outs: tuple[Value, ...]
    line: Line

    @property
    def out(self) -> Value:
        """Its one output."""
        (only,) = self.outs
        return only


@dataclass(slots=True)
class Graph:
    """Nodes in an order in which they can be computed; `outputs` are what comes back, by their place.

    `varies` gives the axes of a value whose length is the batch's, where that is private; `realised` holds
    the values whose numbers come from it. Bodies of loops and branches are graphs of their own.

    >>> graph = Graph()
    >>> x = graph.input("batch", "batch['x']", (4, 3), "float32")
    >>> line = Line("step.py", 3)
    >>> total = graph.add("reduce_sum", [x], (3,), "float32", line, axes=(0,))
    >>> graph.outputs.append(("output", total))
    >>> [node.op for node in graph.nodes]
    ['input', 'reduce_sum']
    """

    nodes: list[Node] = field(default_factory=list)
    outputs: list[tuple[str, Value]] = field(default_factory=list)
    varies: dict[int, tuple[int, ...]] = field(default_factory=dict)
    realised: set[int] = field(default_factory=set)
    _made: int = 0

    def value(self, shape: Sequence[int], dtype: str) -> Value:
        """A new value; `add` is what readers want."""
        self._made += 1
        return Value(self._made - 1, tuple(int(n) for n in shape), dtype)

    def add(
        self,
        op: str,
        args: Sequence[Value],
        shape: Sequence[int],
        dtype: str,
        line: Line,
        **params: Any,
    ) -> Value:
        """A primitive with one output."""
        (out,) = self.add_many(op, args, [(shape, dtype)], line, **params)
        return out

    def add_many(
        self,
        op: str,
        args: Sequence[Value],
        kinds: Sequence[tuple[Sequence[int], str]],
        line: Line,
        **params: Any,
    ) -> tuple[Value, ...]:
        """A primitive with several outputs: scan and cond."""
        if op not in PRIMITIVES:
            raise ValueError(f"{op} is no primitive of the graph.")
        outs = tuple(self.value(shape, dtype) for shape, dtype in kinds)
        self.nodes.append(Node(op, tuple(args), params, outs, line))
        return outs

    def input(self, role: str, name: str, shape: Sequence[int], dtype: str) -> Value:
        """An argument of the step, or of a body, where the role is "body"."""
        return self.add("input", [], shape, dtype, Line("", 0), role=role, name=name)

    def constant(self, value: Any, dtype: str, line: Line) -> Value:
        """A number or array that is the same for all data."""
        array = np.asarray(value)
        return self.add("constant", [], array.shape, dtype, line, value=array)
