"""Answers that every record gives by itself, with random numbers of its own: local differential privacy.

An answer is a function, entry by entry, of a record and of drawn numbers. Nobody sees it before it is
`answered`. Then its law is written down: for each value that the record may have, how likely each answer is.

Lemma. Let the answers of different records be independent given the data, and record i be behind answer i
alone. Replacing record i by another value changes the probability of any list of answers by at most the
factor by which it changes that of answer i, since those of the others are the same. If an answer is made of
parts that share no drawn number, the factor is the product of those of its parts.

Lemma. A uniform number that is compared with a record's own number p, and used for nothing else, is a coin.
The probability of an answer is affine in that of the coin; so its largest and its smallest value over an
interval are at the ends.

Reference: [Wang2017] for the laws of randomized response and unary encoding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import PureDP
from dpcheck.core.events.noise import RandomizedResponse
from dpcheck.program import releases
from dpcheck.program.facts import boxes
from dpcheck.program.facts.kinds import RANDOM, Answers, Coins, Drawn, Public, Rows
from dpcheck.program.facts.rowsets import RowSet, Shape, number
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import BLOCK, PRIMITIVES, Graph, Made, Node, primitive
from dpcheck.program.releases import Release, snapped
from dpcheck.program.rules.common import fixed, released
from dpcheck.program.rules.functions import FUNCTIONS
from dpcheck.program.rules.random_numbers import UNIFORM_INTEGERS

MOST_VALUES, MOST_CASES = 64, 200_000
LARGEST = 2.0**31  # beyond it whole numbers may wrap around, or be rounded
_COMPARISONS = ("less", "less_equal", "greater", "greater_equal")
# Of one record's values: nothing of them depends on another record.
_OF_ROWS = {
    *FUNCTIONS,
    *("select", "convert", "fill", "reshape", "one_hot", "lookup", "isin", "digitize"),
    *("is_value", "place_of", "ones", "number", "assume"),
}
_DIVISIONS = ("divide", "floor_divide", "remainder", "reciprocal")
Values = NDArray[np.generic]


def stay(name: str, args: Sequence[Node], params: Mapping[str, object]) -> bool:
    """Whether a function of answers is one more answer of every record, which nobody sees yet."""
    rows = next(arg.fact.rows for arg in args if isinstance(arg.fact, Answers))
    if name in FUNCTIONS or name == "select":
        return may_answer(args)
    if name == "convert":
        return np.dtype(params["dtype"]).kind in "biuf"  # type: ignore[call-overload]
    if name == "reshape":
        return bool(params["shape"]) and params["shape"][0] is rows  # type: ignore[index]
    if name == "concatenate":
        alike = all(isinstance(a.fact, Answers) and a.fact.rows is rows for a in args)
        return alike and bool(params["axis"])
    return False


def may_answer(args: Sequence[Node]) -> bool:
    """Whether a function of entries of these is one of single records and of numbers of their own."""
    rows = [arg.fact.rows for arg in args if isinstance(arg.fact, Rows | Answers)]
    random = [arg for arg in args if isinstance(arg.fact, RANDOM)]
    if not rows or any(each is not rows[0] for each in rows):
        return False
    if not random and not any(isinstance(arg.fact, Answers) for arg in args):
        return False
    if not all(isinstance(arg.fact, (*RANDOM, Rows, Answers, Public)) for arg in args):
        return False
    if any(isinstance(arg.fact, Rows) and arg.fact.axis for arg in args):
        return False
    several = {arg.ndim for arg in args if not isinstance(arg.fact, Public)}
    if len(several) > 1 or any(arg.ndim > max(several) for arg in args):
        return False
    return all(_of_each(arg, rows[0]) for arg in random)


def _of_each(arg: Node, rows: RowSet) -> bool:
    """Drawn numbers, one for every entry, whose law is known."""
    fact = arg.fact
    if isinstance(fact, Drawn) and fact.family not in (releases.UNIFORM, UNIFORM_INTEGERS):
        return False
    if not isinstance(fact, Drawn | Coins) or not arg.shape or rows.count is None:
        return False
    return number(arg.shape[0]) == rows.count


def answers(graph: Graph, args: Sequence[Node], dtype: np.dtype[np.generic]) -> Made:
    """A function of entries of these, of which nothing is seen."""
    rows = next(arg.fact.rows for arg in args if isinstance(arg.fact, Rows | Answers))
    coins = frozenset().union(*(arg.fact.coins for arg in args))
    try:
        inner = np.broadcast_shapes(*(_per_record(arg, rows) for arg in args))
    except ValueError as error:
        graph.refuse("failed", f"numpy refuses these shapes ({error})", "fix the code")
    if not inner or inner[0] != 1:
        graph.refuse(
            "mixed-records", "every record is combined with every other", "aggregate first"
        )
    return Made((rows, *inner[1:]), dtype, Answers(box=boxes.WHOLE, rows=rows, coins=coins))


def _per_record(arg: Node, rows: RowSet) -> tuple[int, ...]:
    """The shape with a 1 for the records; of what is the same for all of them, as it is."""
    shape = list(arg.shape)
    if isinstance(arg.fact, Public):
        return tuple(fixed(n) for n in shape)
    if shape:
        shape[0] = 1
    return tuple(fixed(n) for n in shape)


# The law -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Part:
    """A part of an answer: what it is made of."""

    root: Node
    draws: dict[int, Node] = field(default_factory=dict)
    bases: dict[int, Node] = field(default_factory=dict)  # one number a record, of few values
    entries: dict[int, Node] = field(default_factory=dict)  # of several numbers a record
    biased: dict[int, tuple[float, float]] = field(default_factory=dict)  # coins, by their node
    held: dict[int, list[Node]] = field(
        default_factory=dict
    )  # what a uniform number is held against
    nodes: dict[int, Node] = field(default_factory=dict)  # everything in between


def _answer(value: object) -> object:
    return value


@primitive(
    "answer",
    "every record's own answer: its law for each value of the record, compared with that for each other",
    _answer,
)
def answer(graph: Graph, a: Node) -> Made:
    """What all records answer is seen."""
    fact = a.fact
    assert isinstance(fact, Answers)
    rows = fact.rows
    if graph.adjacency is not Adjacency.REPLACE_ONE or rows.count is None or rows.optional:
        graph.refuse(
            "private-length",
            "as many answers are given as there are records, which is private",
            "state the claim under replace-one",
        )
    if fact.coins:
        graph.refuse(
            "mixed-records", "answers of sampled records are not followed", "ask all records"
        )
    parts = [_read(graph, each) for each in _parts(a)]
    ids = [np.unique(draw.fact.ids) for part in parts for draw in part.draws.values()]  # type: ignore[attr-defined]
    every = np.concatenate(ids) if ids else np.empty(0, dtype=np.int64)
    if np.unique(every).size != every.size:
        graph.refuse(
            "shared-noise", "two parts of an answer share a drawn number", "draw one for each"
        )
    laws = [_law(graph, part, parts) for part in parts]
    losses = sum(law.losses for law in laws)
    epsilon = float(np.max(losses))
    if not math.isfinite(epsilon):
        graph.refuse(
            "no-noise",
            "an answer is possible for some records alone, so that it tells them for certain",
            "let every answer be possible for every record: draw the other one with "
            "rng.integers(low, high, size=n) over all answers",
        )
    graph.use(every, "randomized response")
    shape: Shape = (rows.count, *a.shape[1:])
    event = _event(laws, epsilon, graph.adjacency)
    if event is not None:
        made = Release(
            graph.line,
            graph.adjacency,
            "randomized response",
            np.asarray([epsilon]),
            tuple(fixed(n) for n in shape),
            Size(np.asarray(1.0)).tightened(tuple(fixed(n) for n in shape)),
            fixed=event,
            opened=True,
        )
        graph.release(made)
    low, high = min(law.low for law in laws), max(law.high for law in laws)
    return released(shape, a.dtype, boxes.box(low, high))


@dataclass(slots=True)
class Law:
    """How each pair of values of a record differs at most; the probabilities, where one number answers."""

    losses: NDArray[np.float64]
    chances: NDArray[np.float64] | None
    low: float
    high: float


def _event(laws: Sequence[Law], epsilon: float, adjacency: Adjacency) -> Event | None:
    """The loss as an event: randomized response, where all lies are as likely; None where nothing is told."""
    if epsilon <= 0:
        return None
    chances = laws[0].chances if len(laws) == 1 else None
    if chances is not None:
        lie, truth = float(chances.min()), float(chances.max())
        known = np.isclose(chances, truth, rtol=1e-12, atol=0)
        lies = np.isclose(chances, lie, rtol=1e-12, atol=0)
        once = (known.sum(axis=1) == 1).all() and (known.sum(axis=0) <= 1).all()
        many = chances.shape[1]
        if truth > lie and once and (known | lies).all() and many > 1:
            return RandomizedResponse(snapped(many * lie), many)
    return PureDP(snapped(epsilon), adjacency)


def _parts(node: Node) -> Iterator[Node]:
    """Parts that were put side by side."""
    if node.primitive == "concatenate":
        for arg in node.args:
            yield from _parts(arg)
    elif node.primitive == "reshape" and isinstance(node.args[0].fact, Answers):
        yield from _parts(node.args[0])
    else:
        yield node


def _refuse(graph: Graph, message: str) -> None:
    graph.refuse(
        "unknown-noise",
        message,
        "answer by whole numbers of a public list, rng.random(n) < p and rng.integers(low, high, size=n)",
    )


def _read(graph: Graph, root: Node) -> Part:
    """What an answer is made of, down to values of the record and to drawn numbers."""
    part = Part(root)
    if isinstance(root.fact, Answers):
        _descend(graph, part, root)
    for draw in part.draws.values():
        fact = draw.fact
        assert isinstance(fact, Drawn | Coins)
        if draw.shape[1:] != root.shape[1:] or not _one_each(draw):
            graph.refuse(
                "shared-noise",
                "several answers share a drawn number",
                "draw one for each: pass size=...",
            )
        uniform = isinstance(fact, Drawn) and fact.family == releases.UNIFORM
        biased = [i for i in part.biased if draw in part.nodes[i].args]
        if biased and (len(biased) > 1 or part.held.get(draw.id)):
            _refuse(graph, "a drawn number is compared with several numbers of a record")
        if uniform and not biased and not part.held.get(draw.id):
            _refuse(graph, "a uniform number is used otherwise than in a comparison")
    return part


def _one_each(draw: Node) -> bool:
    """Whether every entry has a number of its own, drawn for it alone."""
    ids = draw.fact.ids  # type: ignore[attr-defined]
    many = math.prod(number(n) or 0 for n in draw.shape)
    return bool(ids.size == 1 if many > BLOCK else ids.size == np.unique(ids).size == max(1, many))


def _descend(graph: Graph, part: Part, node: Node) -> None:
    if node.id in part.nodes or isinstance(node.fact, Public):
        return
    if isinstance(node.fact, Rows):
        if not _finite(part, node, node.fact.rows):
            _refuse(graph, "answers depend on numbers of a record that are no few whole ones")
        return
    if node.primitive == "draw":
        part.draws[node.id] = node
        return
    if node.primitive not in FUNCTIONS and node.primitive not in ("select", "convert"):
        _refuse(graph, f"answers are computed from random numbers by `{node.primitive}`")
    if node.primitive in _COMPARISONS and _comparison(part, node):
        return
    part.nodes[node.id] = node
    for arg in node.args:
        if isinstance(arg.fact, Drawn) and arg.fact.family == releases.UNIFORM:
            _refuse(graph, "a uniform number is used otherwise than in a comparison")
        _descend(graph, part, arg)


def _comparison(part: Part, node: Node) -> bool:
    """A uniform number held against a public one, or against one of the record."""
    for drawn, other in (node.args, node.args[::-1]):
        fact = drawn.fact
        if drawn.primitive != "draw" or not isinstance(fact, Drawn):
            continue
        if fact.family != releases.UNIFORM or fact.scale.ndim or fact.location.ndim:
            continue
        known = isinstance(other.fact, Public)
        if isinstance(other.fact, Rows):
            saved = Part(part.root, bases=dict(part.bases), entries=dict(part.entries))
            if _finite(saved, other, other.fact.rows):
                part.bases, part.entries = saved.bases, saved.entries
                part.nodes.update(saved.nodes)
                known = True
            elif not other.fact.box.nan:
                low, high = (
                    float((end - fact.location) / fact.scale)
                    for end in (other.fact.box.lo.min(), other.fact.box.hi.max())
                )
                ends = (min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0))
                below = node.primitive.startswith("less") == (drawn is node.args[0])
                part.biased[node.id] = ends if below else (1 - ends[1], 1 - ends[0])
                part.nodes[node.id] = node
                part.draws[drawn.id] = drawn
                return True
        if known:
            part.held.setdefault(drawn.id, []).append(other)
            part.nodes[node.id] = node
            part.draws[drawn.id] = drawn
            return True
    return False


def _finite(part: Part, node: Node, rows: RowSet) -> bool:
    """Whether a record's value is computed from values of it of which there are few."""
    if node.id in part.nodes or isinstance(node.fact, Public):
        return True
    fact = node.fact
    if not isinstance(fact, Rows) or fact.rows is not rows or fact.axis:
        return False
    key = node.params.get("key")
    taken = node.primitive == "index" and isinstance(key, tuple) and key[:1] == (slice(None),)
    if (node.primitive in _OF_ROWS or taken) and node.args:
        tried = Part(part.root, bases=dict(part.bases), entries=dict(part.entries))
        tried.nodes = dict(part.nodes)
        if all(_finite(tried, arg, rows) for arg in node.args):
            part.bases, part.entries = tried.bases, tried.entries
            part.nodes = {**tried.nodes, node.id: node}
            return True
    if domain(node) is None:
        return False
    (part.bases if node.ndim == 1 else part.entries)[node.id] = node
    return True


def domain(node: Node) -> list[object] | None:
    """The few values that an entry may have."""
    fact = node.fact
    assert isinstance(fact, Rows)
    if fact.values is not None:
        return list(fact.values) if len(fact.values) <= MOST_VALUES else None
    if node.dtype.kind not in "biu" or fact.box.nan or not fact.box.finite_ends:
        return None
    low, high = int(fact.box.lo.min()), int(fact.box.hi.max())
    return list(range(low, high + 1)) if high - low < MOST_VALUES else None


def _law(graph: Graph, part: Part, parts: Sequence[Part]) -> Law:
    """Write down how likely each answer is, for every value of the record."""
    shared = {i: node for each in parts for i, node in each.bases.items()}
    own = {**part.entries, **part.biased}
    choices = [domain(node) or [] for node in shared.values()]
    inner = [
        (domain(part.entries[i]) or []) if i in part.entries else list(part.biased[i]) for i in own
    ]
    outer_cases = list(itertools.product(*choices))
    inner_cases = list(itertools.product(*inner))
    cells = [_cells(graph, part, draw, shared, outer_cases) for draw in part.draws.values()]
    total = len(outer_cases) * len(inner_cases) * math.prod(len(each) for each in cells)
    if not 0 < total <= MOST_CASES or len(outer_cases) > 4 * MOST_VALUES:
        _refuse(graph, "answers have so many cases that they are not counted")
    drawn_cases = list(itertools.product(*cells))
    values, weights = _evaluated(graph, part, shared, own, outer_cases, inner_cases, drawn_cases)
    width = values.shape[-1]
    losses = np.zeros((len(outer_cases), len(outer_cases)))
    chances = None
    for place in range(width):
        found, where = np.unique(values[..., place], return_inverse=True)
        where = where.reshape(values.shape[:3])
        table = np.zeros((len(outer_cases), len(inner_cases), len(found)))
        for k in range(len(found)):
            table[..., k] = np.where(where == k, weights, 0.0).sum(axis=2)
        losses += _most(table)
        if width == 1 and len(inner_cases) == 1:
            chances = table[:, 0, :]
        elif width == 1 and len(outer_cases) == 1:
            chances = table[0]
    return Law(losses, chances, float(values.min()), float(values.max()))


def _most(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest log ratio of one answer, for each pair of values of the record."""
    table = np.where(table < 1e-300, 0.0, table)
    most, least = table.max(axis=1), table.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(most)[:, None, :] - np.log(least)[None, :, :]
    ratio = np.where(most[:, None, :] == 0, 0.0, ratio)
    return np.asarray(ratio.max(axis=2))


Cell = tuple[object, float]


def _cells(
    graph: Graph,
    part: Part,
    draw: Node,
    shared: dict[int, Node],
    outer: Sequence[tuple[object, ...]],
) -> list[Cell]:
    """The values of a drawn number between which nothing changes, with their probabilities."""
    fact = draw.fact
    if isinstance(fact, Coins):
        return [(0, 1 - fact.rate), (1, fact.rate)]
    assert isinstance(fact, Drawn)
    if fact.family == UNIFORM_INTEGERS:
        many, first = int(fact.scale), int(fact.location)
        if many > MOST_VALUES:
            _refuse(graph, "answers are drawn from so many numbers")
        return [(first + i, 1 / many) for i in range(many)]
    if not part.held.get(draw.id):
        return [(0.0, 1.0)]  # of a coin with a probability of its own: see `biased`
    low, wide = float(fact.location), float(fact.scale)
    limits = {0.0, 1.0}
    for other in part.held[draw.id]:
        for value in _limits(graph, part, other, shared, outer):
            limits.add(min(max((value - low) / wide, 0.0), 1.0))
    ends = sorted(limits)
    return [(low + wide * (a + b) / 2, b - a) for a, b in itertools.pairwise(ends) if b > a]


def _limits(
    graph: Graph,
    part: Part,
    other: Node,
    shared: dict[int, Node],
    outer: Sequence[tuple[object, ...]],
) -> list[float]:
    """All that a uniform number is held against."""
    if isinstance(other.fact, Public):
        found = np.asarray(other.fact.value, dtype=float)
    else:
        inner = list(itertools.product(*(domain(node) or [] for node in part.entries.values())))
        known = _inputs(part, shared, dict(part.entries), outer, inner, [()])
        found = np.asarray(_compute(graph, part, other, known), dtype=float)
    if found.size > MOST_CASES or not np.isfinite(found).all():
        _refuse(graph, "uniform numbers are compared with too many, or with NaN or infinities")
    return [float(each) for each in np.unique(found)]


def _inputs(
    part: Part,
    shared: dict[int, Node],
    own: dict[int, object],
    outer: Sequence[tuple[object, ...]],
    inner: Sequence[tuple[object, ...]],
    drawn: Sequence[tuple[Cell, ...]],
) -> dict[int, Values]:
    """Every case as a record of its own: what its values and its drawn numbers are."""
    cases = list(itertools.product(outer, inner, drawn))
    known: dict[int, Values] = {}
    for i, (key, node) in enumerate(shared.items()):
        column: Values = np.empty(len(cases), dtype=node.dtype)
        for place, case in enumerate(cases):
            column[place : place + 1] = np.asarray([case[0][i]], dtype=node.dtype)
        known[key] = column
    for i, key in enumerate(own):
        values = [case[1][i] for case in cases]
        if key in part.entries:
            shape = tuple(fixed(n) for n in part.entries[key].shape[1:])
            column = np.empty((len(cases), *shape), dtype=part.entries[key].dtype)
            column[:] = np.reshape(np.asarray(values), (-1, *[1] * len(shape)))
            known[key] = column
    for i, (key, node) in enumerate(part.draws.items()):
        shape = tuple(fixed(n) for n in node.shape[1:])
        if drawn and len(drawn[0]) > i:
            column = np.empty((len(cases), *shape), dtype=node.dtype)
            column[:] = np.reshape(
                np.asarray([case[2][i][0] for case in cases]), (-1, *[1] * len(shape))
            )
            known[key] = column
    return known


def _evaluated(
    graph: Graph,
    part: Part,
    shared: dict[int, Node],
    own: dict[int, object],
    outer: Sequence[tuple[object, ...]],
    inner: Sequence[tuple[object, ...]],
    drawn: Sequence[tuple[Cell, ...]],
) -> tuple[Values, Values]:
    """The answer in every case, and its probability given the values: (outer, inner, drawn, entry)."""
    sides = [key for key in own if key in part.biased]
    flips = list(itertools.product((False, True), repeat=len(sides)))
    known = _inputs(part, shared, own, outer, inner, drawn)
    base = np.asarray([math.prod(cell[1] for cell in case) for case in drawn])
    found, weights = [], []
    for heads in flips:
        given = dict(known)
        weight = np.tile(base, (len(outer), len(inner), 1))
        for key, side in zip(sides, heads, strict=True):
            node = part.nodes[key]
            shape = tuple(fixed(n) for n in node.shape[1:])
            cases = len(outer) * len(inner) * len(drawn)
            given[key] = np.full((cases, *shape), side)
            rate = np.asarray([case[list(own).index(key)] for case in inner], dtype=float)
            weight = weight * (rate if side else 1 - rate)[None, :, None]
        values = np.asarray(_compute(graph, part, part.root, given))
        cases = len(outer) * len(inner) * len(drawn)
        values = np.broadcast_to(values, (cases, *values.shape[1:]))
        found.append(values.reshape(len(outer), len(inner), len(drawn), -1).astype(float))
        weights.append(weight)
    return np.concatenate(found, axis=2), np.concatenate(weights, axis=2)


def _of_its_own(node: Node, arg: Node) -> bool:
    """Whether a public operand has an entry for every record: the cases that are counted are no records."""
    entrywise = node.primitive in FUNCTIONS or node.primitive == "select"
    aligned = entrywise and 0 < arg.ndim == node.ndim and fixed(arg.shape[0]) != 1
    return aligned and isinstance(arg.fact, Public)


def _compute(graph: Graph, part: Part, node: Node, known: dict[int, Values]) -> object:
    """The value of a node in every case; refused where Python or numpy might do otherwise."""
    if node.id in known:
        return known[node.id]
    if isinstance(node.fact, Public):
        return node.fact.value
    if any(_of_its_own(node, arg) for arg in node.args):
        _refuse(graph, "every record has a public number of its own, and so a law of its own")
    args = [_compute(graph, part, arg, known) for arg in node.args]
    if node.primitive in _DIVISIONS and not np.all(np.asarray(args[-1])):
        _refuse(graph, "an answer may be divided by 0, and Python's error would reveal that")
    try:
        with np.errstate(all="ignore"):
            found = PRIMITIVES[node.primitive].evaluate(*args, **node.params)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        graph.refuse("failed", f"an answer cannot be computed ({error})", "fix the code")
    numbers = np.asarray(found)
    if numbers.dtype.kind != node.dtype.kind and node.primitive != "is_value":
        _refuse(graph, "answers of another type than the program says")
    if numbers.dtype.kind not in "biuf" or not (np.abs(numbers.astype(float)) < LARGEST).all():
        _refuse(graph, "answers may be NaN, infinite or very large")
    known[node.id] = numbers
    return numbers
