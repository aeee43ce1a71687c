"""Pairs of a few outcomes taken together, against mpmath."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import pytest

import dpcheck
from dpcheck.accounting.api import verify_epsilon
from dpcheck.accounting.losses import (
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    Loss,
    ResponseLoss,
    SumLoss,
)
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.together import FAINTEST_PRODUCT, MOST_TOGETHER
from dpcheck.accounting.pld.parts import merged
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side


def _outcomes(loss: Loss) -> list[tuple[mp.mpf, mp.mpf]]:
    """(p, q) from the definition."""
    if isinstance(loss, FiniteLoss):
        return [(mp.mpf(a), mp.mpf(b)) for a, b in zip(loss.p, loss.q, strict=True)]
    if isinstance(loss, DiscreteLaplaceLoss):
        ratio = mp.exp(-1 / mp.mpf(loss.scale))
        mass = [
            (1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-loss.shift, loss.shift + 1)
        ]
        rest = ratio / (1 - ratio)  # beyond an end all masses have one ratio
        inner = [(mass[k], mass[k + loss.shift]) for k in range(1, loss.shift)]
        low = (mass[0] * (1 + rest), mass[loss.shift] * (1 + rest))
        return [low, *inner, low[::-1]]
    assert isinstance(loss, ResponseLoss)
    more = (1 - mp.mpf(loss.neutral)) / (1 + mp.exp(-mp.mpf(loss.epsilon)))
    less = 1 - mp.mpf(loss.neutral) - more
    return [(more, less), (less, more), *([(mp.mpf(loss.neutral),) * 2] if loss.neutral else [])]


GROUP = (
    (ResponseLoss(0.3), 2),
    (ResponseLoss(1.7, neutral=0.25), 1),
    (DiscreteLaplaceLoss(4.0, 3), 1),
    (FiniteLoss((0.5, 0.3, 0.2), (0.2, 0.3, 0.5)), 1),
)


def test_masses_and_losses_are_right_within_what_they_say() -> None:
    pair = build(SumLoss(GROUP), Side.UPPER)
    assert isinstance(pair, AtomicPair)
    atoms = pair.atoms
    assert atoms.known is not None
    with mp.workdps(40):
        parts = [_outcomes(loss) for loss, count in GROUP for _ in range(count)]
        true = sorted(
            (mp.fprod(p for p, _ in one), mp.fprod(q for _, q in one))
            for one in itertools.product(*parts)
        )
        found = sorted(zip(atoms.p.tolist(), atoms.q.tolist(), atoms.known.tolist(), strict=True))
        assert len(found) == len(true) == 2 * 2 * 3 * 4 * 3
        assert mp.fsum(p for p, _ in true) == pytest.approx(1.0, abs=1e-15)
        for p, q, loss in found:
            # Equal masses stand in any order: the nearest one is meant.
            near = min(true, key=lambda one: abs(one[0] - p) / one[0] + abs(one[1] - q) / one[1])
            assert abs(near[0] - p) <= near[0] * atoms.error
            assert abs(near[1] - q) <= near[1] * atoms.error
            exact = mp.log(near[0] / near[1])
            assert abs(exact - loss) <= atoms.units * UNIT * (1 + abs(exact))
    assert atoms.error < 1e-13


def _delta(parts: list[list[tuple[mp.mpf, mp.mpf]]], epsilon: float) -> mp.mpf:
    y = mp.exp(mp.mpf(epsilon))
    total = mp.mpf(0)
    for one in itertools.product(*parts):
        total += max(mp.fprod(p for p, _ in one) - y * mp.fprod(q for _, q in one), 0)
    return total


@pytest.mark.parametrize(
    "event",
    [
        dpcheck.PureDP(0.1) + dpcheck.PureDP(0.23) + dpcheck.PureDP(0.37) * 2 + dpcheck.PureDP(0.5),
        dpcheck.PureDP(1.0) + dpcheck.DiscreteLaplace(3.0) + dpcheck.DiscreteLaplace(2.5) * 3,
    ],
    ids=["pure", "discrete"],
)
@pytest.mark.parametrize("delta", [0.05, 1e-4])
def test_few_of_them_need_no_lattice(event: dpcheck.Event, delta: float) -> None:
    """Both sides are the exact optimum of different pure mechanisms."""
    bound = dpcheck.epsilon(event, delta=delta)
    assert bound.gap <= 1e-10 * bound.upper
    losses: list[Loss] = []
    for inner in event.events:  # nested on the left
        stack = [inner]
        while stack:
            node = stack.pop()
            if isinstance(node, dpcheck.Sequential):
                stack += node.events
            elif isinstance(node, dpcheck.Repeated):
                stack += [node.event] * node.times
            elif isinstance(node, dpcheck.PureDP):
                losses.append(ResponseLoss(node.epsilon))
            else:
                losses.append(DiscreteLaplaceLoss(node.scale, 1))
    with mp.workdps(30):
        parts = [_outcomes(loss) for loss in losses]
        assert _delta(parts, bound.upper) <= delta
        assert _delta(parts, bound.lower) >= delta * (1 - mp.mpf(10) ** -12)


def test_groups_have_a_limit_and_leave_others_alone() -> None:
    pure = [(ResponseLoss(0.01 * (1 + k / 50)), 1) for k in range(50)]
    others = [(LaplaceLoss(0.5), 1), (GaussianLoss(0.3), 2), (ResponseLoss(0.2), 10**6)]
    found = merged([*pure, *others], Side.UPPER)
    sums = [loss for loss, count in found if isinstance(loss, SumLoss) and count == 1]
    assert {part for one in sums for part, _ in one.inner} == {loss for loss, _ in pure}
    assert sum(n for one in sums for _, n in one.inner) == 50
    assert all(2 ** sum(n for _, n in one.inner) <= MOST_TOGETHER for one in sums)
    assert {type(loss) for loss, _ in found} == {SumLoss, LaplaceLoss, GaussianLoss, ResponseLoss}
    # In whatever order they come.
    assert merged([*reversed(pure), *others], Side.UPPER)[3:] == found[3:]


@pytest.mark.parametrize("times", [9, 10**15])
def test_losses_that_are_used_often_stay_alone(times: int) -> None:
    """Whatever the number: nothing is raised to its power."""
    often = (ResponseLoss(0.2), times)
    assert merged([often, (ResponseLoss(0.3), 1)], Side.UPPER) == [often, (ResponseLoss(0.3), 1)]
    spent = dpcheck.epsilon(dpcheck.PureDP(0.2) * times + dpcheck.PureDP(0.3), delta=1e-5)
    assert 0 < spent.upper <= (0.2 * times + 0.3) * (1 + 1e-12)


def test_masses_that_would_lose_their_digits_are_not_multiplied() -> None:
    steep = [(ResponseLoss(200.0 + k), 1) for k in range(6)]
    for loss, _ in merged(steep, Side.UPPER):
        members = loss.inner if isinstance(loss, SumLoss) else ((loss, 1),)
        assert math.fsum(part.epsilon * n for part, n in members) <= -math.log(FAINTEST_PRODUCT) + 1
    spent = dpcheck.epsilon(
        dpcheck.Sequential(tuple(dpcheck.PureDP(200.0 + k) for k in range(6))), delta=1e-6
    )
    assert 1215 * (1 - 1e-4) <= spent.upper <= 1215


def test_outcomes_that_tell_everything_stay_alone() -> None:
    """What only P has is an infinite loss. What only Q has is never seen under P, and is left out."""
    telling = FiniteLoss((0.5, 0.4, 0.1), (0.5, 0.5, 0.0))
    found = merged([(telling, 1), (ResponseLoss(1.0), 1), (ResponseLoss(0.7), 1)], Side.UPPER)
    assert (telling, 1) in found
    assert len(found) == 2
    unseen = FiniteLoss(telling.q, telling.p)
    parts = [(unseen, 1), (ResponseLoss(0.7), 1)]
    ((together, _),) = merged(parts, Side.UPPER)
    pair = build(together, Side.UPPER)
    assert isinstance(pair, AtomicPair)
    assert len(pair.atoms.p) == 4
    with mp.workdps(30):
        listed = [_outcomes(loss) for loss, _ in parts]
        value = pair.single_epsilon(0.05, Side.UPPER)
        assert value is not None
        assert _delta(listed, value) == pytest.approx(0.05, rel=1e-10)


def test_commensurable_losses_stay_exact() -> None:
    """Multiples of one number lie on one lattice, however many groups there are."""
    event = dpcheck.Sequential(tuple(dpcheck.PureDP(0.1 * (1 + k % 4)) * 4 for k in range(4)))
    event = event + dpcheck.PureDP(0.5) * 18
    bound = dpcheck.epsilon(event, delta=1e-6)
    assert bound.gap <= 1e-6 * bound.upper


def test_a_group_is_verified_in_balls() -> None:
    event = dpcheck.Sequential(tuple(dpcheck.PureDP(0.1 + 0.013 * k) for k in range(11)))
    found, known = verify_epsilon(event, delta=1e-4), dpcheck.epsilon(event, delta=1e-4)
    assert found.upper == pytest.approx(known.upper, rel=1e-3)
    assert 0 < found.lower <= known.upper
