"""How a loader makes its batches, and what a training with a step of known price spends with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable
from dpcheck.core.events.event import Event
from dpcheck.core.events.noise import Gaussian
from dpcheck.core.events.training import (
    FixedBatchGaussian,
    SampledGaussian,
    WithReplacementGaussian,
)


@dataclass(frozen=True, slots=True)
class Batches:
    """A sampler that was read: its kind, the noisy steps of one pass, and its numbers."""

    kind: str
    rows: int
    per_epoch: int
    rate: float = 0.0
    batch: int = 0
    physical: int | None = None

    def described(self) -> str:
        """In words."""
        words = {
            "poisson": f"Poisson sampling at rate {self.rate:.6g} of {self.rows} records",
            "shuffled": f"shuffled passes over {self.rows} records in batches of {self.batch}, without amplification",
            "in-order": f"passes over {self.rows} records in order, in batches of {self.batch}",
            "fixed": f"{self.batch} of {self.rows} records drawn without replacement for each step",
            "replacement": f"{self.batch} of {self.rows} records drawn with replacement for each step",
        }[self.kind]
        cut = f"; batches are cut into parts of {self.physical} at most" if self.physical else ""
        return words + cut


def read(loader: Any) -> Batches:
    """The sampler of a loader, or NotProvable: only classes whose code is known are read."""
    from torch.utils.data import BatchSampler, IterableDataset, RandomSampler, SequentialSampler

    data = getattr(loader, "dataset", None)
    if data is None or isinstance(data, IterableDataset):
        raise _unknown(f"a loader over a {type(data).__name__}", "use a dataset with a length")
    rows = len(data)
    sampler = loader.batch_sampler
    physical = None
    name = f"{type(sampler).__module__}.{type(sampler).__qualname__}"
    if name == "opacus.utils.batch_memory_manager.BatchSplittingSampler":
        physical = int(sampler.max_batch_size)
        sampler = sampler.sampler
        name = f"{type(sampler).__module__}.{type(sampler).__qualname__}"
    if name == "opacus.utils.uniform_sampler.UniformWithReplacementSampler":
        if sampler.num_samples != rows:
            raise _unknown(
                f"a sampler of {sampler.num_samples} records over {rows}", "sample from all records"
            )
        _secret(sampler.generator)
        return Batches("poisson", rows, int(sampler.steps), float(sampler.sample_rate), 0, physical)
    if type(sampler) is not BatchSampler:
        raise _unknown(
            f"the sampler {name}", "use opacus.data_loader.DPDataLoader, which samples by Poisson"
        )
    inner, batch = sampler.sampler, int(sampler.batch_size)
    whole = rows // batch if sampler.drop_last else math.ceil(rows / batch)
    if type(inner) is SequentialSampler:
        return Batches("in-order", rows, whole, 0.0, batch, physical)
    if type(inner) is not RandomSampler:
        raise _unknown(f"the sampler {type(inner).__name__}", "use opacus.data_loader.DPDataLoader")
    _secret(inner.generator)
    drawn = inner.num_samples
    steps = drawn // batch if sampler.drop_last else math.ceil(drawn / batch)
    if inner.replacement:
        if drawn % batch and not sampler.drop_last:
            raise _unknown("a last batch of another size", "use drop_last=True")
        return Batches("replacement", rows, steps, 0.0, batch, physical)
    if drawn == rows:
        return Batches("shuffled", rows, whole, 0.0, batch, physical)
    if drawn <= batch and (drawn == batch or not sampler.drop_last):
        return Batches("fixed", rows, 1, 0.0, drawn, physical)
    raise _unknown(
        f"{drawn} of {rows} records in each pass", "draw all records, or one batch, in a pass"
    )


def _secret(generator: Any) -> None:
    """A generator of the sampler's own is assumed secret, like all others."""


def _unknown(what: str, remedy: str) -> NotProvable:
    return NotProvable(
        f"not provable: {what} is not known; {remedy}.", kind="sampler", line="?", remedy=remedy
    )


def priced(batches: Batches, multiplier: float, steps: int, adjacency: Adjacency) -> Event:
    """The event of the whole training.

    Lemma (passes): given the order, a record is in at most one batch of a pass, whatever the others are; so a
    pass is one Gaussian release, and orders drawn without the data mix nothing in. Under add-remove a record more
    shifts all batches after it, so that this needs a public number of records.
    """
    if batches.kind == "poisson":
        if adjacency is not Adjacency.ADD_REMOVE:
            raise _wrong(adjacency, "Poisson sampling is proved", "add-remove")
        if batches.rate >= 1:
            return Gaussian(multiplier) * steps
        return SampledGaussian(multiplier, batches.rate) * steps
    if adjacency is Adjacency.ADD_REMOVE:
        raise _wrong(adjacency, f"{batches.described()} is proved", "replace-one")
    if batches.kind == "fixed" and adjacency is Adjacency.REPLACE_ONE:
        return FixedBatchGaussian(multiplier, batches.rows, batches.batch) * steps
    if batches.kind == "replacement" and adjacency is Adjacency.REPLACE_ONE:
        return WithReplacementGaussian(multiplier, batches.rows, batches.batch) * steps
    if batches.kind in {"fixed", "replacement"}:
        raise _wrong(adjacency, f"{batches.described()} is proved", "replace-one")
    return Gaussian(multiplier) * math.ceil(steps / max(batches.per_epoch, 1))


def _wrong(adjacency: Adjacency, what: str, instead: str) -> NotProvable:
    remedy = f'use adjacency="{instead}", or opacus.data_loader.DPDataLoader for Poisson sampling'
    return NotProvable(
        f"not provable: {what} under {instead}, not under {adjacency.value}; {remedy}.",
        kind="sampler",
        line="?",
        remedy=remedy,
    )
