"""Noisy numbers compared with each other, or with a noisy threshold: see `joints` for what that costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcheck.program import joints
from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import DType
from dpcheck.program.facts.kinds import Drawn, Public, Released
from dpcheck.program.graph import Graph, Made, Node
from dpcheck.program.releases import LAPLACE, SELECTING, Release
from dpcheck.program.rules.common import opened, released

_TURNED = {
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
}
TRUTHS = boxes.box(0.0, 1.0)


def compared(graph: Graph, name: str, args: Sequence[Node]) -> Made | None:
    """A comparison, or a difference, of numbers nobody has seen; None if it is none."""
    if len(args) != 2 or any(arg.ndim for arg in args):
        return None
    first, second = args
    if name == "subtract":
        return _difference(graph, first, second)
    if name not in _TURNED:
        return None
    if _unseen(second) is not None and (_unseen(first) is None or _later(second, first)):
        first, second, name = second, first, _TURNED[name]
    number = _unseen(first)
    if number is None:
        return None
    larger = name in ("greater", "greater_equal")
    if isinstance(second.fact, Public):
        return _with_public(graph, number, second, larger)
    if not isinstance(number, Release):
        return None
    if number.family != LAPLACE and isinstance(second.fact, Drawn):
        return None  # other noise may rule answers out
    if isinstance(second.fact, Drawn) and _is_threshold(second.fact):
        bit = joints.Bit(_threshold(graph, second.fact), number, larger, tuple(graph.guards))
        return _answer(bit)
    before = _unseen(second)
    if not isinstance(before, Release | joints.Running) or not _selectable(number):
        return None
    joint = before.joint if isinstance(before, joints.Running) else joints.Largest()
    if joint is None or not isinstance(joint, joints.Largest):
        return None
    if isinstance(before, Release):
        if before.joint is not None or not _selectable(before):
            return None
        graph.joints.append(joint)
        joint.maximal = larger
        joint.add(before)
    elif before.place or before.length != len(joint.members) or joint.maximal != larger:
        return None
    joint.add(number)
    beats = joints.Beats(joint, number, len(joint.members), True)
    return released((), np.dtype(bool), TRUTHS, release=beats)


def _later(one: Node, other: Node) -> bool:
    """Of two numbers nobody has seen the newer one is held against the older."""
    return isinstance(_unseen(other), joints.Running) or (
        isinstance(_unseen(one), Release)
        and isinstance(_unseen(other), Release)
        and one.id > other.id
    )


def _unseen(node: Node) -> Release | joints.Running | joints.Gap | None:
    """What a node is, if only comparisons have been made with it."""
    found = node.fact.release if isinstance(node.fact, Released) else None
    if isinstance(found, Release):
        plain = found.sampling is None and not found.coins and found.fixed is None
        law = found.family in SELECTING and found.scale.size == 1 and not found.shape
        fresh = not found.opened and found.selected is None
        bounded = bool(np.isfinite(found.diff.linf))
        return found if plain and law and fresh and bounded else None
    return found if isinstance(found, joints.Running | joints.Gap) else None


def _selectable(number: Release) -> bool:
    return number.joint is None or isinstance(number.joint, joints.Largest)


def _with_public(
    graph: Graph, number: Release | joints.Running | joints.Gap, public: Node, larger: bool
) -> Made | None:
    if isinstance(number, joints.Gap):
        if number.bit is not None:
            return None
        bit = joints.Bit(number.joint, number.member, larger != number.turned, tuple(graph.guards))
        number.bit = bit
        return _answer(bit)
    if public.dtype.kind not in "if" or not isinstance(public.fact, Public):
        return None
    least = -np.inf if larger else np.inf
    if float(np.asarray(public.fact.value)) == least:  # numbers are finite
        return Made((), np.dtype(bool), Public(box=boxes.point(np.asarray(True)), value=True))
    if isinstance(number, Release):
        return released((), np.dtype(bool), TRUTHS, release=joints.Peek(number))
    return None


def _answer(bit: joints.Bit) -> Made:
    bit.joint.add(bit.member)
    if any(each.member is bit.member for each in bit.joint.bits):
        bit.joint.broken = True  # one number, asked twice
    bit.joint.bits.append(bit)
    return released((), np.dtype(bool), TRUTHS, release=bit)


def _is_threshold(fact: Drawn) -> bool:
    return (
        fact.family == LAPLACE
        and np.size(fact.scale) == np.size(fact.sign) == 1
        and float(fact.scale.flat[0]) > 0
        and abs(float(fact.sign.flat[0])) == 1
    )


def _threshold(graph: Graph, fact: Drawn) -> joints.Threshold:
    """The answers that share this noise; each of its numbers protects nothing else."""
    ids = frozenset(int(i) for i in np.ravel(fact.ids))
    parts = graph.one_of.get(ids, (ids,))
    found = [j for j in graph.joints if isinstance(j, joints.Threshold) and j.ids & ids]
    law = (float(fact.scale.flat[0]), float(fact.sign.flat[0]))
    if len(found) > 1 or (found and (found[0].scale, found[0].sign) != law):
        graph.refuse(
            "reused-noise",
            "the noise of a threshold is used for another one",
            "draw a threshold for each",
        )
    joint = found[0] if found else joints.Threshold(scale=law[0], sign=law[1])
    if not found:
        graph.join(joint)
    fresh = ids - joint.ids
    if fresh:
        graph.use(sorted(fresh), "a noisy threshold")
    for part in parts:
        joint.draws.setdefault(part, graph.drawn_at.get(min(part), ()))
    return joint


def _difference(graph: Graph, first: Node, second: Node) -> Made | None:
    """query + noise - (threshold + noise)."""
    for number, drawn, turned in ((first, second, False), (second, first, True)):
        member = _unseen(number)
        if not isinstance(member, Release):
            continue
        if member.family != LAPLACE or not isinstance(drawn.fact, Drawn):
            continue
        if drawn.ndim or not _is_threshold(drawn.fact):
            continue
        joint = _threshold(graph, drawn.fact)
        bit = next((each for each in joint.bits if each.member is member), None)
        gap = joints.Gap(joint, member, graph, turned, bit)
        joint.add(member)
        return released((), np.dtype(float), boxes.WHOLE, release=gap)
    return None


def chosen(graph: Graph, args: Sequence[Node], dtype: DType) -> Made | None:
    """The larger of two numbers nobody has seen, or its place; or a threshold that is drawn anew."""
    condition, x, y = args
    if any(arg.ndim for arg in args):
        return None
    if isinstance(x.fact, Drawn) and isinstance(y.fact, Drawn):
        return _renewed(graph, condition, x, y)
    beats = condition.fact.release if isinstance(condition.fact, Released) else None
    if isinstance(beats, joints.Bit) and _told(beats, x, y):
        return released((), dtype, x.fact.box.hull(y.fact.box))
    if not isinstance(beats, joints.Beats) or beats.joint.broken:
        return None
    if not isinstance(x.fact, Released | Public) or not isinstance(y.fact, Released | Public):
        return None
    new, old = _unseen_or_place(x), _unseen_or_place(y)
    box = x.fact.box.hull(y.fact.box)
    length = beats.length
    first = length == 2
    if new is beats.member and _is_before(old, beats, place=False, first=first):
        return released((), dtype, box, release=joints.Running(beats.joint, length, False))
    known = isinstance(y.fact, Public) if first else _is_before(old, beats, place=True, first=False)
    if isinstance(x.fact, Public) and known:
        return released((), dtype, box, release=joints.Running(beats.joint, length, True))
    return None


def _unseen_or_place(node: Node) -> object:
    return node.fact.release if isinstance(node.fact, Released) else None


def _is_before(old: object, beats: joints.Beats, *, place: bool, first: bool) -> bool:
    if first and not place:
        return old is beats.joint.members[0]
    return (
        isinstance(old, joints.Running)
        and old.joint is beats.joint
        and old.length == beats.length - 1
        and old.place == place
    )


def _told(bit: joints.Bit, x: Node, y: Node) -> bool:
    """A difference that is kept where the answer is a hit is told with it."""
    kept, other = (x, y) if bit.above else (y, x)
    gap = kept.fact.release if isinstance(kept.fact, Released) else None
    if not isinstance(gap, joints.Gap) or gap.bit is not bit or bit.joint.payer is not None:
        return False
    if not isinstance(other.fact, Released | Public):
        return False
    bit.joint.gaps = True
    opened((other,))
    return True


def _renewed(graph: Graph, condition: Node, x: Node, y: Node) -> Made | None:
    """One of two thresholds with noise of the same law, as a released value decides."""
    a, b = x.fact, y.fact
    assert isinstance(a, Drawn)
    assert isinstance(b, Drawn)
    opened((condition,))
    if not isinstance(condition.fact, Released) or not (_is_threshold(a) and _is_threshold(b)):
        return None
    if not np.array_equal(a.sign, b.sign):
        return None
    if float(a.scale) != float(b.scale) or np.ndim(a.location) or np.ndim(b.location):
        return None
    if float(a.location) != float(b.location):
        return None
    ids = [frozenset(int(i) for i in np.ravel(each.ids)) for each in (a, b)]
    parts = dict.fromkeys(p for one in ids for p in graph.one_of.get(one, (one,)))
    both = ids[0] | ids[1]
    if both in graph.one_of and graph.one_of[both] != tuple(parts):
        return None
    graph.one_of[both] = tuple(parts)
    every = np.asarray([sorted(both)], dtype=np.int64)
    return Made(
        (),
        np.dtype(float),
        Drawn(
            box=a.box.hull(b.box),
            family=LAPLACE,
            scale=a.scale,
            location=a.location,
            ids=every,
            sign=a.sign,
        ),
    )
