"""What a release is charged, beside its true loss on the worst neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpcheck.accounting.api import epsilon
from dpcheck.core.adjacency import Adjacency
from dpcheck.program import releases
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Node
from dpcheck.program.releases import Release
from dpcheck.replay.draws import UNKNOWN

from .examples.drawing import draw
from .examples.worlds import REMOVE, REPLACE, ZERO, World


def charged(release: Release, delta: float = 0.0) -> float:
    """The epsilon of the release's event."""
    assert release.event is not None
    return float(epsilon(release.event, delta=delta, adjacency=release.adjacency).upper)


def release(
    law: str,
    adjacency: Adjacency,
    size: Size,
    scale: object,
    shape: tuple[int, ...] = (3,),
    **how: object,
) -> Release:
    """Numbers that move by `size`, with noise."""
    scales = np.asarray(scale, dtype=float)
    made = Release(UNKNOWN, adjacency, law, scales, shape, size.tightened(shape), **how)  # type: ignore[arg-type]
    made.opened = "selected" not in how
    return made


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE, ZERO])
def test_laplace_noise_costs_the_l1_shift(adjacency: Adjacency):
    """The log-ratio of Laplace densities is at most, and on a worst pair equal to, sum |shift| / scale."""
    for size, scale in (
        (Size(np.asarray(1.0)), 2.0),
        (Size(np.asarray(np.inf), l1=1.5), 0.5),
        (Size(np.asarray([0.5, 2.0, 0.0])), 4.0),
        (Size(np.asarray([0.5, 2.0, 1.0])), [1.0, 4.0, 2.0]),
        (Size(np.asarray(np.inf), linf=2.0, changed=2), 1.0),
    ):
        made = release(releases.LAPLACE, adjacency, size, scale)
        shifts = np.broadcast_to(size.coordinates, (3,))
        truth = float((shifts / np.asarray(scale)).sum())
        if not np.isfinite(truth):
            truth = (size.l1 if np.isfinite(size.l1) else size.linf * size.changed) / float(
                np.max(scale)
            )
        assert charged(made) == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("adjacency", [REPLACE, REMOVE, ZERO])
def test_gaussian_noise_costs_the_l2_shift(adjacency: Adjacency):
    """The exact privacy curve of a Gaussian shift [Balle and Wang 2018, Theorem 8]."""
    delta = 1e-5
    for size, scale in (
        (Size(np.asarray(np.inf), l2=1.5), 3.0),
        (Size(np.asarray([1.0, 2.0, 2.0])), 6.0),
    ):
        made = release(releases.GAUSSIAN, adjacency, size, scale)
        shift = size.tightened((3,)).l2 / float(np.max(scale))
        eps = charged(made, delta)
        curve = norm.cdf(shift / 2 - eps / shift) - math.exp(eps) * norm.cdf(
            -shift / 2 - eps / shift
        )
        assert curve <= delta * (1 + 1e-6)
        less = eps * 0.999
        above = norm.cdf(shift / 2 - less / shift) - math.exp(less) * norm.cdf(
            -shift / 2 - less / shift
        )
        assert above > delta * (1 - 1e-3)


def test_unequal_scales_count_entry_by_entry():
    made = release(releases.GAUSSIAN, REMOVE, Size(np.asarray([1.0, 4.0, 0.0])), [1.0, 2.0, 0.1])
    alone = release(releases.GAUSSIAN, REMOVE, Size(np.asarray(math.sqrt(5.0))), 1.0, ())
    assert charged(made, 1e-6) == pytest.approx(charged(alone, 1e-6), rel=1e-6)


def _largest(shift: np.ndarray, scale: float, law: str) -> np.ndarray:
    """P(argmax of shift + noise = i), by integration over the winner's noise."""
    cdf = {
        "laplace": lambda v: np.where(
            v < 0, np.exp(np.minimum(v, 0)) / 2, 1 - np.exp(-np.maximum(v, 0)) / 2
        ),
        "gumbel": lambda v: np.exp(-np.exp(-v)),
        "exponential": lambda v: np.where(v > 0, 1 - np.exp(-np.maximum(v, 0)), 0.0),
    }[law]
    pdf = {
        "laplace": lambda v: math.exp(-abs(v)) / 2,
        "gumbel": lambda v: math.exp(-v - math.exp(-v)),
        "exponential": lambda v: math.exp(-v) if v > 0 else 0.0,
    }[law]
    found = []
    for i in range(len(shift)):
        others = np.delete(shift, i)

        def density(z: float, i: int = i, others: np.ndarray = others) -> float:
            return float(pdf(z) * np.prod(cdf(z + (shift[i] - others) / scale)))

        points = sorted({0.0, *((others - shift[i]) / scale).tolist()})
        found.append(quad(density, -40, 60, points=points, limit=400)[0])
    return np.array(found)


@pytest.mark.parametrize("law", ["laplace", "gumbel", "exponential"])
@pytest.mark.parametrize("direction", ["either", "up"])
def test_the_largest_of_noisy_numbers(law: str, direction: str):
    """Report noisy max: the charge is above the loss on every pair tried, and half where all rise."""
    adjacency = REMOVE if direction == "up" else REPLACE
    made = release(
        law, adjacency, Size(np.asarray(1.0)), 2.0, selected="argmax", direction=direction
    )
    cost = charged(made)
    assert cost == pytest.approx((1 if direction == "up" else 2) / 2.0, rel=1e-9)
    worst, low = 0.0, 0.0 if direction == "up" else -1.0
    for base in (np.zeros(3), np.array([0.0, 4.0, 4.0]), np.array([6.0, 0.0, 0.0])):
        for step in np.ndindex(3, 3, 3):
            shift = low + np.array(step) / 2 * (1.0 - low)
            one, two = _largest(base, 2.0, law), _largest(base + shift, 2.0, law)
            worst = max(worst, float(np.abs(np.log(one / two)).max()))
    assert worst <= cost * (1 + 1e-6)
    assert worst > 0.5 * cost


def _released(world: World, node: Node) -> Release:
    del node
    return world.graph.releases[-1]


@pytest.mark.parametrize("rate", [0.6, 0.75, 0.9])
def test_randomized_response(rate: float):
    """The truth with probability p: ln of P(truth | truth) over P(truth | another)."""
    world = World(REPLACE)
    bits = world.rows((), bool, 0, 1)
    coins = world.add(
        "less", draw(world, "uniform", (world.count,), scale=1.0), world.constant(rate)
    )
    made = _released(world, world.add("respond", coins, bits, world.add("logical_not", bits)))
    assert charged(made) == pytest.approx(math.log(rate / (1 - rate)), rel=1e-6)
    answers = world.rows((), np.int64, 0, 3)
    again = world.add(
        "less", draw(world, "uniform", (world.count,), scale=1.0), world.constant(rate)
    )
    lies = draw(world, "uniform integers", (world.count,), scale=4.0, location=0.0)
    made = _released(world, world.add("respond", again, answers, lies))
    kept, other = rate + (1 - rate) / 4, (1 - rate) / 4
    assert charged(made) == pytest.approx(math.log(kept / other), rel=1e-6)


@pytest.mark.parametrize(
    ("adjacency", "rising", "cost"), [(REPLACE, False, 1.0), (REMOVE, True, 0.5)]
)
def test_the_exponential_mechanism(adjacency: Adjacency, rising: bool, cost: float):
    """exp(factor * score) / sum: twice factor times the score's shift, once where all rise."""
    world = World(adjacency)
    x = world.rows((3,), lo=0.0, hi=1.0)
    score = world.add("sum", x, axes=(0,), dtype=np.dtype(float))
    assert score.fact.rising is rising  # type: ignore[attr-defined]
    weights = world.add("exp", world.add("multiply", score, world.constant(0.5)))
    law = world.add("divide", weights, world.add("sum", weights, axes=(0,), dtype=np.dtype(float)))
    made = _released(world, world.add("pick", law, score, factor=0.5))
    assert charged(made) == pytest.approx(cost, rel=1e-6)
    one, two = np.exp(0.5 * np.zeros(3)), np.exp(0.5 * np.array([1.0, 0, 0]))
    assert np.abs(np.log(one / one.sum() / (two / two.sum()))).max() <= cost
