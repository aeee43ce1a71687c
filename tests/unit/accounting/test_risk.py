"""Attack risk against closed forms, against an attack that reaches it, and against riskcal."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import norm

import dpcheck
from dpcheck.accounting import risk
from dpcheck.cli.main import main


@pytest.mark.parametrize("noise", [0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("fpr", [1e-4, 0.01, 0.3])
def test_gaussian_rates_are_the_closed_form(noise, fpr):
    event, mu = dpcheck.Gaussian(noise), 1 / noise
    tpr = norm.cdf(norm.ppf(fpr) + mu)  # [Dong2022, Eq. 6]
    found = risk.true_positives(event, fpr)
    assert found.lower <= tpr * (1 + 1e-12)
    assert found.upper >= tpr * (1 - 1e-12)
    assert found.upper == pytest.approx(tpr, rel=1e-9)
    gain = risk.advantage(event)
    assert gain.upper == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=1e-12)
    assert risk.attack_accuracy(event).upper == pytest.approx(norm.cdf(mu / 2), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_pure_dp_is_randomized_response(epsilon):
    event = dpcheck.PureDP(epsilon)
    gain = risk.advantage(event)
    assert gain.upper == pytest.approx(np.tanh(epsilon / 2), rel=1e-6)
    assert gain.upper >= np.tanh(epsilon / 2)
    for guess in (0.001, 0.2, 0.7):
        exact = min(np.exp(epsilon) * guess, 1 - np.exp(-epsilon) * (1 - guess))
        found = risk.reconstruction(event, guess)
        assert found.upper >= exact * (1 - 1e-12)
        assert found.upper == pytest.approx(exact, rel=1e-3)


def test_an_attack_reaches_the_bound_and_none_passes_it():
    """The likelihood-ratio test on real draws: within noise of the bound, not above it."""
    noise, fpr, runs = 2.0, 0.05, 400_000
    rng = np.random.default_rng(3)
    threshold = noise * norm.ppf(1 - fpr)
    hits = np.mean(1 + noise * rng.normal(size=runs) > threshold)
    bound = risk.true_positives(dpcheck.Gaussian(noise), fpr).upper
    assert abs(hits - bound) < 5 * np.sqrt(bound / runs)


def test_reconstruction_of_one_of_k_by_the_best_attacker():
    """k-ary randomized response with a uniform secret: the exact success is known."""
    categories, noise = 10, 0.5
    success = (1 - noise) + noise / categories
    event = dpcheck.RandomizedResponse(noise, categories)
    bound = risk.reconstruction(event, 1 / categories, adjacency="replace-one")
    assert bound.upper >= success * (1 - 1e-12)


def test_more_steps_are_more_risk_and_the_curve_ends_at_one():
    one = dpcheck.SampledGaussian(1.0, 0.01)
    rates = [risk.true_positives(one * n, 0.01).upper for n in (1, 100, 1000)]
    assert rates == sorted(rates)
    assert rates[0] > 0.01
    assert risk.true_positives(dpcheck.PureDP(50.0), 0.5).upper == pytest.approx(1.0)
    assert risk.advantage(dpcheck.NotPrivate("in clear")).upper == 1.0
    with pytest.raises(dpcheck.DpcheckError, match="fpr"):
        risk.true_positives(one, 1.5)


@pytest.mark.parametrize(("noise", "rate", "steps"), [(1.0, 0.01, 1000), (6.0, 0.05, 300)])
def test_riskcal_agrees_from_outside(noise, rate, steps):
    """riskcal reads the same rates off dp-accounting's PLD; ours are never looser by more than a hair."""
    from dp_accounting.pld import privacy_loss_distribution
    from riskcal.analysis import get_advantage_from_pld, get_beta_from_pld

    pld = privacy_loss_distribution.from_gaussian_mechanism(
        noise, sampling_prob=rate, value_discretization_interval=1e-3
    ).self_compose(steps)
    event = dpcheck.SampledGaussian(noise, rate) * steps
    gain = risk.advantage(event)
    theirs = get_advantage_from_pld(pld)
    assert gain.lower <= theirs * (1 + 1e-6)
    assert gain.upper == pytest.approx(theirs, rel=2e-3)
    for fpr in (0.001, 0.01, 0.1):
        tpr = 1 - float(get_beta_from_pld(pld, alpha=fpr))
        found = risk.true_positives(event, fpr)
        assert found.lower <= tpr * (1 + 1e-6)
        assert found.upper == pytest.approx(tpr, rel=5e-3)


def test_account_prints_the_risk():
    arguments = ["account", "gaussian", "--noise", "1", "--delta", "1e-5", "--risk"]
    shown = CliRunner().invoke(main, arguments)
    assert shown.exit_code == 0, shown.output
    assert "membership advantage" in shown.output
    assert "0.382925" in shown.output
    data = json.loads(CliRunner().invoke(main, [*arguments, "--format", "json"]).stdout)
    assert data["risk"]["true_positives"]["0.01"]["upper"] == pytest.approx(
        norm.cdf(norm.ppf(0.01) + 1), rel=1e-9
    )
