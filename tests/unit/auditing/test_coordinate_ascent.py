"""Exact losses of outputs too rare to be sampled, against closed forms and quadrature."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import expon, laplace

import dpcheck
from dpcheck.auditing.auditors.likelihood import sample_losses
from dpcheck.auditing.learning.coordinate_ascent import ascend
from dpcheck.auditing.mechanism import Mechanism, Pair, as_mechanism
from dpcheck.core.errors import BadOutput
from dpcheck.execution.runner import Runner

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def suite(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    cases = {case.name: case for case in import_module("suite.cases").CASES}
    return cases, import_module("suite.densities").DENSITIES


def exact(suite, name):
    cases, densities = suite
    case = cases[name]
    mechanism = Mechanism(case.function, batched=True, log_density=densities[name])
    pairs = [Pair(a, b, f"pattern {i}") for i, (a, b) in enumerate(case.pairs)]
    return max(sample_losses(mechanism, pair, 1024, Runner(seed=1)).best for pair in pairs)


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("Laplace", 0.1),
        ("NoisyHist2", 10.0),
        ("NoisyMax3", 0.25),  # five exponential tails
        ("LaplaceParallel", 0.1),  # 20 times 0.005, an output of mass 2^-20
        ("PrefixSum", 1.0),
        ("OneTimeRAPPOR", 6 * math.log(0.525 / 0.475)),
        ("RAPPOR", 6 * math.log(0.5125 / 0.4875)),
        ("NoisyMax4", math.inf),
        ("SVT5", math.inf),
    ],
)
def test_losses_in_closed_form(suite, name, loss):
    assert exact(suite, name) == pytest.approx(loss, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "loss"),
    [("NoisyMax1", 0.0946), ("SVT1", 0.0885), ("SVT2", 0.0882), ("SVT4", 0.1725), ("SVT6", 0.42)],
)
def test_losses_the_standard_benchmark_prints(suite, name, loss):
    assert exact(suite, name) == pytest.approx(loss, abs=6e-5)


@pytest.mark.parametrize(("kind", "law"), [("NoisyMax1", laplace), ("NoisyMax2", expon)])
def test_argmax_probabilities_by_quadrature(suite, kind, law):
    data = np.array([2.0, 0.0, 1.0, 0.0, 1.0])
    for index in range(5):

        def integrand(x, index=index):
            others = [law.cdf(x, loc=v, scale=20) for v in np.delete(data, index)]
            return law.pdf(x, loc=data[index], scale=20) * np.prod(others)

        expected = quad(integrand, -600, 600, points=[0, 1, 2], epsabs=1e-12, limit=400)[0]
        found = suite[1][kind](data, np.array([[float(index)]]))[0]
        assert found == pytest.approx(math.log(expected), abs=1e-8)


@pytest.mark.parametrize(
    ("name", "rho", "query", "threshold"),
    [("SVT1", 20, 40, 0.5), ("SVT2", 20, 40, 1.0), ("SVT4", 40, 40 / 3, 1.0), ("SVT6", 20, 20, 1)],
)
def test_transcript_probabilities_by_quadrature(suite, name, rho, query, threshold):
    data = np.array([1.0, 2.0, 0.0, 1.0])
    answers = np.array([0.0, 0.0, 1.0, 1.0 if name == "SVT6" else -1.0])

    def integrand(r):
        total = laplace.pdf(r, scale=rho)
        for value, answer in zip(data, answers, strict=True):
            below = laplace.cdf(r + threshold, loc=value, scale=query)
            total *= {0.0: below, 1.0: 1 - below, -1.0: 1.0}[answer]
        return total

    points = [-1, -0.5, 0, 0.5, 1, 1.5]
    expected = quad(integrand, -800, 800, points=points, epsabs=1e-13, limit=500)[0]
    assert suite[1][name](data, answers[None, :])[0] == pytest.approx(math.log(expected), abs=1e-7)


@pytest.mark.parametrize("name", ["TruncatedGeometric", "SVT5", "NoisyMax2", "SVT2"])
def test_probabilities_are_how_often_outputs_occur(suite, name):
    cases, densities = suite
    rng = np.random.default_rng(3)
    for data in cases[name].pairs[-1]:
        runs = 50_000
        outputs = cases[name].function(data, runs, rng).reshape(runs, -1)
        rows, counts = np.unique(outputs, axis=0, return_counts=True)
        chances = np.exp(densities[name](data, rows))
        assert chances.sum() == pytest.approx(1.0, abs=1e-3)
        error = np.sqrt(chances * (1 - chances) / runs)
        assert (np.abs(counts / runs - chances) < 5 * error + 1e-5).all()


def test_only_a_density_that_says_so_is_asked_about_outputs_nobody_saw():
    asked = []

    def mechanism(data, size, rng):
        return data + rng.laplace(size=(size, 8))

    def density(data, outputs):
        asked.append(outputs)
        return -np.abs(outputs - data).sum(axis=1)

    mechanism.log_density = density
    pair = Pair(np.zeros(8), np.ones(8), "ones")
    plain = sample_losses(as_mechanism(dpcheck.batched(mechanism)), pair, 256, Runner(seed=0))
    assert plain.best < 8  # an output of mass 2^-8 on either side; seed 0 saw none
    assert all(len(outputs) == 256 for outputs in asked)
    density.anywhere = True
    climbed = sample_losses(as_mechanism(mechanism), pair, 256, Runner(seed=0))
    assert climbed.best == pytest.approx(8.0, abs=1e-9)


def test_impossible_outputs_are_no_gain_and_a_density_of_nan_is_an_error():
    def loss(outputs):
        return np.where(outputs[:, 0] > 2, -np.inf, outputs[:, 0])

    best, output = ascend(loss, np.linspace(0, 5, 60)[:, None], np.array([1.0]))
    assert 1.9 < best <= 2
    assert output[0] == best

    bad = Mechanism(
        lambda d, size, rng: rng.normal(size=size),
        True,
        log_density=lambda _, o: np.full(len(o), np.nan),
    )
    with pytest.raises(BadOutput, match="NaN"):
        sample_losses(bad, Pair(0.0, 1.0), 64, Runner())
