"""The closed search for Gaussian noise against the general one and against mpmath."""

from __future__ import annotations

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.accounting.renyi.conversion import Conversion, linear_rdp_epsilon, rdp_epsilon


@pytest.mark.parametrize("conversion", Conversion)
@settings(max_examples=60, deadline=None)
@given(rho=st.floats(1e-8, 1e4), log_delta=st.floats(-300.0, -0.01))
def test_no_looser_than_the_search_over_orders(conversion, rho, log_delta):
    delta = 10.0**log_delta
    found = linear_rdp_epsilon(rho, delta, conversion)
    if found is None:  # the optimal conversion has something to gain here
        assert conversion is Conversion.OPTIMAL
        return
    searched = rdp_epsilon(lambda orders: rho * orders, delta, conversion)
    slack = 1e-5 if conversion is Conversion.OPTIMAL else 1e-9
    assert found.value <= searched.value * (1 + slack) + 1e-11
    with mpmath.workdps(50):  # and what it claims is what its order proves
        a, target = mpmath.mpf(found.order), -mpmath.log(mpmath.mpf(delta))
        proved = rho * a + target / (a - 1)
        if conversion is not Conversion.CLASSIC:
            proved += mpmath.log1p(-1 / a) - mpmath.log(a) / (a - 1)
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
    found = linear_rdp_epsilon(rho, delta, Conversion.IMPROVED)
    assert found.value == pytest.approx(max(0.0, float(exact)), rel=1e-10, abs=1e-11)
    assert found.value >= exact
