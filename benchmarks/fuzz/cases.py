"""Random events over the whole range of their parameters, from one seed per case."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.event import (
    Event,
    Grouped,
    Moved,
    PoissonStopping,
    RandomStopping,
    Sampled,
    Under,
    leaves,
    stated_adjacency,
)

ADJACENCIES = tuple(Adjacency)


@dataclass(frozen=True)
class Case:
    """One question: what does `event` spend at `delta` under `adjacency`?"""

    event: Event
    adjacency: Adjacency
    delta: float


class Draw:
    """A generator with the ranges the fuzz covers."""

    def __init__(self, seed: int, case: int) -> None:
        self.rng = np.random.default_rng(np.random.SeedSequence([seed, case]))

    def log(self, low: float, high: float) -> float:
        """Uniform in the logarithm."""
        return float(math.exp(self.rng.uniform(math.log(low), math.log(high))))

    def chance(self, probability: float) -> bool:
        """True with that probability."""
        return bool(self.rng.random() < probability)

    def pick(self, options: tuple) -> object:
        """One of the options."""
        return options[int(self.rng.integers(len(options)))]

    def whole(self, low: float, high: float) -> int:
        """A whole number, uniform in the logarithm."""
        return min(max(round(self.log(low, high)), math.ceil(low)), math.floor(high))

    def noise(self) -> float:
        """Mostly where mechanisms are used, sometimes anywhere from 1e-3 to 1e6."""
        return self.log(0.3, 100.0) if self.chance(0.6) else self.log(1e-3, 1e6)

    def rate(self) -> float:
        """Mostly usual sampling rates, sometimes anywhere from 1e-12 to 1."""
        if self.chance(0.05):
            return 1.0
        return self.log(1e-4, 0.5) if self.chance(0.6) else self.log(1e-12, 1.0)

    def epsilon(self) -> float:
        """From 1e-8 to 50."""
        return self.log(1e-8, 50.0)

    def delta(self) -> float:
        """Usual deltas, tiny ones, and 0."""
        if self.chance(0.1):
            return 0.0
        return self.log(1e-12, 1e-1) if self.chance(0.6) else self.log(1e-100, 1e-1)

    def times(self) -> int:
        """Once, some times, or up to 1e8 times."""
        if self.chance(0.4):
            return 1
        return self.whole(1, 1e4) if self.chance(0.6) else self.whole(1, 1e8)


def _finite_pair(draw: Draw) -> Event:
    size = int(draw.rng.integers(2, 6))
    tables = []
    for _ in range(2):
        masses = draw.rng.dirichlet(np.full(size, draw.log(0.2, 5.0)))
        if draw.chance(0.1):
            masses[int(draw.rng.integers(size))] = 0.0
            masses = masses / masses.sum()
        tables.append(tuple(float(m) for m in masses))
    return dpcheck.FinitePair(*tables)


def _objective(draw: Draw) -> Event:
    return dpcheck.ObjectivePerturbation(
        draw.epsilon(), draw.whole(10, 1e6), draw.log(1e-6, 1.0), 0.0, draw.log(0.1, 10.0)
    )


def _fixed_batch(draw: Draw) -> Event:
    rows = draw.whole(2, 1e7)
    return dpcheck.FixedBatchGaussian(draw.noise(), rows, draw.whole(1, rows))


def _truncated(draw: Draw) -> Event:
    rows, rate = draw.whole(10, 1e6), draw.rate()
    batch = max(1, min(rows, math.ceil(rows * rate * draw.log(0.5, 5.0))))
    return dpcheck.TruncatedPoissonGaussian(draw.noise(), rate, rows, batch)


def _with_replacement(draw: Draw) -> Event:
    rows = draw.whole(2, 1e6)
    return dpcheck.WithReplacementGaussian(draw.noise(), rows, draw.whole(1, min(rows, 1e4)))


def _mixture(draw: Draw) -> Event:
    size = int(draw.rng.integers(1, 4))
    shifts = tuple(draw.log(1e-2, 10.0) for _ in range(size))
    return dpcheck.MixtureGaussian(draw.noise(), shifts, tuple(draw.rate() / size for _ in shifts))


def _matrix(draw: Draw) -> Event:
    size = int(draw.rng.integers(1, 7))
    rows = np.tril(draw.rng.uniform(0.0, 1.0, (size, size))) + np.eye(size)
    strategy = tuple(tuple(map(float, row)) for row in rows)
    separation = int(draw.rng.integers(1, size + 1))
    rate = draw.rate() if draw.chance(0.3) else None
    return dpcheck.MatrixMechanism(
        draw.noise(), strategy, draw.whole(1, 3), separation, sampling_rate=rate
    )


def _distribution(draw: Draw) -> Event:
    masses = draw.rng.dirichlet(np.full(int(draw.rng.integers(2, 30)), 0.5))
    tail = draw.log(1e-30, 1e-3) if draw.chance(0.3) else 0.0
    first = int(draw.rng.integers(-20, 10))
    shares = tuple(float(mass) * (1 - tail) for mass in masses)
    step = draw.log(1e-4, 1.0)
    # Q has a mass of at most 1: E e^-L <= 1, moved up as far as it takes.
    mass = math.fsum(share * math.exp(-(first + i) * step) for i, share in enumerate(shares))
    first += max(0, math.ceil(math.log(mass) / step))
    return dpcheck.LossDistribution(step, first, shares, tail)


LEAVES: dict[str, Callable[[Draw], Event]] = {
    "Gaussian": lambda d: dpcheck.Gaussian(d.noise()),
    "Laplace": lambda d: dpcheck.Laplace(d.noise()),
    "DiscreteGaussian": lambda d: dpcheck.DiscreteGaussian(d.noise(), d.whole(1, 20)),
    "DiscreteLaplace": lambda d: dpcheck.DiscreteLaplace(d.noise(), d.whole(1, 20)),
    "RandomizedResponse": lambda d: dpcheck.RandomizedResponse(d.log(1e-6, 1.0), d.whole(2, 20)),
    "ExponentialMechanism": lambda d: dpcheck.ExponentialMechanism(d.epsilon()),
    "FinitePair": _finite_pair,
    "SampledGaussian": lambda d: dpcheck.SampledGaussian(d.noise(), d.rate()),
    "SampledLaplace": lambda d: dpcheck.SampledLaplace(d.noise(), d.rate()),
    "FixedBatchGaussian": _fixed_batch,
    "TruncatedPoissonGaussian": _truncated,
    "RandomAllocationGaussian": lambda d: dpcheck.RandomAllocationGaussian(
        d.log(0.3, 100.0), d.whole(1, 300)
    ),
    "TreeAggregation": lambda d: dpcheck.TreeAggregation(
        d.noise(), d.whole(1, 100), d.whole(1, 4), d.whole(1, 20)
    ),
    "BandedMatrix": lambda d: dpcheck.BandedMatrix(
        d.noise(), d.whole(1, 1e4), d.whole(1, 50), 1, d.rate() if d.chance(0.5) else None
    ),
    "ObjectivePerturbation": _objective,
    "GaussianObjectivePerturbation": lambda d: dpcheck.GaussianObjectivePerturbation(
        d.noise(), d.whole(10, 1e6), d.log(1e-6, 1.0), d.log(0.1, 10.0)
    ),
    "OutputPerturbation": lambda d: dpcheck.OutputPerturbation(d.log(1e-3, 1e3), d.log(1e-3, 1e2)),
    "PureDP": lambda d: dpcheck.PureDP(d.epsilon()),
    "ApproxDP": lambda d: dpcheck.ApproxDP(d.epsilon(), d.log(1e-30, 1e-2)),
    "ZCDP": lambda d: dpcheck.ZCDP(
        d.log(1e-12, 10.0), xi=d.log(1e-9, 1.0) if d.chance(0.3) else 0.0
    ),
    "GDP": lambda d: dpcheck.GDP(d.log(1e-11, 30.0)),
    "ReportNoisyMax": lambda d: dpcheck.ReportNoisyMax(
        d.noise(), str(d.pick(("laplace", "exponential", "gumbel"))), d.chance(0.5)
    ),
    "PermuteAndFlip": lambda d: dpcheck.PermuteAndFlip(d.epsilon()),
    "AboveThreshold": lambda d: dpcheck.AboveThreshold(
        d.noise(), d.noise(), d.whole(1, 20), d.chance(0.5)
    ),
    "ShuffledReports": lambda d: dpcheck.ShuffledReports(d.log(1e-3, 8.0), d.whole(2, 1e5)),
    "WithReplacementGaussian": _with_replacement,
    "MixtureGaussian": _mixture,
    "RealisedBatchGaussian": lambda d: dpcheck.RealisedBatchGaussian(
        d.noise(), d.rate(), d.whole(2, 1e5)
    ),
    "MatrixMechanism": _matrix,
    "LossDistribution": _distribution,
    "NotPrivate": lambda _: dpcheck.NotPrivate("said so"),
}


def leaf(draw: Draw) -> Event:
    """One mechanism of any kind."""
    return LEAVES[str(draw.pick(tuple(LEAVES)))](draw)


def wrapped(draw: Draw, event: Event) -> Event:
    """The event as it is, or seen by a group, stated under a relation, chosen, sampled, or stopped."""
    kind = int(draw.rng.integers(40))
    if kind == 0:
        stated = draw.pick(ADJACENCIES)
        own = {stated_adjacency(leaf) for leaf in leaves(event)} - {None, stated}
        return event if own else Under(stated, event)  # two statements would contradict each other
    if kind == 1:
        return Grouped(event, draw.whole(2, 10))
    if kind == 2:
        return RandomStopping(event, float(draw.rng.uniform(-0.9, 2.0)), draw.log(1e-3, 0.9))
    if kind == 3:
        return event | leaf(draw)
    if kind == 4:
        return Moved(event)
    if kind == 5:
        return Sampled(event, draw.rate())
    if kind == 6:
        return PoissonStopping(event, draw.log(0.1, 1e4))
    return event


# Kinds whose curve has a closed form: most cases are one of them, used once.
SIMPLE = ("Gaussian", "GDP", "Laplace", "DiscreteLaplace", "FinitePair", "SampledGaussian")
SIMPLE += ("SampledLaplace", "PureDP", "RandomizedResponse")


# Mechanisms by their noise and, where they sample, their rate.
MIXED: dict[str, Callable[[float, float], Event]] = {
    "Gaussian": lambda noise, _: dpcheck.Gaussian(noise),
    "Laplace": lambda noise, _: dpcheck.Laplace(noise),
    "DiscreteGaussian": lambda noise, _: dpcheck.DiscreteGaussian(noise),
    "DiscreteLaplace": lambda noise, _: dpcheck.DiscreteLaplace(noise),
    "SampledGaussian": dpcheck.SampledGaussian,
    "SampledLaplace": dpcheck.SampledLaplace,
    "PureDP": lambda noise, _: dpcheck.PureDP(1 / noise),
    "RandomizedResponse": lambda _, rate: dpcheck.RandomizedResponse(rate),
}


# From this case on: many different mechanisms together.
MANY = 100_000


def draw_case(seed: int, case: int) -> Case:
    """The case of that number: six in ten one simple mechanism, three in ten one of any kind, repeated or
    wrapped, the rest a composition of up to four; from MANY on compositions of 12 to 200.
    """
    draw = Draw(seed, case)
    if case >= MANY:
        return Case(_many(draw), draw.pick(ADJACENCIES), draw.delta())
    kind = draw.rng.random()
    if kind < 0.6:
        event: Event = LEAVES[str(draw.pick(SIMPLE))](draw)
    else:
        event = _repeated(draw)
        for _ in range(int(draw.rng.integers(1, 4)) if kind > 0.9 else 0):
            event = event + _repeated(draw)
    return Case(event, draw.pick(ADJACENCIES), draw.delta())


def _many(draw: Draw) -> Event:
    """One to three kinds, their parameters around one of each, mostly used once; or 12 pure guarantees."""
    if draw.chance(0.3):
        middle = draw.log(1e-4, 3.0)
        return dpcheck.Sequential(
            tuple(dpcheck.PureDP(middle * draw.log(0.3, 3.0)) for _ in range(12))
        )
    kinds = [str(draw.pick(tuple(MIXED))) for _ in range(int(draw.rng.integers(1, 4)))]
    noise, rate = draw.log(0.5, 200.0), draw.log(1e-4, 0.5)
    spread = draw.log(1.1, 10.0)
    parts = []
    for i in range(draw.whole(12, 200)):
        near, chance = noise * draw.log(1 / spread, spread), min(rate * draw.log(0.5, 2.0), 1.0)
        part = MIXED[kinds[i % len(kinds)]](near, chance)
        parts.append(part * draw.whole(2, 100) if draw.chance(0.1) else part)
    return dpcheck.Sequential(tuple(parts))


def _repeated(draw: Draw) -> Event:
    part, times = wrapped(draw, leaf(draw)), draw.times()
    return part if times == 1 else part * times
