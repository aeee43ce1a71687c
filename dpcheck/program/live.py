"""A program read while it runs on real data: the same rules, and every release is paid for before it is seen.

What was released is public from then on, so that it may decide what happens next.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidParameter, InvalidRecords
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import PureDP
from dpcheck.core.records import Records
from dpcheck.program import releases
from dpcheck.program.described import described, form_of
from dpcheck.program.facts.boxes import DType
from dpcheck.program.facts.kinds import Fact, Public, Released
from dpcheck.program.facts.rowsets import RowSet, Shape
from dpcheck.program.graph import Graph, Node
from dpcheck.program.joints import Bit, Gap, Joint, Threshold
from dpcheck.program.listed import columns_of
from dpcheck.program.lowering import library
from dpcheck.program.outputs import check_output
from dpcheck.program.proof import arguments_for, unwrapped
from dpcheck.program.reading.calls import call
from dpcheck.program.reading.reader import Reader
from dpcheck.program.reading.values import Generator
from dpcheck.program.releases import Release
from dpcheck.program.running import inputs_of, materialised, own, shape_of, value_of

TWICE = (
    "reused-noise",
    "a noisy number is compared with a noisy threshold, and seen by itself as well",
    "draw fresh noise for what is returned",
)


class LiveGraph(Graph):
    """Every node has its value as soon as it is there; what is released becomes a constant."""

    def __init__(
        self,
        adjacency: Adjacency,
        data: object,
        rng: np.random.Generator,
        spend: Callable[[Event], object],
    ) -> None:
        super().__init__(adjacency)
        self.values: dict[int, object] = {}
        self._inputs = inputs_of(data)
        self._lengths: dict[int, int] = {}
        self._rng, self._spend = rng, spend
        self._coins: set[int] = set()  # that an amplified release has seen

    def add(self, name: str, *args: Node, **params: object) -> Node:
        """The node, computed; a constant if it is released."""
        before = len(self.nodes)
        node = super().add(name, *args, **params)
        if node.id in self.scratch:
            return node
        if len(self.nodes) > before and node.id not in self.values:
            self._compute(node)
        fact = node.fact
        if isinstance(fact, Released) and fact.release is None and node.dtype != np.dtype(object):
            return self.constant(own(self.values[node.id]))
        return node

    def given(self, name: str, shape: Shape, dtype: DType, fact: Fact, **params: object) -> Node:
        """Data and constants have their values, too."""
        node = super().given(name, shape, dtype, fact, **params)
        if node.id not in self.scratch:
            self._compute(node)
        return node

    def _compute(self, node: Node) -> None:
        with np.errstate(all="ignore"):
            self.values[node.id] = value_of(
                node, lambda arg: self.values[arg.id], self._inputs, self._lengths, self._rng
            )
        for place, dim in enumerate(node.shape):
            if isinstance(dim, RowSet):
                self._lengths[id(dim)] = shape_of(self.values[node.id])[place]

    def seen(self, node: Node) -> tuple[object] | None:
        """What is released is there to be seen."""
        if node.id in self.scratch:
            return None
        if isinstance(node.fact, Released | Public):
            if isinstance(node.fact, Released) and node.fact.release is not None:
                node.fact.release.open()
            return (own(self.values[node.id]),)
        return None

    def join(self, joint: Joint) -> None:
        """Answers that share a threshold are paid for before they are seen."""
        super().join(joint)
        if isinstance(joint, Threshold):
            joint.payer = self

    def answered(self, bit: Bit) -> None:
        """Paid for as a hit, whatever it is.

        Lemma. If what was seen so far is pure DP with epsilon s, and all of it with one answer more with
        t, then that answer given the others is pure DP with s + t.
        """
        joint = bit.joint
        if joint.broken or bit.member.opened:
            self.refuse(*TWICE)
        if bit.seen:
            return
        hits = sum(each.seen and self._above(each) for each in joint.bits)
        total = joint.price(hits + 1, len(joint.draws))
        if total > joint.paid:
            self._spend(PureDP(total + joint.paid, self.adjacency))
            joint.paid = total
        bit.seen, bit.member.pay = True, self._twice

    def _above(self, bit: Bit) -> bool:
        assert bit.node is not None
        return bool(self.values[bit.node.id]) == bit.above

    def told(self, gap: Gap) -> None:
        """Nothing more to pay where the answer was a hit."""
        if gap.bit is None or not gap.bit.seen or not self._above(gap.bit):
            self.refuse(*TWICE)

    def _twice(self, release: Release) -> None:
        del release
        self.refuse(*TWICE)

    def release(self, release: Release) -> None:
        """Paid for when it is known what is seen of it; at once, if that is all of it."""
        super().release(release)
        if release.opened:
            self._pay(release)
        else:
            release.pay = self._pay

    def _pay(self, release: Release) -> None:
        if release.opened and release.fixed is None and release.family not in releases.ADDITIVE:
            self.refuse(
                "unknown-noise",
                f"numbers with {release.family} noise are released",
                "release only their argmax, or use Laplace or Gaussian noise",
            )
        if not self._coins.isdisjoint(release.coins):
            self.refuse(
                "sampled-twice",
                "a random choice of rows that an earlier release was amplified by is used again",
                "draw a fresh one for every release",
            )
        sampling = release.sampling
        release.shared = sampling is not None and (
            release.coins != sampling.ids or not self.used.isdisjoint(sampling.ids)
        )
        self._coins |= release.coins
        event = release.event
        if event is not None:
            self._spend(event)


def run_enforced(
    function: Callable[..., object],
    data: object,
    rng: np.random.Generator,
    adjacency: Adjacency,
    spend: Callable[[Event], object],
    records: Records | None = None,
) -> object:
    """Run function(data, rng); `spend` is called with each event before its release can be seen.

    Guarantee: what comes back was computed from releases that `spend` accepted, and from nothing else.
    """
    library.load()
    if records is not None and records.rows_per_person > 1:
        raise InvalidParameter("enforced runs count one record a person.", name="rows_per_person")
    graph = LiveGraph(adjacency, data, rng, spend)
    reader = Reader(graph)
    symbol = described(reader, _fitted(data, records), None if records is None else form_of(data))
    args, named = arguments_for(function, symbol, Generator("rng"))
    output = call(reader, unwrapped(function), args, named)
    check_output(reader, output)
    return materialised(graph, output, lambda node: graph.values[node.id])


def _fitted(data: object, records: Records | None) -> object:
    if records is None:
        return data
    many = len(data)  # type: ignore[arg-type]
    listed = columns_of(data)
    if listed is not None:
        if [*listed] != [*records.names]:
            raise InvalidRecords("the data do not have the keys that records= describes.")
        return Records(records.fields, many, records.person, records.rows_per_person)
    if isinstance(data, dict):
        many = len(next(iter(data.values())))
    shape = (
        shape_of(data)[1:] if not hasattr(data, "columns") and not isinstance(data, dict) else None
    )
    numbers = len(records.fields)
    if shape is not None and shape != ((numbers,) if numbers > 1 else ()):
        raise InvalidRecords("the data do not have the columns that records= describes.")
    return Records(records.fields, many, records.person, records.rows_per_person)
