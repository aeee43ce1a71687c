"""Measurements of OpenDP inside of a function: charged for how far the value moves."""

from __future__ import annotations

import pytest

import dpcheck

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib")
UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=100)
FIVE = dpcheck.records(x=dpcheck.number(0, 5), rows=100)


def proved(function, data=UNIT, delta=0.0):
    return dpcheck.prove(function, data, "add-remove").epsilon(delta).upper


def total(x, rng):
    domain, metric = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return dp.m.make_laplace(domain, metric, scale=2.0)(float(x.sum()))


def counted(x, rng):
    noise = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0)
    return noise(int((x > 0.5).sum()))


def geometric(x, rng):
    noise = dp.m.make_geometric(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0)
    return noise(int((x > 0.5).sum()))


def normal(x, rng):
    domain, metric = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return dp.m.make_gaussian(domain, metric, scale=4.0)(float(x.sum()))


@pytest.mark.parametrize(
    ("function", "data", "epsilon"),
    [(total, UNIT, 0.5), (total, FIVE, 2.5), (counted, UNIT, 0.5), (geometric, UNIT, 0.5)],
)
def test_pure_measurements_cost_how_far_the_value_moves(function, data, epsilon):
    assert proved(function, data) == pytest.approx(epsilon, rel=1e-9)


def test_normal_noise_has_the_stated_scale():
    def ours(x, rng):
        return x.sum() + rng.normal(scale=4.0)

    assert proved(normal, delta=1e-5) == pytest.approx(proved(ours, delta=1e-5), rel=1e-9)


def test_whole_noise_of_fractions_is_refused():
    def fractions(x, rng):
        noise = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0)
        return noise(x.sum())

    with pytest.raises(dpcheck.NotProvable, match="whole"):
        proved(fractions)
