"""What an audit may spend."""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.auditing.mechanism import Mechanism
from dpcheck.auditing.outputs.reader import MOST_COLUMNS


@dataclass(frozen=True, slots=True)
class Limits:
    """What an audit may spend. Runs are per side; `alpha` is its share of the error rate."""

    alpha: float = 1e-3
    max_runs: int | None = None
    learning_runs: int | None = None
    sharpening_runs: int | None = None
    tolerance: float = 0.25
    stop_early: bool = True
    trees: bool = True
    check_every_batch: bool = False  # rather than each time the runs have doubled
    reach: float | None = None  # stop once the lower bound is this large, whatever the claim

    def runs_for(self, mechanism: Mechanism) -> int:
        """Test runs a side at most."""
        if self.max_runs is not None:
            return self.max_runs
        wide = max(1, mechanism.width // MOST_COLUMNS)  # such outputs take long to make
        return max(200_000, 4_000_000 // wide) if mechanism.batched else 200_000

    def learning_for(self, mechanism: Mechanism) -> int:
        """Runs a side and pair to learn scores from."""
        if self.learning_runs is not None:
            return self.learning_runs
        wanted = 1 << 17 if mechanism.batched and mechanism.width <= MOST_COLUMNS else 8192
        return min(wanted, max(1024, self.runs_for(mechanism) // 8))

    def sharpening_for(self, mechanism: Mechanism) -> int:
        """Further runs a side and pair to count cells on, and as many to choose thresholds on."""
        if self.sharpening_runs is not None:
            return self.sharpening_runs
        return max(self.learning_for(mechanism), self.runs_for(mechanism) // 16)
