"""The pairs a proof is about: each as the certificate states it, and that they cover what was released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpcheck.verify.events import (
    Composition,
    Json,
    Needed,
    fraction,
    node,
    nodes,
    not_negative,
    positive,
    share,
    text,
    whole,
)
from dpcheck.verify.pairs import (
    ConcentratedPair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    FixedBatchPair,
    GaussianPair,
    LaplacePair,
    OppositeGaussianPair,
    Pair,
    ResponsePair,
)
from dpcheck.verify.result import Refused

_MAKE: dict[str, Callable[[Json], Pair]] = {
    "gaussian": lambda p: GaussianPair(positive(p, "shift"), share(p, "rate")),
    "laplace": lambda p: LaplacePair(positive(p, "shift"), share(p, "rate")),
    "opposite-gaussian": lambda p: OppositeGaussianPair(positive(p, "shift"), share(p, "rate")),
    "fixed-batch-gaussian": lambda p: FixedBatchPair(positive(p, "shift"), share(p, "rate")),
    "response": lambda p: ResponsePair(not_negative(p, "epsilon"), _neutral(p)),
    "discrete-laplace": lambda p: DiscreteLaplacePair(positive(p, "scale"), whole(p, "shift")),
    "discrete-gaussian": lambda p: DiscreteGaussianPair(positive(p, "scale"), whole(p, "shift")),
    "concentrated": lambda p: ConcentratedPair(not_negative(p, "rho"), not_negative(p, "offset")),
}


def _neutral(data: Json) -> Fraction:
    if not 0 <= (value := fraction(data, "neutral")) <= 1:
        raise Refused("neutral must be a probability")
    return value


@dataclass(frozen=True, slots=True)
class Part:
    """A pair, used `times` times. Numbers of a larger pair of its kind dominate those of a smaller."""

    kind: str
    numbers: Json
    times: int
    pair: Pair

    def dominates(self, needed: Needed) -> bool:
        """Whether the stated pair has at least the numbers that are needed."""
        return (
            self.kind == needed.kind
            and all(fraction(self.numbers, name) >= least for name, least in needed.up)
            and all(fraction(self.numbers, name) <= most for name, most in needed.down)
            and all(fraction(self.numbers, name) == exact for name, exact in needed.same)
        )

    def excess(self, needed: Needed) -> Fraction:
        """By how much its numbers exceed what is needed, in all."""
        more = [fraction(self.numbers, name) - least for name, least in needed.up]
        more += [most - fraction(self.numbers, name) for name, most in needed.down]
        return sum(more, Fraction(0))

    @property
    def shift_squared(self) -> Fraction | None:
        """That of Gaussian noise on all the data, which composes to one Gaussian; None for others."""
        if self.kind != "gaussian" or fraction(self.numbers, "rate") < 1:
            return None
        return fraction(self.numbers, "shift") ** 2


def read_parts(proof: Json) -> list[Part]:
    """The parts of a proof."""
    found = []
    for entry in nodes(proof, "parts"):
        numbers = node(entry, "pair")
        kind = text(numbers, "kind")
        if kind not in _MAKE:
            raise Refused(f"{kind!r} is no pair that is checked")
        found.append(Part(kind, numbers, whole(entry, "times"), _MAKE[kind](numbers)))
    return found


def covers(parts: list[Part], composition: Composition) -> bool:
    """Whether the parts dominate all of a composition, each use by one of its own.

    Gaussian noise on all the data is one Gaussian whose squared shift is the sum. Every other pair takes
    its uses from the least of those that dominate it.
    """
    squares, left = Fraction(0), [part.times for part in parts]
    for part in parts:
        squares += part.times * (part.shift_squared or 0)
    for needed, times in composition.items():
        numbers = dict(needed.up)
        if needed.kind == "response" and numbers["epsilon"] == 0:
            continue
        if needed.kind == "gaussian" and numbers["rate"] == 1:
            squares -= times * numbers["shift"] ** 2
            continue
        able = [
            i
            for i, part in enumerate(parts)
            if part.shift_squared is None and part.dominates(needed)
        ]
        for i in sorted(able, key=lambda i: parts[i].excess(needed)):
            if times:
                taken = min(times, left[i])
                left[i], times = left[i] - taken, times - taken
        if times:
            return False
    return squares >= 0
