# ruff: noqa: SIM108, RET505, B905
"""Noise and probabilities that are written out by hand: what is known of them, and what comes close to it."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import proof_of, read

UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=20)


def bare(function, data=UNIT) -> float:
    """What the rules alone conclude, without the attack on it."""
    program = read(function, data, Adjacency.REPLACE_ONE)
    return float(proof_of(program, data).epsilon().upper)


# Laplace noise by cases ---------------------------------------------------------------------------------


def two_numbers(rng):
    first, second = rng.random(), rng.random()
    if first <= 0.5:
        return -2 * np.log(1 - second)
    return 2 * np.log(second)


def one_number(rng):
    u = rng.random() - 0.5
    if u >= 0:
        return -2 * math.log(1 - 2 * u)
    else:
        return 2 * math.log(1 + 2 * u)


def halves(rng):
    u = rng.uniform(0, 1)
    return 2 * np.log(2 * u) if u < 0.5 else -2 * np.log(2 - 2 * u)


def other_half(rng):
    u = rng.random()
    if not u > 0.5:
        noise = -2 * np.log(1 - 2 * u)
    else:
        noise = 2 * np.log(2 * u - 1)
    return noise


def drawn_on_a_side(rng):
    if rng.random() < 0.5:
        noise = rng.exponential(2.0)
    else:
        noise = -rng.exponential(2.0)
    return noise


def sign_by_coin(rng):
    sign = 1 if rng.integers(2) == 1 else -1
    return sign * rng.exponential(2.0)


def sign_chosen(rng):
    return rng.choice([-2, 2]) * -np.log(rng.random())


def vector_of_signs(rng):
    signs = np.where(rng.random(1) < 0.5, -1.0, 1.0)
    return (signs * rng.exponential(2.0, size=1))[0]


SAMPLERS = [
    *(two_numbers, one_number, halves, other_half, drawn_on_a_side),
    *(sign_by_coin, sign_chosen, vector_of_signs),
]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_it_is_laplace_noise_of_scale_2(sampler):
    def noisy(x, rng):
        return x.sum() + sampler(rng)

    assert bare(noisy) == pytest.approx(0.5, rel=1e-12)
    rng = np.random.default_rng(3)
    drawn = [sampler(rng) for _ in range(4000)]
    assert stats.kstest(drawn, stats.laplace(scale=2).cdf).pvalue > 1e-3


def uneven_sides(rng):
    first, second = rng.random(), rng.random()
    return -2 * np.log(1 - second) if first <= 0.5 else np.log(second)


def one_sign(rng):
    first, second = rng.random(), rng.random()
    return -2 * np.log(1 - second) if first <= 0.5 else -2 * np.log(second)


def biased_coin(rng):
    first, second = rng.random(), rng.random()
    return -2 * np.log(1 - second) if first <= 0.4 else 2 * np.log(second)


def size_of_the_coin(rng):
    u = rng.random()
    return -2 * np.log(1 - u) if u <= 0.5 else 2 * np.log(u)


def wrong_half(rng):
    u = rng.random()
    return 2 * np.log(2 * u) if u >= 0.5 else -2 * np.log(2 - 2 * u)


def shifted_sides(rng):
    first, second = rng.random(), rng.random()
    return 5 - 2 * np.log(1 - second) if first <= 0.5 else 2 * np.log(second)


def cut_off(rng):
    first, second = rng.random(), rng.random()
    return -2 * np.log(1 - second / 2) if first <= 0.5 else 2 * np.log(second)


def other_logarithm(rng):
    first, second = rng.random(), rng.random()
    return -2 * np.log2(1 - second) if first <= 0.5 else 2 * np.log2(second)


def sign_of_its_own_number(rng):
    u = rng.random()
    sign = 1 if u < 0.5 else -1
    return sign * -2 * np.log(u)


def shifted_exponential(rng):
    return rng.choice([-1, 1]) * (rng.exponential(2.0) + 1)


def lopsided_signs(rng):
    return rng.choice([-1, 2]) * rng.exponential(2.0)


def lopsided_by_coin(rng):
    sign = 1 if rng.random() < 0.5 else -2
    return sign * rng.exponential(2.0)


def a_third_side(rng):
    u = rng.random()
    if u < 0.25:
        return 0.0
    return 2 * np.log(2 * u) if u < 0.5 else -2 * np.log(2 - 2 * u)


ALMOST = [
    *(uneven_sides, one_sign, biased_coin, size_of_the_coin, wrong_half, shifted_sides, cut_off),
    *(other_logarithm, sign_of_its_own_number, shifted_exponential, lopsided_signs, a_third_side),
    lopsided_by_coin,
]


@pytest.mark.parametrize("sampler", ALMOST)
def test_what_is_almost_laplace_noise_protects_nothing(sampler):
    def noisy(x, rng):
        return x.sum() + sampler(rng)

    with pytest.raises(dpcheck.NotProvable):
        bare(noisy)
    rng = np.random.default_rng(3)
    drawn = [sampler(rng) for _ in range(4000)]
    assert stats.kstest(drawn, stats.laplace(scale=2).cdf).pvalue < 1e-9


def shows_the_coin(x, rng):
    u = rng.random()
    noise = np.log(2 * u) if u < 0.5 else -np.log(2 - 2 * u)
    return x.sum() + noise, u < 0.5


def shows_the_side(x, rng):
    u = rng.random()
    if u < 0.5:
        noise, side = np.log(2 * u), 1.0
    else:
        noise, side = -np.log(2 - 2 * u), -1.0
    return x.sum() + noise, side


def shows_the_number(x, rng):
    u = rng.random()
    noise = np.log(2 * u) if u < 0.5 else -np.log(2 - 2 * u)
    return x.sum() + noise, u


def adds_it_twice(x, rng):
    u = rng.random()
    noise = np.log(2 * u) if u < 0.5 else -np.log(2 - 2 * u)
    return x.sum() + noise, (x**2).sum() + noise


def one_number_for_two_noises(x, rng):
    sign, u = rng.random(), rng.random()
    one = np.log(u) if sign < 0.5 else -np.log(1 - u)
    other = np.log(u) if rng.random() < 0.5 else -np.log(1 - u)
    return x.sum() + one, (x**2).sum() + other


def one_sign_for_three(x, rng):
    noise = rng.choice([-1, 1]) * rng.exponential(1.0, size=3)
    return np.array([x.sum(), x.sum(), x.sum()]) + noise


def released_on_one_side(x, rng):
    u = rng.random()
    if u < 0.5:
        return x.sum() + np.log(2 * u)
    return x.sum() - np.log(2 - 2 * u)


def noise_of_the_coin(x, rng):
    """Where u is below a quarter, the noise made of it is below 0."""
    u = rng.uniform(-0.5, 0.5)
    noise = -np.sign(u) * np.log(1 - 2 * np.abs(u))
    if u < -0.25:
        return x.sum() + noise
    return x.sum() + rng.laplace()


def noisy_on_both_sides(x, rng):
    """Private, and not followed: nothing is released on a side."""
    if rng.random() < 0.5:
        return x.sum() + rng.laplace()
    return x.sum() + rng.laplace(scale=2.0)


def sizes_in_turns(x, rng):
    """Two of the numbers may have the same size, one with a sign."""
    sizes = rng.exponential(1.0, size=3)
    noise = np.where(rng.random(3) < 0.5, sizes, -sizes[::-1])
    return np.array([x.sum(), x.sum(), x.sum()]) + noise


def more_noise_on_one_side(x, rng):
    if rng.random() < 0.5:
        return x.sum() + rng.laplace()
    return x.sum()


def told_by_a_list(x, rng):
    seen, u = [], rng.random()
    noise = np.log(2 * u)
    if u >= 0.5:
        noise = -np.log(2 - 2 * u)
        seen.append("above")
    return x.sum() + noise, seen


def told_by_a_dict(x, rng):
    seen, u = {"side": "below"}, rng.random()
    noise = np.log(2 * u)
    if u >= 0.5:
        noise = -np.log(2 - 2 * u)
        seen["side"] = "above"
    return x.sum() + noise, seen["side"]


def told_by_the_rounds(x, rng):
    u, rounds = rng.random(), 0
    while u < 0.5:
        rounds += 1
        u = rng.random()
    return x.sum() - np.log(2 - 2 * u), rounds


def a_coin_for_all_records(x, rng):
    total, heads = 0.0, rng.random() < 0.5
    for v in x:
        if heads:
            total += v
    return total + rng.laplace()


SHOWN = [
    noisy_on_both_sides,
    *(shows_the_coin, shows_the_side, shows_the_number, adds_it_twice, one_number_for_two_noises),
    *(
        noise_of_the_coin,
        sizes_in_turns,
        one_sign_for_three,
        released_on_one_side,
        more_noise_on_one_side,
        told_by_a_list,
    ),
    *(told_by_a_dict, told_by_the_rounds, a_coin_for_all_records),
]


@pytest.mark.parametrize("function", SHOWN)
def test_a_coin_that_decides_between_noises_is_theirs_alone(function):
    with pytest.raises(dpcheck.NotProvable):
        bare(function)


# The exponential mechanism -------------------------------------------------------------------------------


def scores_of(x):
    return [(x > c).sum() for c in (0.2, 0.5, 0.8)]


def listed(x, rng):
    weights = [math.exp(s / 2) for s in scores_of(x)]
    return rng.choice(3, p=[w / sum(weights) for w in weights])


def by_the_norm(x, rng):
    weights = [np.exp(0.5 * s) for s in scores_of(x)]
    return rng.choice(["a", "b", "c"], p=weights / np.linalg.norm(weights, ord=1))


def less_the_largest(x, rng):
    scores = scores_of(x)
    weights = [math.exp((s - max(scores)) / 2) for s in scores]
    total = sum(weights)
    return rng.choice(3, p=[w / total for w in weights])


def one_of_the_choices(x, rng):
    return random.choices("abc", weights=[math.exp(s / 2) for s in scores_of(x)])[0]


def of_a_vector(x, rng):
    weights = np.exp(np.array(scores_of(x)) / 2)
    return random.choices([1, 2, 3], weights=weights, k=1)


@pytest.mark.parametrize(
    "function", [listed, by_the_norm, less_the_largest, one_of_the_choices, of_a_vector]
)
def test_it_is_the_exponential_mechanism(function):
    proof = dpcheck.prove(function, data=UNIT)
    assert proof.epsilon().upper == pytest.approx(1.0, rel=1e-12)


def two_choices(x, rng):
    return random.choices("abc", weights=[math.exp(s / 2) for s in scores_of(x)], k=2)


def three_at_once(x, rng):
    weights = [math.exp(s / 2) for s in scores_of(x)]
    return rng.choice(3, p=[w / sum(weights) for w in weights], size=3)


def own_factors(x, rng):
    """The second score counts four times as much: 2 times 2."""
    a, b, c = scores_of(x)
    weights = [math.exp(a / 2), math.exp(4 * b / 2), math.exp(c / 2)]
    return rng.choice(3, p=[w / sum(weights) for w in weights])


def a_shift_of_one(x, rng):
    """The largest is taken from one score alone, which moves by 2 then."""
    a, b, c = scores_of(x)
    weights = [np.exp((a - max(a, b, c)) / 2), np.exp(b / 2), np.exp(c / 2)]
    return rng.choice(3, p=weights / np.sum(weights))


@pytest.mark.parametrize(
    ("function", "least"),
    [(two_choices, 2.0), (three_at_once, 3.0), (own_factors, 4.0), (a_shift_of_one, 1.5)],
)
def test_more_is_charged(function, least):
    assert bare(function) >= least * (1 - 1e-12)


def one_weight_left_out(x, rng):
    weights = [math.exp(s / 2) for s in scores_of(x)]
    total = weights[0] + weights[1]
    return rng.choice(3, p=[w / total for w in weights])


def one_weight_twice(x, rng):
    weights = [math.exp(s / 2) for s in scores_of(x)]
    total = sum(weights) + weights[0]
    return rng.choice(3, p=[w / total for w in weights])


def totals_of_their_own(x, rng):
    weights = [math.exp(s / 2) for s in scores_of(x)]
    totals = [sum(weights), sum(weights[::-1]), sum(weights) + 0.5]
    return rng.choice(3, p=[w / t for w, t in zip(weights, totals)])


def no_exponentials(x, rng):
    weights = [s + 1.0 for s in scores_of(x)]
    return random.choices("abc", weights=weights)


def may_be_too_large(x, rng):
    weights = [math.exp(100 * s) for s in scores_of(x)]
    return random.choices("abc", weights=weights)


def may_all_be_0(x, rng):
    weights = [math.exp(-100 * s) for s in scores_of(x)]
    return random.choices("abc", weights=weights)


def may_be_not_a_number(x, rng):
    weights = np.exp(np.array([-100.0 * s for s in scores_of(x)]))
    return rng.choice(3, p=weights / weights.sum())


@pytest.mark.parametrize(
    "function",
    [
        *(one_weight_left_out, one_weight_twice, totals_of_their_own, no_exponentials),
        *(may_be_too_large, may_all_be_0, may_be_not_a_number),
    ],
)
def test_probabilities_that_are_no_softmax_are_refused(function):
    with pytest.raises(dpcheck.NotProvable):
        bare(function)


def root_of_a_norm(x, rng):
    return math.sqrt(sum(v * v for v in x)) + rng.laplace()


def root_of_a_difference(x, rng):
    """Rounded, 1 less a share of 1 may be below 0."""
    return math.sqrt(1 - x.mean()) + rng.laplace()


def test_math_of_a_private_value_that_cannot_fail():
    assert bare(root_of_a_norm) == pytest.approx(math.sqrt(20))
    with pytest.raises(dpcheck.NotProvable):
        bare(root_of_a_difference)
