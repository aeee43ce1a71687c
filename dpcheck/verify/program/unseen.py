"""Noisy numbers that are only compared: sparse vector, and the place of the largest.

Lemma (above threshold). Let rho be Laplace noise of scale a on a threshold, and nu_i fresh Laplace noise of
scale b_i on query i, which moves by at most d_i between neighbours; d = max d_i. If only the answers
`query i + nu_i is above the threshold + rho` are seen, a sequence with the hits H is at most
exp(d/a + sum over H of (d + d_i)/b_i) times likelier: rho + d makes no answer below rarer,
nu_i + d + q_i - q'_i keeps a hit, and the difference of its two sides. Where all queries rise, or fall,
together a hit costs d/b_i. The same with hits below. What is asked may depend on what was seen.

Lemma (noisy maximum). Which number is larger than all before it decides which is the largest of all; if only
that is seen, it is what `argmax` of all of them is.

Reference: [Lyu2017] Theorem 4, [Dwork2014] section 3.3, [Ding2019] for the gap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpcheck.verify.events import not_negative, text
from dpcheck.verify.program.boxes import TRUTH, WHOLE, union
from dpcheck.verify.program.common import Node, Release, State, only_released
from dpcheck.verify.program.events import SLACK, check_release
from dpcheck.verify.program.facts import Drawn, Fact, Held, Public, Released
from dpcheck.verify.program.linear import one_vector
from dpcheck.verify.program.numbers import Number, inverse, times
from dpcheck.verify.program.tallies import Answer, Tallies

_COMPARISONS = ("less", "less_equal", "greater", "greater_equal")
_SELECTING = ("laplace", "gumbel", "exponential")


def compared(state: State, node: Node) -> Fact | None:
    """A comparison or a difference of numbers nobody has seen; None if it is something else."""
    if node.primitive not in (*_COMPARISONS, "subtract") or len(node.args) != 2:
        return None
    if node.shape or any(arg.ndim for arg in node.args):
        return None
    first, second = node.args
    for number, other, straight in ((first, second, True), (second, first, False)):
        above = node.primitive.startswith("greater") == straight
        held = _held(number)
        if held is not None and held.kind == "gap" and isinstance(other.fact, Public):
            if node.primitive == "subtract":
                return None
            return _answer(state, node, held.members[0], above == held.up, held.base)
        if isinstance(other.fact, Drawn) and _fresh(state, number, ("laplace",)) is not None:
            return _against_threshold(state, node, number, other, above)
    if node.primitive == "subtract":
        return None
    return _beats(state, node)


def _held(node: Node) -> Held | None:
    return node.fact.held if isinstance(node.fact, Released) else None


def _fresh(state: State, node: Node, families: Sequence[str]) -> Release | None:
    """The release of one number that nobody has seen, with noise of one scale."""
    key = node.fact.release if isinstance(node.fact, Released) else None
    if key is None or key in state.seen or key in state.chosen:
        return None
    release = state.releases[key]
    plain = not release.coins and release.sampling is None and release.response is None
    return release if plain and release.count == 1 and release.family in families else None


# Sparse vector ------------------------------------------------------------------------------------------


def _against_threshold(
    state: State, node: Node, number: Node, other: Node, above: bool
) -> Fact | None:
    base, drawn = _base(other), other.fact
    assert isinstance(drawn, Drawn)
    if drawn.family != "laplace" or drawn.block or len(drawn.scale) != 1 or not drawn.scale[0] > 0:
        return None
    if len(drawn.ids) != 1:
        return None
    if base.id not in state.thresholds:
        state.protect(node, drawn.ids[0])
        state.thresholds[base.id] = drawn.scale[0]
    assert isinstance(number.fact, Released)
    member = number.fact.release
    assert member is not None
    if node.primitive == "subtract":
        up = node.args[0] is number
        return Released(box=WHOLE, held=Held("gap", (member,), up, base.id))
    return _answer(state, node, member, above, base.id)


def _base(node: Node) -> Node:
    """A threshold without the public numbers that are added to it: the same noise, with the same sign."""
    while node.primitive in ("add", "subtract"):
        first, second = node.args
        if isinstance(second.fact, Public):
            node = first
        elif isinstance(first.fact, Public) and node.primitive == "add":
            node = second
        else:
            break
    return node


def _answer(state: State, node: Node, member: int, above: bool, base: int) -> Released:
    if any(each.release == member for each in state.answers.values()):
        state.seen.add(member)  # one number, asked twice
    path = tuple((state.nodes[test], value) for test, value in node.when)
    state.answers[node.id] = Answer(node.id, member, above, path)
    state.asked.setdefault(base, {})[node.id] = member
    return Released(box=TRUTH, held=Held("answer", (member,), above, base))


def check_vector(state: State, base: int, members: list[Release]) -> Number | None:
    """What all answers to one threshold cost together; None if these are not all of them."""
    answers = {i: state.answers[i] for i in state.asked[base]}
    by_release = {each.node.id: each for each in members}
    if sorted(each.release for each in answers.values()) != sorted(by_release):
        return None
    moves = {i: each.size.tightened(1).linf for i, each in by_release.items()}
    most = max(moves.values())
    together = all(each.rising for each in members) and state.adjacency == "add-remove"
    prices: dict[int, Fraction] = {}
    for answer in answers.values():
        shift = most if together else most + moves[answer.release]
        price = times(shift, inverse(min(by_release[answer.release].scale)))
        if not isinstance(price, Fraction):
            return None
        prices[answer.node] = price
    told = any(each.node.id in state.told for each in members)
    hits = [Tallies(answers, up).dearest(prices) for up in ((True,) if told else (True, False))]
    return times(most, inverse(state.thresholds[base])) + min(hits)


def most_hits(state: State, base: int) -> int:
    """How many answers above there are on any path."""
    answers = {i: state.answers[i] for i in state.asked[base]}
    return math.floor(Tallies(answers, True).dearest(dict.fromkeys(answers, Fraction(1))))


# Noisy maxima -------------------------------------------------------------------------------------------


def _beats(state: State, node: Node) -> Released | None:
    """Whether a number is larger than all before it."""
    for new, old in (node.args, node.args[::-1]):
        above = node.primitive.startswith("greater") == (new is node.args[0])
        release, before = _fresh(state, new, _SELECTING), _held(old)
        if release is None:
            continue
        chain: tuple[int, ...] | None = None
        if before is not None and before.kind == "best" and before.up == above:
            chain = before.members
        first = _fresh(state, old, _SELECTING)
        if first is not None and list(state.releases).index(first.node.id) < list(
            state.releases
        ).index(release.node.id):
            chain = (first.node.id,)
        if chain is not None and release.node.id not in chain:
            held = Held("beats", (*chain, release.node.id), above)
            return Released(box=TRUTH, held=held)
    return None


def chosen(state: State, node: Node) -> Released | None:
    """The larger of two numbers nobody has seen, or its place; the difference that a hit tells."""
    test, x, y = node.args
    held = _held(test)
    if (
        held is None
        or node.shape
        or any(arg.ndim for arg in node.args)
        or not only_released([x, y])
    ):
        return None
    if held.kind == "answer":
        return _told(state, held, node)
    if held.kind != "beats":
        return None
    chain, (new, old) = held.members, (_held(x), _held(y))
    first = len(chain) == 2
    before = None if old is None or old.up != held.up or old.members != chain[:-1] else old.kind
    found = union(x.fact.box, y.fact.box)
    assert isinstance(x.fact, Released | Public)
    assert isinstance(y.fact, Released | Public)
    if isinstance(x.fact, Released) and x.fact.release == chain[-1] and new is None:
        own = first and isinstance(y.fact, Released) and y.fact.release == chain[0]
        if before == "best" or own:
            return Released(box=found, held=Held("best", chain, held.up))
    if isinstance(x.fact, Public) and (before == "place" or (first and isinstance(y.fact, Public))):
        return Released(box=found, held=Held("place", chain, held.up))
    return None


def _told(state: State, answer: Held, node: Node) -> Released | None:
    _, x, y = node.args
    kept, other = (x, y) if answer.up else (y, x)
    gap = _held(kept)
    if gap is None or gap.kind != "gap" or (gap.members, gap.base) != (answer.members, answer.base):
        return None
    state.told.add(gap.members[0])
    state.open(other)
    return Released(box=WHOLE)


def check_largest(state: State, members: list[Release], event: Mapping[str, Any]) -> bool:
    """Whether an event is enough for the place of the largest of these."""
    own = {each.node.id for each in members}
    seen = {each for each in state.places if own & set(each[0])}
    if len(seen) != 1:
        return False
    ((chain, up),) = seen
    first, kind = members[0], text(event, "kind")
    alike = all((each.family, each.scale) == (first.family, first.scale) for each in members)
    if set(chain) != own or not alike or len(set(first.scale)) != 1:
        return False
    allowed = ("PureDP", "ExponentialMechanism") if first.family == "gumbel" else ("PureDP",)
    if kind not in allowed or event.get("adjacency") != state.adjacency:
        return False
    if not up and first.family != "laplace":
        return False
    together = all(each.rising for each in members) and state.adjacency == "add-remove"
    most = max(each.size.tightened(1).linf for each in members)
    price = times(times(Fraction(1 if together else 2), most), inverse(first.scale[0]))
    return price <= not_negative(event, "epsilon") * SLACK


# All of them --------------------------------------------------------------------------------------------


def check_together(
    state: State, members: list[Release], event: Mapping[str, Any], many: int
) -> None:
    """Releases that are paid for as one mechanism: an event is enough for what was seen of them."""
    first = members[0]
    for each in members:
        if each.times != 1 or each.node.id in state.chosen:
            each.node.refuse("it happens more than once")
    unseen = not any(each.node.id in state.seen for each in members)
    if unseen and many >= 1 and _compared_only(state, members, event):
        return
    for each in members:
        state.seen.add(each.node.id)
    vector = one_vector(members)
    if isinstance(vector, Release):
        check_release(state, vector, event, many)
        return
    if vector is None or many < 1 or not _pure(state, event, vector):
        first.node.refuse(f"{event.get('kind')} is not enough for these numbers together")


def _compared_only(state: State, members: list[Release], event: Mapping[str, Any]) -> bool:
    """Whether it is enough for answers to one threshold, or for the place of the largest."""
    own = {each.node.id for each in members}
    bases = [base for base, asked in state.asked.items() if own & {*asked.values()}]
    if bases:
        cost = check_vector(state, bases[0], members) if len(bases) == 1 else None
        return cost is not None and _pure(state, event, cost)
    alike = all(each.node.when == members[0].node.when for each in members)
    return alike and check_largest(state, members, event)


def _pure(state: State, event: Mapping[str, Any], cost: Number) -> bool:
    return (
        text(event, "kind") == "PureDP"
        and event.get("adjacency") == state.adjacency
        and cost <= not_negative(event, "epsilon") * SLACK
    )


def hits_of(state: State, members: list[Release]) -> int:
    """How many of these releases are made on any path, each where another answer is a hit."""
    bases, under = set(), set()
    for each in members:
        mine = [
            test
            for test, value in each.node.when
            if test in state.answers and value == state.answers[test].above
        ]
        if not mine or mine[-1] in under:
            each.node.refuse("it is not made with a hit of its own")
        under.add(mine[-1])
        bases |= {base for base, asked in state.asked.items() if mine[-1] in asked}
    if len(bases) != 1:
        members[0].node.refuse("these are hits of several thresholds")
    return most_hits(state, bases.pop())
