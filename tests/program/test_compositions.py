"""Random programs of two to five primitives: what every fact on the way claims holds."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable
from dpcheck.program.facts.kinds import Aggregate, Rows
from dpcheck.program.graph import Graph, Node
from dpcheck.program.rules.common import whole
from dpcheck.program.rules.functions import FUNCTIONS

from .claims import check
from .examples.table import BOXES, SIZES, aggregate, released, rows, sized
from .examples.worlds import ADJACENCIES, World

PROGRAMS, PAIRS = 250, 2
SMALL = [name for name in BOXES if name not in ("all int64", "all float32")]
NUMBERS = (2, 0.5, -1.5, 0, 1, 3.0)
Graph(Adjacency.REPLACE_ONE)
UNARY = [name for name, each in FUNCTIONS.items() if each.compute.nin == 1]
BINARY = [name for name, each in FUNCTIONS.items() if each.compute.nin == 2]


class Composer:
    """Grows a program at random."""

    def __init__(self, adjacency: Adjacency, rng: np.random.Generator) -> None:
        self.world, self.rng = World(adjacency), rng
        self.made = [self._leaf() for _ in range(3)]

    def pick(self, options: object) -> object:
        """One of them."""
        return options[int(self.rng.integers(len(options)))]  # type: ignore[arg-type, index]

    def node(self) -> Node:
        """A node that is there: often the newest."""
        return self.made[-1] if self.rng.random() < 0.6 else self.pick(self.made)  # type: ignore[return-value]

    def _leaf(self) -> Node:
        box = str(self.pick(SMALL))
        shape: tuple[int, ...] = self.pick(((), (2,), (1,)))  # type: ignore[assignment]
        kind = self.rng.random()
        if kind < 0.6:
            return rows(self.world, box, shape)
        if kind < 0.85:
            return aggregate(self.world, box, shape, **sized(self.pick(SIZES), shape))  # type: ignore[arg-type]
        return released(self.world, box, shape)

    def grow(self) -> None:
        """One primitive more, unless the rules refuse it."""
        entries = (self._entries, self._two, self._two, self._two)
        grower = self.pick((*entries, self._shape, self._sum, self._pick_rows))
        try:
            found = grower()  # type: ignore[operator]
        except NotProvable:
            return
        if found is not None:
            self.made.append(found)

    def _entries(self) -> Node:
        a = self.node()
        name = str(self.pick((*UNARY, "convert", "fill", "clip", "sort")))
        if name == "convert":
            kind = self.pick((float, np.float32, np.int8, np.uint8, np.int64, bool))
            return self.world.add("convert", a, dtype=np.dtype(kind))  # type: ignore[call-overload]
        if name == "fill":
            return self.world.add("fill", a, nan=0.0, posinf=None, neginf=None)
        if name == "clip":
            low = self.world.add("maximum", a, self.world.constant(-1))
            return self.world.add("minimum", low, self.world.constant(2))
        if name == "sort":
            return a if not a.ndim else self.world.add("sort", a, axis=a.ndim - 1)
        return self.world.add(name, a)

    def _operands(self, many: int) -> list[Node] | None:
        found = [self.node() for _ in range(many)]
        if self.rng.random() < 0.5:
            found[int(self.rng.integers(many))] = self.world.constant(self.pick(NUMBERS))
        if any(isinstance(each.fact, Aggregate) for each in found):
            found = [whole(self.world.graph, each) for each in found]
        return found

    def _two(self) -> Node:
        name = str(self.pick((*BINARY, *("add", "multiply", "subtract", "divide") * 3, "select")))
        if name == "select":
            condition = self.node()
            if condition.dtype.kind != "b":
                condition = self.world.add("greater", condition, self.world.constant(0))
            parts = [condition, *(self._operands(2) or [])]
            if any(isinstance(each.fact, Aggregate) for each in parts):
                parts = [whole(self.world.graph, each) for each in parts]
            return self.world.add("select", *parts)
        return self.world.add(name, *(self._operands(2) or []))

    def _shape(self) -> Node | None:
        a = self.node()
        how = self.pick(("index", "transpose", "concatenate", "column", "repeat"))
        last = a.ndim - 1
        if how == "concatenate":
            parts = [a, self.node()]
            if any(p.ndim != a.ndim or not a.ndim for p in parts):
                return None
            if any(isinstance(p.fact, Aggregate) for p in parts):
                parts = [whole(self.world.graph, p) for p in parts]
            if any(p.shape[:last] != parts[0].shape[:last] for p in parts):
                return None
            return self.world.add("concatenate", *parts, axis=last)
        if how == "transpose" and a.ndim == 2:
            return self.world.add("transpose", a, order=(1, 0))
        if how == "column":
            return self.world.add("index", a, key=(*[slice(None)] * a.ndim, None))
        if isinstance(a.fact, Rows) and a.fact.axis == last:
            return None
        if how == "index" and a.ndim and a.shape[last] == 2:
            key = self.pick((np.array([1, 1, 0]), 0, slice(None, None, -1)))
            return self.world.add("index", a, key=(*[slice(None)] * last, key))
        return None

    def _sum(self) -> Node | None:
        a = self.node()
        if not a.ndim:
            return None
        axis = int(self.rng.integers(a.ndim))
        name = self.pick(("sum", "sum", "sum", "extreme", "cumulative", "variance", "whole"))
        if name == "whole":
            return whole(self.world.graph, a)
        if name == "extreme":
            return self.world.add("extreme", a, axes=(axis,), largest=bool(self.rng.random() < 0.5))
        if name == "cumulative":
            return self.world.add("cumulative", a, axis=axis)
        if name == "variance":
            return self.world.add("variance", a, axes=(axis,), ddof=0)
        kind = np.sum(np.empty(0, a.dtype)).dtype
        return self.world.add("sum", a, axes=(axis,), dtype=kind)

    def _pick_rows(self) -> Node | None:
        a, mask = self.node(), self.node()
        if not isinstance(a.fact, Rows) or not isinstance(mask.fact, Rows) or mask.ndim != 1:
            return None
        if mask.dtype.kind != "b":
            mask = self.world.add("less_equal", mask, self.world.constant(1))
        return self.world.add("filter", a, mask, axis=a.fact.axis)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("block", range(4))
def test_random_programs(adjacency: Adjacency, block: int):
    grown = 0
    for program in range(PROGRAMS):
        rng = np.random.default_rng((block, program))
        composer = Composer(adjacency, rng)
        for _ in range(2 + int(rng.integers(4))):
            composer.grow()
        grown += len(composer.made) - 3
        for _ in range(PAIRS):
            check(composer.world, composer.world.pair(rng))
    assert grown > PROGRAMS
