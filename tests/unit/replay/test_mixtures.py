"""Hand-written mixtures and subsampling: the loss by bins, against densities and integrals by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid

from dpcheck.replay import FindingKind, examine
from dpcheck.replay.draws import Family
from dpcheck.replay.following.values import Affine, Tabled
from dpcheck.replay.losses.finite import compare
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.recorder import Recorder, Selection

Q, SCALE = 0.4, 0.3
AMPLIFIED = math.log(Q * math.exp(1 / SCALE) + 1 - Q)  # of one person, sampled with chance Q


def by_branch(data, rng):
    total = sum(x for x in data if rng.random() < Q)
    return total + rng.laplace(0, SCALE)


def by_mask(data, rng):
    kept = np.asarray(data)[rng.random(len(data)) < Q]
    return kept.sum() + rng.laplace(0, SCALE)


def by_weights(data, rng):
    coins = rng.binomial(1, Q, len(data))
    return (np.asarray(data) * coins).sum() + rng.laplace(0, SCALE)


def by_rows(data, rng):
    table = pd.DataFrame({"x": data})
    return table[rng.random(len(table)) < Q]["x"].sum() + rng.laplace(0, SCALE)


def by_labels(data, rng):
    table = pd.DataFrame({"x": data})
    return table.loc[rng.uniform(size=len(table)) < Q, "x"].sum() + rng.laplace(0, SCALE)


@pytest.mark.parametrize("function", [by_branch, by_mask, by_weights, by_rows, by_labels])
@pytest.mark.parametrize("other", [[], [0.0]])
def test_a_sampled_person_costs_what_amplification_says(function, other):
    found = examine(function, ([1.0], other))
    assert found.kind is FindingKind.PROVED
    assert AMPLIFIED * 0.995 <= found.epsilon().lower <= AMPLIFIED


def test_many_weighted_coins_are_one_mixture():
    found = examine(by_weights, ([1.0] + [0.0] * 30, [0.0] * 31))
    assert AMPLIFIED * 0.995 <= found.epsilon().lower <= AMPLIFIED


def _density(x, components):
    return sum(w * np.exp(-np.abs(x - m) / b) / (2 * b) for w, m, b in components)


def _truth(first, second, epsilon=None):
    """The largest log ratio of densities, or the hockey stick at an epsilon; by brute force."""
    centers = [m for _, m, _ in (*first, *second)]
    widest = max(b for _, _, b in (*first, *second))
    x = np.concatenate(
        [np.linspace(min(centers) - 200 * widest, max(centers) + 200 * widest, 2_000_001), centers]
    )
    x.sort()
    p, q = _density(x, first), _density(x, second)
    if epsilon is None:
        return max(np.log(p / q).max(), np.log(q / p).max())
    return max(trapezoid(np.maximum(a - math.exp(epsilon) * b, 0), x) for a, b in ((p, q), (q, p)))


def _mixture(rng):
    weights = rng.dirichlet(np.ones(2))
    return [(float(w), float(rng.normal()), float(np.exp(rng.normal(0, 0.7)))) for w in weights]


@pytest.mark.parametrize("seed", range(12))
def test_random_mixtures_never_above_and_rarely_below_the_truth(seed):
    rng = np.random.default_rng(seed)
    first = _mixture(rng)
    # The same scales and weights, or the tails alone would decide.
    second = [(w, m + float(rng.normal(0, 0.7)), b) for w, m, b in first]

    def run(data, generator):
        (w, m, b), (_, n, c) = first if data[0] else second
        if generator.random() < w:
            return m + generator.laplace(0, b)
        return n + generator.laplace(0, c)

    found = examine(run, ([1], [0]))
    truth = _truth(first, second)
    assert 0.9 * truth <= found.epsilon().lower <= truth + 1e-9
    delta = 0.05
    seen = found.epsilon(delta).lower
    # At the reported epsilon the true delta must still be above the given one.
    assert seen == 0 or _truth(first, second, seen) >= delta * (1 - 1e-4)
    if _truth(first, second, 0.02) > delta * 1.1:
        assert seen > 0


def test_noise_that_decides_itself_is_not_cut():
    def folded(data, rng):
        z = rng.laplace(0, 1.0)
        return data[0] + np.where(z > 0, z, -z)

    def same(data, rng):
        z = rng.laplace(0, 1.0)
        return data[0] + z if z > 5 else z + data[0]  # a branch that changes nothing

    assert examine(folded, ([0.0], [1.0])).epsilon().lower in (0.0, math.inf)
    assert examine(same, ([0.0], [1.0])).epsilon().lower <= 1.0


def test_the_same_noise_in_two_outputs_counts_once():
    def twice(data, rng):
        noisy = np.where(rng.random() < 0.5, data[0], 9.0) + rng.laplace(0, 1.0)
        return noisy, noisy + 0.0

    assert 0.9 < examine(twice, ([0.0], [1.0])).epsilon().lower <= 1.0


def test_an_error_at_one_outcome_is_a_branch():
    def divided(data, rng):
        number = rng.binomial(1, 0.5)
        try:
            return (data[0] + rng.laplace(0, 1.0)) / number
        except ZeroDivisionError:
            return data[0]

    found = examine(divided, ([0.0], [1.0]))
    assert found.kind is FindingKind.HINT


def test_an_outcome_that_cannot_be_added_leaves_a_mark():
    recorder = Recorder(0)
    (atom,) = recorder.draw("test", Family.LAPLACE, ())
    (coin,) = recorder.draw("test", Family.FINITE, (), [(0.5, 0.5)])
    chosen = Tabled(recorder, (recorder.select(Selection(((), ()), coin)),), ("a", 1.0))
    assert not recorder.marks
    _ = Affine(recorder, 0.0, {atom: 1.0}) + chosen
    assert [mark.kind for mark in recorder.marks] == [MarkKind.BRANCH]


def test_a_rare_wide_noise_protects_little():
    def often_narrow(data, rng):
        scale = 0.25 if rng.random() < 0.5 else 4.0
        return sum(data) + rng.laplace(0, scale)

    narrow, wide = (0.5, 0.25), (0.5, 4.0)
    first = [(w, 0.0, b) for w, b in (narrow, wide)]
    second = [(w, 1.0, b) for w, b in (narrow, wide)]
    truth = _truth(first, second)
    assert truth > 2.3
    assert 0.97 * truth <= examine(often_narrow, ([0.0], [1.0])).epsilon().lower <= truth


def _stick(p, q, epsilon):
    return sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_enclosed_tables_contain_the_pair_that_is_composed(seed):
    """Against every table inside the enclosures that a few random corners give."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    p, q = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
    hidden = rng.uniform(0, 0.05, size=2) if seed % 2 else np.zeros(2)
    shrink = 1 - hidden
    width = 10.0 ** rng.uniform(-8, -1)

    def enclosed(masses, share):
        true = masses * share
        return {
            (f"k{i}",): (m * (1 - width), min(1.0, m * (1 + width))) for i, m in enumerate(true)
        }

    first, second = enclosed(p, shrink[0]), enclosed(q, shrink[1])
    part = compare(first, second, ("",), frozenset(), (float(hidden[0]), float(hidden[1])))
    if part is None or part.loss is None:
        return
    found = (part.loss.p, part.loss.q)
    # What is hidden may lie on any answer; here all of it on one, on both sides.
    for place, epsilon in itertools.product(range(size), (-1.0, -0.1, 0.0, 0.3, 1.0, 3.0)):
        a, b = p * shrink[0], q * shrink[1]
        a[place] += hidden[0]
        b[place] += hidden[1]
        for one, other in ((found, (a, b)), (found[::-1], (b, a))):
            assert _stick(*one, epsilon) <= _stick(*other, epsilon) + 1e-12
    assert not hidden.any() or part.forward <= math.log((p / q).max() + 1e3)
