"""The fact of every value of a graph, rule by rule, and what is released on the way."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable
from dpcheck.replay.draws import Line
from dpcheck.training.facts import (
    BATCH,
    Aggregate,
    Drawn,
    Fact,
    Keys,
    Mixed,
    Multiple,
    Numbers,
    Part,
    Powers,
    Public,
    Rows,
    Term,
    Vector,
)
from dpcheck.training.graph import Graph, Node, Value
from dpcheck.training.groups import Release
from dpcheck.training.keys import KeyBook
from dpcheck.training.rules.numbers import ANY, stored
from dpcheck.training.rules.registry import RULES, load


@dataclass(frozen=True, slots=True)
class Site:
    """Where something is released: which argument is the sum, and the noise's scale, in units of `unit`."""

    side: int
    scale: float
    line: str
    unit: Powers = ()


@dataclass(slots=True)
class Ledger:
    """What the whole step has released, and what it did with its draws and keys."""

    releases: list[Release] = field(default_factory=list)
    keys: KeyBook = field(default_factory=KeyBook)
    paths: dict[int, list[Any]] = field(default_factory=dict)  # of each draw
    coins: set[int] = field(
        default_factory=set
    )  # draws that were used as something else than noise
    noise: dict[int, list[Part | None]] = field(default_factory=dict)
    hints: list[str] = field(default_factory=list)  # why a draw that looks like noise is none
    where: dict[int, tuple[Line, tuple[int, ...]]] = field(default_factory=dict)  # of each draw

    sites: dict[tuple[int, int], Site] = field(default_factory=dict)
    symbols: dict[Any, Numbers] = field(default_factory=dict)  # public numbers that are not known

    def copy(self) -> Ledger:
        """A copy to go back to: loops are derived until nothing changes."""
        return Ledger(
            list(self.releases),
            self.keys.copy(),
            dict(self.paths),
            set(self.coins),
            {k: list(v) for k, v in self.noise.items()},
            list(self.hints),
            dict(self.where),
        )

    def restore(self, other: Ledger) -> None:
        """Go back."""
        fresh = other.copy()
        self.releases, self.keys, self.paths = fresh.releases, fresh.keys, fresh.paths
        self.coins, self.noise, self.hints, self.where = (
            fresh.coins,
            fresh.noise,
            fresh.hints,
            fresh.where,
        )


_SCOPES = itertools.count()


@dataclass(slots=True)
class Context:
    """What rules are given: the graph, the facts so far, and where they note releases and keys."""

    adjacency: Adjacency
    graph: Graph
    ledger: Ledger = field(default_factory=Ledger)
    loops: tuple[int, ...] = ()  # scans this body is in, outermost first
    facts: dict[int, Fact] = field(default_factory=dict)
    made: dict[int, Node] = field(default_factory=dict)
    distinct: dict[int, int] = field(
        default_factory=dict
    )  # values that differ in each round of a loop
    counters: dict[int, tuple[int, int]] = field(default_factory=dict)  # 0, 1, ...: loop, rounds
    scope: int = field(default_factory=lambda: next(_SCOPES))
    node: Node | None = None

    def derive(self, inputs: Sequence[Fact]) -> list[Fact]:
        """Facts of all values; those of the outputs come back."""
        load()
        waiting = iter(inputs)
        for node in self.graph.nodes:
            self.node = node
            if node.op == "input":
                found: tuple[Fact, ...] = (next(waiting),)
            else:
                found = self._apply(node)
            for out, fact in zip(node.outs, found, strict=True):
                self.made[out.index] = node
                self.facts[out.index] = self._checked(node, out, fact)
        return [self.facts[value.index] for _, value in self.graph.outputs]

    def _apply(self, node: Node) -> tuple[Fact, ...]:
        args = [self.facts[arg.index] for arg in node.args]
        rule = RULES.get(node.op)
        if rule is None:
            found = self.unknown(node, args)
            return tuple(found for _ in node.outs)
        first = next((fact for fact in args if isinstance(fact.kind, Mixed)), None)
        if first is not None and node.op not in ("scan", "cond", "key_fold"):
            assert isinstance(first.kind, Mixed)
            self.spend(args)
            return tuple(Fact(Numbers(inf=True, nan=True), first.kind) for _ in node.outs)
        made = rule(self, node, *args)
        return made if isinstance(made, tuple) else (made,)

    def unknown(self, node: Node, args: Sequence[Fact]) -> Fact:
        """An operation without a rule: of public things something public, of others refused by name."""
        name = str(node.params.get("name", node.op))
        effect = node.params.get("effect", False)
        self.spend(args)
        if effect and not all(isinstance(fact.kind, Public) for fact in args):
            remedy = "leave it out of the step, or hand it released values only"
            raise NotProvable(
                f"not provable: {node.line}: {name} shows private values while the step runs; {remedy}.",
                kind="effect",
                line=str(node.line),
                remedy=remedy,
            )
        if all(isinstance(fact.kind, Public) for fact in args) and not effect:
            return Fact(Numbers(inf=True, nan=True), self.public(args))
        old = next((f.kind for f in args if isinstance(f.kind, Mixed)), None)
        if old is not None:
            return Fact(Numbers(inf=True, nan=True), old)
        return self.mixed(
            "unknown-primitive",
            f"nothing is known of the operation {name!r}",
            "use another one, or add a rule for it (docs/howto/contribute/primitive.md)",
        )

    def _checked(self, node: Node, out: Value, fact: Fact) -> Fact:
        """What every fact has in common: its type's limits, a name for its vector, the batch's length."""
        numbers, kind = fact.numbers, fact.kind
        if out.index in self.graph.realised and not isinstance(kind, Mixed):
            return self.mixed(
                "realised-size",
                "the size of the batch is private under add-remove, and this number comes from it",
                "divide by the expected batch size, a constant, or use adjacency='replace-one'",
                node.line,
            )
        if out.dtype != "key":
            numbers = stored(numbers, out.dtype)
        varies = self.graph.varies.get(out.index, ())
        cut = self.adjacency is Adjacency.ADD_REMOVE and isinstance(kind, Rows) and bool(kind.axes)
        if (varies or cut) and not isinstance(kind, (Mixed, Keys)):
            if isinstance(kind, Drawn):
                self.coin(kind)
                kind = Rows(varies, None)
            if not isinstance(kind, Rows) or tuple(sorted(kind.axes)) != varies:
                return self.mixed(
                    "positions",
                    "under add-remove the number of records is private, and what this line computes depends on"
                    " where in the batch a record stands",
                    "treat all records alike (jax.vmap), or use adjacency='replace-one'",
                    node.line,
                )
        if isinstance(kind, Public) and kind.multiple is None and out.floating and out.size == 1:
            kind = self._named(numbers, kind, out)
        if isinstance(kind, Rows) and kind.vector is None:
            kind = replace(kind, vector=Vector(frozenset({(self.scope, out.index)})))
        return Fact(numbers, kind)

    def _named(self, numbers: Numbers, kind: Public, out: Value) -> Public:
        """A public number that is not known gets a name, so that noise may be a multiple of it."""
        if numbers.exactly is not None:
            return kind
        name = (id(self.graph), out.index)
        self.ledger.symbols[name] = numbers
        return replace(kind, multiple=Multiple(1.0, ((name, 1),)))

    # What rules say.

    @property
    def here(self) -> Node:
        """The node in hand."""
        assert self.node is not None
        return self.node

    @property
    def name(self) -> Any:
        """The first output of the node in hand, as no other value is called."""
        return (self.scope, self.here.outs[0].index)

    def mixed(self, kind: str, reason: str, remedy: str, line: Line | None = None) -> Fact:
        """Private, and nothing bounds it."""
        return Fact(
            Numbers(inf=True, nan=True), Mixed(kind, line or self.here.line, reason, remedy)
        )

    def public(self, args: Sequence[Fact]) -> Public:
        """The same in both runs, since its arguments are."""
        return Public(released=any(getattr(f.kind, "released", False) for f in args))

    def coin(self, kind: Drawn) -> None:
        """A draw that is used as something else than noise: data-independent, so it is conditioned on."""
        self.ledger.coins.add(kind.draw)

    def spend(self, args: Sequence[Fact]) -> None:
        """Draws among these are no noise any more; keys are looked at."""
        for fact in args:
            if isinstance(fact.kind, Drawn):
                self.coin(fact.kind)
            elif isinstance(fact.kind, Keys):
                self.ledger.keys.look(fact.kind, self.here.line)

    def settled(self, fact: Fact) -> Fact:
        """The fact with draws turned into coins, and keys that are computed with into something refused."""
        if isinstance(fact.kind, Drawn):
            self.coin(fact.kind)
            return Fact(fact.numbers, Public())
        if isinstance(fact.kind, Keys):
            self.ledger.keys.look(fact.kind, self.here.line)
            return Fact(ANY, Public())
        return fact

    def producer(self, value: Value, through: Sequence[str] = ()) -> Node | None:
        """The node behind a value, seen through operations of these names."""
        node = self.made.get(value.index)
        while node is not None and node.op in through:
            node = self.made.get(node.args[0].index)
        return node

    def blocks(self, node: Node, cut: Sequence[int]) -> bool:
        """Whether the rounds of a loop read blocks here that do not overlap: block i starts at i * its length."""
        if len(cut) != 1:
            return False
        axis = cut[0]
        length, size = node.args[0].shape[axis], node.out.shape[axis]
        start = self.behind(node.args[1 + axis])
        for index in (0, 1):
            if start is None or start.op != "mul":
                break
            step = self.facts[start.args[1 - index].index].numbers.exactly
            count = self.counters.get(self._origin(start.args[index]))
            if count is not None and step == size and count[1] * size <= length:
                return True
        count = self.counters.get(self._origin(node.args[1 + axis]))
        return count is not None and size == 1 and count[1] <= length

    def behind(self, value: Value) -> Node | None:
        """The node that computes a number, seen through what does not change it."""
        node = self.made.get(value.index)
        while node is not None:
            if node.op in ("copy", "convert", "reshape", "broadcast"):
                value = node.args[0]
            elif node.op == "select" and self.facts[node.args[0].index].numbers.exactly is not None:
                value = node.args[1 if self.facts[node.args[0].index].numbers.exactly else 2]
            else:
                return node
            node = self.made.get(value.index)
        return None

    def _origin(self, value: Value) -> int:
        node = self.behind(value)
        return node.outs[0].index if node is not None and len(node.outs) == 1 else value.index

    def round_of(self, value: Value) -> int | None:
        """The loop whose rounds this number tells apart."""
        return self.distinct.get(self._origin(value))

    def known(self, value: Value) -> Any:
        """The array that a value is, if it is a constant."""
        kind = self.facts[value.index].kind
        return kind.value if isinstance(kind, Public) else None

    def total(self, x: Fact, size: int) -> Term:
        """What a record adds to a sum over records of these rows, `size` entries each.

        Either the rows are members of a clipped group, or their numbers bound them: entries in [lo, hi] are
        at most (hi - lo) / 2 * sqrt(size) from their middle, which is public.
        """
        rows = x.kind
        assert isinstance(rows, Rows)
        bound, line = float("inf"), self.here.line
        if self.here.outs[0].half:
            rows = replace(rows, member=None, why="half-precision")
        elif x.numbers.tame and not rows.grouped:
            low, high = x.numbers.lo, x.numbers.hi
            moved = 2 if self.adjacency is Adjacency.REPLACE_ONE else 1
            if self.adjacency is Adjacency.ZERO_OUT and not rows.zero:
                moved = 2
            middle = (high - low) / 2 if moved == 2 else max(abs(low), abs(high))
            bound = middle * float(np.sqrt(size)) if np.isfinite(middle) else float("inf")
        member = rows.member
        if member is not None and (member.scale <= bound or member.unit):
            return Term(
                member.source,
                member.tokens,
                member.scale,
                member.part,
                rows.region,
                rows.zero,
                rows.why,
                line,
                member.unit,
            )
        token = frozenset({("sum", self.scope, self.here.outs[0].index, self.here.args[0].index)})
        return Term(token, token, bound, None, rows.region, rows.zero, rows.why, line)


def at_start(role: str, value: Value, adjacency: Adjacency, name: str) -> Fact:
    """What is known of an argument: params are public, batches are finite numbers along their first axis."""
    if role == "key":
        lead = value.shape[:-1] if value.dtype != "key" else value.shape
        paths = np.empty(lead, dtype=object)
        for index in np.ndindex(*lead):
            paths[index] = (("key", name, *index),)
        return Fact(ANY, Keys(paths, raw=value.dtype != "key"))
    if role == "batch":
        zero = adjacency is Adjacency.ZERO_OUT
        return Fact(Numbers(), Rows((0,), BATCH, zero=zero))
    return Fact(Numbers(), Public())


__all__ = ["Aggregate", "Context", "Ledger", "at_start"]
