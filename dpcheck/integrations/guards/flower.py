"""A strategy for Flower that wraps another: one release a round, none beyond the budget."""

from __future__ import annotations

from collections.abc import Iterable

from dpcheck.core.errors import MissingExtra
from dpcheck.integrations.foreign import Foreign
from dpcheck.integrations.guards.budget import BudgetGuard

try:
    from flwr.app import MetricRecord
    from flwr.serverapp.strategy import Strategy
except ImportError:
    raise MissingExtra("flwr is not installed; run: pip install 'flwr>=1.21'") from None


class BudgetStrategy(Strategy):  # type: ignore[misc]  # untyped base
    """Asks the clients for a round only if the budget bears it; epsilon stands in its metrics.

    The guard's event is one round: what everybody who sees the aggregate learns of one client, or of
    one record, as the guard's adjacency has it. What clients release by themselves is theirs to count.
    """

    def __init__(self, strategy: Foreign, guard: BudgetGuard) -> None:
        self.strategy, self.guard = strategy, guard
        self.refused: list[int] = []

    def configure_train(
        self, server_round: int, arrays: Foreign, config: Foreign, grid: Foreign
    ) -> Iterable[Foreign]:
        """The wrapped strategy's messages, or none."""
        if self.guard.left <= 0:
            self.refused.append(server_round)
            return []
        self.guard.step()
        messages: Iterable[Foreign] = self.strategy.configure_train(
            server_round, arrays, config, grid
        )
        return messages

    def aggregate_train(self, server_round: int, replies: Iterable[Foreign]) -> Foreign:
        """The wrapped strategy's aggregate, with epsilon among the metrics; none without a round."""
        if server_round in self.refused:
            return None, None
        arrays, metrics = self.strategy.aggregate_train(server_round, replies)
        metrics = MetricRecord() if metrics is None else metrics
        metrics["epsilon"] = self.guard.record()
        return arrays, metrics

    def configure_evaluate(
        self, server_round: int, arrays: Foreign, config: Foreign, grid: Foreign
    ) -> Iterable[Foreign]:
        """As wrapped; what clients answer is not counted here."""
        messages: Iterable[Foreign] = self.strategy.configure_evaluate(
            server_round, arrays, config, grid
        )
        return messages

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Foreign]) -> Foreign:
        """As wrapped."""
        return self.strategy.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        """As wrapped."""
        self.strategy.summary()
