"""Several pairs of a few outcomes, composed outcome by outcome."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from dpcheck.accounting.pairs.pair import Loss, Parts, composed_largest_loss, reverse_parts
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.verify.curves import Outcomes
from dpcheck.accounting.pld.verify.refusals import too_much
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class SumLoss(Loss):
    """A composition of few outcomes in all, listed one by one; `span` is that of a lattice of its losses."""

    inner: Parts
    span: float | None = None

    def reversed(self) -> Loss:
        """Every part reversed."""
        return SumLoss(reverse_parts(self.inner), self.span)

    def largest(self) -> tuple[float, float]:
        """The sum."""
        return composed_largest_loss(self.inner)

    def flat(self) -> Parts:
        """The parts."""
        return self.inner

    def outcomes(self) -> Outcomes | None:
        """Every combination of outcomes, each of which both sides have."""
        p, q = [arb(1)], [arb(1)]
        for part, count in self.inner:
            listed = part.outcomes()
            if listed is None:
                return None
            if listed.rest or not listed.certain == 0:
                raise too_much("outcomes that one side does not have, taken together with others")
            for _ in range(count):
                p = [a * b for a in p for b in listed.p]
                q = [a * b for a in q for b in listed.q]
        return Outcomes(p, q)

    def on_lattice(self, side: Side) -> bool:
        """Where all parts are."""
        return all(part.on_lattice(side) for part, _ in self.inner)

    def lattice(self, side: Side) -> LossPair:
        """Every combination of outcomes."""
        from dpcheck.accounting.pld.pairs.together import sum_pair

        inner = [build(part, side) for part, _ in self.inner]
        return sum_pair(self, [pair for pair in inner if isinstance(pair, AtomicPair)])
