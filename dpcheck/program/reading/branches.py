"""Branches that a released value or a record decides: both sides are read, and joined.

A side that is left early (`break`, `continue`, `return`) is kept as an exit; what is read after it is read
for the others, until the loop or the function ends that the exit leads out of. There all paths meet again.

Lemma. With a released value v a program that takes one of two sides by v is, for every v, that side; so what
a variable holds after it is `select(v, first, second)`, whatever else the two sides do.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from dpcheck.core.errors import NotProvable
from dpcheck.program.facts.kinds import RANDOM, Aggregate, Coins, Public, Released, Rows
from dpcheck.program.graph import Node
from dpcheck.program.reading import writes
from dpcheck.program.reading.values import (
    Array,
    Function,
    Generator,
    Growing,
    Instance,
    Opaque,
    Scalar,
    Scope,
    Series,
    Storage,
    Undecided,
    Value,
)

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

Test = tuple[Node, bool]  # a truth value, and which answer is meant
MOST_ROUNDS = 1000  # of a loop that only a released value ends


@dataclass(slots=True)
class Exit:
    """A path that left: by which test (None: always) if none of the exits before it was taken, how, and
    what it left behind."""

    test: Test | None
    how: str
    value: object
    names: dict[str, object]
    held: writes.Noted


@dataclass(slots=True)
class Side:
    """One side of a branch after it was read; `names` is None where no path goes on."""

    names: dict[str, object] | None
    exits: list[Exit]
    held: writes.Noted
    value: object = None
    made: bool = False  # whether something was drawn or released


# Tests -------------------------------------------------------------------------------------------------


def settled(reader: Reader, test: object) -> object:
    """A truth value that may decide; at run time one that is released is there."""
    if isinstance(test, Scalar | Opaque):
        seen = reader.graph.seen(test.node)
        if seen is not None and not isinstance(test.node.fact, Public):
            return reader.wrap(seen[0])
    return test


def decides(reader: Reader, test: object) -> bool:
    """Whether a truth value is no public one."""
    if isinstance(test, Generator | Function):
        return False
    return isinstance(test, Value) and reader.public_value(test) is None


def is_truth(reader: Reader, value: object) -> bool:
    """Whether it is True or False, and nothing else."""
    if isinstance(value, Scalar):
        return value.node.dtype.kind == "b"
    return type(value) is bool or isinstance(value, np.bool_ | Opaque)


def refuse_branch(reader: Reader, test: object) -> NoReturn:
    """A branch that nobody may take."""
    if isinstance(test, Array | Scalar | Opaque | Series):
        fact = reader.node(test).fact
        if isinstance(fact, RANDOM):
            reader.refuse(
                "random-path",
                "a random number decides what happens",
                "use np.where, or decide by something public",
            )
        if isinstance(fact, Released):
            reader.refuse(
                "released-path",
                "a released value decides what is computed next in a way that is not followed",
                "use np.where, or decorate the function with @dpcheck.enforced",
            )
    reader.refuse(
        "private-control",
        f"{reader.describe(test)} decides a branch",
        "add noise to it first, or use np.where",
    )


def _released(reader: Reader, test: object) -> bool:
    return isinstance(test, Scalar | Opaque) and isinstance(reader.node(test).fact, Released)


def _of_a_record(reader: Reader, test: object) -> bool:
    """Whether the record that is looped over decides."""
    if not reader.mapped or not isinstance(test, Scalar):
        return False
    return isinstance(test.node.fact, Aggregate) and test.node.dtype.kind in "biuf"


def _of_a_coin(reader: Reader, test: object) -> bool:
    if reader.mapped or not isinstance(test, Scalar):
        return False
    return isinstance(test.node.fact, Coins) and test.node.dtype.kind == "b"


def truth_node(reader: Reader, test: object, *, random: bool = False) -> Node:
    """The node that decides; refused where nobody may look at it. `random` if a coin may decide, whose
    sides release nothing: see Graph.check_path."""
    if random and _of_a_coin(reader, test):
        return reader.node(test)
    if not _released(reader, test) and not _of_a_record(reader, test):
        refuse_branch(reader, test)
    node = reader.node(test)
    if _private((node, True)):
        return node if node.dtype.kind == "b" else _not_zero(reader, node)
    return node if node.dtype.kind == "b" else reader.graph.add("truth", node)


def _not_zero(reader: Reader, node: Node) -> Node:
    """Whether a number of a record counts as true."""
    from dpcheck.program.lowering.functions import apply

    return apply(reader, "not_equal", node, reader.graph.constant(0))


def certain(reader: Reader, test: object) -> bool | None:
    """The answer to whether a record's number is some number, where the tests before tell it: of 0 and 1,
    what is not 1 is 0."""
    if not _of_a_record(reader, test) or not isinstance(test, Scalar):
        return None
    asked = _is_number(test.node)
    if asked is None:
        return None
    mine, value, equal = asked
    left = _values_of(reader, mine)
    for each, answer in reader.mapped[-1].tests:  # type: ignore[attr-defined]
        known = _is_number(each)
        if known is not None and known[0] is mine:
            left = {v for v in left if (v == known[1]) == (known[2] == answer)}
    if not left or (value in left and len(left) > 1):
        return None
    return (value in left) == equal


def _is_number(test: Node) -> tuple[Node, float, bool] | None:
    """Of `mine == value`: mine, the value, and that it is asked whether they are equal."""
    if test.primitive not in ("equal", "not_equal"):
        return None
    mine, other = test.args
    if not isinstance(other.fact, Public) or other.ndim or other.dtype.kind not in "biuf":
        return None
    return mine, float(np.asarray(other.fact.value)), test.primitive == "equal"


def _values_of(reader: Reader, node: Node) -> set[float]:
    """All that a record's number may be; none where nobody knows."""
    from dpcheck.program.rules.answers import domain

    column = reader.mapped[-1].known.get(node.id)  # type: ignore[attr-defined]
    if column is not None and isinstance(column.fact, Rows):
        return {float(v) for v in domain(column) or () if isinstance(v, int | float)}
    box = node.fact.box
    whole = node.dtype.kind in "biu" and not box.nan and box.finite_ends and box.lo.size == 1
    if not whole or float(box.hi) - float(box.lo) > _FEW:
        return set()
    return {float(v) for v in range(int(box.lo), int(box.hi) + 1)}


_FEW = 64  # values that are followed one by one


def published(reader: Reader, test: Node) -> None:
    """What somebody does next tells how this was decided."""
    from dpcheck.program.rules.common import opened

    del reader
    opened((test,))


def _private(test: Test) -> bool:
    return isinstance(test[0].fact, Aggregate)


def _single(reader: Reader, test: Test) -> Node:
    """A test as one truth value."""
    return test[0] if test[1] else reader.graph.add("logical_not", test[0])


def _if(reader: Reader, test: Test, then: Node, other: Node) -> Node:
    """then if test else other; of released tests only the side that is reached is computed."""
    first, second = (then, other) if test[1] else (other, then)
    return reader.graph.add("select", test[0], first, second)


def _both(reader: Reader, outer: Test, inner: Test | None) -> Test:
    """outer and then inner."""
    if inner is None:
        return outer
    if _private(outer) or _private(inner):
        parts = (_single(reader, outer), _single(reader, inner))
        return reader.graph.add("logical_and", *parts), True
    never = reader.graph.constant(np.False_)
    return _if(reader, outer, _single(reader, inner), never), True


def _any(reader: Reader, exits: list[Exit], leaving: Callable[[Exit], bool]) -> Test:
    """Whether the first exit that is taken is one of those."""
    if len(exits) == 1 and exits[0].test is not None:
        return exits[0].test
    answers = _by_one_test(exits, leaving)
    if answers is not None:
        return answers
    if any(each.test is not None and _private(each.test) for each in exits):
        found: Node | None = None
        for each in exits:
            if each.test is not None and leaving(each):
                one = _single(reader, each.test)
                found = one if found is None else reader.graph.add("logical_or", found, one)
        assert found is not None
        return found, True
    yes, no = reader.graph.constant(np.True_), reader.graph.constant(np.False_)
    last = no
    for each in reversed(exits):
        answer = yes if leaving(each) else no
        if each.test is None:
            last = answer
        elif last is not answer:
            last = _if(reader, each.test, answer, last)
    return last, True


def _by_one_test(exits: list[Exit], leaving: Callable[[Exit], bool]) -> Test | None:
    """The same where one test decides between all of the exits."""
    nodes = {each.test[0] for each in exits if each.test is not None}
    if len(nodes) != 1:
        return None
    node = nodes.pop()
    answers = []
    for value in (True, False):
        taken = [e for e in exits if e.test is None or e.test[1] == value]
        answers.append(bool(taken) and leaving(taken[0]))
    return None if answers[0] == answers[1] else (node, answers[0])


# One side ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """Which tests hold where we are."""

    guards: int
    guarded: int
    tests: int

    @classmethod
    def now(cls, reader: Reader) -> Place:
        """Here."""
        tests = len(reader.mapped[-1].tests) if reader.mapped else 0  # type: ignore[attr-defined]
        return cls(len(reader.graph.guards), reader.guarded, tests)

    def back(self, reader: Reader) -> None:
        """The tests since then hold no more."""
        del reader.graph.guards[self.guards :]
        reader.guarded = self.guarded
        if reader.mapped:
            del reader.mapped[-1].tests[self.tests :]  # type: ignore[attr-defined]


def go_on(reader: Reader, test: Test) -> None:
    """From here on things are read for the paths on which this holds."""
    reader.guarded += 1
    if _private(test):
        reader.mapped[-1].tests.append(test)  # type: ignore[attr-defined]
    elif not isinstance(test[0].fact, Public):
        reader.graph.guards.append(test)


def made(reader: Reader) -> tuple[int, int]:
    """How many releases and draws there are, but for those of single records."""
    return len(reader.graph.releases), reader.graph._next_draw - reader.own_draws


def _side(reader: Reader, test: Test, scope: Scope, what: Callable[[], object]) -> Side:
    """Read one side, and take back what it wrote."""
    from dpcheck.program.reading.statements import Left

    outer, place, before = reader.exits, Place.now(reader), scope.names
    reader.exits, scope.names = [], dict(before)
    reader.noted.append({})
    go_on(reader, test)
    sides = reader.sides
    if _private(test):
        reader.sides += 1
        assumed(reader, test[0], scope.names, test[1])
    counts = made(reader)
    value, alive = None, True
    try:
        value = what()
    except Left as left:
        register(reader, left, scope)
        alive = False
    held = writes.now(reader)
    side = Side(scope.names if alive else None, reader.exits, held, value, made(reader) != counts)
    writes.take_back(reader.noted[-1])
    writes.end(reader)
    place.back(reader)
    reader.exits, scope.names, reader.sides = outer, before, sides
    if _private(test) and side.made:
        reader.refuse(
            "private-control",
            "whether something is drawn or released is decided by a record",
            "release it for all records, after the loop",
        )
    return side


def register(reader: Reader, left: object, scope: Scope) -> None:
    """A path was left, wherever it leads."""
    if left.how != "gone":  # type: ignore[attr-defined]
        held = writes.now(reader)
        made = Exit(None, left.how, left.value, dict(scope.names), held)  # type: ignore[attr-defined]
        reader.exits.append(made)


def conditional(reader: Reader, tree: ast.If, scope: Scope) -> None:
    """An if statement."""
    from dpcheck.program.reading.expressions import evaluate, truth
    from dpcheck.program.reading.statements import block

    test = settled(reader, evaluate(reader, tree.test, scope))
    known = certain(reader, test)
    if known is not None or not decides(reader, test):
        answer = truth(reader, test) if known is None else known
        block(reader, tree.body if answer else tree.orelse, scope)
        return
    node = truth_node(reader, test, random=True)
    lists = _lists(reader)
    first = _side(reader, (node, True), scope, lambda: block(reader, tree.body, scope))
    mine = _lists(reader, lists)
    reader.waiting.append([first, *first.exits])
    second = _side(reader, (node, False), scope, lambda: block(reader, tree.orelse, scope))
    reader.waiting.pop()
    _appended(reader, node, lists, mine)
    _after(reader, node, scope, first, second)


def _after(reader: Reader, node: Node, scope: Scope, first: Side, second: Side) -> None:
    """Both sides were read: variables are one of two, and paths that were left are kept."""
    from dpcheck.program.reading.statements import Left

    if first.made or second.made or first.exits or second.exits:
        published(reader, node)
    for side, answer in ((first, True), (second, False)):
        reader.exits += [replace(e, test=_both(reader, (node, answer), e.test)) for e in side.exits]
    alive = [side for side in (first, second) if side.names is not None]
    if not alive:
        raise Left("gone")
    if len(alive) == 1:
        assert alive[0].names is not None
        scope.names = alive[0].names
        for thing, held in alive[0].held.values():
            _write(reader, thing, held)
        go_on(reader, (node, alive[0] is first))
        if alive[0].exits:
            test, answer = _any(reader, alive[0].exits, lambda _: True)
            go_on(reader, (test, not answer))
        return
    assert first.names is not None
    assert second.names is not None
    scope.names = _names(reader, (node, True), scope.names, first.names, second.names)
    _meet(reader, [((node, True), first.held)], second.held)
    exits = [
        replace(e, test=_both(reader, (node, side is first), e.test))
        for side in alive
        for e in side.exits
    ]
    if exits:
        test, answer = _any(reader, exits, lambda _: True)
        go_on(reader, (test, not answer))


def _write(reader: Reader, thing: object, held: object) -> None:
    if not _same_content(writes.content(thing), held):
        writes.note(reader, thing)
        writes.put_back(thing, held)


def _same_content(a: object, b: object) -> bool:
    if isinstance(a, list | dict) and type(a) is type(b) and len(a) == len(b):
        if isinstance(a, dict):
            assert isinstance(b, dict)
            return list(a) == list(b) and all(a[k] is b[k] for k in a)
        return all(x is y for x, y in zip(a, b, strict=True))
    return a is b


# Where paths meet --------------------------------------------------------------------------------------


def _names(
    reader: Reader,
    test: Test,
    before: dict[str, object],
    first: dict[str, object],
    second: dict[str, object],
) -> dict[str, object]:
    """Variables of two paths; each is joined when somebody asks for it."""
    del reader
    found: dict[str, object] = {}
    for name in {**first, **second}:
        if name not in first or name not in second:
            continue
        if first[name] is second[name]:
            found[name] = first[name]
        elif _unchanged(before.get(name), first[name], second[name]):
            found[name] = before[name]
        else:
            last = second[name]
            rest = last.options if isinstance(last, Undecided) else ((None, last),)
            found[name] = Undecided(((test, first[name]), *rest))
    return found


def decided(reader: Reader, value: object) -> object:
    """A variable that is one of several, as one value."""
    if not isinstance(value, Undecided):
        return value
    if not value.options:
        reader.unknown("a variable that has a value on some paths only")
    options, value.options = value.options, ()
    found = decided(reader, options[-1][1])
    for test, each in reversed(options[:-1]):
        assert test is not None
        found = joined(reader, test, decided(reader, each), found)
    value.options = ((None, found),)
    return found


def _meet(reader: Reader, paths: list[tuple[Test, writes.Noted]], rest: writes.Noted) -> None:
    """What was written on any of these paths holds what the path that was taken left there."""
    things = {key: each[0] for held in (*(h for _, h in paths), rest) for key, each in held.items()}
    for key, thing in things.items():
        now = writes.content(thing)
        last = rest[key][1] if key in rest else now
        for test, held in reversed(paths):
            mine = held[key][1] if key in held else now
            if _same_content(mine, last):
                last = mine
                continue
            try:
                last = _content(reader, thing, test, mine, last)
            except NotProvable as refused:
                _spoil(reader, thing, refused)
                break
        else:
            if isinstance(last, Growing) and not isinstance(thing, Growing):
                _grow(reader, thing, last)
            else:
                _write(reader, thing, last)


def _spoil(reader: Reader, thing: object, refused: NotProvable) -> None:
    """Something that nobody knows the content of: refused only where somebody uses it."""
    if isinstance(thing, Storage):
        thing.stale = "an array is used that a released value changed on some paths only"
    elif isinstance(thing, list | dict):
        reader.dead[id(thing)] = thing
    else:
        raise refused


def check_small(reader: Reader, sides: tuple[Node, Node], kind: np.dtype[np.generic]) -> None:
    """A small type that is one of two would wrap around on its own side only."""
    from dpcheck.program.rules.common import is_weak

    for side in sides:
        small = side.dtype.kind in "iuf" and side.dtype.itemsize < 8
        if not side.ndim and small and side.dtype != kind and not is_weak(side):
            reader.unknown(
                f"a number that is {side.dtype} on one side of a test and {kind} on the other"
            )


def _content(reader: Reader, thing: object, test: Test, first: object, second: object) -> object:
    """What something holds that was written on one of two paths, or on both."""
    from dpcheck.program.lowering.functions import where
    from dpcheck.program.reading.public import either

    if isinstance(thing, Storage):
        assert isinstance(first, Node)
        assert isinstance(second, Node)
        sides = (first, second) if test[1] else (second, first)
        return where(reader, test[0], *sides)
    if isinstance(thing, Instance):
        assert isinstance(first, dict)
        assert isinstance(second, dict)
        names = _names(reader, test, {}, first, second)
        return {name: names.get(name, Undecided(())) for name in {**first, **second}}
    parts = [each if isinstance(each, Node | Growing) else None for each in (first, second)]
    if not any(parts):
        same = type(first) is type(second) and len(first) == len(second)  # type: ignore[arg-type]
        if isinstance(first, list) and isinstance(second, list) and same:
            return [joined(reader, test, a, b) for a, b in zip(first, second, strict=True)]
        if isinstance(first, dict) and isinstance(second, dict) and list(first) == list(second):
            return {key: joined(reader, test, first[key], second[key]) for key in first}
    values = [Opaque(each) if isinstance(each, Node) else each for each in (first, second)]
    if isinstance(test[0].fact, RANDOM):
        reader.unknown("a list or dict that a random number changes")
    if not all(reader.is_released(each) for each in values):
        reader.refuse(
            "released-path",
            "a list or dict of private values is changed where a released value decides whether",
            "change it on every path, or keep released values in it only",
        )
    for each in values:
        writes.frozen(reader, each, REMEMBERED)
    one, two = values if test[1] else values[::-1]
    found = either(reader, test[0], one, two)
    assert isinstance(found, Opaque)
    kind = thing.kind if isinstance(thing, Growing) else type(thing)
    return found.node if isinstance(thing, Growing) else Growing(found.node, kind)


REMEMBERED = "it is part of something that a released value decides"


def _grow(reader: Reader, thing: object, grown: Growing) -> None:
    """A list or dict whose length a released value decides: under all its names it is another thing now."""
    assert isinstance(thing, list | dict)
    if id(thing) in reader.foreign or id(thing) in reader.frozen:
        reader.unknown("a list or dict that a released value changes, and something else remembers")
    for written in reader.noted:
        if id(thing) in written:
            before = written.pop(id(thing))[1]
            written[id(grown)] = (grown, _as_node(reader, before))
    writes.replaced(reader, thing, grown)
    kept: list[Exit | Side] = [*reader.exits, *chain.from_iterable(reader.waiting)]
    for one in kept:
        if one.names is not None:
            one.names = {k: grown if v is thing else v for k, v in one.names.items()}
        one.value = grown if one.value is thing else one.value
        if id(thing) in one.held:
            one.held[id(grown)] = (grown, _as_node(reader, one.held.pop(id(thing))[1]))
    reader.dead[id(thing)] = thing


def _as_node(reader: Reader, held: object) -> Node:
    from dpcheck.program.reading.public import released_call

    writes.frozen(reader, held, REMEMBERED)
    found = released_call(reader, _itself, (held,))
    return reader.node(found)


def _itself(value: object) -> object:
    return value


# Loops and calls ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Paths:
    """The paths that leave a loop, a round of it or a call, while it is read."""

    reader: Reader
    scope: Scope
    outer: list[Exit] = field(default_factory=list)
    place: Place | None = None

    def __enter__(self) -> Paths:
        reader = self.reader
        self.outer, self.place = reader.exits, Place.now(reader)
        reader.waiting.append(self.outer)  # type: ignore[arg-type]
        reader.exits = []
        reader.noted.append({})
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """A refusal ends the reading: nothing is to be put in order."""

    def meet(self, how: str, alive: bool, value: object = None) -> tuple[bool, object]:
        """Paths that were left by `how` go on with those that were not; the others go further out.

        Returns whether any path goes on, and what the call returns.
        """
        reader, place = self.reader, self.place
        assert place is not None
        exits = reader.exits
        mine = [each for each in exits if each.how == how]
        if mine:
            place.back(reader)
            value = self._joined(mine, alive, value)
            if len(mine) < len(exits):
                test, answer = _any(reader, exits, lambda e: e.how != how)
                go_on(reader, (test, not answer))
        self._close(how, exits)
        return alive or bool(mine), value

    def _joined(self, mine: list[Exit], alive: bool, value: object) -> object:
        reader, scope = self.reader, self.scope
        rest = writes.now(reader) if alive else mine[-1].held
        names = scope.names if alive else mine[-1].names
        paths = mine if alive else mine[:-1]
        tests = [(each.test, each.held) for each in paths if each.test is not None]
        for each in reversed(paths):
            assert each.test is not None
            names = _names(reader, each.test, {}, each.names, names)
        scope.names = names
        written = reader.noted[-1]
        writes.take_back(written)
        _meet(reader, tests, {**written, **rest})
        value = value if alive else mine[-1].value
        for each in reversed(paths):
            assert each.test is not None
            if each.value is not value:
                value = joined(reader, each.test, each.value, value)
        return value

    def _close(self, how: str, exits: list[Exit]) -> None:
        """Exits that lead further out are kept; an earlier one that was taken back in comes first."""
        reader = self.reader
        kept: list[Exit] = []
        gone: list[Test] = []
        for each in exits:
            if each.how == how:
                gone += [each.test] if each.test is not None else []
                continue
            test = each.test
            if gone:
                first = functools.reduce(self._either, gone)
                gone = [first]
                test = _both(reader, (first[0], not first[1]), test)
            kept.append(replace(each, test=test))
        writes.end(reader)
        reader.waiting.pop()
        reader.exits = [*self.outer, *kept]

    def _either(self, one: Test, other: Test) -> Test:
        reader = self.reader
        if _private(one) or _private(other):
            parts = (_single(reader, one), _single(reader, other))
            return reader.graph.add("logical_or", *parts), True
        return _if(reader, one, reader.graph.constant(np.True_), _single(reader, other)), True


def one_round(reader: Reader, body: list[ast.stmt], scope: Scope) -> bool:
    """A round of a loop; whether any path goes on to the next."""
    from dpcheck.program.reading.statements import Left, block

    with Paths(reader, scope) as paths:
        alive = True
        try:
            block(reader, body, scope)
        except Left as left:
            register(reader, left, scope)
            alive = False
        return paths.meet("continue", alive)[0]


def leave_unless(reader: Reader, test: object, scope: Scope) -> None:
    """The head of a while loop that a released value decides: some paths end the loop here."""
    node = truth_node(reader, test)
    if _private((node, True)):
        refuse_branch(reader, test)
    published(reader, node)
    held = writes.now(reader)
    reader.exits.append(Exit((node, False), "break", None, dict(scope.names), held))
    go_on(reader, (node, True))


# Expressions -------------------------------------------------------------------------------------------


def chosen(
    reader: Reader,
    test: object,
    scope: Scope,
    first: Callable[[], object],
    second: Callable[[], object],
) -> object:
    """first() if test else second()."""
    node = truth_node(reader, test, random=True)
    sides = [
        _side(reader, (node, answer), scope, what)
        for answer, what in ((True, first), (False, second))
    ]
    if any(side.made for side in sides):
        published(reader, node)
    assert sides[0].names is not None
    assert sides[1].names is not None
    scope.names = _names(reader, (node, True), scope.names, sides[0].names, sides[1].names)
    _meet(reader, [((node, True), sides[0].held)], sides[1].held)
    return joined(reader, (node, True), sides[0].value, sides[1].value)


def is_released_truth(reader: Reader, value: object) -> bool:
    """Whether a released value decides whether the rest of `and` or `or` is computed."""
    return _released(reader, value) and is_truth(reader, value)


def check_truths(reader: Reader, *values: object) -> None:
    """`and` and `or` give one of their operands, which is a truth value only if they are."""
    if not all(is_truth(reader, each) for each in values):
        reader.refuse(
            "released-path",
            "`and` and `or` of released or private values that are no truth values",
            "compare them first",
        )


def connected(
    reader: Reader, value: object, conjunction: bool, scope: Scope, what: Callable[[], object]
) -> object:
    """value and what(), or with `or`: what() is computed only where it decides."""
    from dpcheck.program.reading.expressions import truth

    node = truth_node(reader, value)
    test = (node, conjunction)
    side = _side(reader, test, scope, what)
    if side.made:
        published(reader, node)
    check_truths(reader, side.value)
    assert side.names is not None
    scope.names = _names(reader, test, scope.names, side.names, scope.names)
    _meet(reader, [(test, side.held)], {})
    if not decides(reader, side.value):  # x and True is x, x and False is False
        return value if truth(reader, side.value) == conjunction else not conjunction
    return joined(reader, test, side.value, not conjunction)


def joined(reader: Reader, test: Test, first: object, second: object) -> object:
    """A value that is one of two; arrays and containers that it may be are written no more."""
    first, second = decided(reader, first), decided(reader, second)
    if first is second:
        return first
    if (
        type(first) is type(second)
        and not isinstance(first, Value)
        and not isinstance(first, list | dict | set)
        and _same(reader, first, second)
    ):
        return first
    if type(first) in (list, tuple) and type(first) is type(second) and len(first) == len(second):  # type: ignore[arg-type]
        parts = [joined(reader, test, a, b) for a, b in zip(first, second, strict=True)]  # type: ignore[call-overload]
        made: object = type(first)(parts)  # type: ignore[call-arg]
        for each in (first, second, made):
            writes.frozen(reader, each, REMEMBERED)
        return made
    if _numeric(first) and _numeric(second):
        from dpcheck.program.lowering.functions import where

        a, b = reader.node(first), reader.node(second)
        if a.shape == b.shape and a.dtype.kind in "biuf" and b.dtype.kind in "biuf":
            found = reader.array(where(reader, test[0], *((a, b) if test[1] else (b, a))))
            check_small(reader, (a, b), reader.node(found).dtype)
            arrays = [side for side in (first, second) if isinstance(side, Array)]
            if any(writes.shared(reader, side) for side in arrays):
                for each in (*arrays, found):
                    writes.frozen(reader, each, REMEMBERED)
            return found
    from dpcheck.program.reading.public import either

    if reader.mapped:
        from dpcheck.program.lowering import words

        found = words.joined(reader, test, first, second)
        if found is not None:
            return found
    node = test[0]
    if isinstance(node.fact, Released) and reader.is_released([first, second]):
        for each in (first, second):
            writes.frozen(reader, each, REMEMBERED)
        sides = (first, second) if test[1] else (second, first)
        return either(reader, node, *sides)
    reader.unknown("a variable that is one of two kinds of things")


def assumed(reader: Reader, test: Node, names: dict[str, object], answer: bool) -> None:
    """On one side of a comparison, the variable that was compared is known better."""
    from dpcheck.program.rules.functions import COMPARISONS

    if test.primitive not in COMPARISONS or test.primitive in ("equal", "not_equal"):
        return
    left, right = test.args
    for mine, other in ((left, right), (right, left)):
        if mine.id in reader.drawn:
            continue  # a number that is drawn for each record
        if isinstance(other.fact, Public) and not other.ndim and not isinstance(mine.fact, Public):
            name = test.primitive if mine is left else _MIRRORED[test.primitive]
            value = float(np.asarray(other.fact.value))
            found = reader.graph.add("assume", mine, comparison=name, limit=value, answer=answer)
            for key, held in names.items():
                if isinstance(held, Scalar) and held.node is mine:
                    names[key] = Scalar(found)


_MIRRORED = {
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
}


def _unchanged(before: object, *after: object) -> bool:
    """Whether a variable is what it was, but for what each side assumes of it."""
    if not isinstance(before, Scalar):
        return False
    return all(
        isinstance(each, Scalar)
        and (
            each is before or (each.node.primitive == "assume" and each.node.args[0] is before.node)
        )
        for each in after
    )


def _numeric(value: object) -> bool:
    return isinstance(value, Scalar | Array) or (
        type(value) in (bool, int, float) or isinstance(value, np.generic)
    )


def _same(reader: Reader, first: object, second: object) -> bool:
    if not reader.is_public(first) or not reader.is_public(second):
        return False
    try:
        one, other = reader.plain(first), reader.plain(second)
        return bool(np.all(one == other)) and repr(one) == repr(other)  # 0.0 is not -0.0
    except Exception:
        return False


# Lists that a loop over records appends to ---------------------------------------------------------------


def _lists(reader: Reader, back: dict[int, list[object]] | None = None) -> dict[int, list[object]]:
    """What has been appended for a record so far; `back` is what it was before a side was read."""
    if not reader.mapped:
        return {}
    found: dict[int, list[object]] = reader.mapped[-1].lists  # type: ignore[attr-defined]
    if back is not None:
        reader.mapped[-1].lists = dict(back)  # type: ignore[attr-defined]
    return dict(found) if back is None else found


def _appended(
    reader: Reader, node: Node, before: dict[int, list[object]], first: dict[int, list[object]]
) -> None:
    """A record appends one value to a list, whichever side it takes."""
    if not reader.mapped:
        return
    second: dict[int, list[object]] = reader.mapped[-1].lists  # type: ignore[attr-defined]
    for key in {**first, **second}:
        if key in before:
            continue
        if key not in first or key not in second:
            reader.refuse(
                "private-length",
                "only some records are appended to a list",
                "append for every record, or use x[mask]",
            )
        value = joined(reader, (node, True), first[key][1], second[key][1])
        second[key] = [first[key][0], value]
