"""The same program at two batch sizes: what varies between them is the size of the batch, which is private."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.core.errors import NotProvable
from dpcheck.replay.draws import Line
from dpcheck.training.graph import ELEMENTWISE, Graph, Node, Value

# Parameters that follow from the shapes, which are compared themselves.
_FROM_SHAPES = {
    "scan": {"length"},
    "conv": {"groups", "batch_groups"},
    "gather": {"sizes"},
}


def unify(main: Graph, other: Graph, size: int, size_of_other: int) -> None:
    """Mark in `main`, the program for batches of `size`, what is different in `other`.

    Axes whose lengths are in the ratio of the sizes are axes of records. A number that differs otherwise, in a
    constant or a parameter, comes from the size of the batch: it is realised.
    """
    if len(main.nodes) != len(other.nodes):
        raise differs(main.nodes[-1].line if main.nodes else Line("step", 0))
    for node, twin in zip(main.nodes, other.nodes, strict=True):
        if node.op != twin.op or [a.index for a in node.args] != [a.index for a in twin.args]:
            raise differs(node.line)
        _mark(main, node, twin, size, size_of_other)
    if [v.index for _, v in main.outputs] != [v.index for _, v in other.outputs]:
        raise differs(main.nodes[-1].line)


def differs(line: Line) -> NotProvable:
    """The step does something else for another batch size."""
    remedy = "let the program not depend on the batch size, or use adjacency='replace-one'"
    return NotProvable(
        f"not provable: {line}: the step is another program for a batch with one record more or less, and"
        f" under add-remove the size is private; {remedy}.",
        line=str(line),
        remedy=remedy,
        kind="program-varies",
    )


def _mark(main: Graph, node: Node, twin: Node, n: int, m: int) -> None:
    for out, other in zip(node.outs, twin.outs, strict=True):
        if len(out.shape) != len(other.shape) or out.dtype != other.dtype:
            raise differs(node.line)
        axes = tuple(
            i for i, (a, b) in enumerate(zip(out.shape, other.shape, strict=True)) if a != b
        )
        if any(out.shape[i] * m != other.shape[i] * n for i in axes):
            main.realised.add(out.index)
        if axes:
            main.varies[out.index] = tuple(sorted({*axes, *main.varies.get(out.index, ())}))
    if _numbers_differ(node, twin, n, m):
        main.realised.update(out.index for out in node.outs)


def _numbers_differ(node: Node, twin: Node, n: int, m: int) -> bool:
    skipped = _FROM_SHAPES.get(node.op, set())
    if set(node.params) != set(twin.params):
        raise differs(node.line)
    for name, value in node.params.items():
        other = twin.params[name]
        if isinstance(value, Graph):
            unify(value, other, n, m)
        elif name == "branches":
            for one, two in zip(value, other, strict=True):
                unify(one, two, n, m)
        elif isinstance(value, np.ndarray):
            if _array_differs(value, other):
                return True
        elif name not in skipped and value != other and not _whole(node, twin, name):
            return True
    return False


def _array_differs(value: Any, other: Any) -> bool:
    """Constants of two shapes are alike if all entries are one number."""
    if value.shape == other.shape:
        return not np.array_equal(value, other, equal_nan=value.dtype.kind == "f")
    both = np.concatenate([value.reshape(-1), other.reshape(-1)])
    return not uniform(both)


def uniform(array: Any) -> bool:
    """Whether all entries are one number, which may be NaN."""
    flat = array.reshape(-1)
    return bool((flat == flat[:1]).all()) or (flat.dtype.kind == "f" and bool(np.isnan(flat).all()))


def _whole(node: Node, twin: Node, name: str) -> bool:
    """A slice up to the end of an axis is the same slice."""
    if node.op != "slice" or name != "limit":
        return False
    return all(
        a == b or (node.args[0].shape[i] == a and twin.args[0].shape[i] == b)
        for i, (a, b) in enumerate(zip(node.params[name], twin.params[name], strict=True))
    )


_ONCE = (
    frozenset(
        {
            "constant",
            "broadcast",
            "reshape",
            "transpose",
            "convert",
            "slice",
            "select",
            "iota",
            "reduce_sum",
            "dot_general",
        }
    )
    | ELEMENTWISE
)


def deduplicated(graph: Graph) -> None:
    """The same pure primitive of the same values, twice, becomes one: a norm that is computed twice is one norm."""
    same: dict[int, Value] = {}
    made: dict[Any, Value] = {}
    kept: list[Node] = []
    for old in graph.nodes:
        args = tuple(same.get(arg.index, arg) for arg in old.args)
        params = dict(old.params)
        for part in ("body", "branches"):
            for inner in (params.get(part),) if part == "body" else params.get(part, ()):
                if inner is not None:
                    deduplicated(inner)
        node = Node(old.op, args, params, old.outs, old.line)
        if node.op in _ONCE:
            out = node.out
            held = params.get("value")
            what = held.tobytes() if held is not None else tuple(sorted(params.items()))
            name = (
                node.op,
                tuple(a.index for a in args),
                what,
                out.shape,
                out.dtype,
                graph.varies.get(out.index),
                out.index in graph.realised,
            )
            if name in made:
                same[out.index] = made[name]
                continue
            made[name] = out
        kept.append(node)
    graph.nodes = kept
    graph.outputs = [(place, same.get(value.index, value)) for place, value in graph.outputs]
