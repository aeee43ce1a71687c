"""DP-SGD in plain numpy, proved from its code: per-example gradients, norm clip, Poisson mask, noise.

Try `dpcheck prove examples/dp_sgd.py:train`.
"""

import numpy as np

import dpcheck

STEPS, RATE, CLIP, NOISE = 1000, 0.01, 1.0, 1.0
FEATURES = {f"x{i}": dpcheck.number(-1, 1) for i in range(8)}
PATIENTS = dpcheck.records(**FEATURES, sick=dpcheck.number(0, 1), rows=10_000)


@dpcheck.audited(
    claim=dpcheck.SampledGaussian(NOISE, RATE) * STEPS,
    adjacency="add-remove",
    records=PATIENTS,
    form="array",
)
def train(data, rng):
    """Logistic regression."""
    x, y = data[:, :-1], data[:, -1]
    w = np.zeros(8)
    for _ in range(STEPS):
        chosen = rng.random(len(x)) < RATE
        batch, labels = x[chosen], y[chosen]
        errors = 1 / (1 + np.exp(-batch @ w)) - labels
        gradients = errors[:, None] * batch
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients * np.minimum(1, CLIP / norms)
        noisy = clipped.sum(axis=0) + rng.normal(scale=NOISE * CLIP, size=8)
        w = w - 0.5 * noisy / (RATE * 10_000)
    return w
