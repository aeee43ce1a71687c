"""The batches of one audit: named, seeded by name, run, stored."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpcheck.execution.parallel import Workers, run
from dpcheck.execution.progress import Progress
from dpcheck.execution.seeds import stream
from dpcheck.execution.store import Arrays, MemoryStore, Store
from dpcheck.execution.tasks import Stage


@dataclass(frozen=True, slots=True)
class Runner:
    """Where batches run and where their results go; `prefix` keeps parts apart."""

    seed: int = 0
    workers: Workers = field(default_factory=Workers)
    store: Store = field(default_factory=MemoryStore)
    progress: Progress = field(default_factory=lambda: Progress(quiet=True))
    prefix: str = "data"

    def within(self, part: str) -> Runner:
        """The same runner for another part, with its own seeds and names."""
        return replace(self, prefix=f"{self.prefix}/{part}")

    def seeds(self, stage: str, index: int) -> np.random.SeedSequence:
        """The seed of batch `index` of a stage."""
        return stream(self.seed, self.prefix, stage, index)

    def batches(
        self, stage: str, indices: range, function: Callable[..., Arrays], *arguments: Any
    ) -> Generator[Arrays, None, None]:
        """function(*arguments, seed) for every index, in order."""
        named = [(f"{self.prefix}/{stage}/{i}", self.seeds(stage, i)) for i in indices]
        return run(Stage(function, arguments), named, self.workers, self.store)
