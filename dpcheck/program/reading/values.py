"""What the reader's variables hold beside plain Python values.

Arrays are handles on a storage, so that whoever writes through one name or view is seen by all: reading a
view applies its steps to what the storage holds now.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dpcheck.program.facts.kinds import Public, Released
from dpcheck.program.facts.rowsets import RowSet
from dpcheck.program.graph import Graph, Node


class Value:
    """Something the reader follows; no code of anybody else ever sees it."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]


@dataclass(slots=True, eq=False)
class Scalar(Value):
    """One number, or one record's worth of it: it never changes."""

    node: Node


@dataclass(slots=True, eq=False)
class Storage:
    """Memory: what it holds now, and why it must not be written or even read, if so."""

    node: Node
    locked: str | None = None
    growing: bool = (
        False  # in a loop over records that adds to it: what it holds in between nobody knows
    )
    stale: str | None = None


Step = tuple[str, Mapping[str, object]]


@dataclass(slots=True, eq=False)
class Array(Value):
    """An array, or a view of one; `form` is list where the data are a plain list of records.

    `weak` if the numbers of the list are Python's and not numpy's, None if a test decides.
    """

    storage: Storage
    steps: tuple[Step, ...] = ()
    form: type | None = None
    weak: bool | None = True

    def node(self, graph: Graph) -> Node:
        """What it holds now."""
        if self.storage.growing:
            graph.refuse(
                "private-control",
                "an array is read in the loop over records that adds to it",
                "use it after the loop",
            )
        if self.storage.stale is not None:
            graph.refuse("released-path", self.storage.stale, "make it on every path")
        found = self.storage.node
        for name, params in self.steps:
            found = graph.add(name, found, **params)
        return found


@dataclass(slots=True, eq=False)
class Opaque(Value):
    """Something computed from released values, of any type: to be returned, or computed with."""

    node: Node


@dataclass(slots=True, eq=False)
class Growing(Opaque):
    """A list or dict of released values, whose length a released value decides; it may be written."""

    kind: type = list


@dataclass(slots=True, eq=False)
class Undecided(Value):
    """A variable that is one of several values: the first one whose test is true, else the last."""

    options: tuple[tuple[tuple[Node, bool] | None, object], ...]


@dataclass(slots=True, eq=False)
class Generator(Value):
    """A source of secret random numbers; `methods` if they are not those of a numpy Generator."""

    name: str
    methods: Mapping[str, Callable[..., object]] | None = None


@dataclass(slots=True, eq=False)
class Mechanism(Value):
    """A mechanism of a library: it adds noise of a law and a scale, and then computes with the result."""

    name: str
    law: str
    scale: float
    library: str
    whole: bool
    after: Callable[..., object] | None = None


@dataclass(slots=True, eq=False)
class KnownGenerator(Value):
    """A generator with a seed in the code: what it draws is public."""

    real: object


@dataclass(slots=True, eq=False)
class Scope:
    """The variables of one call, and where its free names are found."""

    names: dict[str, object]
    outer: Scope | None
    globals: dict[str, object]
    local: frozenset[str]
    path: str
    nonlocals: frozenset[str] = frozenset()
    outlives: bool = False  # variables of a function that has returned


@dataclass(slots=True, eq=False)
class Function(Value):
    """A function of the user's that is read when it is called."""

    name: str
    tree: ast.FunctionDef | ast.Lambda
    scope: Scope | None  # where it was defined, if while reading
    globals: dict[str, object]
    path: str
    defaults: tuple[object, ...] = ()
    keyword_defaults: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Iterator(Value):
    """What zip(), map(), a generator expression or dict.items() gives: its items, read ahead of time.

    Python makes them when they are asked for, so that `sources` must still be what they were, and where
    code runs for each item (`statement`) the statement must be the same. `once` if it is empty afterwards.
    """

    items: list[object]
    sources: tuple[object, ...]
    once: bool = True
    statement: int | None = None
    used: bool = False
    before: list[object] = field(default_factory=list)
    column: Array | Listed | None = None  # in the place of items, where they are one a record

    def __post_init__(self) -> None:
        self.before = [contents(each) for each in self.sources]

    @property
    def changed(self) -> bool:
        """Whether a source was written since."""
        return any(
            not same_contents(contents(each), before)
            for each, before in zip(self.sources, self.before, strict=True)
        )


@dataclass(slots=True, eq=False)
class Keys(Value):
    """The keys of a dict, whatever its items are."""

    of: dict[object, object]


@dataclass(slots=True, eq=False)
class Partial(Value):
    """functools.partial(function, *args, **named)."""

    function: object
    args: tuple[object, ...]
    named: dict[str, object]


def contents(source: object) -> object:
    """What a container or an array holds now, to compare it with later."""
    if isinstance(source, Keys):
        return list(source.of)
    if isinstance(source, Array):
        return source.storage.node
    if type(source) is dict:
        return [*source, *source.values()]
    return list(source) if type(source) is list else None


def same_contents(now: object, before: object) -> bool:
    """Whether nothing was written in between."""
    if isinstance(now, list) and isinstance(before, list):
        return len(now) == len(before) and all(
            one is other for one, other in zip(now, before, strict=True)
        )
    return now is before


@dataclass(slots=True, eq=False)
class Method(Value):
    """owner.name, to be called; `owner` is a value or a plain object."""

    owner: object
    name: str


@dataclass(slots=True, eq=False)
class Bound(Value):
    """A function of the user's with its first arguments."""

    function: Function
    first: tuple[object, ...]


@dataclass(slots=True, eq=False)
class Instance(Value):
    """An object of a class of the user's, made while reading, or a constant."""

    kind: type
    attributes: dict[str, object]
    locked: bool = False


ITS_OWN = "labels of its own"  # 0, 1, 2 and so on
BY_PLACE = "none"  # it meets others place by place


@dataclass(slots=True, eq=False)
class Series(Value):
    """A column of a table: one value a record, or one for each public label."""

    array: Array
    name: object = None
    labels: tuple[object, ...] | None = None
    values: tuple[object, ...] | None = None  # the public list a column of categories is from
    index: str | None = None  # whose labels its rows have: those of the data, if nothing is said


@dataclass(slots=True, eq=False)
class Table(Value):
    """A DataFrame with one row a record; `locked` if it outlives the call."""

    columns: dict[object, Series]
    rows: RowSet
    locked: bool = False


@dataclass(slots=True, eq=False)
class Listed(Value):
    """A list of records, each of them a dict with these keys, or a tuple of as many items."""

    columns: dict[object, Array]
    kind: type


@dataclass(slots=True, eq=False)
class Grouped(Value):
    """table.groupby(column), perhaps of one column; `every` if all categories of the type are listed."""

    table: Table
    keys: tuple[Series, ...]
    column: object = None
    every: bool = False


@dataclass(slots=True, eq=False)
class Counted(Value):
    """A result with one entry for each group that appears: nothing, until it is put on public categories."""

    keys: tuple[Node, ...]
    weight: Node | None
    how: str
    every: tuple[object, ...] | None = None  # all categories, where all of them are listed
    table: bool = False  # the first key along the rows of a table, the second along its columns


@dataclass(slots=True, eq=False)
class Grid(Value):
    """A table with public labels along both sides."""

    array: Array
    rows: tuple[object, ...]
    columns: tuple[object, ...]


@dataclass(slots=True, eq=False)
class FrozenLaw(Value):
    """A law of scipy.stats with its place and scale, which draws by rvs()."""

    law: str
    place: object
    scale: object


@dataclass(slots=True, eq=False)
class Word(Value):
    """One of a public list of texts, in a loop over records: see lowering/words.py."""

    texts: tuple[str, ...]
    place: Scalar


@dataclass(slots=True, eq=False)
class Others(Value):
    """A public list of different values without the one that a record has: see lowering/others.py."""

    values: tuple[object, ...]
    own: Node


@dataclass(slots=True, eq=False)
class Tally(Value):
    """Counter() or defaultdict(int): which keys it has is decided by the data, what it counts is not."""

    counted: Counted | None = None


@dataclass(slots=True, eq=False)
class Locator(Value):
    """table.loc."""

    table: Table | Series


@dataclass(slots=True, eq=False)
class LibraryCall(Value):
    """A lowered function with some arguments already given."""

    function: Callable[..., object]
    owner: object


def is_public(node: Node) -> bool:
    """Whether it is the same for all data."""
    return isinstance(node.fact, Public)


def is_released(node: Node) -> bool:
    """Whether it is public, or computed from releases."""
    return isinstance(node.fact, Public | Released)
