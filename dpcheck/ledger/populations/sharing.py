"""Datasets whose people may have accounts of a population: what every account pays for them.

Anybody in the dataset may own any of the accounts, so a release from it is charged to all of them. What
all of them pay is kept once, as the dataset's own total, and added to each account when it is compared
with its limit. The proof stands in docs/explanation/ledger.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpcheck.ledger.overlaps import maximal_cliques
from dpcheck.ledger.populations.accounts import PopulationSpec, limit_of, units_of
from dpcheck.ledger.pricing.costs import INFINITE, Cost, rounded_up
from dpcheck.ledger.pricing.filters import Filter


class Sharing:
    """Which datasets people with an account may be in, in groups that one person may be in together."""

    __slots__ = ("groups", "spec")

    def __init__(self, spec: PopulationSpec, edges: set[frozenset[str]]) -> None:
        self.spec = spec
        near = {name for edge in edges if spec.name in edge for name in edge} - {spec.name}
        inside = {edge for edge in edges if edge <= near}
        together = {name for edge in inside for name in edge}
        self.groups = [frozenset({name}) for name in near - together]
        if together:
            self.groups += maximal_cliques(sorted(together), inside)

    @property
    def datasets(self) -> list[str]:
        """All of them, by name."""
        return sorted(set().union(*self.groups))

    def paid(self, costs: Mapping[str, Cost], filter_: Filter) -> int:
        """What every account pays, in units: for the costliest group, of datasets that cost `costs`.

        Guarantee: at least what anybody with an account pays for all datasets they are in.
        """
        units = {name: self._units(costs[name], filter_) for name in self.datasets}
        return max((sum(units[name] for name in group) for group in self.groups), default=0)

    def _units(self, cost: Cost, filter_: Filter) -> int:
        """A cost as accounts add it up: the epsilon, or the divergence of their order."""
        if can_fail(cost):
            return units_of(INFINITE)
        if self.spec.order is None:
            return units_of(cost.pure)
        divergence = rounded_up(filter_.divergence(cost.divergences, self.spec.order))
        return units_of(min(cost.pure, divergence))  # no order has more than the epsilon

    def bears(self, most: int, shared: int) -> bool:
        """Whether the account that has paid the most by itself can pay what all of them do."""
        return most + shared <= limit_of(self.spec)


def can_fail(cost: Cost) -> bool:
    """Whether it can fail outright, which accounts do not add up."""
    return bool(cost.failure or cost.slip)
