"""An aggregate plus fresh noise is a release: its event, and when it is only a choice among its entries."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import NotPrivate, PureDP
from dpcheck.core.events.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
)
from dpcheck.core.events.training import FixedBatchGaussian, SampledGaussian, SampledLaplace
from dpcheck.program.facts.boxes import Array
from dpcheck.program.facts.rowsets import Predicate, Sampling
from dpcheck.program.facts.sizes import Shape, Size
from dpcheck.replay.draws import Line

if TYPE_CHECKING:
    from dpcheck.program.facts.kinds import Aggregate, Drawn
    from dpcheck.program.graph import Node
    from dpcheck.program.joints import Joint

# Families, by the names numpy gives them.
LAPLACE, GAUSSIAN, GUMBEL, EXPONENTIAL = "laplace", "normal", "gumbel", "exponential"
DISCRETE_LAPLACE, DISCRETE_GAUSSIAN, GEOMETRIC = "discrete laplace", "discrete normal", "geometric"
UNIFORM = "uniform"
ADDITIVE = (LAPLACE, GAUSSIAN, DISCRETE_LAPLACE, DISCRETE_GAUSSIAN)
_LEAST, _MOST = 1e-150, 1e150  # noise multipliers that events know
SELECTING = (LAPLACE, GUMBEL, EXPONENTIAL)


def snapped(value: float) -> float:
    """The nearest number of 13 digits if `value` is it up to rounding: 1/(1/3) is 3.

    Assumes: public constants stand for the real numbers they were rounded from.
    """
    near = float(f"{value:.13g}")
    return near if abs(near - value) <= 8 * math.ulp(value) else value


def multiplier(value: float) -> float:
    """Noise over what it hides; no more than the events know, which only costs more."""
    return min(snapped(value), _MOST)


@dataclass(slots=True)
class Release:
    """One release; `opened` if its numbers are seen, `selected` if an argmax of them is."""

    line: Line
    adjacency: Adjacency
    family: str
    scale: Array
    shape: Shape
    diff: Size
    direction: str = "either"  # "up" if all entries move the same way between neighbours
    sampling: Sampling | None = None
    contribution: Size | None = None
    opened: bool = False
    selected: str | None = None
    fixed: Event | None = None  # where the event is known at once
    coins: frozenset[int] = frozenset()  # random choices of rows it has seen
    shared: bool = False  # its sample was seen by another release
    predicate: Predicate = field(default_factory=dict)  # records behind it fulfil this
    times: int = 1
    path: tuple[tuple[int, bool], ...] = ()  # branches of released values it lies in
    form: tuple[Node, dict[int, float]] | None = None  # the entries of a vector that it is a sum of
    joint: Joint | None = None  # with which it is compared, if nobody has seen it
    made_at: int = -1  # the node that it is
    together: tuple[Release, ...] = ()  # the releases that it stands for
    pay: Callable[[Release], None] | None = None  # at run time: called once, before it is seen

    def open(self) -> None:
        """All its numbers are seen."""
        if not self.opened:
            self.opened = True
            if self.pay is not None:
                self.pay(self)

    def selects(self, how: str) -> bool:
        """Whether argmax or argmin of these noisy numbers is itself a known mechanism."""
        maximal = how == "argmax"
        if self.family not in SELECTING or (self.family != LAPLACE and not maximal):
            return False
        if self.opened or (self.selected or how) != how or self._scale() is None:
            return False
        first = self.selected is None
        self.selected = how
        if first and self.pay is not None:
            self.pay(self)
        return True

    @property
    def sensitivity(self) -> float:
        """In the norm the noise asks for."""
        if self.selected and not self.opened:
            return self.diff.linf
        return self.diff.l2 if self.family in (GAUSSIAN, DISCRETE_GAUSSIAN) else self.diff.l1

    @property
    def noise(self) -> str:
        """The noise in words."""
        spread = f"{float(self.scale.min()):g}" if self.scale.size else "0"
        if self.scale.size and self.scale.min() != self.scale.max():
            spread += f" to {float(self.scale.max()):g}"
        return f"{self.family} noise of scale {spread}"

    def _scale(self) -> float | None:
        """The one scale of all entries."""
        if self.scale.size and self.scale.min() == self.scale.max():
            return float(self.scale.flat[0])
        return None

    @property
    def event(self) -> Event | None:
        """What it spends, in the vocabulary; None for nothing."""
        if self.fixed is not None:
            return self.fixed
        if self.diff.zero:
            return None
        if self.selected and not self.opened:
            return self._selection()
        scaled = _in_units(self.diff, self.scale, self.shape)
        if self.sampling is not None and self.contribution is not None and not self.shared:
            unit = _in_units(self.contribution, self.scale, self.shape)
            amplified = self._sampled(unit)
            if amplified is not None:
                return amplified
        return self._additive(scaled)

    @property
    def entering(self) -> Event | None:
        """What it spends on a record that comes or goes, where it is a sum over records."""
        discrete = self.family in (DISCRETE_LAPLACE, DISCRETE_GAUSSIAN)
        added = None if self.fixed or self.selected or discrete else self.contribution
        return None if added is None else self._additive(_in_units(added, self.scale, self.shape))

    def _selection(self) -> Event:
        """Report noisy max; Gumbel noise makes it the exponential mechanism.

        Reference: [Dwork2014] section 3.3 for Laplace noise, [McKenna2020] for exponential noise.
        """
        scale = self._scale()
        assert scale is not None
        moved = 1 if self.direction == "up" else 2
        cost = snapped(moved * self.diff.linf / scale)
        if self.family == GUMBEL:
            return ExponentialMechanism(cost, self.adjacency)
        return PureDP(cost, self.adjacency)

    def _additive(self, size: Size) -> Event:
        """Noise on a vector that moves by `size`, in units of the noise."""
        moves = self.adjacency.moves
        if moves / size.l2 < _LEAST:  # the accountant has no such event
            return NotPrivate("the noise is smaller than floats can tell from none")
        if self.family == GAUSSIAN:
            return Gaussian(multiplier(moves / size.l2))
        if self.family in (DISCRETE_LAPLACE, DISCRETE_GAUSSIAN):
            return self._discrete()
        # Entries are independent, so `changed` shifts of at most linf compose; where that is more than
        # the L1 shift all together, pure DP by the L1 norm is the smaller bound.
        if size.changed * size.linf <= size.l1 * (1 + 1e-12):
            return _times(Laplace(multiplier(moves / size.linf)), int(size.changed))
        return PureDP(snapped(size.l1), self.adjacency)

    def _discrete(self) -> Event:
        scale = float(self.scale.min())
        moves, step = self.adjacency.moves, max(1, math.ceil(self.diff.linf - 1e-9))
        if self.family == DISCRETE_LAPLACE and self.diff.changed * step > self.diff.l1 * (
            1 + 1e-12
        ):
            return PureDP(snapped(self.diff.l1 / scale), self.adjacency)
        # One whole-number shift of at most `step`; the event counts `moves` steps of its norm bound.
        bound = -(-step // moves)
        kind = DiscreteLaplace if self.family == DISCRETE_LAPLACE else DiscreteGaussian
        if bound * moves > step:  # an odd shift under replace-one: stated as a guarantee instead
            if kind is DiscreteLaplace:
                return _times(PureDP(snapped(step / scale), self.adjacency), int(self.diff.changed))
            from dpcheck.core.events.guarantee import ZCDP

            rho = snapped(step**2 / (2 * scale**2))  # [Canonne2020] Theorem 4
            return _times(ZCDP(rho, self.adjacency), int(self.diff.changed))
        return _times(kind(scale, bound), int(self.diff.changed))

    def _sampled(self, unit: Size) -> Event | None:
        """A sum over sampled rows; None where nobody proved that sampling helps.

        Reference: [Mironov2019] for Poisson sampling, [Zhu2022] for batches of a fixed size.
        """
        sampling = self.sampling
        assert sampling is not None
        if self.adjacency is Adjacency.ZERO_OUT or not unit.l2 or 1 / unit.l2 < _LEAST:
            return None
        if self.family == GAUSSIAN and sampling.batch is None:
            return SampledGaussian(multiplier(1 / unit.l2), sampling.rate)
        if self.family == LAPLACE and sampling.batch is None and unit.changed <= 1:
            return SampledLaplace(multiplier(1 / unit.l1), sampling.rate)
        if self.family == GAUSSIAN and sampling.batch is not None and sampling.count is not None:
            if self.adjacency is not Adjacency.REPLACE_ONE:
                return None
            return FixedBatchGaussian(multiplier(1 / unit.l2), sampling.count, sampling.batch)
        return None


def _times(event: Event, times: int) -> Event:
    return event if times == 1 else event * times


def _in_units(size: Size, scale: Array, shape: Shape) -> Size:
    """The size of a shift whose entries are divided by the scale of their noise."""
    if scale.size and scale.min() == scale.max():
        return size.tightened(shape).scaled(1.0 / float(scale.flat[0]))
    return size.scaled(1.0 / scale).tightened(shape)


def of(
    adjacency: Adjacency, aggregate: Aggregate, noise: Drawn, line: Line, shape: Shape
) -> Release:
    """Aggregate and noise of one shape, checked by the caller."""
    sampling = aggregate.sampling if aggregate.contribution is not None else None
    return Release(
        line,
        adjacency,
        noise.family,
        np.asarray(noise.scale, dtype=float),
        shape,
        aggregate.diff,
        "up" if aggregate.rising else "either",
        sampling,
        aggregate.contribution,
        coins=aggregate.coins | (sampling.ids if sampling else frozenset()),
        predicate=aggregate.predicate,
    )
