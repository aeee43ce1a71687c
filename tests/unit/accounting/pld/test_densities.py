"""Pairs of densities against closed forms and quadrature."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from flint import acb, arb
from scipy.stats import norm

from dpcheck.accounting.losses import DensityLoss, GaussianLoss
from dpcheck.accounting.pld.distribution import pld_delta, pld_epsilon
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.side import Side


def _normal(mean: float):
    def density(z: acb) -> acb:
        scale = (2 * arb.pi()).sqrt()
        return (-(z - mean) * (z - mean) / 2).exp() / scale

    return density


def _logistic(mean: float):
    def density(z: acb) -> acb:
        e = (-(z - mean)).exp()
        return e / ((1 + e) * (1 + e))

    return density


KNOTS = tuple(np.linspace(-9.0, 10.0, 761).tolist())


def test_gaussian_densities_enclose_the_closed_form() -> None:
    loss = DensityLoss(_normal(1.0), _normal(0.0), KNOTS)
    for epsilon in (0.0, 0.5, 2.0):
        exact = float(norm.cdf(0.5 - epsilon) - np.exp(epsilon) * norm.cdf(-0.5 - epsilon))
        upper = pld_delta([(loss, 1)], [epsilon], Side.UPPER)[0]
        lower = pld_delta([(loss, 1)], [epsilon], Side.LOWER)[0]
        assert lower <= exact <= upper
        assert upper - lower <= 0.02 * exact
    composed = [(loss, 10)]
    exact = pld_epsilon([(GaussianLoss(1.0), 10)], 1e-6, Side.UPPER)
    assert pld_epsilon(composed, 1e-6, Side.LOWER) <= exact
    assert pld_epsilon(composed, 1e-6, Side.UPPER) == pytest.approx(exact, rel=5e-3)


def test_logistic_noise_by_quadrature() -> None:
    """A law nobody registered: logistic noise, sensitivity 0.5; its loss is bounded by 0.5."""
    knots = tuple(np.linspace(-45.0, 45.0, 1801).tolist())
    loss = DensityLoss(_logistic(0.5), _logistic(0.0), knots)

    def pdf(x, m):
        return mp.exp(-(x - m)) / (1 + mp.exp(-(x - m))) ** 2

    epsilon = 0.2
    # log p/q increases with x: find where it crosses epsilon.
    cross = mp.findroot(lambda x: mp.log(pdf(x, 0.5) / pdf(x, 0)) - epsilon, 0.5)
    exact = mp.quad(lambda x: pdf(x, 0.5) - mp.exp(epsilon) * pdf(x, 0), [cross, 5, 20, 60])
    upper = pld_delta([(loss, 1)], [epsilon], Side.UPPER)[0]
    lower = pld_delta([(loss, 1)], [epsilon], Side.LOWER)[0]
    assert lower <= float(exact) * (1 + 1e-12)
    assert upper >= float(exact) * (1 - 1e-12)
    assert upper - lower <= 0.01 * float(exact)
    assert loss.reversed().p is loss.q


def test_a_density_that_cannot_be_integrated_is_refused() -> None:
    def broken(z: acb) -> acb:
        return 1 / (z * z)

    with pytest.raises(CannotCertify, match="knots"):
        pld_delta([(DensityLoss(broken, _normal(0.0), (-1.0, 1.0)), 1)], [0.0], Side.UPPER)
