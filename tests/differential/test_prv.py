"""Against Microsoft's PRV accountant, the other two-sided one: the intervals must meet."""

import pytest
from prv_accountant.dpsgd import DPSGDAccountant

import dpcheck


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta"),
    [(1.0, 0.01, 1000, 1e-5), (0.8, 0.02, 200, 1e-5), (2.0, 0.1, 300, 1e-6), (1.5, 0.3, 20, 1e-4)],
)
def test_our_interval_lies_within_its_error_bars(noise, rate, steps, delta):
    peer = DPSGDAccountant(
        noise_multiplier=noise,
        sampling_probability=rate,
        eps_error=0.05,
        delta_error=delta / 1000,
        max_steps=steps,
    )
    low, _, high = peer.compute_epsilon(delta=delta, num_steps=steps)
    ours = dpcheck.epsilon(
        dpcheck.SampledGaussian(noise, rate) * steps, delta=delta, adjacency="add-remove"
    )
    # Their interval is proved and wider than ours: ours must not lie outside it on either side.
    assert low <= ours.upper
    assert ours.lower <= high
    assert ours.gap < high - low
