"""The fast path against its proof in ball arithmetic, on random sampled mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.api import verify_epsilon
from dpcheck.accounting.losses import (
    DiscreteGaussianLoss,
    FiniteLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    Loss,
    SampledLaplaceLoss,
)
from dpcheck.accounting.pld.distribution import compose, pld_epsilon
from dpcheck.accounting.pld.verify.composition import check_composition
from dpcheck.accounting.pld.verify.curves import curve_of
from dpcheck.accounting.pld.verify.lattice import check_lattice
from dpcheck.accounting.pld.verify.proof import pld_verify
from dpcheck.core.errors import CannotCertify, DpcheckError
from dpcheck.numerics.balls import precision
from dpcheck.numerics.lattice import Lattice, LatticeLoss
from dpcheck.numerics.side import Side


@pytest.mark.parametrize("seed", range(12))
def test_random_sampled_mechanisms_are_verified(seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    steps, rate = int(rng.integers(1, 12)), float(10 ** rng.uniform(-2.5, -0.2))
    backwards = bool(rng.integers(2))
    delta = float(10 ** rng.uniform(-20, -3))
    if seed % 3:
        loss = GaussianMixtureLoss((float(rng.uniform(0.3, 2.0)),), (rate,), backwards)
    else:
        loss = SampledLaplaceLoss(float(rng.uniform(0.2, 2.0)), rate, backwards)
    bound = pld_verify([(loss, steps)], delta)
    assert bound.upper == pytest.approx(max(pld_epsilon([(loss, steps)], delta, Side.UPPER), 0.0))
    assert bound.gap <= 1e-3 * bound.upper + 1e-6


def test_two_kinds_together() -> None:
    parts = [(GaussianMixtureLoss((1.0,), (0.2,)), 3), (LaplaceLoss(0.3), 4)]
    bound = pld_verify(parts, 1e-6)
    assert 0 < bound.lower <= bound.upper < 1.002 * bound.lower


def _one_of_each(rng):
    """An event of every kind that is verified, with random parameters and its adjacency."""
    noise, rate = float(rng.uniform(0.7, 3.0)), float(10 ** rng.uniform(-2, -0.3))
    steps = int(rng.integers(1, 30))
    table = rng.dirichlet([1.0] * 4, size=2).round(3)
    table[:, 0] += 1 - table.sum(axis=1)
    finite = dpcheck.FinitePair(tuple(map(float, table[0])), tuple(map(float, table[1])))
    return {
        "discrete Laplace": (dpcheck.DiscreteLaplace(noise) * steps, "add-remove"),
        "wide discrete Laplace": (dpcheck.DiscreteLaplace(noise, 3) * steps, "add-remove"),
        "discrete Gaussian": (dpcheck.DiscreteGaussian(noise) * steps, "add-remove"),
        "responses": (dpcheck.RandomizedResponse(rate, 3) * steps, "replace-one"),
        "pure": (dpcheck.PureDP(rate) * steps, "add-remove"),
        "guarantees that may fail": (dpcheck.ApproxDP(rate, 1e-7) * steps, "add-remove"),
        "tables": (finite * steps, "add-remove"),
        "several shifts": (
            dpcheck.MixtureGaussian(noise, (1.0, 0.5), (rate / 2, rate / 3)) * steps,
            "add-remove",
        ),
        "replaced samples": (dpcheck.SampledGaussian(noise, rate) * steps, "replace-one"),
        "batches of fixed size": (dpcheck.FixedBatchGaussian(noise, 100, 10) * 5, "replace-one"),
        "truncated batches": (
            dpcheck.TruncatedPoissonGaussian(noise, 0.01, 1000, 25) * steps,
            "replace-one",
        ),
        "a choice": ((dpcheck.Gaussian(9.0) | dpcheck.Laplace(noise * 4)) * 40, "add-remove"),
        "several kinds": (
            dpcheck.SampledGaussian(noise, rate) * steps
            + dpcheck.DiscreteLaplace(noise)
            + dpcheck.PureDP(0.1),
            "add-remove",
        ),
    }


@pytest.mark.parametrize("kind", list(_one_of_each(np.random.default_rng(0))))
@pytest.mark.parametrize("seed", range(2))
def test_random_events_of_every_kind_are_verified(kind: str, seed: int) -> None:
    """And the fast answer is not better than what is proved twice, but for the other accountants."""
    rng = np.random.default_rng([11, seed])
    event, adjacency = _one_of_each(rng)[kind]
    delta = float(10 ** rng.uniform(-9, -3))
    again = verify_epsilon(event, delta=delta, adjacency=adjacency)
    fast = dpcheck.epsilon(event, delta=delta, adjacency=adjacency)
    assert fast.lower <= again.upper
    assert again.lower <= fast.upper
    assert again.upper <= 1.001 * fast.upper + 1e-6
    assert "verified" in again.method


WRONG = [
    GaussianMixtureLoss((1.0,), (0.2,)),
    GaussianMixtureLoss((1.0, 0.4), (0.2, 0.3)),
    SampledLaplaceLoss(1.0, 0.2),
    DiscreteGaussianLoss(1.3, 1),
    FiniteLoss((0.5, 0.3, 0.2), (0.2, 0.4, 0.4)),
]


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("loss", WRONG)
def test_a_wrong_lattice_measure_is_caught(loss: Loss, side: Side) -> None:
    """Too much or too little mass; and the right mass moved by half a step."""
    composed = compose([(loss, 4)], side)
    (found, _), *_ = composed.layers(composed.solve(1e-5))[0]
    factor = 0.99 if side is Side.UPPER else 1.01
    lattice, first, masses = found.lattice, found.first, found.masses
    step = lattice.step / 2 * (-1 if side is Side.UPPER else 1)
    moved = Lattice(lattice.step, lattice.offset + step)
    with precision(160):
        curve = curve_of(loss, side)
        check_lattice(curve, found, side)
        for wrong in (
            LatticeLoss(lattice, first, masses * factor, found.infinite, found.slack),
            LatticeLoss(moved, first, masses, found.infinite, found.slack),
        ):
            with pytest.raises(DpcheckError, match="ball arithmetic contradicts"):
                check_lattice(curve, wrong, side)


@pytest.mark.parametrize("side", list(Side))
def test_a_wrong_epsilon_is_caught(side: Side) -> None:
    composed = compose([(GaussianMixtureLoss((1.0,), (0.2,)), 4)], side)
    solution = composed.solve(1e-5)
    value, losses, window = solution.value, *composed.layers(solution)
    wrong = value * (0.999 if side is Side.UPPER else 1.001)
    with precision(160):
        check_composition(losses, window, value, 1e-5, side)
        with pytest.raises(DpcheckError, match="ball arithmetic contradicts"):
            check_composition(losses, window, wrong, 1e-5, side)


def test_limits_are_said() -> None:
    with pytest.raises(CannotCertify, match="AllocationLoss"):
        verify_epsilon(dpcheck.RandomAllocationGaussian(1.0, 10), delta=1e-5)
    with pytest.raises(CannotCertify, match="points"):
        pld_verify([(GaussianMixtureLoss((1.0,), (1e-6,)), 10**8)], 1e-15)
    with pytest.raises(CannotCertify, match="at delta 0"):
        verify_epsilon(dpcheck.PureDP(0.1), delta=0.0)
