"""Rounds of a loop that are alike, written down once: a certificate of a thousand steps has the nodes of one.

A choice of how a program is written, which the kernel checks like everything else.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcheck.program.facts.boxes import Box
from dpcheck.program.facts.kinds import Public, Released
from dpcheck.program.graph import Graph

Json = dict[str, Any]
_FEWEST = 4  # rounds that are worth it
_MARGIN = 1e-9


@dataclass(slots=True)
class _Rounds:
    """`many` rounds of `length` nodes each from place `start` on; `carried`: offset -> where it begins."""

    start: int
    length: int
    many: int
    carried: dict[int, int] = field(default_factory=dict)


def shorter(program: Json, graph: Graph) -> Iterator[Json]:
    """The program with its longest loop written once, in several ways to bound what rounds hand on."""
    nodes = program["nodes"]
    places = {each["id"]: i for i, each in enumerate(nodes)}
    found = _rounds(nodes, places, graph)
    if found is None or not _only_last(program, places, found):
        return
    for bounds in (_steady, _wide, _growing):
        written = _written(program, places, found, graph, bounds)
        if written is not None:
            yield written


def _kind(node: Mapping[str, Any]) -> str:
    shape = ["rows" if isinstance(n, dict) else n for n in node["shape"]]
    return json.dumps(
        [node["primitive"], node["params"], shape, node["dtype"], node["line"], len(node["args"])]
    )


def _names(node: Mapping[str, Any]) -> list[int]:
    """The nodes that a node names: operands, records, branches."""
    rows = [n["rows"] for n in node["shape"] if isinstance(n, dict)]
    return [*node["args"], *rows, *(test for test, _ in node.get("when", []))]


def _rounds(nodes: Sequence[Json], places: Mapping[int, int], graph: Graph) -> _Rounds | None:
    kinds = [_kind(each) for each in nodes]
    at: dict[str, list[int]] = {}
    for i, each in enumerate(nodes):
        if each["primitive"] == "release":
            at.setdefault(kinds[i], []).append(i)
    most = max(at.values(), key=len, default=[])
    if len(most) < _FEWEST:
        return None
    length, anchor = most[-1] - most[-2], most[-1]
    first = anchor
    while first - length > 0 and kinds[first - 1] == kinds[first - 1 - length]:
        first -= 1
    start = first - length
    stop = anchor + 1
    while stop < len(nodes) and kinds[stop] == kinds[stop - length]:
        stop += 1
    for turn in range(length):
        many = (stop - start - turn) // length
        if many < _FEWEST:
            return None
        made = _Rounds(start + turn, length, many)
        if _fits(nodes, places, made, graph):
            return made
    return None


def _fits(nodes: Sequence[Json], places: Mapping[int, int], made: _Rounds, graph: Graph) -> bool:
    """Whether every round uses what is outside, its own nodes, and what the round before it released.

    Fills in `carried`: what the first round uses in the place of what the round before it hands on.
    """
    names = [
        [places.get(each, -1) for each in _names(nodes[i])]
        for i in range(made.start, made.start + made.many * made.length)
    ]
    for k in range(1, made.many):
        begin = made.start + k * made.length
        for i in range(made.length):
            before, own = names[(k - 1) * made.length + i], names[k * made.length + i]
            if len(before) != len(own):  # more branches around it
                return False
            for one, two in zip(before, own, strict=True):
                if two < made.start:  # outside
                    if one != two:
                        return False
                elif two >= begin or k > 1:  # of this round
                    if one != two - made.length:
                        return False
                else:
                    if (
                        made.carried.setdefault(two - made.start, one) != one
                        or not 0 <= one < made.start
                    ):
                        return False
                    fact = graph.nodes[nodes[two]["id"]].fact
                    if not isinstance(fact, Released | Public):
                        return False
    return True


def _only_last(program: Json, places: Mapping[int, int], made: _Rounds) -> bool:
    """Whether nothing after the loop, nor the output, looks at a round before the last."""
    stop = made.start + made.many * made.length
    named = [each for node in program["nodes"][stop:] for each in _names(node)] + program["outputs"]
    return all(not made.start <= places.get(each, -1) < stop - made.length for each in named)


# Bounds of what is handed on ----------------------------------------------------------------------------

_Bounds = Callable[[list[Box], Box], tuple[Any, Any, float]]


def _hull(boxes: Sequence[Box]) -> tuple[Any, Any]:
    lo, hi = (
        np.asarray([np.broadcast_to(getattr(b, s), boxes[-1].lo.shape) for b in boxes])
        for s in ("lo", "hi")
    )
    return lo.min(axis=0), hi.max(axis=0)


def _steady(boxes: list[Box], first: Box) -> tuple[Any, Any, float]:
    """Growing if it grows by as much each time, else wide."""
    steps = [float(np.max(b.hi - a.hi)) for a, b in itertools.pairwise(boxes)]
    if not any(step > 0 for step in steps):
        return (*_hull([first, *boxes]), 0.0)
    even = steps[-1] > 0.5 * max(steps)
    return _growing(boxes, first) if even else _wide(boxes, first)


def _wide(boxes: list[Box], first: Box) -> tuple[Any, Any, float]:
    """Twice as wide as all that was seen, in every round."""
    lo, hi = _hull([first, *boxes])
    return 2 * np.minimum(lo, 0.0), 2 * np.maximum(hi, 0.0), 0.0


def _growing(boxes: list[Box], first: Box) -> tuple[Any, Any, float]:
    """By as much in every round as in the one where it grew most."""
    lo, hi = _hull([first])
    most = 0.0
    for before, after in zip([first, *boxes], boxes, strict=False):
        most = max(most, float(np.max(after.hi - before.hi)), float(np.max(before.lo - after.lo)))
    return lo, hi, most * (1 + _MARGIN)


def _written(
    program: Json, places: Mapping[int, int], made: _Rounds, graph: Graph, bounds: _Bounds
) -> Json | None:
    nodes: list[Json] = program["nodes"]
    ids: list[int] = [each["id"] for each in nodes]
    stop = made.start + made.many * made.length
    fresh = max(ids) + 1
    carried: list[Json] = []
    stand_in: dict[int, int] = {}
    for number, (offset, begin) in enumerate(sorted(made.carried.items())):
        boxes = [
            graph.nodes[ids[made.start + k * made.length + offset]].fact.box
            for k in range(made.many)
        ]
        first = graph.nodes[ids[begin]].fact.box
        lo, hi, grow = bounds(boxes, first)
        shape = graph.nodes[ids[begin]].shape
        if not (np.isfinite(lo).all() and np.isfinite(hi).all() and math.isfinite(grow)):
            return None
        low, high = (np.broadcast_to(end, shape).ravel().tolist() for end in (lo, hi))  # type: ignore[arg-type]
        same = len(set(low)) == len(set(high)) == 1
        stand_in[offset] = fresh + number
        carried.append(
            {
                "id": fresh + number,
                "start": ids[begin],
                "next": ids[made.start + offset],
                "low": low[0] if same else low,
                "high": high[0] if same else high,
                "grow": grow,
            }
        )

    def in_body(name: int) -> int:
        """The name of an operand within the round that stands for all: the second one says which."""
        two = places.get(name, -1)
        offset = two - made.start
        if made.start + made.length <= two < stop:
            return ids[two - made.length]
        return stand_in[offset] if 0 <= offset < made.length else name

    body = [
        {**_renamed(nodes[i + made.length], in_body), "id": ids[i]}
        for i in range(made.start, made.start + made.length)
    ]
    last = stop - made.length

    def after(name: int) -> int:
        place = places.get(name, -1)
        return ids[made.start + place - last] if last <= place < stop else name

    loop = {"times": made.many, "carried": carried, "nodes": body}
    rest = [_renamed(each, after) for each in nodes[stop:]]
    return {
        **program,
        "nodes": [*nodes[: made.start], {"loop": loop}, *rest],
        "outputs": [after(each) for each in program["outputs"]],
    }


def _renamed(node: Json, name: Callable[[int], int]) -> Json:
    found = {**node, "args": [name(each) for each in node["args"]]}
    found["shape"] = [
        {"rows": name(n["rows"])} if isinstance(n, dict) else n for n in node["shape"]
    ]
    if "when" in node:
        found["when"] = [[name(test), answer] for test, answer in node["when"]]
    return found
