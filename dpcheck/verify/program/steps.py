"""One node at a time: what its rule finds must imply what the certificate states of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpcheck.verify.program import arrays, elementwise, noise, randomness, records, sums
from dpcheck.verify.program.boxes import WHOLE, Box, pair
from dpcheck.verify.program.common import (
    RULES,
    NoCertificate,
    Node,
    State,
    element,
    holds_where,
    numbers,
)
from dpcheck.verify.program.facts import (
    Aggregate,
    Coins,
    Dim,
    Drawn,
    Fact,
    OfUniform,
    Places,
    Public,
    Region,
    Released,
    Rows,
    RowSet,
)
from dpcheck.verify.program.numbers import ZERO, Number, read
from dpcheck.verify.program.sizes import NORMS, UNKNOWN, Size
from dpcheck.verify.result import Refused

Json = Mapping[str, Any]
FAMILIES = (arrays, elementwise, noise, randomness, records, sums)  # they register their rules
NAMES: dict[type[Fact], str] = {
    Public: "public",
    Rows: "rows",
    Aggregate: "aggregate",
    Released: "released",
    Drawn: "draw",
    Coins: "coins",
    OfUniform: "draw",
    Places: "places",
}
NOTHING_KNOWN = Released(box=WHOLE)


@dataclass(slots=True)
class Steps:
    """The nodes so far. `settle` is given each node and the fact its rule finds, and says what counts."""

    state: State
    settle: Callable[[Node, Fact], Fact]
    known: set[int] = field(default_factory=set)  # every id that was ever used

    @property
    def nodes(self) -> dict[int, Node]:
        """Those that may be used."""
        return self.state.nodes

    @property
    def count(self) -> int:
        """How many nodes were checked."""
        return len(self.known)

    def add(self, data: Json) -> Node:
        """One node more, checked."""
        node = self.read(data)
        node.when = self.state.path = self._when(node, data.get("when", []))
        found = self._found(node)
        _check_precision(node, found)
        node.given |= _conditions(node)
        if node.given and not isinstance(found, Rows):
            node.refuse("what is known on one side of a comparison only is used on both")
        node.fact = self.settle(node, found)
        self.nodes[node.id] = node
        return node

    def _when(self, node: Node, value: object) -> tuple[tuple[int, bool], ...]:
        """The released values that decide whether it is computed: those stated, and those of its operands."""
        found: list[tuple[int, bool]] = []
        listed: list[Any] = value if isinstance(value, list) else [value]
        for each in listed:
            test = (
                each[0]
                if isinstance(each, list) and len(each) == 2 and type(each[1]) is bool
                else None
            )
            decides = self.nodes.get(test) if type(test) is int else None
            if (
                decides is None
                or not isinstance(decides.fact, Released | Public)
                or not _one_way(tuple(found), decides.when)
            ):
                node.refuse("a branch is decided by a released value that is known before")
            found = [*max(tuple(found), decides.when, key=len)]
            self.state.path = tuple(found)
            self.state.open(decides)
            found.append((decides.id, each[1]))
        one_of = node.primitive in ("select", "either")
        paths = []
        for i, arg in enumerate(node.args):
            side = ((node.args[0].id, i == 1),) if one_of and i else None
            paths.append(arg.when[:-1] if arg.when and arg.when[-1:] == side else arg.when)
        path = max([tuple(found), *paths], key=len)
        paths[:0] = [tuple(found)]
        whole = [tuple(found), *(arg.when for arg in node.args)]
        for own, when in zip(paths, whole, strict=True):
            if not (_one_way(own, path) and own in (when, path)):
                node.refuse("it uses what another branch computes")
        return path

    def _found(self, node: Node) -> Fact:
        if node.primitive == "data":
            return records.data(self.state, node)
        if node.primitive == "constant":
            return records.constant(node)
        if node.primitive not in RULES:
            raise NoCertificate(f"no certificate yet: primitive {node.primitive} ({node.line})")
        if not node.args and node.primitive not in ("draw", "apply"):
            node.refuse("it has no operands")
        try:
            return RULES[node.primitive](self.state, node)
        except (
            AssertionError,
            AttributeError,
            IndexError,
            KeyError,
            TypeError,
            ValueError,
        ) as error:
            raise Refused(
                f"node {node.id} ({node.primitive}, {node.line}): not built as its rule asks ({error!r})"
            ) from None

    def read(self, data: Json) -> Node:
        """A node of the file, of which nothing is known yet."""
        found, args, params = data.get("id"), data.get("args", []), data.get("params", {})
        primitive, shape = data.get("primitive"), data.get("shape")
        dtype, line = data.get("dtype"), data.get("line", "")
        if type(found) is not int or found < 0 or found in self.known:
            raise Refused(f"a node has an id of its own, not {found!r}")
        self.known.add(found)
        texts = all(isinstance(each, str) for each in (primitive, dtype, line))
        if (
            not texts
            or not isinstance(params, Mapping)
            or not isinstance(args, list)
            or not isinstance(shape, list)
        ):
            raise Refused(f"node {found} is not written as a node")
        if any(type(each) is not int or each not in self.nodes for each in args):
            raise Refused(f"node {found} is computed from nodes that are not known there")
        dims = tuple(self._dim(each, found) for each in shape)
        return Node(
            found,
            str(primitive),
            [self.nodes[i] for i in args],
            params,
            dims,
            str(dtype),
            str(line),
            NOTHING_KNOWN,
        )

    def _dim(self, value: object, own: int) -> Dim:
        if isinstance(value, Mapping):
            source = value.get("rows")
            made = next(
                (each for each in self.state.row_sets.values() if each.first == source), None
            )
            if made is None and source == own:
                made = RowSet(own, None)  # the rule that makes it puts its own in its place
            if made is None:
                raise Refused(f"{value!r} is no length")
            return made
        if type(value) is not int or value < 0:
            raise Refused(f"{value!r} is no length")
        return value


# They round nothing but public numbers.
_EXACT_IN_HALF = frozenset(
    [
        *("minimum", "maximum", "fmin", "fmax", "negative", "positive", "absolute", "sign", "fill"),
        *("select", "filter", "batch", "index", "reshape", "transpose", "broadcast", "whole"),
        *("sort", "extreme", "concatenate", "data"),
    ]
)
_SMALLEST = {
    "float32": Fraction(1, 2**100),
    "float64": Fraction(1, 2**900),
}  # with all their digits, and more
_STEP = {
    "float32": Fraction(1, 2**24),
    "float64": Fraction(1, 2**53),
}  # half of one between 1 and the next


def _check_precision(node: Node, found: Fact) -> None:
    """Private values in half precision are only moved; none moves by less than floats of its size are apart.

    Lemma. A difference below a step between two floats is rounded to nothing, or to a whole step.
    """
    if not isinstance(found, Rows | Aggregate):
        return
    node.need(
        node.dtype != "float16" or node.primitive in _EXACT_IN_HALF, "arithmetic in half precision"
    )
    if node.dtype not in _STEP:
        return
    sizes = found.box.size
    moves = found.box.width if isinstance(found, Rows) else found.size.entries
    if len(moves) != len(sizes):
        moves, sizes = pair(moves, sizes)
    for move, size in zip(moves, sizes, strict=True):
        large = ZERO if isinstance(size, float) else size
        step = max(_SMALLEST[node.dtype], large * _STEP[node.dtype])
        node.need(not 0 < move < step, "differences that floats do not tell apart")


def _one_way(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether one path goes on where the other ends."""
    return all(a == b for a, b in zip(one, other, strict=False))


def _conditions(node: Node) -> frozenset[tuple[int, Region]]:
    """What the facts of its operands are true under, without what a select makes sure of.

    Lemma. select(c, x, y) takes x for records of which c is true only, so a fact of x that is true of these
    is enough; y likewise.
    """
    if node.primitive != "select":
        return frozenset().union(*(arg.given for arg in node.args))
    test, x, y = node.args
    sides = [frozenset(holds_where(test, answer).items()) for answer in (True, False)]
    return test.given | (x.given - sides[0]) | (y.given - sides[1])


def rule_name(primitive: str) -> str:
    """The rule of a primitive, by the name of its function."""
    return RULES[primitive].__name__ if primitive in RULES else primitive


def agreement(stated: Mapping[str, Any]) -> Callable[[Node, Fact], Fact]:
    """Every node by the rule and with the fact that are stated for it."""

    def settle(node: Node, found: Fact) -> Fact:
        step, name = stated.get(str(node.id)), rule_name(node.primitive)
        if not isinstance(step, Mapping) or step.get("rule") != name:
            node.refuse(f"the rule for it is {name!r}")
        return agreed(node, found, step.get("fact"))

    return settle


def agreed(node: Node, found: Fact, stated: object) -> Fact:
    """What is stated, if what was found implies it; what relates nodes to each other is kept."""
    if not isinstance(stated, Mapping) or stated.get("kind") != NAMES[type(found)]:
        node.refuse(f"it is {NAMES[type(found)]}, which is not what is stated")
    if isinstance(found, Public | Drawn | OfUniform | Coins | Places):
        return found
    shape = element(replace_fact(node, found))
    box = stated_box(node, stated, math.prod(shape), found.box.plain)
    if not box.holds(found.box):
        node.refuse("its values may lie outside of the interval that is stated")
    if not isinstance(found, Rows | Aggregate):
        return replace(found, box=box)
    size = stated_size(node, stated.get("size"), math.prod(shape))
    if not size.holds(found.size):
        what = "a row of it may be larger" if isinstance(found, Rows) else "it may move further"
        node.refuse(f"{what} than is stated")
    return replace(found, box=box, size=size)


def replace_fact(node: Node, fact: Fact) -> Node:
    """The node with a fact."""
    node.fact = fact
    return node


def _entries(node: Node, value: object, count: int, name: str) -> tuple[Number, ...]:
    found = numbers(value, name)
    if len(found) not in (1, count):
        node.refuse(f"{name} has another number of entries")
    return found


def stated_box(node: Node, stated: Json, count: int, plain: bool) -> Box:
    """The interval of every entry; nothing is known where none is stated."""
    if "low" not in stated:
        return Box(WHOLE.lo, WHOLE.hi, nan=True)
    lo, hi = (
        _entries(node, stated["low"], count, "low"),
        _entries(node, stated.get("high"), count, "high"),
    )
    if len(lo) != len(hi) or not all(a <= b for a, b in zip(lo, hi, strict=True)):
        node.refuse("its interval has no order")
    return Box(lo, hi, stated.get("nan") is not False, plain)


def stated_size(node: Node, stated: object, count: int) -> Size:
    """Bounds of norms; nothing is known of those that are left out."""
    if stated is None:
        return UNKNOWN
    if not isinstance(stated, Mapping):
        return node.refuse("size must be an object")
    entries = _entries(node, stated.get("entries", "inf"), count, "entries")
    norms = {name: read(stated.get(name, "inf"), name) for name in NORMS}
    if any(each < 0 for each in (*entries, *norms.values())):
        node.refuse("a size is not negative")
    return Size(entries, **norms)
