"""Each rule of the graph by brute force: what it says of numbers and of neighbours holds on real arrays."""

import math

import numpy as np
import pytest

from dpcheck.core.adjacency import Adjacency
from dpcheck.replay.draws import Line
from dpcheck.training.derive import Context
from dpcheck.training.facts import BATCH, Aggregate, Fact, Keys, Numbers, Public, Rows
from dpcheck.training.graph import BINARY, CUMULATIVE, REDUCTIONS, UNARY, Graph
from dpcheck.training.rules.registry import RULES, load
from dpcheck.training.running import Runner

load()
LINE = Line("step.py", 1)
N, D = 4, 3
RNG = np.random.default_rng(0)
TRUTHS = {"and", "or", "xor", "not", "reduce_and", "reduce_or"}
WHOLE = {"shift_left", "shift_right"}
FLAGS = {"eq", "ne", "lt", "le", "gt", "ge", "is_finite", "is_nan"}


def built(op):
    """A graph with one such primitive on rows (N, D), and on a public array of that shape."""
    graph = Graph()
    kind = "bool" if op in TRUTHS else "int32" if op in WHOLE else "float32"
    x = graph.input("batch", "x", (N, D), kind)
    y = graph.input("params", "y", (N, D), kind)
    out = "bool" if op in TRUTHS | FLAGS else kind
    if op in UNARY:
        params = {"y": 2} if op == "integer_pow" else {}
        made = graph.add(op, [x], (N, D), "int32" if op == "bitcast" else out, LINE, **params)
    elif op in BINARY:
        made = graph.add(op, [x, y], (N, D), out, LINE)
    else:
        made = OTHERS[op](graph, x, y)
    graph.outputs = [("output", made)]
    return graph, kind


def _reduced(op, axes=(1,)):
    kind = "bool" if op in TRUTHS else "float32"
    return lambda g, x, y: g.add(
        op, [x], [n for i, n in enumerate((N, D)) if i not in axes], kind, LINE, axes=axes
    )


def _taken(g, x, y):
    index = g.constant(np.array([[0], [2]]), "int32", LINE)
    numbers = dict(
        offset_dims=(0,),
        collapsed_slice_dims=(1,),
        start_index_map=(1,),
        operand_batching_dims=(),
        start_indices_batching_dims=(),
    )
    return g.add(
        "gather", [x, index], (N, 2), "float32", LINE, numbers=numbers, sizes=(N, 1), mode="clip"
    )


def _put(op):
    def build(g, x, y):
        index = g.constant(np.array([[0], [2]]), "int32", LINE)
        new = g.add(
            "slice", [x], (N, 2), "float32", LINE, start=(0, 0), limit=(N, 2), stride=(1, 1)
        )
        numbers = dict(
            update_window_dims=(0,),
            inserted_window_dims=(1,),
            scatter_dims_to_operand_dims=(1,),
            operand_batching_dims=(),
            scatter_indices_batching_dims=(),
        )
        return g.add(op, [y, index, new], (N, D), "float32", LINE, numbers=numbers, mode="clip")

    return build


def _selected(g, x, y):
    test = g.add("gt", [x, y], (N, D), "bool", LINE)
    return g.add("select", [test, x, y], (N, D), "float32", LINE)


def _conv(g, x, y):
    wide = g.add("reshape", [x], (N, 1, D), "float32", LINE)
    kernel = g.constant(RNG.normal(size=(2, 1, 2)), "float32", LINE)
    spec = (0, 1, 2)
    return g.add(
        "conv",
        [wide, kernel],
        (N, 2, 2),
        "float32",
        LINE,
        lhs_spec=spec,
        rhs_spec=spec,
        out_spec=spec,
        strides=(1,),
        padding=((0, 0),),
        lhs_dilation=(1,),
        rhs_dilation=(1,),
        groups=1,
        batch_groups=1,
    )


WINDOW = dict(
    window=(1, 2),
    strides=(1, 1),
    padding=((0, 0), (0, 0)),
    base_dilation=(1, 1),
    window_dilation=(1, 1),
)


def _pool_grad(g, x, y):
    part = g.add("slice", [x], (N, 2), "float32", LINE, start=(0, 0), limit=(N, 2), stride=(1, 1))
    return g.add("pool_max_grad", [part, x], (N, D), "float32", LINE, **WINDOW)


def _place(g):
    return [g.constant(np.array(0), "int32", LINE), g.constant(np.array(1), "int32", LINE)]


def _scan(g, x, y):
    body = Graph()
    total = body.input("body", "0", (D,), "float32")
    row = body.input("body", "1", (D,), "float32")
    bounded = body.add("tanh", [row], (D,), "float32", LINE)
    body.outputs = [("0", body.add("add", [total, bounded], (D,), "float32", LINE))]
    start = g.constant(np.zeros(D), "float32", LINE)
    return g.add_many(
        "scan",
        [start, x],
        [((D,), "float32")],
        LINE,
        body=body,
        consts=0,
        carries=1,
        length=N,
        reverse=False,
    )[0]


def _cond(g, x, y):
    branches = []
    for op in ("tanh", "sin"):
        body = Graph()
        row = body.input("body", "0", (N, D), "float32")
        body.outputs = [("0", body.add(op, [row], (N, D), "float32", LINE))]
        branches.append(body)
    which = g.constant(np.array(1), "int32", LINE)
    return g.add_many("cond", [which, x], [((N, D), "float32")], LINE, branches=tuple(branches))[0]


OTHERS = {
    **{op: _reduced(op) for op in REDUCTIONS},
    **{
        op: lambda g, x, y, op=op: g.add(op, [x], (N, D), "float32", LINE, axis=1, reverse=True)
        for op in CUMULATIVE
    },
    **{
        op: lambda g, x, y, op=op: g.add(op, [x], (N,), "int32", LINE, axis=1)
        for op in ("argmax", "argmin")
    },
    "select": _selected,
    "convert": lambda g, x, y: g.add("convert", [x], (N, D), "int32", LINE),
    "broadcast": lambda g, x, y: g.add("broadcast", [x], (N, 2, D), "float32", LINE, dims=(0, 2)),
    "reshape": lambda g, x, y: g.add("reshape", [x], (2, 2, D), "float32", LINE),
    "transpose": lambda g, x, y: g.add("transpose", [x], (D, N), "float32", LINE, perm=(1, 0)),
    "reverse": lambda g, x, y: g.add("reverse", [x], (N, D), "float32", LINE, axes=(1,)),
    "slice": lambda g, x, y: g.add(
        "slice", [x], (2, D), "float32", LINE, start=(1, 0), limit=(3, D), stride=(1, 1)
    ),
    "dynamic_slice": lambda g, x, y: g.add(
        "dynamic_slice", [x, *_place(g)], (N, 2), "float32", LINE
    ),
    "dynamic_update": lambda g, x, y: g.add(
        "dynamic_update",
        [
            y,
            g.add("slice", [x], (N, 1), "float32", LINE, start=(0, 0), limit=(N, 1), stride=(1, 1)),
            *_place(g),
        ],
        (N, D),
        "float32",
        LINE,
    ),
    "pad": lambda g, x, y: g.add(
        "pad",
        [x, g.constant(np.array(2.0), "float32", LINE)],
        (N, D + 1),
        "float32",
        LINE,
        low=(0, 1),
        high=(0, 0),
        interior=(0, 0),
    ),
    "concatenate": lambda g, x, y: g.add(
        "concatenate", [x, y], (N, 2 * D), "float32", LINE, axis=1
    ),
    "sort": lambda g, x, y: g.add("sort", [x], (N, D), "float32", LINE, axis=1, keys=1, index=0),
    "dot_general": lambda g, x, y: g.add(
        "dot_general", [x, y], (N, N), "float32", LINE, contract=((1,), (1,)), batch=((), ())
    ),
    "conv": _conv,
    "pool_max": lambda g, x, y: g.add("pool_max", [x], (N, 2), "float32", LINE, **WINDOW),
    "pool_sum": lambda g, x, y: g.add("pool_sum", [x], (N, 2), "float32", LINE, **WINDOW),
    "pool_max_grad": _pool_grad,
    "gather": _taken,
    "scatter_add": _put("scatter_add"),
    "scatter": _put("scatter"),
    "constant": lambda g, x, y: g.constant(np.ones(3), "float32", LINE),
    "iota": lambda g, x, y: g.add("iota", [], (N, D), "int32", LINE, axis=0),
    "scan": _scan,
    "cond": _cond,
}
ELSEWHERE = {op for op in RULES if op.startswith("key_")} | {
    "draw"
}  # below, and in jax/test_wrong.py


def arrays(kind, low, high):
    if kind == "bool":
        return RNG.random((N, D)) < 0.5
    if kind == "int32":
        return RNG.integers(1, 4, (N, D)).astype(np.int32)
    return RNG.uniform(low, high, (N, D)).astype(np.float32)


def test_every_rule_is_tested():
    assert set(RULES) <= UNARY | BINARY | set(OTHERS) | ELSEWHERE


@pytest.mark.parametrize("op", sorted((UNARY | BINARY | set(OTHERS)) & set(RULES)))
@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (0.25, 0.75), (0.0, 3.0)])
def test_rule_holds_on_neighbours(op, low, high):
    graph, kind = built(op)
    ends = {"bool": (0.0, 1.0), "int32": (1.0, 3.0)}.get(kind, (low, high))
    numbers = Numbers(*ends)
    inputs = [Fact(numbers, Rows((0,), BATCH)), Fact(numbers, Public())]
    (fact,) = Context(Adjacency.REPLACE_ONE, graph).derive(inputs)
    for _ in range(10):
        x, y = arrays(kind, low, high), arrays(kind, low, high)
        other = x.copy()
        other[int(RNG.integers(N))] = arrays(kind, low, high)[0]
        first, second = (Runner(None).run(graph, [each, y])[0] for each in (x, other))
        check_numbers(fact.numbers, first)
        check_kind(fact.kind, first.astype(float), second.astype(float))


def check_numbers(numbers, value):
    value = np.asarray(value, float)
    assert numbers.nan or not np.isnan(value).any()
    assert numbers.inf or not np.isinf(value).any()
    known = value[np.isfinite(value)]
    slack = 1e-5 * (1 + np.abs(known))
    assert (known >= numbers.lo - slack).all()
    assert (known <= numbers.hi + slack).all()
    assert not numbers.without_zero or (known != 0).all()


def check_kind(kind, first, second):
    differs = ~((first == second) | (np.isnan(first) & np.isnan(second)))
    if isinstance(kind, Public):
        assert not differs.any()
    elif isinstance(kind, Rows):
        rest = tuple(i for i in range(first.ndim) if i not in kind.axes)
        assert differs.any(axis=rest).sum() <= 1
    elif isinstance(kind, Aggregate):
        moved = math.sqrt(float(((first - second) ** 2).sum()))
        assert moved <= 2 * sum(term.scale for term in kind.terms) * (1 + 1e-5)


@pytest.mark.parametrize("factor", [lambda r, c: np.minimum(1, c / r), lambda r, c: c / (r + 0.1)])
def test_clipped_groups_move_by_their_bound(factor):
    """The bound of a group is reached, and never passed."""
    c, reached = 0.7, 0.0
    for _ in range(200):
        g = [RNG.normal(size=(2, 3)) * 10.0 ** RNG.uniform(-2, 4), RNG.normal(size=(2, 5))]
        r = np.sqrt(sum((leaf**2).sum(1) for leaf in g))
        clipped = [leaf * factor(r, c)[:, None] for leaf in g]
        moved = math.sqrt(sum(((leaf[0] - leaf[1]) ** 2).sum() for leaf in clipped))
        reached = max(reached, moved)
    assert c < reached <= 2 * c


def test_children_of_a_key_are_told_apart():
    graph = Graph()
    key = graph.input("key", "key", (), "key")
    split = graph.add("key_split", [key], (3,), "key", LINE)
    graph.outputs = [("output", split)]
    paths = np.empty((), dtype=object)
    paths[()] = (("key", "key"),)
    (fact,) = Context(Adjacency.REPLACE_ONE, graph).derive([Fact(Numbers(), Keys(paths))])
    assert len(set(fact.kind.paths.flat)) == 3
