"""The closed search for Gaussian noise against the general one and against mpmath."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.accounting.accountants.gaussian import gdp_epsilon
from dpcheck.accounting.renyi.conversion import Conversion, linear_rdp_epsilon, rdp_epsilon


@pytest.mark.parametrize("conversion", Conversion)
@settings(max_examples=60, deadline=None)
@given(
    rho=st.floats(1e-8, 1e4),
    offset=st.one_of(st.just(0.0), st.floats(1e-8, 10.0)),
    log_delta=st.floats(-300.0, -0.01),
)
def test_no_looser_than_the_search_over_orders(conversion, rho, offset, log_delta):
    delta = 10.0**log_delta
    found = linear_rdp_epsilon(rho, offset, delta, conversion)
    searched = rdp_epsilon(lambda orders: offset + rho * orders, delta, conversion)
    slack = 1e-5 if conversion is Conversion.OPTIMAL else 1e-9
    assert found.value <= searched.value * (1 + slack) + 1e-11
    assert found.value == pytest.approx(searched.value, rel=1e-5, abs=1e-10)
    # No less than a pair with these divergences costs, here a Gaussian.
    assert found.value >= gdp_epsilon(math.sqrt(2 * rho), delta)[0] * (1 - 1e-12)
    with mpmath.workdps(50):  # and what it claims is what its order proves
        a, target = mpmath.mpf(found.order), -mpmath.log(mpmath.mpf(delta))
        proved = offset + rho * a + target / (a - 1)
        if conversion is not Conversion.CLASSIC:
            proved += mpmath.log1p(-1 / a) - mpmath.log(a) / (a - 1)
    if conversion is Conversion.OPTIMAL:
        assert found.value <= max(0.0, proved) * (1 + 1e-10) + 1e-11
    else:
        assert found.value >= proved
        assert found.value == pytest.approx(max(0.0, float(proved)), rel=1e-10, abs=1e-11)


@pytest.mark.parametrize("rho", [1e-6, 0.2, 3.0, 500.0])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-40])
def test_improved_is_the_minimum_over_orders(rho, delta):
    with mpmath.workdps(50):
        target = mpmath.log(1 / mpmath.mpf(delta))

        def cost(a):
            return rho * a + mpmath.log1p(-1 / a) + (target - mpmath.log(a)) / (a - 1)

        order = 1 + mpmath.findroot(
            lambda x: rho * x**2 - target + mpmath.log1p(x),
            (mpmath.mpf(10) ** -20, mpmath.sqrt(target / rho)),
            solver="anderson",
        )
        exact = cost(order)
    found = linear_rdp_epsilon(rho, 0.0, delta, Conversion.IMPROVED)
    assert found.value == pytest.approx(max(0.0, float(exact)), rel=1e-10, abs=1e-11)
    assert found.value >= exact
