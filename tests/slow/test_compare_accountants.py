"""The differential test finds real bugs by itself, planted ones too, and accuses nobody else."""

import math

import mpmath
import pytest
from hypothesis import strategies as st

import dpcheck
from dpcheck.accounting.api import epsilon_lower
from dpcheck.core.events.event import leaves
from dpcheck.testing import compare_accountants
from dpcheck.testing.accountants import dp_accounting_pld, dp_accounting_rdp


def exact_gaussian(mu, delta):
    """Epsilon of a mu-GDP Gaussian at delta, 50 digits."""
    with mpmath.workdps(50):
        low, high = mpmath.mpf(0), mpmath.mpf(60)
        for _ in range(120):
            e = (low + high) / 2
            now = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
            low, high = (e, high) if now > delta else (low, e)
        return low


def test_both_slips_of_dp_accounting_are_found():
    """0.6.0: repeated randomized response is counted once; small deltas drown in FFT rounding."""
    found = compare_accountants(dp_accounting_pld, adjacency="replace-one", max_shrinks=60)
    by_kind = {type(next(iter(leaves(c.event)))).__name__: c for c in found.counterexamples}
    assert set(by_kind) == {"RandomizedResponse", "SampledGaussian"}, str(found)
    assert found.compared > 50

    response = by_kind["RandomizedResponse"]
    assert response.event.times == 2  # shrunk: two are enough, one is answered rightly
    once = dpcheck.epsilon(response.event.event, delta=response.delta, adjacency="replace-one")
    assert response.reported == pytest.approx(once.upper, rel=1e-3)

    gaussian = by_kind["SampledGaussian"]
    assert gaussian.delta <= 1e-8
    step, times = gaussian.event.event, gaussian.event.times
    assert gaussian.reported < gaussian.certified.lower * (1 - 1e-6)
    if (
        step.sampling_rate == 1.0
    ):  # then the truth is closed: one Gaussian of mu = 2 sqrt(T) / noise
        mu = 2 * mpmath.sqrt(times) / mpmath.mpf(step.noise_multiplier)
        assert gaussian.reported < exact_gaussian(mu, gaussian.delta)


def test_a_sound_accountant_is_not_accused():
    found = compare_accountants(dp_accounting_rdp, adjacency="add-remove", max_examples=20)
    assert not found.counterexamples, str(found)
    assert found.compared > 10
    assert "never below" in str(found)


def test_the_classic_gaussian_formula_used_beyond_epsilon_one_is_found():
    """sqrt(2 log(1.25/delta)) / noise holds for epsilon <= 1 only; people use it anywhere."""

    def classic(event, delta, adjacency):
        return math.sqrt(2 * math.log(1.25 / delta)) / event.noise_multiplier

    gaussians = st.builds(dpcheck.Gaussian, st.floats(0.02, 5.0))
    found = compare_accountants(
        classic, adjacency="add-remove", events=gaussians, deltas=st.just(1e-5)
    )
    assert len(found.counterexamples) == 1
    case = found.counterexamples[0]
    assert case.shortfall > 0
    assert case.reported > 1
    truth = exact_gaussian(1 / mpmath.mpf(case.event.noise_multiplier), case.delta)
    assert case.certified.lower <= truth * (1 + mpmath.mpf(10) ** -12)
    assert case.reported < truth
    assert '"kind": "Gaussian"' in str(case)


def test_what_it_cannot_compare_is_counted_or_refused():
    nothing = compare_accountants(
        lambda event, delta, adjacency: None, adjacency="add-remove", max_examples=10
    )
    assert (nothing.compared, nothing.counterexamples) == (0, ())
    assert nothing.unsupported >= 10
    with pytest.raises(dpcheck.DpcheckError, match="NaN"):
        compare_accountants(lambda *_: math.nan, adjacency="add-remove", max_examples=5)
    with pytest.raises(dpcheck.DpcheckError, match="adjacency"):
        compare_accountants(lambda *_: 1.0, adjacency="swap")


def test_rounding_in_the_last_digit_is_forgiven():
    def rounded(event, delta, adjacency):
        return dpcheck.epsilon(event, delta=delta, adjacency=adjacency).lower * (1 - 1e-9)

    gaussians = st.builds(dpcheck.Gaussian, st.floats(0.5, 5.0))
    arguments = {"adjacency": "add-remove", "events": gaussians, "max_examples": 10}
    assert not compare_accountants(rounded, **arguments).counterexamples
    assert compare_accountants(rounded, tolerance=0.0, **arguments).counterexamples


def test_the_lower_side_alone_is_the_lower_side():
    for event in (dpcheck.Gaussian(2.0) * 3, dpcheck.SampledGaussian(2.0, 0.1) * 10):
        both = dpcheck.epsilon(event, delta=1e-6, adjacency="add-remove")
        assert epsilon_lower(event, delta=1e-6, adjacency="add-remove") == both.lower
