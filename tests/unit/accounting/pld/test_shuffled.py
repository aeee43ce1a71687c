"""Shuffled reports: both sides against laws that are written down in full, and any number of people."""

from __future__ import annotations

import math
import tracemalloc

import mpmath
import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.api import epsilon_lower
from dpcheck.numerics.binomial import BEYOND, likely_blocks


def _epsilon(p, q, delta):
    """The largest log((P(S) - delta)/Q(S)) over the sets of largest ratio, both directions."""
    most = mpmath.mpf(0)
    for a, b in ((p, q), (q, p)):
        order = sorted(range(len(a)), key=lambda i: -a[i] / b[i] if b[i] else -mpmath.inf)
        taken, other = mpmath.mpf(0), mpmath.mpf(0)
        for i in order:
            taken, other = taken + a[i], other + b[i]
            if taken > delta:
                most = max(most, mpmath.log((taken - delta) / other))
    return most


def _binomial(trials, rate):
    return [
        mpmath.binomial(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(trials + 1)
    ]


@pytest.mark.parametrize("delta", [1e-5, 1e-25, 1e-40])
def test_no_lower_bound_is_above_what_randomized_response_spends(delta):
    # The ends of a window were taken for the ends of the law, where the ratio is e^epsilon: 1.0 at 1e-40.
    people = 1000
    with mpmath.workdps(80):
        one = 1 / (1 + mpmath.e)
        others = _binomial(people - 1, one)
        up, down = [mpmath.mpf(0), *others], [*others, mpmath.mpf(0)]
        p = [(1 - one) * a + one * b for a, b in zip(up, down, strict=True)]
        q = [one * a + (1 - one) * b for a, b in zip(up, down, strict=True)]
        truth = _epsilon(p, q, mpmath.mpf(delta))
    found = epsilon_lower(dpcheck.ShuffledReports(1.0, people), delta=delta)
    assert 0.85 * truth < found <= truth


@pytest.mark.parametrize(("epsilon", "people"), [(0.5, 20), (2.0, 60), (6.0, 30)])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_upper_bounds_are_those_of_the_clones(epsilon, people, delta):
    with mpmath.workdps(50):
        e = mpmath.exp(-mpmath.mpf(epsilon))
        head, tail = 1 / (1 + e), e / (1 + e)
        p, q = [], []
        for clones, weight in enumerate(_binomial(people - 1, e)):
            half = _binomial(clones, mpmath.mpf(1) / 2)
            up, down = [mpmath.mpf(0), *half], [*half, mpmath.mpf(0)]
            p += [weight * (head * a + tail * b) for a, b in zip(up, down, strict=True)]
            q += [weight * (tail * a + head * b) for a, b in zip(up, down, strict=True)]
        truth = _epsilon(p, q, mpmath.mpf(delta))
    found = dpcheck.epsilon(dpcheck.ShuffledReports(epsilon, people), delta=delta).upper
    assert truth <= found <= truth * (1 + 1e-4) + 1e-8


@pytest.mark.parametrize("people", [10, 10**4, 10**15])
def test_reports_tell_no_more_than_their_own_epsilon_however_rare(people):
    # What lies beyond the windows counted as infinite, and with it every epsilon at tiny deltas.
    event = dpcheck.ShuffledReports(1.0, people)
    assert dpcheck.epsilon(event, delta=0.0).upper == pytest.approx(1.0, abs=1e-9)
    assert dpcheck.epsilon(event * 3, delta=1e-100).upper <= 3 + 1e-9
    assert dpcheck.rdp(event, 8).upper <= 1 + 1e-9


def test_more_people_cost_less_and_no_more_memory():
    tracemalloc.start()
    found = [
        dpcheck.epsilon(dpcheck.ShuffledReports(8.0, people), delta=1e-8).upper
        for people in (10**4, 10**6, 10**9, 10**12, 10**15)
    ]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == sorted(found, reverse=True)
    assert found[-1] < 1e-5
    assert peak < 3e8


@pytest.mark.parametrize(
    ("trials", "rate"), [(10, 0.5), (5000, 0.5), (10**7, 0.5), (10**7, 0.03), (10**15, 0.5)]
)
def test_blocks_of_a_binomial_law_are_above_it_and_close(trials, rate):
    blocks = likely_blocks(trials, rate)
    assert len(blocks.first) <= 4000
    sd = math.sqrt(trials * rate * (1 - rate))
    for i in np.linspace(0, len(blocks.first) - 1, 9).astype(int).tolist():
        first, last = int(blocks.first[i]), int(blocks.last[i])
        if abs((first + last) / 2 - trials * rate) > 6 * sd:
            continue
        with mpmath.workdps(60):
            if last - first > 4000:
                # The normal law over the block with Edgeworth's kurtosis term, fair coins only.
                def density(x):
                    z = (x - mpmath.mpf(trials) / 2) / (mpmath.sqrt(trials) / 2)
                    tilt = 1 - (z**4 - 6 * z**2 + 3) / (12 * mpmath.mpf(trials))
                    return mpmath.npdf(z) * tilt / (mpmath.sqrt(trials) / 2)

                truth = mpmath.quad(density, [first - mpmath.mpf(1) / 2, last + mpmath.mpf(1) / 2])
            else:
                term = mpmath.exp(
                    mpmath.loggamma(trials + 1)
                    - mpmath.loggamma(first + 1)
                    - mpmath.loggamma(trials - first + 1)
                    + first * mpmath.log(rate)
                    + (trials - first) * mpmath.log1p(-mpmath.mpf(rate))
                )
                truth, odds = mpmath.mpf(0), mpmath.mpf(rate) / (1 - mpmath.mpf(rate))
                for k in range(first, last + 1):
                    truth += term
                    term *= odds * (trials - k) / (k + 1)
        assert truth <= blocks.masses[i] <= float(truth) * (1 + 2e-5)
    outside = 1 - float(np.sum(blocks.masses))
    assert outside <= BEYOND + 1e-12
