"""What DPDA says about itself without jax: plans, events, samples, and the error that names jax."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpcheck import epsilon
from dpcheck.core.budget import Budget
from dpcheck.core.errors import CannotCalibrate, InvalidParameter, MissingExtra
from dpcheck.core.events.training import SampledGaussian
from dpcheck.mechanisms import DPDA, GDPDA
from dpcheck.mechanisms.adaptation import lazy_jax as _jax
from dpcheck.mechanisms.adaptation.batch_noise import batch_noise_pair
from dpcheck.mechanisms.adaptation.plan import noisy_gradient, nu_schedule
from dpcheck.mechanisms.adaptation.sampling import joined, poisson_batches

PAPER = {"source": 2817, "target": 539}


def test_importing_needs_no_jax():
    code = (
        "import sys, dpcheck.mechanisms as m, dpcheck.session.registry as r;"
        "m.DPDA(); m.GDPDA(); [r.get(n) for n in r.names()]; assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_missing_jax_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    _jax.require.cache_clear()
    with pytest.raises(MissingExtra, match=r"dpcheck\[deep\]"):
        DPDA(epochs=1).fit(np.zeros((40, 2)), [0, 1] * 20, np.zeros((40, 2)))
    _jax.require.cache_clear()


def test_printed_epochs_are_the_papers():
    plan = DPDA(4.0, 1e-5, variant="blocks-apart").training_plan(PAPER)
    assert plan.steps == 5946  # 353 epochs of 539/32
    assert plan.claimed["target"] == SampledGaussian(6.0, 32 / 539)
    assert plan.true["target"].noise_multiplier == pytest.approx(6 / np.sqrt(2))


@pytest.mark.parametrize("kind", [DPDA, GDPDA])
def test_corrected_plans_are_certified_within_their_budgets(kind):
    model = kind(4.0, 1e-5)
    for part in model.parts:
        budget = model.budget(part)
        bound = epsilon(
            model.release_event(part, PAPER), delta=budget.delta, adjacency="add-remove"
        )
        assert bound.upper <= budget.epsilon
    if kind is GDPDA:
        assert model.budget("source") == Budget(4.0, 1e-5)
        assert model.budget("target") == Budget(2.0, 5e-6)


def test_printed_g_dpda_accounts_each_phase_on_its_own():
    model = GDPDA(8.0, 2e-5, variant="blocks-apart")
    assert model.phases("source") == 2
    plan = model.training_plan({"source": 539, "target": 539})
    assert plan.steps == 5946  # (4, 1e-5) for every phase and for the target


def test_variants_differ_where_they_should():
    rules = {
        v: noisy_gradient(v, 6.0, 3.0, 32)
        for v in ("corrected", "blocks-apart", "printed-algorithm", "noise-in-sum")
    }
    noise = {v: getattr(r.true_step(539), "noise_multiplier", None) for v, r in rules.items()}
    assert noise["corrected"] == noise["printed-algorithm"] == 6.0
    assert noise["blocks-apart"] == pytest.approx(4.242641, abs=1e-6)
    assert noise["noise-in-sum"] is None


def _subset_mixture(gradients, size, spread):
    """The density of a sum of a uniform subset plus noise, by enumeration."""
    sums = [sum(chosen) for chosen in combinations(gradients, size)]
    return lambda x: np.mean([norm.pdf(x, s, spread) for s in sums], axis=0)


@pytest.mark.parametrize("others", [(-1.0,) * 4, (1.0, -1.0, 0.3, 0.0), (0.0,) * 4])
def test_noise_per_example_is_bounded_by_its_pair(others):
    """Brute force over all batches of five rows, batch size told, against the finite pair."""
    rate, noise, grid = 0.3, 2.0, np.linspace(-40, 40, 20001)
    n, step = len(others), 80 / 20000
    pair = batch_noise_pair(n, rate, noise, 2.0)
    for eps in (0.0, 0.1, 0.3, 0.6):
        for forward in (True, False):
            total = 0.0
            for size in range(n + 2):
                p_size, q_size = binom.pmf(size, n + 1, rate), binom.pmf(size, n, rate)
                if size == 0:
                    a, b = (p_size, q_size) if forward else (q_size, p_size)
                    total += max(0.0, a - np.exp(eps) * b)
                    continue
                spread = noise * np.sqrt(size)
                p = p_size * _subset_mixture((1.0, *others), size, spread)(grid)
                q = np.zeros_like(p)
                if size <= n:
                    q = q_size * _subset_mixture(others, size, spread)(grid)
                a, b = (p, q) if forward else (q, p)
                total += np.maximum(a - np.exp(eps) * b, 0).sum() * step
            told = [max(0.0, x - np.exp(eps) * y) for x, y in zip(pair.p, pair.q, strict=True)]
            if not forward:
                told = [max(0.0, y - np.exp(eps) * x) for x, y in zip(pair.p, pair.q, strict=True)]
            assert total <= sum(told) + 1e-9
            if others == (-1.0,) * 4:  # rows that all oppose the one in question attain the bound
                assert total == pytest.approx(sum(told), rel=2e-3)


def test_noise_in_sum_is_within_the_papers_claim():
    rule = noisy_gradient("noise-in-sum", 6.0, 3.0, 32)
    bound = epsilon(rule.true_step(539) * 5946, delta=1e-5, adjacency="add-remove")
    assert 3.9 < bound.upper <= 4  # 353 epochs, claimed (4, 1e-5)
    assert batch_noise_pair(9, 1.0, 6.0, 2.0).p == (1.0, 0.0)  # everybody's batch tells its size


def test_poisson_batches_are_poisson():
    rng = np.random.default_rng(0)
    table = poisson_batches(50, 0.2, 4000, rng)
    used = table < 50
    counts = used.sum(axis=1)
    assert counts.mean() == pytest.approx(10, abs=5 * np.sqrt(8 / 4000))
    assert counts.var() == pytest.approx(8, rel=0.15)
    for row in (0, 17, 49):
        hits = int((table == row).sum())
        assert binom.cdf(hits, 4000, 0.2) > 1e-5
        assert binom.sf(hits, 4000, 0.2) > 1e-5
    # Pairs are independent: two rows are together in about rate^2 of the batches.
    both = ((table == 3).any(axis=1) & (table == 4).any(axis=1)).mean()
    assert both == pytest.approx(0.04, abs=5 * np.sqrt(0.04 / 4000))
    assert all(len(set(r[r < 50])) == (r < 50).sum() for r in table[:200])


def test_full_batches_and_growth():
    rng = np.random.default_rng(0)
    assert (np.sort(poisson_batches(5, 1.0, 3, rng), axis=1)[:, :5] == np.arange(5)).all()
    wide = joined(poisson_batches(9, 1.0, 2, rng), poisson_batches(40, 1.0, 2, rng), rows=(9, 40))
    assert wide.shape[:2] == (2, 2)
    assert ((wide[:, 0] < 9).sum(axis=1) == 9).all()


def test_nu_rises_from_zero_to_one():
    values = [nu_schedule(p) for p in np.linspace(0, 1, 11)]
    assert values[0] == 0
    assert values[-1] == pytest.approx(1, abs=1e-4)
    assert (np.diff(values) > 0).all()
    with pytest.raises(InvalidParameter):
        nu_schedule(1.2)


def test_bad_parameters_are_named():
    for wrong, words in (
        ({"batch": 600}, "batch / rows"),
        ({"clip": 0.0}, "clip"),
        ({"noise": 0.0}, "noise"),
        ({"variant": "x"}, "variant"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            DPDA(**wrong).training_plan(PAPER)
    with pytest.raises(CannotCalibrate, match="less than one epoch"):
        DPDA(0.05, 1e-5).training_plan(PAPER)
    with pytest.raises(InvalidParameter, match="nu must be"):
        DPDA(nu=-0.1).nus(0, 1, 1)
