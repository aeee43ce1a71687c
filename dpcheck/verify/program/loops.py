"""A loop of public length: its body is checked once, for values that stand for those of every round.

Lemma. If what a round is given lies in intervals for which the body was checked, and what it hands on lies
in those of the next round, then by induction the body's facts hold in every round. Draws of the body are
fresh in every round; what was drawn outside is not used in it. A release of the body happens once a round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpcheck.verify.program.boxes import BOXES, Box, pair
from dpcheck.verify.program.common import Node, only_released, plain, spread_box
from dpcheck.verify.program.facts import Public, Released
from dpcheck.verify.program.numbers import add, finite, read, times
from dpcheck.verify.program.steps import Steps, stated_box
from dpcheck.verify.result import Refused

_AFFINE = ("add", "subtract", "multiply", "divide", "negative", "positive", "reshape")


@dataclass(frozen=True, slots=True)
class _Carried:
    """A released value that one round hands to the next; in round k its interval is k `grow` wider."""

    node: Node
    first: Box
    grow: Fraction
    next: int

    def at(self, round_number: int) -> Box:
        """The interval before that round."""
        more = self.grow * round_number
        lo = tuple(add(end, -more) for end in self.first.lo)
        return Box(lo, tuple(add(end, more) for end in self.first.hi))


def check_loop(steps: Steps, data: Mapping[str, Any], many: int) -> None:
    """The body of a loop that runs `many` times."""
    state = steps.state
    if not 1 <= many <= 10**9:
        raise Refused("a loop runs at least once")
    before, first_draw = set(steps.nodes), state.next_draw
    outside = state.noise | state.spent
    made, asked = set(state.releases), len(state.answers)
    carried = [_read(steps, each, many) for each in _objects(data, "carried")]
    for each in _objects(data, "nodes"):
        steps.add(each)
    for one in carried:
        _check_handed_on(steps, one, carried, many)
    if any(each < first_draw for each in (state.noise | state.spent) - outside):
        raise Refused("a number that was drawn before a loop is used in each of its rounds")
    for answer in list(state.answers.values())[asked:]:
        state.seen.add(answer.release)  # it is asked in every round
    for key in set(state.releases) - made:
        release = state.releases[key]
        release.times *= many
        release.shared = release.shared or any(each < first_draw for each in release.coins)
    for key in set(steps.nodes) - before:
        if not isinstance(steps.nodes[key].fact, Released | Public):
            del steps.nodes[
                key
            ]  # of what is private or drawn in a round nothing is known afterwards


def _objects(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = data.get(name)
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise Refused(f"{name} must be a list of objects")
    return found


def _read(steps: Steps, data: Mapping[str, Any], many: int) -> _Carried:
    """A carried value as a node, which every round is checked for at its widest."""
    start = steps.nodes.get(data.get("start", -1))
    if start is None or not only_released([start]) or type(data.get("next")) is not int:
        raise Refused("a loop begins with values that are released")
    written = {
        **data,
        "primitive": "carried",
        "args": [start.id],
        "shape": list(plain(start)),
        "dtype": start.dtype,
    }
    node = steps.read(written)
    steps.state.open(start)
    grow = read(data.get("grow", 0), "grow")
    first = stated_box(node, {**data, "nan": False}, math.prod(plain(start)), plain=False)
    if not finite(grow) or grow < 0 or "low" not in data or not first.holds(start.fact.box):
        node.refuse("the first value is not in its interval")
    found = _Carried(node, first, Fraction(grow), data["next"])
    node.fact = Released(box=found.at(many))
    steps.nodes[node.id] = node
    return found


def _check_handed_on(steps: Steps, one: _Carried, carried: list[_Carried], many: int) -> None:
    """What is handed on lies in the interval of the next round.

    Lemma. Ends of intervals under sums and public factors are affine in the round, so is their distance to
    the ends they must not pass: it is enough to look at the first and at the last round.
    """
    following = steps.nodes.get(one.next)
    if following is None or not only_released([following]) or plain(following) != plain(one.node):
        raise Refused("a loop hands on values that are released, of the same shape")
    if following.dtype != one.node.dtype:
        raise Refused("a loop hands on values of the same type")
    if following.when or one.node.when:
        raise Refused("what only one branch computes is handed on")
    steps.state.open(following)
    if not any(each.grow for each in carried):
        if not one.first.holds(following.fact.box):
            following.refuse("what is handed on leaves its interval")
        return
    for at in (0, many - 1):
        known = {each.node.id: each.at(at) for each in carried}
        if not one.at(at + 1).holds(_affine(following, known)):
            following.refuse("what is handed on leaves the interval of the next round")


def _affine(node: Node, known: dict[int, Box]) -> Box:
    """The interval of a node in one round; of what is not affine in the carried values, of all rounds."""
    if node.id in known:
        return known[node.id]
    found = node.fact.box
    if node.primitive in _AFFINE and node.args and only_released(node.args) and _linear(node):
        shape = plain(node)
        boxes = [spread_box(_affine(arg, known), plain(arg), shape) for arg in node.args]
        found = boxes[0] if node.primitive == "reshape" else BOXES[node.primitive](*boxes)
    known[node.id] = found
    return found


def _linear(node: Node) -> bool:
    """Whether at most one operand varies, where the function is no sum."""
    if node.primitive == "multiply":
        return any(_is_point(arg) for arg in node.args)
    return node.primitive != "divide" or _is_point(node.args[1])


def _is_point(arg: Node) -> bool:
    box = arg.fact.box
    lo, hi = pair(box.lo, box.hi)
    return isinstance(arg.fact, Public) and lo == hi and all(finite(times(end, end)) for end in lo)
