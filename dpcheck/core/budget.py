"""A budget: what a person has agreed to lose."""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.core.validate import non_negative, probability


@dataclass(frozen=True, slots=True)
class Budget:
    """An (epsilon, delta) allowance; its adjacency is that of the ledger or claim that carries it.

    >>> Budget(3.0, 1e-5)
    Budget(epsilon=3.0, delta=1e-05)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", non_negative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", probability("delta", self.delta))

    def __str__(self) -> str:
        return f"({self.epsilon:g}, {self.delta:g})"
