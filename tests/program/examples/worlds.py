"""Small worlds to try rules in: private rows, aggregates, releases and noise, and neighbouring values.

A world has one graph. `pair` makes two neighbouring datasets: a value for every leaf, on both sides. What the
facts of the leaves claim is true of these values by construction, so whatever a rule concludes must hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.facts.boxes import Box, fitted
from dpcheck.program.facts.kinds import Aggregate, Coins, Drawn, Places, Released, Rows
from dpcheck.program.facts.rowsets import RowSet
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import PRIMITIVES, Graph, Node
from dpcheck.program.rules.common import rowwise

REPLACE, REMOVE, ZERO = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE, Adjacency.ZERO_OUT
ADJACENCIES = (REPLACE, REMOVE, ZERO)
COUNT = 5


@dataclass
class Side:
    """One dataset: which records it has, the value of every leaf and, once evaluated, of every node."""

    records: np.ndarray
    leaves: dict[int, np.ndarray]
    values: dict[int, np.ndarray] = field(default_factory=dict)
    inside: dict[int, np.ndarray] = field(default_factory=dict)  # RowSet -> its records


@dataclass
class Pair:
    """Two neighbours, and a third: the first without the record in which they differ."""

    one: Side
    two: Side
    without: Side
    record: int


class World:
    """Leaves of every kind over one set of records."""

    def __init__(self, adjacency: Adjacency, count: int = COUNT) -> None:
        self.graph = Graph(adjacency)
        self.count = count
        self.set = RowSet(count if self.graph.public_rows else None)
        self.row_leaves: list[Node] = []
        self.private: list[Node] = []
        self.fixed: list[Node] = []

    # Leaves ---------------------------------------------------------------------------------------

    def rows(
        self,
        rest: tuple[int, ...] = (),
        dtype: object = float,
        lo: object = -3.0,
        hi: object = 2.0,
        nan: bool = False,
        axis: int = 0,
    ) -> Node:
        """Private rows within a box; 0 is in it under zero-out."""
        kind = np.dtype(dtype)
        low, high = np.asarray(lo, dtype=float), np.asarray(hi, dtype=float)
        if self.graph.adjacency is ZERO:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        shape = (*rest[:axis], self.set, *rest[axis:])
        inner = (*rest[:axis], 1, *rest[axis:])
        box = fitted(Box(low, high, nan), kind).broadcast(inner)
        made = rowwise(self.graph, shape, kind, box, self.set, axis, zero_null=True)
        node = self.graph.given("data", made.shape, made.dtype, made.fact, source="rows")
        self.row_leaves.append(node)
        return node

    def text(self, values: tuple[object, ...]) -> Node:
        """A column of text."""
        from dpcheck.program.facts import boxes

        made = rowwise(
            self.graph, (self.set,), np.dtype(object), boxes.WHOLE.broadcast((1,)), self.set, 0,
            values=values,
        )  # fmt: skip
        node = self.graph.given("data", made.shape, made.dtype, made.fact, source="text")
        self.row_leaves.append(node)
        return node

    def aggregate(
        self,
        shape: tuple[int, ...] = (),
        dtype: object = float,
        lo: object = -3.0,
        hi: object = 2.0,
        nan: bool = False,
        **size: object,
    ) -> Node:
        """A private array that moves by at most `size` between neighbours."""
        kind = np.dtype(dtype)
        box = Box(np.asarray(lo, dtype=float), np.asarray(hi, dtype=float), nan).broadcast(shape)
        size.setdefault("coordinates", np.asarray(np.inf))
        diff = Size(**{k: np.asarray(v) if k == "coordinates" else v for k, v in size.items()})  # type: ignore[arg-type]
        diff = diff.both(Size(box.width)).tightened(shape)
        fact = Aggregate(box=box, diff=diff)
        node = self.graph.given("private", shape, kind, fact)
        self.private.append(node)
        return node

    def released(
        self,
        shape: tuple[int, ...] = (),
        dtype: object = float,
        lo: object = -3.0,
        hi: object = 2.0,
        nan: bool = False,
    ) -> Node:
        """A value that was released before."""
        box = Box(np.asarray(lo, dtype=float), np.asarray(hi, dtype=float), nan).broadcast(shape)
        node = self.graph.given("released", shape, np.dtype(dtype), Released(box=box))
        self.fixed.append(node)
        return node

    def constant(self, value: object) -> Node:
        """A public value."""
        return self.graph.constant(value)

    def add(self, name: str, *args: Node, **params: object) -> Node:
        """A node."""
        return self.graph.add(name, *args, **params)

    # Values ---------------------------------------------------------------------------------------

    def pair(self, rng: np.random.Generator) -> Pair:
        """Neighbours, random or extreme."""
        special = [
            float(np.asarray(node.fact.value))  # type: ignore[attr-defined]
            for node in self.graph.nodes
            if node.primitive == "constant" and not node.ndim and node.dtype.kind in "biuf"
        ]
        full = {node.id: _table(rng, node, self.count + 1, special) for node in self.row_leaves}
        own, other, changed = {}, {}, int(rng.integers(self.count))
        fixed = {
            node.id: _values(rng, node.fact.box, _plain(node), node.dtype) for node in self.fixed
        }
        for node in self.private:
            own[node.id], other[node.id] = _moved(rng, node)
        draws = self._draws(rng)
        records = np.arange(self.count)
        one = self._side(full, records, {**own, **fixed}, draws)
        rest = np.delete(records, changed)
        without = self._side(full, rest, {**own, **fixed}, draws, one)
        if self.graph.adjacency is REMOVE:
            two = self._side(full, rest, {**other, **fixed}, draws)
        else:
            swapped = {}
            for node in self.row_leaves:
                axis = node.fact.axis  # type: ignore[attr-defined]
                table = np.array(full[node.id])
                new = np.take(table, self.count, axis) if self.graph.adjacency is REPLACE else 0
                _at(table, axis, changed, new)
                swapped[node.id] = table
            two = self._side(swapped, records, {**other, **fixed}, draws)
        return Pair(one, two, without, changed)

    def _side(
        self,
        tables: dict[int, np.ndarray],
        records: np.ndarray,
        values: dict[int, np.ndarray],
        draws: dict[int, np.ndarray],
        full: Side | None = None,
    ) -> Side:
        """All values; of fewer records than those of `full`, places are counted there."""
        leaves = dict(values)
        for node in self.row_leaves:
            leaves[node.id] = np.take(tables[node.id], records, node.fact.axis)  # type: ignore[attr-defined]
        side = Side(records, leaves)
        side.inside[id(self.set)] = records
        with np.errstate(all="ignore"):
            for node in self.graph.nodes:
                try:
                    side.values[node.id] = self._value(node, side, draws, full)
                except (IndexError, KeyError, ValueError):
                    if full is None:
                        raise
        return side

    def _value(
        self, node: Node, side: Side, draws: dict[int, np.ndarray], full: Side | None
    ) -> np.ndarray:
        if node.id in side.leaves:
            return side.leaves[node.id]
        if node.primitive == "constant":
            return node.params["value"]  # type: ignore[return-value]
        if node.primitive == "draw":
            return self._drawn(node, side, draws[node.id])
        args = [side.values[arg.id] for arg in node.args]
        if node.primitive == "apply_draw":
            return args[0]
        if node.primitive == "pick":
            return np.asarray(int(np.argmax(args[0])))
        if node.primitive in ("filter", "batch", "index"):
            if full is not None and node.primitive != "filter" and _selects(node):
                return _without(node, side, full)
            _follow(node, side)
        return PRIMITIVES[node.primitive].evaluate(*args, **node.params)  # type: ignore[return-value]

    def _drawn(self, node: Node, side: Side, numbers: np.ndarray) -> np.ndarray:
        """One number for every record that is there, or as many as the shape says."""
        for axis, n in enumerate(node.shape):
            if isinstance(n, RowSet):
                return np.take(numbers, side.inside[id(n)], axis)
        return numbers

    def _draws(self, rng: np.random.Generator) -> dict[int, np.ndarray]:
        found = {}
        for node in self.graph.nodes:
            if node.primitive != "draw":
                continue
            shape = tuple(self.count + 1 if isinstance(n, RowSet) else n for n in node.shape)
            found[node.id] = numbers_of(rng, node, shape)
        return found


def numbers_of(rng: np.random.Generator, node: Node, shape: tuple[int, ...]) -> np.ndarray:
    """Values of a draw."""
    fact = node.fact
    if isinstance(fact, Coins):
        return (rng.random(shape) < fact.rate).astype(node.dtype)
    if isinstance(fact, Places):
        return rng.permutation(fact.count)[: fact.batch]
    assert isinstance(fact, Drawn)
    law, scale, place = fact.family, fact.scale, fact.location
    if law == "uniform integers":
        return (place + rng.integers(0, int(scale), shape)).astype(np.int64)
    if law == "geometric":
        return np.asarray(rng.geometric(0.3, shape))
    standard = {
        "laplace": rng.laplace,
        "normal": rng.normal,
        "gumbel": rng.gumbel,
    }
    if law in standard:
        return np.asarray(place + scale * standard[law](0.0, 1.0, shape))
    if law == "exponential":
        return np.asarray(place + scale * rng.exponential(1.0, shape))
    if law == "uniform":
        return np.asarray(place + scale * rng.random(shape))
    return np.asarray(rng.integers(-3, 4, shape))  # discrete noise


def _selects(node: Node) -> bool:
    """Whether the result belongs to other records than the operand."""
    first, fact = node.args[0].fact, node.fact
    same = isinstance(fact, Rows) and isinstance(first, Rows) and fact.rows is first.rows
    return isinstance(first, Rows) and not same


def _without(node: Node, side: Side, full: Side) -> np.ndarray:
    """The chosen rows of all records, less those that are not there."""
    fact = node.fact
    if not isinstance(fact, Rows):
        raise KeyError("one record")
    chosen = full.inside[id(fact.rows)]
    side.inside[id(fact.rows)] = chosen[np.isin(chosen, side.records)]
    return np.compress(np.isin(chosen, side.records), full.values[node.id], fact.axis)


def _follow(node: Node, side: Side) -> None:
    """Which records the rows of a selection belong to."""
    first, fact = node.args[0].fact, node.fact
    if not isinstance(fact, Rows) or not isinstance(first, Rows) or fact.rows is first.rows:
        return
    before = side.inside[id(first.rows)]
    if node.primitive == "filter":
        mask = np.asarray(side.values[node.args[1].id], dtype=bool).ravel()
        side.inside[id(fact.rows)] = before[mask]
    elif node.primitive == "batch":
        side.inside[id(fact.rows)] = before[np.asarray(side.values[node.args[1].id])]
    else:
        key: tuple[object, ...] = node.params["key"]  # type: ignore[assignment]
        chosen = [k for k in key if k is not None][first.axis]
        side.inside[id(fact.rows)] = before[chosen]  # type: ignore[index]


def _at(table: np.ndarray, axis: int, place: int, new: object) -> None:
    table[(*[slice(None)] * axis, place)] = new


def _plain(node: Node) -> tuple[int, ...]:
    return tuple(node.shape)  # type: ignore[arg-type]


def _table(rng: np.random.Generator, node: Node, count: int, special: list[float]) -> np.ndarray:
    """Rows for `count` records; some entries are public numbers of the program."""
    fact = node.fact
    axis = fact.axis  # type: ignore[attr-defined]
    shape = tuple(count if i == axis else n for i, n in enumerate(node.shape))
    if node.dtype.kind == "O":
        return np.array(
            [fact.values[i] for i in rng.integers(len(fact.values), size=count)], object
        )  # type: ignore[attr-defined]
    found = _values(rng, fact.box, shape, node.dtype)  # type: ignore[arg-type]
    known = [v for v in special if (v >= fact.box.lo).all() and (v <= fact.box.hi).all()]
    if known and rng.random() < 0.5:
        there = rng.random(shape) < 0.4  # type: ignore[arg-type]
        values = np.array([np.float64(v).astype(node.dtype) for v in known])
        found = np.where(there, values[rng.integers(len(values), size=shape)], found)  # type: ignore[arg-type]
    if rng.random() < 0.2:  # all rows alike
        found = np.array(np.broadcast_to(np.take(found, [0], axis), shape))  # type: ignore[arg-type]
    return found


def _values(
    rng: np.random.Generator, box: Box, shape: tuple[int, ...], dtype: np.dtype[np.generic]
) -> np.ndarray:
    """Numbers of a box: anywhere, at its ends, at 0 and 1, missing."""
    lo, hi = np.broadcast_to(box.lo, shape), np.broadcast_to(box.hi, shape)
    low, high = np.maximum(lo, -1e3), np.minimum(hi, 1e3)
    low, high = np.minimum(low, hi), np.maximum(high, lo)
    how = rng.random(shape) if rng.random() < 0.6 else np.full(shape, rng.random())
    found = low + (high - low) * rng.random(shape)
    found = np.where(how < 0.25, lo, np.where(how < 0.5, hi, found))
    small = np.clip(np.rint(rng.integers(-2, 3, shape)), lo, hi)
    found = np.where((how >= 0.5) & (how < 0.75), small, found)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype.name)
        inside = np.clip(np.rint(found), np.ceil(lo), np.floor(hi))
        whole = np.vectorize(lambda v: min(max(int(v), limits.min), limits.max), otypes=[object])
        return whole(inside).astype(dtype) if found.size else found.astype(dtype)
    if dtype.kind == "b":
        return np.clip(np.rint(found), lo, hi).astype(bool)
    if box.nan:
        found = np.where(rng.random(shape) < 0.2, np.nan, found)
    return found.astype(dtype)


def _moved(rng: np.random.Generator, node: Node) -> tuple[np.ndarray, np.ndarray]:
    """Two values of an aggregate that are no further apart than its fact says."""
    fact = node.fact
    assert isinstance(fact, Aggregate)
    shape = _plain(node)
    one = _values(rng, fact.box, shape, node.dtype)
    two = _values(rng, fact.box, shape, node.dtype)
    if node.dtype.kind == "f" and not (np.isfinite(one).all() and np.isfinite(two).all()):
        return one, two if not np.isfinite(fact.diff.l1) else one
    step = two.astype(float) - one.astype(float)
    size = fact.diff
    if rng.random() < 0.4 and step.size > 1:  # one entry alone
        keep = np.zeros(step.size)
        keep[rng.integers(step.size)] = 1
        step = step * keep.reshape(shape)
    many = int(min(size.changed, step.size))
    places = np.argsort(-np.abs(step), axis=None)[many:]
    step.flat[places] = 0.0
    limits = np.broadcast_to(size.coordinates, shape)
    if rng.random() < 0.5:  # to the limit, entry by entry, as far as the box goes
        way = np.where(step == 0, 0.0, np.where(step > 0, 1.0, -1.0))
        far = one + way * np.minimum(limits, 1e6)
        far = np.clip(far, fact.box.lo, fact.box.hi)
        step = np.where(step == 0, 0.0, far - one)
    step = np.clip(step, -limits, limits)
    for bound, norm in ((size.l1, 1), (size.l2, 2), (size.linf, np.inf)):
        length = float(np.linalg.norm(step.ravel(), norm)) if step.size else 0.0
        if length > bound:
            step = step * (bound / length)
    if node.dtype.kind in "iub":
        step = np.trunc(step + np.sign(step) * 1e-9)
        low, high = int(fact.box.lo.min()), int(fact.box.hi.max())
        whole = [
            min(max(int(a) + int(b), low), high)
            for a, b in zip(one.ravel(), step.ravel(), strict=True)
        ]
        return one, np.array(whole, dtype=object).reshape(shape).astype(node.dtype)
    return one, (one.astype(float) + step).astype(node.dtype)
