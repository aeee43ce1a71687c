"""The whole of a claim: for which of all the parameters it is made for does it hold, where does it fail?

A paper claims epsilon "for all n, lambda, K ...": its hypotheses are boxes of numbers and a few cases.
What is spent over what is claimed is enclosed on a box, `low` by what datasets come arbitrarily close to
at every point of it, `high` by a proof. A box with high <= 1 holds, one with low > 1 fails, others are
split. What is left is open, and a witness is searched there: where one is found the claim fails.
"""

from __future__ import annotations

import heapq
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from dpcheck.core.data import Plain
from dpcheck.core.errors import InvalidParameter, NothingToAudit
from dpcheck.execution.runner import Runner
from dpcheck.session.registry import Audit, AuditSetup

Interval: TypeAlias = tuple[float, float]
Box: TypeAlias = Mapping[str, Interval]
Case: TypeAlias = Mapping[str, Plain]
# (box, case) -> spent over claimed: what every point of the box has, and what none exceeds.
Enclosure: TypeAlias = Callable[[Box, Case], Interval]
SCHEMA = "dpcheck.region/1"
MOST_BOXES, MOST_SEARCHES = 1500, 6


class Status(StrEnum):
    """What is known of a piece."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """One claim of a paper and all it is made for.

    `axes` are split, on a logarithmic scale; `cases` are tried one by one. `setup` says which audit a
    point is, for the search of witnesses; None where nothing is to be searched.
    """

    part: str
    words: str
    axes: Mapping[str, Interval]
    cases: Mapping[str, Sequence[Plain]]
    enclosure: Enclosure
    setup: Callable[[Mapping[str, float], Case], AuditSetup] | None = None

    def every_case(self) -> list[dict[str, Plain]]:
        """All combinations."""
        return [
            dict(zip(self.cases, values, strict=True))
            for values in itertools.product(*self.cases.values())
        ]


@dataclass(frozen=True, slots=True)
class Piece:
    """A box of one case and its status."""

    status: Status
    box: Box
    case: Case
    spent: Interval

    @property
    def middle(self) -> dict[str, float]:
        """Its centre, on the logarithmic scale."""
        return {name: math.sqrt(low * high) for name, (low, high) in self.box.items()}

    @property
    def volume(self) -> float:
        """On the logarithmic scale."""
        return math.prod(math.log(high / low) for low, high in self.box.values())

    def contains(self, point: Mapping[str, Plain]) -> bool:
        """Whether a point of axes and cases lies in it."""
        return all(low <= point[name] <= high for name, (low, high) in self.box.items()) and all(
            point[name] == value for name, value in self.case.items()
        )


@dataclass(frozen=True, slots=True)
class RegionWitness:
    """A point where a search found a dataset and an output that break the claim."""

    point: Mapping[str, float]
    case: Case
    claimed: float
    proved: float


@dataclass(frozen=True, slots=True)
class Region:
    """What is known of one claim, in pieces."""

    audit: str
    variant: str
    hypotheses: Hypotheses
    pieces: tuple[Piece, ...]
    witnesses: tuple[RegionWitness, ...]

    def share(self, status: Status) -> float:
        """How much of the volume has this status."""
        return sum(p.volume for p in self.pieces if p.status is status) / sum(
            p.volume for p in self.pieces
        )

    def at(self, point: Mapping[str, Plain]) -> Status:
        """The status of a point; a face of two pieces has that of the worse."""
        found = {piece.status for piece in self.pieces if piece.contains(point)}
        if not found:
            raise InvalidParameter("the point lies outside the hypotheses.", name="point")
        return next(s for s in (Status.FAILS, Status.OPEN, Status.HOLDS) if s in found)

    def to_dict(self) -> dict[str, object]:
        """As in schema dpcheck.region/1."""
        return {
            "part": self.hypotheses.part,
            "claim": self.hypotheses.words,
            "hypotheses": {
                **{name: list(ends) for name, ends in self.hypotheses.axes.items()},
                **{name: list(values) for name, values in self.hypotheses.cases.items()},
            },
            "shares": {str(status): self.share(status) for status in Status},
            "pieces": [
                {
                    "status": str(piece.status),
                    "box": {name: list(ends) for name, ends in piece.box.items()},
                    "case": dict(piece.case),
                    "spent_over_claimed": [
                        "inf" if math.isinf(value) else value for value in piece.spent
                    ],
                }
                for piece in self.pieces
            ],
            "witnesses": [
                {
                    "point": dict(each.point),
                    "case": dict(each.case),
                    "claimed": each.claimed,
                    "proved": each.proved,
                }
                for each in self.witnesses
            ],
        }


def explore(
    audit: Audit, variant: str, claim: Hypotheses, *, most: int = MOST_BOXES, seed: int = 0
) -> Region:
    """Split until everything is decided, or `most` boxes a case were looked at; then search witnesses."""
    pieces = [piece for case in claim.every_case() for piece in _split(claim, case, most)]
    open_ones = sorted(
        (piece for piece in pieces if piece.status is Status.OPEN and piece.spent[1] > 1),
        key=lambda piece: -min(piece.spent[1], 1e6),
    )
    witnesses = []
    if claim.setup is not None and not any(piece.status is Status.FAILS for piece in pieces):
        for index, piece in enumerate(_spread(open_ones, MOST_SEARCHES)):
            found = _search(audit, claim, piece, Runner(seed, prefix=f"region-{index}"))
            witnesses += [found] if found is not None else []
    return Region(audit.name, variant, claim, tuple(pieces), tuple(witnesses))


def _spread(pieces: Sequence[Piece], most: int) -> list[Piece]:
    """The worst pieces, from all over the list."""
    step = max(1, len(pieces) // most)
    return list(pieces[::step][:most])


def _split(claim: Hypotheses, case: Case, most: int) -> list[Piece]:
    done: list[Piece] = []
    count = itertools.count()
    whole = dict(claim.axes)
    queue: list[tuple[float, int, dict[str, Interval]]] = [(0.0, next(count), whole)]
    looked = 0
    while queue:
        _, _, box = heapq.heappop(queue)
        low, high = claim.enclosure(box, case)
        looked += 1
        status = Status.HOLDS if high <= 1 else Status.FAILS if low > 1 else Status.OPEN
        if status is not Status.OPEN or looked + len(queue) >= most:
            done.append(Piece(status, box, case, (low, high)))
            continue
        name = max(box, key=lambda n: math.log(box[n][1] / box[n][0]) / _length(claim.axes[n]))
        middle = math.sqrt(box[name][0] * box[name][1])
        for half in ((box[name][0], middle), (middle, box[name][1])):
            part = {**box, name: half}
            size = math.prod(math.log(high / low) for low, high in part.values())
            heapq.heappush(queue, (-size, next(count), part))
    return done


def _length(ends: Interval) -> float:
    return math.log(ends[1] / ends[0])


def _search(audit: Audit, claim: Hypotheses, piece: Piece, runner: Runner) -> RegionWitness | None:
    """The exact witness search in the middle of a piece."""
    assert claim.setup is not None
    point = piece.middle
    setup = claim.setup(point, piece.case)
    for plan in audit.build(setup):
        if plan.claim.part == claim.part and plan.search is not None:
            proved, _ = plan.search.find(runner)
            if proved > setup.epsilon:
                return RegionWitness(point, piece.case, setup.epsilon, proved)
    return None


def as_text(regions: Sequence[Region]) -> str:
    """What a terminal shows: shares, and of every status the largest pieces."""
    lines: list[str] = []
    for region in regions:
        claim = region.hypotheses
        lines += [
            "" if lines else f"{region.audit} ({region.variant}): the whole claim",
            claim.words,
        ]
        lines.append(
            "  for " + ", ".join(f"{n} {a:g} to {b:g}" for n, (a, b) in claim.axes.items())
        )
        for status in Status:
            found = [piece for piece in region.pieces if piece.status is status]
            if not found:
                continue
            lines.append(
                f"  {status}: {region.share(status):.1%} of the volume, {len(found)} pieces; the largest:"
            )
            for piece in sorted(found, key=lambda p: -p.volume)[:3]:
                lines.append(f"    {_words(piece)}")
        for witness in region.witnesses:
            at = ", ".join(f"{name} {value:.4g}" for name, value in witness.point.items())
            lines.append(
                f"  fails, by a witness: {at}, {_case(witness.case)}: at least {witness.proved:.4g}, "
                f"claimed {witness.claimed:.4g}"
            )
    return "\n".join(lines)


def _words(piece: Piece) -> str:
    box = ", ".join(f"{name} {low:.3g}-{high:.3g}" for name, (low, high) in piece.box.items())
    return (
        f"{box}; {_case(piece.case)}: {piece.spent[0]:.3g} to {piece.spent[1]:.3g} times the claim"
    )


def _case(case: Case) -> str:
    return ", ".join(f"{name} {value}" for name, value in case.items())


def as_json(regions: Sequence[Region]) -> str:
    """Schema dpcheck.region/1."""
    first = regions[0]
    found = {"schema": SCHEMA, "audit": first.audit, "variant": first.variant}
    return json.dumps({**found, "claims": [region.to_dict() for region in regions]}, indent=1)


def explore_all(audit: Audit, *, most: int = MOST_BOXES, seed: int = 0) -> list[Region]:
    """Every claim of an audit's printed text."""
    if audit.regions is None:
        raise NothingToAudit(
            f"the claim of {audit.name} has no hypotheses that can be searched; audit one instance of it."
        )
    return [explore(audit, "printed", claim, most=most, seed=seed) for claim in audit.regions()]
