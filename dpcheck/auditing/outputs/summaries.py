"""Wide outputs: the columns that separate the two sides most, and sums over all the others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.outputs.columns import LARGEST, finite
from dpcheck.auditing.outputs.slots import Slot
from dpcheck.auditing.outputs.tables import Table

Array = NDArray[np.float64]
_BEYOND_LUCK = 2.0  # standard errors


class How(StrEnum):
    """What is made of all numbers of a place."""

    SUM = "sum"
    SQUARES = "sum of squares"
    LARGEST = "largest"
    SMALLEST = "smallest"
    WHERE = "where largest"
    ZEROS = "zeros"
    ALIKE = "neighbours alike"
    WEIGHTED = "weighted sum"
    SIGNED = "signed sum"


@dataclass(frozen=True, slots=True)
class Summaries:
    """Numbers made of all entries of one place, for sums each divided by its spread."""

    slot: Slot
    centre: Array
    scale: Array
    learned: Array  # weights that tell the sides apart

    @property
    def names(self) -> tuple[str, ...]:
        """In words."""
        return tuple(f"{how} of {self.slot.path}" for how in How)

    def __call__(self, table: Table) -> Array:
        """The summaries of every run's entries, one a column; a run's do not depend on others."""
        raw = entries_of(table, self.slot, len(self.centre))
        found: dict[How, Array] = {
            How.LARGEST: raw.max(axis=1),
            How.SMALLEST: raw.min(axis=1),
            How.WHERE: raw.argmax(axis=1),
            How.ZEROS: np.count_nonzero(raw == 0, axis=1),
            How.ALIKE: np.count_nonzero(raw[:, 1:] == raw[:, :-1], axis=1),
        }
        scaled = np.clip((raw - self.centre) / self.scale, -1e6, 1e6)
        found[How.SUM] = scaled.sum(axis=1)
        found[How.SIGNED] = _along(scaled, _signs(len(self.centre)))
        found[How.WEIGHTED] = _along(scaled, self.learned)
        np.clip(scaled, -100, 100, out=scaled)
        found[How.SQUARES] = np.square(scaled, out=scaled).sum(axis=1)
        return np.stack([found[how].astype(float) for how in How], axis=1)


def _along(scaled: Array, weights: Array) -> Array:
    """Weighted sums, each in the same order whatever the batch: not a matrix product."""
    result: Array = np.einsum("ij,j->i", scaled, weights)
    return result


def _signs(width: int) -> Array:
    return np.where((np.arange(width) * 0x9E3779B1 >> 9) & 1, 1.0, -1.0)


def entries_of(table: Table, slot: Slot, width: int) -> Array:
    """All entries of a place; what is none is 0."""
    if slot not in table.numbers:
        return np.zeros((table.size, width))
    values = table.numbers[slot][0][:, :width]
    if values.shape[1] < width:
        values = np.hstack([values, np.zeros((table.size, width - values.shape[1]))])
    return values if float(np.abs(values).max(initial=0.0)) < LARGEST else finite(values)


def summarise(slot: Slot, first: Table, second: Table) -> Summaries:
    """The summaries of a wide place; weights and scales are learned from both sides' runs."""
    width = max(t.numbers[slot][0].shape[1] for t in (first, second) if slot in t.numbers)
    one, two = entries_of(first, slot, width), entries_of(second, slot, width)
    pooled = np.vstack([one, two])
    centre, scale = np.median(pooled, axis=0), pooled.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    gap = (one.mean(axis=0) - two.mean(axis=0)) / (scale * np.sqrt(1 / len(one) + 1 / len(two)))
    return Summaries(slot, centre, scale, np.where(np.abs(gap) > _BEYOND_LUCK, gap, 0.0))


def separation(first: Array, second: Array) -> Array:
    """Per column, how many standard errors the sides are apart: in place, in spread, in zeros.

    By ranks, so that a heavy tail hides nothing.
    """
    shifted = np.abs(_rank_score(first, second))
    middle = np.median(np.vstack([first, second]), axis=0)
    spread = np.abs(_rank_score(np.abs(first - middle), np.abs(second - middle)))
    result: Array = np.maximum(shifted, spread)
    return result


def _rank_score(first: Array, second: Array) -> Array:
    """Standardised Wilcoxon statistics of all columns; ties share their mean rank."""
    from scipy.stats import rankdata

    n, m = len(first), len(second)
    ranks = rankdata(np.vstack([first, second]), axis=0)
    total = ranks[:n].sum(axis=0)
    spread = ranks.std(axis=0) * np.sqrt(n * m / (n + m))
    centred = total - n * (n + m + 1) / 2
    result: Array = np.where(spread > 0, centred / np.where(spread > 0, spread, 1.0), 0.0)
    return result
