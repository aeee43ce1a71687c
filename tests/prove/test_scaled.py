# ruff: noqa: RET504
"""Noise whose scale is a released number: proved where the private value keeps within it."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import proof_of, read

UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=50)
PLANE = dpcheck.records(a=dpcheck.number(-1, 1), b=dpcheck.number(-1, 1), rows=50)
COUNT = 1.0  # what the release costs that chooses the bound


def bare(function, data=UNIT, delta=0.0) -> float:
    """What the rules alone conclude, without the attack on it."""
    program = read(function, data, Adjacency.REPLACE_ONE)
    return float(proof_of(program, data).epsilon(delta).upper)


def chosen(x, rng):
    """A bound between 1/4 and 1, by a noisy count."""
    return np.clip(((x > 0.5).sum() + rng.laplace()) / 100, 0.25, 1.0)


def clipped(x, rng):
    bound = chosen(x, rng)
    return np.clip(x, 0, bound).sum() + rng.laplace(scale=bound / 0.5)


def clipped_in_a_loop(x, rng):
    bound, total = chosen(x, rng), 0.0
    for v in x:
        total += min(max(v, 0.0), bound)
    return total + rng.laplace(0, 2 * bound)


def around_the_total(x, rng):
    bound = chosen(x, rng)
    return np.random.laplace(loc=np.minimum(x, bound).sum(), scale=2 * bound)


def scaled_by_hand(x, rng):
    bound = chosen(x, rng)
    return np.minimum(x, bound).sum() + 2 * bound * rng.laplace()


def mean_of_clipped(x, rng):
    bound = chosen(x, rng)
    return np.clip(x, 0, bound).mean() + rng.laplace(scale=2 * bound / len(x))


def centred(x, rng):
    """Between -bound and bound: 2 over 4."""
    bound = chosen(x, rng)
    return np.clip(x - 0.5, -bound, bound).sum() + rng.laplace(scale=4 * bound)


def chosen_by_a_branch(x, rng):
    bound = 0.5 if (x > 0.5).sum() + rng.laplace() > 25 else 1.0
    return np.minimum(x, bound).sum() + rng.laplace(scale=2 * bound)


@pytest.mark.parametrize(
    "function",
    [
        *(clipped, clipped_in_a_loop, around_the_total, scaled_by_hand, mean_of_clipped, centred),
        chosen_by_a_branch,
    ],
)
def test_it_costs_what_it_does_in_units_of_the_bound(function):
    assert bare(function) == pytest.approx(COUNT + 0.5, rel=1e-9)


def in_the_plane(x, rng):
    """Three numbers at once, each moves by the bound: 3 over 6; Gaussian noise likewise."""
    bound = chosen(x, rng)
    parts = np.stack([np.minimum(x, bound), np.minimum(x**2, bound), np.minimum(x**3, bound)])
    return parts.sum(axis=1) + rng.laplace(scale=6 * bound, size=3)


def test_several_numbers_have_a_draw_each():
    assert bare(in_the_plane) == pytest.approx(COUNT + 0.5, rel=1e-9)


def test_it_is_attacked_and_certified():
    proof = dpcheck.prove(clipped, data=UNIT)
    assert proof.epsilon().upper == pytest.approx(COUNT + 0.5, rel=1e-9)
    assert proof.certificate()


# Charged what they cost ----------------------------------------------------------------------------------


def bound_too_large(x, rng):
    """A sum of numbers up to twice the bound."""
    bound = chosen(x, rng)
    return np.minimum(x, 2 * bound).sum() + rng.laplace(scale=2 * bound)


def not_clipped(x, rng):
    """Moves by 1, where the noise may be of scale 1/2 alone."""
    return x.sum() + rng.laplace(scale=2 * chosen(x, rng))


def another_bound(x, rng):
    """Clipped at one bound of up to 1, noise by another of 1/4 at least; two choices."""
    one, other = chosen(x, rng), chosen(x, rng)
    return np.minimum(x, one).sum() + rng.laplace(scale=2 * other)


def clipped_on_one_side(x, rng):
    """The lower end is -1."""
    bound = chosen(x, rng)
    return np.clip(2 * x - 1, -1, bound).sum() + rng.laplace(scale=2 * bound)


def added_after_the_clip(x, rng):
    """The last record is added as it is."""
    bound = chosen(x, rng)
    return np.minimum(x, bound).sum() + x.sum() + rng.laplace(scale=2 * bound)


@pytest.mark.parametrize(
    ("function", "least"),
    [
        *((bound_too_large, 2.0), (not_clipped, 3.0), (another_bound, 4.0)),
        *((clipped_on_one_side, 3.5), (added_after_the_clip, 3.5)),
    ],
)
def test_what_leaves_the_bound_is_charged(function, least):
    try:
        found = bare(function)
    except dpcheck.NotProvable:
        return
    assert found >= least * (1 - 1e-9)


# Refused ---------------------------------------------------------------------------------------------------


def may_be_0(x, rng):
    bound = np.clip((x > 0.5).sum() + rng.laplace(), 0.0, 1.0)
    return np.minimum(x, bound).sum() + rng.laplace(scale=bound)


def may_be_0_by_hand(x, rng):
    bound = np.clip((x > 0.5).sum() + rng.laplace(), 0.0, 1.0)
    return np.minimum(x, bound).sum() + bound * rng.laplace()


def may_be_negative(x, rng):
    bound = x.mean() + rng.laplace()
    return np.minimum(x, bound).sum() + rng.laplace(scale=bound)


def private_scale(x, rng):
    return x.sum() + rng.laplace(scale=np.clip(x.mean(), 0.25, 1.0))


def noise_used_twice(x, rng):
    bound = chosen(x, rng)
    noise = rng.laplace(scale=2 * bound)
    return np.minimum(x, bound).sum() + noise, np.minimum(x**2, bound).sum() + noise


def noise_is_shown(x, rng):
    bound = chosen(x, rng)
    noise = rng.laplace(scale=2 * bound)
    return np.minimum(x, bound).sum() + noise, noise


def unit_is_shown(x, rng):
    bound, unit = chosen(x, rng), rng.laplace()
    return np.minimum(x, bound).sum() + 2 * bound * unit, unit


def one_draw_for_three(x, rng):
    bound = chosen(x, rng)
    return np.minimum(x, bound).sum() * np.ones(3) + rng.laplace(scale=2 * bound)


def scales_of_their_own(x, rng):
    bounds = np.clip(np.array([x.sum(), x.mean()]) + rng.laplace(size=2), 0.25, 1.0)
    return np.array([x.sum(), x.sum()]) + rng.laplace(scale=bounds)


def a_power_of_the_bound(x, rng):
    """Noise of bound squared, where the value moves by the bound."""
    bound = chosen(x, rng)
    found = np.minimum(x, bound).sum() + rng.laplace(scale=bound * bound)
    return found


@pytest.mark.parametrize(
    "function",
    [
        *(
            may_be_0,
            may_be_0_by_hand,
            may_be_negative,
            private_scale,
            noise_used_twice,
            noise_is_shown,
        ),
        *(unit_is_shown, one_draw_for_three, scales_of_their_own),
    ],
)
def test_no_proof_of_noise_that_may_not_be_there(function):
    with pytest.raises(dpcheck.NotProvable):
        bare(function)


def test_a_power_of_the_bound_is_charged_at_its_smallest():
    assert bare(a_power_of_the_bound) >= (COUNT + 4.0) * (1 - 1e-9)
