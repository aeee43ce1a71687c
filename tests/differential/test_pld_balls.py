"""The fast path against its proof in ball arithmetic, on random sampled mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.accounting.losses import (
    GaussianMixtureLoss,
    LaplaceLoss,
    ResponseLoss,
    SampledLaplaceLoss,
)
from dpcheck.accounting.pld import verify
from dpcheck.accounting.pld.distribution import compose, pld_epsilon
from dpcheck.core.errors import CannotCertify, DpcheckError
from dpcheck.numerics.balls import precision
from dpcheck.numerics.lattice import LatticeLoss
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
    bound = verify.pld_verify([(loss, steps)], delta)
    assert bound.upper == pytest.approx(max(pld_epsilon([(loss, steps)], delta, Side.UPPER), 0.0))
    assert bound.gap <= 1e-3 * bound.upper + 1e-6


def test_two_kinds_together() -> None:
    parts = [(GaussianMixtureLoss((1.0,), (0.2,)), 3), (LaplaceLoss(0.3), 4)]
    bound = verify.pld_verify(parts, 1e-6)
    assert 0 < bound.lower <= bound.upper < 1.002 * bound.lower


@pytest.mark.parametrize("side", list(Side))
def test_a_wrong_lattice_measure_is_caught(side: Side) -> None:
    composed = compose([(GaussianMixtureLoss((1.0,), (0.2,)), 4)], side)
    (loss, _), *_ = composed.layers(composed.solve(1e-5))[0]
    factor = 0.99 if side is Side.UPPER else 1.01
    wrong = LatticeLoss(loss.lattice, loss.first, loss.masses * factor, loss.infinite, loss.slack)
    with precision(160):
        verify._check_lattice(composed.parts[0][0], loss, side)
        with pytest.raises(DpcheckError, match="ball arithmetic contradicts"):
            verify._check_lattice(composed.parts[0][0], wrong, side)


@pytest.mark.parametrize("side", list(Side))
def test_a_wrong_epsilon_is_caught(side: Side) -> None:
    composed = compose([(GaussianMixtureLoss((1.0,), (0.2,)), 4)], side)
    solution = composed.solve(1e-5)
    value, losses, window = solution.value, *composed.layers(solution)
    wrong = value * (0.999 if side is Side.UPPER else 1.001)
    with precision(160):
        verify._check_composition(losses, window, value, 1e-5, side)
        with pytest.raises(DpcheckError, match="ball arithmetic contradicts"):
            verify._check_composition(losses, window, wrong, 1e-5, side)


def test_limits_are_said() -> None:
    with pytest.raises(CannotCertify, match="without verification"):
        verify.pld_verify([(ResponseLoss(0.1), 10)], 1e-5)
    with pytest.raises(CannotCertify, match="points"):
        verify.pld_verify([(GaussianMixtureLoss((1.0,), (0.001,)), 10**7)], 1e-5)
