"""Proofs of `step(params, batch, key)` in jax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import DpcheckError, InvalidParameter, NotProvable
from dpcheck.core.events.event import Event
from dpcheck.replay.draws import Line
from dpcheck.training import price
from dpcheck.training.derive import at_start
from dpcheck.training.facts import Fact, Numbers, Rows
from dpcheck.training.graph import Graph
from dpcheck.training.jax.attack import attack
from dpcheck.training.jax.canonical import digest
from dpcheck.training.jax.reader import Folds, Reader, kind_of
from dpcheck.training.proof import ASSUMES, FINITE, StepProof, derive, refusal, shown
from dpcheck.training.ranges import Range, assumption, declared, name_of
from dpcheck.training.sizes import deduplicated, unify

_MOST_CLOSED = 64


@dataclass(frozen=True, slots=True)
class Traced:
    """The jaxpr of a step at one batch size, and its graph."""

    size: int
    closed: Any
    graph: Graph
    names: tuple[tuple[str, str], ...]  # role and name of each input
    folds: Folds


def prove_step(
    step: Callable[..., object],
    *,
    params: Any,
    batch: Any,
    key: Any,
    adjacency: Adjacency,
    sampling_rate: float | None = None,
    records: Any = None,
) -> StepProof:
    """Prove what `step(params, batch, key)` spends, or raise NotProvable.

    Guarantee: for all params of these shapes, all neighbouring batches of this size (under add-remove: of this size
    and one more or less) and a fresh key, what comes back is no further apart than `event`.
    Assumes: what `assumes` lists.
    """
    size = size_of(batch)
    ranges = declared(records, _seen(batch))
    try:
        main = traced(step, params, batch, key, size)
    except DpcheckError:
        raise
    except Exception as error:
        remedy = "let jax.make_jaxpr(step)(params, batch, key) work"
        raise refusal(
            "failed",
            "step",
            f"jax cannot trace the step ({type(error).__name__}: {str(error)[:200]})",
            remedy,
        ) from error
    smaller = None
    if adjacency is Adjacency.ADD_REMOVE:
        for other in (main.size + 1, main.size - 1):
            if other >= 1:
                smaller = _neighbour(step, params, batch, key, other, main.folds).graph
                unify(main.graph, smaller, main.size, other)
    deduplicated(main.graph)
    inputs = facts_of(main, batch, adjacency, ranges)
    found = derive(main.graph, inputs, adjacency)
    event = price.event_of(found.releases, adjacency, sampling_rate)
    conditions = tuple(
        each
        for each in ASSUMES
        if each != FINITE or not _guarded(main, inputs, adjacency, event, sampling_rate)
    )
    if ranges:
        conditions = (*conditions, assumption(ranges))
    proof = StepProof(
        event,
        shown(found.releases, adjacency),
        adjacency,
        (
            *conditions,
            f"the batch has {main.size} records, or as many as the step is traced for again",
        ),
        digest=digest(main.closed.jaxpr, tuple(main.closed.consts)),
        reread=_digest_of,
    )
    shrunk = smaller if main.size > 1 else None
    attack(step, main.graph, shrunk, found, (params, batch, key), adjacency, ranges)
    return proof


def _guarded(
    main: Traced,
    inputs: Sequence[Fact],
    adjacency: Adjacency,
    event: Event,
    sampling_rate: float | None,
) -> bool:
    """Whether the same holds of records that are infinite or NaN: the step guards against them."""
    if not any(node.op in ("is_finite", "is_nan", "ne") for node in main.graph.nodes):
        return False
    wild = [
        replace(fact, numbers=Numbers(inf=True, nan=True))
        if isinstance(fact.kind, Rows) and fact.numbers == Numbers()
        else fact
        for fact in inputs
    ]
    try:
        found = derive(main.graph, wild, adjacency)
        return price.event_of(found.releases, adjacency, sampling_rate) == event
    except NotProvable:
        return False


def _seen(batch: Any) -> dict[str, Range]:
    """What the leaves of the example hold."""
    import jax

    found = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(batch)[0]:
        array = np.asarray(leaf, dtype=float)
        found[name_of(jax.tree_util.keystr(path))] = (float(array.min()), float(array.max()))
    return found


def _digest_of(step: Callable[..., object], *, params: Any, batch: Any, key: Any, **_: Any) -> str:
    found = traced(step, params, batch, key, size_of(batch))
    return digest(found.closed.jaxpr, tuple(found.closed.consts))


def size_of(batch: Any) -> int:
    """The number of records: the length of every leaf's first axis."""
    import jax

    leaves = jax.tree.leaves(batch)
    sizes = {np.shape(leaf)[0] if np.ndim(leaf) else -1 for leaf in leaves}
    if len(sizes) != 1 or min(sizes) < 1:
        raise InvalidParameter(
            "batch= needs arrays whose first axis is the records, as many in each, and at least one.",
            name="batch",
        )
    return int(sizes.pop())


def resized(batch: Any, size: int) -> Any:
    """The batch with its first record repeated, or without its last ones."""
    import jax

    return jax.tree.map(
        lambda leaf: (
            np.concatenate([np.asarray(leaf), np.asarray(leaf)[:1]])[:size]
            if size > np.shape(leaf)[0]
            else np.asarray(leaf)[:size]
        ),
        batch,
    )


def _neighbour(
    step: Callable[..., object], params: Any, batch: Any, key: Any, size: int, folds: Folds
) -> Traced:
    try:
        return traced(step, params, resized(batch, size), key, size, folds)
    except NotProvable:
        raise
    except (DpcheckError, Exception) as error:
        remedy = "use adjacency='replace-one', or pad to a fixed size with a mask of weights"
        raise refusal(
            "undefined-size",
            "step",
            f"under add-remove the batch may have one record more or less, and with {size} the step fails"
            f" ({type(error).__name__})",
            remedy,
        ) from error


def traced(
    step: Callable[..., object],
    params: Any,
    batch: Any,
    key: Any,
    size: int,
    earlier: Folds | None = None,
) -> Traced:
    """The step as a graph, constants computed as they were `earlier`."""
    import jax

    places: list[Any] = []

    def flat(params: Any, batch: Any, key: Any) -> Any:
        out = step(params, batch, key)
        found, _ = jax.tree_util.tree_flatten_with_path(out)
        places[:] = [(jax.tree_util.keystr(path), leaf) for path, leaf in found]
        return [
            jax.numpy.asarray(leaf) if not isinstance(leaf, jax.Array) else leaf
            for _, leaf in found
        ]

    closed = jax.make_jaxpr(flat)(params, batch, key)
    folds = Folds(earlier)
    reader = Reader(folds)
    names = [
        (role, f"{role}{jax.tree_util.keystr(path)}")
        for role, tree in (("params", params), ("batch", batch), ("key", key))
        for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]
    ]
    args = [
        reader.graph.input(role, name, var.aval.shape, kind_of(var.aval))
        for (role, name), var in zip(names, closed.jaxpr.invars, strict=True)
    ]
    consts = [_closed_over(reader, value) for value in closed.consts]
    outs = reader.read(closed.jaxpr, consts, args)
    reader.graph.outputs = [
        (f"output{place}", value) for (place, _), value in zip(places, outs, strict=True)
    ]
    return Traced(size, closed, reader.graph, tuple(names), folds)


def _closed_over(reader: Reader, value: Any) -> Any:
    """A constant of the function's surroundings: small, or of a pattern that no data have."""
    import jax

    line = Line("step", 0)
    if hasattr(value, "dtype") and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return reader.graph.add("key_constant", [], value.shape, "key", line)
    array = np.asarray(value)
    if array.size > _MOST_CLOSED and not _patterned(array):
        raise refusal(
            "closed-over",
            "step",
            f"the step uses an array of {array.size} numbers from its surroundings, which may be data",
            "pass it in params if it is public, in batch if it is not",
        )
    return reader.constant(array, line)


def _patterned(array: Any) -> bool:
    """All the same, 0, 1, 2, ..., or a triangle of ones."""
    flat = array.reshape(-1)
    if (flat == flat[0]).all() or (array.ndim == 1 and np.array_equal(flat, np.arange(flat.size))):
        return True
    square = (
        array.reshape(array.shape[-2:])
        if array.ndim >= 2 and array.size == array.shape[-1] * array.shape[-2]
        else None
    )
    return (
        square is not None
        and any(
            np.array_equal(square.astype(bool), side(np.ones(square.shape, bool), k))
            for side in (np.tril, np.triu)
            for k in (-1, 0, 1)
        )
        and len(np.unique(square)) == 2
    )


def facts_of(
    main: Traced, batch: Any, adjacency: Adjacency, ranges: Mapping[str, Range] | None = None
) -> list[Fact]:
    """What is known of the arguments."""
    import jax

    leaves = iter(jax.tree.leaves(batch))
    found = []
    values = [node.out for node in main.graph.nodes if node.op == "input"]
    for value, (role, name) in zip(values, main.names, strict=True):
        fact = at_start(role, value, adjacency, name)
        if role == "batch":
            leaf = np.asarray(next(leaves))
            held = (ranges or {}).get(name_of(name.removeprefix("batch")))
            if held is not None or leaf.dtype.kind in "iub":
                seen = (float(leaf.min()), float(leaf.max())) if leaf.size else (0.0, 0.0)
                low, high = held or seen
                zero = adjacency is Adjacency.ZERO_OUT
                fact = Fact(
                    Numbers(min(low, 0.0) if zero else low, max(high, 0.0) if zero else high),
                    fact.kind,
                )
            assert isinstance(fact.kind, Rows)
        found.append(fact)
    return found


__all__: Sequence[str] = ("prove_step", "traced")
