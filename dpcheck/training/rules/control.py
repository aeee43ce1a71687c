"""Loops of public length and branches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.training.derive import Context
from dpcheck.training.facts import (
    Aggregate,
    Fact,
    Keys,
    Member,
    Mixed,
    Numbers,
    Powers,
    Public,
    Rows,
    Term,
)
from dpcheck.training.graph import Graph, Node, Value
from dpcheck.training.groups import Release
from dpcheck.training.keys import CARRIED
from dpcheck.training.rules import numbers as of
from dpcheck.training.rules.randomness import unknown
from dpcheck.training.rules.registry import rule
from dpcheck.training.rules.rowwise import after_sum, terms_scaled, zero_of
from dpcheck.training.rules.shapes import streamed

_LOOPS = itertools.count()
_PASSES = 12


@rule("cond")
def cond(at: Context, node: Node, index: Fact, *operands: Fact) -> tuple[Fact, ...]:
    """A branch by a public or released number: what is known of all branches; all their releases count."""
    index = at.settled(index)
    sides = []
    before = len(at.ledger.releases)
    for branch in node.params["branches"]:
        inner = Context(at.adjacency, branch, at.ledger, at.loops)
        sides.append([_outside(fact, branch) for fact in inner.derive(operands)])
    if not isinstance(index.kind, Public):
        found = at.mixed(
            "private-branch",
            "a private value decides which branch is taken",
            "compute both and choose with jnp.where inside jax.vmap",
        )
        if isinstance(index.kind, Mixed):
            found = Fact(found.numbers, index.kind)
        del at.ledger.releases[before:]
        return tuple(found for _ in node.outs)
    outs = []
    for each in zip(*sides, strict=True):
        fact = each[0]
        for other in each[1:]:
            fact = _joined(at, fact, other)
        if isinstance(fact.kind, Public):
            fact = Fact(fact.numbers, Public(None, True))
        outs.append(fact)
    return tuple(outs)


def _outside(fact: Fact, branch: Graph) -> Fact:
    """What is known outside of a branch, where its own numbers have no meaning."""
    kind = fact.kind
    if isinstance(kind, Aggregate):
        return Fact(
            fact.numbers, replace(kind, terms=tuple(outlived(t, branch) for t in kind.terms))
        )
    if isinstance(kind, Public):
        return Fact(fact.numbers, replace(kind, multiple=None))
    return Fact(fact.numbers, kind.bare(zero=kind.zero)) if isinstance(kind, Rows) else fact


def _joined(at: Context, a: Fact, b: Fact, loop: int | None = None) -> Fact:
    """What holds of either."""
    numbers = a.numbers.joined(b.numbers)
    for fact in (a, b):
        if isinstance(fact.kind, Mixed):
            return Fact(numbers, fact.kind)
    if isinstance(a.kind, Keys) and isinstance(b.kind, Keys):
        if a.kind.raw == b.kind.raw and list(a.kind.paths.flat) == list(b.kind.paths.flat):
            return a
        return Fact(numbers, Keys(unknown(a.kind.paths.shape, "one of several"), a.kind.raw))
    a, b = at.settled(a), at.settled(b)
    if isinstance(a.kind, Public) and isinstance(b.kind, Public):
        return Fact(numbers, at.public([a, b]))
    if isinstance(a.kind, Aggregate) or isinstance(b.kind, Aggregate):
        if not all(isinstance(fact.kind, (Aggregate, Public)) for fact in (a, b)):
            return after_sum(at)
        terms = [fact.kind.terms for fact in (a, b) if isinstance(fact.kind, Aggregate)]
        if len(terms) == 2 and terms[0] == terms[1]:
            return Fact(numbers, Aggregate(terms[0]))
        return Fact(numbers, Aggregate(tuple(term for each in terms for term in each)))
    rows = [fact.kind for fact in (a, b) if isinstance(fact.kind, Rows)]
    named = [each for each in rows if each.order is not None]
    first = (named or rows)[0]
    for each in rows:
        if each.region is not None and loop in each.region.streams():
            return _other_round(at)
        if (each.axes, each.inner) != (first.axes, first.inner) or (
            each.order is not None and (each.order, each.region) != (first.order, first.region)
        ):
            return _other_round(at)
    grouped = any(each.grouped for each in rows)
    return Fact(numbers, replace(first.bare(zero=zero_of(a) and zero_of(b)), grouped=grouped))


def _other_round(at: Context) -> Fact:
    return at.mixed(
        "records-compared",
        "a round of this loop meets records of another round",
        "let each round only add to what it carries",
    )


@rule("scan")
def scan(at: Context, node: Node, *args: Fact) -> tuple[Fact, ...]:
    """A loop of public length.

    **Lemma (slices).** Records that the loop hands over are met in one round only: what that round adds to a
    carry counts once. What every round adds counts once a round.
    **Lemma (invariant).** What is derived of one round from a fact of the carry that implies itself holds of all.
    """
    return _Scan(at, node, args).run()


class _Scan:
    def __init__(self, at: Context, node: Node, args: Sequence[Fact]) -> None:
        self.at, self.node, self.loop = at, node, next(_LOOPS)
        self.body: Graph = node.params["body"]
        self.length: int = int(node.params["length"])
        consts, carries = node.params["consts"], node.params["carries"]
        self.inputs = [n.out for n in self.body.nodes if n.op == "input"]
        self.consts = list(args[:consts])
        self.start = [self._plain(fact) for fact in args[consts : consts + carries]]
        self.marks: dict[int, Term] = {}
        self.distinct: dict[int, int] = {}
        self.counters: dict[int, tuple[int, int]] = {}
        self._count()
        xs = zip(node.args[consts + carries :], args[consts + carries :], strict=True)
        self.varies = any(
            0 in at.graph.varies.get(v.index, ()) for v in node.args[consts + carries :]
        )
        self.slices = [
            self._slice(value, fact, self.inputs[consts + carries + i])
            for i, (value, fact) in enumerate(xs)
        ]

    def _private_rounds(self) -> Fact:
        return self.at.mixed(
            "realised-size",
            "the number of rounds is the number of records, which is private under add-remove",
            "use adjacency='replace-one', or let each round only add its own record",
        )

    def _plain(self, fact: Fact) -> Fact:
        return fact if isinstance(fact.kind, Keys) else self.at.settled(fact)

    def _count(self) -> None:
        """Carries that only count."""
        made = {out.index: n for n in self.body.nodes for out in n.outs}
        offset = self.node.params["consts"]
        for j, start in enumerate(self.start):
            value = self.inputs[offset + j]
            end = made.get(self.body.outputs[j][1].index)
            if end is None or end.op != "add" or value not in end.args or value.floating:
                continue
            (other,) = [arg for arg in end.args if arg != value] or [value]
            step = made.get(other.index)
            if step is None or step.op not in ("constant", "broadcast"):
                continue
            while step.op == "broadcast":
                step = made[step.args[0].index]
            if (
                step.op != "constant"
                or step.params["value"].size != 1
                or not step.params["value"].any()
            ):
                continue
            self.distinct[value.index] = self.loop
            if start.numbers.exactly == 0.0 and int(step.params["value"].reshape(())) == 1:
                self.counters[value.index] = (self.loop, self.length)

    def _slice(self, value: Value, fact: Fact, inner: Value) -> Fact:
        """What a round is handed."""
        if isinstance(fact.kind, Keys):
            return Fact(fact.numbers, self._key_slice(fact.kind))
        fact = self.at.settled(fact)
        kind = fact.kind
        if isinstance(kind, Public):
            known = kind.value
            if known is not None and known.ndim == 1 and len(set(known.tolist())) == len(known):
                self.distinct[inner.index] = self.loop
                if not self.node.params["reverse"] and list(known) == list(range(len(known))):
                    self.counters[inner.index] = (self.loop, self.length)
            return Fact(fact.numbers, Public(None, kind.released))
        if isinstance(kind, Aggregate):
            return Fact(
                fact.numbers, replace(kind, terms=terms_scaled(kind.terms, 1.0, whole=False))
            )
        if isinstance(kind, Mixed):
            return fact
        assert isinstance(kind, Rows)
        if 0 not in kind.axes:
            axes = tuple(a - 1 for a in kind.axes)
            slim = kind.bare(zero=kind.zero, tag=kind.tag, test=kind.test)
            return Fact(fact.numbers, replace(slim, axes=axes))
        if kind.inner > 1:
            return self.at.mixed(
                "records-mixed", "this loop cuts records", "loop over whole records"
            )
        at = kind.axes.index(0)
        axes = tuple(a - 1 for a in kind.axes if a != 0)
        if kind.order is None:
            return Fact(fact.numbers, replace(kind, axes=axes) if axes else Public())
        order = ("round", self.loop, kind.order, at)
        return Fact(
            fact.numbers,
            replace(kind, axes=axes, order=order, region=streamed(kind.region, self.loop)),
        )

    def _key_slice(self, keys: Keys) -> Keys:
        shape = keys.paths.shape[1:]
        parents = {path[:-1] for path in keys.paths.flat}
        split = all(path[-1][0] == "split" for path in keys.paths.flat)
        if shape == () and len(parents) == 1 and split:
            children = frozenset(path[-1][1] for path in keys.paths.flat)
            if len(children) == keys.paths.size:
                found = np.empty((), dtype=object)
                found[()] = (*next(iter(parents)), ("slice", self.loop, children))
                return Keys(found, keys.raw)
        self.at.ledger.keys.look(keys, self.node.line)
        return Keys(
            unknown(shape, "one of several keys that are not the children of one split"), keys.raw
        )

    def run(self) -> tuple[Fact, ...]:
        """Rounds until nothing new is learnt of the carries."""
        at = self.at
        saved = at.ledger.copy()
        carries = [self._first(j, fact) for j, fact in enumerate(self.start)]
        for turn in range(_PASSES):
            at.ledger.restore(saved)
            outs = self._round(carries)
            new = [self._next(j, carries[j], outs[j], turn) for j in range(len(carries))]
            if all(_same(a, b) for a, b in zip(new, carries, strict=True)):
                break
            carries = new
        else:
            found = at.mixed(
                "loop", "no invariant was found for this loop", "make the carries simpler"
            )
            return tuple(found for _ in self.node.outs)
        self._reprice(len(saved.releases))
        ends = [self._end(j, carries[j], outs[j]) for j in range(len(carries))]
        stacked = [
            self._stacked(fact, value)
            for fact, (_, value) in zip(
                outs[len(carries) :], self.body.outputs[len(carries) :], strict=True
            )
        ]
        return tuple(ends + stacked)

    def _round(self, carries: Sequence[Fact]) -> list[Fact]:
        at = self.at
        inner = Context(
            at.adjacency,
            self.body,
            at.ledger,
            (*at.loops, self.loop),
            distinct=dict(self.distinct),
            counters=dict(self.counters),
        )
        for j, fact in enumerate(carries):
            if isinstance(fact.kind, Keys) and isinstance(self.start[j].kind, Keys):
                for path in self.start[j].kind.paths.flat:
                    if (
                        fact.kind.paths.size
                        and ("carried", self.loop, j) in fact.kind.paths.flat[0]
                    ):
                        at.ledger.keys.use(path, "carry", (self.loop, j), self.node.line)
        return inner.derive([*self.consts, *carries, *self.slices])

    def _first(self, j: int, fact: Fact) -> Fact:
        if not isinstance(fact.kind, Keys):
            if self._counts(j):
                return Fact(Numbers(0.0, float(max(self.length - 1, 0))), Public())
            if isinstance(fact.kind, Aggregate):
                return self._marked(j, fact.numbers)
            return (
                Fact(fact.numbers, Public(None, fact.kind.released))
                if isinstance(fact.kind, Public)
                else fact
            )
        offset = self.node.params["consts"]
        if self.body.outputs[j][1] == self.inputs[offset + j]:
            return fact  # the same key in each round
        return Fact(fact.numbers, self._grown(fact.kind, ("carried", self.loop, j)))

    def _counts(self, j: int) -> bool:
        """Whether this carry is 0, 1, 2, ..."""
        return self.inputs[self.node.params["consts"] + j].index in self.counters

    def _grown(self, keys: Keys, *steps: Any) -> Keys:
        found = np.empty(keys.paths.shape, dtype=object)
        for index in np.ndindex(*keys.paths.shape):
            found[index] = (*keys.paths[index], *steps)
        return Keys(found, keys.raw)

    def _marked(self, j: int, numbers: Numbers) -> Fact:
        name = ("carry", self.loop, j)
        mark = Term(name, frozenset({name}), 1.0)
        self.marks[j] = mark
        return Fact(Numbers(inf=numbers.inf, nan=numbers.nan), Aggregate((mark,)))

    def _next(self, j: int, old: Fact, out: Fact, turn: int) -> Fact:
        """A fact of the carry that holds before this round and after it."""
        if isinstance(old.kind, Keys):
            return self._next_key(j, old, out)
        if isinstance(old.kind, Mixed) or self._counts(j):
            return old
        if j in self.marks:
            flags = Numbers(
                inf=old.numbers.inf or out.numbers.inf, nan=old.numbers.nan or out.numbers.nan
            )
            if self._added(j, out) is None:
                return (
                    Fact(of.WILD, out.kind) if isinstance(out.kind, Mixed) else after_sum(self.at)
                )
            return Fact(flags, old.kind)
        out = self.at.settled(out)
        if isinstance(old.kind, Public) and self._accumulates(out):
            return self._marked(j, old.numbers.joined(out.numbers))
        found = _joined(self.at, old, out, self.loop)
        return Fact(_widened(old.numbers, found.numbers), found.kind)

    def _accumulates(self, out: Fact) -> bool:
        if isinstance(out.kind, Aggregate):
            return True
        rows = out.kind
        return (
            isinstance(rows, Rows)
            and not rows.axes
            and rows.region is not None
            and rows.region.stream == self.loop
        )

    def _added(self, j: int, out: Fact) -> tuple[Term, ...] | None:
        """What a round adds to a carry that is a sum."""
        if not isinstance(out.kind, Aggregate):
            return None
        own = [term for term in out.kind.terms if _mark(term)]
        if own != [self.marks[j]]:
            return None
        return tuple(term for term in out.kind.terms if not _mark(term))

    def _next_key(self, j: int, old: Fact, out: Fact) -> Fact:
        assert isinstance(old.kind, Keys)
        if isinstance(out.kind, Keys) and out.kind.paths.shape == old.kind.paths.shape:
            pairs = list(zip(old.kind.paths.flat, out.kind.paths.flat, strict=True))
            if all(before == after for before, after in pairs):
                return old
            if all(after[: len(before)] == before for before, after in pairs) and len(pairs) == 1:
                self.at.ledger.keys.returned.extend((after, CARRIED) for _, after in pairs)
                return old
        lost = unknown(old.kind.paths.shape, "carried through a loop in a way that is not followed")
        return Fact(of.ANY, Keys(lost, old.kind.raw))

    def _reprice(self, before: int) -> None:
        """A release of the round's own records costs once, any other once a round."""
        made = self.at.ledger.releases
        for i in range(before, len(made)):
            each = made[i]
            own = all(self._own(term) for term in each.terms)
            terms = tuple(self._left(term) for term in each.terms)
            if self.varies and not own:
                terms = tuple(replace(t, scale=math.inf, why="private-rounds") for t in terms)
            made[i] = Release(
                each.line, terms, each.noise, each.times * (1 if own else self.length)
            )

    def _own(self, term: Term) -> bool:
        return term.region is not None and term.region.stream == self.loop

    def _left(self, term: Term) -> Term:
        """The term seen from outside the loop, where numbers of one round have no meaning."""
        term = outlived(term, self.body)
        if not self._own(term):
            return term
        assert term.region is not None
        return replace(term, region=term.region.within)

    def _end(self, j: int, carry: Fact, out: Fact) -> Fact:
        if isinstance(carry.kind, Keys):
            return Fact(of.ANY, self._grown(carry.kind, ("end", self.loop)))
        offset = self.node.params["consts"]
        fixed = self.body.outputs[j][1] == self.inputs[offset + j]
        if self.varies and not fixed and isinstance(carry.kind, Public):
            return self._private_rounds()
        if self._counts(j):
            return Fact(Numbers(float(self.length), float(self.length)), carry.kind)
        if j not in self.marks or isinstance(carry.kind, Mixed):
            return carry
        added = self._added(j, out)
        if self.varies and not all(self._own(term) for term in added or ()):
            return self._private_rounds()
        start = self.start[j].kind
        if added is None:
            return after_sum(self.at)
        terms = tuple(
            replace(
                self._left(t), scale=t.scale * (1 if self._own(t) or t.scale == 0 else self.length)
            )
            for t in added
        )
        before = start.terms if isinstance(start, Aggregate) else ()
        numbers = Numbers(inf=carry.numbers.inf, nan=carry.numbers.nan)
        return Fact(numbers, Aggregate((*before, *terms)))

    def _stacked(self, fact: Fact, value: Value) -> Fact:
        """What the rounds hand out, one after the other."""
        at = self.at
        if isinstance(fact.kind, Keys):
            at.ledger.keys.look(fact.kind, self.node.line)
            lead = value.shape[:-1] if fact.kind.raw else value.shape
            lost = unknown((self.length, *lead), "handed out by a loop")
            return Fact(of.ANY, Keys(lost, fact.kind.raw))
        fact = at.settled(fact)
        kind = fact.kind
        if isinstance(kind, Aggregate):
            return self._stacked_sums(fact, kind)
        if not isinstance(kind, Rows):
            return Fact(fact.numbers, Public(None, True)) if isinstance(kind, Public) else fact
        if any(
            _within(held.unit, self.body) for held in (kind.tag, kind.member, kind.test) if held
        ):
            kind = kind.bare(zero=kind.zero)
        axes = tuple(a + 1 for a in kind.axes)
        if kind.region is None or kind.region.stream != self.loop:
            return Fact(fact.numbers, replace(kind.bare(zero=kind.zero), axes=axes))
        region = self._left(Term("", frozenset(), 0.0, region=kind.region)).region
        order = kind.order
        if isinstance(order, tuple) and order[:2] == ("round", self.loop):
            place = order[3]
            axes = (*axes[:place], 0, *axes[place:])
            order = order[2]
        else:
            axes, order = (0, *axes), ("stacked", self.loop, order)
        return Fact(fact.numbers, replace(kind, axes=axes, order=order, region=region))

    def _stacked_sums(self, fact: Fact, kind: Aggregate) -> Fact:
        if any(_mark(term) for term in kind.terms):
            return self.at.mixed(
                "running-sum", "running sums of a loop leave it", "release the last one only"
            )
        if all(self._own(term) for term in kind.terms):
            member, why = None, "no-clip"
            region = self._left(kind.terms[0]).region if kind.terms else None
            terms = [self._left(term) for term in kind.terms]
            if len(terms) == 1 and math.isfinite(terms[0].scale):
                (term,) = terms
                member, why = Member(term.source, term.tokens, term.scale, unit=term.unit), ""
            zero = all(term.zero for term in kind.terms)
            rows = Rows(
                (0,), ("rounds", self.loop), region, grouped=True, zero=zero, member=member, why=why
            )
            return Fact(fact.numbers, rows)
        root = math.sqrt(self.length)
        terms = terms_scaled([self._left(t) for t in kind.terms], root, whole=False)
        return Fact(fact.numbers, Aggregate(terms))


def _within(unit: Powers, body: Graph) -> bool:
    """Whether a number of a round, or of a branch, is in it."""
    return any(graph == id(body) for (graph, _), _ in unit)


def outlived(term: Term, body: Graph) -> Term:
    """A term seen from outside of a body; nothing bounds one in units of the body's own numbers."""
    if not _within(term.unit, body):
        return term
    return replace(term, scale=math.inf, why="noise-unit", unit=())


def _mark(term: Term) -> bool:
    return isinstance(term.source, tuple) and bool(term.source) and term.source[0] == "carry"


def _widened(old: Numbers, new: Numbers) -> Numbers:
    """An interval that is still growing has no end."""
    return replace(
        new,
        lo=old.lo if new.lo >= old.lo else -math.inf,
        hi=old.hi if new.hi <= old.hi else math.inf,
    )


def _same(a: Fact, b: Fact) -> bool:
    if isinstance(a.kind, Keys) or isinstance(b.kind, Keys):
        return (
            isinstance(a.kind, Keys)
            and isinstance(b.kind, Keys)
            and list(a.kind.paths.flat) == list(b.kind.paths.flat)
        )
    return a.numbers == b.numbers and _core(a) == _core(b)


def _core(fact: Fact) -> Any:
    kind = fact.kind
    if isinstance(kind, Rows):
        return (kind.axes, kind.order, kind.region, kind.inner, kind.grouped, kind.zero)
    if isinstance(kind, Mixed):
        return ("mixed", kind.kind)
    if isinstance(kind, Public):
        return ("public", kind.released)
    return kind
