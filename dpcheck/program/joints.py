"""Noisy numbers that are compared before anybody sees them: sparse vector, and noisy maxima found in a loop.

Lemma (above threshold). Let rho be Laplace noise of scale a on a threshold, drawn once; let nu_i be
fresh Laplace noise of scale b_i on query i, which differs by at most d_i between neighbours, d = max
d_i; and let only the answers "query i + nu_i is above the threshold + rho" be seen. An answer sequence
with the hits (answers above) H has on neighbours a likelihood ratio of at most exp(d/a + sum over H of
(d_i + d)/b_i): substitute rho + d for rho, which makes no answer below rarer, and nu_i + d + q_i - q'_i
for nu_i where it is a hit. Then the difference of the two sides of a hit is the same as well, so that
it may be told with the hit. Where all queries rise together or fall together a hit costs d/b_i: shift
nothing, or all by d. The same holds with "below" for "above". Queries, thresholds and whether there is
a next one may depend on what was seen before, and on other releases: their factors of the likelihood
have other noise. A threshold that is drawn anew costs its d/a each time. So all of it is pure DP with
the largest such sum over the paths; `tallies` bounds it.

Lemma (noisy maximum). Whether each number is larger than all before decides which is the largest of all;
if only that is seen, it is what `argmax` of all of them is.

Reference: [Lyu2017] Theorem 4 and section 4.3; [Dwork2014] section 3.3; [Ding2019] for the gap.
Assumes: nothing else is seen of these numbers. If one of them is, all of them count as releases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.guarantee import PureDP
from dpcheck.program.facts.kinds import Aggregate
from dpcheck.program.facts.sizes import Size
from dpcheck.program.releases import GAUSSIAN, LAPLACE, Release, snapped
from dpcheck.program.tallies import dearest_hits

if TYPE_CHECKING:
    from dpcheck.program.graph import Graph, Node

Draws = frozenset[int]
Path = tuple[tuple["Node", bool], ...]


class Payer(Protocol):
    """Who pays before an answer is seen, at run time."""

    def answered(self, bit: Bit) -> None:
        """This answer is about to be seen."""

    def told(self, gap: Gap) -> None:
        """This difference is about to be seen."""


@dataclass(slots=True, eq=False)
class Joint:
    """Releases that are paid for together, unless one of them is seen by itself."""

    members: list[Release] = field(default_factory=list)
    broken: bool = False

    @property
    def open_members(self) -> bool:
        """Whether more than the comparisons is seen."""
        return self.broken or any(each.opened for each in self.members)

    def path(self) -> tuple[tuple[int, bool], ...]:
        """The branches all of it lies in."""
        return _common([each.path for each in self.members])

    def add(self, member: Release) -> None:
        """One more; a release that is compared in two ways is seen."""
        if member.joint is self:
            return
        if member.joint is not None:
            self.broken = member.joint.broken = True
        member.joint = self
        self.members.append(member)

    def release(self, graph: Graph) -> Release | None:
        """What all of it is; None if it is better counted one by one."""
        raise NotImplementedError


def _common(paths: Sequence[tuple[tuple[int, bool], ...]]) -> tuple[tuple[int, bool], ...]:
    """The branches that all of them lie in."""
    short = min(len(path) for path in paths)
    same = next((i for i in range(short) if len({p[i] for p in paths}) > 1), short)
    return paths[0][:same]


# Sparse vector -------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Bit:
    """One answer: whether a query is above the threshold. `above` is the truth value that says so."""

    joint: Threshold
    member: Release
    above: bool
    path: Path
    node: Node | None = None
    seen: bool = False  # at run time

    def open(self) -> None:
        """It is seen."""
        if self.joint.payer is not None:
            self.joint.payer.answered(self)

    def selects(self, how: str) -> bool:
        """It is no vector."""
        del how
        return False


@dataclass(slots=True, eq=False)
class Gap:
    """query + noise - threshold - noise: seen only where the answer was a hit."""

    joint: Threshold
    member: Release
    graph: Graph
    turned: bool
    bit: Bit | None = None
    node: Node | None = None

    def open(self) -> None:
        """It is seen; where the answer may be no hit, that is a release of its own."""
        if self.joint.payer is not None:
            self.joint.payer.told(self)
        elif self.bit is not None and self._after_a_hit(self.bit):
            self.joint.gaps = True
        else:
            self.joint.broken = True

    def _after_a_hit(self, bit: Bit) -> bool:
        return any(
            getattr(node.fact, "release", None) is bit and answer == bit.above
            for node, answer in self.graph.guards
        )

    def selects(self, how: str) -> bool:
        """It is no vector."""
        del how
        return False


@dataclass(slots=True, eq=False)
class Threshold(Joint):
    """Answers that share a noisy threshold, or thresholds drawn anew."""

    scale: float = 0.0
    sign: float = 1.0  # of its noise, which is added or subtracted everywhere
    draws: dict[Draws, Path] = field(default_factory=dict)
    bits: list[Bit] = field(default_factory=list)
    payer: Payer | None = None
    paid: float = 0.0  # at run time
    gaps: bool = False

    @property
    def ids(self) -> Draws:
        """All drawn numbers of the threshold."""
        return frozenset().union(*self.draws)

    def _most(self) -> float:
        """How far any query moves."""
        return max(each.diff.linf for each in self.members)

    def _costs(self, members: Sequence[Release]) -> list[float]:
        """What a hit of each costs."""
        most = self._most()
        rising = all(
            each.direction == "up" and each.adjacency is Adjacency.ADD_REMOVE
            for each in self.members
        )
        return [
            (most if rising else most + each.diff.linf) / float(each.scale.min())
            for each in members
        ]

    def price(self, hits: int, thresholds: int = 1) -> float:
        """What that many hits cost, the dearest ones."""
        costs = sorted(self._costs(self.members), reverse=True)
        return thresholds * self._most() / self.scale + math.fsum(costs[:hits])

    def release(self, graph: Graph) -> Release | None:
        """Pure DP with the dearest hits of any path; answers one by one if that is less."""
        del graph
        found = []
        costs = [Fraction(each) for each in self._costs([bit.member for bit in self.bits])]
        for up in (True, False) if not self.gaps else (True,):
            _, hits = dearest_hits(self.bits, costs, up)
            anew = [_last_hit(self, path, up) for path in list(self.draws.values())[1:]]
            once = None not in anew and len(set(anew)) == len(anew)
            times = len(self.draws)
            if once and times > 1:
                times = min(times, 1 + most_hits(self.bits, up)[0])
            found.append(self._most() / self.scale * times + float(hits))
        alone = math.fsum(each.diff.linf / float(each.scale.min()) for each in self.members)
        if alone <= min(found) and not self.gaps:
            return None
        first = self.members[0]
        made = Release(
            first.line,
            first.adjacency,
            "threshold and query",
            np.asarray([self.scale, *(float(each.scale.min()) for each in self.members)]),
            (len(self.members),),
            _together(self.members),
            opened=True,
            fixed=PureDP(snapped(min(found)), first.adjacency),
        )
        made.path = self.path()
        return made


def most_hits(bits: Sequence[Bit], up: bool) -> tuple[int, int]:
    """The most hits before an answer, and on a whole path."""
    before, most = dearest_hits(bits, [Fraction(1)] * len(bits), up)
    return math.floor(before), math.floor(most)


def _last_hit(joint: Threshold, path: Path, up: bool) -> Bit | None:
    """The hit after which a threshold is drawn anew."""
    for node, answer in reversed(path):
        bit = getattr(node.fact, "release", None)
        if isinstance(bit, Bit) and bit.joint is joint and (answer == bit.above) == up:
            return bit
    return None


# Noisy maxima ---------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Largest(Joint):
    """Numbers of which only the place of the largest, or of the smallest, is seen."""

    maximal: bool = True
    length: int = 0  # of those whose largest is seen

    def release(self, graph: Graph) -> Release | None:
        """Report noisy max."""
        del graph
        first = self.members[0]
        laws = {(each.family, float(each.scale.min())) for each in self.members}
        if len(laws) > 1 or (first.family != LAPLACE and not self.maximal):
            return None
        up = all(each.direction == "up" for each in self.members)
        made = Release(
            first.line,
            first.adjacency,
            first.family,
            np.asarray([first.scale.min()]),
            (len(self.members),),
            _together(self.members),
            "up" if up else "either",
            selected="argmax",
        )
        made.path = self.path()
        return made


@dataclass(slots=True, eq=False)
class Beats:
    """Whether a number is larger than all before; `wins` is the truth value that says so."""

    joint: Largest
    member: Release
    length: int  # how many there are with this one
    wins: bool
    node: Node | None = None

    def open(self) -> None:
        """It is seen, which tells more than which is the largest."""
        _broken(self.joint)

    def selects(self, how: str) -> bool:
        """It is no vector."""
        del how
        return False


@dataclass(slots=True, eq=False)
class Running:
    """The largest number so far, or its place."""

    joint: Largest
    length: int
    place: bool
    node: Node | None = None

    def open(self) -> None:
        """Its place may be seen once, of all of them."""
        if not self.place or self.joint.length not in (0, self.length):
            _broken(self.joint)
        self.joint.length = self.length

    def selects(self, how: str) -> bool:
        """It is no vector."""
        del how
        return False


def _together(members: Sequence[Release]) -> Size:
    """How all of these numbers move."""
    moved = np.asarray([each.diff.linf for each in members])
    return Size(moved).tightened((len(members),))


@dataclass(slots=True, eq=False)
class Peek:
    """A number that nobody has seen, compared with a public one: seen if somebody looks."""

    member: Release

    def open(self) -> None:
        """The number counts as seen."""
        self.member.open()

    def selects(self, how: str) -> bool:
        """It is no vector."""
        del how
        return False


def _broken(joint: Joint) -> None:
    joint.broken = True
    for each in joint.members:
        each.open()


@dataclass(slots=True, eq=False)
class Entries(Joint):
    """Releases of sums of entries of one vector: see `rules/linear.py` for the lemma."""

    def release(self, graph: Graph) -> Release | None:
        """One release of the vector, or pure DP."""
        del graph
        first = self.members[0]
        forms = [each.form[1] for each in self.members if each.form is not None]
        vector = first.form[0].fact if first.form is not None else None
        assert isinstance(vector, Aggregate)
        scales = np.asarray([float(each.scale.min()) for each in self.members])
        places = [next(iter(form)) for form in forms]
        single = all(len(f) == 1 and set(f.values()) == {1.0} for f in forms)
        if single and len(set(places)) == len(places):
            size = vector.diff
            moved = np.broadcast_to(size.coordinates, first.form[0].shape)[places]  # type: ignore[index, arg-type]
            bound = Size(moved, size.l1, size.l2, size.linf, size.changed)
            made = Release(
                first.line,
                first.adjacency,
                first.family,
                scales,
                (len(places),),
                bound.tightened((len(places),)),
                "up" if all(each.direction == "up" for each in self.members) else "either",
                opened=True,
            )
        else:
            if first.family != LAPLACE:
                return None
            spent: dict[int, float] = {}
            for form, scale in zip(forms, scales, strict=True):
                for at, factor in form.items():
                    spent[at] = spent.get(at, 0.0) + abs(factor) / scale
            total = max(spent.values()) * vector.diff.l1
            alone = math.fsum(
                each.diff.l1 / scale for each, scale in zip(self.members, scales, strict=True)
            )
            if not total < alone:
                return None
            made = Release(
                first.line,
                first.adjacency,
                LAPLACE,
                scales,
                (len(forms),),
                _together(self.members),
                opened=True,
                fixed=PureDP(snapped(total), first.adjacency),
            )
        made.path = self.path()
        return made


def _of_one_vector(graph: Graph) -> list[Joint]:
    """Releases of entries of the same vectors, seen by themselves."""
    found: dict[tuple[object, ...], Entries] = {}
    for each in graph.releases:
        plain = each.fixed is None and each.sampling is None and not each.coins
        bounded = bool(np.isfinite(each.diff.l1))
        seen = each.joint is None or each.opened
        if each.form is None or not seen or each.selected or not plain or not bounded:
            continue
        if each.times != 1:  # it stands for several
            continue
        if each.shape or each.family not in (LAPLACE, GAUSSIAN) or each.scale.size != 1:
            continue
        vector = (each.form[0].id, each.family)
        joint = found.setdefault((*vector, _one_way(graph, vector) or each.path), Entries())
        joint.members.append(each)
    several = [joint for joint in found.values() if len(joint.members) > 1]
    for joint in several:
        for each in joint.members:
            each.joint = joint
    return [*several]


def _one_way(graph: Graph, vector: tuple[int, str]) -> bool:
    """Whether none of these releases excludes another: their paths lie on one."""
    paths = [
        each.path
        for each in graph.releases
        if each.form is not None and (each.form[0].id, each.family) == vector
    ]
    longest = max(paths, key=len)
    return all(longest[: len(path)] == path for path in paths)


def settle(graph: Graph) -> None:
    """Decide which releases are paid for together: those of which nothing but comparisons is seen."""
    waiting: Sequence[Joint] = graph.joints
    while True:
        seen = [joint for joint in waiting if joint.open_members]
        if not seen:
            break
        for joint in seen:
            for each in joint.members:
                each.opened = True
        waiting = [joint for joint in waiting if joint not in seen]
    _replace(graph, waiting)
    for joint in graph.joints:
        if isinstance(joint, Threshold):
            _told_with_hits(graph, joint)
    _replace(graph, _of_one_vector(graph))


def _replace(graph: Graph, waiting: Sequence[Joint]) -> None:
    """Their members are one release each."""
    for joint in waiting:
        if isinstance(joint, Largest) and joint.length not in (0, len(joint.members)):
            made = None
        else:
            made = joint.release(graph)
        if made is None:
            for each in joint.members:
                each.opened = True
            continue
        made.together = tuple(joint.members)
        at = next(i for i, each in enumerate(graph.releases) if each is joint.members[0])
        graph.releases.insert(at, made)
        graph.releases[:] = [each for each in graph.releases if each.joint is not joint]


def _told_with_hits(graph: Graph, joint: Threshold) -> None:
    """Equal releases that are made where the answer is a hit are made no more often than there are hits."""
    _, hits = most_hits(joint.bits, True)
    found: dict[Bit, list[Release]] = {}
    nodes = {bit.node.id: bit for bit in joint.bits if bit.node is not None}
    for each in graph.releases:
        under = [nodes[i] for i, answer in each.path if i in nodes and answer == nodes[i].above]
        if under:
            found.setdefault(under[-1], []).append(each)
    for made in found.values():
        made.sort(key=_cost)
    costs = [[_cost(r) for r in made] for made in found.values()]
    plain = all(r.joint is None and r.sampling is None for made in found.values() for r in made)
    if len(found) > hits and plain and all(cost == costs[0] for cost in costs):
        for alike in map(list, zip(*found.values(), strict=True)):
            kept, rest = alike[0], {id(each) for each in alike[1:]}
            kept.path, kept.times = _common([each.path for each in alike]), kept.times * hits
            graph.releases[:] = [each for each in graph.releases if id(each) not in rest]
            graph.with_hits.append(alike)


def _cost(release: Release) -> str:
    return str((release.event, release.times))
