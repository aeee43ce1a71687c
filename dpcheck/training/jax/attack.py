"""A proof against the real, jitted step: the same outputs, and releases that move no further than proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import ProofsContradict
from dpcheck.training import price
from dpcheck.training.graph import Graph, Node
from dpcheck.training.groups import joint_shift
from dpcheck.training.proof import Derived
from dpcheck.training.ranges import Range, name_of
from dpcheck.training.running import CannotRun, Runner, work

MOST = 2e8  # entries of a run that is still made
_LEAST = 4096
_QUICKLY = {"xla_backend_optimization_level": 0}  # for a program that runs once
MANY = 2e6  # with more than this, one pair of neighbours has to do


class _Jax:
    """Keys and draws by jax itself."""

    def apply(self, node: Node, args: Sequence[Any]) -> Any:
        import jax

        if node.op == "key_constant":
            return (
                jax.random.key(0)
                if not node.out.shape
                else jax.random.split(jax.random.key(0), node.out.shape)
            )
        if node.op == "key_wrap":
            return jax.random.wrap_key_data(np.asarray(args[0], np.uint32))
        if node.op == "key_unwrap":
            return np.asarray(jax.random.key_data(args[0]))
        if node.op == "key_split":
            return _each(args[0], lambda k: jax.random.split(k, node.out.shape[args[0].ndim :]))
        if node.op == "key_fold":
            keys = jax.numpy.broadcast_to(args[0], node.out.shape)
            data = np.broadcast_to(np.asarray(args[1]), node.out.shape)
            return _each(keys, jax.random.fold_in, data)
        shape = node.out.shape[args[0].ndim :]
        law = node.params["law"]
        if law == "coins":
            return np.asarray(_each(args[0], lambda k: jax.random.bits(k, shape, node.out.dtype)))
        draw, size = getattr(jax.random, law), math.prod(shape)
        # entry i of a draw is a function of the key and i, so that few sizes have to be compiled
        whole = max(_LEAST, 1 << (size - 1).bit_length()) if _by_entry() else size
        drawn = np.asarray(_each(args[0], lambda k: draw(k, (whole,), node.out.dtype)))
        return drawn[..., :size].reshape((*args[0].shape, *shape))


def _by_entry() -> bool:
    import jax

    return bool(jax.config.jax_threefry_partitionable)


def _each(keys: Any, function: Callable[..., Any], *more: Any) -> Any:
    import jax

    for _ in keys.shape:
        function = jax.vmap(function)
    return function(keys, *more)


def attack(
    step: Callable[..., object],
    graph: Graph,
    smaller: Graph | None,
    found: Derived,
    example: tuple[Any, Any, Any],
    adjacency: Adjacency,
    ranges: Mapping[str, Range],
) -> None:
    """Raise ProofsContradict where the real step does something else than was proved."""
    import jax

    params, batch, key = example
    if work(graph) > MOST:
        return
    some = 1 if work(graph) > MANY else None
    allowed = joint_shift(found.releases, lambda term: price.moves(term, adjacency))
    for turn, (first, second) in enumerate(islice(_pairs(batch, adjacency, ranges), some)):
        run = Runner(_Jax(), found.ledger.sites)
        try:
            outputs = run.run(graph, _flat(params, first, key))
        except CannotRun:
            return
        if turn == 0:
            compiled = jax.jit(step).lower(params, first, key).compile(compiler_options=_QUICKLY)
            _same(outputs, jax.tree.leaves(compiled(params, first, key)))
        other = smaller if adjacency is Adjacency.ADD_REMOVE else graph
        if other is None:
            continue
        sites = found.ledger.sites if other is graph else _renamed(found.ledger.sites, graph, other)
        again = Runner(_Jax(), sites, replayed=run.released)
        again.run(other, _flat(params, second, key))
        _near(run.seen, again.seen, allowed)


def _flat(params: Any, batch: Any, key: Any) -> list[Any]:
    import jax

    def plain(leaf: Any) -> Any:
        typed = hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        array = leaf if typed else np.asarray(leaf)
        return array if typed or array.dtype != np.float64 else array.astype(_default())

    return [plain(leaf) for leaf in jax.tree.leaves((params, batch, key))]


def _default() -> Any:
    import jax

    return np.float64 if jax.config.jax_enable_x64 else np.float32


def _renamed(sites: Any, graph: Graph, other: Graph) -> Any:
    """The same places in the same program of another size."""
    ids = dict(_twins(graph, other))
    return {
        (ids[name], index): replace(
            site, unit=tuple(((ids[where], i), power) for (where, i), power in site.unit)
        )
        for (name, index), site in sites.items()
    }


def _twins(graph: Graph, other: Graph) -> Iterator[tuple[int, int]]:
    yield id(graph), id(other)
    inner = [[n for n in g.nodes if n.op in ("scan", "cond")] for g in (graph, other)]
    for a, b in zip(*inner, strict=True):
        bodies = [(n.params["body"],) if n.op == "scan" else n.params["branches"] for n in (a, b)]
        for one, two in zip(*bodies, strict=True):
            yield from _twins(one, two)


def _pairs(
    batch: Any, adjacency: Adjacency, ranges: Mapping[str, Range]
) -> Iterator[tuple[Any, Any]]:
    """Neighbours: the example, and one with large records; the last record is the one that differs."""
    import jax

    def fitting(path: Any, leaf: Any) -> Any:
        held = ranges.get(name_of(jax.tree_util.keystr(path)))
        return leaf if held is None else np.clip(leaf, *held).astype(leaf.dtype)

    for first, second in _any_pairs(batch, adjacency):
        yield tuple(jax.tree_util.tree_map_with_path(fitting, each) for each in (first, second))  # type: ignore[misc]


def _any_pairs(batch: Any, adjacency: Adjacency) -> Iterator[tuple[Any, Any]]:
    import jax

    rng = np.random.default_rng(0)
    for scale in (1.0, 100.0):
        first = jax.tree.map(lambda leaf, s=scale: _scaled(leaf, s), batch)
        if adjacency is Adjacency.ADD_REMOVE:
            yield first, jax.tree.map(lambda leaf: leaf[:-1], first)
        else:
            null = adjacency is Adjacency.ZERO_OUT
            yield first, jax.tree.map(lambda leaf, null=null: _replaced(leaf, null, rng), first)


def _scaled(leaf: Any, scale: float) -> Any:
    array = np.array(leaf)
    return array * array.dtype.type(scale) if array.dtype.kind == "f" else array


def _replaced(leaf: Any, null: bool, rng: np.random.Generator) -> Any:
    array = np.array(leaf)
    if null:
        array[-1] = 0
    elif array.dtype.kind == "f":
        array[-1] = -3 * array[-1] + rng.normal(size=array[-1].shape)
    else:
        array[-1] = array[0]
    return array


def _same(ours: Sequence[Any], theirs: Sequence[Any]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        if getattr(b, "dtype", None) is not None and str(b.dtype).startswith("key<"):
            continue
        x, y = np.asarray(a, float), np.asarray(b, float)
        size = float(np.max(np.abs(y[np.isfinite(y)]), initial=0.0))
        close = np.isclose(x, y, rtol=1e-2, atol=1e-2 * size + 1e-6, equal_nan=True)
        if close.size and close.mean() < 0.9:
            raise ProofsContradict(
                "the program that was read does not compute what the step computes: a mistake of dpcheck."
                " Please report it with the step."
            )


def _near(first: Sequence[Any], second: Sequence[Any], allowed: float) -> None:
    total, slack = 0.0, 0.0
    for (_, a, noise), (_, b, _) in zip(first, second, strict=True):
        total += float(np.sum(((a - b) / noise) ** 2))
        slack += float(np.sum((np.abs(a) + np.abs(b)) ** 2)) * (1e-4 / noise) ** 2
    if not math.sqrt(total) <= allowed * (1 + 1e-3) + math.sqrt(slack):
        lines = ", ".join(dict.fromkeys(line for line, _, _ in first))
        raise ProofsContradict(
            f"neighbouring batches move the releases ({lines}) by {math.sqrt(total):.6g} noise units, and {allowed:.6g}"
            " was proved: a mistake of dpcheck. Please report it with the step."
        )
