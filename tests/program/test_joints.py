"""Sparse vector: its price against exact likelihoods; what may be seen of it, and what makes it a release."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import laplace

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.facts.sizes import Size
from dpcheck.program.joints import Threshold
from dpcheck.program.proof import proof_of, read
from dpcheck.program.releases import LAPLACE, Release
from dpcheck.replay.draws import UNKNOWN
from tests.prove.corpus.base import gaussian

ANSWERS = dpcheck.records(**{f"q{i}": dpcheck.number(0, 1) for i in range(12)}, rows=50)
GRID = np.linspace(-60.0, 60.0, 6_001)


def charged(function, adjacency="replace-one", data=ANSWERS, delta=0.0):
    program = read(function, data, Adjacency(adjacency))
    return proof_of(program, data).epsilon(delta).upper


def likelihood(queries, answers, threshold, scales):
    """P(answers), by integration over the noise of the threshold."""
    density = laplace.pdf(GRID, scale=threshold)
    for query, above, scale in zip(queries, answers, scales, strict=True):
        more = laplace.sf(GRID - query, scale=scale)
        density = density * (more if above else 1 - more)
    return float(trapezoid(density, GRID))


def priced(threshold, scales, diffs, hits, direction="either", adjacency=Adjacency.REPLACE_ONE):
    joint = Threshold(scale=threshold)
    for scale, diff in zip(scales, diffs, strict=True):
        size = Size(np.asarray(diff)).tightened(())
        made = Release(UNKNOWN, adjacency, LAPLACE, np.asarray(scale), (), size, direction)
        joint.add(made)
    return joint.price(hits)


@pytest.mark.parametrize("seed", range(6))
def test_no_answers_are_more_telling_than_their_hits_cost(seed):
    """Any shifts within the bounds, every sequence of answers; hits above or hits below."""
    rng = np.random.default_rng(seed)
    threshold, scales = rng.uniform(0.5, 3), rng.uniform(0.5, 3, size=4)
    diffs, queries = rng.uniform(0.2, 2, size=4), rng.normal(scale=2, size=4)
    for shift in itertools.product((-1, 1), repeat=4):
        moved = queries + np.array(shift) * diffs * rng.choice([1.0, rng.random()], size=4)
        for answers in itertools.product((False, True), repeat=4):
            ratio = abs(
                math.log(likelihood(queries, answers, threshold, scales))
                - math.log(likelihood(moved, answers, threshold, scales))
            )
            above = sum(answers)
            assert ratio <= priced(threshold, scales, diffs, above) + 1e-5
            assert ratio <= priced(threshold, scales, diffs, 4 - above) + 1e-5


def test_queries_that_rise_together_cost_half_a_hit():
    scales, diffs = [1.0] * 4, [1.0] * 4
    up = priced(1.5, scales, diffs, 1, "up", Adjacency.ADD_REMOVE)
    assert up == pytest.approx(1 / 1.5 + 1)
    assert priced(1.5, scales, diffs, 1) == pytest.approx(1 / 1.5 + 2)
    assert priced(1.5, scales, diffs, 1, "up", Adjacency.REPLACE_ONE) == pytest.approx(1 / 1.5 + 2)
    for moved in itertools.product((0, 1), repeat=4):
        for answers in itertools.product((False, True), repeat=4):
            if sum(answers) > 1:
                continue
            ratio = abs(
                math.log(likelihood(np.zeros(4), answers, 1.5, scales))
                - math.log(likelihood(np.array(moved), answers, 1.5, scales))
            )
            assert ratio <= up + 1e-5


def test_the_price_is_nearly_reached():
    """Many queries below and one hit, far in the tail: no smaller price would do."""
    queries, moved = np.array([0.0] * 6 + [-14.0]), np.array([1.0] * 6 + [-15.0])
    answers, scales = [False] * 6 + [True], [4.0] * 7
    # The queries rise and the hit falls, so that the threshold has to follow both ways.
    ratio = math.log(likelihood(queries, answers, 8.0, scales)) - math.log(
        likelihood(moved, answers, 8.0, scales)
    )
    assert 0.85 * (1 / 8 + 2 / 4) < ratio <= 1 / 8 + 2 / 4


def stops_at(c):
    def sparse(x, rng):
        threshold = 30 + rng.laplace(scale=4.0)
        hits, out = 0, []
        for q in x.sum(axis=0):
            noisy = q + rng.laplace(scale=16.0)
            if noisy >= threshold:
                out.append(True)
                hits += 1
                if hits >= c:
                    break
            else:
                out.append(False)
        return out

    return sparse


@pytest.mark.parametrize(("c", "cost"), [(1, 0.25 + 0.125), (2, 0.5), (3, 0.625), (9, 0.75)])
def test_as_many_hits_as_the_loop_allows(c, cost):
    """1/4 for the threshold and 1/8 a hit, or 1/16 an answer for all twelve."""
    assert charged(stops_at(c)) == pytest.approx(cost)


def returned_at_the_first_below(x, rng):
    threshold = 30 + rng.laplace(scale=4.0)
    for i, q in enumerate(x.sum(axis=0)):
        if q + rng.laplace(scale=16.0) < threshold:
            return i
    return None


def counted_with_equality(x, rng):
    threshold = 30 + rng.laplace(scale=4.0)
    hits = 0
    for q in x.sum(axis=0):
        if hits == 2:
            break
        if q + rng.laplace(scale=16.0) > threshold:
            hits += 1
    return hits


def drawn_anew_after_a_hit(x, rng):
    threshold = 30 + rng.laplace(scale=16.0)
    hits = 0
    for q in x.sum(axis=0):
        if q + rng.laplace(scale=32.0) > threshold:
            threshold = 30 + rng.laplace(scale=16.0)
            hits += 1
            if hits >= 2:
                break
    return hits


def drawn_anew_every_time(x, rng):
    hits = 0
    for q in x.sum(axis=0):
        threshold = 30 + rng.laplace(scale=4.0)
        if q + rng.laplace(scale=16.0) > threshold:
            hits += 1
            if hits >= 2:
                break
    return hits


@pytest.mark.parametrize(
    ("function", "cost"),
    [
        (returned_at_the_first_below, 0.375),
        (counted_with_equality, 0.5),
        (drawn_anew_after_a_hit, 2 / 16 + 4 / 32),
        (drawn_anew_every_time, 12 / 16),
    ],
)
def test_other_ways_to_write_it(function, cost):
    assert charged(function) == pytest.approx(cost)


def tells_the_number(x, rng):
    threshold = 30 + rng.laplace(scale=4.0)
    for q in x.sum(axis=0):
        noisy = q + rng.laplace(scale=16.0)
        if noisy >= threshold:
            return noisy
    return None


def asks_one_number_twice(x, rng):
    threshold = 30 + rng.laplace(scale=4.0)
    out = []
    for q in x.sum(axis=0):
        noisy = q + rng.laplace(scale=16.0)
        out.append((noisy >= threshold, noisy >= threshold + 5))
    return out


def tells_a_gap_below(x, rng):
    threshold = 30 + rng.laplace(scale=4.0)
    for q in x.sum(axis=0):
        noisy = q + rng.laplace(scale=16.0)
        if noisy >= threshold:
            return 0.0
        gap = noisy - threshold
    return gap


@pytest.mark.parametrize("function", [tells_the_number, asks_one_number_twice, tells_a_gap_below])
def test_whoever_sees_more_pays_for_every_number(function):
    """Twelve numbers of scale 16."""
    assert charged(function) == pytest.approx(0.75)


def tells_the_threshold(x, rng):
    threshold = 30 + rng.laplace(scale=4.0)
    return x[:, 0].sum() + rng.laplace(scale=16.0) >= threshold, threshold


def threshold_noise_hides_something_else(x, rng):
    noise = rng.laplace(scale=4.0)
    above = x[:, 0].sum() + rng.laplace(scale=16.0) >= 30 + noise
    return above, x[:, 1].sum() + noise


def no_noise_on_the_query(x, rng):
    return x[:, 0].sum() >= 30 + rng.laplace(scale=4.0)


@pytest.mark.parametrize(
    "function", [tells_the_threshold, threshold_noise_hides_something_else, no_noise_on_the_query]
)
def test_noise_of_the_threshold_hides_nothing_else(function):
    with pytest.raises(dpcheck.NotProvable):
        charged(function)


def test_with_gaussian_noise_every_answer_counts():
    """No theorem hides the answers below the threshold: 12 releases of sensitivity 1, sigma 16."""

    def normal(x, rng):
        threshold = 30 + rng.normal(scale=4.0)
        for i, q in enumerate(x.sum(axis=0)):
            if q + rng.normal(scale=16.0) >= threshold:
                return i
        return None

    assert charged(normal, delta=1e-6) == pytest.approx(gaussian(math.sqrt(12) / 16, 1e-6))


# Noisy maxima ---------------------------------------------------------------------------------------------


def place_of_the_largest(x, rng):
    best, place = -np.inf, None
    for i, q in enumerate(x.sum(axis=0)):
        noisy = q + rng.laplace(scale=4.0)
        if noisy > best:
            best, place = noisy, i
    return place


def place_of_the_smallest(x, rng):
    best, place = float("inf"), None
    for i, q in enumerate(x.sum(axis=0)):
        noisy = q + rng.laplace(scale=4.0)
        if noisy < best:
            best, place = noisy, i
    return place


def places_of_records_so_far(x, rng):
    best, places = -np.inf, []
    for i, q in enumerate(x.sum(axis=0)):
        noisy = q + rng.laplace(scale=4.0)
        if noisy > best:
            best = noisy
            places.append(i)
    return places


def the_largest_itself(x, rng):
    best = -np.inf
    for q in x.sum(axis=0):
        noisy = q + rng.laplace(scale=4.0)
        if noisy > best:
            best = noisy
    return best


@pytest.mark.parametrize(
    ("function", "cost"),
    [
        (place_of_the_largest, 0.5),
        (place_of_the_smallest, 0.5),
        (places_of_records_so_far, 3.0),
        (the_largest_itself, 3.0),
    ],
)
def test_only_the_place_of_the_largest_is_cheap(function, cost):
    assert charged(function) == pytest.approx(cost)


# Entries of one vector --------------


UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=50)


def noise_in_a_loop(x, rng):
    return [n + rng.laplace(scale=2.0) for n in np.histogram(x, bins=5, range=(0, 1))[0]]


def running_sums(x, rng):
    total, out = 0, []
    for n in np.histogram(x, bins=5, range=(0, 1))[0]:
        total = total + n
        out.append(total + rng.laplace(scale=2.0))
    return out


def differences(x, rng):
    n = np.histogram(x, bins=3, range=(0, 1))[0]
    return n[0] - n[1] + rng.laplace(scale=2.0), n[1] - n[2] + rng.laplace(scale=2.0)


def only_one_of_two(x, rng):
    n = np.histogram(x, bins=2, range=(0, 1))[0]
    if len(x) + rng.laplace(scale=10.0) > 5:
        return n[0] + rng.laplace(scale=2.0)
    return n[1] + rng.laplace(scale=2.0)


@pytest.mark.parametrize(
    ("function", "cost"),
    [(noise_in_a_loop, 0.5), (running_sums, 2.5), (differences, 1.0), (only_one_of_two, 0.6)],
)
def test_entries_of_one_vector(function, cost):
    """One record is in one bin: 1/2; in the first one it moves all five sums; n[1] is in two differences."""
    assert charged(function, "add-remove", UNIT) == pytest.approx(cost)


def test_normal_noise_on_entries_is_one_vector():
    def one_by_one(x, rng):
        return [n + rng.normal(scale=2.0) for n in np.histogram(x, bins=5, range=(0, 1))[0]]

    def at_once(x, rng):
        return np.histogram(x, bins=5, range=(0, 1))[0] + rng.normal(scale=2.0, size=5)

    mine = charged(one_by_one, "replace-one", UNIT, 1e-6)
    assert mine == pytest.approx(charged(at_once, "replace-one", UNIT, 1e-6), rel=1e-9)


# What the lemmas do not cover --------------------------------------------------------------------------


def noise_added_and_taken_away(x, rng):
    """Where one half of the answers becomes likelier with the noise, the other becomes rarer."""
    noise = rng.laplace(scale=4.0)
    for i, q in enumerate(x.sum(axis=0)):
        threshold = 30 + noise if i % 2 else 30 - noise
        if q + rng.laplace(scale=16.0) >= threshold:
            return i
    return None


def differences_of_exponentials(x, rng):
    a, b = rng.exponential(scale=4.0), rng.exponential(scale=4.0)
    for i, q in enumerate(x.sum(axis=0)):
        threshold = 30 + (a - b) if i % 2 else 30 + (b - a)
        if q + rng.laplace(scale=16.0) >= threshold:
            return i
    return None


def both_signs_by_the_inverse(x, rng):
    u = rng.random() - 0.5
    noise = np.sign(u) * np.log(1 - 2 * abs(u))
    for i, q in enumerate(x.sum(axis=0)):
        threshold = 30 + 4.0 * noise if i % 2 else 30 - 4.0 * noise
        if q + rng.laplace(scale=16.0) >= threshold:
            return i
    return None


def both_signs_in_a_vector(x, rng):
    noise = rng.laplace(scale=4.0, size=2)
    turned = noise * np.array([-1.0, 1.0])
    for i, q in enumerate(x.sum(axis=0)):
        threshold = 30 + noise[0] if i % 2 else 30 + turned[0]
        if q + rng.laplace(scale=16.0) >= threshold:
            return i
    return None


def exponential_below(x, rng):
    """A query plus such noise is never below the query: that answer may have no chance on one side."""
    threshold = 30 + rng.laplace(scale=4.0)
    for i, q in enumerate(x.sum(axis=0)):
        if q + rng.exponential(scale=16.0) < threshold:
            return i
    return None


def gumbel_below(x, rng):
    threshold = 30 + rng.laplace(scale=4.0)
    for i, q in enumerate(x.sum(axis=0)):
        if q + rng.gumbel(scale=16.0) < threshold:
            return i
    return None


def test_both_signs_cost_more_than_one():
    """No answer is a hit, half of them against the threshold's opposite: nearly 12/16, not 6/16."""

    def logarithm(query):
        density = laplace.pdf(GRID, scale=4.0)
        for sign in (1, -1):
            density = density * laplace.cdf(30 + sign * GRID - query, scale=16.0) ** 6
        return math.log(trapezoid(density, GRID))

    assert logarithm(55) - logarithm(56) > 0.7 > 0.375


@pytest.mark.parametrize(
    "function",
    [
        noise_added_and_taken_away,
        differences_of_exponentials,
        both_signs_by_the_inverse,
        both_signs_in_a_vector,
        exponential_below,
        gumbel_below,
    ],
)
def test_one_shift_must_suit_every_answer(function):
    with pytest.raises(dpcheck.NotProvable):
        charged(function)


GROWING = dpcheck.records(**{f"q{i}": dpcheck.number(0, 1) for i in range(12)})


def largest_of_rising_and_falling(x, rng):
    best, place = -np.inf, None
    for i, q in enumerate(x.sum(axis=0)):
        noisy = q + rng.laplace(scale=4.0) if i % 2 else rng.laplace(scale=4.0) - q
        if noisy > best:
            best, place = noisy, i
    return place


def first_of_rising_and_falling(x, rng):
    threshold = 30 + rng.laplace(scale=4.0)
    for i, q in enumerate(x.sum(axis=0)):
        noisy = q + rng.laplace(scale=8.0) if i % 2 else rng.laplace(scale=8.0) - q
        if noisy >= threshold:
            return i
    return None


@pytest.mark.parametrize(
    ("function", "cost"),
    [
        (place_of_the_largest, 1 / 4),
        (largest_of_rising_and_falling, 2 / 4),
        (first_of_rising_and_falling, 1 / 4 + 2 / 8),
    ],
)
def test_numbers_that_rise_together_are_cheaper(function, cost):
    assert charged(function, "add-remove", GROWING) == pytest.approx(cost)
