"""Runs of a proved function at numpy speed: made from its program, compared with its own outputs first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.mechanism import Declaration, Mechanism
from dpcheck.auditing.outputs.encode import encode_runs, take
from dpcheck.auditing.outputs.reader import learn_reader
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Data, Output
from dpcheck.core.errors import TimeLimitReached
from dpcheck.core.records import Records
from dpcheck.execution.references import Reference
from dpcheck.execution.seeds import generator
from dpcheck.program.many import NotTogether, Sampler, TooLarge

_COMPARED, _FEWER = 8, 2  # outputs of the function itself; fewer of one that is slow
_AFFORDED = 2.0  # seconds for them
_TRIED = 64  # runs at once, to see whether that goes
_NEAR = 1e-9  # of two sums in another order


@dataclass(frozen=True, slots=True)
class ManyRuns:
    """(data, size, rng) -> outputs of a target, by its name: workers load it themselves."""

    target: Callable[..., Output]
    adjacency: Adjacency
    records: Records | None

    @property
    def sampler(self) -> Sampler:
        """Of the function as it is here."""
        target = self.target
        function = target.load() if isinstance(target, Reference) else target
        return Sampler(function, self.adjacency, self.records)

    def __call__(
        self, data: Data, size: int, rng: np.random.Generator
    ) -> NDArray[Any] | list[Output]:
        """Outputs of many runs; of data whose runs cannot be made together, one by one."""
        sampler = self.sampler
        try:
            return sampler(data, size, rng)
        except TooLarge:
            parts = [self(data, each, rng) for each in (size // 2, size - size // 2)]
            arrays = [part for part in parts if isinstance(part, np.ndarray)]
            if len(arrays) == len(parts):
                return np.concatenate(arrays)
            return [output for part in parts for output in part]
        except NotTogether:
            return [sampler.call(data, rng) for _ in range(size)]

    def log_density(self, data: Data, outputs: Output) -> Output:
        """Of outputs, given the data."""
        return self.sampler.log_density(data, outputs)


def many_runs(
    mechanism: Mechanism, target: Callable[..., Output], declared: Declaration, adjacency: Adjacency
) -> Callable[[Sequence[Data]], Mechanism | None]:
    """From datasets to the mechanism that makes many runs at once; None where that is not sure.

    Guarantee: on the first dataset the first outputs are those of the function itself; a density is
    there only if it is known on all of them.
    """

    def find(datasets: Sequence[Data]) -> Mechanism | None:
        data = datasets[0]
        runs = ManyRuns(target, adjacency, declared.records)
        sampler = runs.sampler
        try:
            began = time.perf_counter()
            sampler.call(data, generator(np.random.SeedSequence(2)))
            called = time.perf_counter() - began
            compared = _COMPARED if called * _COMPARED < _AFFORDED else _FEWER
            if not _agrees(sampler, data, compared):
                return None
            made = sampler(data, _TRIED, generator(np.random.SeedSequence(1)))
        except TimeLimitReached:
            raise
        except Exception:  # whatever it is, calling the function shows it better
            return None
        known = all(_has_density(sampler, each, made) for each in datasets)
        density = runs.log_density if known else None
        width = int(made[0].size) if isinstance(made, np.ndarray) else 64
        return Mechanism(runs, True, mechanism.timeout, density, width=max(1, width))

    return find


def _agrees(sampler: Sampler, data: Data, compared: int) -> bool:
    """Whether the program gives the function's own outputs for the same generators."""
    seeds = np.random.SeedSequence(0).spawn(compared)
    ours = [sampler.one(data, generator(seed)) for seed in seeds]
    theirs = [sampler.call(data, generator(seed)) for seed in seeds]
    both = [encode_runs([take(one) for one in side]) for side in (ours, theirs)]
    reader = learn_reader([both[0]], [both[1]])
    rows = [reader.rows(each) for each in both]
    return bool(np.allclose(rows[0], rows[1], rtol=_NEAR, atol=_NEAR))


def _has_density(sampler: Sampler, data: Data, outputs: NDArray[Any] | list[Output]) -> bool:
    try:
        return bool(np.isfinite(sampler.log_density(data, outputs[:4])).all())
    except NotTogether:
        return False
