"""The reader: what a program means, statement by statement. What has no method here is refused by name."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from dpcheck.core.errors import NotProvable
from dpcheck.program.facts.kinds import Answers, Public, Released, Rows
from dpcheck.program.graph import Graph, Node
from dpcheck.program.reading.source import NoSource, definition
from dpcheck.program.reading.values import (
    Array,
    Function,
    Listed,
    Opaque,
    Scalar,
    Scope,
    Storage,
    Value,
)
from dpcheck.replay.draws import Line

if TYPE_CHECKING:
    from dpcheck.program.reading.branches import Exit, Side
    from dpcheck.program.reading.writes import Noted

MOST_STEPS = (
    2_500_000  # statements and expressions of one reading: a loop that never ends is refused
)
DEEPEST = 60  # calls within calls
SMALL = 64  # numbers of a constant that need not be declared public
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)


class Reader:
    """One reading of one program."""

    def __init__(self, graph: Graph, public: frozenset[str] = frozenset()) -> None:
        self.graph = graph
        self.public = public  # names of large constants that were declared public
        self.depth = 0
        self.steps = 0
        self.statements = 0
        self.guarded = 0  # inside a branch that a released value decides, or a loop over records
        self.scopes: list[Scope] = []  # of the calls that are being read
        self.exits: list[Exit] = []  # paths that left what is being read, see `branches`
        self.waiting: list[list[Exit | Side]] = []  # and those of what is around it
        self.noted: list[Noted] = []  # what was written on each of the paths that are being read
        self.frozen: dict[int, object] = {}  # containers that something else remembers
        self.dead: dict[int, object] = {}  # containers whose content nobody knows any more
        self.temporaries: list[object] = []  # values of the expressions that are being read
        self.drawn: set[int] = set()  # nodes that are one of them
        self.sides = 0  # sides of branches that the record looped over decides
        self.own_draws = 0  # numbers drawn for each record by itself
        self.foreign: dict[int, object] = {}  # containers that outlive the call
        self.constants: dict[str, None] = {}  # large constants that were used
        self.source = "rng"  # the generator that is being drawn from
        self.mapped: list[object] = []  # loops over records that are being read
        self.files: dict[str, dict[str, None]] = {}  # what was read, and which functions of it

    # Where we are -------------------------------------------------------------------------------

    def at(self, tree: ast.AST, scope: Scope) -> None:
        """The line that is read now."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            self.refuse("too-long", "the program does not come to an end", "use shorter loops")
        number = getattr(tree, "lineno", None)
        if number is not None:
            self.graph.line = Line(scope.path, number)

    def refuse(self, kind: str, message: str, remedy: str) -> NoReturn:
        """Not provable, at this line."""
        self.graph.refuse(kind, message, remedy)

    def unknown(self, what: str) -> NoReturn:
        """Something nobody proved anything about."""
        self.refuse(
            "unknown-operation",
            f"{what} is not an operation whose effect is known",
            "see docs/reference/operations for what is, or add noise first",
        )

    def attempt(self, what: Callable[[], object]) -> object:
        """A call of pure code on public values; its error would be the function's own, for all data."""
        try:
            with np.errstate(all="ignore"):
                return what()
        except NotProvable:
            raise
        except Exception as error:
            self.refuse(
                "failed",
                f"the function fails here with {type(error).__name__}: {str(error)[:200]}",
                "fix the code",
            )

    def alive(self, value: object) -> None:
        """Refuse a container whose content depends on paths that could not be joined."""
        if self.dead and id(value) in self.dead:
            self.refuse(
                "released-path",
                f"a {type(value).__name__} is used that a released value changed on some paths only",
                "change it on every path, or keep released values in it only",
            )

    # Values --------------------------------------------------------------------------------------

    def array(self, node: Node) -> object:
        """A result of an operation: fresh memory, or a number."""
        if node.dtype == np.dtype(object) and isinstance(node.fact, Released):
            return self.opaque(node)
        return Array(Storage(node)) if node.ndim else Scalar(node)

    def opaque(self, node: Node) -> object:
        """Something released, of whatever type; at run time it is there."""
        seen = self.graph.seen(node)
        return Opaque(node) if seen is None else self.wrap(seen[0])

    def wrap(self, value: object) -> object:
        """A result of a call on public values, as the reader holds it."""
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject or value.dtype.kind not in "biufUS":
                self.unknown(f"an array of {value.dtype}")
            return Array(Storage(self.graph.constant(value)))
        if isinstance(value, tuple) and type(value) is not tuple and hasattr(value, "_fields"):
            return tuple(self.wrap(each) for each in value)
        if isinstance(value, tuple | list) and type(value) in (tuple, list):
            held = [self.wrap(each) for each in value]
            if all(one is other for one, other in zip(held, value, strict=True)):
                return value  # a list is still the list that others know
            return type(value)(held)
        return value

    def node(self, value: object) -> Node:
        """A value as a node of the graph."""
        self.alive(value)
        if isinstance(value, Scalar | Opaque):
            return value.node
        if isinstance(value, Array):
            return value.node(self.graph)
        from dpcheck.program.reading.values import Series

        if isinstance(value, Series):
            return value.array.node(self.graph)
        if type(value) in (bool, int, float) or isinstance(value, np.generic):
            return self.graph.constant(value)
        if isinstance(value, str):
            return self.graph.constant(np.asarray(value))
        if type(value) in (list, tuple):
            from dpcheck.program.lowering.making import array_of

            return array_of(self, value)
        if isinstance(value, range):
            return self.graph.constant(np.asarray(value))
        if isinstance(value, Listed):
            self.refuse(
                "unknown-operation",
                "a list of records is used as an array",
                'take what you need of each record, [row["NAME"] for row in rows], or declare form="array"',
            )
        if isinstance(value, Value):
            self.refuse(
                "unknown-operation",
                f"{self.describe(value)} is used as a number",
                "use numbers and arrays",
            )
        self.unknown(f"a value of type {type(value).__name__}")

    def plain(self, value: object) -> object:
        """A public value as Python and numpy have it; refused if it is anything else."""
        if isinstance(value, Value):
            found = self.public_value(value)
            if found is None:
                self.refuse(
                    "private-control",
                    f"{self.describe(value)} is used where a public value is needed",
                    "use a number that is in the code",
                )
            return found[0]
        if type(value) in (list, tuple, set, frozenset):
            return type(value)(self.plain(each) for each in value)  # type: ignore[call-arg, attr-defined]
        if type(value) is dict:
            return {self.plain(k): self.plain(v) for k, v in value.items()}
        return value

    def public_value(self, value: object) -> tuple[object] | None:
        """The value of something public, in a tuple; None if it is not."""
        from dpcheck.program.reading.values import KnownGenerator

        if isinstance(value, Scalar | Array):
            node = value.node if isinstance(value, Scalar) else value.node(self.graph)
            if isinstance(node.fact, Public):
                found = node.fact.value
                if isinstance(value, Scalar) and isinstance(found, np.ndarray) and found.ndim == 0:
                    return (found[()],)
                return (np.array(found),) if isinstance(found, np.ndarray) else (found,)
            return None
        if isinstance(value, KnownGenerator):
            return (value.real,)
        if isinstance(value, Value):
            return None
        return (value,)

    def is_public(self, value: object, depth: int = 0) -> bool:
        """Whether a value, to the bottom, is the same for all data."""
        if depth > DEEPEST:
            self.unknown("a value of so many levels")
        if isinstance(value, Value):
            return self.public_value(value) is not None
        self.alive(value)
        if type(value) in (list, tuple, set, frozenset):
            return all(self.is_public(each, depth + 1) for each in value)  # type: ignore[attr-defined]
        if type(value) is dict:
            return all(self.is_public(each, depth + 1) for each in (*value, *value.values()))
        return True

    def is_released(self, value: object, depth: int = 0) -> bool:
        """Whether a value, to the bottom, is public or computed from releases."""
        if depth > DEEPEST:
            self.unknown("a value of so many levels")
        if isinstance(value, Scalar | Array | Opaque):
            node = self.node(value)
            if isinstance(node.fact, Answers):
                node = self.graph.add("answer", node)  # somebody looks at it
            return isinstance(node.fact, Public | Released)
        from dpcheck.program.reading.values import Grid, Series

        if isinstance(value, Series | Grid):
            return self.is_released(value.array)
        if isinstance(value, Value):
            return False
        self.alive(value)
        if type(value) in (list, tuple, set, frozenset):
            return all(self.is_released(each, depth + 1) for each in value)  # type: ignore[attr-defined]
        if type(value) is dict:
            return all(self.is_released(each, depth + 1) for each in (*value, *value.values()))
        return True

    def describe(self, value: object) -> str:
        """A value in words of the program."""
        from dpcheck.program.facts.kinds import RANDOM, Aggregate

        if isinstance(value, Scalar | Array | Opaque):
            fact = self.node(value).fact
            if isinstance(fact, Rows):
                return "a column of private records"
            if isinstance(fact, Aggregate):
                return "a private aggregate"
            if isinstance(fact, Answers):
                return "an answer of every record"
            if isinstance(fact, RANDOM):
                return "a random number"
            return "a released value" if isinstance(fact, Released) else "a public value"
        if isinstance(value, Listed):
            return "a list of records"
        if isinstance(value, Value):
            return f"a {type(value).__name__.lower()}"
        return f"a {type(value).__name__}"

    # Functions -------------------------------------------------------------------------------------

    def function(self, real: FunctionType) -> Function:
        """A plain function of the user's, its source checked."""
        try:
            tree = definition(real)
        except NoSource as why:
            self.refuse("no-source", why.message, why.remedy)
        self.files.setdefault(real.__code__.co_filename, {})[real.__qualname__] = None
        scope = None
        if real.__closure__:
            cells = {}
            for name, cell in zip(real.__code__.co_freevars, real.__closure__, strict=True):
                try:
                    cells[name] = cell.cell_contents
                except ValueError:
                    continue
            names = {name: self.constant(value, name) for name, value in cells.items()}
            scope = Scope(
                names,
                None,
                real.__globals__,
                frozenset(names),
                real.__code__.co_filename,
                outlives=True,
            )
        defaults = tuple(self.constant(each, "a default") for each in real.__defaults__ or ())
        keywords = {
            name: self.constant(each, "a default")
            for name, each in (real.__kwdefaults__ or {}).items()
        }
        return Function(
            real.__name__,
            tree,
            scope,
            real.__globals__,
            real.__code__.co_filename,
            defaults,
            keywords,
        )

    def constant(self, value: object, name: str) -> object:
        """Something that outlives the call: its value now, which nobody may change."""
        from dpcheck.program.reading.constants import constant

        return constant(self, value, name)
