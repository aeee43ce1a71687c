"""Flower 1.41: LocalDpMod's noise for clipping norm C and sensitivity C. Needs flwr.

Reads the standard deviation from the library's own function and exits 1 if the exact epsilon of two
clipped updates, 2 C apart, is above the one asked for, 1 and 3; and for epsilon 10, sensitivity 2 C.
"""

import math
import sys
from importlib.metadata import version

import numpy as np
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.supercore.differential_privacy import (
    add_localdp_gaussian_noise_to_params,
    compute_clip_model_update,
)


def clipped(update):
    """A client's update after the mod clipped it to norm 1."""
    parameters, server = [np.array([update])], [np.zeros(1)]
    compute_clip_model_update(parameters, server, 1.0)
    return parameters[0][0]


def deviation(sensitivity, epsilon, delta):
    """Measured on a million coordinates: it must be the formula of the page."""
    noisy = add_localdp_gaussian_noise_to_params(
        ndarrays_to_parameters([np.zeros(1_000_000)]), sensitivity, epsilon, delta
    )
    return float(parameters_to_ndarrays(noisy)[0].std())


def tail(x):
    """P(N(0, 1) <= x)."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def exact(distance, sigma, delta):
    """The epsilon at which two Gaussians that far apart have this delta, by bisection."""
    mu, low, high = distance / sigma, 0.0, 100.0
    while high - low > 1e-9:
        e = (low + high) / 2
        excess = tail(mu / 2 - e / mu) - math.exp(e) * tail(-mu / 2 - e / mu) - delta
        low, high = (e, high) if excess > 0 else (low, e)
    return high


apart = clipped(5.0) - clipped(-5.0)
over = []
for sensitivity, epsilon, delta in ((1.0, 1.0, 0.01), (1.0, 3.0, 0.01), (2.0, 10.0, 0.01)):
    formula = sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    measured = deviation(sensitivity, epsilon, delta)
    assert abs(measured / formula - 1) < 0.01, (measured, formula)
    spent = exact(apart, formula, delta)
    over.append(spent > epsilon)
    print(f"flwr {version('flwr')}: asked for ({epsilon}, {delta}) with sensitivity {sensitivity}:")
    print(f"  noise {formula:.4f} (measured {measured:.4f}), updates {apart} apart")
    print(f"  exact epsilon {spent:.4f}")
sys.exit(int(all(over)))
