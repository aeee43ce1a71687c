"""The program: nodes made of primitives, each with its line and with what is known of its value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable
from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import DType
from dpcheck.program.facts.kinds import RANDOM, Aggregate, Answers, Fact, Ids, Public, Rows
from dpcheck.program.facts.rowsets import Shape
from dpcheck.program.releases import Release
from dpcheck.replay.draws import UNKNOWN, Line

if TYPE_CHECKING:
    from dpcheck.program.joints import Joint

PUBLICLY = "outside of a release"  # how a draw is used that protects nothing
BLOCK = 4096  # draws of more numbers than that are one block, used as a whole


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Node:
    """One value: `primitive` of `args` with public `params`."""

    id: int
    primitive: str
    args: tuple[Node, ...]
    params: Mapping[str, object]
    shape: Shape
    dtype: DType
    line: Line
    fact: Fact = field(repr=False)

    @property
    def ndim(self) -> int:
        """How many axes."""
        return len(self.shape)

    @property
    def public(self) -> bool:
        """Whether it is the same for all data."""
        return isinstance(self.fact, Public)


@dataclass(frozen=True, slots=True)
class Primitive:
    """A word of the language: the type of its result, the rule of its facts, and what it computes."""

    name: str
    rule: Callable[..., Made]
    evaluate: Callable[..., object]
    lemma: str


@dataclass(frozen=True, slots=True)
class Made:
    """What a rule concludes: shape, type and fact of the result."""

    shape: Shape
    dtype: DType
    fact: Fact


PRIMITIVES: dict[str, Primitive] = {}


def primitive(
    name: str, lemma: str, evaluate: Callable[..., object]
) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Register a primitive by its rule."""

    def register(rule: Callable[..., Made]) -> Callable[..., Made]:
        if name in PRIMITIVES:
            raise ValueError(f"two rules for {name}")
        PRIMITIVES[name] = Primitive(name, rule, evaluate, lemma)
        return rule

    return register


class Graph:
    """The nodes of one program, in the order they are computed; equal pure expressions are one node."""

    def __init__(self, adjacency: Adjacency) -> None:
        from dpcheck.program import rules

        rules.load()
        self.adjacency = adjacency
        self.nodes: list[Node] = []
        self.releases: list[Release] = []
        self.assumes: dict[str, None] = {}
        self.used: set[int] = set()  # draws that protect a release, or were used for themselves
        self.public: set[int] = set()  # draws that were used for themselves, and protect nothing
        self.guards: list[
            tuple[Node, bool]
        ] = []  # released values that decide whether this is reached
        self.when: dict[
            int, tuple[tuple[Node, bool], ...]
        ] = {}  # nodes that are not always computed
        self.scratch: set[int] = set()  # nodes of single records, which nobody computes
        self.joints: list[Joint] = []  # releases that are compared before anybody sees them
        self.with_hits: list[list[Release]] = []  # no more of them are made than answers are hits
        self.drawn_at: dict[int, tuple[tuple[Node, bool], ...]] = {}  # the path of a single draw
        self.one_of: dict[
            frozenset[int], tuple[frozenset[int], ...]
        ] = {}  # draws, one of which it is
        self.in_order: dict[
            int, object
        ] = {}  # draws made one by one for each record, by their loop
        self.forms: dict[int, tuple[Node, dict[int, float]] | None] = {}  # see rules/linear.py
        self.line = UNKNOWN
        self._next_draw = 0
        self._known: dict[object, Node] = {}

    @property
    def public_rows(self) -> bool:
        """Whether the number of rows is the same for all neighbours."""
        return self.adjacency is not Adjacency.ADD_REMOVE

    def add(self, name: str, *args: Node, **params: object) -> Node:
        """A node, or the one that is there already."""
        if any(isinstance(arg.fact, Answers) for arg in args) and name != "answer":
            args = self._seen_where_needed(name, args, params)
        key = (name, *(arg.id for arg in args), _frozen(params))
        path = tuple((test.id, answer) for test, answer in self.guards)
        if name not in IMPURE:
            for outer in range(
                len(path) + 1
            ):  # what was computed before a branch is there inside of it
                if (key, path[:outer]) in self._known:
                    return self._known[(key, path[:outer])]
        found = PRIMITIVES[name].rule(self, *args, **params)
        rounds = found.dtype == np.float16 and name not in EXACT_IN_HALF
        if rounds and isinstance(found.fact, Rows | Aggregate):
            self.refuse(
                "half-precision",
                "private values in half precision are rounded by more than the proof allows for",
                "compute in float64: .astype(float) first",
            )
        if name not in EXACT_IN_HALF and name != "quantile" and self._is_lost(found):
            self.refuse(
                "rounding",
                f"a private value moves by less than {found.dtype} can tell apart, so that rounding decides",
                "use numbers near 1: clip them, or take another unit",
            )
        node = Node(
            len(self.nodes), name, args, params, found.shape, found.dtype, self.line, found.fact
        )
        self.nodes.append(node)
        seen = getattr(found.fact, "release", None)
        if seen is not None and hasattr(seen, "node"):
            seen.node = node
        self._known[(key, path)] = node
        if self.guards:
            self.when[node.id] = tuple(self.guards)
        if not self.scratch.isdisjoint(arg.id for arg in args):
            self.scratch.add(node.id)
        return node

    def _seen_where_needed(
        self, name: str, args: tuple[Node, ...], params: Mapping[str, object]
    ) -> tuple[Node, ...]:
        """Answers of records are seen by whatever is no function of single entries of them."""
        from dpcheck.program.rules import answers

        if answers.stay(name, args, params):
            return args
        return tuple(
            self.add("answer", arg) if isinstance(arg.fact, Answers) else arg for arg in args
        )

    def _is_lost(self, made: Made) -> bool:
        """Whether entries move by less than a step between two floats of their size, or near 0.

        Sums of a private number of records are taken to be no larger than single precision can count.
        """
        fact, size = made.fact, made.dtype.itemsize
        if (
            made.dtype.kind != "f"
            or size not in _SMALLEST
            or not isinstance(fact, Rows | Aggregate)
        ):
            return False
        moves = fact.box.width if isinstance(fact, Rows) else fact.diff.coordinates
        large = np.where(np.isfinite(fact.box.magnitude), fact.box.magnitude, 0.0)
        if size == 4 and isinstance(fact, Aggregate) and not self.public_rows:
            large = np.zeros(())
        step = np.maximum(_SMALLEST[size], large * float(np.finfo(made.dtype.name).eps) / 2)
        return bool(np.any((moves > 0) & (moves < step)))

    def constant(self, value: object) -> Node:
        """A public array or number."""
        array = np.array(value)  # a copy, which nobody else can write to
        array.setflags(write=False)
        key: object = ("constant", array.dtype.str, array.shape, array.tobytes())
        kept: object = array
        if type(value) in (bool, int, float):  # takes on the type of what it meets
            key, kept = ("constant", type(value), repr(value)), value
        elif array.dtype.hasobject:
            key = ("constant", id(array))
        if key not in self._known:
            fact = Public(box=boxes.point(array), value=kept)
            self._known[key] = self.given("constant", array.shape, array.dtype, fact, value=kept)
        return self._known[key]

    def given(self, name: str, shape: Shape, dtype: DType, fact: Fact, **params: object) -> Node:
        """A node that is no function of others: a constant, or the data."""
        node = Node(len(self.nodes), name, (), params, shape, dtype, self.line, fact)
        self.nodes.append(node)
        if name == "element":
            self.scratch.add(node.id)
        return node

    # Draws and releases -------------------------------------------------------------------------

    def new_ids(self, count: int | None) -> Ids:
        """Ids of numbers that are drawn now, or one id for many of them."""
        many = 1 if count is None or count > BLOCK else count
        first = self._next_draw
        self._next_draw += many
        self.drawn_at[first] = tuple(self.guards)
        return np.arange(first, first + many, dtype=np.int64)

    def use(self, ids: Ids | Sequence[int], what: str) -> None:
        """Each drawn number protects one number of one release."""
        self.check_path()
        found = np.asarray(ids).ravel().tolist()
        if len(set(found)) < len(found):
            self.refuse(
                "shared-noise",
                f"one drawn number is added to several numbers ({what})",
                "draw one for each: pass size=...",
            )
        if what == PUBLICLY and self.public.issuperset(found):
            return  # public randomness already, and nothing more than that
        if not self.used.isdisjoint(found):
            self.refuse(
                "reused-noise",
                f"a drawn number is used a second time ({what})",
                "draw fresh noise for every release",
            )
        self.used.update(found)
        if what == PUBLICLY:
            self.public.update(found)

    def check_path(self) -> None:
        """Nothing is released, and no drawn number used, on one of the sides that a coin decides between.

        Given the side, numbers that the coin was made of have another law; and so they may protect nothing
        there. A value that is one of two is a `select` by the coin, which uses it up.
        """
        if any(isinstance(test.fact, RANDOM) for test, _ in self.guards):
            self.refuse(
                "random-path",
                "a random number decides what happens here",
                "choose the noise by it alone, and add the noise to the private value after that",
            )

    def release(self, release: Release) -> None:
        """One release more."""
        self.check_path()
        release.path = tuple((test.id, answer) for test, answer in self.guards)
        release.made_at = len(self.nodes)
        self.releases.append(release)

    def join(self, joint: Joint) -> None:
        """Releases that are compared before anybody sees them."""
        self.joints.append(joint)

    def seen(self, node: Node) -> tuple[object] | None:
        """The value of what is released, at run time; None while a program is only read."""
        del node
        return None

    def refuse(self, kind: str, message: str, remedy: str) -> NoReturn:
        """Not provable, at the line that is being read."""
        where = str(self.line)
        raise NotProvable(
            f"not provable: {where}: {message}; {remedy}.", line=where, remedy=remedy, kind=kind
        )


_SMALLEST = {8: 1e-280, 4: 1e-30}  # of floats of so many bytes, with all their digits


# Every use is another one; the same value plus the same drawn number is the same release.
IMPURE = frozenset({"draw", "respond", "pick"})
# They round nothing but public numbers, which `boxes.fitted` rounds, too.
EXACT_IN_HALF = frozenset(
    [
        *("minimum", "maximum", "fmin", "fmax", "negative", "positive", "absolute", "sign", "fill"),
        *("select", "filter", "batch", "index", "reshape", "transpose", "broadcast", "whole"),
        *("sort", "extreme", "concatenate"),
    ]
)


def _frozen(value: object) -> object:
    """Parameters as a key."""
    if isinstance(value, dict):
        return tuple((k, _frozen(v)) for k, v in sorted(value.items()))
    if isinstance(value, tuple | list):
        return (type(value).__name__, *(_frozen(v) for v in value))
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, float | int | bool | np.generic):
        return (type(value).__name__, repr(value))
    try:
        hash(value)
    except TypeError:
        return ("id", id(value))
    return value
