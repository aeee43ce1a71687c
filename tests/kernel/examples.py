"""One small program or more for every rule of the kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .build import Build

EXAMPLES: dict[str, Callable[[], Build]] = {}
_ALL = {"slice": [None, None, None]}


def example(function: Callable[[], Build]) -> Callable[[], Build]:
    EXAMPLES[function.__name__] = function
    return function


UNARY = (
    *(
        "negative",
        "positive",
        "absolute",
        "square",
        "sqrt",
        "cbrt",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log1p",
    ),
    *("log2", "log10", "tanh", "arctan", "sin", "cos", "sign", "floor", "ceil", "rint", "trunc"),
    *("reciprocal", "isnan", "isfinite", "isinf", "signbit", "logical_not"),
)
BINARY = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "hypot"),
    *("minimum", "maximum", "fmin", "fmax", "less", "less_equal", "greater", "greater_equal"),
    *("equal", "not_equal", "logical_and", "logical_or", "logical_xor"),
)
_TRUTH = ("is", "less", "greater", "equal", "not", "logical", "signbit")


def _dtype(name: str) -> str:
    return "bool" if name.startswith(_TRUTH) else "float64"


def _unary(name: str, low: float, high: float, private: bool) -> Callable[[], Build]:
    def build() -> Build:
        p = Build()
        x = p.data(low, high, (2,))
        source = p.total(x) if private else x
        p.over_entries(name, source, dtype=_dtype(name))
        return p

    return build


def _binary(
    name: str, low: float, high: float, other: object, private: bool
) -> Callable[[], Build]:
    def build() -> Build:
        p = Build()
        x = p.data(low, high, (2,))
        y = p.data(0.0, 2.0, (2,)) if other is None else p.constant(other)
        if private:
            x, y = p.total(x), (p.total(y) if other is None else y)
        p.over_entries(name, x, y, dtype=_dtype(name))
        return p

    return build


for _name in UNARY:
    for _low, _high in ((-3.0, 2.0), (0.0, 4.0)):
        for _private in (False, True):
            if _private and _dtype(_name) == "bool":
                continue
            EXAMPLES[f"{_name} {_low:g} {'sum' if _private else 'rows'}"] = _unary(
                _name, _low, _high, _private
            )
for _name in BINARY:
    for _low, _high in ((-3.0, 2.0), (0.0, 4.0)):
        for _other in (None, 2.0, [-1.0, 3.0]):
            for _private in (False, True) if _low < 0 else (False,):
                EXAMPLES[f"{_name} {_low:g} {_other} {'sum' if _private else 'rows'}"] = _binary(
                    _name, _low, _high, _other, _private
                )


def _clipped(p: Build, x: int, order: int = 2) -> int:
    """x * min(1, 1 / |x|)."""
    powers = p.over_entries("square" if order == 2 else "absolute", x)
    norm = p.total(powers, (1,))
    if order == 2:
        norm = p.over_entries("sqrt", norm)
    column = p.add("reshape", [norm], ["n", 1], lambda v: v.reshape(-1, 1))
    share = p.over_entries("divide", p.constant(1.0), column)
    factor = p.over_entries("minimum", p.constant(1.0), share)
    return p.over_entries("multiply", x, factor)


@example
def clipped_by_a_factor():
    p = Build()
    p.total(_clipped(p, p.data(-4.0, 4.0, (3,))))
    return p


@example
def clipped_in_l1():
    p = Build()
    p.total(_clipped(p, p.data(-4.0, 4.0, (3,)), order=1))
    return p


@example
def clipped_by_division():
    p = Build()
    x = p.data(-4.0, 4.0, (3,))
    norm = p.over_entries("sqrt", p.total(p.over_entries("square", x), (1,)))
    column = p.add("index", [norm], ["n", 1], lambda v: v[:, None], key=[_ALL, None])
    p.total(p.over_entries("divide", x, p.over_entries("maximum", column, p.constant(1.5))))
    return p


@example
def clipped_by_select():
    p = Build()
    x = p.data(-4.0, 4.0, (3,))
    norm = p.over_entries("sqrt", p.total(p.over_entries("square", x), (1,)))
    column = p.add("reshape", [norm], ["n", 1], lambda v: v.reshape(-1, 1))
    long = p.over_entries("greater", column, p.constant(2.0), dtype="bool")
    tame = p.over_entries("maximum", column, p.constant(2.0))
    short = p.over_entries("multiply", p.over_entries("divide", x, tame), p.constant(2.0))
    p.add("select", [long, short, x], ["n", 3], np.where)
    return p


@example
def clipped_where_it_is_long():
    p = Build()
    x = p.data(-4.0, 4.0)
    large = p.over_entries("greater", x, p.constant(1.0), dtype="bool")
    inside = p.add("assume", [x], ["n"], lambda v: v, comparison="greater", limit=1.0, answer=True)
    rest = p.over_entries("divide", p.constant(1.0), inside)
    p.total(p.add("select", [large, rest, x], ["n"], np.where))
    return p


@example
def selected_by_missing():
    p = Build()
    x = p.data(-4.0, 4.0, nan=True)
    unknown = p.over_entries("isnan", x, dtype="bool")
    p.total(p.add("select", [unknown, p.constant(0.0), x], ["n"], np.where))
    return p


@example
def selected_by_a_comparison():
    p = Build()
    x = p.data(-4.0, 4.0)
    large = p.over_entries("greater_equal", x, p.constant(1.0), dtype="bool")
    p.total(p.add("select", [large, p.constant(1.0), x], ["n"], np.where))
    p.total(p.add("select", [large, x, p.constant(0.0)], ["n"], np.where))
    return p


@example
def select_of_sums():
    p = Build()
    a, b = p.total(p.data(-1.0, 1.0, (2,))), p.total(p.data(0.0, 2.0, (2,)))
    p.add("select", [p.constant([True, False]), a, b], [2], np.where)
    return p


@example
def counts_of_disjoint_groups():
    p = Build()
    x = p.data(0.0, 3.0, dtype="int64")
    parts = []
    for value in (1, 2, 3):
        mask = p.over_entries("equal", x, p.constant(value), dtype="bool")
        number = p.add("convert", [mask], ["n"], lambda v: v.astype(int), "int64")
        parts.append(
            p.add("reshape", [p.total(number, dtype="int64")], [1], lambda v: v.reshape(1), "int64")
        )
    p.add("concatenate", parts, [3], lambda *v: np.concatenate(v), "int64", axis=0)
    return p


@example
def sums_of_disjoint_ranges():
    p = Build()
    x, y = p.data(0.0, 3.0), p.data(-1.0, 1.0)
    parts = []
    for name in ("less", "greater_equal"):
        mask = p.over_entries(name, x, p.constant(1.5), dtype="bool")
        number = p.over_entries("multiply", mask, y)
        parts.append(p.add("reshape", [p.total(number)], [1], lambda v: v.reshape(1)))
    p.add("concatenate", parts, [2], lambda *v: np.concatenate(v), axis=0)
    return p


@example
def written_into_places():
    p = Build()
    a, b = p.total(p.data(-1.0, 1.0, (3,))), p.total(p.data(0.0, 5.0))

    def put(v, w):
        found = np.array(v)
        found[1] = w
        return found

    p.add("put", [a, b], [3], put, key=[1])
    return p


@example
def filtered():
    p = Build()
    x = p.data(-4.0, 4.0)
    mask = p.over_entries("greater", x, p.constant(1.0), dtype="bool")
    found = p.add("filter", [x, mask], [("n", 2 + 1)], lambda v, m: v[m], axis=0)
    assert found == 3
    p.add("sum", [found], [], lambda v: v.sum(), axes=[0])
    ones = p.add("ones", [found], [("n", 3)], lambda v: np.ones(len(v), int), "int64", axis=0)
    p.add("sum", [ones], [], lambda v: v.sum(), "int64", axes=[0])
    return p


@example
def sampled():
    p = Build()
    x, coins = p.data(-4.0, 4.0, (2,)), p.coins()
    column = p.add("reshape", [coins], ["n", 1], lambda v: v.reshape(-1, 1), "int64")
    p.total(p.add("sampled", [x, column], ["n", 2], lambda v, m: v * m))
    found = p.add("filter", [x, coins], [("n", 5), 2], lambda v, m: v[m.astype(bool)], axis=0)
    p.add("sum", [found], [2], lambda v: v.sum(axis=0), axes=[0])
    return p


@example
def reshaped_and_turned():
    p = Build()
    x = p.data([-1.0, -2.0, 0.0, 0.0, -1.0, -3.0], [1.0, 0.0, 2.0, 3.0, 1.0, 0.0], (2, 3))
    turned = p.add("transpose", [x], [3, "n", 2], lambda v: v.transpose(2, 0, 1), order=[2, 0, 1])
    p.add("sum", [turned], [3, 2], lambda v: v.sum(axis=1), axes=[1])
    flat = p.add("reshape", [x], ["n", 6], lambda v: v.reshape(-1, 6))
    p.total(flat)
    p.add(
        "index", [x], ["n", 2, 2], lambda v: v[:, :, [2, 0]], key=[_ALL, _ALL, {"places": [2, 0]}]
    )
    p.add("index", [x], ["n", 3], lambda v: v[:, 1], key=[_ALL, 1])
    p.add("broadcast", [x], ["n", 2, 3], lambda v: v)
    return p


@example
def rearranged_sums():
    p = Build()
    x = p.total(p.data([-1.0, -2.0, 0.0], [1.0, 0.0, 2.0], (3,)))
    p.add("broadcast", [x], [2, 3], lambda v: np.broadcast_to(v, (2, 3)))
    p.add("index", [x], [4], lambda v: v[[0, 2, 2, 1]], key=[{"places": [0, 2, 2, 1]}])
    p.add("reshape", [x], [3, 1], lambda v: v.reshape(3, 1))
    p.add("sort", [x], [3], np.sort, axis=0)
    p.add("cumulative", [x], [3], np.cumsum, axis=0)
    p.add("extreme", [x], [], np.max, axes=[0], largest=True)
    p.add("quantile", [x], [], np.median, axes=[0], level=0.5)
    p.add("sum", [x], [], np.sum, axes=[0])
    p.add("number", [p.add("sum", [x], [], np.sum, axes=[0])], [], int, "int64")
    return p


@example
def of_the_entries_of_a_row():
    p = Build()
    x = p.data([-1.0, -2.0, 0.0], [1.0, 0.0, 2.0], (3,))
    p.add("extreme", [x], ["n"], lambda v: v.max(axis=1), axes=[1], largest=True)
    p.add("quantile", [x], ["n"], lambda v: np.quantile(v, 0.2, axis=1), axes=[1], level=0.2)
    p.add("sort", [x], ["n", 3], lambda v: np.sort(v, axis=1), axis=1)
    p.add("cumulative", [x], ["n", 3], lambda v: np.cumsum(v, axis=1), axis=1)
    p.add("variance", [x], ["n"], lambda v: v.var(axis=1), axes=[1], ddof=0)
    p.add("argmax", [x], ["n"], lambda v: v.argmax(axis=1), "int64", axis=1, largest=True)
    p.add("any", [x], ["n"], lambda v: v.any(axis=1), "bool", axes=[1], some=True)
    return p


@example
def side_by_side():
    p = Build()
    x, y = p.data(-1.0, 1.0, (2,)), p.data(0.0, 5.0, (1,))
    p.total(
        p.add("concatenate", [x, y], ["n", 3], lambda v, w: np.concatenate([v, w], axis=1), axis=1)
    )
    return p


@example
def products():
    p = Build()
    x, weights = p.data(-1.0, 2.0, (3,)), p.constant([[1.0, -2.0], [0.5, 0.0], [3.0, 1.0]])
    rows = p.add("product", [x, weights], ["n", 2], lambda v, w: v @ w, terms=["ij", "jk", "ik"])
    p.total(rows)
    p.add("product", [x, x], [3, 3], lambda v, w: v.T @ w, terms=["ij", "ik", "jk"])
    p.add("product", [p.total(x), weights], [2], lambda v, w: v @ w, terms=["j", "jk", "k"])
    p.add("product", [p.total(x), p.total(x)], [], lambda v, w: v @ w, terms=["j", "j", ""])
    return p


@example
def a_bin_a_record():
    p = Build()
    x = p.data(0.0, 4.0)
    place = p.add(
        "digitize",
        [x],
        ["n"],
        lambda v: np.digitize(v, [1.0, 2.0]),
        "int64",
        edges=[1.0, 2.0],
        right=False,
    )
    bins = p.add(
        "one_hot",
        [place],
        ["n", 3],
        lambda v: (v[:, None] == np.arange(3)).astype(int),
        "int64",
        bins=3,
    )
    p.total(bins, dtype="int64")
    p.add(
        "lookup",
        [place],
        ["n"],
        lambda v: np.array([5.0, -1.0, 2.0])[v],
        table=[5.0, -1.0, 2.0],
        first=0,
    )
    p.add("isin", [place], ["n"], lambda v: np.isin(v, [0, 2]), "bool", values=[0, 2])
    return p


@example
def filled():
    p = Build()
    p.add(
        "fill",
        [p.data(-1.0, 1.0, nan=True)],
        ["n"],
        lambda v: np.nan_to_num(v, nan=3.0),
        nan=3.0,
        posinf=None,
        neginf=None,
    )
    return p


@example
def casts():
    p = Build()
    x = p.data(-3.7, 300.5)
    p.add("convert", [x], ["n"], lambda v: v.astype("int64"), "int64")
    p.add("convert", [x], ["n"], lambda v: v.astype("float32"), "float32")
    p.add("convert", [p.data(-3, 300, dtype="int64")], ["n"], lambda v: v.astype("uint8"), "uint8")
    p.add("convert", [p.total(x)], [], lambda v: v.astype("int64"), "int64")
    p.over_entries("add", p.data(-128, 127, dtype="int8"), p.constant(np.int8(1)), dtype="int8")
    return p


@example
def norm_clipped_by_name():
    def clip(v):
        return v * np.minimum(
            1.0, 1.5 / np.maximum(np.sqrt((v**2).sum(axis=1, keepdims=True)), 1e-300)
        )

    p = Build()
    p.total(p.add("clip_norm", [p.data(-4.0, 4.0, (3,))], ["n", 3], clip, bound=1.5, order=2.0))
    return p


@example
def whole_rows():
    p = Build()
    x = p.data(-1.0, 3.0, (2,))
    p.add("whole", [x], [5, 2], lambda v: v)
    p.add("variance", [x], [2], lambda v: v.var(axis=0, ddof=1), axes=[0], ddof=1)
    p.add("index", [x], [2], lambda v: v[1], key=[1])
    part = p.add("index", [x], [("n", 4), 2], lambda v: v[1:3], key=[{"slice": [1, 3, None]}])
    p.add("sum", [part], [2], lambda v: v.sum(axis=0), axes=[0])
    p.add("extreme", [x], [2], lambda v: v.min(axis=0), axes=[0], largest=False)
    return p
