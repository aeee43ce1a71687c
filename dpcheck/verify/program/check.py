"""Certificates of proofs, `dpcheck.proved/1`: what a program spends, for all data that fit its description.

The file states the program (nodes made of primitives), for every node the rule that was used and the fact
it gave, the events of the releases, and the event that all of them are. The kernel finds every fact again
from the checked facts before it, and accepts a stated one only if it is implied.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpcheck.verify.bound import check_bound
from dpcheck.verify.events import describe, node, nodes, text, whole
from dpcheck.verify.program.common import NoCertificate, Node, Release, State
from dpcheck.verify.program.events import (
    Member,
    Price,
    check_release,
    group_cost,
    key_of,
    leaves,
    mark_shared,
    price,
)
from dpcheck.verify.program.facts import RANDOM, Fact, Public, Released, RowSet
from dpcheck.verify.program.loops import check_loop
from dpcheck.verify.program.steps import Steps, agreement
from dpcheck.verify.program.unseen import check_together, hits_of
from dpcheck.verify.result import Accepted, Refused

SCHEMA = "dpcheck.proved/1"
Json = Mapping[str, Any]
Cost = tuple[tuple[tuple[int, bool], ...], str, int]  # branches, event, how often
_ADJACENCIES = ("add-remove", "zero-out", "replace-one")
CONDITIONS = {
    "add-remove": "there are fewer than 2^40 records",
    "zero-out": "the null record of zero-out is a row of zeros",
}
TRUSTED = (
    "that the program is what the source says: its digest names the source, the reader wrote it down",
    "that the description of the data is true of them, and that Python and numpy compute what they document",
    "arithmetic of real numbers: rounding of floats is not followed, public constants count as what "
    "they were rounded from, up to 1e-12",
    "that noise has the law that the proof states, and that only what is returned is seen",
    "this kernel, and Python's whole numbers and decimals",
)


def digest(program: Json) -> str:
    """The digest of a program, however its file was laid out."""
    written = json.dumps(program, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()


def check_proved(data: Json) -> Accepted:
    """Check a certificate; `Refused` unless every step holds."""
    if data.get("kind") != "program":
        raise NoCertificate(f"no certificate yet: proofs about a {data.get('kind')!r}")
    claim, program = node(data, "claim"), node(data, "program")
    if digest(program) != data.get("digest"):
        raise Refused("the program was changed after its digest was written")
    if text(claim, "adjacency") != text(program, "adjacency"):
        raise Refused("the claim is about another relation of neighbours than the program")
    steps = run(program, agreement(node(data, "steps")))
    check_outputs(steps, program)
    spent = releases(steps, nodes(data, "releases"))
    event = node(claim, "event")
    _check_total(event, spent, whole(program, "rows_per_person"))
    found = _Answer(event, text(claim, "adjacency"), _bound(data, claim))
    return Accepted(
        found.statement(), claim, steps.count + len(steps.state.releases), found.words(steps, data)
    )


def run(program: Json, settle: Callable[[Node, Fact], Fact]) -> Steps:
    """All steps of a program; `settle` says which fact of each node counts."""
    adjacency = text(program, "adjacency")
    if adjacency not in _ADJACENCIES:
        raise Refused(f"unknown adjacency {adjacency!r}")
    count = program.get("rows")
    if (count is None) != (adjacency == "add-remove") or (
        count is not None and (type(count) is not int or count < 0)
    ):
        raise Refused("the number of rows is public unless records are added and removed")
    steps = Steps(State(adjacency), settle)
    steps.state.row_sets["data"] = RowSet(-1, count)
    for entry in nodes(program, "nodes"):
        if "loop" in entry:
            check_loop(steps, node(entry, "loop"), whole(node(entry, "loop"), "times"))
        else:
            steps.add(entry)
    return steps


def check_outputs(steps: Steps, program: Json) -> None:
    """What is returned is public, released, or a draw that protects nothing."""
    listed = program.get("outputs")
    if not isinstance(listed, list):
        raise Refused("outputs must be a list of nodes")
    for each in listed:
        found = steps.nodes.get(each) if type(each) is int else None
        if found is None:
            raise Refused(f"output {each!r} is no node that is known at the end")
        if isinstance(found.fact, RANDOM):
            steps.state.spend(found)
        elif not isinstance(found.fact, Public | Released):
            found.refuse("a private value is returned")
        if found.when:
            found.refuse("what only one branch computes is returned")
        steps.state.path = ()
        steps.state.open(found)
    mark_shared(steps.state)


def along(spent: list[Cost], depth: int) -> Counter[str]:
    """What is spent from a branch on.

    Lemma. A released value decides between two sides: where one spends all that the other does it is enough,
    because a release that nobody asked for could have been made and dropped. Else both count.
    """
    found: Counter[str] = Counter()
    for path, key, many in spent:
        if len(path) == depth:
            found[key] += many
    deeper = [each for each in spent if len(each[0]) > depth]
    for test in dict.fromkeys(path[depth][0] for path, _, _ in deeper):
        yes, no = (
            along([each for each in deeper if each[0][depth] == (test, answer)], depth + 1)
            for answer in (True, False)
        )
        found += yes | no if yes <= no or no <= yes else yes + no
    return found


def releases(steps: Steps, listed: list[Json]) -> Counter[str]:
    """What all releases cost together, each by the event that is stated for it."""
    left, total = dict(steps.state.releases), list[Cost]()
    groups: dict[str, list[Member]] = {}
    covering: dict[str, Json] = {}
    for entry in listed:
        if "nodes" in entry:
            total.append(_together(steps.state, entry, left))
            continue
        release = left.pop(entry.get("node", -1), None)
        if release is None:
            raise Refused(f"{entry.get('node')!r} is no release, or is listed twice")
        event, many = entry.get("event"), whole(entry, "times")
        if event is not None and not isinstance(event, Mapping):
            raise Refused("the event of a release is an object")
        if release.node.id not in steps.state.chosen:
            steps.state.seen.add(release.node.id)  # if it was thrown away, counting it is safe
        check_release(steps.state, release, event, many)
        if entry.get("group") is not None and event is not None:
            entering = entry.get("entering")
            added = (node(entry, "entering"), whole(entry, "entering_times")) if entering else None
            name = json.dumps(entry["group"])
            groups.setdefault(name, []).append(Member(release, event, many, added))
            if entry.get("covering") is not None:
                covering[name] = node(entry, "covering")
        elif event is not None:
            total.append((release.node.when, key_of(event), many * release.times))
    if left:
        next(iter(left.values())).node.refuse("this release is missing from the list")
    for name, group in groups.items():
        when = group[0].release.node.when
        cost = group_cost(steps.state, group, covering.get(name))
        total += [(when, key, many) for key, many in cost.items()]
    return along(total, 0)


def _together(state: State, entry: Json, left: dict[int, Release]) -> Cost:
    """Releases that are one mechanism, or of which no more are made than an answer has hits."""
    listed = entry["nodes"]
    if not isinstance(listed, list) or not all(type(each) is int for each in listed):
        raise Refused("nodes must be a list of releases")
    members = [left.pop(each, None) for each in listed]
    found = [each for each in members if each is not None]
    if len(found) < len(members) or not found:
        raise Refused("one of these is no release, or is listed twice")
    event, many = node(entry, "event"), whole(entry, "times")
    if entry.get("hits") is True:
        for each in found:
            if each.node.id in state.chosen or each.times != 1:
                each.node.refuse("it is listed with hits")
            state.seen.add(each.node.id)
            check_release(state, each, event, many)
        many *= hits_of(state, found)
    else:
        check_together(state, found, event, many)
    paths = [each.node.when for each in found]
    short = min(map(len, paths))
    same = next((i for i in range(short) if len({path[i] for path in paths}) > 1), short)
    return paths[0][:same], key_of(event), many


def _check_total(event: Json, spent: Counter[str], rows_per_person: int) -> None:
    """The claim is the composition of all events, for as many records as a person has."""
    if rows_per_person != 1:
        if text(event, "kind") != "Grouped" or whole(event, "size") < rows_per_person:
            raise Refused(f"a person has {rows_per_person} rows, and the claim is about one")
        event = node(event, "event")
    claimed = leaves(event)
    if any(many > claimed[key] for key, many in spent.items()):
        raise Refused("the releases spend more than the event that is claimed")


def _bound(data: Json, claim: Json) -> Accepted | None:
    """The accountant's certificate, if there is one: of the same event under the same relation."""
    if data.get("bound") is None:
        return None
    inner = node(node(data, "bound"), "claim")
    if node(inner, "event") != node(claim, "event") or inner.get("adjacency") != claim.get(
        "adjacency"
    ):
        raise Refused("the accountant's certificate is about another event")
    return check_bound(node(data, "bound"))


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was proved, in words."""

    event: Json
    adjacency: str
    bound: Accepted | None

    def statement(self) -> str:
        """In one line."""
        return (
            f"the program spends {describe(self.event)} under {self.adjacency}; {self._epsilon()}"
        )

    def _epsilon(self) -> str:
        if self.bound is not None:
            epsilon, delta = (self.bound.claim[name] for name in ("epsilon", "delta"))
            return f"epsilon {epsilon!r} at delta {delta!r}, by the accountant's certificate"
        found: Price = price(self.event, self.adjacency)
        if found.epsilon is not None:
            return f"epsilon {_shown(found.epsilon)} at delta 0"
        if found.rho is not None:
            at = _shown(found.at(Fraction(1, 10**6)))
            return f"{_shown(found.rho)}-zCDP, so epsilon {at} at delta 1e-06"
        return "for its epsilon the accountant's certificate is needed"

    def words(self, steps: Steps, data: Json) -> tuple[str, ...]:
        """What was checked, and what remains trusted."""
        made = sum(release.times for release in steps.state.releases.values())
        source = data.get("source")
        names = (
            [str(each.get("name")) for each in source if isinstance(each, Mapping)]
            if isinstance(source, list)
            else []
        )
        own = ["every record fits the description of the data"]
        own += [CONDITIONS[self.adjacency]] if self.adjacency in CONDITIONS else []
        return (
            f"checked: {steps.count:,} nodes, each by its rule from the facts before it; {made:,} "
            f"release{'' if made == 1 else 's'}, each with noise of its own; every output is released",
            "checked: the events of the releases add up to the claim"
            + ("; the accountant's bound" if self.bound is not None else ""),
            f"program {str(data.get('digest'))[:16]}, read from {', '.join(names) or 'no named source'}",
            *(f"trusted: {each}" for each in TRUSTED),
            *(f"condition: {each}" for each in dict.fromkeys((*own, *_texts(data.get("assumes"))))),
        )


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _shown(value: Fraction) -> str:
    """Rounded up to twelve digits."""
    from decimal import ROUND_CEILING, Context, Decimal

    context = Context(12, ROUND_CEILING)
    return f"{context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize():f}"
